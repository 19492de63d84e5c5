/** What this node writes for later: evidence, payloads that have left the database, and counts of months. */
import { ConfigError } from "../../../engine/base/config.js";
import { temporary } from "../../../engine/base/errors.js";
import { errorFields, oncePerSecond } from "../../../engine/base/log.js";
import type { Log } from "../../../engine/base/log.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { mustMakeLinks } from "../../../engine/embedded/embedded.js";
import { createEvidenceArchive } from "../../../engine/storage/evidence/archive.js";
import type { EvidenceArchive } from "../../../engine/storage/evidence/archive.js";
import { createEvidenceCounts } from "../../../engine/storage/evidence/counted.js";
import { hasEvidence } from "../../../engine/storage/evidence/evidence.js";
import { seemsEmpty } from "../../../engine/storage/evidence/place.js";
import { evidenceFolder, openEvidenceStore } from "../../../engine/storage/evidence/stores.js";
import { openCounting } from "../../../engine/storage/reporting.js";
import { hasMovedPayloads } from "../../../engine/storage/payloads/move.js";
import { openPayloadStore, payloadFolder, usePayloadStore } from "../../../engine/storage/payloads/payload-store.js";
import type { PayloadStore } from "../../../engine/storage/payloads/payload-store.js";
import { isKeyOfOthers } from "../../../engine/storage/keyring/facts.js";
import type { OnUnopened } from "../../../engine/storage/keyring/facts.js";
import type { Sealer } from "../../../engine/storage/sealer.js";
import type { Sql } from "../../../engine/storage/sql.js";
import type { Base, Database } from "../infrastructure.js";

/** Where months are counted; see openCounting. */
export function startCounting({ stack }: Base, { url }: Database): Sql {
  const countSql = openCounting(url);
  stack.add("connections that count", () => countSql.end({ timeout: LIMITS.child_stop_timeout_ms / 1000 }));
  return countSql;
}

/** Says that the folder of a store is empty that should not be, as where a file system is not mounted yet. */
async function sayIfEmpty(log: Log, component: string, folder: string, isInUse: () => Promise<boolean>): Promise<void> {
  if (seemsEmpty(folder) && (await isInUse())) log.error("storage.store_empty", { component });
}

/**
 * The evidence of this node, which is written to its end before the database is left.
 * @throws PathError where the file system of EVIDENCE_STORE cannot take any
 */
export async function startArchive(
  { config, clock, log, metrics, stack, dataDir }: Base,
  sql: Sql,
  sealer: Sealer,
): Promise<EvidenceArchive> {
  const folder = evidenceFolder(config.EVIDENCE_STORE, dataDir);
  // Before it is opened, which makes the folder where there is none.
  if (folder !== undefined) await sayIfEmpty(log, "EVIDENCE_STORE", folder, () => hasEvidence(sql));
  const store = openEvidenceStore(config.EVIDENCE_STORE, dataDir, clock);
  if (folder !== undefined) mustMakeLinks(folder, "EVIDENCE_STORE");
  const counts = createEvidenceCounts({ metrics, clock });
  const archive = createEvidenceArchive({ sql, store, sealer, clock, counts });
  stack.add("evidence", () => archive.stop());
  return archive;
}

/** Where payloads go that are old. @throws ConfigError when some have gone and nobody says where */
export async function startPayloadStore({ config, clock, log }: Base, sql: Sql): Promise<PayloadStore | undefined> {
  const isInUse = await hasMovedPayloads(sql);
  if (config.PAYLOAD_STORE === undefined) {
    if (isInUse) throw new ConfigError(["PAYLOAD_STORE is missing: payloads of this database are in one."]);
    return undefined;
  }
  await sayIfEmpty(log, "PAYLOAD_STORE", payloadFolder(config.PAYLOAD_STORE), () => Promise.resolve(isInUse));
  const store = openPayloadStore(config.PAYLOAD_STORE, clock, { isInUse });
  usePayloadStore(sql, store);
  return store;
}

/** What operators hear of sealed values that do not open, however often lists show their rows. */
export function unopenedTold({ log, clock, metrics }: Base): OnUnopened {
  const sampled = { log: oncePerSecond(log, clock) };
  return (documentId, error) => {
    metrics.count("sealed_unopened_total", {});
    sampled.log.error("storage.value_unopened", { documentId, ...errorFields(error) });
  };
}

/**
 * Whoever asks for what lies sealed under a key that this engine was not given, as while the master key is changed node
 * by node, is told to come again: another engine opens it, and so does this one when it has the key.
 * @returns what stands in the place of an error; any other error as it is
 */
export function keylessTold({ log, clock }: Pick<Base, "log" | "clock">, sql: Sql): (error: unknown) => unknown {
  const sampled = { log: oncePerSecond(log, clock) };
  return (error) => {
    if (!isKeyOfOthers(sql, error)) return error;
    sampled.log.error("storage.key_missing", { keyId: error.keyId });
    return temporary();
  };
}
