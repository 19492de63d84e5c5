/** Statements of the monthly reports: what is counted, what was submitted, and a firm's own figures. */
import type { Instant } from "../base/clock.js";
import type { FirmId } from "../base/ids.js";
import { LIMITS } from "../base/limits.js";
import { UNDELIVERED_STATES } from "../lifecycle/document.js";
import type { OutboundState } from "../lifecycle/document.js";
import { serviceMessageJson } from "./documents/service-messages.js";
import type { NewServiceMessage } from "./documents/service-messages.js";
import { openSql } from "./sql.js";
import type { Sql } from "./sql.js";

interface Period {
  /** Included. */
  readonly from: Instant;
  /** Excluded. */
  readonly to: Instant;
}

/** A connection whose statements may take as long as a large month does; it ends when nothing is counted any more. */
export const openCounting = (url: string): Sql =>
  openSql({
    url,
    name: "kurier-reports",
    connections: 1,
    statement_timeout_ms: LIMITS.report_statement_ms,
    idle_s: LIMITS.report_idle_s,
  });

interface TransactionCountRow {
  readonly direction: "incoming" | "outgoing";
  readonly peerSeat: string;
  readonly documentTypeId: string;
  readonly processId: string;
  readonly transportProfile: string;
  readonly c1Country: string;
  readonly c4Country: string | undefined;
  readonly count: number;
}

/**
 * Exchanges of a period by everything that a transaction report tells apart; the senders' countries of incoming ones
 * only.
 */
export async function countTransactions(sql: Sql, period: Period): Promise<TransactionCountRow[]> {
  const rows = await sql<
    {
      readonly direction: "incoming" | "outgoing";
      readonly peer_seat: string;
      readonly document_type_id: string;
      readonly process_id: string;
      readonly transport_profile: string;
      readonly c1: string | null;
      readonly c4_country: string | null;
      readonly n: number;
    }[]
  >`
    select direction, case direction when 'incoming' then c2_seat else c3_seat end as peer_seat, document_type_id,
    process_id, transport_profile,
      case direction when 'incoming' then c1_country end as c1, c4_country, count(*)::integer as n
    from exchange where exchanged_at >= ${new Date(period.from)} and exchanged_at < ${new Date(period.to)}
    group by 1, 2, 3, 4, 5, 6, 7`;
  return rows.map((row) => ({
    direction: row.direction,
    peerSeat: row.peer_seat,
    documentTypeId: row.document_type_id,
    processId: row.process_id,
    transportProfile: row.transport_profile,
    c1Country: row.c1 ?? "",
    c4Country: row.c4_country ?? undefined,
    count: row.n,
  }));
}

interface EndUserCountRow {
  readonly documentTypeId: string | undefined;
  readonly processId: string | undefined;
  readonly country: string | undefined;
  readonly sending: number;
  readonly receiving: number;
  readonly either: number;
}

/**
 * Distinct end users of a period for every combination that the report tells apart. Providers are no end users: their
 * statuses do not count. The exchanges of each are made one row first, and these are sorted for each combination: two
 * million exchanges of fifty thousand end users took 8.5 s when all were sorted, and take 1.1 s so.
 */
export async function countEndUsers(sql: Sql, period: Period): Promise<EndUserCountRow[]> {
  const rows = await sql<
    {
      readonly document_type_id: string | null;
      readonly process_id: string | null;
      readonly country: string | null;
      readonly sending: number;
      readonly receiving: number;
      readonly either: number;
    }[]
  >`
    select document_type_id, process_id, country, count(distinct end_user) filter (where sends)::integer as sending,
      count(distinct end_user) filter (where receives)::integer as receiving,
        count(distinct end_user)::integer as either
    from (
      select document_type_id, process_id, case direction when 'incoming' then c4_country else c1_country
        end as country, end_user, bool_or(direction = 'outgoing') as sends, bool_or(direction = 'incoming') as receives
      from exchange
      where exchanged_at >= ${new Date(period.from)} and exchanged_at < ${new Date(period.to)} and kind <> 'mls'
      group by 1, 2, 3, 4
    ) as e
    group by grouping sets ((document_type_id, process_id), (document_type_id, process_id, country), (document_type_id,
      country), (country), ())`;
  return rows.map((row) => ({
    documentTypeId: row.document_type_id ?? undefined,
    processId: row.process_id ?? undefined,
    country: row.country ?? undefined,
    sending: row.sending,
    receiving: row.receiving,
    either: row.either,
  }));
}

/** The last month that was reported, by report type. */
export async function lastSubmissions(sql: Sql): Promise<ReadonlyMap<string, string>> {
  const rows = await sql<{ readonly report_type: string; readonly month: string }[]>`
    select report_type, to_char(max(period), 'YYYY-MM') as month from report_submission group by report_type`;
  return new Map(rows.map((row) => [row.report_type, row.month]));
}

/** Stores a report and the message that carries it. @returns false when the month was reported already */
export async function submitReport(
  sql: Sql,
  report: {
    readonly type: string;
    readonly month: string;
    readonly madeAt: Instant;
    readonly message: NewServiceMessage;
  },
): Promise<boolean> {
  const rows = await sql`
    select message_id from submit_report(
      ${report.type}, ${`${report.month}-01`}::date, ${new Date(report.madeAt)},
        ${JSON.stringify(serviceMessageJson(report.message))}::text::jsonb
    )`;
  return rows.length === 1;
}

interface SubmissionRow {
  readonly id: string;
  readonly type: string;
  readonly month: string;
  readonly status: OutboundState;
  readonly sha256: string;
  readonly madeAt: Instant;
  readonly deliveredAt: Instant | undefined;
}

