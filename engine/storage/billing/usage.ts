/**
 * Statements of the meter and of the sums that it keeps. Months are those of Europe/Bratislava, named by their first
 * day.
 */
import type postgres from "postgres";

import type { FirmId, IntegratorId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { Sql } from "../sql.js";

/** A month by its first day: `2027-01-01`. */
type FirstOfMonth = string;

/** Not later than by the database's clock: a node's may be years ahead, and what is passed over is not read again. */
const byBothClocks = (sql: Sql, keptSince: FirstOfMonth): postgres.PendingQuery<postgres.Row[]> => sql`
  least(${keptSince}::date, (billing_month(now()) - make_interval(months => ${LIMITS.metered_kept_months}))::date)`;

/**
 * Counts the next events of the feed.
 * @param batch  rows that are read at most, of each direction
 * @param keptSince  events of earlier months are not counted any more, unless the database's clock says otherwise
 * @returns how many were read; 0 when there is nothing new, or another node is at it
 */
export async function meterEvents(sql: Sql, batch: number, keptSince: FirstOfMonth): Promise<number> {
  const rows = await sql<{ readonly read: number }[]>`
    select meter_events(${batch}, ${byBothClocks(sql, keptSince)}) as read`;
  return rows[0]?.read ?? 0;
}

/** Counts a firm's months anew from the events, as far as the meter has come; those of an erased one stay. */
export async function recountUsage(sql: Sql, firmId: FirmId, keptSince: FirstOfMonth): Promise<void> {
  await sql`select recount_usage(${firmId}, ${keptSince}::date)`;
}

/** Deletes proofs of months that are over for long, by both clocks. @returns how many rows went */
export async function pruneMetered(sql: Sql, before: FirstOfMonth, limit: number): Promise<number> {
  const result = await sql`
    delete from metered_event where event_id in (
      select event_id from metered_event where month < ${byBothClocks(sql, before)} order by month limit ${limit})`;
  return result.count;
}

/** Firms in the order of their ids, from behind one; of one that is erased nothing is left to be counted. */
export async function listFirmIds(sql: Sql, after: FirmId | undefined, limit: number): Promise<FirmId[]> {
  const rows = await sql<{ readonly id: FirmId }[]>`
    select id from firm where erased_at is null and (${after ?? null}::uuid is null or id > ${after ?? null}::uuid)
    order by id limit ${limit}`;
  return rows.map(({ id }) => id);
}

/** Documents of a month that count. */
export interface CountedUsage {
  readonly outbound: number;
  readonly inbound: number;
}

/** What a firm has used in a month. */
export async function findUsage(sql: Sql, firmId: FirmId, month: FirstOfMonth): Promise<CountedUsage> {
  const rows = await sql<CountedUsage[]>`
    select outbound, inbound from usage_month where firm_id = ${firmId} and month = ${month}::date`;
  return rows[0] ?? { outbound: 0, inbound: 0 };
}

/** All sums of a firm, oldest month first. */
export async function listUsage(
  sql: Sql,
  firmId: FirmId,
): Promise<(CountedUsage & { readonly month: FirstOfMonth })[]> {
  return sql<(CountedUsage & { readonly month: FirstOfMonth })[]>`
    select month::text as month, outbound, inbound from usage_month where firm_id = ${firmId} order by month`;
}

/** What the firms of an integrator have used together, by who pays and whether they are synthetic. */
interface PartnerUsage extends CountedUsage {
  readonly managed: boolean;
  readonly sandbox: boolean;
  readonly firms: number;
}

interface PartnerQuery {
  readonly integratorId: IntegratorId;
  readonly month: FirstOfMonth;
  /** The only firm that is seen; undefined for all. */
  readonly onlyFirmId: FirmId | undefined;
}

const boundFirms = (sql: Sql, { integratorId, month, onlyFirmId }: PartnerQuery) => sql`
  select f.id, f.name, f.ico, f.sandbox, firm_is_managed(b.integrator_id, f.id) as managed,
    coalesce(u.outbound, 0) as outbound, coalesce(u.inbound, 0) as inbound
  from firm_binding b join firm f on f.id = b.firm_id
    left join usage_month u on u.firm_id = f.id and u.month = ${month}::date
  where b.integrator_id = ${integratorId} and b.state = 'active'
    and (${onlyFirmId ?? null}::uuid is null or f.id = ${onlyFirmId ?? null}::uuid)`;

/** The sums of an integrator's firms. */
export async function sumPartnerUsage(sql: Sql, query: PartnerQuery): Promise<PartnerUsage[]> {
  return sql<PartnerUsage[]>`
    select managed, sandbox, count(*)::integer as firms, sum(outbound)::integer as outbound,
      sum(inbound)::integer as inbound
    from (${boundFirms(sql, query)}) as bound group by managed, sandbox`;
}

/** One firm of an integrator with its usage. */
export interface PartnerFirmUsage extends CountedUsage {
  readonly id: FirmId;
  readonly name: string;
  readonly ico: string | null;
  readonly managed: boolean;
  readonly sandbox: boolean;
}

/** One page of an integrator's firms, in the order of their ids. */
export async function listPartnerUsage(
  sql: Sql,
  query: PartnerQuery & { readonly limit: number; readonly offset: number },
): Promise<PartnerFirmUsage[]> {
  return sql<PartnerFirmUsage[]>`
    select id, name, ico, managed, sandbox, outbound, inbound from (${boundFirms(sql, query)}) as bound
    order by id limit ${query.limit} offset ${query.offset}`;
}

/** An integrator as its licence names it. */
export async function findIntegrator(
  sql: Sql,
  id: IntegratorId,
): Promise<{ readonly name: string; readonly managedBilling: boolean } | undefined> {
  const rows = await sql<{ readonly name: string; readonly managedBilling: boolean }[]>`
    select name, managed_billing as "managedBilling" from integrator where id = ${id}`;
  return rows[0];
}
