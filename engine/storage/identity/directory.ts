/** Statements on firms as a directory shows them: those that receive here, under each of their participants. */
import type { ParticipantId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { Json, Sql } from "../sql.js";

/** A firm under one of its participants. */
export interface DirectoryRow {
  readonly participant: ParticipantId;
  readonly name: string;
  readonly ico: string | null;
  readonly dic: string | null;
  readonly icDph: string | null;
  readonly address: Json;
  readonly registeredAt: Date;
  readonly documentTypes: string[];
}

interface DirectoryQuery {
  /** Each must be in the name, or be the whole of an identifier. */
  readonly words: readonly string[];
  readonly limit: number;
  readonly offset: number;
}

const columns = (sql: Sql) => sql`
  p.id as participant, f.name, f.ico, f.dic, f.ic_dph as "icDph", f.address, p.registered_at as "registeredAt",
  (select coalesce(array_agg(distinct c.document_type_id order by c.document_type_id), '{}')
    from participant_capability c where c.participant_key = p.key) as "documentTypes"`;

const matching = (sql: Sql, words: readonly string[]) => sql`
  from firm f join participant p on p.firm_id = f.id
  where not f.sends_only and not exists (
    select 1 from unnest(${[...words]}::text[]) as w (word)
    where position(search_form(w.word) in search_form(f.name)) = 0
      and lower(w.word) not in (coalesce(f.ico, ''), coalesce(f.dic, ''), lower(coalesce(f.ic_dph, '')), p.key))`;

/** One page of the firms that all words fit, by name. */
export async function searchDirectory(sql: Sql, { words, limit, offset }: DirectoryQuery): Promise<DirectoryRow[]> {
  return sql<DirectoryRow[]>`
    select ${columns(sql)} ${matching(sql, words)}
    order by search_form(f.name), f.id, p.key limit ${limit} offset ${offset}`;
}

/** How many there are, counted up to LIMITS.directory_counted_max. */
export async function countDirectory(sql: Sql, words: readonly string[]): Promise<number> {
  const rows = await sql<{ readonly total: number }[]>`
    select count(*)::integer as total
    from (select 1 ${matching(sql, words)} limit ${LIMITS.directory_counted_max}) as counted`;
  return rows[0]?.total ?? 0;
}

/** By what a company can be found without doubt. */
export type CompanyKey =
  | { readonly by: "ico" | "dic" | "icDph"; readonly value: string }
  | { readonly by: "participant"; readonly value: ParticipantId };

/** The firm of an identifier; of several with one company id the oldest. */
export async function findInDirectory(sql: Sql, { by, value }: CompanyKey): Promise<DirectoryRow | undefined> {
  const is = {
    ico: sql`f.ico = ${value}`,
    dic: sql`f.dic = ${value}`,
    icDph: sql`f.ic_dph = ${value}`,
    participant: sql`p.key = ${value.toLowerCase()}`,
  }[by];
  const rows = await sql<DirectoryRow[]>`
    select ${columns(sql)} from firm f join participant p on p.firm_id = f.id
    where not f.sends_only and ${is} order by f.id, p.registered_at, p.key limit 1`;
  return rows[0];
}
