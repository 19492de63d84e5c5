/**
 * As many participants at work in one process as it may hold: what each of them takes of memory, what a command costs
 * among few and among all of them, and how long nobody else gets a turn when all of them are dropped at once. Method: the
 * actor system as the engine starts it, with actors that hold what a participant's holds; their time stands still, for
 * nobody may be idle on a machine that is slow, and is moved on for the end.
 * Times are kept, not judged; that every command is answered by its own actor, and every idle one goes, is.
 * @source design/reliability.md, C-17
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { expect, test } from "vitest";

import { startActors } from "../../../actors/system.js";
import type { ActorKind } from "../../../actors/system.js";
import { systemClock } from "../../../engine/base/clock.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { eventually } from "../../support/eventually.js";
import { Random, seedFrom } from "../../support/random.js";
import { keepFigures } from "../figures.js";
import { quantile } from "../records.js";

const SEED = seedFrom(20_261_123);
const POPULATIONS = [200, 20_000, LIMITS.actors_max];
const ASKS = 50_000;
/** Commands under way at once while an actor's answer is timed. */
const AT_ONCE = 24;
const FILL_BATCH = 1_000;

type Protocol = { readonly Count: { readonly ask: { readonly key: string }; readonly reply: number } };
interface Cache {
  turns: number;
  readonly inFlight: Set<string>;
}
const participant: ActorKind<Protocol, Cache> = {
  name: "participant",
  idle_ms: LIMITS.actor_idle_ms,
  start: () => ({ turns: 0, inFlight: new Set() }),
  handlers: {
    Count: (cache, { key }, own) => {
      if (key !== own) throw new Error("a command came to another's actor");
      return { reply: (cache.turns += 1) };
    },
  },
};

const keyOf = (n: number): string => `0245:${String(n).padStart(10, "0")}`;
const micros = (ms: number): string => (ms * 1_000).toFixed(1);
/** Of what is reachable, where the process may collect; otherwise of what is there. */
const heapUsed = (): number => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
};

/** How long the event loop stood still at the most while something happened, in milliseconds. */
async function longestStandstill(work: () => Promise<void>): Promise<number> {
  const watch = monitorEventLoopDelay({ resolution: 1 });
  watch.enable();
  await work();
  watch.disable();
  return watch.max / 1e6;
}

test(`all participants that one process may hold are answered, each by its own actor, and go when they are idle (SEED=${SEED})`, async () => {
  const random = new Random(SEED);
  let passed_ms = 0;
  const actors = startActors({
    log: silentLog,
    metrics: createMetrics(),
    monotonic: () => passed_ms,
  });
  const turns = new Uint32Array(LIMITS.actors_max);
  const ask = async (n: number): Promise<void> => {
    const expected = (turns[n] = (turns[n] ?? 0) + 1);
    const key = keyOf(n);
    expect(await actors.ask(participant, key, "Count", { key })).toBe(expected);
  };
  const rows: (readonly (string | number)[])[] = [];
  const begun = heapUsed();
  let living = 0;
  for (const population of POPULATIONS) {
    const filling_ms = await longestStandstill(async () => {
      for (; living < population; living += FILL_BATCH)
        await Promise.all(Array.from({ length: Math.min(FILL_BATCH, population - living) }, (_, n) => ask(living + n)));
      living = population;
    });
    expect(actors.census().get("participant")).toBe(population);
    const bytes = (heapUsed() - begun) / population;
    const times: number[] = [];
    const asking_ms = await longestStandstill(async () => {
      await Promise.all(
        Array.from({ length: AT_ONCE }, async (_, lane) => {
          // Each lane has keys of its own, so that the turns of an actor are counted in their order.
          for (let n = 0; n < ASKS / AT_ONCE; n += 1) {
            const key = random.int(Math.floor(population / AT_ONCE)) * AT_ONCE + lane;
            const at = systemClock.monotonic();
            await ask(key);
            times.push(systemClock.monotonic() - at);
          }
        }),
      );
    });
    rows.push([
      population,
      Math.round(bytes),
      ...[quantile(times, 0.5), quantile(times, 0.99)].map(micros),
      ...[filling_ms, asking_ms].map((ms) => ms.toFixed(0)),
      "–",
    ]);
  }
  const full = actors.ask(participant, "one too many", "Count", { key: "one too many" });
  await expect(full).rejects.toMatchObject({ reason: "TEMPORARY" });
  passed_ms = LIMITS.actor_idle_ms;
  const dropping_ms = await longestStandstill(async () => {
    await eventually("all of them are gone", () => actors.census().get("participant") === 0);
  });
  rows.push(["none again", "–", "–", "–", "–", "–", dropping_ms.toFixed(0)]);
  await actors.stop();
  keepFigures("participants", {
    title: "Participants in one process",
    command: "NODE_OPTIONS=--expose-gc npm run -s test:faults -- participants",
    remark: `Actors with the cache of a participant and a handler that answers at once, so that what is measured is the system of actors; ${AT_ONCE} commands are under way at once, and ${ASKS} are timed for each population. The event loop stands still for its longest time while they come into being, while they are asked, and when all of them have been idle for a minute and are dropped by one look of the sweeper.`,
    columns: [
      ...["Participants", "Bytes of heap each", "Answer p50, µs", "p99, µs"],
      ...["Longest standstill while they come, ms", "while they are asked, ms", "while they go, ms"],
    ],
    rows,
  });
});
