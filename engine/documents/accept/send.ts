/** Accepts one UBL document for sending: read, checked, committed with one statement, answered. */
import { createHash } from "node:crypto";

import type { Clock, Instant } from "../../base/clock.js";
import type { Door } from "../../base/doors.js";
import { Refusal, temporary } from "../../base/errors.js";
import type { ErrorDetail } from "../../base/errors.js";
import { newDocumentId, newId, newMessageId } from "../../base/ids.js";
import type { DocumentId, FirmId, KeyId, ParticipantId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { Metrics } from "../../base/metrics.js";
import { firstChars } from "../../base/text.js";
import { canonicalDocumentTypeId, canonicalProcessId } from "../../peppol/envelope/identifiers.js";
import type { Capability, Recipients } from "../../peppol/discovery/acceptance.js";
import { createAcceptBatches } from "../../storage/documents/accept-batches.js";
import type { AcceptBatches } from "../../storage/documents/accept-batches.js";
import { findPrecedent } from "../../storage/documents/documents.js";
import type { AcceptOutcome, Conflict, NewDocument, StoredReply } from "../../storage/documents/documents.js";
import { sealCompressed, sealPayload } from "../../storage/payloads/payloads.js";
import { sha256InSlices } from "../../storage/payloads/slices.js";
import type { Sealer } from "../../storage/sealer.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { firstAttemptAt } from "../delivery/first-attempt.js";
import type { Reserve } from "../delivery/first-attempt.js";
import { DOORS, refuseConflict } from "./doors.js";
import type { Inspection, Validators } from "./facts.js";
import { refuseSend } from "./send-checks.js";

/** A send request as its door has read it. */
export interface SendRequest {
  readonly door: Door;
  readonly firmId: FirmId;
  readonly keyId: KeyId;
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  /** What the caller calls the document; optional at some doors, never at SAPI. */
  readonly erpDocumentId: string | undefined;
  readonly documentTypeId: string;
  readonly processId: string;
  readonly creationDateTime: string | undefined;
  /** Optional at some doors, never at SAPI. */
  readonly idempotencyKey: string | undefined;
  /** UBL, exact bytes. */
  readonly payload: Buffer;
  /** What the caller says the payload's SHA-256 is, hex; undefined when it does not say. */
  readonly checksum: string | undefined;
  /** The members by which two requests are the same, with the hex digest of the payload in its place. */
  readonly meaning: (payloadSha256: string) => readonly (string | undefined)[];
  readonly receivedAt: Instant;
}

/** A request whose payload has been hashed, once, by the worker that judged it. */
interface HashedRequest extends SendRequest {
  /** Hex digest of the exact bytes. */
  readonly payloadSha256: string;
  /** Hex digest of the request's meaning. */
  readonly requestSha256: string;
}

/** The stored reply: the same bytes for every repeat. */
export interface SendReply {
  readonly status: number;
  readonly body: string;
  readonly replayed: boolean;
}

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
  return createHash("sha256")
    .update(JSON.stringify(members.map((member) => member ?? null)))
    .digest("hex");
}

function conflict(metrics: Metrics, door: Door, kind: Conflict): Refusal {
  const refusal = refuseConflict(door, kind);
  metrics.count("idempotency_conflicts_total", { code: refusal.reason });
  return refusal;
}

function replay(metrics: Metrics, door: Door, stored: StoredReply): SendReply {
  metrics.count("idempotency_replays_total", {});
  return { status: DOORS[door].repeatStatus, body: stored.replyBody, replayed: true };
}

/**
 * What an earlier acceptance says of a request that would be refused: its stored reply, a conflict, or nothing.
 * Read only here, so that the way of a good document costs one statement.
 * @param upTo `key`: a taken external id or payload does not matter yet, because the refusal at hand comes before it
 */
