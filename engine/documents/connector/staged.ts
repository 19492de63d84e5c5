/** Documents that wait until their program sends or cancels them, and the end of those that nobody sends. */
import type { Clock, Instant } from "../../base/clock.js";
import { Refusal, temporary } from "../../base/errors.js";
import { newId, participantKey } from "../../base/ids.js";
import type { FirmId, IntegratorId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { bodyField } from "../../invoices/connector/to-invoice.js";
import { fieldOf } from "../../invoices/field-of.js";
import { stagedMove } from "../../lifecycle/connector.js";
import type { StagedOperation } from "../../lifecycle/connector.js";
import { outboundLifecycle } from "../../lifecycle/document.js";
import { findOwnParticipant } from "../../storage/documents/received.js";
import { cancelHeld, deleteCancelled, endHeld, findStaged, sendHeld } from "../../storage/documents/staged.js";
import type { StagingEnd, HeldMove, StagedRow } from "../../storage/documents/staged.js";
import type { AuditStamp } from "../../storage/identity/audit.js";
import type { Sealer } from "../../storage/sealer.js";
import { orNotFound, orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { preflight } from "../accept/preflight.js";
import type { PreflightPorts } from "../accept/preflight.js";
import { refusalOfRecipient } from "../accept/send.js";
import { senderRole } from "../declared.js";
import { inMembers, memberNames } from "../send/members.js";
import { payloadOf } from "./said.js";

/** One step of one document. */
export interface StagedStep {
  readonly operation: StagedOperation;
  readonly firmId: FirmId;
  readonly id: string;
  /** Of the caller, where it is an integrator. */
  readonly integratorId: IntegratorId | undefined;
  readonly receivedAt: Instant;
  readonly audit: AuditStamp;
}

interface StagedPorts extends PreflightPorts {
  readonly sealer: Sealer;
  readonly clock: Clock;
  /** Tells the dispatchers that a document waits to be claimed. */
  readonly poke: () => void;
}

const WORDS = { send: "Sending", cancel: "Cancelling" } as const satisfies Record<StagedOperation, string>;

/** What to do about a document that could be staged and cannot be sent. */
const REPAIR = "Cancel the document, and create it anew under another externalId.";

/** Judges what was judged when it was staged: rules, recipient and sender may have changed since. @throws Refusal */
async function judgeAgain(ports: StagedPorts, { firmId, id, receivedAt }: StagedStep, row: StagedRow): Promise<void> {
  const { keyId, sender, receiver, documentTypeId, processId } = row;
  const own = await orTemporary(findOwnParticipant(ports.sql, participantKey(sender)));
  if (own?.firmId !== firmId)
    throw new Refusal(
      "SENDER_UNREGISTERED",
      [{ field: "documentId", message: `${sender}, which sends the document, is no participant of this firm.` }],
      { nextAction: REPAIR },
    );
  const judged = await preflight(ports, {
    ...{ door: "connector", firmId, keyId, sender, receiver, documentTypeId, processId, receivedAt },
    payload: await payloadOf(ports, firmId, id),
    // Its names are its own already.
    erpDocumentId: undefined,
    idempotencyKey: undefined,
    creationDateTime: undefined,
    checksum: undefined,
    meaning: () => [],
  });
  const refusal =
    judged.refusal ?? (judged.recipient === undefined ? undefined : refusalOfRecipient(judged.recipient.capability));
  if (refusal === undefined) return;
  const isSelfBilling = senderRole(documentTypeId) === "customer";
  const words = memberNames.json((finding) => fieldOf(finding, isSelfBilling));
  const { reason, details, extras } = inMembers(refusal, (detail) => {
    const { field, ...found } = words(detail);
    return { ...found, ...(field === undefined ? {} : { field: bodyField(field) }) };
  });
  throw new Refusal(reason, details, { ...extras, nextAction: REPAIR });
}

const CANCELLED = "It was cancelled before it was sent.";
const FORGOTTEN = `It was staged, and not sent within ${LIMITS.staged_kept_days} days.`;

/** How a cancelled document ends. Nobody failed to deliver it: the event of the move is not told, its own is. */
const ended = (reason: string): StagingEnd => ({ status: outboundLifecycle.queued.cancelled.to, reason });

const MOVES: Readonly<
  Record<StagedOperation, (ports: Pick<StagedPorts, "sql" | "clock">, move: HeldMove) => Promise<boolean>>
> = {
  send: ({ sql }, move) => sendHeld(sql, move),
  cancel: ({ sql, clock }, move) => cancelHeld(sql, move, { ...ended(CANCELLED), eventId: newId(clock) }),
};

/**
 * Sends or cancels a staged document. Two at once, on whichever nodes, are decided by its version: the second sees what
 * the first has made of it. Safe to repeat.
 * @returns whether it had been done before
 * @throws Refusal NOT_FOUND; DOCUMENT_STATE; SENDER_UNREGISTERED, DOCUMENT_INVALID and RECIPIENT_CAPABILITY for what
 * could be staged and cannot be sent any more, which stays staged; TEMPORARY
 * @source spec/enterprise.md, Connector; spec/rulings.md, section 11, States
 */
export async function operateStaged(ports: StagedPorts, step: StagedStep): Promise<{ readonly replayed: boolean }> {
  const { operation, firmId, id, integratorId, audit } = step;
  for (let tries = 0; tries < LIMITS.stale_version_retries; tries += 1) {
    const row = await orNotFound(findStaged(ports.sql, firmId, id));
    const to = stagedMove(row.staged, operation);
    if (to === undefined)
      throw new Refusal("DOCUMENT_STATE", [
        {
          field: "documentId",
          issue: row.staged ?? "not_staged",
          message: `${WORDS[operation]} is not among the document's actions: it ${row.staged === null ? "was not staged" : `was ${row.staged}`}.`,
        },
      ]);
    if (to === row.staged) return { replayed: true };
    if (operation === "send") await judgeAgain(ports, step, row);
    const move = { id, firmId, version: row.version, integratorId, audit };
    if (!(await orTemporary(MOVES[operation](ports, move)))) continue;
    if (operation === "send") ports.poke();
    return { replayed: false };
  }
  throw temporary();
}

/** Ends what nobody has sent, and deletes what has ended. One pass; safe to run on every node at once. */
export async function pruneStaged(sql: Sql): Promise<void> {
  const steps = [() => endHeld(sql, ended(FORGOTTEN)), () => deleteCancelled(sql)];
  for (const step of steps)
    for (let round = 0; round < LIMITS.box_prune_rounds_max; round += 1)
      if ((await step()) < LIMITS.box_prune_batch) break;
}
