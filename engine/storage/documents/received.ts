/** Statements of the received document: store once, list, read, acknowledge. */
import type postgres from "postgres";

import { isoInstant, isoOrNull } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { FirmId, ParticipantId, ReceivedDocumentId } from "../../base/ids.js";
import type { InboundState, ReceivedState } from "../../lifecycle/received.js";
import { LIMITS } from "../../base/limits.js";
import { batched, CHAIN_SLOTS, inOrder } from "../batched.js";
import { joinPieces, pieceColumns, pieceJoin } from "../payloads/pieces.js";
import { base64Array, withBase64 } from "../payloads/base64.js";
import type { PayloadPiece } from "../payloads/pieces.js";
import { evidenceJson } from "../evidence/evidence.js";
import type { NewEvidence } from "../evidence/evidence.js";
import { jsonOf } from "../sql.js";
import type { Json, Sql } from "../sql.js";
import { dutyJson } from "./duties.js";
import type { NewDuty } from "./duties.js";
import { exchangeJson } from "./exchanges.js";
import type { NewExchange } from "./exchanges.js";

interface NewReceivedDocument {
  readonly id: ReceivedDocumentId;
  readonly firmId: FirmId;
  readonly participantKey: string;
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  readonly documentTypeId: string;
  readonly processId: string;
  readonly creationDateTime: Instant;
  /** Hex. */
  readonly payloadSha256: string;
  readonly as4MessageId: string;
  readonly sbdhInstanceId: string;
  readonly facts: Json;
  readonly receivedAt: Instant;
  readonly payloadKeyId: string;
  readonly payloadSealed: Buffer;
  readonly payloadBytes: number;
  /** HELD when it is judged before its firm sees it. */
  readonly status: Extract<InboundState, "HELD" | "RECEIVED">;
}

export interface NewBusiness {
  readonly document: NewReceivedDocument;
  readonly exchange: NewExchange;
  readonly duty: NewDuty | undefined;
  /** The record of its exchange, which takes its place in the chain with it. */
  readonly evidence?: NewEvidence | undefined;
}

/**
 * Stores a received document with its exchange, its duty and its evidence. The call returns whether it is new; a
 * repeated message stores nothing.
 */
export const storeBusiness = batched<NewBusiness, boolean>(
  async (sql, items) => {
    const column = <K extends keyof NewReceivedDocument>(name: K): NewReceivedDocument[K][] =>
      items.map(({ document }) => document[name]);
    const duties = items.map(({ document, duty }) => (duty === undefined ? undefined : dutyJson(document.id, duty)));
    const records = items.map(({ evidence }) => (evidence === undefined ? undefined : evidenceJson(evidence)));
    const rows = await withBase64(
      column("payloadSealed"),
      (sealed) => sql<{ readonly n: string }[]>`
    select n
    from receive_businesses(
      ${column("id")}::uuid[], ${column("firmId")}::uuid[], ${column("participantKey")}::text[],
      ${column("sender")}::text[], ${column("receiver")}::text[],
      ${column("documentTypeId")}::text[], ${column("processId")}::text[],
      ${column("creationDateTime").map(isoInstant)}::timestamptz[], ${column("payloadSha256")}::text[],
      ${column("as4MessageId")}::text[], ${column("sbdhInstanceId")}::text[],
      ${column("facts").map((facts) => JSON.stringify(facts))}::text[]::jsonb[],
      ${column("receivedAt").map(isoInstant)}::timestamptz[],
      ${column("payloadKeyId")}::text[], p_payload_bytes => ${column("payloadBytes")}::integer[],
      p_exchange => ${items.map(({ exchange }) => JSON.stringify(exchangeJson(exchange)))}::text[]::jsonb[],
      p_duty => ${duties.map(jsonOf)}::text[]::jsonb[], p_status => ${column("status")}::text[],
      p_evidence => ${records.map(jsonOf)}::text[]::jsonb[],
      p_payload_sealed => ${base64Array(sql, sealed)}
    )`,
    );
    return inOrder(items, rows, () => true).map((stored) => stored === true);
  },
  {
    max: LIMITS.receive_batch,
    slots: CHAIN_SLOTS,
    key: ({ document, exchange }) => `${exchange.c2Seat} ${document.as4MessageId}`,
    bytes: ({ document }) => document.payloadSealed.length,
  },
);

/** A stored document with a MessageId or an InstanceIdentifier that came again. */
export interface Repeat {
  readonly id: ReceivedDocumentId;
  readonly firmId: FirmId;
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  /** Hex. */
  readonly payloadSha256: string;
}

/** The ids of a message, which are unique for the access point that signed it. */
export interface MessageIds {
  readonly as4MessageId: string;
  readonly sbdhInstanceId: string;
  readonly peerSeat: string;
}

