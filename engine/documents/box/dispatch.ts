/** Hands an item that is due over for sending: the same checks and the same commit as at every other door. */
import type { Clock } from "../../base/clock.js";
import { ERRORS, Refusal } from "../../base/errors.js";
import type { ErrorName } from "../../base/errors.js";
import type { DocumentId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import { backoff } from "../../base/waiting/wake.js";
import { boxLifecycle } from "../../lifecycle/box.js";
import { endBoxDispatch } from "../../storage/box/claims.js";
import type { ClaimedItem } from "../../storage/box/claims.js";
import { FirmKeyGone } from "../../storage/keyring/firm-key-files.js";
import { openPayload } from "../../storage/payloads/payloads.js";
import type { Sealer } from "../../storage/sealer.js";
import type { Sql } from "../../storage/sql.js";
import { DOORS } from "../accept/doors.js";
import type { SendRequest } from "../accept/request.js";
import { boxContext } from "./create.js";

export type { ClaimedItem } from "../../storage/box/claims.js";

/** What a dispatch needs. */
export interface BoxDispatchPorts {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly log: Log;
  /** Names this process in leases. */
  readonly owner: string;
  /** Accepts a document under this id, or finds the one that was. @throws Refusal */
  readonly accept: (id: DocumentId, request: SendRequest) => Promise<unknown>;
}

/** What ends a dispatch. */
type DispatchEnd = Exclude<keyof typeof boxLifecycle.sending, "due" | "transmitted">;

/** What a refusal makes of the item, where it is not about the document itself. */
const TRIGGERS: Partial<Readonly<Record<ErrorName, DispatchEnd>>> = {
  // The same document may be taken in a moment.
  TEMPORARY: "postponed",
  "SAPI-PROC-002": "postponed",
  RECIPIENT_CAPABILITY: "failed",
  FIRM_FORBIDDEN: "failed",
};

/** What the rules refuse is kept as a document, which decides; so this counts only where none was kept. */
const triggerOf = (reason: ErrorName): DispatchEnd => TRIGGERS[reason] ?? "rules_refused";

/** Why an item does not leave that nobody may send any more. */
const NOT_ALLOWED = new Refusal("FIRM_FORBIDDEN", [], {
  message:
    "The key that asked for this item or the consent behind it has ended, or its sender is the firm's participant no more. Ask for it again with a key that may send.",
});

/** Why an item does not leave that nobody can open or seal any more, in a database from before an erasure. */
const FIRM_GONE = new Refusal("FIRM_FORBIDDEN", [], {
  message: "The firm of this item was erased, and its key with it: nobody can open it any more.",
});

const isOfErased = (error: unknown): boolean =>
  error instanceof FirmKeyGone || (error instanceof Refusal && error.reason === "TOKEN_INVALID");

async function requestOf({ sealer, clock }: BoxDispatchPorts, item: ClaimedItem): Promise<SendRequest> {
  const payload = await openPayload(sealer, boxContext(item.id), item.payloadKeyId, item.payloadSealed);
  const { sender, receiver, documentTypeId, processId } = item;
  return {
    door: "box",
    firmId: item.firmId,
    keyId: item.keyId,
    sender,
    receiver,
    // One document can have the item's name; those of later dispatches are found by their item.
    erpDocumentId: String(item.documentId) === String(item.id) ? (item.externalId ?? undefined) : undefined,
    documentTypeId,
    processId,
    creationDateTime: undefined,
    idempotencyKey: undefined,
    payload,
    checksum: undefined,
    meaning: (payloadSha256) => [item.id, documentTypeId, processId, sender, receiver, payloadSha256],
    receivedAt: clock.now(),
  };
}

/**
 * Accepts under the item's name, or under none where a document has that name already: no two items have one name, so
 * it is the document of an item that is gone. Both tries have the id of the item's document, so that one counts.
 */
async function accepted(ports: BoxDispatchPorts, item: ClaimedItem): Promise<void> {
  const request = await requestOf(ports, item);
  try {
    await ports.accept(item.documentId, request);
  } catch (error) {
    const isNameTaken = error instanceof Refusal && error.reason === DOORS.box.externalIdTaken.reason;
    if (!isNameTaken || request.erpDocumentId === undefined) throw error;
    await ports.accept(item.documentId, { ...request, erpDocumentId: undefined });
  }
}

async function refusalOf(ports: BoxDispatchPorts, item: ClaimedItem): Promise<Refusal | undefined> {
  if (!item.isAllowed) return NOT_ALLOWED;
  try {
    await accepted(ports, item);
    return undefined;
  } catch (error) {
    if (isOfErased(error)) return FIRM_GONE;
    if (error instanceof Refusal) return error;
    ports.log.error("box.dispatch_failed", { documentId: item.documentId, ...errorFields(error) });
    return new Refusal("TEMPORARY");
  }
}

/**
 * Makes the document of an item that this process has under lease. Never throws: what cannot be written is freed
 * before the lease ends, and whoever takes the item then accepts under the same id.
 */
export async function dispatchItem(ports: BoxDispatchPorts, item: ClaimedItem): Promise<void> {
  const refusal = await refusalOf(ports, item);
  if (refusal === undefined) return;
  const { reason } = refusal;
  const trigger = triggerOf(reason);
  const { status, enterprise, retryable } = ERRORS[reason];
  const isPostponed = trigger === "postponed";
  try {
    await endBoxDispatch(ports.sql, {
      item,
      owner: ports.owner,
      status: boxLifecycle.sending[trigger].to,
      trigger,
      error: { status, code: enterprise, message: refusal.message, retryable: retryable || isPostponed },
      wait_ms: isPostponed
        ? backoff(item.tries + 1, LIMITS.box_postponed_first_ms, LIMITS.box_postponed_max_ms)
        : undefined,
    });
  } catch (error) {
    ports.log.warn("box.end_unwritable", { documentId: item.documentId, ...errorFields(error) });
  }
}
