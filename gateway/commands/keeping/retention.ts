/** `kurier retention`: removes what its time has come for, and proves the evidence chain over what it removes. */
import { systemClock } from "../../../engine/base/clock.js";
import { loadConfig } from "../../../engine/base/config.js";
import { endUnvouched, sweepRows } from "../../../engine/documents/retention.js";
import { removeOldEvidence } from "../../../engine/peppol/evidence/removal.js";
import { createEvidenceArchive } from "../../../engine/storage/evidence/archive.js";
import { EvidenceStoreFailure } from "../../../engine/storage/evidence/store.js";
import { openEvidenceStore } from "../../../engine/storage/evidence/stores.js";

import { signatureTasks } from "../../../validators/signature.js";
import { hasMovedPayloads, movePayloads } from "../../../engine/storage/payloads/move.js";
import { openPayloadStore } from "../../../engine/storage/payloads/payload-store.js";
import { openMasterKeys } from "../../start/data-dir.js";
import { EXIT, parseArguments } from "../command.js";
import type { Command } from "../command.js";
import { withDatabase } from "../database.js";
import { complain, print, progress } from "../terminal.js";
import { printFaults } from "./faults.js";

export const retentionCommand: Command = {
  name: "retention",
  summary: "Remove what its time has come for, and prove the evidence over what goes.",
  usage: [
    "kurier retention [--dry-run] [--despite-faults]",
    "Evidence older than ten years goes when every entry of it is there, and as it was stored; a sealed tombstone takes its place. With --despite-faults what cannot be proved goes, too, and the tombstone tells so; a chain that is broken never does.",
    "Documents and everything that is told of them go with or after their evidence. Safe beside running engines, and again after it was broken off: run it once a day.",
    "The exit code is 1 when evidence could not be proved and stays, 2 when the store cannot be read.",
  ],
  run: async (args) => {
    const { options } = parseArguments(args, { flags: ["dry-run", "despite-faults"] });
    const dry = options.has("dry-run");
    const config = loadConfig();
    return withDatabase(config, async ({ sql }) => {
      const store = openEvidenceStore(config.EVIDENCE_STORE, config.DATA_DIR, systemClock, { isInUse: true });
      const { sealer } = await openMasterKeys(sql, config);
      let bar: ReturnType<typeof progress> | undefined;
      try {
        const evidence = await removeOldEvidence(
          {
            sql,
            store,
            archive: createEvidenceArchive({ sql, store, sealer, clock: systemClock }),
            now: systemClock.now(),
            crypto: (kind, input) => Promise.resolve(signatureTasks[kind](input)),
            progress: (done, all) => {
              (bar ??= progress("proving", all)).step(done);
            },
          },
          { dry, despiteFaults: options.has("despite-faults") },
        );
        bar?.end();
        printFaults(evidence.faults);
        const verb = dry ? "would be removed" : "removed";
        print(`evidence: ${evidence.entries} entries proved and ${verb}, ${evidence.objects} objects gone`);
        const unvouched = await endUnvouched({ sql, clock: systemClock }, { dry });
        if (unvouched > 0)
          print(
            `White Label: ${unvouched} operations ${dry ? "would be released" : "released"}, nobody vouched for them`,
          );
        for (const [table, count] of await sweepRows({ sql, clock: systemClock }, { dry }))
          if (count > 0) print(`${table}: ${count} ${verb}`);
        if (config.PAYLOAD_STORE !== undefined && !dry) {
          const isInUse = await hasMovedPayloads(sql);
          const payloads = openPayloadStore(config.PAYLOAD_STORE, systemClock, { isInUse });
          const { moved, removed } = await movePayloads(sql, payloads, systemClock.now());
          print(`payloads: ${moved} moved to the payload store, ${removed} of its objects removed`);
        }
        const stuck = evidence.faults.length > 0 && !options.has("despite-faults");
        if (stuck) complain(`${evidence.faults.length} faults: this evidence stays, and so does what is behind it.`);
        return stuck ? EXIT.failed : EXIT.ok;
      } catch (error) {
        if (!(error instanceof EvidenceStoreFailure)) throw error;
        complain(error.message);
        return EXIT.usage;
      }
    });
  },
};
