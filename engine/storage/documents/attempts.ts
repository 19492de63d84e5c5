/**
 * Statements of attempts at documents: what is due and whose, claims under lease, the ends of attempts, and the leases
 * of the dead. Due times, leases and signs of life are database time: nodes may disagree about what time it is.
 */
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { DocumentId, FirmId, ParticipantId } from "../../base/ids.js";
import { WITH_ERROR } from "../../lifecycle/attempt.js";
import type { AttemptOutcome } from "../../lifecycle/attempt.js";
import type { OutboundState, OutboundTrigger } from "../../lifecycle/document.js";
import { LIMITS } from "../../base/limits.js";
import { batched, CHAIN_SLOTS, inOrder } from "../batched.js";
import { evidenceJson } from "../evidence/evidence.js";
import type { NewEvidence } from "../evidence/evidence.js";
import type { OutboxRow } from "../outbox.js";
import { columnJoin, columnPiece, joinColumnPieces } from "../payloads/pieces.js";
import type { ColumnPiece } from "../payloads/pieces.js";
import { jsonOf } from "../sql.js";
import type { Json, Sql } from "../sql.js";
import { eventsJson } from "./documents.js";
import type { NewEvent } from "./documents.js";

/** One firm's documents for one receiver of which some are due and free, as a look found them. */
export interface LaneRow {
  readonly firmId: FirmId;
  /** The participant, in lower case. */
  readonly receiver: string;
  /** How many are due and free, at most LIMITS.lane_ready_max. */
  readonly ready: number;
}

/** What a look read. */
interface LanesRead {
  readonly lanes: readonly LaneRow[];
  /** The firms that it came to, and the receiver after which each goes on; undefined where it came to all of them. */
  readonly firms: ReadonlyMap<FirmId, string | undefined>;
  /** The firm after which there may be others; undefined when it came to all. */
  readonly lastFirm: FirmId | undefined;
}

/** Where the last look ended: firms go on after `firm`, receivers of a firm after the one that stands here for it. */
export interface LaneCursor {
  readonly firm: FirmId | undefined;
  readonly receivers: ReadonlyMap<FirmId, string>;
}

/** How far a look goes. */
export interface LookBounds {
  /** Firms, at most LIMITS.lane_firms_max. */
  readonly firms: number;
  /** Due documents counted of each lane, at most LIMITS.lane_ready_max. */
  readonly ready: number;
}

/**
 * The lanes that come next with something due: of at most `bounds.firms` firms LIMITS.lanes_per_firm_max each, among at
 * most LIMITS.lanes_passed_max.
 */
export async function readLanes(sql: Sql, { firm, receivers }: LaneCursor, bounds: LookBounds): Promise<LanesRead> {
  const rows = await sql<
    {
      readonly firm_id: FirmId;
      readonly receiver_key: string | null;
      readonly ready: number;
      readonly after: string | null;
      readonly firms_go_on: boolean | null;
    }[]
  >`
    select firm_id, receiver_key, ready, after, firms_go_on
    from ready_lanes(${firm ?? null}::uuid, ${[...receivers.keys()]}::uuid[], ${[...receivers.values()]}::text[],
      ${bounds.firms}, ${LIMITS.lanes_per_firm_max}, ${bounds.ready}, ${LIMITS.lanes_passed_max},
      ${LIMITS.lanes_passed_firm_max})`;
  return {
    lanes: rows.flatMap(({ firm_id: firmId, receiver_key: receiver, ready }) =>
      receiver === null ? [] : [{ firmId, receiver, ready }],
    ),
    firms: new Map(
      rows.flatMap(({ firm_id: firmId, receiver_key: receiver, after }) =>
        receiver === null ? [[firmId, after ?? undefined] as const] : [],
      ),
    ),
    lastFirm: rows.find(({ firms_go_on: goOn }) => goOn === true)?.firm_id,
  };
}

