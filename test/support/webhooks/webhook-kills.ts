/**
 * Events that are delivered while an engine of its own process and its embedded Postgres are killed with SIGKILL in
 * turns: the short form runs with every change, the long one with `npm run test:faults`.
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { buildIfNeeded } from "../../../deploy/build.mjs";
import { systemClock } from "../../../engine/base/clock.js";
import { runningEmbeddedPostgres } from "../../../engine/embedded/embedded.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { accessToken } from "../engines/engine.js";
import { eventually } from "../eventually.js";
import { api } from "../callers/partners.js";
import { killEverythingOn, startEngineProcess } from "../engines/process.js";
import type { EngineProcess } from "../engines/process.js";
import type { Random } from "../random.js";
import { startReceiver, status } from "./receiver.js";

/** What happens before each kill. */
const DOCUMENTS_EACH = 13;
const EVENTS_OF_ONE = 3;
const ANSWER_MAX_MS = 40;
const OUTPUT_CHARS = 4_000;
/** Kills of which the next one does not wait for the end. */
const AT_ONCE_SHARE = 0.25;
const ENV = { NATS_URL: "embedded" };

/** What is killed, in turns. */
export const KILLED = ["the engine", "its Postgres"] as const;
type Killed = (typeof KILLED)[number];

/** One kill. */
interface Kill {
  readonly killed: Killed;
  /**
   * Until everything that had happened was told, the start of a new process included; undefined where the next kill came
   * while that was still under way.
   */
  readonly recovery_ms: number | undefined;
}

/** What became of the events. */
export interface KillFigures {
  readonly kills: readonly Kill[];
  readonly events: number;
  /** Events that never came, and those that came and had not happened. */
  readonly lost: number;
  readonly unknown: number;
  /** Calls beyond the first of an event; each has its id. */
  readonly twice: number;
  /** Documents whose events came for the first time in another order than that in which they happened. */
  readonly disordered: number;
  /** Deliveries that are not known to have arrived. */
  readonly open: number;
}

class Life {
  readonly #dataDir = mkdtempSync(join(tmpdir(), "kurier-webhooks-"));
  engine!: EngineProcess;

