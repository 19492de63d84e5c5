// Goal: what was committed to the outbox reaches its stream, at least once, whatever dies in between.
// Method: real outbox rows in Postgres, a stream that records and fails on demand, real streams for the whole way.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { startEmbeddedPostgres } from "../../../engine/embedded/postgres.js";
import { relayBatch, startRelay } from "../../../engine/events/outbox.js";
import { openPostgresStreams } from "../../../engine/events/streams-postgres.js";
import type { StreamMessage, StreamName, Streams } from "../../../engine/events/streams.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { acceptDocuments } from "../../../engine/storage/documents/documents.js";
import { claimOutbox, deleteOutbox, readOutboxStatus } from "../../../engine/storage/outbox.js";
import type { OutboxRow } from "../../../engine/storage/outbox.js";
import { migrate } from "../../../engine/storage/migrate.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { eventually } from "../../support/eventually.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { newDocumentRow, seedFirm } from "../../support/database/seed.js";
import { openTransaction } from "../../support/database/transactions.js";

const undo: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function newDatabase(): Promise<TestDatabase> {
  const database = await freshDatabase();
  undo.push(() => database.drop());
  return database;
}

const write = async (sql: Sql, count: number, stream: StreamName = "dispatch"): Promise<void> => {
  await sql`
    insert into outbox (stream, key, body)
    select ${stream}, 'key-' || n, jsonb_build_object('documentId', n::text) from generate_series(0, ${count - 1}::integer) as s (n)`;
};
const keys = (count: number): string[] => Array.from({ length: count }, (_, n) => `key-${n}`).sort();
const rowsLeft = async (sql: Sql): Promise<number> => (await readOutboxStatus(sql)).pending;
/** How many documents are tallied as delivered. */
const tallied = async (sql: Sql): Promise<number> => {
  const [row] = await sql<{ n: number }[]>`
    select coalesce(sum(n), 0)::integer as n from document_tally where status = 'delivered'`;
  return row?.n ?? 0;
};
/** Lets every claim end, as time does. */
const expireClaims = (sql: Sql): PromiseLike<unknown> =>
  sql`update outbox set claimed_until = now() - interval '1 second' where claimed_until is not null`;

/** A stream that remembers what it was given, unless it is told to fail. */
function recorder(
  fails: (stream: StreamName) => boolean = () => false,
): Pick<Streams, "publish" | "status"> & { readonly got: { stream: StreamName; message: StreamMessage }[] } {
  const got: { stream: StreamName; message: StreamMessage }[] = [];
  return {
    got,
    status: () => Promise.resolve([{ stream: "dispatch", pending: got.length, oldestAge_s: 0 }]),
    publish: (stream, messages) => {
      if (fails(stream)) return Promise.reject(new Error("the broker is away"));
      got.push(...messages.map((message) => ({ stream, message })));
      return Promise.resolve();
    },
  };
}
const keysOf = (got: readonly { message: StreamMessage }[]): string[] => got.map(({ message }) => message.key).sort();
const common = { log: silentLog, metrics: createMetrics() };

