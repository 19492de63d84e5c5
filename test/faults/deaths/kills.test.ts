/**
 * The kill table: parts of an engine are killed with SIGKILL in a backlog, again and again, over both forms of streams.
 * Every 202 that a client saw is one document, delivered once with the same bytes; a plan has used what was answered; and
 * how long it takes until everything goes on is kept.
 *
 * KURIER_TEST_KILLS: kills, half of them for each form. KURIER_TEST_BACKLOG: documents that are under way at a kill.
 * KURIER_TEST_RESULTS: a file that the records are added to. KURIER_TEST_PAUSE: while there is such a file, no round begins.
 * @source design/reliability.md, sections 1 and 8
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { findNatsServer } from "../../../engine/embedded/embedded.js";
import { buildIfNeeded } from "../../../deploy/build.mjs";
import { eventually } from "../../support/eventually.js";
import { freePort, killEverythingOn } from "../../support/engines/process.js";
import { Random, seedFrom } from "../../support/random.js";
import { startLoad } from "../load.js";
import type { Accepted, Load } from "../load.js";
import { factsOf, faultsOf, Patient } from "./patient.js";
import type { Fact } from "./patient.js";
import { addRecords, killTable, SENT_SHARE } from "../records.js";
import type { KillRecord } from "../records.js";
import { STRIKES, strikesOf } from "./strikes.js";
import type { StrikeName } from "./strikes.js";

const KILLS = Number(process.env["KURIER_TEST_KILLS"] ?? "16");
const BACKLOG = Number(process.env["KURIER_TEST_BACKLOG"] ?? "1000");
const RESULTS = process.env["KURIER_TEST_RESULTS"];
const PAUSE = process.env["KURIER_TEST_PAUSE"];
const SEED = seedFrom(20_261_122);
const FULL_SHARE = 0.8;
/** So many that the rate of a key holds up no round, however soon one follows the other. */
const FIRMS = 80;
const KILLS_FOR_ONE_WITHOUT = 2;
const FORMS = [
  ["jetstream", {}],
  ["postgres", { NATS_URL: "embedded" }],
] as const;

