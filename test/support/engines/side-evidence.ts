/** What one of two access points keeps of its exchanges, read past its process. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { systemClock } from "../../../engine/base/clock.js";
import { auditEvidence } from "../../../engine/peppol/evidence/audit.js";
import { listEvidence } from "../../../engine/storage/evidence/evidence.js";
import { createEvidenceArchive } from "../../../engine/storage/evidence/archive.js";
import type { EvidenceArchive } from "../../../engine/storage/evidence/archive.js";
import { openFileEvidence } from "../../../engine/storage/evidence/store-file.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { inThread } from "../as4/as4.js";
import type { Side } from "./side.js";

const storeOf = ({ home: { dataDir } }: Side) => openFileEvidence(join(dataDir, "evidence"));

function archiveOf(side: Side): EvidenceArchive {
  const {
    dataDir,
    db: { sql },
  } = side.home;
  const sealer = createSealer([Buffer.from(readFileSync(join(dataDir, "master.key"), "utf8").trim(), "base64")]);
  return createEvidenceArchive({ sql, store: storeOf(side), sealer, clock: systemClock });
}

/** What `evidence verify` finds wrong with everything that a side keeps. */
export async function evidenceFaults(side: Side): Promise<readonly unknown[]> {
  const { faults, entries } = await auditEvidence({
    sql: side.home.db.sql,
    store: storeOf(side),
    archive: archiveOf(side),
    crypto: inThread,
    now: systemClock.now(),
  });
  return entries === 0 ? ["there is no evidence"] : faults;
}

/** The signed metadata that exchanges were made by: one for each that a side has sent, undefined where there was none. */
export async function keptMetadata(side: Side): Promise<readonly (string | undefined)[]> {
  const entries = await listEvidence(side.home.db.sql, { after: 0, limit: 1_000 });
  const archive = archiveOf(side);
  return Promise.all(
    entries
      .filter(({ direction }) => direction === "outbound")
      .map(async (entry) => (await archive.read(entry)).parts.get("smp")?.toString("utf8")),
  );
}
