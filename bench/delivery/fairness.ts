/**
 * `fairness`: what a single document of one firm waits while another firm has 100,000 documents queued and a third
 * one 100,000 for a receiver that is dead; and what it waits without them.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { systemClock } from "../../engine/base/clock.js";
import { BILLING_CAPABILITIES } from "../../engine/peppol/envelope/identifiers.js";
import { ensureDevelopmentPki, loadDevelopmentKeys } from "../../engine/peppol/pki/development.js";
import { createSealer } from "../../engine/storage/sealer.js";
import { freePort, makeFirms, startBenchEngine } from "../engine.js";
import type { BenchEngine, BenchFirm } from "../engine.js";
import { mustBeAccepted, repeated, runPacedLoad } from "../load.js";
import type { Bench, BenchOptions, Figure } from "../runner.js";
import { originOf, requests, templateOf } from "../send-requests.js";
import { fillBacklog } from "./backlog.js";

const QUEUED = 100_000;
const QUEUED_TINY = 100;
/** Single documents a second: fewer than a key may send. */
const RATE = 2;
const LOOK_MS = 100;
const PATIENCE_MS = 120_000;
const MASTER_KEY = Buffer.alloc(32, 7);
const DEAD = "0245:8999999999";

interface Firms {
  readonly busy: BenchFirm;
  readonly unlucky: BenchFirm;
  readonly single: BenchFirm;
  readonly receiver: BenchFirm;
}

/** Everybody is reached at the engine's own /as4, but for one, at whose address nobody listens. */
async function writeRoutes(dataDir: string, port: number): Promise<Readonly<Record<string, string>>> {
  const folder = join(dataDir, "pki");
  await ensureDevelopmentPki({ folder, clock: systemClock });
  const [own] = await loadDevelopmentKeys(folder);
  if (own === undefined) throw new Error("no keys");
  const certificate = Buffer.from(own.certificate).toString("base64");
  const documentTypes = [BILLING_CAPABILITIES[0]?.documentTypeId ?? ""];
  const to = (at: number): object => ({ url: `http://127.0.0.1:${at}/as4`, certificate, documentTypes });
  const routes = join(dataDir, "routes.json");
  const names = Array.from({ length: 4 }, (_, index) => `0245:8${String(index).padStart(9, "0")}`);
  writeFileSync(
    routes,
    JSON.stringify({ ...Object.fromEntries(names.map((name) => [name, to(port)])), [DEAD]: to(await freePort()) }),
  );
  return { SMP_MODE: "static", SMP_ROUTES: routes, MASTER_KEY: MASTER_KEY.toString("base64") };
}

interface Waits {
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly count: number;
  /** Requests that went twice, because their connection was reset. */
  readonly repeats: number;
}

/** Sends single documents and waits until all are delivered. @returns what each took from its acceptance */
async function waits(engine: BenchEngine, { single, receiver }: Firms, options: BenchOptions): Promise<Waits> {
  const [mark] = await engine.sql<{ readonly now: Date }[]>`select clock_timestamp() as now`;
  const since = mark?.now ?? new Date(0);
  const load = await runPacedLoad({
    url: originOf(engine.sandbox),
    seconds: options.seconds,
    rate: options.tiny ? 5 : RATE,
    next: requests([templateOf(single, receiver.participantId)]),
  });
  mustBeAccepted(load);
  const end = systemClock.monotonic() + PATIENCE_MS;
  for (;;) {
    const [row] = await engine.sql<{ readonly p50: number; readonly p99: number; readonly delivered: number }[]>`
      select (1000 * percentile_cont(0.5) within group (order by t))::float8 as p50,
        (1000 * percentile_cont(0.99) within group (order by t))::float8 as p99, count(t)::integer as delivered
      from (select extract(epoch from delivered_at - created_at) as t from document
        where firm_id = ${single.clientId} and created_at >= ${since}) as x`;
    if (row?.delivered === load.answers)
      return { p50_ms: row.p50, p99_ms: row.p99, count: row.delivered, repeats: load.repeats ?? 0 };
    if (systemClock.monotonic() > end)
      throw new Error(`${row?.delivered ?? 0} of ${load.answers} single documents were delivered`);
    await pause(LOOK_MS);
  }
}

