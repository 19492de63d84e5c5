/** What a firm has sent: one document whole, pages, many at once, the exact bytes, the pulls. */
import { isoInstant, isoOrNull } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { Cursors } from "../../base/cursors.js";
import { Refusal } from "../../base/errors.js";
import { participantKey } from "../../base/ids.js";
import type { DocumentId, FirmId, ParticipantId } from "../../base/ids.js";
import { OUTBOUND_STATES, PULL_STATUS } from "../../lifecycle/document.js";
import type { OutboundState, PullStatus } from "../../lifecycle/document.js";
import type { ResponseCode } from "../../lifecycle/response.js";
import {
  countFirmSent,
  findFirmSent,
  findSentPayload,
  listFirmSent,
  pullSent,
  pullSentEvents,
} from "../../storage/documents/firm-sent.js";
import type { FirmSent } from "../../storage/documents/firm-sent.js";
import { listMarks } from "../../storage/documents/marks.js";
import { openDigested } from "../../storage/payloads/payloads.js";
import type { Sealer } from "../../storage/sealer.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { sentAtOf } from "../accept/send.js";
import { kindOf, patternOf } from "./kinds.js";
import type { ListedKind } from "./kinds.js";
import { readDocument, statusRecord } from "./lifecycle-reads.js";
import { beginningOf, pageOf, refuseLost } from "./places.js";

/** A sent document in a list. */
const listed = (row: FirmSent) => ({
  id: row.id,
  direction: "outbound" as const,
  status: row.status,
  statusReason: row.statusReason,
  documentType: kindOf(row.documentTypeId),
  documentTypeId: row.documentTypeId,
  processId: row.processId,
  senderPeppolId: row.sender,
  receiverPeppolId: row.receiver,
  documentNumber: row.number,
  issueDate: row.issueDate,
  dueDate: row.dueDate,
  currency: row.currency,
  totalAmount: row.total,
  externalId: row.externalId,
  invoiceResponseStatus: row.invoiceResponseStatus,
  as4MessageId: row.as4MessageId,
  payloadSha256: row.payloadSha256,
  attempts: row.attempts,
  createdAt: isoInstant(row.createdAt),
  updatedAt: isoInstant(row.updatedAt),
  deliveredAt: isoOrNull(row.deliveredAt),
  acknowledgedAt: isoOrNull(row.acknowledgedAt),
});

/** What was sent and what became of it, with everything that is known. @throws Refusal NOT_FOUND, TEMPORARY */
export async function readSentDetail(sql: Sql, firmId: FirmId, id: DocumentId) {
  const [record, [row], marks] = await Promise.all([
    readDocument(sql, firmId, id),
    orTemporary(findFirmSent(sql, firmId, [id])),
    orTemporary(listMarks(sql, firmId, id)),
  ]);
  if (row === undefined) throw new Refusal("NOT_FOUND");
  const { externalId, direction, documentNumber, issueDate, dueDate, currency, totalAmount, payloadSha256, attempts } =
    listed(row);
  const path = `/api/v1/documents/${id}`;
  return {
    ...statusRecord(record),
    externalId,
    processId: record.processId,
    direction,
    documentNumber,
    issueDate,
    dueDate,
    currency,
    totalAmount,
    payloadSha256,
    attempts,
    sentAt: sentAtOf(record),
    marks: marks.map(({ state, note, markedAt }) => ({ state, note, markedAt: isoInstant(markedAt) })),
    links: {
      self: path,
      status: `${path}/status`,
      events: `${path}/events`,
      ubl: `${path}/ubl`,
      evidence: `${path}/evidence`,
      responses: `${path}/responses`,
      supportPacket: `${path}/support-packet`,
    },
  };
}

/** The exact bytes; undefined when the firm has sent no such document. @throws Refusal TEMPORARY */
export async function readSentUbl(
  { sql, sealer }: { readonly sql: Sql; readonly sealer: Sealer },
  firmId: FirmId,
  id: string,
): Promise<Buffer | undefined> {
  const found = await orTemporary(findSentPayload(sql, firmId, id));
  return found && openDigested(sealer, id, found);
}

/** A page of what was sent. */
export interface OutboxAsked {
  readonly status: OutboundState | undefined;
  readonly receiver: ParticipantId | undefined;
  readonly since: Instant | undefined;
  readonly offset: number;
  readonly limit: number;
}

const keyOf = (id: ParticipantId | undefined): string | undefined =>
  id === undefined ? undefined : participantKey(id);

/** Newest first. @throws Refusal TEMPORARY */
export async function readOutbox(sql: Sql, firmId: FirmId, { status, receiver, ...page }: OutboxAsked) {
  const statuses = status === undefined ? undefined : [status];
  const query = { ...page, statuses, receiverKey: keyOf(receiver) };
  const [rows, total] = await orTemporary(
    Promise.all([listFirmSent(sql, firmId, query), countFirmSent(sql, firmId, query)]),
  );
  return {
    documents: rows.slice(0, page.limit).map(listed),
    total,
    limit: page.limit,
    offset: page.offset,
    hasMore: rows.length > page.limit,
  };
}