/** How many reports were submitted; of one type, or of all. */
export async function countSubmissions(sql: Sql, type: string | undefined): Promise<number> {
  const [row] = await sql<{ readonly n: number }[]>`
    select count(*)::integer as n from report_submission
    where ${type ?? null}::text is null or report_type = ${type ?? null}::text`;
  return row?.n ?? 0;
}

/** Submissions, newest month first; of one type, or of all. */
export async function listSubmissions(
  sql: Sql,
  query: { readonly type: string | undefined; readonly limit: number; readonly offset: number },
): Promise<SubmissionRow[]> {
  const rows = await sql<
    {
      readonly id: string;
      readonly report_type: string;
      readonly month: string;
      readonly status: OutboundState;
      readonly sha256: string;
      readonly made_at: Date;
      readonly delivered_at: Date | null;
    }[]
  >`
    select m.id, r.report_type, to_char(r.period, 'YYYY-MM') as month, m.status, m.payload_sha256 as sha256, r.made_at,
      m.delivered_at
    from report_submission as r join service_message as m on m.id = r.message_id
    where ${query.type ?? null}::text is null or r.report_type = ${query.type ?? null}::text
    order by r.period desc, r.report_type limit ${query.limit} offset ${query.offset}`;
  return rows.map((row) => ({
    id: row.id,
    type: row.report_type,
    month: row.month,
    status: row.status,
    sha256: row.sha256,
    madeAt: row.made_at.getTime(),
    deliveredAt: row.delivered_at?.getTime(),
  }));
}

interface FirmCountRow {
  readonly direction: "incoming" | "outgoing";
  readonly documentTypeId: string;
  readonly processId: string;
  readonly count: number;
}

/** A firm's documents of a period, of those kinds whose root elements are named, such as `Invoice`. */
interface FirmScope extends Period {
  readonly firmId: FirmId;
  readonly roots: readonly string[];
}

/** A firm's own exchanges of a period; statuses of providers and other kinds of documents do not count. */
export async function countFirmExchanges(sql: Sql, { firmId, from, to, roots }: FirmScope): Promise<FirmCountRow[]> {
  const rows = await sql<
    {
      readonly direction: "incoming" | "outgoing";
      readonly document_type_id: string;
      readonly process_id: string;
      readonly n: number;
    }[]
  >`
    select direction, document_type_id, process_id, count(*)::integer as n
    from exchange
    where firm_id = ${firmId} and exchanged_at >= ${new Date(from)} and exchanged_at < ${new Date(to)}
      and kind = 'business' and split_part(split_part(document_type_id, '::', 2), '##', 1) = any(${roots as string[]})
    group by direction, document_type_id, process_id order by document_type_id, process_id, direction`;
  return rows.map((row) => ({
    direction: row.direction,
    documentTypeId: row.document_type_id,
    processId: row.process_id,
    count: row.n,
  }));
}

/**
 * How many of a firm's documents that were accepted in a period have ended without being delivered: given up, refused
 * by the receiving access point, or unfit to be sent.
 */
export async function countFirmFailures(sql: Sql, { firmId, from, to, roots }: FirmScope): Promise<number> {
  const [row] = await sql<{ readonly n: number }[]>`
    select count(*)::integer as n from document
    where firm_id = ${firmId} and created_at >= ${new Date(from)} and created_at < ${new Date(to)}
      and status = any(${[...UNDELIVERED_STATES]}) and delivered_at is null
      and split_part(split_part(document_type_id, '::', 2), '##', 1) = any(${roots as string[]})
      and not exists (select 1 from exchange as e where e.id = document.id)`;
  return row?.n ?? 0;
}

interface UpcomingCountRow {
  /** First day of the later rules, YYYY-MM-DD. */
  readonly day: string;
  readonly judged: number;
  readonly failing: number;
}

/**
 * How a firm's documents that were accepted in a period stand by rules of later days, as it was judged when each was
 * accepted.
 * @param after  days up to this one, YYYY-MM-DD, are not later
 */
export const countFirmUpcoming = (
  sql: Sql,
  { firmId, from, to, roots }: FirmScope,
  after: string,
): Promise<UpcomingCountRow[]> => sql<UpcomingCountRow[]>`
    select v.day, count(*)::integer as judged, (count(*) filter (where v.passes = 'false'))::integer as failing
    from document as d cross join lateral jsonb_each_text(d.validation_result -> 'upcoming') as v (day, passes)
    where d.firm_id = ${firmId} and d.created_at >= ${new Date(from)} and d.created_at < ${new Date(to)}
      and split_part(split_part(d.document_type_id, '::', 2), '##', 1) = any(${roots as string[]})
      and v.day > ${after}
    group by v.day order by v.day`;

/** With whom a firm exchanged most in a period: receivers of outgoing documents, senders of incoming ones. */
export async function countFirmPeers(
  sql: Sql,
  { firmId, from, to, roots }: FirmScope,
  direction: "incoming" | "outgoing",
  limit: number,
): Promise<{ readonly peer: string; readonly count: number }[]> {
  const rows = await sql<{ readonly peer: string; readonly n: number }[]>`
    select coalesce(d.receiver, r.sender) as peer, count(*)::integer as n
    from exchange as e
    left join document as d on d.id = e.id and e.direction = 'outgoing'
    left join received_document as r on r.id = e.id and e.direction = 'incoming'
    where e.firm_id = ${firmId} and e.exchanged_at >= ${new Date(from)} and e.exchanged_at < ${new Date(to)}
      and e.direction = ${direction} and e.kind = 'business'
      and split_part(split_part(e.document_type_id, '::', 2), '##', 1) = any(${roots as string[]})
      and coalesce(d.receiver, r.sender) is not null
    group by 1 order by 2 desc, 1 limit ${limit}`;
  return rows.map(({ peer, n }) => ({ peer, count: n }));
}