interface Work {
  readonly at: number;
  readonly delivered: number;
  readonly deadAttempts: number;
}

async function workOf({ sql }: BenchEngine, { busy, unlucky }: Firms): Promise<Work> {
  const [row] = await sql<{ readonly delivered: number; readonly dead: number }[]>`
    select (select count(*)::integer from document
        where firm_id = ${busy.clientId} and status = 'delivered') as delivered,
      (select count(*)::integer from document_attempt as a join document as d on d.id = a.document_id
        where d.firm_id = ${unlucky.clientId}) as dead`;
  return { at: systemClock.monotonic(), delivered: row?.delivered ?? 0, deadAttempts: row?.dead ?? 0 };
}

async function measure(engine: BenchEngine, options: BenchOptions): Promise<Figure[]> {
  const [busy, unlucky, single, receiver] = await makeFirms(engine, 4);
  if (busy === undefined || unlucky === undefined || single === undefined || receiver === undefined)
    throw new Error("no firms");
  const firms: Firms = { busy, unlucky, single, receiver };
  const count = options.tiny ? QUEUED_TINY : QUEUED;
  const sealer = createSealer([MASTER_KEY]);
  await fillBacklog({ sql: engine.sql, sealer, from: busy, to: receiver.participantId, count: options.tiny ? 4 : 200 });
  await waits(engine, firms, { ...options, seconds: 1 });
  options.say("alone …");
  const alone = await waits(engine, firms, options);
  options.say(`${count} documents for a dead receiver, and ${count} of another firm …`);
  await fillBacklog({ sql: engine.sql, sealer, from: unlucky, to: DEAD, count });
  await fillBacklog({ sql: engine.sql, sealer, from: busy, to: receiver.participantId, count });
  options.say("beside them …");
  const before = await workOf(engine, firms);
  const beside = await waits(engine, firms, options);
  const after = await workOf(engine, firms);
  const [left] = await engine.sql`
    select 1 from document where firm_id = ${busy.clientId} and next_attempt_at is not null limit 1`;
  if (left === undefined && !options.tiny) throw new Error("the backlog was over before the single documents were");
  const minutes = (after.at - before.at) / 60_000;
  return [
    {
      name: "single document, alone",
      value: alone.p99_ms,
      unit: "ms",
      p50_ms: alone.p50_ms,
      p99_ms: alone.p99_ms,
      note: `${alone.count} documents${repeated(alone)}`,
    },
    {
      name: "single document, beside them",
      value: beside.p99_ms,
      unit: "ms",
      p50_ms: beside.p50_ms,
      p99_ms: beside.p99_ms,
      note: `${beside.count} documents; ${count} of another firm queued, and ${count} for a dead receiver${repeated(beside)}`,
    },
    { name: "p99 more", value: beside.p99_ms - alone.p99_ms, unit: "ms", note: "less than 1,000 is the goal" },
    { name: "p99 beside them ÷ alone", value: beside.p99_ms / alone.p99_ms, unit: "ratio" },
    {
      name: "the other firm's documents meanwhile",
      value: (after.delivered - before.delivered) / (minutes * 60),
      unit: "/s",
    },
    {
      name: "attempts at the dead receiver a minute",
      value: (after.deadAttempts - before.deadAttempts) / minutes,
      unit: "count",
    },
  ];
}

/** What one firm's document waits for another firm's hundred thousand. */
export const fairnessBench: Bench = {
  name: "fairness",
  question:
    "What does a firm's single document wait while another firm has 100,000 queued and a dead receiver is owed 100,000?",
  seconds: 60,
  run: async (options) => {
    const engine = await startBenchEngine({ role: "all", prepare: writeRoutes });
    try {
      return await measure(engine, options);
    } finally {
      await engine.stop();
    }
  },
};
