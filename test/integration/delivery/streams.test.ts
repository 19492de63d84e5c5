// Goal: both forms of the streams keep the same promises. Method: one suite, run on Postgres and on a real nats-server.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { isRunning } from "../../../engine/embedded/child.js";
import { findNatsServer, runningNatsServer, startNatsServer } from "../../../engine/embedded/nats.js";
import { openJetStream } from "../../../engine/events/streams-jetstream.js";
import { openPostgresStreams } from "../../../engine/events/streams-postgres.js";
import { STREAM_NAMES } from "../../../engine/events/streams.js";
import type {
  StreamDelivery,
  StreamHandler,
  StreamMessage,
  StreamName,
  Streams,
} from "../../../engine/events/streams.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { openSql } from "../../../engine/storage/sql.js";
import { eventually } from "../../support/eventually.js";
import { shortenLimits } from "../../support/engines/limits.js";
import { freshDatabase } from "../../support/database/postgres.js";

const undo: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

interface Broker {
  /** One process's view; closed after the test. */
  open(options?: { readonly ackWait_ms?: number }): Streams & { readonly metricsText: () => Promise<string> };
  /** Takes the broker away and brings it back. */
  restart(): Promise<void>;
}

async function postgresBroker(): Promise<Broker> {
  const database = await freshDatabase();
  undo.push(() => database.drop());
  return {
    open: (options) => {
      const metrics = createMetrics();
      const streams = openPostgresStreams({
        sql: database.another(),
        url: database.url,
        log: silentLog,
        metrics,
        ...options,
      });
      undo.push(() => streams.close());
      return { ...streams, metricsText: () => metrics.exposition() };
    },
    restart: async () => {
      await database.sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;
    },
  };
}

const program = findNatsServer();

interface NatsBroker extends Broker {
  readonly dataDir: string;
  /** What kurier doctor finds amiss with the streams. */
  faults(): Promise<readonly string[]>;
  /** Publishes octets as they are, as somebody does by hand. */
  publishRaw(subject: string, text: string): Promise<void>;
  /** Stops the server; the returned function starts it again on the same port. */
  takeAway(): Promise<() => Promise<void>>;
}

async function natsBroker(): Promise<NatsBroker> {
  const dataDir = mkdtempSync(join(tmpdir(), "kurier-nats-"));
  undo.push(() => {
    rmSync(dataDir, { recursive: true, force: true });
  });
  const start = (port?: number, token?: string): ReturnType<typeof startNatsServer> =>
    startNatsServer({
      dataDir,
      program: program ?? "",
      log: silentLog,
      ...(port === undefined ? {} : { port }),
      ...(token === undefined ? {} : { token }),
    });
  let server = await start();
  undo.push(() => server.stop());
  const { url } = server;
  return {
    dataDir,
    open: (options) => {
      const metrics = createMetrics();
      const streams = openJetStream({ url, log: silentLog, metrics, clock: systemClock, ...options });
      undo.push(() => streams.close());
      return { ...streams, metricsText: () => metrics.exposition() };
    },
    faults: async () => {
      const streams = openJetStream({ url, log: silentLog, metrics: createMetrics(), clock: systemClock });
      undo.push(() => streams.close());
      return streams.faults();
    },
    publishRaw: async (subject, text) => {
      const { hostname, port, username } = new URL(url);
      const socket = connect(Number(port), hostname);
      socket.write(`CONNECT {"verbose":false,"auth_token":"${username}"}\r\n`);
      socket.end(`PUB ${subject} ${Buffer.byteLength(text)}\r\n${text}\r\n`);
      await once(socket.resume(), "close");
    },
    restart: async () => {
      const before = server.pid;
      process.kill(before, "SIGKILL");
      await eventually("the server was started again", () => server.pid !== 0 && server.pid !== before);
    },
    takeAway: async () => {
      await server.stop();
      return async () => {
        const { port, username } = new URL(url);
        server = await start(Number(port), username);
      };
    },
  };
}

