/** What clients do with an item that waits or has ended: schedule, send now, retry, cancel. */
import type { Clock, Instant } from "../../base/clock.js";
import { Refusal, temporary } from "../../base/errors.js";
import { newDocumentId, newId } from "../../base/ids.js";
import type { BoxItemId, FirmId, IntegratorId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { boxMove } from "../../lifecycle/box.js";
import type { BoxOperation, BoxState } from "../../lifecycle/box.js";
import { outboundLifecycle } from "../../lifecycle/document.js";
import { findTaken } from "../../storage/box/claims.js";
import type { ClaimedItem } from "../../storage/box/claims.js";
import { findBoxItem } from "../../storage/box/items.js";
import type { BoxItemRow } from "../../storage/box/items.js";
import { moveBoxItem } from "../../storage/box/moves.js";
import type { AuditStamp } from "../../storage/identity/audit.js";
import { orNotFound, orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";

/** One operation on one item. */
export interface BoxStep {
  readonly operation: BoxOperation;
  readonly firmId: FirmId;
  readonly id: BoxItemId;
  /** Of the caller, where it is an integrator. */
  readonly integratorId: IntegratorId | undefined;
  /** For schedule only. */
  readonly scheduledFor: Instant | undefined;
  readonly receivedAt: Instant;
  readonly audit: AuditStamp;
}

interface OperatePorts {
  readonly sql: Sql;
  readonly clock: Clock;
  /** Names this process in leases. */
  readonly owner: string;
  readonly poke: () => void;
  readonly pokeDocuments: () => void;
}

const FIELD = "scheduledFor";

/** @throws Refusal BOX_SCHEDULE_IN_PAST, BOX_SCHEDULE_TOO_FAR @source spec/rulings.md, section 7 */
export function refuseSchedule(scheduledFor: Instant | undefined, receivedAt: Instant): void {
  if (scheduledFor === undefined) return;
  if (scheduledFor <= receivedAt)
    throw new Refusal("BOX_SCHEDULE_IN_PAST", [
      { field: FIELD, message: "Must be later than the moment of the request." },
    ]);
  if (scheduledFor > receivedAt + LIMITS.box_schedule_ahead_max_ms)
    throw new Refusal("BOX_SCHEDULE_TOO_FAR", [{ field: FIELD, message: "Must lie within a year." }]);
}

/** States of items that have nothing left to send. @source spec/rulings.md, section 7: no dispatch pointer */
const WITHOUT_POINTER: ReadonlySet<BoxState> = new Set(["received", "sent", "cancelled", "expired"]);

/** The word of an operation in its path. */
const WORDS: Readonly<Record<BoxOperation, string>> = {
  schedule: "schedule",
  send_now: "send-now",
  retry: "retry",
  cancel: "cancel",
};

/** Why an operation would not be true to a document that may have arrived; undefined where it is. */
function doubtOf(
  { documentStatus, isDocumentCut }: BoxItemRow,
  operation: BoxOperation,
): { readonly issue: string; readonly message: string } | undefined {
  if (operation === "cancel")
    return documentStatus === "queued" && isDocumentCut
      ? {
          issue: documentStatus,
          message: "An attempt to send the document was cut short, so it may have arrived; it cannot be taken back.",
        }
      : undefined;
  // A second document would be a second invoice.
  if (documentStatus === "delivery_failed" || (documentStatus === "send_failed" && isDocumentCut))
    return {
      issue: documentStatus,
      message:
        "The document was transmitted and never confirmed, so it may have arrived; ask the recipient, and hand it over anew if it has not.",
    };
  return undefined;
}

/**
 * The state that an operation leads to.
 * @throws Refusal BOX_DISPATCH_UNAVAILABLE, BOX_ITEM_STATE
 */
function nextState(item: BoxItemRow, operation: BoxOperation): BoxState {
  const { status, isPayloadGone } = item;
  const move = boxMove(status, operation);
  const hasPointer = !WITHOUT_POINTER.has(status) && !isPayloadGone;
  if (move === undefined || (operation !== "cancel" && !hasPointer))
    throw new Refusal(operation !== "cancel" && !hasPointer ? "BOX_DISPATCH_UNAVAILABLE" : "BOX_ITEM_STATE", [
      { field: "itemId", issue: status, message: `${WORDS[operation]} is not possible while the item is ${status}.` },
    ]);
  const issue = doubtOf(item, operation);
  if (issue !== undefined) throw new Refusal("BOX_ITEM_STATE", [{ field: "itemId", ...issue }]);
  return move.to;
}

/** Whether an operation asks for what is so already: said a thousand times, it is one transition. */
const isDone = (item: BoxItemRow, { operation, scheduledFor }: BoxStep): boolean =>
  (operation === "schedule" && item.status === "scheduled" && item.scheduledFor?.getTime() === scheduledFor) ||
  (operation === "retry" && item.status === "retrying" && item.isDue);

/** The reason of a document that was cancelled so; the database counts it as no failure by these words. */
export const CANCELLED_IN_BOX = "It was cancelled in the Box before it was transmitted.";

/** What becomes of a document that waits for its next attempt and is cancelled. */
function cancelledDocument(clock: Clock) {
  const { to: status, emits } = outboundLifecycle.queued.cancelled;
  return {
    status,
    reason: CANCELLED_IN_BOX,
    events: emits.map((kind) => ({ id: newId(clock), kind, detail: CANCELLED_IN_BOX })),
  };
}

/**
 * Does one operation on an item. Two at once are decided by the item's version: the second sees what the first has made
 * of it. Safe to repeat as far as the state allows it.
 * @returns the item when it is to be handed over by this process now
 * @throws Refusal NOT_FOUND, BOX_ITEM_STATE, BOX_DISPATCH_UNAVAILABLE, BOX_SCHEDULE_IN_PAST, BOX_SCHEDULE_TOO_FAR,
 * TEMPORARY
 * @source spec/enterprise.md, Box item; spec/rulings.md, section 7
 */
export async function operate(ports: OperatePorts, step: BoxStep): Promise<ClaimedItem | undefined> {
  const { sql, clock, owner } = ports;
  const { operation, firmId, id, integratorId, scheduledFor } = step;
  refuseSchedule(scheduledFor, step.receivedAt);
  for (let tries = 0; tries < LIMITS.stale_version_retries; tries += 1) {
    const item = await orNotFound(findBoxItem(sql, firmId, id));
    const to = nextState(item, operation);
    if (isDone(item, step)) return undefined;
    const isMoved = await orTemporary(
      moveBoxItem(
        sql,
        {
          ...{ id, firmId, integratorId, version: item.version, trigger: operation, to, scheduledFor, owner },
          freshId: newDocumentId(clock),
          cancelled: cancelledDocument(clock),
        },
        step.audit,
      ),
    );
    if (!isMoved) continue;
    ports.poke();
    ports.pokeDocuments();
    return to === "sending" ? orTemporary(findTaken(sql, id, owner)) : undefined;
  }
  throw temporary();
}
