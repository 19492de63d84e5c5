/**
 * Seals facts again under the key that seals now, and those for the first time that were stored before facts were
 * sealed. In the order of ids, many rows a statement, while engines read and write.
 */
import { LIMITS } from "../../base/limits.js";
import type { Sealer } from "../sealer.js";
import type { Sql } from "../sql.js";
import { noteContext, openFacts, sealFacts } from "./facts.js";

/** Tables with facts; each has an id and the sender as columns. */
const FACTS_TABLES = ["document", "received_document"] as const;

interface StoredFacts {
  readonly id: string;
  readonly sender: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** What is to be sealed: what is in clear, or that and what another key has sealed. */
type Which = "clear" | "all";

/** Before every id. */
const NO_ID = "00000000-0000-0000-0000-000000000000";

/** The next rows by id, as many as one statement may look at, of which those come that are to be sealed. */
async function nextFacts(
  sql: Sql,
  { table, after, last }: { readonly table: string; readonly after: string; readonly last: string },
  unless: string | null,
): Promise<readonly StoredFacts[]> {
  return sql<StoredFacts[]>`
    select id::text as id, sender, facts from ${sql(table)}
    where id > ${after}::uuid and id <= ${last}::uuid
      and case when ${unless}::text is null then facts ->> 'keyId' is null
        else facts ->> 'keyId' is distinct from ${unless}::text end
    order by id`;
}

/** Where a look from a place ends; undefined behind the last row. */
async function endOfLook(sql: Sql, table: string, after: string): Promise<string | undefined> {
  const [row] = await sql<{ readonly id: string | null }[]>`
    select max(id::text)::text as id from (
      select id from ${sql(table)} where id > ${after}::uuid order by id limit ${LIMITS.reseal_facts_batch}
    ) as looked`;
  return row?.id ?? undefined;
}

/** Whoever has sealed a row meanwhile wins. @returns how many were written */
async function write(sql: Sql, table: string, rows: readonly StoredFacts[], sealer: Sealer): Promise<number> {
  const sealed = rows.map(({ id, sender, facts }) =>
    JSON.stringify(sealFacts(sealer, { id, sender }, openFacts(sealer, id, facts))),
  );
  const before = rows.map(({ facts }) => facts["keyId"] ?? null);
  const written = await sql`
    update ${sql(table)} as t set facts = n.facts
    from unnest(${rows.map(({ id }) => id)}::uuid[], ${sealed}::text[]::jsonb[], ${before as string[]}::text[])
      as n (id, facts, key_id)
    where t.id = n.id and t.facts ->> 'keyId' is not distinct from n.key_id`;
  return written.count;
}

/** Notes that lie in clear beside messages; they are sealed under the key of their message, which must be this one. */
async function sealNotes(sql: Sql, sealer: Sealer): Promise<number> {
  let written = 0;
  for (;;) {
    const rows = await sql<{ readonly id: string; readonly note: string }[]>`
      select id::text as id, note from service_message
      where note is not null and payload_key_id = ${sealer.keyId} limit ${LIMITS.reseal_batch}`;
    if (rows.length === 0) return written;
    const sealed = rows.map(({ id, note }) => sealer.seal(Buffer.from(note), noteContext(id)).toString("base64"));
    const { count } = await sql`
      update service_message as m set note = null, note_sealed = decode(n.sealed, 'base64')
      from unnest(${rows.map(({ id }) => id)}::uuid[], ${sealed}::text[]) as n (id, sealed)
      where m.id = n.id and m.note is not null and m.payload_key_id = ${sealer.keyId}`;
    written += count;
  }
}

/**
 * Goes over all facts and notes once.
 * @returns how many rows were written
 * @throws Error when facts do not open: their key is not in the ring, or they are damaged
 */
export async function resealFacts(sql: Sql, sealer: Sealer, which: Which): Promise<number> {
  let written = 0;
  for (const table of FACTS_TABLES) {
    let after = NO_ID;
    for (;;) {
      const last: string | undefined = await endOfLook(sql, table, after);
      if (last === undefined) break;
      const rows = await nextFacts(sql, { table, after, last }, which === "all" ? sealer.keyId : null);
      if (rows.length > 0) written += await write(sql, table, rows, sealer);
      after = last;
    }
  }
  return written + (await sealNotes(sql, sealer));
}
