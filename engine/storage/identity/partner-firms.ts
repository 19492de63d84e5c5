/** Statements on firms as an integrator sees them: those that it is bound to. */
import { isoInstant, isoOrNull } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { FirmId, IntegratorId, ParticipantId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { numbered } from "../keyring/facts.js";
import { markingShown } from "../documents/received.js";
import type { WithFacts } from "../keyring/facts.js";
import type { Json, Sql } from "../sql.js";
import { stampParameter } from "./audit.js";
import type { AuditStamp } from "./audit.js";

/** A firm with its first participant. */
export interface PartnerFirmRow {
  readonly id: FirmId;
  readonly name: string;
  readonly ico: string | null;
  readonly dic: string | null;
  readonly icDph: string | null;
  readonly address: Json;
  readonly peppolId: ParticipantId | null;
  readonly peppolStatus: string;
  /** Whether the firm may not receive. */
  readonly sendsOnly: boolean;
  /** Whether the firm is a synthetic one. */
  readonly sandbox: boolean;
  readonly createdAt: Date;
}

const columnsOfFirm = (sql: Sql) => sql`
  f.id, f.name, f.ico, f.dic, f.ic_dph as "icDph", f.address, f.peppol_status as "peppolStatus",
  f.sends_only as "sendsOnly", f.sandbox, f.created_at as "createdAt",
  (select p.id from participant p where p.firm_id = f.id order by p.registered_at, p.key limit 1) as "peppolId"`;

/** The firm itself, whoever is bound to it. */
export async function findFirm(sql: Sql, id: FirmId): Promise<PartnerFirmRow | undefined> {
  const rows = await sql<PartnerFirmRow[]>`select ${columnsOfFirm(sql)} from firm f where f.id = ${id}`;
  return rows[0];
}

interface BoundQuery {
  readonly integratorId: IntegratorId;
  /** The only firm that is shown; undefined for all. */
  readonly onlyFirmId: FirmId | undefined;
  /** Tokens of an older generation than a firm's last withdrawal do not see it. */
  readonly bindingGeneration: number;
  /** The last firm of the page before. */
  readonly after: FirmId | undefined;
  readonly limit: number;
}

/** Firms with an active binding, in the order of their ids, which is the order in which they came. */
export async function listBoundFirms(sql: Sql, query: BoundQuery): Promise<PartnerFirmRow[]> {
  const { integratorId, onlyFirmId = null, bindingGeneration, after = null, limit } = query;
  return sql<PartnerFirmRow[]>`
    select ${columnsOfFirm(sql)}
    from firm_binding b join firm f on f.id = b.firm_id
    where b.integrator_id = ${integratorId} and b.state = 'active' and b.revoked_generation <= ${bindingGeneration}
      and (${onlyFirmId}::uuid is null or b.firm_id = ${onlyFirmId}::uuid)
      and (${after}::uuid is null or b.firm_id > ${after}::uuid)
    order by b.firm_id limit ${limit}`;
}

export type AssignmentOutcome = "assigned" | "not_registered" | "already_linked" | "consent_required";

/** Takes a firm that has agreed into an integrator's work. */
export async function assignFirm(
  sql: Sql,
  assignment: { readonly integratorId: IntegratorId; readonly ico: string; readonly audit: AuditStamp },
  now: Instant,
): Promise<{ readonly outcome: AssignmentOutcome; readonly firmId: FirmId | null }> {
  const rows = await sql<{ readonly outcome: AssignmentOutcome; readonly firmId: FirmId | null }[]>`
    select outcome, firm_id as "firmId"
    from assign_firm(${assignment.integratorId}, ${assignment.ico}, ${isoInstant(now)},
      ${stampParameter(sql, assignment.audit)})`;
  return rows[0] ?? { outcome: "not_registered", firmId: null };
}

interface NewIdentifier {
  readonly firmId: FirmId;
  readonly key: string;
  readonly id: ParticipantId;
  readonly integratorId: IntegratorId | undefined;
  readonly audit: AuditStamp;
}

/** Gives a participant to a firm. */
export async function addFirmParticipant(
  sql: Sql,
  added: NewIdentifier,
  now: Instant,
): Promise<"added" | "known" | "taken"> {
  const rows = await sql<{ readonly outcome: "added" | "known" | "taken" }[]>`
    select add_firm_participant(${added.firmId}, ${added.key}, ${added.id}, ${isoInstant(now)},
      ${added.integratorId ?? null}, ${stampParameter(sql, added.audit)}) as outcome`;
  return rows[0]?.outcome ?? "taken";
}

/** One document of a firm, sent or received. */
export interface FirmDocumentRow {
  readonly id: string;
  readonly direction: "outbound" | "inbound";
  readonly status: string;
  readonly documentTypeId: string;
  readonly processId: string;
  readonly sender: string;
  readonly receiver: string;
  readonly number: string | null;
  readonly createdAt: Date;
}

export interface FirmDocumentQuery {
  readonly direction: "outbound" | "inbound" | undefined;
  readonly status: string | undefined;
  readonly from: Instant | undefined;
  /** Excluded. */
  readonly until: Instant | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** What is asked for of both directions, newest first. */
const documentsOf = (sql: Sql, firmId: FirmId, { direction, status, from, until }: FirmDocumentQuery) => {
  const [way, state] = [direction ?? null, status ?? null];
  const [since, before] = [from, until].map(isoOrNull);
  return sql`
    select id, 'outbound' as direction, status, document_type_id, process_id, sender, receiver, facts, created_at as at
    from document
    where firm_id = ${firmId} and (${way}::text is null or ${way} = 'outbound')
      and (${state}::text is null or status = ${state})
      and (${since ?? null}::timestamptz is null or created_at >= ${since ?? null}::timestamptz)
      and (${before ?? null}::timestamptz is null or created_at < ${before ?? null}::timestamptz)
    union all
    select r.id, 'inbound', lower(r.status), r.document_type_id, r.process_id, r.sender, r.receiver, r.facts,
      r.received_at
    from participant p join received_document r on r.participant_key = p.key and r.firm_id = p.firm_id
    where p.firm_id = ${firmId} and (${way}::text is null or ${way} = 'inbound') and received_is_visible(r.status)
      and (${state}::text is null or lower(r.status) = ${state})
      and (${since ?? null}::timestamptz is null or r.received_at >= ${since ?? null}::timestamptz)
      and (${before ?? null}::timestamptz is null or r.received_at < ${before ?? null}::timestamptz)`;
};

/**
 * One page of a firm's documents, newest first. What it shows of what was received is marked.
 * @param shownAt  undefined for a page that nobody is given
 */
export async function listFirmDocuments(
  sql: Sql,
  firmId: FirmId,
  query: FirmDocumentQuery & { readonly shownAt: Instant | undefined },
): Promise<FirmDocumentRow[]> {
  const { limit, offset, shownAt } = query;
  const rows = await sql<WithFacts<FirmDocumentRow, "number">[]>`
    with page as materialized (
      select d.id, d.direction, d.status, d.document_type_id as "documentTypeId", d.process_id as "processId", d.sender,
        d.receiver, d.facts, d.at as "createdAt"
      from (${documentsOf(sql, firmId, query)}) as d
      order by d.at desc, d.id desc limit ${limit} offset ${offset}
    ), marked as (${markingShown(sql, sql`select id from page where direction = 'inbound'`, shownAt)})
    select id, direction, status, "documentTypeId", "processId", sender, receiver, facts, "createdAt"
    from page order by "createdAt" desc, id desc`;
  return numbered(sql, rows, ({ id }) => id);
}

/** How many documents there are, counted up to LIMITS.firm_documents_counted_max. */
export async function countListedDocuments(sql: Sql, firmId: FirmId, query: FirmDocumentQuery): Promise<number> {
  const rows = await sql<{ readonly total: number }[]>`
    select count(*)::integer as total from (
      select 1 from (${documentsOf(sql, firmId, query)}) as d limit ${LIMITS.firm_documents_counted_max}) as counted`;
  return rows[0]?.total ?? 0;
}
