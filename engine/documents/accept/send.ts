/** Accepts one UBL document for sending: read, checked, committed with one statement, answered. */
import { isoInstant } from "../../base/clock.js";
import type { Clock } from "../../base/clock.js";
import type { Door } from "../../base/doors.js";
import { Refusal, temporary } from "../../base/errors.js";
import type { ErrorDetail } from "../../base/errors.js";
import { newId, newMessageId } from "../../base/ids.js";
import type { DocumentId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { Metrics } from "../../base/metrics.js";
import { traceAccepted } from "../../base/tracing/tracing.js";
import { canonicalDocumentTypeId, canonicalProcessId } from "../../peppol/envelope/identifiers.js";
import type { Recipient, Recipients } from "../../peppol/discovery/acceptance.js";
import type { Capability } from "../../peppol/discovery/routing.js";
import { createAcceptBatches } from "../../storage/documents/accept-batches.js";
import type { AcceptBatches } from "../../storage/documents/accept-batches.js";
import { findDocument, findPrecedent } from "../../storage/documents/documents.js";
import type {
  AcceptOutcome,
  Conflict,
  DocumentRecord,
  NewDocument,
  StoredReply,
} from "../../storage/documents/documents.js";
import { sha256Hex } from "../../storage/evidence/record.js";
import { sealCompressed, sealPayload } from "../../storage/payloads/payloads.js";
import { freeOctets } from "../../base/memory/release.js";
import { sha256InSlices } from "../../base/memory/slices.js";
import type { Sealer } from "../../storage/sealer.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { keptFacts } from "../kept-facts.js";
import { firstAttemptAt } from "../delivery/first-attempt.js";
import type { Reserve } from "../delivery/first-attempt.js";
import { DOORS, refuseConflict, refuseErased, refuseGone } from "./doors.js";
import type { Inspection, Validators } from "./facts.js";
import { keep } from "./refused.js";
import { completed } from "./said.js";
import type { CompleteRequest, HashedRequest, SendReply, SendRequest } from "./request.js";
import { refuseSend } from "./send-checks.js";

export interface SendPorts {
  readonly sql: Sql;
  readonly batches: AcceptBatches;
  readonly validators: Validators;
  readonly recipients: Recipients;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** A place for the first attempt. @default none: every document is claimed */
  readonly reserve?: Reserve;
  /** Tells the dispatchers that a document waits to be claimed. */
  readonly poke: () => void;
}

/** Documents of all senders of a node gather in one place, so that many share a statement. */
export const withBatches = (ports: Omit<SendPorts, "batches">): SendPorts => ({
  ...ports,
  batches: createAcceptBatches(ports.sql),
});

/**
 * The digest by which two requests are the same: over the members as parsed, so that white space, order and escapes of
 * the JSON do not matter.
 * @source design/reliability.md, C-05
 */
export function requestFingerprint(members: readonly (string | undefined)[]): string {
  return sha256Hex(JSON.stringify(members.map((member) => member ?? null)));
}

/** What a request is told whose name another document has. @throws Refusal TEMPORARY */
export async function refusalOfConflict(
  sql: Sql,
  { door, firmId }: Pick<SendRequest, "door" | "firmId">,
  { kind, documentId }: { readonly kind: Conflict; readonly documentId?: DocumentId },
): Promise<Refusal> {
  const isNumber = kind === "duplicate_document" && DOORS[door].isNamedByNumber;
  const existing =
    isNumber && documentId !== undefined ? await orTemporary(findDocument(sql, firmId, documentId)) : undefined;
  return refuseConflict(door, kind, existing === undefined ? {} : sameNumber(existing));
}

async function conflict(
  { sql, metrics }: Pick<SendPorts, "sql" | "metrics">,
  request: Pick<SendRequest, "door" | "firmId">,
  found: Parameters<typeof refusalOfConflict>[2],
): Promise<Refusal> {
  const refusal = await refusalOfConflict(sql, request, found);
  metrics.count("idempotency_conflicts_total", { code: refusal.reason });
  return refusal;
}

/** When a document left, as its history says; null before. */
export function sentAtOf({ history }: Pick<DocumentRecord, "history">): string | null {
  const left = history.find(({ status }) => status === "sent" || status === "delivered");
  return left === undefined ? null : isoInstant(left.timestamp);
}

/** The document that has the number already. @source spec/shapes.md, section 6, errors of POST /documents/send */
const sameNumber = (existing: DocumentRecord) => ({
  conflictKey: ["firmId", "invoiceNumber"],
  existingDocument: {
    id: existing.id,
    invoiceNumber: existing.erpDocumentId,
    status: existing.status,
    sentAt: sentAtOf(existing),
    recipient: existing.receiver,
  },
});

function replay(metrics: Metrics, door: Door, stored: StoredReply): SendReply {
  metrics.count("idempotency_replays_total", {});
  return { status: DOORS[door].repeatStatus, body: stored.replyBody, replayed: true };
}

/**
 * What an earlier acceptance says of a request that would be refused: its stored reply, a conflict, or nothing.
 * Read only here, so that the way of a good document costs one statement.
 * @param upTo `key`: a taken external id or payload does not matter yet, because the refusal at hand comes before it
 */
export async function precedentOf(
  ports: Pick<SendPorts, "sql" | "metrics">,
  request: Parameters<typeof findPrecedent>[1],
  upTo: "key" | "payload",
): Promise<SendReply | undefined> {
  const found = await orTemporary(findPrecedent(ports.sql, request));
  if (found === undefined) return undefined;
  if ("replyBody" in found) return replay(ports.metrics, request.door, found);
  if (found.kind === "key_conflict" || upTo === "payload") throw await conflict(ports, request, found);
  return undefined;
}

/** What a recipient does not take. Who is not registered, or could not be asked, is tried by the attempts. */
const LACKING: Readonly<Record<Capability, ErrorDetail | undefined>> = {
  accepts: undefined,
  unregistered: undefined,
  unknown: undefined,
  not_accepted: {
    field: "metadata.documentTypeId",
    message: "Look up what the recipient accepts, or ask the recipient to register this document type.",
  },
  process_not_accepted: {
    field: "metadata.processId",
    message: "The recipient takes this document type in another process; look up in which.",
  },
};

/** The refusal of a document that its recipient does not take; undefined where it may go. */
export function refusalOfRecipient(capability: Capability): Refusal | undefined {
  const lacking = LACKING[capability];
  return lacking === undefined ? undefined : new Refusal("RECIPIENT_CAPABILITY", [lacking]);
}

/** What the caller should know of a recipient that is not there. */
const WARNINGS: Partial<Record<Capability, string>> = {
  unregistered:
    "The recipient is not registered in the network; the document is tried until the plan of attempts ends.",
};

/** What a worker has compressed, sealed; nobody else reads it. */
async function sealedOnce(sealer: Sealer, id: string, compressed: Uint8Array): Promise<Buffer> {
  const sealed = await sealCompressed(sealer, id, compressed);
  freeOctets(compressed);
  return sealed;
}

async function newDocument(
  ports: SendPorts,
  id: DocumentId,
  request: HashedRequest,
  { inspection, capability }: { readonly inspection: Inspection; readonly capability: Capability },
): Promise<NewDocument> {
  const { status, body } = DOORS[request.door].reply;
  const warnings = [request.warning, WARNINGS[capability]].filter((text) => text !== undefined);
  const warning = warnings.length === 0 ? undefined : warnings.join(" ");
  const messageId = newMessageId();
  const sealer = await ports.sealer.forFirm(request.firmId).catch(refuseGone);
  const { erpDocumentId: externalId, payloadSha256, receivedAt, resolution } = request;
  return {
    id,
    door: request.door,
    firmId: request.firmId,
    keyId: request.keyId,
    sender: request.sender,
    receiver: request.receiver,
    erpDocumentId: request.erpDocumentId,
    documentTypeId: canonicalDocumentTypeId(request.documentTypeId),
    processId: canonicalProcessId(request.processId),
    creationDateTime: request.creationDateTime,
    facts: keptFacts(sealer, { id, sender: request.sender }, inspection.facts),
    idempotencyKey: request.idempotencyKey,
    requestSha256: request.requestSha256,
    payloadSha256,
    replyStatus: status,
    replyBody: JSON.stringify(body({ id, externalId, messageId, payloadSha256, receivedAt, warning, resolution })),
    as4MessageId: messageId,
    sbdhInstanceId: newId(ports.clock),
    validationResult: {
      errors: [],
      warnings: inspection.findings.map(({ ruleId, location, message }) => ({ ruleId, location, message })),
      ruleSet: inspection.ruleSet,
      ...(inspection.validLater === undefined ? {} : { upcoming: inspection.validLater }),
    },
    acceptedAt: request.receivedAt,
    payloadKeyId: sealer.keyId,
    payloadSealed:
      inspection.compressed === undefined
        ? await sealPayload(sealer, id, request.payload)
        : await sealedOnce(sealer, id, inspection.compressed),
    payloadBytes: request.payload.length,
    eventId: newId(ports.clock),
    staged: request.staged,
  };
}

type Judged =
  | { readonly kind: "judged"; readonly inspection: Inspection }
  /** The workers are full, or failed. */
  | { readonly kind: "unjudged"; readonly error: unknown };

/** One way to a worker and back: the verdict, the digest, and the bytes as they are stored. */
export async function judgeSend(
  { validators }: Pick<SendPorts, "validators">,
  { payload, sender, receivedAt }: SendRequest,
): Promise<Judged> {
  try {
    const upcoming = payload.length <= LIMITS.upcoming_verdict_bytes_max;
    const options = { fairnessKey: sender, receivedAt, compress: true, upcoming };
    return { kind: "judged", inspection: await validators.inspect(payload, options) };
  } catch (error) {
    return { kind: "unjudged", error };
  }
}

export async function hashed(sql: Sql, request: SendRequest, judged: Judged): Promise<HashedRequest> {
  const inspection = judged.kind === "judged" ? judged.inspection : undefined;
  const payloadSha256 = inspection?.payloadSha256 ?? (await sha256InSlices(request.payload));
  const complete = await completed(sql, request, inspection?.facts);
  return { ...complete, payloadSha256, requestSha256: requestFingerprint(request.meaning(payloadSha256)) };
}

/**
 * Accepts one UBL document for sending, whichever door it came through. Safe to repeat with the same key.
 *
 * A refusal burns neither the key, nor the documentId, nor the payload. A key that was used before is answered before
 * any finding about the document; what the specification checks before it has already been checked by the caller.
 * @param id the document's id if it is accepted
 * @returns the stored reply when the key was used before, otherwise the new acceptance
 * @throws Refusal of the door's checks, SAPI-PROC-002, SAPI-PROC-003, SAPI-DOC-018 or the door's own word for it,
 * SAPI-DOC-024, RECIPIENT_CAPABILITY, CHECKSUM, TOKEN_INVALID for an erased firm, TEMPORARY
 * @source spec/sapi.md, Endpoints, rule 1; spec/rulings.md, section 2
 */
export async function acceptSend(ports: SendPorts, id: DocumentId, asked: SendRequest): Promise<SendReply> {
  const judged = await judgeSend(ports, asked);
  const request = await hashed(ports.sql, asked, judged);
  if (request.checksum !== undefined && request.checksum.toLowerCase() !== request.payloadSha256) {
    throw new Refusal("CHECKSUM", [
      { field: "checksum", message: "The digest differs from that of the payload's UTF-8 bytes." },
    ]);
  }
  if (judged.kind === "unjudged") {
    // A repeat of something accepted is never turned away behind new work.
    const stored = await precedentOf(ports, request, "key");
    if (stored !== undefined) return stored;
    throw judged.error;
  }
  const { inspection } = judged;
  const refusal = refuseSend(request, inspection, DOORS[request.door].checks);
  if (refusal !== undefined) {
    const stored = await precedentOf(ports, request, "key");
    if (stored !== undefined) return stored;
    if (DOORS[request.door].keepsRefused === true)
      await keep(ports, await newDocument(ports, id, request, { inspection, capability: "unknown" }), refusal);
    throw refusal;
  }
  const { capability } = await askRecipient(ports, request);
  const lacking = refusalOfRecipient(capability);
  if (lacking !== undefined) {
    const stored = await precedentOf(ports, request, "payload");
    if (stored !== undefined) return stored;
    throw lacking;
  }
  const document = await newDocument(ports, id, request, { inspection, capability });
  const outcome = await commit(ports, document, request.payload);
  if ("replyBody" in outcome) {
    if (outcome.kind === "replay") return replay(ports.metrics, request.door, outcome);
    traceAccepted(document.as4MessageId, id);
    ports.metrics.count("documents_accepted_total", {});
    return { status: outcome.replyStatus, body: outcome.replyBody, replayed: false };
  }
  if (outcome.kind === "lost_race") throw temporary();
  if (outcome.kind === "firm_erased") throw refuseErased();
  throw await conflict(ports, request, outcome);
}

/** Whether the recipient takes what a request declares, or its document says of itself. @throws Refusal TEMPORARY */
export const askRecipient = (
  { recipients }: Pick<SendPorts, "recipients">,
  request: Pick<CompleteRequest, "receiver" | "documentTypeId" | "processId">,
): Promise<Recipient> =>
  orTemporary(
    recipients.recipient(request.receiver, {
      documentTypeId: canonicalDocumentTypeId(request.documentTypeId),
      processId: canonicalProcessId(request.processId),
    }),
  );

/** Commits a document, with the lease of its first attempt where it is due and this process has a place for it. */
async function commit(ports: SendPorts, document: NewDocument, payload: Buffer): Promise<AcceptOutcome> {
  if (document.staged) return ports.batches.accept(document);
  const first = ports.reserve?.(document.receiver, document.payloadBytes);
  try {
    const outcome = await ports.batches.accept({ ...document, owner: first?.owner });
    // A commit whose answer was lost is met again as a repeat of itself: the lease is ours all the same.
    const isOurs = outcome.kind === "accepted" || (outcome.kind === "replay" && outcome.documentId === document.id);
    if (!isOurs) return outcome;
    if (first === undefined) ports.poke();
    else first.begin(firstAttemptAt(document, payload));
    return outcome;
  } catch (error) {
    first?.lose();
    throw error;
  } finally {
    first?.release();
  }
}