const numbered = (count: number): StreamMessage[] =>
  Array.from({ length: count }, (_, n) => ({ key: `key-${n}`, body: { documentId: String(n) } }));
const keysOf = (deliveries: readonly StreamDelivery[]): string[] => deliveries.map((delivery) => delivery.key).sort();
const sortedKeys = (count: number): string[] =>
  numbered(count)
    .map((message) => message.key)
    .sort();
const done: StreamHandler = () => Promise.resolve("done");

/** Consumes into a list. */
async function collect(
  streams: Streams,
  stream: StreamName,
  name: string,
  into: StreamDelivery[],
  answer: StreamHandler = done,
): ReturnType<Streams["consume"]> {
  return streams.consume(stream, name, { concurrency: 4 }, (delivery) => {
    into.push(delivery);
    return answer(delivery);
  });
}

/** Publishes as the relay does: again, until the broker has it. */
const publishSurely = (streams: Streams, stream: StreamName, messages: readonly StreamMessage[]): Promise<boolean> =>
  eventually("the broker took the messages", () =>
    streams.publish(stream, messages).then(
      () => true,
      () => false,
    ),
  );

const pendingOf = async (streams: Streams, stream: StreamName): Promise<number | undefined> =>
  (await streams.status()).find((row) => row.stream === stream)?.pending;
const whenEmpty = (streams: Streams, stream: StreamName): Promise<boolean> =>
  eventually("nothing is pending", async () => (await pendingOf(streams, stream)) === 0);

function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

