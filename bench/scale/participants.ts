/** `participants`: what a send takes among many participants at work, and what an actor that waits takes of memory. */
import { setTimeout as pause } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { startActors } from "../../actors/system.js";
import type { ActorKind } from "../../actors/system.js";
import { systemClock } from "../../engine/base/clock.js";
import { LIMITS } from "../../engine/base/limits.js";
import { silentLog } from "../../engine/base/log.js";
import { createMetrics } from "../../engine/base/metrics.js";
import { BILLING_CAPABILITIES } from "../../engine/peppol/envelope/identifiers.js";
import { makeFirms } from "../engine.js";
import type { BenchEngine, BenchFirm } from "../engine.js";
import { mustBeAccepted, runLoad } from "../load.js";
import type { Bench, BenchOptions, Figure } from "../runner.js";
import { originOf, requests, templateOf } from "../send-requests.js";
import { addPast } from "./past.js";
import { inTurns, withTwoEngines } from "./turns.js";

const PARTICIPANTS = 100_000;
const PARTICIPANTS_TINY = 20;
const FEW = 1_000;
/** Stored documents for each participant. */
const STORED_EACH = 10;
/** Firms among which the participants are divided, and of the small engine: a participant each. */
const FIRMS = 100;
const KEYS = 1_000;
const LOOK_MS = 1_000;
/** Longer than an actor waits, and the looks of the sweeper beyond it. */
const PASSIVE_MS = 3 * LIMITS.actor_idle_ms;
const ACTORS_TINY = 1_000;

/** Gives each firm more participants. @returns a sender for each, the firms in turn */
async function addParticipants(
  engine: BenchEngine,
  firms: readonly BenchFirm[],
  count: number,
): Promise<readonly BenchFirm[]> {
  const more = Array.from({ length: Math.max(0, count - firms.length) }, (_, index) => ({
    ...(firms[index % firms.length] as BenchFirm),
    participantId: `0245:9${String(index).padStart(9, "0")}`,
  }));
  await engine.sql`
    with given as (
      select * from unnest(
        ${more.map((one) => one.participantId)}::text[], ${more.map((one) => one.clientId)}::uuid[]
      ) as g (participant, firm)
    ), made as (
      insert into participant (key, id, firm_id, registered_at) select participant, participant, firm, now() from given
    )
    insert into participant_capability (participant_key, document_type_id, process_id)
    select given.participant, c.document_type_id, c.process_id
    from given cross join unnest(${BILLING_CAPABILITIES.map((c) => c.documentTypeId)}::text[],
      ${BILLING_CAPABILITIES.map((c) => c.processId)}::text[]) as c (document_type_id, process_id)`;
  return [...firms, ...more].slice(0, count);
}

const sendsOf = (engine: BenchEngine, senders: readonly BenchFirm[]): ReturnType<typeof requests> =>
  requests(senders.map((firm) => templateOf(firm, engine.sandbox.receiver.participantId)));

/** Actors of participants that the engine has in memory. */
async function actorsOf({ adminUrl }: BenchEngine): Promise<number> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  return Number(/^kurier_actors_active\{kind="participant"\} (\d+)/mu.exec(text)?.[1] ?? 0);
}

type Touched = { readonly Touch: { readonly ask: undefined; readonly reply: undefined } };

/** Heap that an actor of a participant takes while it waits, in octets: in this process, as the engine has them. */
async function heapOfActor(count: number): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const kind: ActorKind<Touched, { readonly inFlight: Set<string> }> = {
    name: "participant",
    idle_ms: LIMITS.actor_idle_ms,
    start: () => ({ inFlight: new Set() }),
    handlers: { Touch: () => ({ reply: undefined }) },
  };
  const { monotonic } = systemClock;
  const actors = startActors({ log: silentLog, metrics: createMetrics(), monotonic });
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let index = 0; index < count; index += 1)
    await actors.ask(kind, `0245:${String(index).padStart(10, "0")}`, "Touch", undefined);
  collect();
  const each = (process.memoryUsage().heapUsed - before) / count;
  await actors.stop();
  return each;
}