/** An attempt under lease, and what it carries. */
export interface TakenAttempt {
  readonly id: DocumentId;
  readonly firmId: FirmId;
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  readonly documentTypeId: string;
  readonly processId: string;
  readonly status: OutboundState;
  readonly version: number;
  readonly attempt: number;
  /** Attempts before this one that were answered: what the plan has used. */
  readonly answers: number;
  /** Attempts before this one, in a row, that failed on our side. */
  readonly faults: number;
  readonly as4MessageId: string;
  readonly sbdhInstanceId: string;
  readonly facts: Json;
  readonly createdAt: Instant;
  readonly payloadKeyId: string;
  readonly payloadSealed: Buffer;
  /** Octets as accepted. */
  readonly payloadBytes: number;
  /** The octets themselves, where they are still at hand. */
  readonly payload?: Buffer;
}

interface TakenRow extends ColumnPiece {
  readonly firm_id: string;
  readonly sender: string;
  readonly receiver: string;
  readonly document_type_id: string;
  readonly process_id: string;
  readonly status: OutboundState;
  readonly version: number;
  readonly attempt: number;
  readonly answers: number;
  readonly faults: number;
  readonly as4_message_id: string;
  readonly sbdh_instance_id: string;
  readonly facts: Json;
  readonly created_at: Date;
  readonly payload_key_id: string;
  readonly payload_bytes: number;
}

const takenOf = (row: TakenRow): TakenAttempt => ({
  id: row.id as DocumentId,
  firmId: row.firm_id as FirmId,
  sender: row.sender as ParticipantId,
  receiver: row.receiver as ParticipantId,
  documentTypeId: row.document_type_id,
  processId: row.process_id,
  status: row.status,
  version: row.version,
  attempt: row.attempt,
  answers: row.answers,
  faults: row.faults,
  as4MessageId: row.as4_message_id,
  sbdhInstanceId: row.sbdh_instance_id,
  facts: row.facts,
  createdAt: row.created_at.getTime(),
  payloadKeyId: row.payload_key_id,
  payloadSealed: row.sealed ?? Buffer.alloc(0),
  payloadBytes: row.payload_bytes,
});

const takenColumns = (sql: Sql): ReturnType<Sql> => sql`
  id, firm_id, sender, receiver, document_type_id, process_id, status, version, attempt, answers, faults,
  as4_message_id, sbdh_instance_id, facts, created_at, payload_key_id, payload_bytes,
  ${columnPiece(sql, sql`payload_sealed`)}`;

/** Payloads come in rows of a piece each: 14 MB in one row are a turn of the event loop of 90 ms. */
const takenPieces = (sql: Sql): ReturnType<typeof columnJoin> => columnJoin(sql, sql`payload_sealed`);

const allTaken = async (rows: readonly TakenRow[]): Promise<TakenAttempt[]> =>
  (await joinColumnPieces(rows)).map(takenOf);

/** What is claimed: so many documents of each lane, together with at most so many octets. */
interface Claim {
  readonly shares: readonly { readonly firmId: FirmId; readonly receiver: string; readonly count: number }[];
  readonly owner: string;
  readonly lease_ms: number;
  readonly bytes_max: number;
  /** Whether one document goes even when it alone has more octets than that. */
  readonly one: boolean;
}

/** Takes due documents under lease, the longest due of each lane first. */
export async function claimDocuments(sql: Sql, claim: Claim): Promise<TakenAttempt[]> {
  const { shares, owner, lease_ms, bytes_max, one } = claim;
  const rows = await sql<TakenRow[]>`
    select ${takenColumns(sql)}
    from claim_documents(${shares.map(({ firmId }) => firmId)}::uuid[],
      ${shares.map(({ receiver }) => receiver)}::text[], ${shares.map(({ count }) => count)}::integer[],
      ${owner}, ${lease_ms}, ${bytes_max}::bigint, ${one}::boolean) ${takenPieces(sql)}`;
  return allTaken(rows);
}

/** What is claimed of documents that have been due for so long. */
interface OverdueClaim extends Pick<Claim, "owner" | "lease_ms" | "bytes_max" | "one"> {
  readonly overdue_ms: number;
  readonly limit: number;
}

/** Takes documents under lease that have been due for so long, the longest due first, whatever their receivers do. */
export async function claimOverdue(sql: Sql, claim: OverdueClaim): Promise<TakenAttempt[]> {
  const { owner, lease_ms, overdue_ms, limit, bytes_max, one } = claim;
  const rows = await sql<TakenRow[]>`
    select ${takenColumns(sql)}
    from claim_overdue(${owner}, ${lease_ms}, ${Math.round(overdue_ms)}::bigint, ${limit}, ${bytes_max}::bigint,
      ${one}::boolean) ${takenPieces(sql)}`;
  return allTaken(rows);
}