function contract(makeBroker: () => Promise<Broker>): void {
  test("what is published arrives once, with its key and its body", async () => {
    const streams = (await makeBroker()).open();
    const got: StreamDelivery[] = [];
    await collect(streams, "dispatch", "any", got);
    await streams.publish("dispatch", [{ key: "k", body: { documentId: "š", list: [1, null, true] } }]);
    await streams.publish("dispatch", []);
    await whenEmpty(streams, "dispatch");
    expect(got).toEqual([{ key: "k", body: { documentId: "š", list: [1, null, true] }, deliveries: 1 }]);
  });

  test("a queue keeps messages for whoever comes, and gives each to one of its consumers", async () => {
    const broker = await makeBroker();
    const [publisher, one, two] = [broker.open(), broker.open(), broker.open()];
    await publisher.publish("dispatch", numbered(200));
    const got: [StreamDelivery[], StreamDelivery[]] = [[], []];
    await Promise.all([collect(one, "dispatch", "node-1", got[0]), collect(two, "dispatch", "node-2", got[1])]);
    await whenEmpty(publisher, "dispatch");
    expect(keysOf(got.flat())).toEqual(sortedKeys(200));
  });

  test("copies go to every name once, shared by those of the same name, and wait while nobody of the name runs", async () => {
    const broker = await makeBroker();
    const [one, two] = [broker.open(), broker.open()];
    const [webhooks, meter, later]: [StreamDelivery[], StreamDelivery[], StreamDelivery[]] = [[], [], []];
    await collect(one, "events", "webhooks", webhooks);
    await collect(two, "events", "webhooks", webhooks);
    await (await collect(one, "events", "meter", meter)).stop();
    await two.publish("events", numbered(50));
    await eventually("the webhooks have all", () => webhooks.length >= 50);
    await collect(two, "events", "meter", meter);
    await whenEmpty(one, "events");
    await collect(two, "events", "later", later);
    await two.publish("events", [{ key: "last", body: {} }]);
    await whenEmpty(one, "events");
    expect(keysOf(webhooks)).toEqual([...sortedKeys(50), "last"]);
    expect(keysOf(meter)).toEqual([...sortedKeys(50), "last"]);
    expect(keysOf(later)).toEqual(["last"]);
  });

  test("a message whose handler throws comes again, and says how often it came", async () => {
    const streams = (await makeBroker()).open();
    const got: StreamDelivery[] = [];
    await collect(streams, "dispatch", "any", got, ({ deliveries }) =>
      deliveries === 1 ? Promise.reject(new Error("first time")) : Promise.resolve("done"),
    );
    await streams.publish("dispatch", numbered(1));
    await whenEmpty(streams, "dispatch");
    expect(got.map(({ deliveries }) => deliveries)).toEqual([1, 2]);
  });

  test("a message that asks for a later delivery does not hold up the others", async () => {
    const streams = (await makeBroker()).open();
    const got: StreamDelivery[] = [];
    await streams.consume("dispatch", "any", { concurrency: 1 }, (delivery) => {
      got.push(delivery);
      return Promise.resolve(delivery.key === "key-0" && delivery.deliveries === 1 ? { retryAfter_ms: 500 } : "done");
    });
    await streams.publish("dispatch", numbered(3));
    await whenEmpty(streams, "dispatch");
    expect(got.map(({ key }) => key)).toEqual(["key-0", "key-1", "key-2", "key-0"]);
  });

  test("a message is given up after LIMITS.stream_deliveries_max deliveries, and counted", async () => {
    const streams = (await makeBroker()).open();
    const got: StreamDelivery[] = [];
    await collect(streams, "dispatch", "any", got, () => Promise.resolve({ retryAfter_ms: 0 }));
    await streams.publish("dispatch", numbered(1));
    await whenEmpty(streams, "dispatch");
    expect(got.map(({ deliveries }) => deliveries)).toEqual(
      Array.from({ length: LIMITS.stream_deliveries_max }, (_, n) => n + 1),
    );
    expect(await streams.metricsText()).toContain('kurier_stream_messages_dropped_total{stream="dispatch"} 1');
  });

  test("no more handlers run at once than the consumer allows, and that many do", async () => {
    const streams = (await makeBroker()).open();
    const { opened, open } = gate();
    let running = 0;
    let most = 0;
    await streams.consume("dispatch", "any", { concurrency: 3 }, async () => {
      running += 1;
      most = Math.max(most, running);
      await opened;
      running -= 1;
      return "done";
    });
    await streams.publish("dispatch", numbered(20));
    await eventually("three run", () => running === 3);
    open();
    await whenEmpty(streams, "dispatch");
    expect(most).toBe(3);
  });

  test("stop waits for the handlers under way, takes nothing more, and leaves the rest to the others at once", async () => {
    const broker = await makeBroker();
    const [leaving, staying] = [broker.open(), broker.open()];
    const { opened, open } = gate();
    const finished: string[] = [];
    const first = await leaving.consume("dispatch", "any", { concurrency: 2 }, async ({ key }) => {
      await opened;
      finished.push(key);
      return "done";
    });
    await staying.publish("dispatch", numbered(20));
    await eventually("two are under way", async () => (await pendingOf(staying, "dispatch")) === 20);
    const stopped = first.stop();
    const got: StreamDelivery[] = [];
    await collect(staying, "dispatch", "any", got);
    await eventually("the other consumer has the rest", () => got.length >= 18);
    open();
    await stopped;
    await whenEmpty(staying, "dispatch");
    expect([...finished, ...keysOf(got)].sort()).toEqual(sortedKeys(20));
    await first.stop();
  });

  test("a message whose handler never ends goes to somebody else after the ack wait", async () => {
    const broker = await makeBroker();
    const [hanging, working] = [broker.open({ ackWait_ms: 1_000 }), broker.open({ ackWait_ms: 1_000 })];
    const { opened, open } = gate();
    let started = false;
    await hanging.consume("dispatch", "any", { concurrency: 1 }, async () => {
      started = true;
      await opened;
      return "done";
    });
    await working.publish("dispatch", numbered(1));
    await eventually("the first handler has it", () => started);
    const got: StreamDelivery[] = [];
    await collect(working, "dispatch", "any", got);
    await eventually(
      "somebody else finished it",
      async () => got.length > 0 && (await pendingOf(working, "dispatch")) === 0,
    );
    expect(got[0]?.deliveries).toBeGreaterThan(1);
    open();
  });

  test("a broker that goes and comes back in the middle loses nothing", async () => {
    undo.push(shortenLimits({ stream_stalled_ms: 2_000 }));
    const broker = await makeBroker();
    const [publisher, consumer] = [broker.open({ ackWait_ms: 2_000 }), broker.open({ ackWait_ms: 2_000 })];
    const got: StreamDelivery[] = [];
    await collect(consumer, "dispatch", "any", got);
    const messages = numbered(300);
    for (let start = 0; start < messages.length; start += 50) {
      if (start === 100)
        await Promise.all([broker.restart(), publishSurely(publisher, "dispatch", messages.slice(start, start + 50))]);
      else await publishSurely(publisher, "dispatch", messages.slice(start, start + 50));
    }
    await eventually("all arrived", () => new Set(keysOf(got)).size === 300);
    await eventually("nothing is pending", () =>
      pendingOf(publisher, "dispatch").then(
        (pending) => pending === 0,
        () => false,
      ),
    );
  });

  test("status tells what is pending and how old it is", async () => {
    const streams = (await makeBroker()).open();
    expect(await streams.status()).toEqual([
      { stream: "dispatch", pending: 0, oldestAge_s: 0 },
      { stream: "events", pending: 0, oldestAge_s: 0 },
    ]);
    await streams.publish("dispatch", numbered(3));
    const before = (await streams.status())[0]?.oldestAge_s ?? 0;
    expect(await pendingOf(streams, "dispatch")).toBe(3);
    await eventually("it grows older", async () => ((await streams.status())[0]?.oldestAge_s ?? 0) > before);
  });

  test("a body that is more than ids, and a name that no broker could keep, are refused", async () => {
    const streams = (await makeBroker()).open();
    await expect(
      streams.publish("dispatch", [{ key: "k", body: "x".repeat(LIMITS.stream_message_bytes_max) }]),
    ).rejects.toThrow(/stream_message_bytes_max/);
    await expect(streams.consume("events", "a b", { concurrency: 1 }, done)).rejects.toThrow(
      /name of a stream consumer/,
    );
  });

  test("close stops the consumers of that process and leaves the others alone", async () => {
    const broker = await makeBroker();
    const [leaving, staying] = [broker.open(), broker.open()];
    const [gone, got]: [StreamDelivery[], StreamDelivery[]] = [[], []];
    await collect(leaving, "dispatch", "any", gone);
    await leaving.close();
    await staying.publish("dispatch", numbered(10));
    await collect(staying, "dispatch", "any", got);
    await whenEmpty(staying, "dispatch");
    expect(gone).toEqual([]);
    expect(keysOf(got)).toEqual(sortedKeys(10));
  });
}