/** What is stored under either id of a message of that seat, or was before seats were kept. */
export async function findRepeats(sql: Sql, ids: MessageIds): Promise<Repeat[]> {
  const rows = await sql<
    {
      readonly id: string;
      readonly firm_id: string;
      readonly sender: string;
      readonly receiver: string;
      readonly payload_sha256: string;
    }[]
  >`
    select id, firm_id, sender, receiver, encode(payload_sha256, 'hex') as payload_sha256
    from received_document
    where (as4_message_id = ${ids.as4MessageId} or sbdh_instance_id = ${ids.sbdhInstanceId})
      and peer_seat in (${ids.peerSeat}, '')`;
  return rows.map((row) => ({
    id: row.id as ReceivedDocumentId,
    firmId: row.firm_id as FirmId,
    sender: row.sender as ParticipantId,
    receiver: row.receiver as ParticipantId,
    payloadSha256: row.payload_sha256,
  }));
}

/** One line of the inbox. @source spec/sapi.md, Received list item */
export interface ReceivedItem {
  readonly id: ReceivedDocumentId;
  readonly documentTypeId: string;
  readonly processId: string;
  readonly sender: string;
  readonly receiver: string;
  readonly creationDateTime: Instant;
  readonly status: ReceivedState;
}

interface ItemRow {
  readonly id: string;
  readonly document_type_id: string;
  readonly process_id: string;
  readonly sender: string;
  readonly receiver: string;
  readonly creation_date_time: Date;
  readonly status: ReceivedState;
}

/**
 * Whose received documents are read: what a participant received while it belonged to this firm. A firm that gets the
 * participant later never sees them. @source spec/rulings.md, section 14, Reads
 */
export interface Mailbox {
  readonly firmId: FirmId;
  readonly participantKey: string;
}

/** One question to the inbox: a page of one mailbox in one state, after a place in the order of arrival. */
export interface InboxQuery extends Mailbox {
  readonly status: ReceivedState;
  /** Rows wanted; the caller asks for one more than its page to learn whether there is a next. */
  readonly limit: number;
  /** Documents received since then may still be judged in a moment. */
  readonly heldSince: Instant;
  /** Position of the last item of the page before; "0" for the first page. */
  readonly after: string;
}

interface PlacedItem extends ReceivedItem {
  readonly position: string;
  /** Whether no API has shown it yet. */
  readonly isNew: boolean;
}

export interface InboxAnswer {
  /** Oldest first. */
  readonly items: readonly PlacedItem[];
  /** Whether the participant has documents that are being judged in this moment: they are in no list yet. */
  readonly isAnyHeld: boolean;
}

/**
 * Answers several inbox questions in one statement: polls that arrive together share a round trip. What is new in an
 * answer is marked before it is given, by a statement of its own: one that did both cost every poll 0.3 ms. The arrays
 * come from sub-selects so that they look equally long to every plan, and one is kept: 384 µs of Postgres for a single
 * poll before, 219 since, on a busier machine.
 * @returns one answer a question
 */
export async function listReceived(sql: Sql, queries: readonly InboxQuery[]): Promise<InboxAnswer[]> {
  const rows = await sql<
    (ItemRow & { readonly n: string; readonly position: string | null; readonly is_new: boolean })[]
  >`
    with q as (
      select * from unnest(
        (select ${queries.map((query) => query.participantKey)}::text[]),
        (select ${queries.map((query) => query.firmId)}::uuid[]),
        (select ${queries.map((query) => query.status)}::text[]),
        (select ${queries.map((query) => query.limit)}::integer[]),
        (select ${queries.map((query) => query.after)}::bigint[]),
        (select ${queries.map((query) => isoInstant(query.heldSince))}::timestamptz[])
      ) with ordinality as q (participant_key, firm_id, status, page, after, held_since, n)
    )
    select q.n, r.id, r.position, r.document_type_id, r.process_id, r.sender, r.receiver, r.creation_date_time,
      r.status, r.is_new
    from q
    cross join lateral (
      select id, position, document_type_id, process_id, sender, receiver, creation_date_time, status,
        api_received_at is null as is_new
      from received_document
      where participant_key = q.participant_key and firm_id = q.firm_id and status = q.status and position > q.after
      order by position
      limit q.page
    ) as r
    union all
    select q.n, null, null, null, null, null, null, null, 'HELD', false
    from q where (
      select 1 from received_document as h
      where h.participant_key = q.participant_key and h.firm_id = q.firm_id and h.status = (select 'HELD')
        and h.received_at > q.held_since
      limit 1
    ) is not null
    order by 1, 3`;
  const pages = queries.map((): PlacedItem[] => []);
  const holding = new Set<PlacedItem[]>();
  for (const row of rows) {
    const page = pages[Number(row.n) - 1];
    if (page === undefined) continue;
    if (row.position === null) holding.add(page);
    else
      page.push({
        id: row.id as ReceivedDocumentId,
        documentTypeId: row.document_type_id,
        processId: row.process_id,
        sender: row.sender,
        receiver: row.receiver,
        creationDateTime: row.creation_date_time.getTime(),
        status: row.status,
        position: row.position,
        isNew: row.is_new,
      });
  }
  return pages.map((items) => ({ items, isAnyHeld: holding.has(items) }));
}

