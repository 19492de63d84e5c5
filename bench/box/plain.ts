/** What the machine takes of the same documents when nothing schedules them: the limit that the Box is held against. */
import { setTimeout as pause } from "node:timers/promises";

import { systemClock } from "../../engine/base/clock.js";
import { perUnit, processorTime } from "../cpu.js";
import type { BenchEngine, BenchFirm } from "../engine.js";
import { refusedOf, runLoad } from "../load.js";
import type { BenchOptions } from "../runner.js";
import { originOf, requests, templateOf } from "../send-requests.js";

const CONNECTIONS = 64;
const LOOK_MS = 200;

/** Rates of plain sends, in documents a second. */
export interface Plain {
  /** While the same node delivers what it can of them. */
  readonly accepted: number;
  /** From the first request to the last receipt. */
  readonly delivered: number;
}

/** Waits until no document is under way. */
export async function settled(engine: BenchEngine): Promise<void> {
  await pause(LOOK_MS);
  while ((await engine.sql`select 1 from document where next_attempt_at is not null limit 1`).length > 0)
    await pause(LOOK_MS);
}

/** Sends as fast as the engine accepts, and waits until everything is delivered. */
export async function plainSends(
  options: BenchOptions,
  engine: BenchEngine,
  firms: readonly BenchFirm[],
  to: string,
): Promise<Plain> {
  const next = requests(firms.map((firm) => templateOf(firm, to)));
  const [begun, before] = [systemClock.monotonic(), processorTime(engine.pid)];
  const load = await runLoad({
    url: originOf(engine.sandbox),
    connections: options.tiny ? 4 : CONNECTIONS,
    seconds: options.seconds,
    ...(options.tiny ? { amount: 40 } : {}),
    next,
  });
  if (refusedOf(load) > 0) throw new Error(`the engine refused ${refusedOf(load)} documents`);
  await settled(engine);
  options.say(`processor time per plain send, ms: ${perUnit(before, processorTime(engine.pid), load.answers)}`);
  const seconds = (systemClock.monotonic() - begun) / 1_000;
  return { accepted: load.perSecond, delivered: load.answers / seconds };
}
