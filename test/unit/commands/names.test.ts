/** Names that others have chosen act on nothing that shows them, and those that would are not taken. */
import { expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import { UsageError } from "../../../gateway/commands/command.js";
import { identityCommands } from "../../../gateway/commands/identity.js";
import { plain } from "../../../gateway/commands/terminal.js";

test("words of others stay on their line, whatever is in them: no new line, no colour, no turning round", () => {
  expect(plain("Ján & syn, s. r. o. 🧾 税")).toBe("Ján & syn, s. r. o. 🧾 税");
  expect(plain("a\nb\r\u001b[31mc\u009b1m\u007f\td\u2028e\u202ef\u200bg\ud800")).toBe("a·b··[31mc·1m··d·e·f·g·");
});

const FIRM = ["--participant", "0245:2020202020"];
const KNOWN_FIRM = ["--firm", "018f6a3e-0000-7000-8000-00000000aaaa"];
test.each([
  ["integrators create", []],
  ["firms create", FIRM],
  ["firms set", KNOWN_FIRM],
])("a name with a control character is refused before anything is asked of a database: %s", async (name, args) => {
  const command = identityCommands.find((one) => one.name === name);
  for (const wrong of [
    "",
    "two\nlines",
    "\u001b[31mred",
    "c1 \u009b",
    "line\u2028mark",
    "x".repeat(LIMITS.firm_name_chars_max + 1),
  ]) {
    const run = command?.run(["--name", wrong, ...args]);
    await expect(run, JSON.stringify(wrong)).rejects.toThrow(UsageError);
    await expect(run, JSON.stringify(wrong)).rejects.toThrow(
      "--name has 1 to 255 characters, none of them a control character.",
    );
  }
});