  async start(): Promise<void> {
    this.engine = await startEngineProcess({ dataDir: this.#dataDir, env: ENV });
  }

  /** Repeats what a database that is being killed cannot answer. */
  async untilDone<T>(use: (sql: Sql) => Promise<T>): Promise<T> {
    const { value } = await eventually("the database answers", async () => {
      const url = runningEmbeddedPostgres(this.#dataDir);
      if (url === undefined) return undefined;
      const sql = openSql({ url, name: "test", connections: 1 });
      try {
        return { value: await use(sql) };
      } catch {
        return undefined;
      } finally {
        await sql.end({ timeout: 1 });
      }
    });
    return value;
  }

  killPostgres(): void {
    const [pid = ""] = readFileSync(join(this.#dataDir, "postgres", "postmaster.pid"), "utf8").split("\n");
    process.kill(Number(pid), "SIGKILL");
  }

  async end(): Promise<void> {
    // One that does not live yet, or any more, has nothing to end.
    if ((this.engine as EngineProcess | undefined)?.ended() === false) await this.engine.kill();
    killEverythingOn(this.#dataDir);
    rmSync(this.#dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** Events that have happened, those of a document in their order. */
type Happened = readonly (readonly string[])[];

/** Makes events happen to documents of a firm, a few to each, in one transaction. Safe to repeat. */
async function happen(life: Life, firmId: string): Promise<Happened> {
  const documents = Array.from({ length: DOCUMENTS_EACH }, () =>
    Array.from({ length: EVENTS_OF_ONE }, () => randomUUID()),
  );
  const events = documents.flatMap((ids) => {
    const documentId = randomUUID();
    return ids.map((id) => ({ id, documentId }));
  });
  await life.untilDone(
    (sql) => sql`
      insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
      select e.id, e.document_id, ${firmId}, 'document.delivered', 'system', true, now()
      from unnest(${events.map(({ id }) => id)}::uuid[], ${events.map(({ documentId }) => documentId)}::uuid[])
        with ordinality as e (id, document_id, n) order by e.n
      on conflict (id) do nothing`,
  );
  return documents;
}

const isInOrder = (events: readonly string[], arrived: ReadonlyMap<string, number>): boolean =>
  events.every((id, n) => n === 0 || (arrived.get(events[n - 1] ?? "") ?? 0) < (arrived.get(id) ?? 0));

/** Compares what came with what has happened. */
function compare(happened: Happened, calls: readonly string[]) {
  // The first call of each event; bounded by the events of the run.
  const arrived = new Map<string, number>();
  for (const [at, id] of calls.entries()) if (!arrived.has(id)) arrived.set(id, at);
  const all = new Set(happened.flat());
  return {
    events: all.size,
    lost: [...all].filter((id) => !arrived.has(id)).length,
    unknown: [...arrived.keys()].filter((id) => !all.has(id)).length,
    twice: calls.length - arrived.size,
    disordered: happened.filter((events) => !isInOrder(events, arrived)).length,
  };
}

/** Waits until everything is told. @throws Error with what the engine has written */
async function told(life: Life, isAllThere: () => boolean): Promise<void> {
  try {
    await eventually("everything is told", isAllThere);
  } catch (error) {
    throw new Error(`what the engine wrote: ${life.engine.output().slice(-OUTPUT_CHARS)}`, { cause: error });
  }
}

/**
 * Kills so often, the engine and its Postgres in turns, each time at another moment of the deliveries, and waits until
 * everything is told. Leases of whoever was killed, and rests of endpoints, end by themselves.
 */
export async function killWhileDelivering(count: number, random: Random): Promise<KillFigures> {
  await buildIfNeeded();
  const life = new Life();
  const receiver = await startReceiver();
  try {
    receiver.script("/in", (response, call, nth) => {
      setTimeout(() => {
        status(200)(response, call, nth);
      }, random.int(ANSWER_MAX_MS));
    });
    const arrived = (): string[] => receiver.at("/in").map(({ headers }) => headers["x-webhook-event-id"] ?? "");
    await life.start();
    const { sender } = life.engine.sandbox;
    const made = await api(life.engine, await accessToken(life.engine.sandbox, sender), "POST /webhooks", {
      body: { url: `${receiver.origin}/in`, events: ["document.delivered"] },
    });
    if (made.status !== 201) throw new Error(`the subscription was answered ${made.status}`);
    const happened: Happened[] = [];
    const isAllThere = (): boolean => new Set(arrived()).size >= happened.length * DOCUMENTS_EACH * EVENTS_OF_ONE;
    const kills: Kill[] = [];
    for (let nth = 0; nth < count; nth += 1) {
      const before = arrived().length;
      happened.push(await happen(life, sender.firmId));
      const moment = before + random.int((DOCUMENTS_EACH * EVENTS_OF_ONE) / 2);
      await eventually("deliveries are under way", () => arrived().length >= moment);
      const killed = KILLED[nth % KILLED.length] ?? "the engine";
      const killedAt = systemClock.monotonic();
      if (killed === "the engine") {
        await life.engine.kill();
        await life.start();
      } else life.killPostgres();
      const isNextAtOnce = nth + 1 < count && random.next() < AT_ONCE_SHARE;
      if (!isNextAtOnce) await told(life, isAllThere);
      kills.push({ killed, recovery_ms: isNextAtOnce ? undefined : Math.round(systemClock.monotonic() - killedAt) });
    }
    const open = await eventually("every delivery is known to have arrived", async () => {
      const [row] = await life.untilDone(
        (sql) => sql<{ n: number }[]>`
          select count(*)::integer as n from webhook_delivery where status <> 'SUCCESS'`,
      );
      return row?.n === 0 ? row : undefined;
    });
    return { kills, ...compare(happened.flat(), arrived()), open: open.n };
  } finally {
    await life.end();
    await receiver.close();
  }
}
