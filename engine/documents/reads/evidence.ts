/** What can be shown of a document's way over the network. @source spec/rulings.md, section 11, Evidence */
import { isoInstant, isoOrNull } from "../../base/clock.js";
import { Refusal } from "../../base/errors.js";
import type { DocumentId, FirmId, ReceivedDocumentId } from "../../base/ids.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import type { ResponseCode } from "../../lifecycle/response.js";
import { findDocument } from "../../storage/documents/documents.js";
import type { EvidenceEntry } from "../../storage/evidence/evidence.js";
import type { EvidenceArchive } from "../../storage/evidence/archive.js";
import { EvidenceStoreFailure } from "../../storage/evidence/store.js";
import { findReceivedState } from "../../storage/documents/received.js";
import type { Sealer } from "../../storage/sealer.js";
import { orNotFound, orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import type { ResponseReader } from "../accept/facts.js";
import { readOwedMls, readReceivedMls } from "./evidence-mls.js";
import type { MlsView } from "./evidence-mls.js";

interface EvidenceReadPorts {
  readonly sql: Sql;
  readonly archive: EvidenceArchive;
  readonly log: Log;
  readonly sealer: Sealer;
  readonly validators: ResponseReader;
}

/** Instants in ISO form; null where it has not happened. */
export interface EvidenceRecordView {
  readonly documentId: string;
  readonly state: string;
  readonly as4MessageId: string;
  readonly sentAt: string | null;
  readonly deliveredAt: string | null;
  readonly receipt: { readonly sha256: string; readonly receivedAt: string } | null;
  readonly envelope: { readonly sha256: string; readonly bytes: number; readonly storedAt: string } | null;
  readonly chain: { readonly index: number; readonly hash: string; readonly previousHash: string } | null;
  readonly mls: MlsView | null;
  readonly invoiceResponse: { readonly status: string } | null;
  readonly links: { readonly self: string; readonly envelope: string };
}

interface Facts {
  readonly direction: "sent" | "received";
  readonly state: string;
  readonly as4MessageId: string;
  readonly deliveredAt: number | null;
  readonly invoiceResponseStatus: ResponseCode | null;
}

/** A sent or a received document of the firm. @throws Refusal NOT_FOUND */
async function factsOf(sql: Sql, firmId: FirmId, id: string): Promise<Facts> {
  const sent = await orTemporary(findDocument(sql, firmId, id as DocumentId));
  if (sent !== undefined)
    return {
      direction: "sent",
      state: sent.status,
      as4MessageId: sent.as4MessageId,
      deliveredAt: sent.deliveredAt,
      invoiceResponseStatus: sent.invoiceResponseStatus,
    };
  const received = await orNotFound(findReceivedState(sql, firmId, id as ReceivedDocumentId));
  return {
    direction: "received",
    state: received.status,
    as4MessageId: received.as4MessageId,
    deliveredAt: received.receivedAt,
    invoiceResponseStatus: null,
  };
}

/** Outcomes whose answer is a receipt. */
const RECEIPTED: readonly string[] = ["receipt", "stored", "duplicate"];

/** @throws Refusal NOT_FOUND, TEMPORARY */
export async function readDocumentEvidence(
  ports: EvidenceReadPorts,
  firmId: FirmId,
  id: string,
): Promise<EvidenceRecordView> {
  const facts = await factsOf(ports.sql, firmId, id);
  const [entry, mls] = await Promise.all([
    orTemporary(ports.archive.find(firmId, id)),
    facts.direction === "sent" ? readReceivedMls(ports, id) : readOwedMls(ports, id),
  ]);
  return {
    documentId: id,
    state: facts.state,
    as4MessageId: facts.as4MessageId,
    sentAt: isoOrNull(entry?.direction === "outbound" ? entry.requestAt : undefined),
    deliveredAt: isoOrNull(facts.deliveredAt),
    receipt: receiptOf(entry),
    envelope:
      entry === undefined
        ? null
        : { sha256: entry.envelopeSha256, bytes: entry.envelopeBytes, storedAt: isoInstant(entry.storedAt) },
    chain: entry === undefined ? null : { index: entry.index, hash: entry.hash, previousHash: entry.previousHash },
    mls,
    invoiceResponse: facts.invoiceResponseStatus === null ? null : { status: facts.invoiceResponseStatus },
    links: { self: `/api/v1/documents/${id}/evidence`, envelope: `/api/v1/documents/${id}/envelope` },
  };
}

function receiptOf(entry: EvidenceEntry | undefined): EvidenceRecordView["receipt"] {
  if (entry?.answerSha256 === undefined || entry.answerAt === undefined || !RECEIPTED.includes(entry.outcome))
    return null;
  return { sha256: entry.answerSha256, receivedAt: isoInstant(entry.answerAt) };
}

export interface Envelope {
  readonly bytes: Buffer;
  /** Of the HTTP body, with its boundary. */
  readonly contentType: string;
}

/** The part of a document's evidence that is shown, byte for byte. */
const SHOWN = {
  request: (entry: EvidenceEntry) => entry.envelopeContentType,
  answer: () => "application/soap+xml",
} as const;

/**
 * One part of the evidence of a document.
 * @throws Refusal NOT_FOUND also when nothing was exchanged yet, TEMPORARY; what is damaged is never shown
 */
async function readPart(
  { sql, archive, log }: Pick<EvidenceReadPorts, "sql" | "archive" | "log">,
  { firmId, id }: { readonly firmId: FirmId; readonly id: string },
  name: keyof typeof SHOWN,
): Promise<Envelope> {
  await factsOf(sql, firmId, id);
  const entry = await orTemporary(archive.find(firmId, id));
  if (entry === undefined || (name === "answer" && receiptOf(entry) === null)) throw new Refusal("NOT_FOUND");
  try {
    const { parts } = await archive.read(entry);
    const bytes = parts.get(name);
    if (bytes === undefined) throw new Error(`a record without its ${name}`);
    const contentType = SHOWN[name](entry);
    return { bytes, contentType: /^[\x20-\x7e]+$/.test(contentType) ? contentType : "application/octet-stream" };
  } catch (error) {
    log.error("evidence.unreadable", { documentId: id, ...errorFields(error) });
    if (error instanceof EvidenceStoreFailure) throw new Refusal("TEMPORARY");
    throw error;
  }
}

/** The signed AS4 envelope exactly as it was sent or received. @throws Refusal NOT_FOUND, TEMPORARY */
export const readDocumentEnvelope = (
  ports: Pick<EvidenceReadPorts, "sql" | "archive" | "log">,
  firmId: FirmId,
  id: string,
): Promise<Envelope> => readPart(ports, { firmId, id }, "request");

/** The signed receipt for a sent document exactly as it came. @throws Refusal NOT_FOUND, TEMPORARY */
export const readDocumentReceipt = (
  ports: Pick<EvidenceReadPorts, "sql" | "archive" | "log">,
  firmId: FirmId,
  id: DocumentId,
): Promise<Envelope> => readPart(ports, { firmId, id }, "answer");