/** Documents that one answer shows for the first time. */
interface Shown {
  readonly ids: readonly string[];
  readonly now: Instant;
}

/**
 * Marks as received through an API what is given for the first time, in the statement that finds it; a row that another
 * statement holds now is marked by that one.
 * @param ids  a query of the ids of what is given, of one column
 * @param shownAt  when; undefined where nothing is given, as to HEAD
 */
export const markingShown = (sql: Sql, ids: postgres.PendingQuery<postgres.Row[]>, shownAt: Instant | undefined) => sql`
  update received_document set api_received_at = ${isoOrNull(shownAt)}
  where id in (
    select m.id from received_document as m
    where ${shownAt !== undefined}::boolean and m.id in (${ids}) and m.api_received_at is null
    order by m.id for update skip locked
  )`;

/** Marks documents as received through an API, those of several answers by one statement. */
export const markShown = batched<Shown, true>(
  async (sql, items) => {
    const ids = items.flatMap((item) => item.ids);
    await markingShown(sql, sql`select unnest(${ids}::uuid[])`, Math.max(...items.map(({ now }) => now)));
    return items.map(() => true);
  },
  { max: LIMITS.read_batch },
);

export interface ReceivedDetail extends ReceivedItem {
  /** Whether no API has shown it yet. */
  readonly isNew: boolean;
  readonly payloadSha256: string;
  readonly payloadKeyId: string;
  readonly payloadSealed: Buffer;
}

/** One received document of a mailbox with its sealed payload; undefined when there is none such to see. */
export async function findReceived(
  sql: Sql,
  mailbox: Mailbox,
  id: ReceivedDocumentId,
): Promise<ReceivedDetail | undefined> {
  const rows = await sql<(ItemRow & PayloadPiece & { readonly payload_sha256: string; readonly is_new: boolean })[]>`
    select r.api_received_at is null as is_new, r.id, r.document_type_id, r.process_id, r.sender, r.receiver,
      r.creation_date_time, r.status,
      encode(r.payload_sha256, 'hex') as payload_sha256, ${pieceColumns(sql)}
    from received_document as r ${pieceJoin(sql, sql`r.id`)}
    where r.id = ${id} and r.participant_key = ${mailbox.participantKey} and r.firm_id = ${mailbox.firmId}
      and received_is_visible(r.status)`;
  const [row] = rows;
  if (row === undefined) return undefined;
  return {
    id: row.id as ReceivedDocumentId,
    documentTypeId: row.document_type_id,
    processId: row.process_id,
    sender: row.sender,
    receiver: row.receiver,
    creationDateTime: row.creation_date_time.getTime(),
    status: row.status,
    isNew: row.is_new,
    payloadSha256: row.payload_sha256,
    payloadKeyId: row.key_id,
    payloadSealed: await joinPieces(sql, rows),
  };
}

/** What an answer to a received document needs of it and of its firm. */
interface AnswerableDocument {
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  readonly firmName: string;
  readonly payloadKeyId: string;
  readonly payloadSealed: Buffer;
}

/**
 * One received document of a firm with its sealed payload; undefined when the firm has none such to see, or when its
 * participant belongs to another firm now, in whose name nobody else answers.
 */
export async function findAnswerable(
  sql: Sql,
  firmId: FirmId,
  id: ReceivedDocumentId,
): Promise<AnswerableDocument | undefined> {
  const rows = await sql<
    (PayloadPiece & { readonly sender: string; readonly receiver: string; readonly name: string })[]
  >`
    select r.sender, r.receiver, f.name, ${pieceColumns(sql)}
    from received_document as r join firm as f on f.id = r.firm_id
      join participant as o on o.key = r.participant_key and o.firm_id = r.firm_id ${pieceJoin(sql, sql`r.id`)}
    where r.id = ${id} and r.firm_id = ${firmId} and received_is_visible(r.status)`;
  const [row] = rows;
  return row === undefined
    ? undefined
    : {
        sender: row.sender as ParticipantId,
        receiver: row.receiver as ParticipantId,
        firmName: row.name,
        payloadKeyId: row.key_id,
        payloadSealed: await joinPieces(sql, rows),
      };
}