describe("streams in Postgres", () => {
  contract(postgresBroker);

  test("a consumer that can no longer hear NOTIFY still finds its messages", async () => {
    const database = await freshDatabase();
    undo.push(() => database.drop());
    const streams = openPostgresStreams({
      sql: database.sql,
      url: "postgres://nobody@127.0.0.1:1/nowhere",
      log: silentLog,
      metrics: createMetrics(),
    });
    undo.push(() => streams.close());
    const got: StreamDelivery[] = [];
    await collect(streams, "dispatch", "any", got);
    await streams.publish("dispatch", numbered(3));
    await whenEmpty(streams, "dispatch");
    expect(keysOf(got)).toEqual(sortedKeys(3));
  });

  test("publishing rejects while Postgres is away, and the process stays up", async () => {
    const sql = openSql({ url: "postgres://nobody@127.0.0.1:1/nowhere", name: "test", connections: 1 });
    const streams = openPostgresStreams({
      sql,
      url: "postgres://nobody@127.0.0.1:1/nowhere",
      log: silentLog,
      metrics: createMetrics(),
    });
    const consumer = await streams.consume("dispatch", "any", { concurrency: 1 }, done);
    await expect(streams.publish("dispatch", numbered(1))).rejects.toThrow();
    await consumer.stop();
    await streams.close();
    await sql.end({ timeout: 1 });
  });
});