describe("the outbox relay", () => {
  test("the outbox relay publishes every row once on a quiet day, in the order of the outbox, and leaves none", async () => {
    const { sql } = await newDatabase();
    await write(sql, 1_200);
    const streams = recorder();
    const relay = startRelay({ sql, streams, ...common });
    await eventually("the outbox is empty", async () => (await rowsLeft(sql)) === 0);
    await relay.stop();
    expect(streams.got.map(({ message }) => message.key)).toEqual(Array.from({ length: 1_200 }, (_, n) => `key-${n}`));
    expect(streams.got[7]?.message.body).toEqual({ documentId: "7" });
  });

  test("a poke makes it look at once", async () => {
    const { sql } = await newDatabase();
    const streams = recorder();
    const relay = startRelay({ sql, streams, ...common });
    undo.push(() => relay.stop());
    for (let n = 1; n <= 20; n += 1) {
      await write(sql, 1);
      relay.poke();
      await eventually("the row was published", () => streams.got.length === n);
    }
  });

  test("killed between publish and delete, the rows are published again by the next relay: at least once, none lost", async () => {
    const { sql } = await newDatabase();
    await write(sql, 10);
    const streams = recorder();
    // What a relay has done when it is killed there.
    const rows = await claimOutbox(sql, LIMITS.relay_batch, LIMITS.relay_claim_ms);
    await streams.publish("dispatch", rows);
    expect(await relayBatch({ sql, streams, ...common })).toEqual({ claimed: 0, published: true });
    await expireClaims(sql);
    expect(await relayBatch({ sql, streams, ...common })).toEqual({ claimed: 10, published: true });
    expect(keysOf(streams.got)).toEqual([...keys(10), ...keys(10)].sort());
    expect(await rowsLeft(sql)).toBe(0);
  });

  test("a delete that comes after another relay took the row over does no harm", async () => {
    const { sql } = await newDatabase();
    await write(sql, 1);
    const late = await claimOutbox(sql, 1, LIMITS.relay_claim_ms);
    await expireClaims(sql);
    const streams = recorder();
    await relayBatch({ sql, streams, ...common });
    await deleteOutbox(
      sql,
      late.map((row) => row.id),
    );
    expect(keysOf(streams.got)).toEqual(["key-0"]);
  });

  test("two relays on one outbox lose nothing and share the rows", async () => {
    const database = await newDatabase();
    await write(database.sql, 3_000);
    const streams = recorder();
    const relays = [database.another(), database.another()].map((sql) => startRelay({ sql, streams, ...common }));
    await eventually("the outbox is empty", async () => (await rowsLeft(database.sql)) === 0);
    await Promise.all(relays.map((relay) => relay.stop()));
    expect(keysOf(streams.got)).toEqual(keys(3_000));
  });

  /** Rows that their writer has committed under its own claim. */
  const handed = (sql: Sql, count: number): PromiseLike<OutboxRow[]> => sql<OutboxRow[]>`
    insert into outbox (stream, key, body, claimed_until)
    select 'events', 'document-' || n, jsonb_build_array(
      jsonb_build_object('key', 'sent-' || n, 'body', jsonb_build_object('n', n)),
      jsonb_build_object('key', 'delivered-' || n, 'body', jsonb_build_object('n', n))), now() + interval '1 hour'
    from generate_series(1, ${count}::integer) as n
    returning id, stream, key, body`;

  test("a row that its writer hands over is published from memory, all its messages in order, and removed once", async () => {
    const { sql } = await newDatabase();
    const streams = recorder();
    const relay = startRelay({ sql, streams, ...common });
    undo.push(() => relay.stop());
    const rows = await handed(sql, 2);
    for (const row of rows) relay.take(row);
    await eventually("both are published", () => streams.got.length === 4);
    expect(streams.got.map(({ message }) => message.key)).toEqual(["sent-1", "delivered-1", "sent-2", "delivered-2"]);
    const ids = await eventually("they can go", () => {
      const published = relay.published();
      return published.length === 0 ? undefined : published;
    });
    expect(ids.map(Number)).toEqual(rows.map(({ id }) => Number(id)));
    expect(relay.published(), "each is answered once").toEqual([]);
  });

  test("what was published and nobody removed with a write of his own is removed by the relay", async () => {
    const { sql } = await newDatabase();
    const relay = startRelay({ sql, streams: recorder(), ...common });
    undo.push(() => relay.stop());
    for (const row of await handed(sql, 3)) relay.take(row);
    await eventually("the outbox is empty", async () => (await rowsLeft(sql)) === 0);
  });

  test("a row whose writer died before it was published is published by any relay when its claim ends", async () => {
    const { sql } = await newDatabase();
    await handed(sql, 1);
    const streams = recorder();
    expect(await relayBatch({ sql, streams, ...common })).toEqual({ claimed: 0, published: true });
    await expireClaims(sql);
    expect(await relayBatch({ sql, streams, ...common })).toEqual({ claimed: 1, published: true });
    expect(streams.got.map(({ message }) => message.key)).toEqual(["sent-1", "delivered-1"]);
    expect(await rowsLeft(sql)).toBe(0);
  });

  test("a row that could not be published from memory is published by the relay when the broker is back", async () => {
    const { sql } = await newDatabase();
    let away = true;
    const streams = recorder(() => away);
    const relay = startRelay({ sql, streams, ...common });
    undo.push(() => relay.stop());
    for (const row of await handed(sql, 1)) relay.take(row);
    await eventually(
      "it is given back",
      async () => (await sql`select 1 from outbox where claimed_until < now() + interval '1 minute'`).length === 1,
    );
    away = false;
    await eventually("the outbox is empty", async () => (await rowsLeft(sql)) === 0);
    expect(streams.got.map(({ message }) => message.key)).toEqual(["sent-1", "delivered-1"]);
  });

  test("a row that commits late is not skipped", async () => {
    const { sql, url } = await newDatabase();
    const late = await openTransaction(url);
    await late.run("insert into outbox (stream, key, body) values ('dispatch', 'late', '{}')");
    await write(sql, 1);
    const streams = recorder();
    const relay = startRelay({ sql, streams, ...common });
    undo.push(() => relay.stop());
    const published = (): string[] => streams.got.map(({ message }) => message.key);
    await eventually("the row that was committed first is published", () => published().length === 1);
    await late.commit();
    await eventually("both are published", () => published().length === 2);
    expect(published()).toEqual(["key-0", "late"]);
  });

  test("a broker that is away delays the rows of its stream, holds up no other stream, and gets all when it is back", async () => {
    const { sql } = await newDatabase();
    await write(sql, 5, "events");
    await write(sql, 5, "dispatch");
    let away = true;
    const streams = recorder((stream) => away && stream === "events");
    const relay = startRelay({ sql, streams, ...common });
    undo.push(() => relay.stop());
    await eventually("dispatch is published", () => streams.got.length === 5);
    expect(streams.got.every(({ stream }) => stream === "dispatch")).toBe(true);
    expect(await rowsLeft(sql)).toBe(5);
    away = false;
    await eventually("events follow", async () => (await rowsLeft(sql)) === 0);
    expect(streams.got.filter(({ stream }) => stream === "events")).toHaveLength(5);
  });

  test("connections that are cut in the middle lose nothing, and the relay goes on", async () => {
    const database = await newDatabase();
    const streams = recorder();
    const relay = startRelay({ sql: database.another("relay-under-test"), streams, ...common });
    undo.push(() => relay.stop());
    for (let round = 0; round < 5; round += 1) {
      await write(database.sql, 200);
      relay.poke();
      await database.sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'relay-under-test'`;
    }
    await eventually("the outbox is empty", async () => {
      await expireClaims(database.sql);
      return (await rowsLeft(database.sql)) === 0;
    });
    expect(new Set(keysOf(streams.got))).toEqual(new Set(keys(200)));
    expect(streams.got.length).toBeGreaterThanOrEqual(1_000);
  });

  test("the outbox relay tells how far it is behind", async () => {
    const { sql } = await newDatabase();
    await sql`insert into outbox (stream, key, body, created_at, claimed_until) values ('dispatch', 'old', '{}', now() - interval '90 seconds', now() + interval '1 hour')`;
    const metrics = createMetrics();
    const relay = startRelay({ sql, streams: recorder(), log: silentLog, metrics });
    undo.push(() => relay.stop());
    const text = await metrics.exposition();
    expect(Number(/^kurier_outbox_lag_seconds (\S+)/m.exec(text)?.[1])).toBeGreaterThanOrEqual(90);
    expect(text).toContain('kurier_stream_pending_messages{stream="dispatch"} 0');
  });

  test("the outbox relay hands over to real streams: what was committed is handled", async () => {
    const database = await newDatabase();
    const streams = openPostgresStreams({ sql: database.sql, url: database.url, ...common });
    undo.push(() => streams.close());
    const handled: string[] = [];
    await streams.consume("dispatch", "dispatch", { concurrency: 8 }, ({ key }) => {
      handled.push(key);
      return Promise.resolve("done");
    });
    const relay = startRelay({ sql: database.sql, streams, ...common });
    undo.push(() => relay.stop());
    await write(database.sql, 700);
    relay.poke();
    await eventually("all were handled", () => handled.length >= 700);
    expect(handled.sort()).toEqual(keys(700));
  });

  test("Postgres is killed twice under load: everything that was committed is handled once it is back", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "kurier-test-"));
    undo.push(() => {
      rmSync(dataDir, { recursive: true, force: true });
    });
    const server = await startEmbeddedPostgres({ dataDir, log: silentLog });
    undo.push(() => server.stop());
    await migrate({ url: server.url, clock: systemClock });
    const sql = openSql({ url: server.url, name: "test", connections: 4 });
    undo.push(() => sql.end({ timeout: 1 }));
    const streams = openPostgresStreams({ sql, url: server.url, ackWait_ms: 1_000, ...common });
    undo.push(() => streams.close());
    const handled = new Set<string>();
    await streams.consume("dispatch", "dispatch", { concurrency: 8 }, ({ key }) => {
      handled.add(key);
      return Promise.resolve("done");
    });
    const relay = startRelay({ sql, streams, ...common });
    undo.push(() => relay.stop());

    const committed: string[] = [];
    for (let n = 0; n < 300; n += 1) {
      if (n === 100 || n === 200)
        process.kill(await eventually("Postgres runs", () => (server.pid === 0 ? undefined : server.pid)), "SIGKILL");
      const written = await eventually("the write was answered", () =>
        sql<
          { key: string }[]
        >`insert into outbox (stream, key, body) values ('dispatch', ${`write-${n}`}, '{}') returning key`.then(
          (rows) => rows[0],
          () => undefined,
        ),
      );
      committed.push(written.key);
      relay.poke();
    }
    await eventually("all that was committed was handled", async () => {
      // A connection that died with Postgres fails the statement that finds it so.
      const isLooked = await expireClaims(sql).then(
        () => true,
        () => false,
      );
      return isLooked && committed.every((key) => handled.has(key));
    });
    expect(committed).toHaveLength(300);
  });

  test("attempts that end with one statement tell of themselves in the row that was published, and each is tallied", async () => {
    const { sql } = await newDatabase();
    const firmId = await seedFirm(sql, "0245:1111111111");
    const end = async (published: readonly string[]): Promise<string> => {
      const rows = [1, 2].map(() => newDocumentRow(firmId, "0245:1111111111"));
      await acceptDocuments(sql, rows);
      const [told] = await sql<{ id: string }[]>`
        select e.outbox_id as id from (
          select array_agg(d.id) as ids, array_agg(d.version) as versions from document as d where d.status = 'queued'
        ) as d cross join lateral end_attempts(d.ids, d.versions, array['delivered', 'delivered'], array[now(), now()],
          array[null, null]::bigint[], array['answer', 'answer'],
          array_fill('[{"status": "delivered", "trigger": "receipt_confirmed"}]'::jsonb, array[2]),
          array[jsonb_build_array(jsonb_build_object('id', gen_random_uuid(), 'kind', 'document.delivered', 'feed', true)),
            jsonb_build_array(jsonb_build_object('id', gen_random_uuid(), 'kind', 'document.delivered', 'feed', true))],
          array_fill('{"number": 1, "outcome": "receipt", "retryable": false}'::jsonb, array[2]),
          array[null, null]::text[], array[null, null]::jsonb[], array['o', 'o'], 1000, ${published}::bigint[]) as e
        where e.outbox_id is not null`;
      return told?.id ?? "";
    };
    await sql`delete from outbox`;
    const inserted = async (): Promise<number> => {
      const [row] = await sql<{ n: number }[]>`select count(*)::integer as n from outbox where stream = 'events'`;
      return row?.n ?? 0;
    };
    const first = await end([]);
    expect([await inserted(), await tallied(sql)]).toEqual([1, 2]);
    const second = await end([first]);
    expect([await inserted(), await tallied(sql), Number(second) > Number(first)]).toEqual([1, 4, true]);
    // A row that a relay has removed meanwhile is no place to take, and one of several is: the others go.
    const third = await end([first]);
    expect([await inserted(), await tallied(sql)]).toEqual([2, 6]);
    await end([second, third]);
    expect([await inserted(), await tallied(sql)]).toEqual([1, 8]);
  });
});
