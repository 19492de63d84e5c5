/** Moves of items that clients ask for, decided by the item's version. */
import { isoOrNull } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { BoxItemId, DocumentId, FirmId, IntegratorId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { BoxOperation, BoxState } from "../../lifecycle/box.js";
import type { OutboundState } from "../../lifecycle/document.js";
import { eventsJson } from "../documents/documents.js";
import type { NewEvent } from "../documents/documents.js";
import { stampParameter } from "../identity/audit.js";
import type { AuditStamp } from "../identity/audit.js";
import type { Sql } from "../sql.js";

interface BoxMove {
  readonly id: BoxItemId;
  readonly firmId: FirmId;
  /** Of the caller, where it is an integrator. */
  readonly integratorId: IntegratorId | undefined;
  /** The version that was decided on; another one in the table means a stale decision. */
  readonly version: number;
  readonly trigger: BoxOperation;
  readonly to: BoxState;
  readonly scheduledFor: Instant | undefined;
  /** Of the next document, where the item has had one that has ended. */
  readonly freshId: DocumentId;
  /** Names this process in the lease of an item that leaves at once. */
  readonly owner: string;
  /** What becomes of a document that waits for its next attempt and is cancelled. */
  readonly cancelled: { readonly status: OutboundState; readonly reason: string; readonly events: readonly NewEvent[] };
}

/** @returns false when the item is not what was decided on */
export async function moveBoxItem(
  sql: Sql,
  { scheduledFor, cancelled, integratorId, ...move }: BoxMove,
  audit: AuditStamp,
): Promise<boolean> {
  const given = {
    ...move,
    integratorId: integratorId ?? null,
    scheduledFor: isoOrNull(scheduledFor),
    leaseMs: LIMITS.box_lease_ms,
    documentStatus: cancelled.status,
    reason: cancelled.reason,
  };
  const rows = await sql<{ readonly moved: boolean }[]>`
    select move_box_item(${sql.json(given)}, ${eventsJson(cancelled.events)}::text::jsonb,
      ${stampParameter(sql, audit)}) as moved`;
  return rows[0]?.moved ?? false;
}
