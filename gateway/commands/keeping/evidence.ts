/** `kurier evidence verify`: the whole archive checked again, offline. */
import { systemClock } from "../../../engine/base/clock.js";
import { ConfigError, loadConfig } from "../../../engine/base/config.js";
import { parseDay } from "../../../engine/base/dates.js";
import { auditEvidence } from "../../../engine/peppol/evidence/audit.js";
import type { AuditResult } from "../../../engine/peppol/evidence/audit.js";
import { loadTrustStore } from "../../../engine/peppol/pki/trust.js";
import type { TrustStore } from "../../../engine/peppol/pki/trust.js";
import { createEvidenceArchive } from "../../../engine/storage/evidence/archive.js";
import { EvidenceStoreFailure } from "../../../engine/storage/evidence/store.js";
import { openEvidenceStore } from "../../../engine/storage/evidence/stores.js";
import { signatureTasks } from "../../../validators/signature.js";
import { openMasterKeys } from "../../start/data-dir.js";
import { colour, complain, print, progress } from "../terminal.js";
import { EXIT, parseArguments, UsageError } from "../command.js";
import type { Command } from "../command.js";
import { withDatabase } from "../database.js";
import { printFaults } from "./faults.js";

/** A day, or an instant with its zone. @param end whether a day means its last millisecond */
function instantOf(name: string, text: string | undefined, end: boolean): number | undefined {
  if (text === undefined) return undefined;
  const day = parseDay(text.slice(0, "2026-11-20".length));
  const isDay = day === text;
  const instant =
    isDay || (day !== undefined && /T.*(?:Z|[+-]\d\d:\d\d)$/.test(text))
      ? Date.parse(isDay ? `${text}T${end ? "23:59:59.999" : "00:00:00"}Z` : text)
      : Number.NaN;
  if (Number.isNaN(instant))
    throw new UsageError(`--${name} is a day (2026-11-20) or an instant (2026-11-20T10:00:00Z), in UTC.`);
  return instant;
}

/** The period of the options; a day of --to counts to its end. @throws UsageError where it ends before it begins */
function periodOf(options: ReadonlyMap<string, string>): { readonly from?: number; readonly to?: number } {
  const from = instantOf("from", options.get("from"), false);
  const to = instantOf("to", options.get("to"), true);
  if (from !== undefined && to !== undefined && to < from) throw new UsageError("--to is before --from.");
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
}

/** What came of an audit, in one line. An empty period is told as such: nothing in it was found in order. */
function outcomeOf(result: AuditResult, isPeriod: boolean): string {
  const { entries, objects, faults } = result;
  if (isPeriod && entries === 0 && faults.length === 0)
    return `No entries in this period${result.removed === 0 ? "" : `; ${result.removed} were proved and removed before`}.`;
  const expired = result.expired === 0 ? "" : `, ${result.expired} past their retention`;
  const removed = result.removed === 0 ? "" : `, ${result.removed} before them proved and removed`;
  return `${entries} entries in ${objects} objects${expired}${removed}: ${faults.length === 0 ? colour("green", "everything is as it was stored") : colour("red", `${faults.length} faults`)}.`;
}

/** The authorities that the auditor trusts, read from a folder, in the place of those kept with the evidence. */
function trustIn(folder: string | undefined): { readonly trust?: TrustStore } {
  try {
    return folder === undefined ? {} : { trust: loadTrustStore(folder) };
  } catch (error) {
    throw error instanceof ConfigError
      ? new UsageError(error.message.replaceAll("PEPPOL_TRUST_DIR", "--trust"))
      : error;
  }
}

export const evidenceVerifyCommand: Command = {
  name: "evidence verify",
  summary: "Walk the evidence chain; check every object, signature and receipt again, and whom each exchange was with.",
  usage: [
    "kurier evidence verify [--from 2026-11-01] [--to 2026-11-30] [--trust DIR]",
    "Certificates are judged as of the time of their exchange, by what is kept beside it. They must lead to a root that is kept, which the last lines name; with --trust, to one in DIR.",
    "Needs the database, the store and the master key, nothing else. The exit code is 1 when something is not as it was stored, 2 when the store cannot be read.",
  ],
  run: async (args) => {
    const { options } = parseArguments(args, { options: ["from", "to", "trust"] });
    const period = periodOf(options);
    const trust = trustIn(options.get("trust"));
    const config = loadConfig();
    return withDatabase(config, async ({ sql }) => {
      const store = openEvidenceStore(config.EVIDENCE_STORE, config.DATA_DIR, systemClock, { isInUse: true });
      const archive = createEvidenceArchive({
        sql,
        store,
        sealer: (await openMasterKeys(sql, config)).sealer,
        clock: systemClock,
      });
      let bar: ReturnType<typeof progress> | undefined;
      try {
        const result = await auditEvidence(
          {
            sql,
            store,
            archive,
            ...trust,
            now: systemClock.now(),
            crypto: (kind, input) => Promise.resolve(signatureTasks[kind](input)),
            progress: (done, all) => {
              (bar ??= progress("checking", all)).step(done);
            },
          },
          period,
        );
        bar?.end();
        printFaults(result.faults);
        for (const { name, fingerprint, uses } of result.roots)
          print(`${uses} certificates lead to ${name}, SHA-256 ${fingerprint}`);
        print(outcomeOf(result, Object.keys(period).length > 0));
        return result.faults.length === 0 ? EXIT.ok : EXIT.failed;
      } catch (error) {
        if (!(error instanceof EvidenceStoreFailure)) throw error;
        complain(error.message);
        return EXIT.usage;
      }
    });
  },
};
