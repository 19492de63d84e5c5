/**
 * The end of evidence: the oldest entries of the chain whose retention is over are proved, a tombstone takes their
 * place, and they go with their objects. It may be broken off anywhere: the next run goes on where this one stood.
 * @source spec/sapi.md, Limits: archive retention; design/interface.md, Command line: retention
 */
import { createHash } from "node:crypto";

import { LIMITS } from "../../base/limits.js";
import { listEvidence } from "../../storage/evidence/evidence.js";
import type { EvidenceEntry } from "../../storage/evidence/evidence.js";
import type { EvidenceArchive } from "../../storage/evidence/archive.js";
import { EvidenceRetained, isEvidenceRef, retainedUntil } from "../../storage/evidence/store.js";
import type { EvidenceRef, EvidenceStore } from "../../storage/evidence/store.js";
import {
  buryEvidence,
  deleteBuried,
  evidenceFloor,
  forgetLeftovers,
  lastTombstone,
  listLeftovers,
  tombstoneName,
  tombstoneHash,
} from "../../storage/evidence/tombstones.js";
import type { Leftover, Tombstone } from "../../storage/evidence/tombstones.js";
import { earlierNow } from "../../storage/retention/sweeps.js";
import { auditEvidence } from "./audit.js";
import type { AuditFault, AuditPorts } from "./audit.js";

interface RemovalPorts extends AuditPorts {
  readonly archive: Pick<EvidenceArchive, "seal" | "unseal">;
}

interface Removal {
  /** Entries that went, or would go. */
  readonly entries: number;
  /** Objects that went. */
  readonly objects: number;
  /** What the proof found wrong: nothing goes behind it unless that was asked for. */
  readonly faults: readonly AuditFault[];
}

interface RemovalOptions {
  /** Proves the first LIMITS.evidence_buried_at_once, and removes nothing. */
  readonly dry?: boolean;
  /** Removes what the proof finds faults in, too; the tombstone says how many. */
  readonly despiteFaults?: boolean;
}

/** Removes everything whose retention is over, as far as its proof holds. */
export async function removeOldEvidence(ports: RemovalPorts, options: RemovalOptions = {}): Promise<Removal> {
  const faults: AuditFault[] = [];
  let entries = 0;
  while (faults.length === 0 || options.despiteFaults === true) {
    const floor = await evidenceFloor(ports.sql);
    const last = await lastExpired(ports, floor.index);
    if (last === undefined) break;
    const proof = await prove(ports, floor, last);
    faults.push(...proof.faults);
    if (proof.faults.length > 0 && options.despiteFaults !== true) break;
    if (options.dry !== true && !(await bury(ports, proof))) {
      if ((await evidenceFloor(ports.sql)).index === floor.index) break;
      // Another run was quicker, or the database for one that was killed: what is behind its tombstone is still to go.
      continue;
    }
    entries += proof.tombstone.last - proof.tombstone.first + 1;
    if (options.dry === true) break;
  }
  if (options.dry === true) return { entries, objects: 0, faults };
  for (;;) if ((await deleteBuried(ports.sql)) < LIMITS.sweep_batch) break;
  return { entries, objects: await removeObjects(ports), faults };
}

/**
 * The last entry of the oldest behind the floor that may all go, LIMITS.evidence_buried_at_once at most; undefined when
 * none may. What one of the two clocks still keeps is kept: either may be wrong, and nothing takes a tombstone back.
 */
async function lastExpired(ports: RemovalPorts, floor: number): Promise<EvidenceEntry | undefined> {
  const { sql } = ports;
  const now = await earlierNow(sql, ports.now);
  const isExpired = ({ object }: EvidenceEntry): boolean => isEvidenceRef(object) && retainedUntil(object) <= now;
  let last: EvidenceEntry | undefined;
  for (let after = floor; after < floor + LIMITS.evidence_buried_at_once;) {
    const limit = Math.min(LIMITS.evidence_page, floor + LIMITS.evidence_buried_at_once - after);
    const page = await listEvidence(sql, { after, limit });
    const kept = page.findIndex((entry) => !isExpired(entry));
    last = (kept < 0 ? page : page.slice(0, kept)).at(-1) ?? last;
    if (kept >= 0 || page.length < limit) break;
    after = page.at(-1)?.index ?? after + limit;
  }
  return last;
}

