/**
 * Goal: how much memory an engine takes when everything comes at once, and how much it keeps afterwards: large invoices
 * sent, delivered and read in parallel, with a small heap, an ordinary one and that of the machine.
 * Method: the engine as a process of its own; what it took at the most is what Linux says (VmHWM). Tiny forms for CI are
 * in test/bulkheads.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { runningEmbeddedPostgres } from "../../../engine/embedded/embedded.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { accessToken, sapi } from "../../support/engines/engine.js";
import type { Mailbox } from "../../support/engines/engine.js";
import { sendLarge } from "../../support/documents/large-invoice.js";
import { killEverythingOn, startEngineProcess } from "../../support/engines/process.js";
import type { EngineProcess } from "../../support/engines/process.js";
import { keepFigures } from "../figures.js";

const MB = 1_000_000;

interface Figure {
  readonly heap: string;
  readonly what: string;
  /** Resident memory before, at the most, and when it was quiet again, in MB. */
  readonly before: number;
  /** Resident memory of another process of this heap, quiet after as many small documents, in MB. */
  readonly warm: number;
  readonly most: number;
  readonly after: number;
  /** What it may be at the most, in MB. */
  readonly bound: number;
  /** Answers by their status. */
  readonly answers: Readonly<Record<string, number>>;
}
const figures: Figure[] = [];
afterAll(() => {
  keepFigures("memory", {
    title: "Everything at once, and large",
    command: "npm run -s test:faults -- memory",
    remark:
      "Resident memory of one engine, in MB: before, at the most (what Linux says, VmHWM), and at the least in the five minutes after; warm is a process of its own at the least in two minutes after 96 documents of 20 KB, whose code is as warm. Each row is a process of its own, which sends to itself: what it accepts it also delivers, receives and judges. Every answer is counted, 503 asks the client to come again.",
    columns: ["Heap, MiB", "What", "Before", "Warm", "At the most", "Bound", "After", "Answers"],
    rows: figures.map(({ heap, what, before, warm, most, bound, after, answers }) => [
      ...[heap, what, before, warm, most, bound, after],
      Object.entries(answers)
        .map(([status, count]) => `${count} × ${status}`)
        .join(", "),
    ]),
  });
});

/** A line of /proc/PID/status, in MB. */
const memoryOf = (pid: number, name: "VmRSS" | "VmHWM"): number =>
  Math.round(
    (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "mu").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) *
      1_024) /
      MB,
  );

