/** What the `kurier` program does where nobody reads what it writes. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

import { buildIfNeeded } from "../../../deploy/build.mjs";
import { PROJECT } from "../../support/engines/process.js";

const run = promisify(execFile);

test.each(["--help", "env"])("kurier %s ends well and says nothing more when its reader has gone", async (words) => {
  await buildIfNeeded();
  // `true` has gone before Node has started; bash then tells how the program before it ended.
  const line = `"${process.execPath}" gateway/kurier.mjs ${words} | true; exit "\${PIPESTATUS[0]}"`;
  const { stderr } = await run("bash", ["-c", line], { cwd: PROJECT });
  expect(stderr).toBe("");
});
