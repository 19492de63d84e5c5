/** `kurier keys list-signing` and `retire-signing`: the keys that sign access tokens, and how one that leaked ends. */
import { isoInstant, systemClock } from "../../../engine/base/clock.js";
import { loadConfig } from "../../../engine/base/config.js";
import { nodesKnow } from "../../../engine/identity/nodes/hearing.js";
import { listSigningKeySheets } from "../../../engine/identity/tokens/signing-keys.js";
import { retireSigningKeysBy } from "../../../engine/identity/operators/signing-keys.js";
import { EXIT, parseArguments, reasonGiven, UsageError } from "../command.js";
import type { Command } from "../command.js";
import { lookInto, withDatabase } from "../database.js";
import { complain, print, printRow } from "../terminal.js";

const listCommand: Command = {
  name: "keys list-signing",
  summary: "List the keys that sign access tokens, the newest first.",
  usage: [
    "kurier keys list-signing",
    "A line each: its id (kid in a token), what it does, from when and until when it signs.",
    "published: signs later; signs: may sign now; verifies: its last tokens still live; retired: nothing it signed is believed.",
  ],
  run: async (args) => {
    parseArguments(args, {});
    await lookInto(loadConfig(), async ({ sql }) => {
      for (const { kid, state, signsFrom, signsUntil } of await listSigningKeySheets({ sql, clock: systemClock }))
        printRow([kid, state, isoInstant(signsFrom), isoInstant(signsUntil)]);
    });
    return EXIT.ok;
  },
};

/** How ids of signing keys look. */
const KID = /^[\w-]{43}$/;

/** The key that is meant, undefined for all of them, and why. @throws UsageError for neither key, and for both */
function meantIn(args: readonly string[]) {
  const [first = "", ...rest] = args;
  // One of 64 ids begins with a dash.
  const words = KID.test(first) ? [...rest, "--", first] : args;
  const { values, options } = parseArguments(words, { flags: ["all"], options: ["reason"], words: 1 });
  const [kid] = values;
  if (options.has("all") === (kid !== undefined) || (kid !== undefined && !KID.test(kid)))
    throw new UsageError("Name one key by its id, or all with --all; kurier keys list-signing lists them.");
  return { kid, reason: reasonGiven(options) };
}

const retireCommand: Command = {
  name: "keys retire-signing",
  summary: "End a key that signs access tokens, and every token that it has signed.",
  usage: [
    'kurier keys retire-signing KID --reason "WHY"',
    'kurier keys retire-signing --all --reason "WHY"',
    "For a key that leaked: keys change by themselves every 30 days. Engines make another one at once.",
    "When the command ends every running engine refuses the tokens (401). Programs get new ones with their secrets or refresh tokens, which stay as they are.",
    "The reason stands in the operators' record. Of one key safe to repeat; --all ends what was made since, too. Where engines are behind a pooler it waits for some fifteen seconds.",
  ],
  run: async (args) => {
    const { kid, reason } = meantIn(args);
    const retired = await withDatabase(loadConfig(), async ({ sql, url }) => {
      const ports = { sql, clock: systemClock };
      const known = await retireSigningKeysBy(ports, { kid, reason });
      // Also what was retired before: who repeats a command that was cut off must not read it before it holds.
      await nodesKnow({ ...ports, databaseUrl: url });
      return known;
    });
    if (retired.length === 0 && kid !== undefined) {
      complain("There is no signing key of this id; kurier keys list-signing lists them.");
      return EXIT.failed;
    }
    for (const one of retired) printRow([one, "retired"]);
    if (retired.length === 0) print("There is no signing key.");
    else print("Access tokens that were signed so are refused from now on; programs get new ones by themselves.");
    return EXIT.ok;
  },
};

/** What operators see and end of the keys that sign access tokens. */
export const signingKeyCommands: readonly Command[] = [listCommand, retireCommand];