const countOf = (statuses: readonly number[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

const FORMS = [
  { heap_MiB: 256, most: { send: 700, deliver: 1_200, read: 900 } },
  { heap_MiB: 1_024, most: { send: 900, deliver: 1_800, read: 1_500 } },
  { heap_MiB: undefined, most: { send: 3_000, deliver: 3_000, read: 2_000 } },
] as const;

describe.each(FORMS)("with a heap of $heap_MiB MiB", ({ heap_MiB, most }) => {
  const dataDir = mkdtempSync(join(tmpdir(), "kurier-memory-"));
  let engine: EngineProcess;
  let sender: Mailbox;
  let receiver: Mailbox;
  const start = async (): Promise<void> => {
    const heap = heap_MiB === undefined ? {} : { NODE_OPTIONS: `--max-old-space-size=${heap_MiB}` };
    // As npm start does: without them the system's allocator keeps what was freed.
    const allocator = { MALLOC_MMAP_THRESHOLD_: "131072", MALLOC_ARENA_MAX: "2" };
    engine = await startEngineProcess({ dataDir, env: { NATS_URL: "embedded", ...heap, ...allocator } });
    const mailbox = async (key: "sender" | "receiver"): Promise<Mailbox> => ({
      participantId: engine.sandbox[key].participantId,
      token: await accessToken(engine.sandbox, engine.sandbox[key]),
    });
    sender = await mailbox("sender");
    receiver = await mailbox("receiver");
  };
  const stop = async (): Promise<void> => {
    await engine.stop();
    killEverythingOn(dataDir);
  };
  afterAll(async () => {
    if (!engine.ended()) await engine.kill();
    killEverythingOn(dataDir);
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });
  const post = async (bytes: number): Promise<number> =>
    (await sendLarge(engine.sandbox, sender, receiver.participantId, bytes)).status;
  const sql = async <T>(ask: (sql: Sql) => Promise<T>): Promise<T> => {
    const running = runningEmbeddedPostgres(dataDir);
    if (running === undefined) throw new Error("the database is gone");
    const own = openSql({ url: running, name: "test", connections: 1 });
    try {
      return await ask(own);
    } finally {
      await own.end();
    }
  };
  /** Ids of what was received and judged, the newest last: what is held nobody is shown yet. */
  const received = (): Promise<readonly string[]> =>
    sql(async (own) =>
      (await own<{ id: string }[]>`select id from received_document where status = 'RECEIVED' order by position`).map(
        ({ id }) => id,
      ),
    );
  /** Waits for something that may take minutes. @returns whether it came */
  const atLast = async (minutes: number, holds: () => Promise<boolean> | boolean): Promise<boolean> => {
    for (let look = 0; look < minutes * 60; look += 1) {
      if (await holds()) return true;
      if (engine.ended()) throw new Error(`the engine has ended:\n${engine.output()}`);
      await delay(1_000);
    }
    return false;
  };
  /** Sends from four clients until so many were accepted, and waits until they have arrived. @returns the answers */
  const deliver = async (count: number, bytes: number): Promise<readonly number[]> => {
    const there = (await received()).length;
    const statuses: number[] = [];
    const isDone = (): boolean => statuses.filter((status) => status === 202).length >= count;
    const client = async (): Promise<void> => {
      while (!isDone()) {
        statuses.push(await post(bytes));
        // Sends of one key have a rate, and 503 asks for a second.
        if (statuses.at(-1) !== 202) await delay(1_000);
      }
    };
    await Promise.all(Array.from({ length: 4 }, client));
    const accepted = statuses.filter((status) => status === 202).length;
    expect(await atLast(15, async () => (await received()).length >= there + accepted)).toBe(true);
    return statuses;
  };
  let warm: number;
  beforeAll(async () => {
    await start();
    await deliver(96, 20_000);
    warm = memoryOf(engine.pid, "VmRSS");
    await atLast(2, () => {
      warm = Math.min(warm, memoryOf(engine.pid, "VmRSS"));
      return false;
    });
    await stop();
  }, 600_000);
  /** Does something on a fresh process and notes what it took. */
  const measured = async (what: string, bound: number, work: () => Promise<readonly number[]>): Promise<Figure> => {
    await start();
    const before = memoryOf(engine.pid, "VmRSS");
    const answers = countOf(await work());
    const peak = memoryOf(engine.pid, "VmHWM");
    let after = memoryOf(engine.pid, "VmRSS");
    // Memory comes back when the threads that were idle for a minute have ended, and the heap was collected.
    await atLast(5, () => {
      after = Math.min(after, memoryOf(engine.pid, "VmRSS"));
      return after <= 1.2 * before;
    });
    const figure = { heap: String(heap_MiB ?? "the machine's"), what, before, warm, most: peak, bound, after, answers };
    figures.push(figure);
    expect(engine.ended()).toBe(false);
    await stop();
    expect(figure.after).toBeLessThanOrEqual(1.2 * warm);
    return figure;
  };

  test("100 invoices of 10 MB at once are accepted or told to come again, and all that were accepted arrive", async () => {
    const figure = await measured("100 × 10 MB sent at once", most.send, async () => {
      const statuses = await Promise.all(Array.from({ length: 100 }, () => post(10 * MB)));
      const accepted = statuses.filter((status) => status === 202).length;
      expect(await atLast(10, async () => (await received()).length >= accepted)).toBe(true);
      return statuses;
    });
    expect(Object.keys(figure.answers).filter((status) => status !== "202" && status !== "503")).toEqual([]);
    expect(figure.answers["202"]).toBeGreaterThan(0);
    expect(figure.most).toBeLessThan(figure.bound);
    expect(figure.after).toBeLessThanOrEqual(1.2 * figure.before);
  });

  test("96 invoices of 20 MB are delivered within a bound of memory", async () => {
    const figure = await measured("96 × 20 MB delivered", most.deliver, () => deliver(96, 19 * MB));
    expect(Object.keys(figure.answers).filter((status) => !["202", "429", "503"].includes(status))).toEqual([]);
    expect(figure.most).toBeLessThan(figure.bound);
  });

  test("200 readers of one document of 20 MB are all served within a bound of memory", async () => {
    const figure = await measured("200 × one of 20 MB read at once", most.read, async () => {
      const there = (await received()).length;
      expect(await post(19 * MB)).toBe(202);
      expect(await atLast(5, async () => (await received()).length > there)).toBe(true);
      const [id = ""] = (await received()).slice(-1);
      return Promise.all(
        Array.from(
          { length: 200 },
          async () => (await sapi(engine.sandbox, receiver, "GET", `/document/receive/${id}`)).status,
        ),
      );
    });
    expect(Object.keys(figure.answers).filter((status) => status !== "200" && status !== "503")).toEqual([]);
    expect(figure.answers["200"]).toBeGreaterThan(0);
    expect(figure.most).toBeLessThan(figure.bound);
  });
});
