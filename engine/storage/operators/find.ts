/** Finds whatever an id means, by indexes alone: a search costs the same among a million documents. */
import { DOOR_NAMES } from "../../base/doors.js";
import { LIMITS } from "../../base/limits.js";
import { joinPieces, pieceColumns, pieceJoin } from "../payloads/pieces.js";
import type { PayloadPiece } from "../payloads/pieces.js";
import type { Json, Sql } from "../sql.js";

/** What an id can mean. */
type FoundKind =
  | "document"
  | "received"
  | "box_item"
  | "white_label"
  | "onboarding"
  | "firm"
  | "integrator"
  | "api_key"
  | "webhook"
  | "webhook_delivery";

/** One thing that an operator looked for. */
export interface FoundThing {
  readonly kind: FoundKind;
  readonly id: string;
  readonly firmId: string | null;
  readonly state: string | null;
  readonly at: Date;
}

const sentColumns = (sql: Sql) =>
  sql`'document' as kind, d.id, d.firm_id as "firmId", d.status as state, d.created_at as at`;
const receivedColumns = (sql: Sql) =>
  sql`'received' as kind, r.id, r.firm_id as "firmId", r.status as state, r.received_at as at`;

/** Whatever has this UUID: an id of ours, or the instance identifier of an envelope. */
export const findByUuid = (sql: Sql, id: string): PromiseLike<FoundThing[]> => sql<FoundThing[]>`
  select ${sentColumns(sql)} from document as d where d.id = ${id}
  union select ${sentColumns(sql)} from document as d where d.sbdh_instance_id = ${id}
  union select ${receivedColumns(sql)} from received_document as r where r.id = ${id}
  union select ${receivedColumns(sql)} from received_document as r where r.sbdh_instance_id = ${id}
  union select 'box_item', b.id, b.firm_id, b.status, b.created_at from box_item as b where b.id = ${id}
  union select 'white_label', w.id, w.firm_id, w.status, w.created_at from white_label_operation as w where w.id = ${id}
  union select 'onboarding', o.id, o.firm_id, o.status, o.created_at from onboarding_request as o where o.id = ${id}
  union select 'firm', f.id, f.id, null, f.created_at from firm as f where f.id = ${id}
  union select 'integrator', i.id, null, null, i.created_at from integrator as i where i.id = ${id}
  union select 'api_key', k.id, coalesce(k.firm_id, k.scoped_firm_id),
    case when k.active then 'active' else 'ended' end, k.created_at
    from api_key as k where k.id = ${id}
  union select 'webhook', s.id, s.firm_id, case when s.active then 'active' else 'off' end, s.created_at
    from webhook_subscription as s where s.id = ${id}
  union select 'webhook_delivery', v.id, v.firm_id, v.status, v.created_at from webhook_delivery as v
    where v.id = ${id}`;

/**
 * Documents with this AS4 message id: received ones, sent ones that were exchanged, and those that wait, of which the
 * LIMITS.heartbeat_open_max that are due first are looked at.
 */
export const findByMessageId = (sql: Sql, messageId: string): PromiseLike<FoundThing[]> => sql<FoundThing[]>`
  select ${receivedColumns(sql)} from received_document as r where r.as4_message_id = ${messageId}
  union select ${sentColumns(sql)} from document as d
    where d.id in (
      select e.document_id from evidence as e where e.direction = 'outbound' and e.message_id = ${messageId})
  union select ${sentColumns(sql)}
    from (
      select id, firm_id, status, created_at, as4_message_id from document
      where next_attempt_at is not null order by next_attempt_at limit ${LIMITS.heartbeat_open_max}
    ) as d
    where d.as4_message_id = ${messageId}`;

/** What the firm of one of our participants has sent and the participant received last, newest first. */
export const findByParticipant = (sql: Sql, key: string): PromiseLike<FoundThing[]> => sql<FoundThing[]>`
  select f.* from (
    (select ${sentColumns(sql)} from participant as p join document as d on d.firm_id = p.firm_id
      where p.key = ${key} and d.sender_key = p.key order by d.created_at desc limit ${LIMITS.console_found_max})
    union all
    (select ${receivedColumns(sql)} from participant as p join received_document as r on r.participant_key = p.key
      where p.key = ${key} and r.firm_id = p.firm_id order by r.position desc limit ${LIMITS.console_found_max})
    union all
    (select ${sentColumns(sql)} from (
        select id, firm_id, status, created_at, receiver_key from document
        where next_attempt_at is not null order by next_attempt_at limit ${LIMITS.heartbeat_open_max}
      ) as d
      where d.receiver_key = ${key} limit ${LIMITS.console_found_max})
  ) as f order by f.at desc limit ${LIMITS.console_found_max}`;

/** Documents that a firm has sent under its own id, by any door. */
export const findSentByExternalId = (
  sql: Sql,
  { firmId, externalId }: { readonly firmId: string; readonly externalId: string },
): PromiseLike<FoundThing[]> => sql<FoundThing[]>`
  select ${sentColumns(sql)} from document as d
    where d.firm_id = ${firmId} and d.door <> 'sapi' and d.door = any (${[...DOOR_NAMES]}::text[])
      and d.erp_document_id = ${externalId}
  union select ${sentColumns(sql)} from participant as p join document as d on d.sender_key = p.key
    where p.firm_id = ${firmId} and d.door = 'sapi' and d.erp_document_id = ${externalId}`;

/** A record of the chain of evidence about a document. */
interface EvidenceOf {
  readonly index: number;
  readonly direction: string;
  readonly outcome: string;
  readonly messageId: string;
  readonly hash: string;
  readonly storedAt: Date;
}

/** In the order of the chain. */
export const listEvidenceOf = (sql: Sql, documentId: string): PromiseLike<EvidenceOf[]> => sql<EvidenceOf[]>`
  select index::float8 as index, direction, outcome, message_id as "messageId", encode(hash, 'hex') as hash,
    stored_at as "storedAt"
  from evidence where document_id = ${documentId} order by index limit ${LIMITS.operator_page_max}`;

/** The sealed payload of any document, also of one that its firm does not see; undefined where there is none. */
export async function findAnyPayload(
  sql: Sql,
  id: string,
): Promise<{ readonly keyId: string; readonly sealed: Buffer } | undefined> {
  const rows = await sql<PayloadPiece[]>`
    select ${pieceColumns(sql)} from (select ${id}::uuid as id) as d ${pieceJoin(sql, sql`d.id`)}`;
  const [row] = rows;
  return row === undefined ? undefined : { keyId: row.key_id, sealed: await joinPieces(sql, rows) };
}

/** What validation has found in a sent document; null where nothing is kept. */
export async function findFindingsOf(sql: Sql, id: string): Promise<Json> {
  const [row] = await sql<
    { readonly result: Json }[]
  >`select validation_result as result from document where id = ${id}`;
  return row?.result ?? null;
}
