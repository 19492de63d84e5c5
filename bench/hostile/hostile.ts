/**
 * `hostile`: what 200 well-behaved keys wait while strangers, a peer and a tenant are in their way, against what they
 * wait before and afterwards in the same run. Every document that was accepted must be there once and arrive once.
 *
 * Engine, database and all clients share one machine. The offenders run at the least priority and at an even pace, so
 * that what is measured is what the engine lets them take, not what their own processes take from it.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { systemClock } from "../../engine/base/clock.js";
import { childEnvironment } from "../../engine/base/config.js";
import { ensureDevelopmentPki } from "../../engine/peppol/pki/development.js";
import { makeFirms, startBenchEngine } from "../engine.js";
import type { BenchEngine, BenchFirm } from "../engine.js";
import { median, repeated } from "../load.js";
import { loopProbe } from "../loop/probe.js";
import type { Bench, BenchOptions, Figure } from "../runner.js";
import { originOf } from "../send-requests.js";
import { OFFENDERS } from "./jobs.js";
import type {
  Offender,
  OffendersJob,
  OffendersResult,
  Operation,
  Statuses,
  WellBehavedJob,
  WellBehavedResult,
} from "./jobs.js";
import { watching } from "./watch.js";
import type { Seen } from "./watch.js";

const KEYS = { full: 200, tiny: 10 } as const;
/** Requests a second of all well-behaved keys together. */
const RATES = { full: { sends: 20, polls: 100, lookUps: 20 }, tiny: { sends: 4, polls: 10, lookUps: 4 } } as const;
/** Octets of the file in each document of the tenant who sends large ones. */
const FILE_BYTES = { full: 19_000_000, tiny: 1_000_000 } as const;
/** A quiet phase takes this part of the hostile one, and so many seconds at least. */
const QUIET_SHARE = 0.1;
const QUIET_MIN_S = { full: 20, tiny: 2 } as const;
const HOSTILE_TINY_S = 4;
const WARM_UP_S = { full: 10, tiny: 1 } as const;
/** `nice` of the offenders: everybody else is served first. */
const LEAST_PRIORITY = "19";
const PEER_SEAT = "PSK000002";
const PROBE = "loop";
const LOOK_MS = 200;
const PATIENCE_MS = 300_000;