/** Takes the lease on one document; undefined when it is not due or another node holds it. */
export async function takeAttempt(
  sql: Sql,
  request: { readonly id: DocumentId; readonly owner: string; readonly lease_ms: number },
): Promise<TakenAttempt | undefined> {
  const rows = await sql<TakenRow[]>`
    select ${takenColumns(sql)}
    from take_attempt(${request.id}, ${request.owner}, ${request.lease_ms}) ${takenPieces(sql)}`;
  const [taken] = await allTaken(rows);
  return taken;
}

/** What an attempt's end uses: an answer of the network one wait of the plan, a fault of ours one of its own. */
export type PlanUse = "answer" | "fault" | "nothing";

export interface AttemptEnd {
  readonly id: DocumentId;
  /** The version that was decided on; another one in the table means a stale decision. */
  readonly version: number;
  /** The process that made the attempt. */
  readonly owner: string;
  readonly status: OutboundState;
  readonly now: Instant;
  /** When the next attempt is due, from now in the database; undefined when there is none. */
  readonly wait_ms: number | undefined;
  readonly uses: PlanUse;
  /** In order; none when the attempt moved nothing. */
  readonly moves: readonly {
    readonly status: OutboundState;
    readonly trigger: OutboundTrigger;
    readonly detail: string;
  }[];
  readonly events: readonly NewEvent[];
  readonly attempt: {
    readonly number: number;
    readonly outcome: AttemptOutcome;
    readonly code: string | undefined;
    readonly retryable: boolean;
    readonly detail: string | undefined;
    /** Of the access point to which the document was transmitted. */
    readonly seat?: string | undefined;
  };
  /** Why the document ended without delivery. */
  readonly reason: string | undefined;
  /** The exchange that a receipt proves, for the reports. */
  readonly exchange:
    | {
        readonly c2Seat: string;
        readonly c3Seat: string;
        readonly transportProfile: string;
        readonly c1Country: string;
      }
    | undefined;
  /** The record of the exchange, which takes its place in the chain with this end, and also when that is stale. */
  readonly evidence?: NewEvidence | undefined;
  /** Outbox rows that this process has published meanwhile and that can go. */
  readonly published?: readonly string[] | undefined;
}

/** What an attempt's end has written. */
interface WrittenEnd {
  readonly version: number;
  /**
   * The outbox row that is to be published now. It tells of all attempts that were ended with this one, and is given to
   * one of them; undefined for the others, and when there is nothing to tell.
   */
  readonly announced: OutboxRow | undefined;
}

/** Writes an attempt's end. The call returns what was written, or undefined when the decision was stale. */
export const endAttempt = batched<AttemptEnd, WrittenEnd | undefined>(
  async (sql, ends) => {
    const evidence = ends.flatMap((end) => (end.evidence === undefined ? [] : [evidenceJson(end.evidence)]));
    const rows = await sql<
      {
        readonly n: string;
        readonly version: number;
        readonly outbox_id: string | null;
        readonly outbox_body: Json;
      }[]
    >`
    select n, version, outbox_id, outbox_body
    from end_attempts(
      ${ends.map(({ id }) => id)}::uuid[], ${ends.map(({ version }) => version)}::integer[],
      ${ends.map(({ status }) => status)}::text[], ${ends.map(({ now }) => isoInstant(now))}::timestamptz[],
      ${ends.map(({ wait_ms }) => (wait_ms === undefined ? null : Math.round(wait_ms)))}::bigint[],
      ${ends.map(({ uses }) => uses)}::text[], ${ends.map(({ moves }) => JSON.stringify(moves))}::text[]::jsonb[],
      ${ends.map(({ events }) => eventsJson(events))}::text[]::jsonb[],
      ${ends.map(({ attempt }) => JSON.stringify(attempt))}::text[]::jsonb[],
      ${ends.map(({ reason }) => reason ?? null)}::text[],
      ${ends.map(({ exchange }) => jsonOf(exchange))}::text[]::jsonb[], ${ends.map(({ owner }) => owner)}::text[],
      ${LIMITS.relay_handed_ms}, ${ends.flatMap(({ published = [] }) => published)}::bigint[],
      ${JSON.stringify(evidence)}::text::jsonb
    )`;
    return inOrder(ends, rows, ({ n, version, outbox_id: id, outbox_body: body }) => ({
      version,
      announced: id === null ? undefined : { id, stream: "events", key: ends[Number(n) - 1]?.id ?? "", body },
    }));
  },
  { max: LIMITS.attempts_batch, slots: CHAIN_SLOTS, pace_ms: LIMITS.statement_pace_ms, key: ({ id }) => id },
);

