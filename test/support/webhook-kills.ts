/**
 * Events that are delivered while an engine of its own process and its embedded Postgres are killed with SIGKILL in
 * turns: the short form runs with every change, the long one with `npm run test:faults`.
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { buildIfNeeded } from "../../deploy/build.mjs";
import { systemClock } from "../../engine/base/clock.js";
import { runningEmbeddedPostgres } from "../../engine/embedded/embedded.js";
import { openSql } from "../../engine/storage/sql.js";
import type { Sql } from "../../engine/storage/sql.js";
import { accessToken } from "./engine.js";
import { eventually } from "./eventually.js";
import { api } from "./partners.js";
import { killEverythingOn, startEngineProcess } from "./process.js";
import type { EngineProcess } from "./process.js";
import { startReceiver, status } from "./receiver.js";

const EVENTS_EACH = 40;
const ANSWER_MS = 20;
const ENV = { NATS_URL: "embedded" };

/** What became of the events. */
export interface KillFigures {
  readonly kills: number;
  readonly events: number;
  /** Events that never came, and those that came and had not happened. */
  readonly lost: number;
  readonly unknown: number;
  /** Calls beyond the first of an event. */
  readonly twice: number;
  /** Deliveries that are not known to have arrived. */
  readonly open: number;
  /** The longest time from a kill to the next call, the start of the new process included. */
  readonly pause_max_ms: number;
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

/** Makes events happen to documents of a firm, three to each, in one transaction. Safe to repeat. */
async function happen(life: Life, firmId: string): Promise<string[]> {
  const ids = Array.from({ length: EVENTS_EACH }, () => randomUUID());
  const documents = ids.map((_, n) => ids[n - (n % 3)] ?? randomUUID());
  await life.untilDone(
    (sql) => sql`
      insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
      select id, document_id, ${firmId}, 'document.delivered', 'system', true, now()
      from unnest(${ids}::uuid[], ${documents}::uuid[]) as e (id, document_id)
      on conflict (id) do nothing`,
  );
  return ids;
}

/**
 * Kills so often, the engine and its Postgres in turns, each time while deliveries are under way, and waits until
 * everything is told. Leases of whoever was killed, and rests of endpoints, end by themselves.
 */
export async function killWhileDelivering(kills: number): Promise<KillFigures> {
  await buildIfNeeded();
  const life = new Life();
  const receiver = await startReceiver();
  try {
    receiver.script("/in", (response, call, nth) => {
      setTimeout(() => {
        status(200)(response, call, nth);
      }, ANSWER_MS);
    });
    const arrived = (): string[] => receiver.at("/in").map(({ headers }) => headers["x-webhook-event-id"] ?? "");
    await life.start();
    const { sender } = life.engine.sandbox;
    const made = await api(life.engine, await accessToken(life.engine.sandbox, sender), "POST /webhooks", {
      body: { url: `${receiver.origin}/in`, events: ["document.delivered"] },
    });
    if (made.status !== 201) throw new Error(`the subscription was answered ${made.status}`);
    const happened: string[] = [];
    let pause_max_ms = 0;
    for (let kill = 0; kill < kills; kill += 1) {
      const before = arrived().length;
      happened.push(...(await happen(life, sender.firmId)));
      await eventually("deliveries are under way", () => arrived().length > before + 2);
      const killedAt = systemClock.now();
      if (kill % 2 === 0) {
        await life.engine.kill();
        await life.start();
      } else life.killPostgres();
      const known = arrived().length;
      await eventually(
        "deliveries go on",
        () => arrived().length > known || new Set(arrived()).size >= happened.length,
      );
      pause_max_ms = Math.max(pause_max_ms, systemClock.now() - killedAt);
    }
    await eventually("every event has arrived", () => new Set(arrived()).size >= happened.length);
    const open = await eventually("every delivery is known to have arrived", async () => {
      const [row] = await life.untilDone(
        (sql) => sql<{ n: number }[]>`
          select count(*)::integer as n from webhook_delivery where status <> 'SUCCESS'`,
      );
      return row?.n === 0 ? row : undefined;
    });
    const [all, distinct] = [new Set(happened), new Set(arrived())];
    return {
      kills,
      events: happened.length,
      lost: happened.filter((id) => !distinct.has(id)).length,
      unknown: [...distinct].filter((id) => !all.has(id)).length,
      twice: arrived().length - distinct.size,
      open: open.n,
      pause_max_ms,
    };
  } finally {
    await life.end();
    await receiver.close();
  }
}
