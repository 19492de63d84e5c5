/**
 * Seals facts again under the key that seals now, which is the firm's where firms have keys, and those for the first
 * time that were stored before facts were sealed. In the order of ids, many rows a statement, while engines read and
 * write.
 */
import { LIMITS } from "../../base/limits.js";
import type { FirmId } from "../../base/ids.js";
import { FIRM_KEY_PREFIX } from "../sealer.js";
import type { Sealer } from "../sealer.js";
import type { Sql } from "../sql.js";
import { noteContext, openFacts, sealFacts } from "./facts.js";
import { openedOrTold, sealerOrTold, tellerOf } from "./reseal.js";
import type { OnLeft } from "./reseal.js";
import { NO_ID, resealWords } from "./reseal-words.js";

/** Tables with facts; each has an id and the sender as columns. */
const FACTS_TABLES = ["document", "received_document"] as const;

interface StoredFacts {
  readonly id: string;
  readonly sender: string;
  readonly firm_id: FirmId;
  readonly facts: Readonly<Record<string, unknown>>;
}

interface ClearNote {
  readonly id: string;
  readonly firm_id: FirmId | null;
  /** Of the message beside it. */
  readonly key_id: string;
  readonly note: string;
}

/** What is to be sealed: what is in clear, or that and what another key has sealed. */
type Which = "clear" | "all";

/** The next rows by id, as many as one statement may look at, of which those come that are to be sealed. */
async function nextFacts(
  sql: Sql,
  { table, after, last }: { readonly table: string; readonly after: string; readonly last: string },
  unless: string | null,
): Promise<readonly StoredFacts[]> {
  return sql<StoredFacts[]>`
    select id::text as id, sender, firm_id, facts from ${sql(table)}
    where id > ${after}::uuid and id <= ${last}::uuid
      and case when ${unless}::text is null then facts ->> 'keyId' is null
        else facts ->> 'keyId' is distinct from ${unless}::text
          and not starts_with(coalesce(facts ->> 'keyId', ''), ${FIRM_KEY_PREFIX}) end
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

interface Resealer {
  readonly sealer: Sealer;
  readonly onLeft: OnLeft | undefined;
}

/** Whoever has sealed a row meanwhile wins. @returns how many were written */
async function write(
  sql: Sql,
  table: string,
  rows: readonly StoredFacts[],
  { sealer, onLeft }: Resealer,
): Promise<number> {
  const [opened, sealed]: [StoredFacts[], string[]] = [[], []];
  for (const row of rows) {
    const { id, sender, firm_id } = row;
    const told = tellerOf(onLeft, table, id);
    const facts = await openedOrTold(() => openFacts(sealer, id, row.facts), told);
    if (facts === undefined) continue;
    const by = await sealerOrTold(sealer, firm_id, told);
    if (by === undefined) continue;
    opened.push(row);
    sealed.push(JSON.stringify(sealFacts(by, { id, sender }, facts)));
  }
  if (opened.length === 0) return 0;
  const before = (name: string): string[] => opened.map(({ facts }) => facts[name] ?? null) as string[];
  const written = await sql`
    update ${sql(table)} as t set facts = n.facts
    from unnest(${opened.map(({ id }) => id)}::uuid[], ${sealed}::text[]::jsonb[],
      ${before("keyId")}::text[], ${before("sealed")}::text[]) as n (id, facts, key_id, sealed)
    where t.id = n.id and t.facts ->> 'keyId' is not distinct from n.key_id
      and t.facts ->> 'sealed' is not distinct from n.sealed`;
  return written.count;
}

/** Notes that lie in clear beside messages; each is sealed under the key of its message, where that one seals. */
async function sealNotes(sql: Sql, resealer: Resealer): Promise<number> {
  const { sealer } = resealer;
  let written = 0;
  let after = NO_ID;
  for (;;) {
    const rows: readonly ClearNote[] = await sql<ClearNote[]>`
      select id::text as id, firm_id, payload_key_id as key_id, note from service_message
      where note is not null and id > ${after}::uuid
        and (payload_key_id = ${sealer.keyId} or starts_with(payload_key_id, ${FIRM_KEY_PREFIX}))
      order by id limit ${LIMITS.reseal_batch}`;
    const last = rows.at(-1);
    if (last === undefined) return written;
    for (const row of rows) written += await sealNote(sql, resealer, row);
    after = last.id;
  }
}

/** Seals one note, unless its message is sealed under another key than what is written now. @returns 1, or 0 */
async function sealNote(
  sql: Sql,
  { sealer, onLeft }: Resealer,
  { id, firm_id, key_id, note }: ClearNote,
): Promise<number> {
  const told = tellerOf(onLeft, "service_message", id);
  const by = key_id === sealer.keyId ? sealer : await sealerOrTold(sealer, firm_id, told);
  if (by?.keyId !== key_id) return 0;
  const { count } = await sql`
    update service_message set note = null, note_sealed = ${by.seal(Buffer.from(note), noteContext(id))}
    where id = ${id} and note is not null and payload_key_id = ${key_id}`;
  return count;
}

/**
 * Goes over all facts, notes and words of answers once.
 * @param onLeft  as resealTable's
 * @returns how many rows were written
 */
export async function resealFacts(sql: Sql, sealer: Sealer, which: Which, onLeft?: OnLeft): Promise<number> {
  let written = 0;
  // Where firms have keys, those seal, and what the master key has sealed is sealed again, too.
  const unless = which === "clear" ? null : sealer.isByFirm ? "" : sealer.keyId;
  for (const table of FACTS_TABLES) {
    let after = NO_ID;
    for (;;) {
      const last: string | undefined = await endOfLook(sql, table, after);
      if (last === undefined) break;
      const rows = await nextFacts(sql, { table, after, last }, unless);
      if (rows.length > 0) written += await write(sql, table, rows, { sealer, onLeft });
      after = last;
    }
  }
  written += await resealWords(sql, sealer, unless, onLeft);
  return written + (await sealNotes(sql, { sealer, onLeft }));
}
