/** What the `kurier` program does where what it writes is not taken: a full disk, a folder that cannot be made. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";

import { EXIT } from "../../../gateway/commands/command.js";
import { kurier } from "./kurier.js";

const folder = mkdtempSync(join(tmpdir(), "kurier-unwritable-"));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

test.each(["--help", "--version", "env", "env --help"])(
  "kurier %s on a full disk says so in one sentence, and has not succeeded",
  async (words) => {
    expect(await kurier(words.split(" "), { full: ["out"] })).toEqual({
      code: EXIT.failed,
      out: "",
      err: "Standard output takes nothing more (ENOSPC): the command goes on, and what it says is lost.\n",
    });
  },
);

test("a failure is told by its exit code where neither output takes anything", async () => {
  expect(await kurier(["nonsense"], { full: ["out", "err"] })).toEqual({ code: EXIT.usage, out: "", err: "" });
});

test.each(["pki init", "pki init --force"])(
  "kurier %s says in one sentence that its folder cannot be made",
  async (words) => {
    const file = join(folder, "file");
    writeFileSync(file, "");
    const dataDir = join(file, "data");
    expect(await kurier(words.split(" "), { env: { DATA_DIR: dataDir } })).toEqual({
      code: EXIT.configuration,
      out: "",
      err: `${dataDir} cannot be used: a part of its path is a file and not a folder.\n`,
    });
  },
);
