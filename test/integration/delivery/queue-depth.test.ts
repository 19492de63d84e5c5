/**
 * What queues cost their own claims: Postgres reads as much for a look and a claim behind many waiting documents, most
 * of them of another lane and due for longer, as behind few, and as much for a claim of deliveries beside one receiver
 * that has many to come and one that is dead. Counted, not timed.
 * @source design/reliability.md, F-10; the goal of fairness in docs/performance.md
 */
import { afterAll, beforeAll, expect, test } from "vitest";

import { DAY_MS } from "../../../engine/base/clock.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { claimDocuments, readLanes } from "../../../engine/storage/documents/attempts.js";
import { claimDeliveries, settleDeliveries } from "../../../engine/storage/events/dispatch.js";
import { takenChains } from "../../../engine/storage/events/fan-out.js";
import { FIRST_OPEN, freeWaiting, pruneDeliveries } from "../../../engine/storage/events/repairs.js";
import type { OpenPlace } from "../../../engine/storage/events/repairs.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { rowsReadBy } from "../../support/database/past.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { seedFirm } from "../../support/database/seed.js";

const CLAIMED = 8;
/** Rows that the claims themselves leave behind, and the lanes of documents that they have moved. */
const OWN_ROWS = 200;
const [DEAD, ALIVE] = ["0245:8888888888", "0245:9999999999"] as const;

let db: TestDatabase;
let sql: Sql;
let unlucky: FirmId;
let busy: FirmId;
beforeAll(async () => {
  db = await freshDatabase();
  sql = db.one("depth");
  unlucky = await seedFirm(sql, "0245:1111111111");
  busy = await seedFirm(sql, "0245:3333333333");
});
afterAll(async () => {
  await db.drop();
});

/** Documents that were accepted one after the other so many hours ago, and are all due. */
async function queue(firmId: FirmId, receiver: string, count: number, hours = 1): Promise<void> {
  await sql`set session_replication_role = replica`;
  await sql`
    create temporary table waiting as
    select n, gen_random_uuid() as id,
      clock_timestamp() - ${hours}::integer * interval '1 hour' + n * interval '1 millisecond' as at
    from generate_series(1, ${count}::integer) as s (n)`;
  await sql`
    insert into document (id, firm_id, key_id, sender, sender_key, receiver, receiver_key, erp_document_id, document_type_id,
      process_id, facts, status, version, idempotency_key, request_sha256, payload_sha256, reply_status, reply_body,
      as4_message_id, sbdh_instance_id, next_attempt_at, created_at, updated_at, door)
    select id, ${firmId}, id, '0245:1', '0245:1', ${receiver}, ${receiver}, 'erp ' || id, 'type', 'process',
      jsonb_build_object('documentNumber', id), 'queued', 1, id, sha256(id::text::bytea), sha256(id::text::bytea), 202, '{}',
      id || '@depth', id, at, at, at, 'sapi'
    from waiting order by n`;
  await sql`insert into payload (document_id, key_id, sealed, bytes) select id, 'k', 'x', 1 from waiting order by n`;
  await sql`drop table waiting`;
  await sql`set session_replication_role = origin`;
}

async function costOf(ask: () => Promise<unknown>): Promise<number> {
  await ask();
  return rowsReadBy(sql, ask);
}

const look = (): Promise<unknown> =>
  readLanes(sql, { firm: undefined, receivers: new Map() }, { firms: 16, ready: 32 });
const claim = (): Promise<unknown> =>
  claimDocuments(sql, {
    shares: [{ firmId: busy, receiver: ALIVE, count: CLAIMED }],
    owner: "node-a",
    lease_ms: 60_000,
    bytes_max: 1_000,
    one: true,
  });

const both = async (): Promise<readonly [look: number, claim: number]> => [await costOf(look), await costOf(claim)];