/** How far many documents are, in the order of the ids; `missing` names those that the firm has not sent. */
export async function readSentStates(sql: Sql, firmId: FirmId, ids: readonly DocumentId[]) {
  const rows = await orTemporary(findFirmSent(sql, firmId, ids));
  const byId = new Map(rows.map((row) => [row.id, row]));
  return {
    documents: ids.flatMap((id) => {
      const row = byId.get(id);
      if (row === undefined) return [];
      const { status, deliveredAt, acknowledgedAt, invoiceResponseStatus, as4MessageId, createdAt, updatedAt } =
        listed(row);
      const times = { deliveredAt, acknowledgedAt, createdAt, updatedAt };
      return [{ id, status, statusReason: row.statusReason, invoiceResponseStatus, as4MessageId, ...times }];
    }),
    missing: ids.filter((id) => !byId.has(id)),
  };
}

/** A sent document as the pull interface calls it. */
export const pulledSent = (row: FirmSent) => ({
  id: row.id,
  kind: kindOf(row.documentTypeId),
  status: pullStatusOf(row),
  state: row.status,
  status_reason: row.statusReason,
  business_status: row.invoiceResponseStatus,
  document_number: row.number,
  issue_date: row.issueDate,
  due_date: row.dueDate,
  currency: row.currency,
  total_amount: row.total,
  sender: row.sender,
  recipient: row.receiver,
  document_type_id: row.documentTypeId,
  process_id: row.processId,
  external_id: row.externalId,
  as4_message_id: row.as4MessageId,
  payload_sha256: row.payloadSha256,
  attempts: row.attempts,
  created_at: isoInstant(row.createdAt),
  updated_at: isoInstant(row.updatedAt),
  delivered_at: isoOrNull(row.deliveredAt),
});

const pullStatusOf = ({ status, attempts }: Pick<FirmSent, "status" | "attempts">): PullStatus =>
  status === "queued" && attempts > 0 ? "sending" : PULL_STATUS[status];

/** The states that a word of the pull interface stands for. */
const statesOf = (word: PullStatus | undefined): readonly OutboundState[] | undefined =>
  word === undefined
    ? undefined
    : OUTBOUND_STATES.filter((state) => PULL_STATUS[state] === (word === "sending" ? "queued" : word));
/** Whether only attempted documents are meant, or only others; undefined where it does not matter. */
const ATTEMPTED: Partial<Record<PullStatus, boolean>> = { queued: false, sending: true };

interface PullPorts {
  readonly sql: Sql;
  readonly cursors: Cursors;
}

/** A page of a pull of what was sent. */
export interface SentPullAsked {
  readonly since: string | undefined;
  readonly limit: number;
  readonly kind: ListedKind | undefined;
  readonly status: PullStatus | undefined;
  readonly businessStatus: ResponseCode | undefined;
  readonly recipient: ParticipantId | undefined;
}

/** In the order of acceptance; nothing appears behind a reader. @throws Refusal REQUEST_INVALID, TEMPORARY */
export async function pullOutbound({ sql, cursors }: PullPorts, firmId: FirmId, asked: SentPullAsked) {
  const list = `outbound/${firmId}`;
  const { limit, since: given, status } = asked;
  const beginning = beginningOf(cursors, list, given);
  const rows = await orTemporary(
    pullSent(sql, {
      firmId,
      ...beginning,
      type: patternOf(asked.kind),
      statuses: statesOf(status),
      isAttempted: status === undefined ? undefined : ATTEMPTED[status],
      responseStatus: asked.businessStatus,
      receiverKey: keyOf(asked.recipient),
      limit,
    }),
  );
  await refuseLost(sql, "since", { ...beginning, rows });
  const page = pageOf(cursors, list, { rows, limit, given });
  return { documents: page.rows.map(pulledSent), next_cursor: page.nextCursor, has_more: page.hasMore };
}

/** One document of the pull. @throws Refusal NOT_FOUND, TEMPORARY */
export async function readPulledSent(sql: Sql, firmId: FirmId, id: DocumentId) {
  const [row] = await orTemporary(findFirmSent(sql, firmId, [id]));
  if (row === undefined) throw new Refusal("NOT_FOUND");
  return pulledSent(row);
}

/** What happened to what was sent; nothing appears behind a reader. @throws Refusal REQUEST_INVALID, TEMPORARY */
export async function pullOutboundEvents(
  { sql, cursors }: PullPorts,
  firmId: FirmId,
  { since: given, limit }: Pick<SentPullAsked, "since" | "limit">,
) {
  const list = `outbound-events/${firmId}`;
  const beginning = beginningOf(cursors, list, given);
  const rows = await orTemporary(pullSentEvents(sql, { firmId, ...beginning, limit }));
  await refuseLost(sql, "since", { ...beginning, rows });
  const page = pageOf(cursors, list, { rows, limit, given });
  return {
    events: page.rows.map(({ id, kind, documentId, detail, meta, occurredAt }) => ({
      event_id: id,
      event: kind,
      document_id: documentId,
      detail,
      meta,
      occurred_at: isoInstant(occurredAt),
    })),
    next_cursor: page.nextCursor,
    has_more: page.hasMore,
  };
}
