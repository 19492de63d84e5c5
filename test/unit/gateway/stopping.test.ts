/**
 * How a node is told to end, and how its parts stop: in the opposite order of their start, and all of them, whichever
 * hangs.
 */
import { EventEmitter } from "node:events";
import { expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import { createLog } from "../../../engine/base/log.js";
import { toldToEnd } from "../../../gateway/commands/told-to-end.js";
import { Stack } from "../../../gateway/start/infrastructure.js";
import { fakeClock } from "../../support/fake-clock.js";

test("a part that hangs and one that fails keep no other from stopping, and both are told of by their names", async () => {
  const lines: string[] = [];
  const log = createLog("info", { write: (line) => void lines.push(line) });
  const stopped: string[] = [];
  const stack = new Stack(20);
  stack.add("first", () => void stopped.push("first"));
  stack.add("broken", () => Promise.reject(new Error("broken")));
  stack.add("hanging", () => new Promise<void>(() => undefined));
  stack.add("last", () => void stopped.push("last"));
  await Promise.all([stack.unwind(log), stack.unwind(log)]);
  expect(stopped).toEqual(["last", "first"]);
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { event: "engine.stop_late", component: "hanging" },
    { event: "engine.stop_failed", component: "broken" },
  ]);
});

function newProcess() {
  const [signals, clock] = [new EventEmitter(), fakeClock()];
  const seen = { left: 0 };
  const told = toldToEnd(signals, clock, () => {
    seen.left += 1;
  });
  return { signals, clock, seen, told };
}

test.each(["SIGINT", "SIGTERM"])(
  "one press that comes twice, as npm hands %s on, drains and does not leave",
  async (signal) => {
    const { signals, clock, seen, told } = newProcess();
    signals.emit(signal);
    await told;
    clock.advance(LIMITS.signal_echo_ms - 1);
    signals.emit(signal);
    expect(seen.left).toBe(0);
  },
);

test.each(["SIGINT", "SIGTERM"])("a second %s that is no echo of the first leaves at once", async (signal) => {
  const { signals, clock, seen, told } = newProcess();
  signals.emit(signal);
  await told;
  clock.advance(LIMITS.signal_echo_ms);
  signals.emit(signal);
  expect(seen.left).toBe(1);
});

test("a terminal that hangs up drains, however often it does", async () => {
  const { signals, clock, seen, told } = newProcess();
  signals.emit("SIGHUP");
  await told;
  clock.advance(LIMITS.signal_echo_ms);
  signals.emit("SIGHUP");
  expect(seen.left).toBe(0);
});
