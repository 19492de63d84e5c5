/** How often an engine must be told to end before it leaves without draining. */
import { EventEmitter } from "node:events";
import { expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import { toldToEnd } from "../../../gateway/commands/told-to-end.js";
import { fakeClock } from "../../support/fake-clock.js";

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