interface Proof {
  readonly tombstone: Tombstone;
  readonly leftovers: readonly Leftover[];
  readonly faults: readonly AuditFault[];
}

/** @param floor  that behind which `last` was looked for: a tombstone that came meanwhile refuses this one */
async function prove(
  ports: RemovalPorts,
  floor: { readonly index: number; readonly hash: string },
  last: EvidenceEntry,
): Promise<Proof> {
  const hashes = createHash("sha256");
  // Bounded by LIMITS.evidence_buried_at_once: an entry has one object, and refers to one other at most.
  const objects = new Set<EvidenceRef>();
  // Bounded by LIMITS.evidence_buried_at_once.
  const shared = new Set<EvidenceRef>();
  let storedFrom = last.storedAt;
  let storedTo = last.storedAt;
  const { faults } = await auditEvidence(
    {
      ...ports,
      whole: true,
      seen: {
        entry: ({ hash, object, storedAt }) => {
          hashes.update(Buffer.from(hash, "hex"));
          objects.add(object);
          storedFrom = Math.min(storedFrom, storedAt);
          storedTo = Math.max(storedTo, storedAt);
        },
        shared: (object) => {
          shared.add(object);
        },
      },
    },
    { last: last.index },
  );
  const leftover =
    (isShared: boolean) =>
    (object: EvidenceRef): Leftover => ({
      object,
      isShared,
      neededUntil: storedTo + (isShared ? LIMITS.evidence_shared_needed_ms : 0),
    });
  return {
    tombstone: {
      first: floor.index + 1,
      last: last.index,
      previousHash: floor.hash,
      lastHash: last.hash,
      entriesSha256: hashes.digest("hex"),
      faults: faults.length,
      storedFrom,
      storedTo,
      provedAt: ports.now,
      previousTombstone: await lastTombstone(ports.sql),
    },
    leftovers: [...[...objects].map(leftover(false)), ...[...shared].filter(isEvidenceRef).map(leftover(true))],
    faults,
  };
}

/** @returns false when the chain itself is broken there, or another run was quicker: a broken chain never goes */
async function bury({ sql, archive }: RemovalPorts, { tombstone, leftovers }: Proof): Promise<boolean> {
  const hash = tombstoneHash(tombstone);
  const { bytes, sealed } = await archive.seal(tombstoneName(tombstone.first), Buffer.from(hash, "hex"));
  const seal = Buffer.from(bytes);
  return buryEvidence(sql, { ...tombstone, hash, sealKeyId: sealed.keyId, seal }, leftovers);
}

/** Objects of entries that are gone; a store that locks them for longer keeps them until then. */
async function removeObjects({ sql, store, now }: RemovalPorts): Promise<number> {
  let removed = 0;
  for (let after: EvidenceRef = ""; ;) {
    const objects = await listLeftovers(sql, after);
    const gone: EvidenceRef[] = [];
    for (const object of objects) if (await removeObject({ store, now }, object)) gone.push(object);
    // Before they are forgotten: a run that is killed here leaves nothing that the next one does not find.
    await tidyHours(store, gone);
    await forgetLeftovers(sql, gone);
    removed += gone.length;
    after = objects.at(-1) ?? after;
    if (objects.length < LIMITS.sweep_batch) return removed;
  }
}

/** An hour has one folder, which may hold thousands: what else is in it is looked at once, behind its last object. */
async function tidyHours(store: EvidenceStore, gone: readonly EvidenceRef[]): Promise<void> {
  for (const [at, object] of gone.entries()) {
    const hour = retainedUntil(object);
    const next = gone[at + 1];
    if (next === undefined || retainedUntil(next) !== hour) await store.tidy?.(object, hour);
  }
}

async function removeObject(
  { store, now }: Pick<RemovalPorts, "store" | "now">,
  object: EvidenceRef,
): Promise<boolean> {
  try {
    await store.remove(object, now);
    return true;
  } catch (error) {
    if (!(error instanceof EvidenceRetained)) throw error;
    return false;
  }
}