test("a look and a claim read no more behind 20,000 waiting documents of another lane and of their own than behind 200", async () => {
  await queue(unlucky, DEAD, 200);
  await queue(busy, ALIVE, 200);
  await sql`analyze`;
  const few = await both();
  await queue(unlucky, DEAD, 20_000);
  await queue(busy, ALIVE, 20_000);
  const unknown = await both();
  await sql`analyze`;
  const known = await both();
  for (const many of [unknown, known])
    for (const [n, read] of few.entries()) expect(many[n]).toBeLessThanOrEqual(read + OWN_ROWS);
});

test("a look and a claim read no more behind 60,000 documents of another lane that have all been due for longer", async () => {
  const few = await both();
  await queue(unlucky, DEAD, 60_000, 9);
  await sql`analyze`;
  const many = await both();
  for (const [n, read] of few.entries()) expect(many[n]).toBeLessThanOrEqual(read + OWN_ROWS);
});

/** Rows and entries of indexes for each delivery that is removed, with what was removed before and is not cleaned up. */
const READ_TO_REMOVE = 5;
/** Beyond this no delivery is kept. */
const OLD_DAYS = 1 + Math.ceil(LIMITS.webhook_kept_ms / DAY_MS);

/** Receivers that are told of one event each. */
const ENDPOINTS = 1_000;
const [CROWDED, GONE] = ["00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-000000000002"] as const;

/** Deliveries that are all due: at an endpoint, or where none is named one at each of `count` new ones. */
async function deliveries(count: number, endpoint: string | null = null): Promise<void> {
  await sql`set session_replication_role = replica`;
  await sql`
    create temporary table told as
    select n, gen_random_uuid() as id, coalesce(${endpoint}::uuid, gen_random_uuid()) as endpoint,
      clock_timestamp() - interval '1 hour' + n * interval '1 millisecond' as at
    from generate_series(1, ${count}::integer) as s (n)`;
  await sql`
    insert into webhook_endpoint (id, owner_id, origin, failures, rest_until)
    select distinct t.endpoint, t.endpoint, 'https://hook.test', case t.endpoint when ${GONE} then 9 else 0 end,
      case t.endpoint when ${GONE} then now() + interval '1 hour' end
    from told as t on conflict do nothing`;
  await sql`
    insert into webhook_subscription (
      id, firm_id, url, endpoint_id, events, active, secret_key_id, secret_sealed, seen_from, created_at
    )
    select t.endpoint, t.endpoint, 'https://hook.test', t.endpoint, array['document.delivered'], true, 'k', 'x'::bytea,
      '1:1:'::pg_snapshot, now()
    from (select distinct endpoint from told) as t on conflict do nothing`;
  await sql`
    insert into webhook_delivery (
      id, subscription_id, endpoint_id, owner_id, firm_id, event_id, event, place, document_id, occurred_at, status,
      due_at, created_at
    )
    select id, endpoint, endpoint, endpoint, endpoint, id, 'document.delivered', n, id, at, 'PENDING', at, at
    from told order by n`;
  await sql`drop table told`;
  await sql`set session_replication_role = origin`;
}

/** Writes that deliveries were taken. */
const settle = (ids: readonly string[]): Promise<unknown> =>
  Promise.all(
    ids.map((id) => {
      const answer = { responseStatus: 204, responseBody: "", cause: undefined, wait_ms: undefined } as const;
      const end = { id, owner: "node-a", attempt: 1, status: "SUCCESS", health: "well", ...answer } as const;
      return settleDeliveries(sql, [end]);
    }),
  );

test("the ends of deliveries read no more where the table has grown since their connection made its plans", async () => {
  for (const rows of [40, 5_000]) {
    await deliveries(rows, CROWDED);
    const claimed = await claimDeliveries(sql, "node-a", CLAIMED);
    const end = () => settle(claimed.map(({ deliveryId }) => deliveryId));
    expect(await rowsReadBy(sql, end)).toBeLessThanOrEqual(OWN_ROWS);
  }
  await sql`delete from webhook_delivery`;
});

