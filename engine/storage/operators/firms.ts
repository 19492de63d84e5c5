/** What operators see of firms: page by page and by indexes alone, so that a page costs the same among a million. */
import { LIMITS } from "../../base/limits.js";
import type { Sql } from "../sql.js";

/** A firm as a list of operators shows it. */
interface ListedFirm {
  readonly id: string;
  readonly name: string;
  readonly ico: string | null;
  readonly dic: string | null;
  readonly createdAt: Date;
  /** At most LIMITS.console_found_max. */
  readonly participants: readonly string[];
}

const columns = (sql: Sql) => sql`
  f.id, f.name, f.ico, f.dic, f.created_at as "createdAt",
  array(select p.id from participant as p where p.firm_id = f.id order by p.key limit ${LIMITS.console_found_max})
    as participants`;

/** Which page of the firms. */
interface FirmsPage {
  /** Begin of the name, without regard to case and accents; empty for all. */
  readonly begin: string;
  /** The last firm of the page before; undefined for the first page. */
  readonly after: string | undefined;
  readonly limit: number;
}

/** Where the page begins: one bound and no second one, so that the index leads to the place at once. */
const fromOn = (sql: Sql, { begin, after }: FirmsPage) =>
  after === undefined
    ? sql`search_form(name) collate "C" >= search_form(${begin})`
    : sql`(search_form(name) collate "C", id) > (
        (select greatest(search_form(l.name), search_form(${begin})) collate "C" from firm as l where l.id = ${after}),
        ${after}::uuid)`;

/** Firms whose name begins so, by name; those that were erased are left out. */
export const listFirmsByName = (sql: Sql, page: FirmsPage): PromiseLike<ListedFirm[]> => sql<ListedFirm[]>`
  select ${columns(sql)} from (
    select id, name, ico, dic, created_at from firm
    where erased_at is null and ${fromOn(sql, page)}
      and search_form(name) collate "C" < search_form(${page.begin}) || chr(x'10ffff'::integer)
    order by search_form(name) collate "C", id limit ${page.limit}
  ) as f order by search_form(f.name) collate "C", f.id`;

/** Firms with this company id, tax id, VAT id or participant, in lower case. */
export const listFirmsByNumber = (sql: Sql, number: string): PromiseLike<ListedFirm[]> => sql<ListedFirm[]>`
  select ${columns(sql)} from (
    select id from firm where ico = ${number}
    union select id from firm where dic = ${number}
    union select id from firm where ic_dph = upper(${number})
    union select firm_id from participant where key = ${number}
  ) as found join firm as f on f.id = found.id
  order by search_form(f.name) collate "C", f.id limit ${LIMITS.console_found_max}`;