/** State of one received document of a firm, also of one that the firm does not see: its exchange has evidence. */
export async function findReceivedState(
  sql: Sql,
  firmId: FirmId,
  id: ReceivedDocumentId,
): Promise<{ readonly status: InboundState; readonly as4MessageId: string; readonly receivedAt: Instant } | undefined> {
  const [row] = await sql<
    { readonly status: InboundState; readonly as4_message_id: string; readonly received_at: Date }[]
  >`
    select status, as4_message_id, received_at from received_document where id = ${id} and firm_id = ${firmId}`;
  return row === undefined
    ? undefined
    : { status: row.status, as4MessageId: row.as4_message_id, receivedAt: row.received_at.getTime() };
}

/** When a document was first acknowledged, and by which reference its firm knows it. */
export interface Acknowledgement {
  readonly at: Instant;
  readonly reference: string | null;
  /** Whether this request was the one; of many at once, one is. */
  readonly isFirst: boolean;
}

/** Marks as processed, whichever interface says so. @returns undefined when the mailbox has no such document */
export async function acknowledgeReceived(
  sql: Sql,
  request: Mailbox & {
    readonly id: ReceivedDocumentId;
    readonly now: Instant;
    /** What the firm's own program calls the document; the first one stays. */
    readonly reference?: string | undefined;
  },
): Promise<Acknowledgement | undefined> {
  const [row] = await sql<
    { readonly acknowledged_at: Date; readonly client_reference: string | null; readonly is_first: boolean }[]
  >`
    select a.acknowledged_at, a.client_reference, held.status <> 'ACKNOWLEDGED' as is_first
    from (
      select r.id, r.status from received_document as r
      where r.id = ${request.id} and r.participant_key = ${request.participantKey} and r.firm_id = ${request.firmId}
      for update
    ) as held
    cross join lateral acknowledge_received(
      held.id, ${request.participantKey}, ${request.firmId}, ${new Date(request.now)}, ${request.reference ?? null}
    ) as a`;
  return row === undefined
    ? undefined
    : { at: row.acknowledged_at.getTime(), reference: row.client_reference, isFirst: row.is_first };
}

/** How many documents have been held since then or longer. */
export async function countOverdueHeld(sql: Sql, heldSince: Instant): Promise<number> {
  const [row] = await sql<{ readonly n: number }[]>`
    select count(*)::integer as n from received_document
    where status = 'HELD' and received_at <= ${new Date(heldSince)}`;
  return row?.n ?? 0;
}

/** Shows a held document to its firm. @returns false when it is not held */
export async function releaseReceived(sql: Sql, id: ReceivedDocumentId): Promise<boolean> {
  const rows = await sql`select id from release_received(${id})`;
  return rows.length === 1;
}

/** The firm that owns a participant and the document types it accepts. */
interface OwnParticipant {
  readonly firmId: FirmId;
  readonly capabilities: readonly { readonly documentTypeId: string; readonly processId: string }[];
}

/** One of our own participants by its key; undefined when it is not registered here. */
export const findOwnParticipant = batched<string, OwnParticipant | undefined>(
  async (sql, keys) => {
    const rows = await sql<
      {
        readonly key: string;
        readonly firm_id: string;
        readonly document_type_id: string | null;
        readonly process_id: string | null;
      }[]
    >`
    select p.key, p.firm_id, c.document_type_id, c.process_id
    from participant as p left join participant_capability as c on c.participant_key = p.key
    where p.key = any((select ${[...keys]}::text[])::text[])`;
    const found = new Map<
      string,
      {
        readonly firmId: FirmId;
        readonly capabilities: { readonly documentTypeId: string; readonly processId: string }[];
      }
    >();
    for (const { key, firm_id: firmId, document_type_id: documentTypeId, process_id: processId } of rows) {
      const own = found.get(key) ?? { firmId: firmId as FirmId, capabilities: [] };
      found.set(key, own);
      if (documentTypeId !== null && processId !== null) own.capabilities.push({ documentTypeId, processId });
    }
    return keys.map((key) => found.get(key));
  },
  { max: LIMITS.receive_batch },
);

/** Adds what a participant accepts; what it accepts already stays. */
export async function addCapabilities(
  sql: Sql,
  participantKey: string,
  capabilities: OwnParticipant["capabilities"],
): Promise<void> {
  await sql`
    insert into participant_capability (participant_key, document_type_id, process_id)
    select ${participantKey}, c.document_type_id, c.process_id
    from unnest(${capabilities.map((c) => c.documentTypeId)}::text[],
      ${capabilities.map((c) => c.processId)}::text[]) as c (document_type_id, process_id)
    on conflict do nothing`;
}
