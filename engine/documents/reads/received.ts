/** What a firm has received, over all its participants: pages, one document, the pull; also over many firms. */
import { isoInstant, isoOrNull } from "../../base/clock.js";
import type { Clock, Instant } from "../../base/clock.js";
import type { Cursors } from "../../base/cursors.js";
import { Refusal } from "../../base/errors.js";
import { participantKey } from "../../base/ids.js";
import type { FirmId, ParticipantId, ReceivedDocumentId } from "../../base/ids.js";
import { RECEIVED_STATES } from "../../lifecycle/received.js";
import type { ReceivedState } from "../../lifecycle/received.js";
import {
  countFirmReceived,
  findFirmReceived,
  listFirmReceived,
  pullReceived,
} from "../../storage/documents/firm-received.js";
import type { FirmReceived, ReadFirms } from "../../storage/documents/firm-received.js";
import { orNotFound, orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import type { Giving, Inbox } from "../inbound/inbox.js";
import { kindOf, patternOf } from "./kinds.js";
import type { ListedKind } from "./kinds.js";
import { ownerOf } from "./marks.js";
import { beginningOf, pageOf, refuseLost } from "./places.js";
import { settled } from "./settled.js";

export type { ReadFirms } from "../../storage/documents/firm-received.js";

interface ReceivedPorts {
  readonly sql: Sql;
  readonly clock: Clock;
}

/** The states in the lower case of the JSON interfaces. */
const WORDS = { RECEIVED: "received", ACKNOWLEDGED: "acknowledged" } as const satisfies Record<ReceivedState, string>;
/** Every word. */
export const RECEIVED_WORDS = Object.values(WORDS);
/** A state of a received document as the JSON interfaces call it. */
type ReceivedWord = (typeof WORDS)[ReceivedState];

/** A received document in a list. */
const listed = (row: FirmReceived) => ({
  documentId: row.id,
  direction: "inbound" as const,
  status: WORDS[row.status],
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
  as4MessageId: row.as4MessageId,
  payloadSha256: row.payloadSha256,
  receivedAt: isoInstant(row.receivedAt),
  acknowledgedAt: isoOrNull(row.acknowledgedAt),
  clientReference: row.clientReference,
});

/** A received document in the words of the pull interface. */
const pulled = (row: FirmReceived) => ({
  id: row.id,
  kind: kindOf(row.documentTypeId),
  status: WORDS[row.status],
  document_number: row.number,
  issue_date: row.issueDate,
  due_date: row.dueDate,
  currency: row.currency,
  total_amount: row.total,
  sender: row.sender,
  recipient: row.receiver,
  document_type_id: row.documentTypeId,
  process_id: row.processId,
  as4_message_id: row.as4MessageId,
  payload_sha256: row.payloadSha256,
  received_at: isoInstant(row.receivedAt),
  acknowledged_at: isoOrNull(row.acknowledgedAt),
  client_reference: row.clientReference,
});

/** A page of an inbox. */
export interface InboxAsked extends Giving {
  readonly status: ReceivedWord | undefined;
  readonly since: Instant | undefined;
  readonly offset: number;
  readonly limit: number;
}

async function readPage(
  { sql, clock }: ReceivedPorts,
  firms: ReadFirms,
  { status, isShown = true, ...page }: InboxAsked,
) {
  const statuses = RECEIVED_STATES.filter((state) => status === undefined || WORDS[state] === status);
  const query = { firms, statuses, ...page, shownAt: isShown ? clock.now() : undefined };
  await settled({ sql, clock }, { firms, showsJudged: statuses.includes("RECEIVED"), feeds: [] });
  const [rows, total] = await orTemporary(Promise.all([listFirmReceived(sql, query), countFirmReceived(sql, query)]));
  return {
    rows: rows.slice(0, page.limit),
    page: { total, limit: page.limit, offset: page.offset },
    hasMore: rows.length > page.limit,
  };
}

/** What a firm has received, oldest first. @throws Refusal TEMPORARY */
export async function readFirmInbox(ports: ReceivedPorts, firmId: FirmId, asked: InboxAsked) {
  const { rows, page, hasMore } = await readPage(ports, { firmId }, asked);
  return { documents: rows.map(listed), ...page, hasMore };
}

/** What the firms of an integrator have received, oldest first. @throws Refusal TEMPORARY */
export async function readAllInboxes(ports: ReceivedPorts, firms: ReadFirms, asked: InboxAsked) {
  const { rows, page, hasMore } = await readPage(ports, firms, asked);
  const documents = rows.map((row) => ({ ...pulled(row), firm_id: row.firmId, firm_name: row.firmName }));
  return { documents, ...page, has_more: hasMore };
}

/** A received document with the exact octets of its UBL; whoever is given it has received it through an API. */
async function readWhole(
  { sql, inbox }: { readonly sql: Sql; readonly inbox: Inbox },
  firmId: FirmId,
  id: ReceivedDocumentId,
  giving?: Giving,
): Promise<{ readonly row: FirmReceived; readonly payload: Buffer }> {
  const { direction, participantId } = await ownerOf(sql, firmId, id);
  if (direction !== "inbound") throw new Refusal("NOT_FOUND");
  const { payload } = await inbox.read({ firmId, participantId }, id, giving);
  const row = await orNotFound(findFirmReceived(sql, firmId, id));
  return { row, payload };
}

/** One document of the inbox. @throws Refusal NOT_FOUND, TEMPORARY */
export async function readReceivedDetail(
  ports: Parameters<typeof readWhole>[0],
  firmId: FirmId,
  id: ReceivedDocumentId,
  giving?: Giving,
): Promise<{ readonly document: ReturnType<typeof listed>; readonly payload: Buffer }> {
  const { row, payload } = await readWhole(ports, firmId, id, giving);
  return { document: listed(row), payload };
}

/** The exact octets of a received document. @throws Refusal NOT_FOUND, TEMPORARY */
export const readReceivedUbl = async (
  ports: Parameters<typeof readWhole>[0],
  firmId: FirmId,
  id: ReceivedDocumentId,
  giving?: Giving,
): Promise<Buffer> => (await readWhole(ports, firmId, id, giving)).payload;

/** One document of the pull. @throws Refusal NOT_FOUND, TEMPORARY */
export async function readPulledReceived(
  ports: Parameters<typeof readWhole>[0],
  firmId: FirmId,
  id: ReceivedDocumentId,
  giving?: Giving,
) {
  return pulled((await readWhole(ports, firmId, id, giving)).row);
}

/** A page of a pull of what was received. */
export interface ReceivedPullAsked extends Giving {
  readonly since: string | undefined;
  readonly limit: number;
  readonly kind: ListedKind | undefined;
  readonly sender: ParticipantId | undefined;
}

/**
 * In the order in which the firm could see it; nothing appears behind a reader.
 * @throws Refusal REQUEST_INVALID, TEMPORARY
 */
export async function pullInbound(
  { sql, clock, cursors }: ReceivedPorts & { readonly cursors: Cursors },
  firmId: FirmId,
  { since: given, limit, kind, sender, isShown = true }: ReceivedPullAsked,
) {
  const list = `inbound/${firmId}`;
  const query = {
    firmId,
    ...beginningOf(cursors, list, given),
    type: patternOf(kind),
    senderKey: sender === undefined ? undefined : participantKey(sender),
    limit,
    shownAt: isShown ? clock.now() : undefined,
  };
  await settled({ sql, clock }, { firms: { firmId }, showsJudged: true, feeds: ["received"] });
  const rows = await orTemporary(pullReceived(sql, query));
  await refuseLost(sql, "since", { ...query, rows });
  const page = pageOf(cursors, list, { rows, limit, given });
  return { documents: page.rows.map(pulled), next_cursor: page.nextCursor, has_more: page.hasMore };
}