async function precedentOf(
  ports: SendPorts,
  request: HashedRequest,
  upTo: "key" | "payload",
): Promise<SendReply | undefined> {
  const found = await orTemporary(findPrecedent(ports.sql, request));
  if (found === undefined) return undefined;
  if ("replyBody" in found) return replay(ports.metrics, request.door, found);
  if (found.kind === "key_conflict" || upTo === "payload") throw conflict(ports.metrics, request.door, found.kind);
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

/**
 * What is kept of a document in clear. Names stay in its sealed text: they may be a person's. Its number is kept as
 * long as the database can look it up.
 */
function keptFacts(facts: Inspection["facts"]): NewDocument["facts"] {
  const { supplierName: _supplier, customerName: _customer, documentNumber, ...kept } = facts ?? {};
  return {
    ...kept,
    ...(documentNumber === undefined
      ? {}
      : { documentNumber: firstChars(documentNumber, LIMITS.document_number_chars_max) }),
    precedingInvoiceIds: [...(facts?.precedingInvoiceIds ?? [])],
  } as NewDocument["facts"];
}

async function newDocument(
  ports: SendPorts,
  id: DocumentId,
  request: HashedRequest,
  inspection: Inspection,
): Promise<NewDocument> {
  const { status, body } = DOORS[request.door].reply;
  const messageId = newMessageId();
  const { erpDocumentId: externalId, payloadSha256, receivedAt } = request;
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
    facts: keptFacts(inspection.facts),
    idempotencyKey: request.idempotencyKey,
    requestSha256: request.requestSha256,
    payloadSha256,
    replyStatus: status,
    replyBody: JSON.stringify(body({ id, externalId, messageId, payloadSha256, receivedAt })),
    as4MessageId: messageId,
    sbdhInstanceId: newId(ports.clock),
    validationResult: {
      errors: [],
      warnings: inspection.findings.map(({ ruleId, location, message }) => ({ ruleId, location, message })),
      ruleSet: inspection.ruleSet,
      ...(inspection.validLater === undefined ? {} : { upcoming: inspection.validLater }),
    },
    acceptedAt: request.receivedAt,
    payloadKeyId: ports.sealer.keyId,
    payloadSealed:
      inspection.compressed === undefined
        ? await sealPayload(ports.sealer, id, request.payload)
        : await sealCompressed(ports.sealer, id, inspection.compressed),
    payloadBytes: request.payload.length,
    eventId: newId(ports.clock),
  };
}

type Judged =
  | { readonly kind: "judged"; readonly inspection: Inspection }
  /** The workers are full, or failed. */
  | { readonly kind: "unjudged"; readonly error: unknown };

/** One way to a worker and back: the verdict, the digest, and the bytes as they are stored. */
async function judge({ validators }: SendPorts, { payload, sender, receivedAt }: SendRequest): Promise<Judged> {
  try {
    const upcoming = payload.length <= LIMITS.upcoming_verdict_bytes_max;
    const options = { fairnessKey: sender, receivedAt, compress: true, upcoming };
    return { kind: "judged", inspection: await validators.inspect(payload, options) };
  } catch (error) {
    return { kind: "unjudged", error };
  }
}

async function hashed(request: SendRequest, judged: Judged): Promise<HashedRequest> {
  const payloadSha256 =
    judged.kind === "judged" ? judged.inspection.payloadSha256 : await sha256InSlices(request.payload);
  return { ...request, payloadSha256, requestSha256: requestFingerprint(request.meaning(payloadSha256)) };
}

/**
 * Accepts one UBL document for sending, whichever door it came through. Safe to repeat with the same key.
 *
 * A refusal burns neither the key, nor the documentId, nor the payload. A key that was used before is answered before
 * any finding about the document; what the specification checks before it has already been checked by the caller.
 * @param id the document's id if it is accepted
 * @returns the stored reply when the key was used before, otherwise the new acceptance
 * @throws Refusal of the door's checks, SAPI-PROC-002, SAPI-PROC-003, SAPI-DOC-018 or the door's own word for it,
 * SAPI-DOC-024, RECIPIENT_CAPABILITY, CHECKSUM, TEMPORARY
 * @source spec/sapi.md, Endpoints, rule 1; spec/rulings.md, section 2
 */
export async function acceptSend(ports: SendPorts, id: DocumentId, asked: SendRequest): Promise<SendReply> {
  const judged = await judge(ports, asked);
  const request = await hashed(asked, judged);
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
    throw refusal;
  }
  const capability = await orTemporary(
    ports.recipients.capability(request.receiver, {
      documentTypeId: canonicalDocumentTypeId(request.documentTypeId),
      processId: canonicalProcessId(request.processId),
    }),
  );
  const lacking = LACKING[capability];
  if (lacking !== undefined) {
    const stored = await precedentOf(ports, request, "payload");
    if (stored !== undefined) return stored;
    throw new Refusal("RECIPIENT_CAPABILITY", [lacking]);
  }
  const outcome = await commit(ports, await newDocument(ports, id, request, inspection), request.payload);
  if (outcome.kind === "accepted") {
    ports.metrics.count("documents_accepted_total", {});
    return { status: outcome.replyStatus, body: outcome.replyBody, replayed: false };
  }
  if (outcome.kind === "replay") return replay(ports.metrics, request.door, outcome);
  if (outcome.kind === "lost_race") throw temporary();
  throw conflict(ports.metrics, request.door, outcome.kind);
}

/** Commits a document, with the lease of its first attempt where this process has a place for it. */
async function commit(ports: SendPorts, document: NewDocument, payload: Buffer): Promise<AcceptOutcome> {
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

/** A fresh id for a document that is about to be accepted. */
export const nextDocumentId = (clock: Clock): DocumentId => newDocumentId(clock);
