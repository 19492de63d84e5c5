/** Names that others have chosen act on nothing that shows them, and those that would are not taken. */
import { expect, test } from "vitest";
import { z } from "zod";

import { LIMITS } from "../../../engine/base/limits.js";
import { UsageError } from "../../../gateway/commands/command.js";
import { identityCommands } from "../../../gateway/commands/identity.js";
import { oauthClientCommands } from "../../../gateway/commands/people/oauth-clients.js";
import { adminOAuthRoutes } from "../../../gateway/routes/people/admin-oauth.js";
import { describedOperations } from "../../../gateway/start/operations.js";
import { plain } from "../../../gateway/commands/terminal.js";

/** What none may be called. */
const UNPLAIN = ["two\nlines", "no\0thing", "\u001b[31mred", "c1 \u009b", "line\u2028mark"];

test("words of others stay on their line, whatever is in them: no new line, no colour, no turning round", () => {
  expect(plain("Ján & syn, s. r. o. 🧾 税")).toBe("Ján & syn, s. r. o. 🧾 税");
  expect(plain("a\nb\r\u001b[31mc\u009b1m\u007f\td\u2028e\u202ef\u200bg\ud800")).toBe("a·b··[31mc·1m··d·e·f·g·");
});

const FIRM_ID = "018f6a3e-0000-7000-8000-00000000aaaa";
const COMMANDS = [...identityCommands, ...oauthClientCommands];
test.each([
  ["integrators create", [], LIMITS.firm_name_chars_max],
  ["firms create", ["--participant", "0245:2020202020"], LIMITS.firm_name_chars_max],
  ["firms set", ["--firm", FIRM_ID], LIMITS.firm_name_chars_max],
  ["keys create", ["--firm", FIRM_ID], LIMITS.key_name_chars_max],
  ["oauth-clients create", ["--redirect-uri", "https://erp.example/back"], LIMITS.key_name_chars_max],
])(
  "a name with a control character is refused before anything is asked of a database: %s",
  async (name, args, chars_max) => {
    const command = COMMANDS.find((one) => one.name === name);
    for (const wrong of ["", ...UNPLAIN, "x".repeat(chars_max + 1)]) {
      const run = command?.run(["--name", wrong, ...args]);
      await expect(run, JSON.stringify(wrong)).rejects.toThrow(UsageError);
      await expect(run, JSON.stringify(wrong)).rejects.toThrow(
        `--name has 1 to ${chars_max} characters, none of them a control character.`,
      );
    }
  },
);

/** Members by which a firm, an integrator, a client or a key is given its name. */
const NAME_MEMBERS = ["name", "legalName"];
/** The members of a row's body, where it is an object or may be left out. */
function membersOf(body: z.ZodType | undefined): readonly (readonly [string, z.ZodType])[] {
  const whole = body instanceof z.ZodOptional ? body.unwrap() : body;
  return whole instanceof z.ZodObject ? Object.entries(whole.shape as Readonly<Record<string, z.ZodType>>) : [];
}

test("every door of the APIs that takes a name takes letters of any language, and no control character", () => {
  const doors = [
    ...describedOperations(),
    ...adminOAuthRoutes({
      programs: () => Promise.reject(new Error("nobody asks")),
      register: () => Promise.reject(new Error("nobody asks")),
    }),
  ].flatMap(({ operation, request }) =>
    membersOf(request.body)
      .filter(([member]) => NAME_MEMBERS.includes(member))
      .map(([member, schema]) => ({ door: `${operation} ${member}`, schema })),
  );
  expect(doors.map(({ door }) => door)).toEqual([
    "createIntegratorKey name",
    "registerWhiteLabelParticipant legalName",
    "migrateWhiteLabelParticipant legalName",
    "createCustomer legalName",
    "adminCreateOAuthClient name",
  ]);
  for (const { door, schema } of doors) {
    expect(schema.safeParse("Ján & syn, s. r. o. 🧾 税").success, door).toBe(true);
    for (const wrong of UNPLAIN) expect([door, wrong, schema.safeParse(wrong).success]).toEqual([door, wrong, false]);
  }
});