/** Runs a process of clients to its end. */
async function clients<Result>(job: OffendersJob | WellBehavedJob): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "kurier-bench-clients-"));
  const file = join(folder, "job.json");
  writeFileSync(file, JSON.stringify(job));
  const command = [process.execPath, fileURLToPath(new URL("./clients.js", import.meta.url)), file] as const;
  const [program, ...parameters] = job.kind === "offenders" ? ["nice", "-n", LEAST_PRIORITY, ...command] : command;
  const child = spawn(program ?? "", parameters, { env: childEnvironment(), stdio: ["ignore", "pipe", "inherit"] });
  let told = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    told += text;
  });
  try {
    const code = await new Promise((resolve) => child.once("close", resolve));
    if (code !== 0) throw new Error(`the ${job.kind} ended with ${String(code)}`);
    return JSON.parse(told) as Result;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Phase {
  readonly name: "quiet" | "hostile" | "quiet again";
  readonly good: WellBehavedResult;
  readonly bad: OffendersResult | undefined;
  readonly seen: Seen;
}

interface World {
  readonly engine: BenchEngine;
  readonly probe: string;
  readonly options: BenchOptions;
  readonly size: "full" | "tiny";
  readonly firms: readonly BenchFirm[];
  readonly offenders: Omit<OffendersJob, "seconds">;
}

async function phase({ engine, probe, options, size, firms, offenders }: World, name: Phase["name"]): Promise<Phase> {
  const hostile_s = size === "tiny" ? HOSTILE_TINY_S : options.seconds;
  const seconds = name === "hostile" ? hostile_s : Math.max(QUIET_MIN_S[size], Math.round(hostile_s * QUIET_SHARE));
  options.say(`${name}, ${seconds} s …`);
  const { url } = offenders;
  const [[good, bad], seen] = await watching({ pid: engine.pid, probe }, () =>
    Promise.all([
      clients<WellBehavedResult>({ kind: "well-behaved", url, seconds, firms, ...RATES[size] }),
      name === "hostile" ? clients<OffendersResult>({ ...offenders, seconds }) : undefined,
    ]),
  );
  return { name, good, bad, seen };
}

const acceptedOf = (operations: readonly Operation[]): number =>
  operations.reduce((sum, { statuses }) => sum + (statuses["202"] ?? 0), 0);

/**
 * Waits until every document of the well-behaved has arrived.
 * @throws Error when one that was accepted is missing, is there twice, or did not arrive once
 */
async function checkDocuments({ engine, firms }: World, accepted: number): Promise<void> {
  const ids = firms.map(({ clientId }) => clientId);
  const end = systemClock.monotonic() + PATIENCE_MS;
  for (;;) {
    const [row] = await engine.sql<{ readonly there: number; readonly arrived: number; readonly twice: number }[]>`
      with mine as (
        select d.id, d.as4_message_id, d.payload_sha256 from document as d where d.firm_id = any (${ids}::uuid[])
      ), arrivals as (
        select m.id, count(r.id)::integer as n
        from mine as m left join received_document as r
          on r.as4_message_id = m.as4_message_id and r.payload_sha256 = m.payload_sha256
        group by m.id
      )
      select count(*)::integer as there, (count(*) filter (where n = 1))::integer as arrived,
        (count(*) filter (where n > 1))::integer as twice from arrivals`;
    if (row?.there === accepted && row.arrived === accepted) return;
    if (row === undefined || row.there !== accepted || row.twice > 0 || systemClock.monotonic() > end)
      throw new Error(
        `${accepted} documents of the well-behaved were accepted, ${row?.there ?? 0} are there, ` +
          `${row?.arrived ?? 0} have arrived, ${row?.twice ?? 0} more than once`,
      );
    await pause(LOOK_MS);
  }
}

/** What each kind of offender may be answered: its own fault, too much of it, or 503. */
const isDocumented = (status: string): boolean => status === "cut" || status === "503" || Number(status) < 500;

const show = (statuses: Statuses): string =>
  Object.entries(statuses)
    .map(([status, count]) => `${count} × ${status}`)
    .join(", ");

/** @throws Error when a well-behaved key was refused anything, or an offender heard of a fault of ours */
function checkAnswers(phases: readonly Phase[]): void {
  for (const { name, good, bad } of phases) {
    for (const { name: operation, answers, errors, statuses } of good.operations) {
      const expected = operation === "send" ? "202" : "200";
      if (errors > 0 || statuses[expected] !== answers)
        throw new Error(
          `${name}: the well-behaved were answered ${show(statuses)} to ${operation}, ${errors} not at all`,
        );
    }
    for (const [kind, statuses] of Object.entries(bad?.kinds ?? {}))
      if (!Object.keys(statuses).every(isDocumented)) throw new Error(`${kind}: ${show(statuses)}`);
  }
}

/** Who has had the processor, in hundredths of all cores. */
function shares({ seen, good, bad }: Phase): string {
  const all = seen.seconds * cpus().length;
  const parts = [...seen.processor].filter(([part]) => part !== "client");
  const told = [...parts, ["the well-behaved", good.processor_s], ["the offenders", bad?.processor_s ?? 0]] as const;
  return told
    .filter(([, seconds]) => seconds / all >= 0.005)
    .map(([part, seconds]) => `${part} ${Math.round((100 * seconds) / all)} %`)
    .join(", ");
}

/** Resident memory of the first and of the last third of a phase. */
function thirds({ seen: { resident } }: Phase): readonly [number, number] {
  const third = Math.max(1, Math.floor(resident.length / 3));
  return [median(resident.slice(0, third)), median(resident.slice(-third))];
}

function figuresOf(phases: readonly Phase[]): Figure[] {
  const [before, hostile] = phases as readonly [Phase, Phase, Phase];
  const operations = phases.flatMap(({ name, good }) =>
    good.operations.map((one): Figure => ({
      name: `${one.name}, ${name}`,
      value: one.perSecond,
      unit: "/s",
      p50_ms: one.p50_ms,
      p99_ms: one.p99_ms,
      errors: one.errors,
      note: show(one.statuses) + repeated(one),
    })),
  );
  const ratios = before.good.operations.map(({ name, p99_ms }, at): Figure => ({
    name: `${name}, p99 hostile ÷ quiet`,
    value: (hostile.good.operations[at]?.p99_ms ?? 0) / p99_ms,
    unit: "ratio",
    note: "less than 2 is the goal",
  }));
  const offenders = Object.entries(hostile.bad?.kinds ?? {}).map(([name, statuses]): Figure => ({
    name,
    value: Object.values(statuses).reduce((sum, count) => sum + count, 0),
    unit: "count",
    note: show(statuses),
  }));
  const loop = phases.map(({ name, seen }): Figure => ({
    name: `longest turn of the event loop, ${name}`,
    value: seen.loop.longest_ms,
    unit: "ms",
    note:
      `processor time; ${seen.loop.longest_clock_ms.toFixed(0)} ms by the clock, ` +
      `${((seen.loop.stalled_ms / seen.seconds / 1_000) * 100).toFixed(1)} % of the time in turns of 20 ms and more`,
  }));
  const [first, last] = thirds(hostile);
  const memory = phases.map((one): Figure => ({
    name: `resident memory, ${one.name}`,
    value: Math.max(...one.seen.resident),
    unit: "MB",
    note: `at the most; processor: ${shares(one)}`,
  }));
  return [
    ...operations,
    ...ratios,
    ...offenders,
    ...loop,
    ...memory,
    { name: "resident memory, last third ÷ first third of the hostile phase", value: last / first, unit: "ratio" },
  ];
}

async function measure(engine: BenchEngine, options: BenchOptions, folder: string): Promise<readonly Figure[]> {
  const size = options.tiny ? "tiny" : "full";
  const ownKeys = join(engine.dataDir, "pki");
  await ensureDevelopmentPki({ folder: join(folder, "pki"), clock: systemClock, seat: PEER_SEAT, from: ownKeys });
  const [tenant, receiver, ...firms] = await makeFirms(engine, KEYS[size] + 2);
  if (tenant === undefined || receiver === undefined) throw new Error("no firms");
  const url = originOf(engine.sandbox);
  const world: World = {
    ...{ engine, probe: join(folder, PROBE), options, size, firms },
    offenders: {
      kinds: options.only === undefined ? OFFENDERS : [options.only as Offender],
      ...{ kind: "offenders", url, tenant, receiver: receiver.participantId, fileBytes: FILE_BYTES[size], ownKeys },
      peerKeys: join(folder, "pki"),
    },
  };
  options.say("warming up …");
  const warm = await clients<WellBehavedResult>({
    ...{ kind: "well-behaved", url, seconds: WARM_UP_S[size], firms },
    ...RATES[size],
  });
  const phases = [await phase(world, "quiet"), await phase(world, "hostile"), await phase(world, "quiet again")];
  checkAnswers(phases);
  const accepted = [warm, ...phases.map(({ good }) => good)].reduce(
    (sum, told) => sum + acceptedOf(told.operations),
    0,
  );
  options.say("waiting for what is under way …");
  await checkDocuments(world, accepted);
  const figures = figuresOf(phases);
  return [...figures, { name: "documents accepted once and arrived once", value: accepted, unit: "count" }];
}

/** What the well-behaved wait while others are in their way. */
export const hostileBench: Bench = {
  name: "hostile",
  question:
    "What do 200 well-behaved keys wait while strangers, a peer and a tenant are in their way, against a quiet machine?",
  seconds: 600,
  parts: OFFENDERS,
  run: async (options) => {
    const folder = mkdtempSync(join(tmpdir(), "kurier-bench-hostile-"));
    const engine = await startBenchEngine({
      role: "all",
      nodeOptions: ["--import", loopProbe(join(folder, PROBE))],
    });
    try {
      return await measure(engine, options, folder);
    } finally {
      await engine.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
