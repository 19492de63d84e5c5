/**
 * Goal: no event is lost, whatever dies while it is delivered: each arrives at least once, and once when what came twice
 * is told apart by its id.
 * Method: an engine of its own process and its embedded Postgres are killed with SIGKILL in turns while events happen and
 * a receiver on this machine takes its time; KURIER_TEST_KILLS kills, a few here and fifty in the long form.
 * @source design/reliability.md, F-12; spec/enterprise.md, Events, Consumer rules
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { runningEmbeddedPostgres } from "../../engine/embedded/embedded.js";
import { openSql } from "../../engine/storage/sql.js";
import type { Sql } from "../../engine/storage/sql.js";
import { buildIfNeeded } from "../../deploy/build.mjs";
import { accessToken } from "../support/engine.js";
import { eventually } from "../support/eventually.js";
import { api } from "../support/partners.js";
import { killEverythingOn, startEngineProcess } from "../support/process.js";
import type { EngineProcess } from "../support/process.js";
import { startReceiver, status } from "../support/receiver.js";
import type { Receiver } from "../support/receiver.js";

const KILLS = Number(process.env["KURIER_TEST_KILLS"] ?? "4");
const EVENTS_EACH = 40;
const ANSWER_MS = 20;

let dataDir: string;
let receiver: Receiver;
let engine: EngineProcess | undefined;
beforeEach(async () => {
  await buildIfNeeded();
  dataDir = mkdtempSync(join(tmpdir(), "kurier-webhooks-"));
  receiver = await startReceiver();
});
afterEach(async () => {
  if (engine?.ended() === false) await engine.kill();
  killEverythingOn(dataDir);
  await receiver.close();
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

async function onDatabase<T>(use: (sql: Sql) => Promise<T>): Promise<T> {
  const url = await eventually("Postgres runs", () => runningEmbeddedPostgres(dataDir));
  const sql = openSql({ url, name: "test", connections: 1 });
  try {
    return await use(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Repeats what a database that is being killed cannot answer. */
const untilDone = <T>(use: (sql: Sql) => Promise<T>): Promise<T> =>
  eventually("the database answers", async () => {
    try {
      return { value: await onDatabase(use) };
    } catch {
      return undefined;
    }
  }).then(({ value }) => value);

/** Makes events happen to documents of a firm, three to each, in one transaction. Safe to repeat. */
async function happen(firmId: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID());
  const documents = ids.map((_, n) => ids[n - (n % 3)] ?? randomUUID());
  await untilDone(
    (sql) => sql`
      insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
      select id, document_id, ${firmId}, 'document.delivered', 'system', true, now()
      from unnest(${ids}::uuid[], ${documents}::uuid[]) as e (id, document_id)
      on conflict (id) do nothing`,
  );
  return ids;
}

const arrived = (): string[] => receiver.at("/in").map(({ headers }) => headers["x-webhook-event-id"] ?? "");

/** Leases of whoever was killed end, and endpoints rest no more, as time makes them. */
const passTime = (): Promise<unknown> =>
  untilDone(async (sql) => {
    await sql`update webhook_endpoint set rest_until = null`;
    await sql`update webhook_delivery set due_at = now() where due_at is not null and isfinite(due_at)
      and (lease_owner is null or attempted_at < now() - interval '5 seconds')`;
  });

test(
  `${KILLS} kills of the engine and of its database lose no event, and ids tell apart what comes twice`,
  async () => {
    receiver.script("/in", (response, call, nth) => {
      setTimeout(() => {
        status(200)(response, call, nth);
      }, ANSWER_MS);
    });
    engine = await startEngineProcess({ dataDir, env: { NATS_URL: "embedded" } });
    const { sender } = engine.sandbox;
    const made = await api(engine, await accessToken(engine.sandbox, sender), "POST /webhooks", {
      body: { url: `${receiver.origin}/in`, events: ["document.delivered"] },
    });
    expect(made.status).toBe(201);
    const happened: string[] = [];
    for (let kill = 0; kill < KILLS; kill += 1) {
      const before = arrived().length;
      happened.push(...(await happen(sender.firmId, EVENTS_EACH)));
      await eventually("deliveries are under way", () => arrived().length > before + 2);
      if (kill % 2 === 0) {
        await engine.kill();
        engine = await startEngineProcess({ dataDir, env: { NATS_URL: "embedded" } });
      } else {
        const [pid = ""] = readFileSync(join(dataDir, "postgres", "postmaster.pid"), "utf8").split("\n");
        process.kill(Number(pid), "SIGKILL");
      }
      await passTime();
    }
    await eventually("every event has arrived", async () => {
      await passTime();
      return new Set(arrived()).size >= happened.length;
    });
    expect([...new Set(arrived())].sort()).toEqual([...happened].sort());
    await eventually("every delivery is known to have arrived", async () => {
      await passTime();
      const [row] = await untilDone(
        (sql) => sql`select count(*)::integer as open from webhook_delivery where status <> 'SUCCESS'`,
      );
      return row?.["open"] === 0;
    });
    // What came twice came because its answer was not written: never more often than something was killed.
    const twice = arrived().length - happened.length;
    expect(twice).toBeLessThan(KILLS * 16);
  },
  120_000 + KILLS * 60_000,
);
