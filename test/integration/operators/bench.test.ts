/** Every benchmark runs in its tiny form, so that none rots; nothing is measured here. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";

import { BENCHES } from "../../../bench/benches.js";
import { buildIfNeeded } from "../../../deploy/build.mjs";
import { PROJECT } from "../../support/engines/process.js";

const run = promisify(execFile);

beforeAll(async () => {
  await buildIfNeeded();
});

test.each(BENCHES.map((bench) => bench.name))(
  "kurier bench %s --tiny works and checks its own work",
  async (name) => {
    const { stdout } = await run(process.execPath, [join(PROJECT, "gateway/kurier.mjs"), "bench", name, "--tiny"], {
      cwd: PROJECT,
      env: {
        PATH: process.env["PATH"] ?? "",
        HOME: process.env["HOME"] ?? "",
        KURIER_CONFORMANCE: process.env["KURIER_CONFORMANCE"] ?? "",
      },
      timeout: 120_000,
    });
    expect(stdout).toContain("÷");
  },
  150_000,
);
