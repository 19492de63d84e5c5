/** `kurier firms erase`: a firm is forgotten; what the law asks for stays. */
import { systemClock } from "../../../engine/base/clock.js";
import { loadConfig } from "../../../engine/base/config.js";
import type { Config } from "../../../engine/base/config.js";
import { parseFirmId } from "../../../engine/base/ids.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { eraseFirm } from "../../../engine/identity/erasure.js";
import type { FirmClosure } from "../../../engine/storage/identity/erasure.js";
import { checkFirmKeys } from "../../../engine/storage/keyring/firm-keys.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { EXIT, parseArguments, UsageError } from "../command.js";
import type { Command, ExitCode } from "../command.js";
import { withDatabase } from "../database.js";
import { complain, print } from "../terminal.js";

const REFUSALS: Readonly<Record<Exclude<FirmClosure, "closed">, string>> = {
  missing: "There is no such firm.",
  under_way: "Documents or answers of the firm are still under way; wait until they have ended, or cancel them.",
  registered: "A participant of the firm is still registered in the network; see kurier participants unregister.",
};

async function erase(sql: Sql, keysAt: Config["FIRM_KEYS"], firmId: FirmId): Promise<ExitCode> {
  const firmKeys = await checkFirmKeys(sql, keysAt);
  const { closure, rows } = await eraseFirm({ sql, clock: systemClock, firmKeys }, firmId);
  if (closure !== "closed") {
    complain(REFUSALS[closure]);
    return EXIT.failed;
  }
  print(`${rows} rows of the firm ${firmId} were removed.`);
  if (firmKeys !== undefined)
    print(
      "Its key is gone from FIRM_KEYS: what it sealed is opened in no copy of the database, once copies of that directory have ended, too.",
    );
  return EXIT.ok;
}

export const firmsEraseCommand: Command = {
  name: "firms erase",
  summary: "Forget a firm: everything it sent and received goes, the evidence that the law asks for stays.",
  usage: [
    "kurier firms erase --firm ID --yes",
    "Its keys end, its bindings, offices, participants, documents, texts, events and answers go; its row keeps an id and nothing else.",
    "What stays: the evidence of its exchanges and what was billed, for ten years; the audit, for two; counts for the network's reports, without a name; letters in DATA_DIR/mail, where there is no mail server, until a thousand newer ones; a document that has ended workers, sealed in DATA_DIR/quarantine, for 30 days.",
    "Cannot be undone. May be broken off and run again. With FIRM_KEYS the firm's key goes last, and nobody opens what it sealed in any backup of the database; without, copies end with the backups.",
  ],
  run: async (args) => {
    const { options } = parseArguments(args, { options: ["firm"], flags: ["yes"] });
    const firmId = parseFirmId(options.get("firm") ?? "");
    if (firmId === undefined) throw new UsageError("--firm ID is needed.");
    if (!options.has("yes")) throw new UsageError("This cannot be undone: --yes is needed.");
    const config = loadConfig();
    return withDatabase(config, ({ sql }) => erase(sql, config.FIRM_KEYS, firmId), {
      statement_timeout_ms: LIMITS.erasure_statement_ms,
    });
  },
};