/** JetStream needs nats-server: without it the suite is skipped by name, and fails in CI. */
function describeNats(title: string, body: () => void): void {
  if (program !== undefined) describe(title, body);
  else if (process.env["CI"] === "true")
    test(title, () => {
      throw new Error("nats-server is missing: install it, as .ci/run does");
    });
  else describe.skip(`${title} (skipped: nats-server is not installed)`, body);
}

describeNats("streams in JetStream", () => {
  contract(natsBroker);

  test("the engine starts while NATS is away and works once it comes", async () => {
    const broker = await natsBroker();
    const bringBack = await broker.takeAway();
    const streams = broker.open();
    const got: StreamDelivery[] = [];
    await collect(streams, "dispatch", "any", got);
    await expect(streams.publish("dispatch", numbered(1))).rejects.toThrow();
    await bringBack();
    await publishSurely(streams, "dispatch", numbered(5));
    await eventually("all arrived", () => new Set(keysOf(got)).size === 5);
  });

  test("after the whole store was deleted, streams and consumers are there again without a restart of the engine", async () => {
    const broker = await natsBroker();
    const [publisher, consumer] = [broker.open(), broker.open()];
    const [dispatched, copies]: [StreamDelivery[], StreamDelivery[]] = [[], []];
    await collect(consumer, "dispatch", "any", dispatched);
    await collect(publisher, "events", "webhooks", copies);
    await publisher.publish("dispatch", [{ key: "before", body: {} }]);
    await publisher.publish("events", [{ key: "before", body: {} }]);
    await eventually("the first arrived", () => dispatched.length === 1 && copies.length === 1);
    const bringBack = await broker.takeAway();
    rmSync(join(broker.dataDir, "streams"), { recursive: true, force: true });
    await bringBack();
    await publishSurely(publisher, "dispatch", [{ key: "after", body: {} }]);
    await publishSurely(publisher, "events", [{ key: "after", body: {} }]);
    await eventually("the second arrived", () => dispatched.length >= 2 && copies.length >= 2);
    expect(new Set(keysOf(dispatched))).toEqual(new Set(["before", "after"]));
    expect(new Set(keysOf(copies))).toEqual(new Set(["before", "after"]));
  });

  test("a stream that is missing, or is another's under our name, is found amiss, and ours are not", async () => {
    const broker = await natsBroker();
    const missing =
      "there is no stream KURIER_DISPATCH: an engine makes it when it starts, or says why not in stream.pull_failed";
    expect(await broker.faults()).toEqual([missing]);
    const strange = { name: "KURIER_DISPATCH", subjects: ["orders"], retention: "limits", storage: "memory" };
    await broker.publishRaw("$JS.API.STREAM.CREATE.KURIER_DISPATCH", JSON.stringify(strange));
    const faults = await eventually("the stream is made", async () => {
      const found = await broker.faults();
      return found.includes(missing) ? undefined : found;
    });
    const differs = "subjects, storage, retention, discard";
    expect(faults).toEqual([
      `the stream KURIER_DISPATCH is not as engines make it (${differs}): without it they make their own`,
    ]);
    await broker.publishRaw("$JS.API.STREAM.DELETE.KURIER_DISPATCH", "");
    // As an engine does when it starts: nothing was published yet.
    const consumer = await broker
      .open()
      .consume("dispatch", "dispatch", { concurrency: 1 }, () => Promise.resolve("done"));
    expect(await broker.faults()).toEqual([]);
    await consumer.stop();
    for (const stream of STREAM_NAMES) await publishSurely(broker.open(), stream, numbered(1));
    expect(await broker.faults()).toEqual([]);
  });

  test("what somebody has put on a stream by hand and is no message is given up at once, counted, and is handed to nobody", async () => {
    const broker = await natsBroker();
    const streams = broker.open();
    const got: StreamDelivery[] = [];
    await collect(streams, "dispatch", "any", got);
    for (const text of ["hello", "null", '{"body":{}}']) await broker.publishRaw("kurier.dispatch", text);
    await streams.publish("dispatch", numbered(1));
    await whenEmpty(streams, "dispatch");
    expect(keysOf(got)).toEqual(sortedKeys(1));
    expect(await streams.metricsText()).toContain('kurier_stream_messages_dropped_total{stream="dispatch"} 3');
  });

  test("messages that were acknowledged, and are there again after the server was killed, are removed and handed to nobody", async () => {
    undo.push(shortenLimits({ stream_stalled_ms: 50, stream_pull_ms: 1_000 }));
    const broker = await natsBroker();
    const [publisher, reader, later] = [broker.open(), broker.open(), broker.open()];
    await (await collect(publisher, "dispatch", "any", [])).stop();
    await publisher.publish("dispatch", numbered(5));
    const stored = join(broker.dataDir, "streams/jetstream/$G/streams/KURIER_DISPATCH/msgs");
    const [before, start] = [join(broker.dataDir, "before"), await broker.takeAway()];
    cpSync(stored, before, { recursive: true });
    await start();
    const got: StreamDelivery[] = [];
    await collect(reader, "dispatch", "any", got);
    await eventually("all arrived", () => got.length === 5);
    await whenEmpty(reader, "dispatch");
    await reader.close();
    const again = await broker.takeAway();
    rmSync(stored, { recursive: true });
    cpSync(before, stored, { recursive: true });
    await again();
    expect(await pendingOf(later, "dispatch")).toBe(5);
    await collect(later, "dispatch", "any", got);
    await later.publish("dispatch", [{ key: "later", body: {} }]);
    await whenEmpty(later, "dispatch");
    expect(keysOf(got)).toEqual([...sortedKeys(5), "later"]);
  });

  test("the server listens on loopback behind a token, is found by its data directory, knows nothing of our environment, and an orphan is stopped", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "kurier-nats-"));
    undo.push(() => {
      rmSync(dataDir, { recursive: true, force: true });
    });
    const first = await startNatsServer({ dataDir, program: program ?? "", log: silentLog });
    undo.push(() => first.stop());
    expect(new URL(first.url).hostname).toBe("127.0.0.1");
    expect(runningNatsServer(dataDir)).toBe(first.url);
    const stranger = openJetStream({
      url: first.url.replace(/\/\/.*@/, "//wrong@"),
      log: silentLog,
      metrics: createMetrics(),
      clock: systemClock,
    });
    await expect(stranger.publish("dispatch", numbered(1))).rejects.toThrow();
    await stranger.close();
    // Secrets of the engine come by its environment.
    if (process.platform === "linux")
      expect(readFileSync(`/proc/${first.pid}/environ`, "utf8")).not.toContain("VITEST");
    // An orphan is one that nobody starts again: what its engine wrote for it is all that there is of that.
    await first.stop();
    const cwd = join(realpathSync(dataDir), "streams");
    const orphan = spawn(program ?? "", ["-c", join(cwd, "nats.json")], { cwd, stdio: "ignore" });
    const { pid = 0 } = orphan;
    undo.push(() => void orphan.kill("SIGKILL"));
    await eventually("the orphan is found", () => runningNatsServer(dataDir) === first.url);
    const second = await startNatsServer({ dataDir, program: program ?? "", log: silentLog });
    undo.push(() => second.stop());
    expect(isRunning(pid)).toBe(false);
    expect(runningNatsServer(dataDir)).toBe(second.url);
  });
});
