/** What is seen of the engine from outside while a phase runs: its resident memory, and who has the processor. */
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

import { systemClock } from "../../engine/base/clock.js";
import { processorTime } from "../cpu.js";
import { readLoop } from "../loop/probe.js";
import type { LoopReading } from "../loop/probe.js";

const LOOK_MS = 1_000;
const KB = 1_024;
const MB = 1_000_000;

/** MB; 0 where the system does not tell. */
function residentOf(pid: number): number {
  try {
    const [, kb = "0"] = /^VmRSS:\s+(\d+) kB/mu.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return (Number(kb) * KB) / MB;
  } catch {
    return 0;
  }
}

/** What was seen in one phase. */
export interface Seen {
  readonly seconds: number;
  /** MB, one a second. */
  readonly resident: readonly number[];
  /** Seconds of processor time of each part of the engine and its children. */
  readonly processor: ReadonlyMap<string, number>;
  readonly loop: LoopReading;
}

/** An engine that was started with a probe of its loop. */
interface Watched {
  readonly pid: number;
  readonly probe: string;
}

/** Looks at the engine while `act` runs. */
export async function watching<T>({ pid, probe }: Watched, act: () => Promise<T>): Promise<readonly [T, Seen]> {
  await readLoop(pid, probe);
  const [start, before] = [systemClock.monotonic(), processorTime(pid)];
  const resident = [residentOf(pid)];
  let isOver = false;
  const look = async (): Promise<void> => {
    while (!isOver) {
      await pause(LOOK_MS);
      resident.push(residentOf(pid));
    }
  };
  const looking = look();
  try {
    const done = await act();
    const processor = new Map(
      [...processorTime(pid)].map(([part, seconds]) => [part, seconds - (before.get(part) ?? 0)] as const),
    );
    const seconds = (systemClock.monotonic() - start) / 1_000;
    return [done, { seconds, resident, processor, loop: await readLoop(pid, probe) }];
  } finally {
    isOver = true;
    await looking;
  }
}
