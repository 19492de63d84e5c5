/** Statements on documents that wait until their program sends or cancels them. */
import type { FirmId, IntegratorId, KeyId, ParticipantId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { Staging } from "../../lifecycle/connector.js";
import type { OutboundState } from "../../lifecycle/document.js";
import { stampParameter } from "../identity/audit.js";
import type { AuditStamp } from "../identity/audit.js";
import type { Sql } from "../sql.js";

/** A document as far as its staging goes. */
export interface StagedRow {
  /** Null for what was never staged, or was received. */
  readonly staged: Staging | null;
  readonly version: number;
  readonly keyId: KeyId;
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  readonly documentTypeId: string;
  readonly processId: string;
}

/** A document of either direction; undefined when the firm has none of this id that it may see. */
export async function findStaged(sql: Sql, firmId: FirmId, id: string): Promise<StagedRow | undefined> {
  const [row] = await sql<StagedRow[]>`
    select staged, version, key_id as "keyId", sender, receiver, document_type_id as "documentTypeId",
      process_id as "processId"
    from document where id = ${id} and firm_id = ${firmId}
    union all
    select null, 1, null, r.sender, r.receiver, r.document_type_id, r.process_id
    from received_document as r join participant as p on p.key = r.participant_key and p.firm_id = r.firm_id
    where r.id = ${id} and r.firm_id = ${firmId} and received_is_visible(r.status)`;
  return row;
}

/** Which document is moved, and by whom. */
export interface HeldMove {
  readonly id: string;
  readonly firmId: FirmId;
  /** The version that was decided on; another one in the table means a stale decision. */
  readonly version: number;
  /** Of the caller, where it is an integrator. */
  readonly integratorId: IntegratorId | undefined;
  readonly audit: AuditStamp;
}

/** What becomes of a document that is cancelled. */
export interface StagingEnd {
  readonly status: OutboundState;
  readonly reason: string;
}

/** Makes a held document due. @returns false when it is not what was decided on */
export async function sendHeld(sql: Sql, { id, firmId, version, integratorId, audit }: HeldMove): Promise<boolean> {
  const [row] = await sql<{ readonly moved: boolean }[]>`
    select send_held(${id}, ${firmId}, ${version}, ${integratorId ?? null}, ${stampParameter(sql, audit)}) as moved`;
  return row?.moved ?? false;
}

/** Ends a held document. @returns false when it is not what was decided on */
export async function cancelHeld(
  sql: Sql,
  { id, firmId, version, integratorId, audit }: HeldMove,
  { eventId, ...end }: StagingEnd & { readonly eventId: string },
): Promise<boolean> {
  const [row] = await sql<{ readonly moved: boolean }[]>`
    select cancel_held(${id}, ${firmId}, ${version}, ${sql.json({ ...end })}, ${eventId},
      ${integratorId ?? null}, ${stampParameter(sql, audit)}) as moved`;
  return row?.moved ?? false;
}

/** Cancels what was held for LIMITS.staged_kept_days. Safe to run on every node at once. @returns how many */
export async function endHeld(sql: Sql, end: StagingEnd): Promise<number> {
  const [row] = await sql<{ readonly count: number }[]>`
    select end_held(${LIMITS.staged_kept_days}, ${LIMITS.box_prune_batch}, ${sql.json({ ...end })}) as count`;
  return row?.count ?? 0;
}

/** Deletes what was cancelled LIMITS.staged_cancelled_kept_days ago. @returns how many */
export async function deleteCancelled(sql: Sql): Promise<number> {
  const [row] = await sql<{ readonly count: number }[]>`
    select delete_cancelled(${LIMITS.staged_cancelled_kept_days}, ${LIMITS.box_prune_batch}) as count`;
  return row?.count ?? 0;
}