/** Whether an attempt at a document was cut: nobody knows whether it was transmitted. */
export async function wasCut(sql: Sql, id: DocumentId): Promise<boolean> {
  const [row] = await sql<{ readonly cut: boolean }[]>`select document_was_cut(${id}) as cut`;
  return row?.cut === true;
}

/** Where a document stands now, for what comes back to it late; undefined when there is none. */
export async function readStanding(
  sql: Sql,
  id: DocumentId,
): Promise<Pick<TakenAttempt, "status" | "version"> | undefined> {
  const [row] = await sql<Pick<TakenAttempt, "status" | "version">[]>`
    select status, version from document where id = ${id}`;
  return row;
}

/**
 * Adds an attempt to a document that has ended without it. A receipt takes the place of the mark that its attempt was
 * cut; nothing else does.
 */
export async function addOvertaken(
  sql: Sql,
  { id, owner, now, attempt }: Pick<AttemptEnd, "id" | "owner" | "now" | "attempt">,
): Promise<void> {
  const { number, outcome, code = null, retryable, detail = null, seat = null } = attempt;
  await sql`
    insert into document_attempt (document_id, number, owner, started_at, finished_at, outcome, code, retryable, detail,
      seat)
    select d.id, ${number}, ${owner}, coalesce(d.attempted_at, ${isoInstant(now)}),
      greatest(d.attempted_at, ${isoInstant(now)}), ${outcome}, ${code}, ${retryable}, ${detail}, ${seat}
    from document as d where d.id = ${id} and not document_is_open(d.status)
    on conflict (document_id, number) do update
    set finished_at = excluded.finished_at, outcome = excluded.outcome, code = excluded.code,
      retryable = excluded.retryable, detail = excluded.detail, seat = excluded.seat
    where document_attempt.outcome = 'cut' and excluded.outcome = 'receipt'`;
}

/** An attempt that was not made, and how long its document rests. */
interface AttemptNotMade {
  readonly id: DocumentId;
  readonly version: number;
  readonly number: number;
  readonly wait_ms: number;
  /** Whether it is claimed in its turn after that; otherwise whatever is due meanwhile goes before it. */
  readonly keepsPlace: boolean;
}

/**
 * Takes an attempt back that was not made: its number is free again, the lease too, and the document is due later.
 * @returns false when the document has another version than the one that was taken
 */
export async function putOffAttempt(sql: Sql, attempt: AttemptNotMade): Promise<boolean> {
  const { id, version, number, keepsPlace } = attempt;
  const wait_ms = Math.round(attempt.wait_ms);
  const rows = keepsPlace
    ? await sql`select version from rest_attempt(${id}, ${version}, ${number}, ${wait_ms}::bigint)`
    : await sql`select version from put_off_attempt(${id}, ${version}, ${number}, ${wait_ms}::bigint)`;
  return rows.length === 1;
}

/** Says that this process is alive. @returns whether others seem to be dead */
export async function hearDispatcher(sql: Sql, owner: string): Promise<boolean> {
  const [row] = await sql<{ readonly dead: boolean }[]>`
    select hear_dispatcher(${owner}, ${LIMITS.dispatcher_dead_ms}) as dead`;
  return row?.dead ?? false;
}

/** Frees the leases of processes that are dead, where this one has been heard for long enough. @returns how many */
export async function freeDeadLeases(sql: Sql, owner: string): Promise<number> {
  const [row] = await sql<{ readonly freed: number }[]>`
    select free_dead(${owner}, ${LIMITS.dispatcher_dead_ms}) as freed`;
  return row?.freed ?? 0;
}

/** A lease, by the version that its document has under it. */
interface HeldLease {
  readonly id: DocumentId;
  readonly version: number;
}

/** One that is not young any more, and whether it has run out or soon will. */
interface OldLease extends HeldLease {
  readonly is_ending: boolean;
}