test("what a look at the feed hands to its process is read by its ids, however much else is open since", async () => {
  await deliveries(2_000, CROWDED);
  await sql`update webhook_delivery set status = 'SUCCESS', due_at = null, settled_at = now()`;
  await sql`vacuum analyze webhook_delivery`;
  await deliveries(40, CROWDED);
  const ids = (await claimDeliveries(sql, "node-a", CLAIMED)).map(({ deliveryId }) => deliveryId);
  const read = async (): Promise<void> => {
    expect(await takenChains(sql, "node-a", ids)).toHaveLength(ids.length);
  };
  // Postgres keeps a plan after some executions.
  for (let n = 0; n < 10; n += 1) await read();
  await deliveries(5_000, CROWDED);
  expect(await costOf(read)).toBeLessThanOrEqual(OWN_ROWS);
  await sql`delete from webhook_delivery`;
});

const claimOfDeliveries = (): Promise<unknown> => claimDeliveries(sql, "node-a", CLAIMED);

test("a claim of deliveries reads no more beside 10,000 for one of a thousand receivers and 10,000 for a dead one", async () => {
  await deliveries(ENDPOINTS);
  await deliveries(200, CROWDED);
  await deliveries(200, GONE);
  await sql`analyze`;
  const few = await costOf(claimOfDeliveries);
  await deliveries(10_000, CROWDED);
  await deliveries(10_000, GONE);
  const unknown = await costOf(claimOfDeliveries);
  await sql`analyze`;
  const known = await costOf(claimOfDeliveries);
  for (const many of [unknown, known]) expect(many).toBeLessThanOrEqual(few + OWN_ROWS);
});

test("a thousand old deliveries are removed without a look at the 40,000 others that are as old or that are not", async () => {
  await sql`truncate webhook_endpoint cascade`;
  const taken = async (count: number, days: number): Promise<void> => {
    await deliveries(count, CROWDED);
    await sql`
      update webhook_delivery set status = 'SUCCESS', due_at = null, settled_at = now(),
        created_at = created_at - ${days}::integer * interval '1 day'
      where status = 'PENDING'`;
    await sql`vacuum webhook_delivery`;
  };
  const removal = (): Promise<number> =>
    rowsReadBy(sql, async () => expect(await pruneDeliveries(sql)).toBe(LIMITS.webhook_prune_batch));
  await taken(2 * LIMITS.webhook_prune_batch, OLD_DAYS);
  await sql`analyze`;
  await removal();
  await taken(20_000, OLD_DAYS);
  await taken(20_000, 0);
  const unknown = await removal();
  await sql`analyze`;
  const known = await removal();
  for (const read of [unknown, known]) expect(read).toBeLessThanOrEqual(READ_TO_REMOVE * LIMITS.webhook_prune_batch);
});

/** Rows and entries of indexes for each open delivery that is looked at: its own, and what it waits behind. */
const READ_TO_FREE = 8;

test("what waits behind nothing is freed among 25,000 open deliveries that wait, in parts that read no more than their own", async () => {
  await sql`truncate webhook_endpoint cascade`;
  await deliveries(12_500, CROWDED);
  await deliveries(12_500, GONE);
  // Of each document one event is due and one waits behind it, but for four that wait behind what has gone.
  await sql`
    update webhook_delivery as d set document_id = h.document_id, subscription_id = h.subscription_id, due_at = 'infinity'
    from webhook_delivery as h where h.subscription_id = ${CROWDED} and h.place = d.place - 1 and d.subscription_id = ${GONE}`;
  await sql`delete from webhook_delivery where place % 2_500 = 0 and due_at <> 'infinity'`;
  await sql`analyze`;
  let place = FIRST_OPEN as OpenPlace | undefined;
  let parts = 0;
  while (place !== undefined) {
    const from = place;
    const read = await rowsReadBy(sql, async () => {
      place = await freeWaiting(sql, from);
    });
    expect(read).toBeLessThanOrEqual(READ_TO_FREE * LIMITS.webhook_waiting_part);
    parts += 1;
  }
  expect(parts).toBe(3);
  const [left] = await sql`
    select count(*) filter (where due_at = 'infinity')::integer as waiting, count(*) filter (where due_at <= now())::integer as due,
      count(*)::integer as open
    from webhook_delivery where due_at is not null`;
  expect(left).toEqual({ waiting: 12_495, due: 12_500, open: 24_995 });
});