/** Waits until the engine has dropped every actor that does nothing. @returns seconds @throws Error when it does not */
async function passivated(engine: BenchEngine): Promise<number> {
  const start = systemClock.monotonic();
  for (;;) {
    if ((await actorsOf(engine)) === 0) return (systemClock.monotonic() - start) / 1_000;
    if (systemClock.monotonic() - start > PASSIVE_MS) throw new Error(`${await actorsOf(engine)} actors are left`);
    await pause(LOOK_MS);
  }
}

async function store(engine: BenchEngine, senders: readonly BenchFirm[]): Promise<void> {
  const owners = senders.map(({ clientId, participantId }) => ({ firmId: clientId, participant: participantId }));
  await addPast(engine.databaseUrl, owners, senders.length * STORED_EACH);
}

async function measure(options: BenchOptions, engines: readonly [BenchEngine, BenchEngine]): Promise<Figure[]> {
  const [small, large] = engines;
  const count = options.tiny ? PARTICIPANTS_TINY : (options.size ?? PARTICIPANTS);
  options.say(`${count} participants with ${count * STORED_EACH} documents …`);
  const few = await makeFirms(small, options.tiny ? 2 : FIRMS, KEYS);
  const senders = await addParticipants(large, await makeFirms(large, options.tiny ? 4 : KEYS), count);
  await store(large, senders);
  options.say("each of them sends …");
  const all = sendsOf(large, senders);
  // As many as take their turns before the first of them is dropped again.
  const load = await runLoad({
    url: originOf(large.sandbox),
    connections: options.tiny ? 2 : 64,
    seconds: Math.min(options.seconds, LIMITS.actor_idle_ms / 1_000),
    ...(options.tiny ? { amount: count } : {}),
    next: all,
  });
  mustBeAccepted(load);
  const active = await actorsOf(large);
  options.say("few and many in turn …");
  const end = systemClock.monotonic() + options.seconds * 1_000;
  const waited = await inTurns(
    [
      { url: originOf(small.sandbox), status: 202, next: sendsOf(small, few) },
      { url: originOf(large.sandbox), status: 202, next: sendsOf(large, senders.slice(0, FEW)) },
      { url: originOf(large.sandbox), status: 202, next: all },
    ],
    (rounds) => (options.tiny ? rounds < 3 : rounds < 100 * FIRMS && systemClock.monotonic() < end),
  );
  const [first, second, third] = waited;
  if (first === undefined || second === undefined || third === undefined) throw new Error("nothing was measured");
  const passive: Figure[] = options.tiny
    ? []
    : [{ name: "until every actor is dropped", value: await passivated(large), unit: "s" }];
  const each = await heapOfActor(options.tiny ? ACTORS_TINY : PARTICIPANTS);
  return [
    { name: "participants", value: count, unit: "count", note: `${count * STORED_EACH} stored documents` },
    { name: `send, ${few.length} participants`, value: first.p50_ms, unit: "ms", ...first, note: "nothing stored" },
    { name: `send, ${FEW} of many participants`, value: second.p50_ms, unit: "ms", ...second },
    {
      name: "send, many participants",
      value: third.p50_ms,
      unit: "ms",
      ...third,
      note: `${count} participants in turn, ${count * STORED_EACH} stored documents, ${third.count} asked`,
    },
    { name: "p50 many ÷ few participants", value: third.p50_ms / first.p50_ms, unit: "ratio" },
    { name: "p99 many ÷ few participants", value: third.p99_ms / first.p99_ms, unit: "ratio" },
    {
      name: "actors in memory",
      value: active,
      unit: "count",
      note: `after ${load.answers} sends, ${load.perSecond.toFixed(0)}/s`,
    },
    { name: "heap of an actor that waits, octets", value: each, unit: "count", note: "2,048 are the goal" },
    ...passive,
  ];
}

/** A hundred thousand participants at work. */
export const participantsBench: Bench = {
  name: "participants",
  question:
    "What does a send take among a hundred thousand participants with a million stored documents, against a hundred with none?",
  seconds: 60,
  run: (options) => withTwoEngines(!options.tiny, (engines) => measure(options, engines)),
};
