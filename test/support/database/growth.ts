/**
 * Documents divided over several PostgreSQL servers by PL/Proxy: a server that holds none stands before them and has
 * functions of the same names, so that the statements of the engine reach it unchanged.
 */
import type { Sql } from "../../../engine/storage/sql.js";

/** An argument of accept_documents, in its order. */
interface Argument {
  readonly name: string;
  readonly type: string;
  readonly preset: string | null;
}

const ROWS = "table (ordinal bigint, outcome text, document_id uuid, reply_status smallint, reply_body text)";

/** The arguments of accept_documents as the schema has them, so that a change of it is followed. */
const argumentsOf = async (shard: Sql): Promise<readonly Argument[]> => shard<Argument[]>`
  select a.name, format_type(a.type, null) as type,
    pg_get_function_arg_default(p.oid, a.n::integer) as preset
  from pg_proc as p cross join lateral unnest(p.proargnames, p.proallargtypes, p.proargmodes) with ordinality
    as a (name, type, mode, n)
  where p.proname = 'accept_documents' and a.mode = 'i' order by a.n`;

const declared = (all: readonly Argument[]): string =>
  all.map(({ name, type, preset }) => `${name} ${type}${preset === null ? "" : ` default ${preset}`}`).join(", ");

/** How the front server finds a shard: libpq's words for the address that the tests have as a URL. */
const libpqOf = (url: string): string => {
  const parsed = new URL(url);
  return `host=${parsed.searchParams.get("host") ?? parsed.hostname} dbname=${parsed.pathname.slice(1)} user=${parsed.username}`;
};

/**
 * Puts a server before others that have the schema: its accept_documents divides the documents of a call by the hash of
 * their firm.
 *
 * A shard numbers the documents that it is given from one, and the engine knows its documents by their number in the
 * call: so the numbers go with them, by a function of the shards that puts them in the place of the shard's own.
 * @param urls  of the shards; PL/Proxy takes a power of two
 */
export async function divide(front: Sql, urls: readonly string[], shards: readonly Sql[]): Promise<void> {
  const [first] = shards;
  if (first === undefined) throw new Error("nothing to divide over");
  const args = await argumentsOf(first);
  const arrays = args.filter(({ type }) => type.endsWith("[]"));
  const given = args.map(({ name }) => `${name} => ${name}`).join(", ");
  for (const shard of shards)
    await shard.unsafe(`
      create or replace function accept_documents_numbered(p_ordinal bigint[], ${declared(args)}) returns ${ROWS} language sql as $$
        select p_ordinal[a.ordinal], a.outcome, a.document_id, a.reply_status, a.reply_body from accept_documents(${given}) as a
      $$`);
  const partitions = urls.map((url, index) => `p${index} '${libpqOf(url)}'`).join(", ");
  await front.unsafe("create extension if not exists plproxy");
  await front.unsafe("drop server if exists growth cascade");
  await front.unsafe(`create server growth foreign data wrapper plproxy options (${partitions})`);
  await front.unsafe("create user mapping for current_user server growth");
  await front.unsafe(`
    create or replace function accept_documents_numbered(p_ordinal bigint[], ${declared(args)}) returns ${ROWS} language plproxy as $$
      cluster 'growth';
      split p_ordinal, ${arrays.map(({ name }) => name).join(", ")};
      run on hashtext(p_firm_id::text);
    $$`);
  await front.unsafe(`
    create or replace function accept_documents(${declared(args)}) returns ${ROWS} language sql as $$
      select * from accept_documents_numbered(array(select generate_series(1::bigint, cardinality(p_id))), ${given})
    $$`);
}

/** The shard of a firm, as the front server finds it. */
export async function shardOf(front: Sql, firmId: string, shards: number): Promise<number> {
  const [row] = await front<{ readonly at: number }[]>`
    select hashtext(${firmId}) & (${shards}::integer - 1) as at`;
  return row?.at ?? 0;
}
