/** Looks from inside at how long each turn of an engine's event loop takes, and tells a benchmark that asks. */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

import { systemClock } from "../../engine/base/clock.js";

const PATIENCE_MS = 120_000;
const LOOK_MS = 20;
/** A turn as long as this is felt by whoever waits for the next. */
const LONG_MS = 20;

/** What was seen of the loop since the reading before. */
export interface LoopReading {
  /** The longest turn, milliseconds: processor time of the loop's thread where the system tells it. */
  readonly longest_ms: number;
  /** The longest turn by the clock, milliseconds: other threads and processes are part of it. */
  readonly longest_clock_ms: number;
  /** Milliseconds by the clock in turns of 20 ms and more. */
  readonly stalled_ms: number;
}

/**
 * The argument for `--import` of an engine's process. What the longest turns took goes into a file at each SIGUSR2, and
 * is counted anew from there. What it reads a thousand times a second it reads into one place: a file read whole takes
 * 64 KiB each time, and of that alone V8 collected garbage once a second.
 */
export const loopProbe = (file: string): string =>
  `data:text/javascript,${encodeURIComponent(`
    import { existsSync, openSync, readSync, renameSync, writeFileSync } from "node:fs";
    const source = "/proc/self/task/" + process.pid + "/schedstat";
    const clock = () => Number(process.hrtime.bigint()) / 1e6;
    const file = existsSync(source) ? openSync(source) : undefined;
    const text = Buffer.alloc(64);
    const scheduled = () => Number.parseInt(text.latin1Slice(0, readSync(file, text, 0, text.length, 0)), 10) / 1e6;
    const now = file === undefined ? clock : scheduled;
    const nothing = { longest_ms: 0, longest_clock_ms: 0, stalled_ms: 0 };
    let [last, lastClock, seen] = [now(), clock(), { ...nothing }];
    setInterval(() => {
      const [at, atClock] = [now(), clock()];
      const took = atClock - lastClock;
      seen.longest_ms = Math.max(seen.longest_ms, at - last);
      seen.longest_clock_ms = Math.max(seen.longest_clock_ms, took);
      if (took >= ${LONG_MS}) seen.stalled_ms += took;
      [last, lastClock] = [at, atClock];
    }, 1).unref();
    process.on("SIGUSR2", () => {
      const told = ${JSON.stringify(file)};
      writeFileSync(told + ".new", JSON.stringify(seen));
      seen = { ...nothing };
      renameSync(told + ".new", told);
    });`)}`;

/** Waits until something is so. @throws Error when it is not in two minutes */
export async function until(done: () => Promise<boolean> | boolean, what: string): Promise<void> {
  const end = systemClock.monotonic() + PATIENCE_MS;
  while (!(await done())) {
    if (systemClock.monotonic() > end) throw new Error(`${what} did not happen in time`);
    await pause(LOOK_MS);
  }
}

/** What was seen since the last call. @param file  the one that the process was started with */
export async function readLoop(pid: number, file: string): Promise<LoopReading> {
  rmSync(file, { force: true });
  process.kill(pid, "SIGUSR2");
  await until(() => existsSync(file), "the reading of the probe");
  return JSON.parse(readFileSync(file, "utf8")) as LoopReading;
}
