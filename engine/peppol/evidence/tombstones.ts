/** What stays of removed evidence, checked: each tombstone, that they are one chain, and that we made them. */
import { LIMITS } from "../../base/limits.js";
import { CHAIN_START } from "../../storage/evidence/evidence.js";
import type { EvidenceArchive } from "../../storage/evidence/archive.js";
import { EvidenceDamaged, sha256Hex } from "../../storage/evidence/record.js";
import { listTombstones, tombstoneName, tombstoneHash, TOMBSTONES_START } from "../../storage/evidence/tombstones.js";
import type { KeptTombstone } from "../../storage/evidence/tombstones.js";
import type { Sql } from "../../storage/sql.js";

interface TombstonePorts {
  readonly sql: Sql;
  readonly archive: Pick<EvidenceArchive, "unseal">;
}

/** A fault at the last entry under a tombstone. */
interface TombstoneFault {
  readonly index: number;
  readonly fault: "tombstone";
  readonly detail: string;
}

function isOurs({ archive }: TombstonePorts, { first, hash, sealKeyId, seal }: KeptTombstone): boolean {
  const octets = Buffer.from(hash, "hex");
  const sealed = { keyId: sealKeyId, context: `evidence ${tombstoneName(first)}`, plainSha256: sha256Hex(octets) };
  try {
    return archive.unseal(seal, sealed).equals(octets);
  } catch (error) {
    if (!(error instanceof EvidenceDamaged)) throw error;
    return false;
  }
}

/** Walks the tombstones from the first entry there ever was. */
export async function tombstoneFaults(ports: TombstonePorts): Promise<TombstoneFault[]> {
  const faults: TombstoneFault[] = [];
  let before = { last: 0, lastHash: CHAIN_START, hash: TOMBSTONES_START };
  for (;;) {
    const page = await listTombstones(ports.sql, { after: before.last, limit: LIMITS.evidence_page });
    for (const tombstone of page) {
      const wrong = [
        tombstone.first !== before.last + 1 ? "Tombstones before this one are missing." : undefined,
        tombstone.previousHash !== before.lastHash || tombstone.previousTombstone !== before.hash
          ? "The tombstone does not continue the one before it."
          : undefined,
        tombstoneHash(tombstone) !== tombstone.hash ? "The tombstone is not what its hash was made of." : undefined,
        isOurs(ports, tombstone) ? undefined : "The tombstone was not sealed under the master key.",
      ].filter((detail) => detail !== undefined);
      for (const detail of wrong)
        if (faults.length < LIMITS.audit_faults_max) faults.push({ index: tombstone.last, fault: "tombstone", detail });
      before = tombstone;
    }
    if (page.length < LIMITS.evidence_page) return faults;
  }
}
