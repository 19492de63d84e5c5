/** What the `kurier` program does where what it needs is not to be had: a full disk, a folder, a database that is away. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test, vi } from "vitest";

import { temporary } from "../../../engine/base/errors.js";
import { COMMAND_FILES, main } from "../../../gateway/cli.js";
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

const codeBefore = process.exitCode;
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = codeBefore;
});

test.each([
  [
    "25006",
    "The database cannot be used: it can only be read now, as a standby can (25006); try again when it is there.",
  ],
  ["UNANSWERED", "The database cannot be used: it does not answer (UNANSWERED); try again when it is there."],
  [undefined, "What the command needs is away or busy; run it again in a moment."],
])("a command that is refused for %s may be run again, and says why in one sentence", async (failure, sentence) => {
  const [file] = COMMAND_FILES.filter(({ words }) => words.includes("migrate"));
  if (file === undefined) throw new Error("there is no command migrate");
  const command = { name: "migrate", summary: "", usage: [], run: () => Promise.reject(temporary(failure)) };
  vi.spyOn(file, "load").mockResolvedValue([command]);
  const said = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  await main(["migrate"]);
  expect([process.exitCode, said.mock.calls.map(([text]) => text)]).toEqual([EXIT.away, [`${sentence}\n`]]);
});
