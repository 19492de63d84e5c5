/**
 * Payloads leave Postgres when nobody sends or judges them any more and their window is over. An object holds those of
 * one firm. A pass may be broken off anywhere: what was stored and not written down is stored again by the next, and
 * the object that no row names, or the draft of one, goes when its announcement is old.
 */
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import type { Sql } from "../sql.js";
import type { PayloadStore } from "./payload-store.js";

interface Movable {
  readonly id: string;
  /** Of the key that sealed these octets: whoever seals them again meanwhile keeps the row. */
  readonly key_id: string;
  readonly sealed: Buffer;
}

/** The oldest payloads whose window is over, of one firm, LIMITS.payload_move_bytes together, and one at least. */
async function listMovable(sql: Sql, now: Instant): Promise<readonly Movable[]> {
  const before = isoInstant(now - LIMITS.payload_here_ms);
  return sql<Movable[]>`
    with old as (
      select p.document_id as id, coalesce(d.firm_id, r.firm_id) as firm_id, octet_length(p.sealed) as length
      from payload as p left join document as d on d.id = p.document_id
        left join received_document as r on r.id = p.document_id
      where p.document_id < id_floor(${before}::timestamptz)
        and (not document_is_open(d.status) or received_is_visible(r.status) or r.status = 'REFUSED')
      order by p.document_id limit ${LIMITS.payload_move_batch}
    ), mine as (
      select id, sum(length) over (order by id) - length as before
      from old where firm_id = (select firm_id from old order by id limit 1)
    )
    select p.document_id as id, p.key_id, p.sealed from mine join payload as p on p.document_id = mine.id
    where mine.before < ${LIMITS.payload_move_bytes} order by p.document_id`;
}

/** Moves one object's worth. @returns how many payloads left */
async function moveSome(sql: Sql, store: PayloadStore, now: Instant): Promise<number> {
  const movable = await listMovable(sql, now);
  if (movable.length === 0) return 0;
  const lengths = movable.map(({ sealed }) => sealed.length);
  const offsets = lengths.map((_, index) => lengths.slice(0, index).reduce((sum, length) => sum + length, 0));
  const octets = Buffer.concat(movable.map(({ sealed }) => sealed));
  const object = store.nameOf(octets);
  const isAgain = await announce(sql, object, now);
  await store.put(object, octets);
  const [row] = await sql<{ readonly moved: number }[]>`
    with gone as materialized (
      select move_announced_payloads(${object}, ${movable.map(({ id }) => id)}::uuid[],
        ${movable.map(({ key_id }) => key_id)}::text[], ${offsets}::integer[], ${lengths}::integer[]) as moved
    ), kept as (
      insert into payload_announced (object, announced_at)
      select ${object}, ${isoInstant(now)}::timestamptz from gone where ${isAgain}::boolean
      on conflict (object) do nothing
    )
    select moved from gone`;
  return row?.moved ?? 0;
}

/**
 * Announces an object. @returns whether it was announced already: by a process that stores the same octets within the
 * hour, or that was killed over them and has left a draft, so that the announcement outlives the move of ours
 */
async function announce(sql: Sql, object: string, now: Instant): Promise<boolean> {
  // The number of the transaction that held a row before it wrote it anew: none for a row that is new.
  const [row] = await sql<{ readonly again: boolean }[]>`
    insert into payload_announced (object, announced_at) values (${object}, ${isoInstant(now)})
    on conflict (object) do update set announced_at = excluded.announced_at
    returning xmax <> 0 as again`;
  return row?.again === true;
}

/** Removes what processes have left that were killed over an object which another has stored, and rows name. */
async function tidyAnnounced(sql: Sql, store: PayloadStore, now: Instant): Promise<void> {
  const before = isoInstant(now - LIMITS.payload_announced_ms);
  const rows = await sql<{ readonly object: string }[]>`
    select a.object from payload_announced as a
    where a.announced_at < ${before}::timestamptz
      and exists (select 1 from payload_moved as m where m.object = a.object)
    order by a.object limit ${LIMITS.sweep_batch}`;
  const objects = rows.map(({ object }) => object);
  for (const object of objects) await store.tidy(object);
  await sql`
    delete from payload_announced where object = any (${objects}::text[]) and announced_at < ${before}::timestamptz`;
}

/**
 * Gives up objects that were announced long ago: their processes ended before a row named them. One that goes on all
 * the same moves nothing to them any more, so that what is removed is named by no row.
 */
async function giveUp(sql: Sql, now: Instant): Promise<void> {
  const before = isoInstant(now - LIMITS.payload_announced_ms);
  await sql`
    with old as (
      delete from payload_announced as a
      where a.announced_at < ${before}::timestamptz
        and not exists (select 1 from payload_moved as m where m.object = a.object)
      returning a.object
    )
    insert into payload_leftover (object) select object from old on conflict (object) do nothing`;
}

/** Removes objects of which no payload is left. @returns how many */
async function removeEmpty(sql: Sql, store: PayloadStore): Promise<number> {
  const rows = await sql<{ readonly object: string }[]>`
    select l.object from payload_leftover as l
    where not exists (select 1 from payload_moved as m where m.object = l.object)
    order by l.object limit ${LIMITS.sweep_batch}`;
  const objects = rows.map(({ object }) => object);
  for (const object of objects) await store.remove(object);
  await sql`delete from payload_leftover where object = any (${objects}::text[])`;
  return objects.length;
}

/** One pass. @returns how many payloads left Postgres, and how many objects went */
export async function movePayloads(
  sql: Sql,
  store: PayloadStore,
  now: Instant,
): Promise<{ readonly moved: number; readonly removed: number }> {
  let moved = 0;
  let removed = 0;
  try {
    for (let round = 0; round < LIMITS.payload_move_rounds_max; round += 1) {
      const some = await moveSome(sql, store, now);
      moved += some;
      if (some === 0) break;
    }
  } finally {
    // Also where the store takes nothing: what goes is the room that it lacks.
    removed = await removeOver(sql, store, now);
  }
  return { moved, removed };
}

/** Removes what is given up, and objects of which no payload is left. @returns how many objects */
async function removeOver(sql: Sql, store: PayloadStore, now: Instant): Promise<number> {
  await giveUp(sql, now);
  let removed = 0;
  for (let round = 0; round < LIMITS.sweep_rounds_max; round += 1) {
    const some = await removeEmpty(sql, store);
    removed += some;
    if (some < LIMITS.sweep_batch) break;
  }
  // Last: a draft that cannot be removed is in the way of no payload that has to go.
  await tidyAnnounced(sql, store, now);
  return removed;
}

/** Whether any payload of this database is in a payload store. */
export async function hasMovedPayloads(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ readonly any: boolean }[]>`select exists (select 1 from payload_moved) as any`;
  return row?.any ?? false;
}
