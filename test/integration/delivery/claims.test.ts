/**
 * Whose documents a node claims, and what becomes of leases. Method: real rows, the statements of the dispatcher, and a
 * dispatcher whose actors do nothing but remember.
 */
import { afterEach, beforeEach, expect, test } from "vitest";

import { startDispatcher } from "../../../actors/delivery/dispatcher.js";
import { startActors } from "../../../actors/system.js";
import { systemClock } from "../../../engine/base/clock.js";
import { silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { createPlaces, shareOut } from "../../../engine/documents/delivery/claims.js";
import type { ReceiverCapacity } from "../../../engine/documents/delivery/claims.js";
import {
  boundsFor,
  beat,
  freeDead,
  claim,
  claimForgotten,
  tendLeases,
  FROM_THE_START,
  look,
} from "../../../engine/documents/delivery/due.js";
import type { LaneCursor, TakenAttempt } from "../../../engine/documents/delivery/due.js";
import type { DocumentId, FirmId, ParticipantId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { endAttempt } from "../../../engine/storage/documents/attempts.js";
import { acceptDocuments } from "../../../engine/storage/documents/documents.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { eventually } from "../../support/eventually.js";
import { fakeClock } from "../../support/fake-clock.js";
import { shortenLimits } from "../../support/engines/limits.js";
import { openTransaction } from "../../support/database/transactions.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { newDocumentRow, sealedPayload, seedFirm } from "../../support/database/seed.js";
import { attempting } from "../../support/worlds/attempts.js";

let db: TestDatabase;
const sealer = createSealer([Buffer.alloc(32, 1)]);
beforeEach(async () => {
  db = await freshDatabase();
});
afterEach(() => db.drop());

const ALL = { bytes: LIMITS.attempt_bytes_max, one: true };
const ports = (owner = "node/1"): { readonly sql: TestDatabase["sql"]; readonly owner: string } => ({
  sql: db.sql,
  owner,
});

async function accept(firmId: FirmId, sender: string, receiver: string, payloadBytes = 6): Promise<DocumentId> {
  const row = newDocumentRow(firmId, sender, { receiver: receiver as ParticipantId, payloadBytes });
  await acceptDocuments(db.sql, [{ ...row, ...sealedPayload(sealer, row.id) }]);
  return row.id;
}

/** Copies of one statement: a busy machine makes so many well within the time that a statement has. */
const COPIES = 500;

/** Many documents of a firm, made from one that was accepted: for its receiver, or for one each. */
async function multiply(id: DocumentId, count: number, receivers: "one" | "many" = "one"): Promise<void> {
  for (let first = 1; first < count; first += COPIES) {
    await db.sql`
      with copy as (
        insert into document
        select (jsonb_populate_record(d, jsonb_build_object('id', gen_random_uuid(), 'sbdh_instance_id', gen_random_uuid(),
          'idempotency_key', gen_random_uuid(), 'erp_document_id', gen_random_uuid(), 'as4_message_id', gen_random_uuid(),
          'payload_sha256', '\\x' || encode(sha256(n::text::bytea), 'hex')) || case when ${receivers === "many"}
            then jsonb_build_object('receiver', '0245:' || 100000 + n, 'receiver_key', '0245:' || 100000 + n)
            else '{}' end)).*
        from document as d
        cross join generate_series(${first}::integer, ${Math.min(count - 1, first + COPIES - 1)}::integer) as n
        where d.id = ${id}
        returning id
      )
      insert into payload select copy.id, p.key_id, p.sealed, p.bytes from copy cross join payload as p where p.document_id = ${id}`;
  }
  await db.sql`analyze document`;
}

const quick = (receiver: string): ReceiverCapacity => ({ key: receiver, places: 64, typical_ms: 50 });

/** What one look and one claim take for so many places. */
async function take(
  places: number,
  capacityOf = quick,
  cursor: LaneCursor = FROM_THE_START,
): Promise<readonly TakenAttempt[]> {
  const { firms } = await look(db.sql, cursor);
  return claim(ports(), shareOut(firms, createPlaces(places, LIMITS.receiver_quick_ms), capacityOf), ALL);
}

test("a third firm's single document is in the first claim behind one firm's thousands and a dead receiver's thousands", async () => {
  const [many, dead, third] = [
    await seedFirm(db.sql, "0245:1"),
    await seedFirm(db.sql, "0245:2"),
    await seedFirm(db.sql, "0245:3"),
  ];
  await multiply(await accept(many, "0245:1", "0245:100"), 5_000);
  await multiply(await accept(dead, "0245:2", "0245:200"), 5_000);
  const single = await accept(third, "0245:3", "0245:100");
  const taken = await take(8, (receiver) =>
    receiver === "0245:200" ? { key: receiver, places: 0, typical_ms: 50 } : quick(receiver),
  );
  expect(taken.map(({ id }) => id)).toContain(single);
  expect(taken.filter(({ firmId }) => firmId === dead)).toEqual([]);
  expect(taken.filter(({ firmId }) => firmId === many).length).toBeGreaterThan(2);
});

test("looks go round: with more receivers than one look comes to, every one has its turn, and none twice before", async () => {
  const firm = await seedFirm(db.sql, "0245:1");
  const receivers = Array.from({ length: 2 * LIMITS.lanes_per_firm_max + 3 }, (_, i) => `0245:${1_000 + i}`);
  for (const receiver of receivers) await accept(firm, "0245:1", receiver);
  const seen: string[] = [];
  let cursor = FROM_THE_START;
  for (let i = 0; i < 3; i += 1) {
    const found = await look(db.sql, cursor);
    expect(found.more).toBe(true);
    seen.push(...found.firms.flatMap(({ lanes }) => lanes.map(({ receiver }) => receiver)));
    cursor = found.cursor;
  }
  expect(new Set(seen.slice(0, receivers.length))).toEqual(new Set(receivers));
});

test("ten thousand receivers with one document each: every document is claimed once, in as many looks as there are lanes for, and another firm's document waits for one look", async () => {
  const RECEIVERS = 10_000;
  const [firm, other] = [await seedFirm(db.sql, "0245:1"), await seedFirm(db.sql, "0245:2")];
  await multiply(await accept(firm, "0245:1", "0245:99"), RECEIVERS, "many");
  const claimed: DocumentId[] = [];
  let single: DocumentId | undefined;
  let cursor = FROM_THE_START;
  let looks = 0;
  for (let isEmpty = false; !isEmpty; looks += 1) {
    if (looks === 100) single = await accept(other, "0245:2", "0245:100");
    const found = await look(db.sql, cursor, boundsFor(LIMITS.attempts_concurrent_max, 0));
    cursor = found.cursor;
    const shares = shareOut(found.firms, createPlaces(), quick);
    const taken = shares.length === 0 ? [] : await claim(ports(), shares, ALL);
    isEmpty = taken.length === 0;
    if (looks === 100) expect(taken.map(({ id }) => id)).toContain(single);
    claimed.push(...taken.map(({ id }) => id));
    await db.sql`
      update document set status = 'send_failed', next_attempt_at = null, lease_until = null, lease_owner = null
      where id = any (${taken.map(({ id }) => id)}::uuid[])`;
  }
  expect(claimed).toHaveLength(RECEIVERS + 1);
  expect(new Set(claimed).size).toBe(RECEIVERS + 1);
  expect(looks).toBeLessThanOrEqual(RECEIVERS / LIMITS.lanes_per_firm_max + 2);
});

/** Looks until one finds something. @returns what it found, and how many there were */
async function lookUntilFound(): Promise<{ readonly found: readonly string[]; readonly looks: number }> {
  let cursor = FROM_THE_START;
  for (let looks = 1; looks <= 400; looks += 1) {
    const { firms, cursor: next } = await look(db.sql, cursor, boundsFor(1, 0));
    const found = firms.flatMap(({ lanes }) => lanes.map(({ receiver }) => receiver));
    if (found.length > 0) return { found, looks };
    cursor = next;
  }
  return { found: [], looks: 400 };
}

test("a document that is due for one of a firm's three thousand receivers is found in a dozen looks, whether the others wait for their next attempts or are under lease", async () => {
  const firm = await seedFirm(db.sql, "0245:1");
  const RECEIVERS = 3_000;
  const first = await accept(firm, "0245:1", "0245:100");
  await multiply(first, RECEIVERS, "many");
  const last = "0245:999999";
  await db.sql`update document set next_attempt_at = clock_timestamp() + interval '1 hour'`;
  await accept(firm, "0245:1", last);
  const looksMax = RECEIVERS / LIMITS.lanes_passed_firm_max + 1;
  const waiting = await lookUntilFound();
  expect(waiting.found).toEqual([last]);
  expect(waiting.looks).toBeLessThanOrEqual(looksMax);
  await db.sql`
    update document set next_attempt_at = clock_timestamp() - interval '1 hour', lease_owner = 'other/1',
      lease_until = clock_timestamp() + interval '1 minute'
    where receiver_key <> ${last}`;
  const leased = await lookUntilFound();
  expect(leased.found).toEqual([last]);
  expect(leased.looks).toBeLessThanOrEqual(looksMax);
});

test("a dozen firms whose thousands of receivers wait keep no look from the firms after them for longer than two", async () => {
  const firms: FirmId[] = [];
  for (let i = 0; i < 12; i += 1) {
    const firm = await seedFirm(db.sql, `0245:${i}`);
    firms.push(firm);
    await multiply(await accept(firm, `0245:${i}`, "0245:100"), 2 * LIMITS.lanes_passed_firm_max, "many");
  }
  await db.sql`update document set next_attempt_at = clock_timestamp() + interval '1 hour'`;
  const last = firms.toSorted().at(-1);
  if (last === undefined) throw new Error("there is no firm");
  await db.sql`
    update document set next_attempt_at = clock_timestamp() where firm_id = ${last} and receiver_key = '0245:100'`;
  const first = await look(db.sql, FROM_THE_START);
  const second = await look(db.sql, first.cursor);
  expect([first, second].map(({ firms: found }) => found.map(({ firmId }) => firmId))).toEqual([[], [last]]);
  // A third goes on with the receivers of those firms that the first began with.
  const third = await look(db.sql, second.cursor);
  expect([...third.cursor.receivers.values()].every((receiver) => receiver > "0245:100")).toBe(true);
});

test("with more firms than one look comes to, every firm has its turn", async () => {
  const firms: FirmId[] = [];
  for (let i = 0; i < LIMITS.lane_firms_max + 5; i += 1) {
    const firm = await seedFirm(db.sql, `0245:${i}`);
    firms.push(firm);
    await accept(firm, `0245:${i}`, "0245:9999");
  }
  const first = await look(db.sql, FROM_THE_START);
  const second = await look(db.sql, first.cursor);
  const seen = [...first.firms, ...second.firms].map(({ firmId }) => firmId);
  expect(first.firms).toHaveLength(LIMITS.lane_firms_max);
  expect(new Set(seen)).toEqual(new Set(firms));
});

test("a look that goes on after a firm that has nothing waiting any more comes to every other firm once", async () => {
  const firms: FirmId[] = [];
  for (let i = 0; i < 3; i += 1) {
    const firm = await seedFirm(db.sql, `0245:${i}`);
    firms.push(firm);
    await accept(firm, `0245:${i}`, "0245:9999");
  }
  const { cursor } = await look(db.sql, FROM_THE_START, { firms: 2, ready: 8 });
  const [first, gone, last] = firms.toSorted();
  expect(cursor.firm).toBe(gone);
  await db.sql`update document set status = 'send_failed', next_attempt_at = null where firm_id = ${gone ?? null}`;
  const found = await look(db.sql, cursor);
  expect(found.firms.map(({ firmId, lanes }) => [firmId, lanes.length])).toEqual([
    [last, 1],
    [first, 1],
  ]);
  expect(found.more).toBe(false);
});

test("with looks over two firms at a time, every firm has its turn, and every receiver of each", async () => {
  const lanes: string[] = [];
  for (let i = 0; i < 5; i += 1) {
    const firm = await seedFirm(db.sql, `0245:${i}`);
    for (let r = 0; r < LIMITS.lanes_per_firm_max + 2; r += 1) {
      await accept(firm, `0245:${i}`, `0245:${1_000 + r}`);
      lanes.push(`${firm} 0245:${1_000 + r}`);
    }
  }
  const seen = new Set<string>();
  let cursor = FROM_THE_START;
  // Three looks are one round over the firms; two rounds are enough for the receivers of each.
  for (let i = 0; i < 6; i += 1) {
    const found = await look(db.sql, cursor, { firms: 2, ready: 1 });
    expect(found.firms.length).toBeLessThanOrEqual(2);
    for (const { firmId, lanes: own } of found.firms) for (const { receiver } of own) seen.add(`${firmId} ${receiver}`);
    cursor = found.cursor;
  }
  expect([...seen].sort()).toEqual(lanes.sort());
});

test("a look goes as far as there are free places, and farther where the last ones found nothing", () => {
  expect(boundsFor(1, 0)).toEqual({ firms: LIMITS.lane_firms_min, ready: LIMITS.lane_ready_min });
  expect(boundsFor(96, 0)).toEqual({ firms: LIMITS.lane_firms_max, ready: LIMITS.lane_ready_max });
  expect(boundsFor(1, 1).firms).toBe(2 * LIMITS.lane_firms_min);
  expect(boundsFor(1, 64).firms).toBe(LIMITS.lane_firms_max);
});

test("what two nodes claim at once is claimed by one of them", async () => {
  const firm = await seedFirm(db.sql, "0245:1");
  await multiply(await accept(firm, "0245:1", "0245:100"), 60);
  const shares = [{ firmId: firm, receiver: "0245:100", count: 30 }];
  const claims = await Promise.all(
    Array.from({ length: 6 }, (_, i) => claim({ sql: db.another(), owner: `node-${i}/1` }, shares, ALL)),
  );
  const ids = claims.flat().map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect((await take(96)).length).toBe(60 - ids.length);
});

test("a firm that sends ninety-six documents of 20 MB at once has as many under way as there are octets for, and one in any case", async () => {
  const firm = await seedFirm(db.sql, "0245:1");
  const MIB = 1024 * 1024;
  await multiply(await accept(firm, "0245:1", "0245:100", 20 * MIB), 96);
  const shares = [{ firmId: firm, receiver: "0245:100", count: 64 }];
  expect(await claim(ports(), shares, { bytes: 0, one: false })).toHaveLength(0);
  expect(await claim(ports(), shares, { bytes: 19 * MIB, one: true })).toHaveLength(1);
  const restore = shortenLimits({ claim_bytes_max: LIMITS.attempt_bytes_max });
  const taken = await claim(ports(), shares, { ...ALL, one: false });
  restore();
  expect(taken).toHaveLength(Math.floor(LIMITS.attempt_bytes_max / (20 * MIB)));
});

test("a document that has more octets than are left holds up nobody: smaller ones behind it go, and where one may go beyond it is the first", async () => {
  const MIB = 1024 * 1024;
  const firms = [await seedFirm(db.sql, "0245:1"), await seedFirm(db.sql, "0245:2"), await seedFirm(db.sql, "0245:3")];
  const [large, small, later] = [
    await accept(firms[0] as FirmId, "0245:1", "0245:100", 20 * MIB),
    await accept(firms[1] as FirmId, "0245:2", "0245:100", MIB),
    await accept(firms[2] as FirmId, "0245:3", "0245:100", 2 * MIB),
  ];
  const shares = firms.map((firmId) => ({ firmId, receiver: "0245:100", count: 1 }));
  const taken = async (bytes: number, one: boolean): Promise<readonly DocumentId[]> =>
    (await claim(ports(), shares, { bytes, one })).map(({ id }) => id);
  expect(await taken(MIB, false), "the second alone fits").toEqual([small]);
  expect(await taken(MIB, false)).toEqual([]);
  expect(await taken(MIB, true), "the first goes beyond, and nobody else").toEqual([large]);
  expect(await taken(2 * MIB, false)).toEqual([later]);
});

test("documents that have been due for as long as the plan lasts are claimed although their receiver has no place", async () => {
  const firm = await seedFirm(db.sql, "0245:1");
  const [old, young] = [await accept(firm, "0245:1", "0245:100"), await accept(firm, "0245:1", "0245:100")];
  await db.sql`update document set next_attempt_at = now() - interval '3 days' where id = ${old}`;
  await db.sql`update document set next_attempt_at = now() - interval '1 hour' where id = ${young}`;
  expect((await claimForgotten(ports(), ALL)).map(({ id }) => id)).toEqual([old]);
});

test("large documents that have been due for as long as the plan lasts come as many at a time as there are octets for", async () => {
  const firm = await seedFirm(db.sql, "0245:1");
  const MIB = 1024 * 1024;
  await multiply(await accept(firm, "0245:1", "0245:100", 20 * MIB), 10);
  await db.sql`update document set next_attempt_at = now() - interval '3 days'`;
  expect(await claimForgotten(ports(), { bytes: 0, one: false })).toHaveLength(0);
  expect(await claimForgotten(ports(), { bytes: 19 * MIB, one: true })).toHaveLength(1);
  const restore = shortenLimits({ claim_bytes_max: LIMITS.attempt_bytes_max });
  const taken = await claimForgotten(ports(), { bytes: 70 * MIB, one: false });
  restore();
  expect(taken).toHaveLength(3);
});

/** A process says that it is alive, and frees what the dead held. @returns how many leases */
async function heard(process: ReturnType<typeof ports>): Promise<number> {
  await beat(process);
  return freeDead(process);
}

const leaseOwner = async (id: DocumentId): Promise<string | null | undefined> =>
  (
    await db.sql<{ owner: string | null }[]>`
    select case when lease_until > clock_timestamp() then lease_owner end as owner from document where id = ${id}`
  )[0]?.owner;

test("a process that says nothing for four seconds is dead: its leases are free, and what it writes late is refused", async () => {
  const firm = await seedFirm(db.sql, "0245:1");
  await accept(firm, "0245:1", "0245:100");
  await heard(ports("dead/1"));
  await heard(ports("alive/1"));
  const shares = [{ firmId: firm, receiver: "0245:100", count: 1 }];
  const [taken] = await claim(ports("dead/1"), shares, ALL);
  if (taken === undefined) throw new Error("nothing was claimed");
  expect(await heard(ports("alive/1")), "it has just been seen").toBe(0);
  // Four seconds pass, in the database.
  await db.sql`update dispatcher set seen_at = seen_at - interval '4001 milliseconds' where owner = 'dead/1'`;
  expect(await heard(ports("alive/1"))).toBe(1);
  expect(await leaseOwner(taken.id)).toBeNull();
  const [again] = await claim(ports("alive/1"), shares, ALL);
  expect(again).toMatchObject({ id: taken.id, attempt: 2 });
  const end = {
    id: taken.id,
    owner: "dead/1",
    status: "delivered",
    now: 0,
    wait_ms: undefined,
    uses: "answer",
    moves: [],
    events: [],
    reason: undefined,
    exchange: undefined,
    attempt: { number: 1, outcome: "receipt", code: undefined, retryable: false, detail: undefined },
  } as const;
  expect(await endAttempt(db.sql, { ...end, version: taken.version })).toBeUndefined();
  const alive = { ...end, owner: "alive/1", attempt: { ...end.attempt, number: 2 } };
  expect(await endAttempt(db.sql, { ...alive, version: again?.version ?? 0 })).toBeDefined();
  expect(
    await db.sql`select number, owner, outcome from document_attempt where document_id = ${taken.id} order by number`,
  ).toEqual([
    { number: 1, owner: "dead/1", outcome: "cut" },
    { number: 2, owner: "alive/1", outcome: "receipt" },
  ]);
});

test("a process is heard while it frees what the dead held, whatever that waits for", async () => {
  const firm = await seedFirm(db.sql, "0245:1");
  const id = await accept(firm, "0245:1", "0245:100");
  await beat(ports("dead/1"));
  await beat(ports("alive/1"));
  expect(await claim(ports("dead/1"), [{ firmId: firm, receiver: "0245:100", count: 1 }], ALL)).toHaveLength(1);
  await db.sql`update dispatcher set seen_at = seen_at - interval '4001 milliseconds' where owner = 'dead/1'`;
  const holder = await openTransaction(db.url);
  await holder.run(`select 1 from document where id = '${id}' for update`);
  let isFreeing = true;
  const freeing = freeDead(ports("alive/1"))
    .catch(() => 0)
    .finally(() => {
      isFreeing = false;
    });
  await eventually("it waits for the document", async () => {
    const [row] = await db.sql<{ waiting: number }[]>`
      select count(*)::integer as waiting from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%free_dead%'`;
    return row?.waiting === 1;
  });
  await beat(ports("alive/1"));
  expect(isFreeing).toBe(true);
  await holder.commit();
  expect(await freeing).toBe(1);
});

test("after a database was away for longer than a silence may last, nobody who lives is taken for dead, and who stays silent is", async () => {
  const firm = await seedFirm(db.sql, "0245:1");
  await accept(firm, "0245:1", "0245:100");
  await heard(ports("first/1"));
  await heard(ports("second/1"));
  const [taken] = await claim(ports("first/1"), [{ firmId: firm, receiver: "0245:100", count: 1 }], ALL);
  if (taken === undefined) throw new Error("nothing was claimed");
  // Time passes in the database, which says so of when it was told something.
  const pass = (ms: number): Promise<unknown> =>
    db.sql`update dispatcher set seen_at = seen_at - ${ms} * interval '1 millisecond',
      heard_since = heard_since - ${ms} * interval '1 millisecond'`;
  await pass(4_001);
  expect(await heard(ports("second/1")), "the other has had no time to say that it lives").toBe(0);
  await pass(3_000);
  expect(await heard(ports("second/1"))).toBe(0);
  expect(await leaseOwner(taken.id)).toBe("first/1");
  await pass(1_001);
  expect(await heard(ports("second/1")), "it has had as long as anybody").toBe(1);
  expect(await leaseOwner(taken.id)).toBeNull();
});

test("a lease that nobody works on in a living process is found and freed; one that it works on, or has just taken, is not", async () => {
  const firm = await seedFirm(db.sql, "0245:1");
  const [lost, working, fresh] = [
    await accept(firm, "0245:1", "0245:100"),
    await accept(firm, "0245:1", "0245:200"),
    await accept(firm, "0245:1", "0245:300"),
  ];
  const claimed = (receiver: string): Promise<readonly TakenAttempt[]> =>
    claim(ports(), [{ firmId: firm, receiver, count: 1 }], ALL);
  await claimed("0245:100");
  await claimed("0245:200");
  await db.sql`update document set lease_until = lease_until - interval '11 seconds' where lease_owner is not null`;
  await claimed("0245:300");
  expect(await tendLeases(ports(), (id) => id === working)).toBe(1);
  expect([await leaseOwner(lost), await leaseOwner(working), await leaseOwner(fresh)]).toEqual([
    null,
    "node/1",
    "node/1",
  ]);
});

test("a document whose attempt's end could not be written is claimed again as soon as its lease is not young any more", async () => {
  const restore = shortenLimits({ lease_young_ms: 100, lease_look_soon_ms: 20, lease_look_ms: 600_000 });
  const firm = await seedFirm(db.sql, "0245:1");
  const id = await accept(firm, "0245:1", "0245:100");
  const attempts: number[] = [];
  const metrics = createMetrics();
  const actors = startActors({ log: silentLog, metrics, monotonic: () => systemClock.monotonic() });
  const document = attempting(({ taken, start, end }) => {
    start();
    attempts.push(taken.attempt);
    end();
    return Promise.reject(new Error("the database is away"));
  });
  const dispatcher = await startDispatcher({
    clock: systemClock,
    ...ports(),
    beatSql: db.sql,
    actors,
    document,
    log: silentLog,
    capacityOf: quick,
  });
  try {
    await eventually("it is attempted again, and again", () => attempts.length > 2);
    expect(attempts.slice(0, 3)).toEqual([1, 2, 3]);
    expect(await db.sql`select answers, faults from document where id = ${id}`).toEqual([{ answers: 0, faults: 0 }]);
  } finally {
    await dispatcher.stop();
    await actors.stop();
    restore();
  }
});

test("leases that may be nobody's are looked for until the time is over in which they can be too young to be told, and then no more", async () => {
  const restore = shortenLimits({ lease_young_ms: 2, lease_look_soon_ms: 1, lease_look_ms: 600_000 });
  const firm = await seedFirm(db.sql, "0245:1");
  await accept(firm, "0245:1", "0245:100");
  const [clock, metrics] = [fakeClock(), createMetrics()];
  const actors = startActors({ log: silentLog, metrics, monotonic: () => systemClock.monotonic() });
  // The end of the first attempt cannot be written, and nothing is in doubt because of the others.
  const document = attempting(({ taken, start, end }) => {
    start();
    end();
    return taken.attempt === 1 ? Promise.reject(new Error("the database is away")) : Promise.resolve({ reply: null });
  });
  // The time is over while this one is under way, which may have asked before it was.
  const last = 20;
  let looks = 0;
  const counting = Object.assign((...args: Parameters<typeof db.sql>) => {
    if (String(args[0]).includes("select id, version")) looks += 1;
    if (looks === last) clock.advance(10);
    return db.sql(...args);
  }, db.sql) as typeof db.sql;
  const dispatcher = await startDispatcher({
    ...{
      clock,
      ...ports(),
      sql: counting,
      beatSql: db.sql,
      actors,
      document,
      log: silentLog,
      metrics,
      capacityOf: quick,
    },
  });
  const looksIn = async (statements: number): Promise<number> => {
    const before = looks;
    for (let asked = 0; asked < statements; asked += 1) await db.sql`select 1`;
    return looks - before;
  };
  try {
    await eventually("a look begins when the time is over", () => looks > last);
    expect(await looksIn(50)).toBe(0);
    expect(looks).toBe(last + 1);
  } finally {
    await dispatcher.stop();
    await actors.stop();
    restore();
  }
});

test("thousands for a receiver that takes nothing hold up no other: what a look did not count is claimed without a sign and before any time has passed", async () => {
  const due = 5 * LIMITS.lane_ready_max;
  const [one, other] = [await seedFirm(db.sql, "0245:1"), await seedFirm(db.sql, "0245:2")];
  await multiply(await accept(one, "0245:1", "0245:100"), 20 * LIMITS.lane_ready_max);
  await multiply(await accept(other, "0245:2", "0245:200"), due);
  const attempted = new Set<DocumentId>();
  const metrics = createMetrics();
  const actors = startActors({ log: silentLog, metrics, monotonic: () => systemClock.monotonic() });
  const document = attempting(({ taken, start, end }) => {
    start();
    attempted.add(taken.id);
    end();
    return Promise.resolve({ reply: null });
  });
  let looks = 0;
  const counting = Object.assign((...args: Parameters<typeof db.sql>) => {
    if (String(args[0]).includes("ready_lanes")) looks += 1;
    return db.sql(...args);
  }, db.sql) as typeof db.sql;
  const dispatcher = await startDispatcher({
    // Nothing is looked for because a time has come.
    clock: fakeClock(),
    ...ports(),
    beatSql: db.sql,
    sql: counting,
    actors,
    document,
    log: silentLog,
    capacityOf: (receiver) => ({ ...quick(receiver), places: receiver === "0245:100" ? 0 : 64 }),
  });
  try {
    await eventually("all are claimed whose receiver takes them", () => attempted.size === due);
    const meanwhile = async (): Promise<void> => {
      for (let asked = 0; asked < 50; asked += 1) await db.sql`select 1`;
    };
    // The last look finds that nothing is left.
    await meanwhile();
    const made = looks;
    await meanwhile();
    expect(looks, "those that nobody takes are looked for no more").toBe(made);
  } finally {
    await dispatcher.stop();
    await actors.stop();
  }
});

test("small documents without an end keep no large one waiting, and large ones that wait keep no small one", async () => {
  const restore = shortenLimits({ attempt_bytes_max: 300, payload_bytes_max: 100 });
  const [small, large] = [await seedFirm(db.sql, "0245:1"), await seedFirm(db.sql, "0245:2")];
  await multiply(await accept(small, "0245:1", "0245:100", 50), 200);
  /** Ends those that are under way, by their firm. */
  const underWay = new Map<FirmId, Set<() => void>>([
    [small, new Set()],
    [large, new Set()],
  ]);
  const counts = new Map<FirmId, number>();
  const begun = (firmId: FirmId): number => counts.get(firmId) ?? 0;
  let octets = 0;
  let most = 0;
  const metrics = createMetrics();
  const actors = startActors({ log: silentLog, metrics, monotonic: () => systemClock.monotonic() });
  const document = attempting(async ({ taken, start, end }) => {
    start();
    counts.set(taken.firmId, begun(taken.firmId) + 1);
    octets += taken.payloadBytes;
    most = Math.max(most, octets);
    await new Promise<void>((resolve) => underWay.get(taken.firmId)?.add(resolve));
    octets -= taken.payloadBytes;
    await db.sql`
      update document set status = 'send_failed', next_attempt_at = null, lease_until = null, lease_owner = null
      where id = ${taken.id}`;
    end();
    return { reply: null };
  });
  const dispatcher = await startDispatcher({
    ...{
      clock: systemClock,
      ...ports(),
      beatSql: db.sql,
      actors,
      document,
      log: silentLog,
      metrics,
      capacityOf: quick,
    },
  });
  const endOne = (firmId: FirmId): void => {
    const [one] = underWay.get(firmId) ?? [];
    if (one !== undefined && underWay.get(firmId)?.delete(one) === true) one();
  };
  try {
    await eventually("there are no octets left, and one goes beyond", () => begun(small) === 5);
    await multiply(await accept(large, "0245:2", "0245:200", 100), 3);
    dispatcher.poke();
    for (let ended = 1; ended <= 4; ended += 1) {
      endOne(small);
      await eventually("another small one goes while large ones wait", () => begun(small) === 5 + ended);
    }
    expect(begun(large)).toBe(0);
    endOne(small);
    await eventually("a large one goes when nobody is beyond", () => begun(large) === 1);
    await eventually("the others have their turns although small ones wait", () => {
      endOne(large);
      endOne(small);
      return begun(large) === 3;
    });
    expect(begun(small)).toBeLessThan(100);
    expect(most).toBe(300);
  } finally {
    for (const ends of underWay.values()) for (const end of ends) end();
    const stopping = dispatcher.stop();
    await eventually("all have ended", () => {
      for (const ends of underWay.values()) for (const end of ends) end();
      return octets === 0;
    });
    await stopping;
    await actors.stop();
    restore();
  }
});

/** A dispatcher whose first claim is made at once, and answered when it is let go. */
async function startBehindSlowAnswer(): Promise<{
  readonly begun: readonly number[];
  readonly told: readonly string[];
  readonly letGo: () => void;
  readonly stop: () => Promise<void>;
}> {
  const begun: number[] = [];
  const told: string[] = [];
  let letGo = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let isFirst = true;
  const slow = Object.assign((...args: Parameters<typeof db.sql>) => {
    const answer = db.sql(...args);
    if (!isFirst || !String(args[0]).includes("claim_documents")) return answer;
    isFirst = false;
    const claimed = Promise.resolve(answer);
    return gate.then(() => claimed);
  }, db.sql) as typeof db.sql;
  const metrics = createMetrics();
  const actors = startActors({ log: silentLog, metrics, monotonic: () => systemClock.monotonic() });
  const document = attempting(async ({ taken, start, end }) => {
    if (!start()) return { reply: null };
    begun.push(taken.attempt);
    await db.sql`
      update document set status = 'send_failed', next_attempt_at = null, lease_until = null, lease_owner = null
      where id = ${taken.id} and version = ${taken.version}`;
    end();
    return { reply: null };
  });
  const dispatcher = await startDispatcher({
    ...{ clock: systemClock, ...ports(), sql: slow, beatSql: db.sql, actors, document, metrics, capacityOf: quick },
    log: { ...silentLog, warn: (event) => told.push(event) },
  });
  return {
    begun,
    told,
    letGo,
    stop: async () => {
      await dispatcher.stop();
      await actors.stop();
    },
  };
}

test("what a claim brings after its leases were freed is not begun: the document is claimed anew and sent once", async () => {
  const restore = shortenLimits({
    ...{ db_answer_timeout_ms: 50, lease_young_ms: 100, lease_look_soon_ms: 20, lease_look_ms: 20 },
  });
  const firm = await seedFirm(db.sql, "0245:1");
  const id = await accept(firm, "0245:1", "0245:100");
  const node = await startBehindSlowAnswer();
  try {
    await eventually("its lease is freed", async () => {
      const [row] = await db.sql<{ version: number }[]>`select version from document where id = ${id}`;
      return (row?.version ?? 0) > 2;
    });
    node.letGo();
    await eventually("it is begun", () => node.begun.length > 0);
    expect(node.begun).toEqual([2]);
  } finally {
    await node.stop();
    restore();
  }
});

test("what a claim brings late while its leases stand is given back, as if it had not been claimed", async () => {
  const restore = shortenLimits({ db_answer_timeout_ms: 50 });
  const firm = await seedFirm(db.sql, "0245:1");
  const id = await accept(firm, "0245:1", "0245:100");
  const node = await startBehindSlowAnswer();
  try {
    await eventually("the claim is lost", () => node.told.includes("dispatch.due_unreadable"));
    node.letGo();
    await eventually("the document is claimed again and begun", () => node.begun.length > 0);
    expect(node.begun).toEqual([1]);
    expect(await db.sql`select 1 from document_attempt where document_id = ${id}`, "nothing was cut").toEqual([]);
  } finally {
    await node.stop();
    restore();
  }
});

test("a lease that is found while its claim is answered is not freed, however late the statement is that found it", async () => {
  const firm = await seedFirm(db.sql, "0245:1");
  const id = await accept(firm, "0245:1", "0245:100");
  await claim(ports(), [{ firmId: firm, receiver: "0245:100", count: 1 }], ALL);
  await db.sql`update document set lease_until = lease_until - interval '11 seconds' where lease_owner is not null`;
  const working = new Set<DocumentId>();
  const late = Object.assign((...args: Parameters<typeof db.sql>) => {
    const answer = db.sql(...args);
    return String(args[0]).includes("select id, version")
      ? Promise.resolve(answer).then((rows) => {
          working.add(id);
          return rows;
        })
      : answer;
  }, db.sql) as typeof db.sql;
  expect(await tendLeases({ ...ports(), sql: late }, (one) => working.has(one))).toBe(0);
  expect(await leaseOwner(id)).toBe("node/1");
});

test("one claim brings no more octets than come while its leases are young", async () => {
  const firm = await seedFirm(db.sql, "0245:1");
  const MIB = 1024 * 1024;
  await multiply(await accept(firm, "0245:1", "0245:100", 10 * MIB), 8);
  const taken = await claim(ports(), [{ firmId: firm, receiver: "0245:100", count: 8 }], ALL);
  expect(taken).toHaveLength(Math.floor(LIMITS.claim_bytes_max / (10 * MIB)));
});