/** This process's leases that are not young any more. */
export const readOldLeases = (sql: Sql, owner: string): Promise<readonly OldLease[]> => sql<OldLease[]>`
  select id, version,
    lease_until < clock_timestamp() + ${LIMITS.lease_left_ms}::integer * interval '1 millisecond' as is_ending
  from document
  where next_attempt_at is not null and lease_owner = ${owner} and lease_until > '-infinity'
    and lease_until < clock_timestamp()
      + ${LIMITS.attempt_lease_ms - LIMITS.lease_young_ms}::integer * interval '1 millisecond'`;

/** Frees leases of this process that its documents have still. @returns how many */
export async function freeLeases(sql: Sql, owner: string, leases: readonly HeldLease[]): Promise<number> {
  const rows = await sql`
    update document as d set lease_until = '-infinity', version = d.version + 1
    from unnest(${leases.map(({ id }) => id)}::uuid[], ${leases.map(({ version }) => version)}::integer[])
      as idle (id, version)
    where d.id = idle.id and d.version = idle.version and case when d.next_attempt_at is not null then true end
      and d.lease_owner = ${owner} and d.lease_until > '-infinity'
    returning d.id`;
  return rows.length;
}

/** Renews leases of this process that its documents have still, but for those whose end is being written. */
export async function renewLeases(sql: Sql, owner: string, leases: readonly HeldLease[]): Promise<void> {
  await sql`
    update document as d
    set lease_until = clock_timestamp() + ${LIMITS.attempt_lease_ms}::integer * interval '1 millisecond'
    from (
      select k.id from document as k
      join unnest(${leases.map(({ id }) => id)}::uuid[], ${leases.map(({ version }) => version)}::integer[])
        as held (id, version) on k.id = held.id and k.version = held.version
      where case when k.next_attempt_at is not null then true end and k.lease_owner = ${owner}
        and k.lease_until > '-infinity'
      for update of k skip locked
    ) as kept
    where d.id = kept.id`;
}

/** Frees the leases of a node that is known to be gone, so that its documents need not wait for them to run out. */
export async function releaseLeases(sql: Sql, node: string): Promise<number> {
  const rows = await sql`select id from release_node(${node})`;
  return rows.length;
}

/** Documents that are due and that nobody has under lease, as far as `limit`. */
export async function countDue(sql: Sql, limit: number): Promise<number> {
  const [row] = await sql<{ readonly count: number }[]>`
    select count(*)::integer as count from (
      select 1 from document where next_attempt_at <= now() and (lease_until is null or lease_until < now())
      limit ${limit}
    ) as due`;
  return row?.count ?? 0;
}

/** An attempt that a receiving access point has refused, or may have. */
export interface EarlierRefusal {
  /** Of its ebMS error, or of an answer in which one stands. */
  readonly code: string;
  readonly answeredAt: Instant;
  /** Whether another attempt before this may have been taken, perhaps by another access point. */
  readonly mayHaveArrived: boolean;
}

/**
 * Earlier attempts whose answer holds an ebMS error, the latest first: not one that was judged to be a warning or a
 * duplicate, but any of an answer that nobody could judge, other than EBMS:4001.
 */
export async function earlierRefusals(sql: Sql, id: DocumentId): Promise<readonly EarlierRefusal[]> {
  const rows = await sql<(Omit<EarlierRefusal, "answeredAt"> & { readonly finished_at: Date })[]>`
    with earlier as (
      select number, outcome, code, finished_at from document_attempt where document_id = ${id}
      union all select number, outcome, code, finished_at from service_attempt where message_id = ${id})
    select code, finished_at,
      exists (select from earlier where outcome in ('unconfirmed', 'cut')) as "mayHaveArrived"
    from earlier where (outcome = 'peer_busy' and code like 'EBMS:%') or code like ${`% ${WITH_ERROR}`}
    order by number desc`;
  return rows.map(({ finished_at, ...row }) => ({ ...row, answeredAt: finished_at.getTime() }));
}

/** Makes a document due that waits for its next attempt. @returns false when it does not wait, or somebody is at it */
export async function hastenDocument(sql: Sql, id: DocumentId): Promise<boolean> {
  return (await sql`select version from hasten_document(${id})`).length === 1;
}
