/** What operators see of integrators. Each is read by indexes, however many firms and keys it has. */
import { LIMITS } from "../../base/limits.js";
import type { Sql } from "../sql.js";

/** An integrator as operators see it; numbers are counted up to LIMITS.console_counted_max. */
export interface IntegratorSheet {
  readonly id: string;
  readonly name: string;
  /** Whether it may act for firms in production, and since when it is so. */
  readonly isApproved: boolean;
  readonly since: Date;
  readonly createdAt: Date;
  /** Firms that are bound to it. */
  readonly firms: number;
  /** Keys that are active. */
  readonly keys: number;
  /** Of its central keys and of LIMITS.console_counted_max others; null where none was ever used. */
  readonly lastUsedAt: Date | null;
}

const sheetColumns = (sql: Sql) => sql`
  i.id, i.name, i.production_authorized as "isApproved", coalesce(i.production_changed_at, i.created_at) as since,
  i.created_at as "createdAt",
  (select count(*) from (
    select 1 from firm_binding as b where b.integrator_id = i.id and b.state = 'active'
    limit ${LIMITS.console_counted_max}) as b)::integer as firms,
  (select count(*) from (
    select 1 from api_key as k where k.integrator_id = i.id and k.active
    limit ${LIMITS.console_counted_max}) as k)::integer as keys,
  (select max(u.last_used_at) from (
    (select k.last_used_at from api_key as k where k.integrator_id = i.id and k.scoped_firm_id is null
      limit ${LIMITS.console_counted_max})
    union all
    (select k.last_used_at from api_key as k where k.integrator_id = i.id and k.scoped_firm_id is not null
      limit ${LIMITS.console_counted_max})) as u) as "lastUsedAt"`;

/** By name. @param after  the last integrator of the page before; undefined for the first page */
export const listIntegratorSheets = (
  sql: Sql,
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
): PromiseLike<IntegratorSheet[]> => sql<IntegratorSheet[]>`
  select ${sheetColumns(sql)} from (
    select id, name, production_authorized, production_changed_at, created_at from integrator
    ${
      after === undefined
        ? sql``
        : sql`where (search_form(name) collate "C", id) > (
            (select search_form(l.name) collate "C" from integrator as l where l.id = ${after}), ${after}::uuid)`
    }
    order by search_form(name) collate "C", id limit ${limit}
  ) as i order by search_form(i.name) collate "C", i.id`;

/** Undefined where there is none. */
export async function findIntegratorSheet(sql: Sql, id: string): Promise<IntegratorSheet | undefined> {
  const [row] = await sql<IntegratorSheet[]>`select ${sheetColumns(sql)} from integrator as i where i.id = ${id}`;
  return row;
}
