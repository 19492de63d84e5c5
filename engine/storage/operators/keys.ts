/** What operators see of keys, whoever's they are. No secret and no digest of one is read. */
import { LIMITS } from "../../base/limits.js";
import type { Sql } from "../sql.js";

/** A key without its secret. */
export interface KeySheet {
  readonly id: string;
  readonly prefix: string;
  readonly name: string | null;
  /** Its firm; null for a key of an integrator. */
  readonly firmId: string | null;
  readonly integratorId: string | null;
  /** The one firm that a key of an integrator is for; null for its central ones. */
  readonly scopedFirmId: string | null;
  /** Names of the firm and of the integrator that it is about. */
  readonly firm: string | null;
  readonly integrator: string | null;
  readonly scopes: readonly string[];
  readonly ipAllowlist: readonly string[];
  readonly active: boolean;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  /** When it ended; null while it is active. */
  readonly endedAt: Date | null;
}

const sheetColumns = (sql: Sql) => sql`
  k.id, k.prefix, k.name, k.firm_id as "firmId", k.integrator_id as "integratorId",
  k.scoped_firm_id as "scopedFirmId", f.name as firm, i.name as integrator, k.scopes, k.ip_allowlist as "ipAllowlist",
  k.active, k.created_at as "createdAt", k.last_used_at as "lastUsedAt", k.deactivated_at as "endedAt"`;
const names = (sql: Sql) => sql`
  left join firm as f on f.id = coalesce(k.firm_id, k.scoped_firm_id)
  left join integrator as i on i.id = k.integrator_id`;

/** Undefined where there is none. */
export async function findKeySheet(sql: Sql, id: string): Promise<KeySheet | undefined> {
  const [row] = await sql<KeySheet[]>`
    select ${sheetColumns(sql)} from api_key as k ${names(sql)} where k.id = ${id}`;
  return row;
}

/** Keys of a firm, and those that integrators have for it alone; newest first. */
export const listFirmKeys = (sql: Sql, firmId: string): PromiseLike<KeySheet[]> => sql<KeySheet[]>`
  select ${sheetColumns(sql)}
  from (
    select id from api_key where firm_id = ${firmId}
    union select s.id from firm_binding as b
      join api_key as s on s.integrator_id = b.integrator_id and s.scoped_firm_id = b.firm_id
      where b.firm_id = ${firmId}
  ) as own join api_key as k on k.id = own.id ${names(sql)}
  order by k.active desc, k.created_at desc, k.id limit ${LIMITS.operator_page_max}`;

/** Central keys of an integrator, newest first. */
export const listCentralKeys = (sql: Sql, integratorId: string): PromiseLike<KeySheet[]> => sql<KeySheet[]>`
  select ${sheetColumns(sql)} from api_key as k ${names(sql)}
  where k.integrator_id = ${integratorId} and k.scoped_firm_id is null
  order by k.active desc, k.created_at desc, k.id limit ${LIMITS.operator_page_max}`;

/** Which page of the keys that an integrator has for single firms. */
interface ScopedKeysPage {
  readonly integratorId: string;
  /** The last key of the page before; undefined for the first page. */
  readonly after: string | undefined;
  readonly limit: number;
}

/** A condition of its own, and no part of another: only so does the index lead to the place. */
const behindKey = (sql: Sql, after: string | undefined) =>
  after === undefined
    ? sql``
    : sql`and (k.scoped_firm_id, k.id) > (
        (select l.scoped_firm_id from api_key as l where l.id = ${after}), ${after}::uuid)`;

/** Keys that an integrator has for single firms, by firm. */
export const listScopedKeys = (
  sql: Sql,
  { integratorId, after, limit }: ScopedKeysPage,
): PromiseLike<KeySheet[]> => sql<KeySheet[]>`
  select ${sheetColumns(sql)} from api_key as k ${names(sql)}
  where k.integrator_id = ${integratorId} and k.scoped_firm_id is not null
    ${behindKey(sql, after)}
  order by k.scoped_firm_id, k.id limit ${limit}`;