let dataDir: string;
beforeEach(async () => {
  await buildIfNeeded();
  dataDir = mkdtempSync(join(tmpdir(), "kurier-kills-"));
});
afterEach(() => {
  killEverythingOn(dataDir);
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

const isPassing = async (look: () => Promise<boolean>): Promise<boolean> => {
  try {
    return await look();
  } catch {
    return false;
  }
};

/** Until nothing is on its way. Documents of a receiver that counts as down take minutes, so that it asks for long. */
async function drained(patient: Patient): Promise<void> {
  for (let round = 0; round < 5; round += 1) {
    try {
      await eventually("nothing is on its way", () =>
        isPassing(
          async () =>
            (await patient.sql`select 1 from document where next_attempt_at is not null limit 1`).length === 0,
        ),
      );
      return;
    } catch (error) {
      if (round === 4) throw error;
    }
  }
}

async function unpaused(): Promise<void> {
  while (PAUSE !== undefined && existsSync(PAUSE)) await delay(1_000);
}

/** The beginning of the first second after the kill in which so many were delivered. */
function fullRateAt(delivered: readonly number[], killedAt: number, rate: number): number | undefined {
  const times = delivered.filter((at) => at >= killedAt).sort((left, right) => left - right);
  const needed = Math.max(1, Math.ceil(rate * FULL_SHARE));
  const index = times.findIndex((at, i) => (times[i + needed - 1] ?? Infinity) <= at + 1_000);
  return times[index];
}

interface Round {
  readonly startedAt: number;
  readonly killedAt: number;
  readonly loadEndedAt: number;
  readonly openAtKill: number;
  readonly engineExit: boolean;
}

function recordOf(
  { form, kind }: Pick<KillRecord, "form" | "kind">,
  { killedAt, loadEndedAt, openAtKill, engineExit }: Round,
  {
    facts,
    accepted,
    rate,
  }: { readonly facts: readonly Fact[]; readonly accepted: readonly Accepted[]; readonly rate?: number },
): KillRecord {
  const delivered = facts.map((fact) => fact.delivered);
  const last = Math.max(...delivered);
  const own = delivered.filter((at) => at >= loadEndedAt).length / Math.max(0.001, (last - loadEndedAt) / 1_000);
  const fullAt = fullRateAt(delivered, killedAt, rate ?? own);
  return {
    form,
    kind,
    backlog: openAtKill,
    accepted: accepted.length,
    firms: FIRMS,
    ...faultsOf(facts, accepted),
    engineExit,
    rate: Math.round(own * 10) / 10,
    firstDelivery_ms: Math.round(Math.min(...delivered.filter((at) => at >= killedAt)) - killedAt),
    fullRate_ms: fullAt === undefined ? undefined : Math.round(fullAt - killedAt),
    wait_max_ms: Math.round(Math.max(...facts.map((fact) => fact.delivered - fact.created))),
    load: Math.round(loadavg()[0] ?? 0),
  };
}

/** Sends, strikes in the middle, lets everything go on, and waits for its end. */
async function playRound(patient: Patient, load: Load, kind: StrikeName | "none", random: Random): Promise<Round> {
  await load.ready();
  const startedAt = systemClock.now();
  const target = Math.round(BACKLOG * (1 + (SENT_SHARE - 1) * 0.8 * random.next()));
  let isSent = false;
  const sending = load.send(Math.round(BACKLOG * SENT_SHARE)).then(() => {
    isSent = true;
  });
  await eventually("the backlog is there", () => isSent || load.accepted.length >= target);
  const [open] = await patient.sql<{ readonly n: number }[]>`
    select count(*)::integer as n from document where next_attempt_at is not null`;
  const killedAt = systemClock.now();
  if (kind !== "none") await STRIKES[kind].strike({ engine: patient.engine, dataDir, sql: patient.sql });
  let engineExit = false;
  if (kind !== "none" && STRIKES[kind].endsEngine) await patient.start();
  await sending;
  if (patient.engine.ended()) {
    engineExit = true;
    await patient.start();
  }
  if (kind === "postgres") await patient.connect();
  const loadEndedAt = systemClock.now();
  await load.repeat();
  await drained(patient);
  return { startedAt, killedAt, loadEndedAt, openAtKill: open?.n ?? 0, engineExit };
}

test.each(FORMS)(
  `whatever is killed in a backlog, every 202 is one document that is delivered once; streams: %s (SEED=${SEED})`,
  async (form, env) => {
    if (form === "jetstream" && findNatsServer() === undefined) throw new Error("nats-server is missing");
    const random = new Random(SEED);
    // One address over all its lives, as in life: tokens name it.
    const patient = new Patient(dataDir, { LOG_LEVEL: "error", PORT: String(await freePort()), ...env });
    await patient.start();
    const load = await startLoad(() => patient.engine, patient.sql, FIRMS);
    const kinds = strikesOf(form);
    // The first round warms everything up. Machines have quicker and slower minutes: what is usual is asked again.
    const plan: (StrikeName | "none")[] = ["none"];
    for (let i = 0; i < KILLS / 2; i += 1) {
      if (i % KILLS_FOR_ONE_WITHOUT === 0) plan.push("none");
      plan.push(kinds[i % kinds.length] ?? "engine");
    }
    let rate: number | undefined;
    const records: KillRecord[] = [];
    for (const [index, kind] of plan.entries()) {
      await unpaused();
      const round = await playRound(patient, load, kind, random);
      const facts = await factsOf(patient.sql, round.startedAt);
      const usual = kind === "none" || rate === undefined ? {} : { rate };
      const record = recordOf({ form, kind }, round, { facts, accepted: load.accepted, ...usual });
      if (kind === "none") rate = record.rate;
      if (index > 0) {
        records.push(record);
        if (RESULTS !== undefined) addRecords(RESULTS, [record]);
      }
      expect(record, JSON.stringify(record)).toMatchObject({ lost: 0, doubled: 0, miscounted: 0 });
    }
    process.stdout.write(`${killTable(records)}\n`);
    expect(await patient.engine.stop()).toBe(0);
    await patient.sql.end({ timeout: 1 });
  },
);
