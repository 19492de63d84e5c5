/** Receiving access points one by one: places, the breaker, the pace at which those who wait come again. */
import { describe, expect, test } from "vitest";

import { type Admission, createReceivers, type Receivers } from "../../../engine/peppol/receivers.js";
import { fakeClock } from "../../support/fake-clock.js";

const LIMITS = {
  attempts_per_receiver_max: 3, breaker_failures: 2, breaker_pause_first_ms: 1_000, breaker_pause_max_ms: 4_000, receiver_retry_min_ms: 100, receiver_retry_max_ms: 10_000, receivers_max: 5,
};

const setUp = (): { clock: ReturnType<typeof fakeClock>; receivers: Receivers } => {
  const clock = fakeClock();
  clock.advance(1);
  return { clock, receivers: createReceivers(clock, LIMITS, () => 0) };
};

const admitted = (admission: Admission): Extract<Admission, { kind: "admitted" }> => {
  if (admission.kind !== "admitted") throw new Error(`not admitted: ${admission.reason}`);
  return admission;
};

describe("places", () => {
  test("a full receiver sends documents away, and others are not touched", () => {
    const { receivers } = setUp();
    for (let i = 0; i < 3; i += 1) admitted(receivers.admit("slow"));
    expect(receivers.admit("slow")).toMatchObject({ kind: "later", reason: "full" });
    for (let i = 0; i < 3; i += 1) admitted(receivers.admit("other"));
  });

  test("a place is free again when an attempt ends, and leaving twice frees one", () => {
    const { receivers } = setUp();
    const [first] = [admitted(receivers.admit("a")), admitted(receivers.admit("a")), admitted(receivers.admit("a"))];
    first?.leave("passed");
    first?.leave("passed");
    admitted(receivers.admit("a"));
    expect(receivers.admit("a").kind).toBe("later");
  });

  test("a thousand who find it full come again one after the other, at the receiver's pace", () => {
    const { clock, receivers } = setUp();
    const one = admitted(receivers.admit("slow"));
    clock.advance(3_000);
    one.leave("passed");
    for (let i = 0; i < 3; i += 1) admitted(receivers.admit("slow"));
    const waits = Array.from({ length: 5 }, () => receivers.admit("slow")).map((admission) => (admission.kind === "later" ? admission.retryAfter_ms : -1));
    // 3 s an attempt and three places: one a second.
    expect(waits).toEqual([1_000, 2_000, 3_000, 4_000, 5_000]);
    for (let i = 0; i < 1_000; i += 1) receivers.admit("slow");
    expect(receivers.admit("slow")).toMatchObject({ retryAfter_ms: 10_000 });
  });
});

describe("the breaker", () => {
  const fail = (receivers: Receivers, times: number): void => { for (let i = 0; i < times; i += 1) admitted(receivers.admit("down")).leave("failed"); };

  test("opens after failures in a row, and one success between them starts the count anew", () => {
    const { receivers } = setUp();
    fail(receivers, 1);
    admitted(receivers.admit("down")).leave("passed");
    fail(receivers, 1);
    expect(receivers.admit("down").kind).toBe("admitted");
    fail(receivers, 1);
    expect(receivers.admit("down")).toMatchObject({ kind: "later", reason: "down", retryAfter_ms: 1_100 });
    expect(receivers.open()).toBe(1);
  });

  test("after the pause one attempt goes out; its success opens the way for all", () => {
    const { clock, receivers } = setUp();
    fail(receivers, 2);
    clock.advance(1_000);
    const probe = admitted(receivers.admit("down"));
    expect(receivers.admit("down")).toMatchObject({ kind: "later", reason: "down" });
    probe.leave("passed");
    for (let i = 0; i < 3; i += 1) admitted(receivers.admit("down"));
    expect(receivers.open()).toBe(0);
  });

  test("its pauses double up to the longest, and start short again after a success", () => {
    const { clock, receivers } = setUp();
    fail(receivers, 2);
    for (const pause of [1_000, 2_000, 4_000, 4_000]) {
      expect(receivers.admit("down")).toMatchObject({ retryAfter_ms: pause + 100 });
      clock.advance(pause);
      fail(receivers, 1);
    }
    clock.advance(4_000);
    admitted(receivers.admit("down")).leave("passed");
    fail(receivers, 2);
    expect(receivers.admit("down")).toMatchObject({ retryAfter_ms: 1_100 });
  });

  test("attempts that were under way when it opened do not make the pause longer", () => {
    const { receivers } = setUp();
    const three = [admitted(receivers.admit("a")), admitted(receivers.admit("a")), admitted(receivers.admit("a"))];
    for (const attempt of three) attempt.leave("failed");
    expect(receivers.admit("a")).toMatchObject({ retryAfter_ms: 1_100 });
  });
});

test("only so many receivers are remembered, and never one that is being talked to is forgotten", () => {
  const { receivers } = setUp();
  const kept = Array.from({ length: 3 }, () => admitted(receivers.admit("kept")));
  for (let i = 0; i < 100; i += 1) admitted(receivers.admit(`r${i}`)).leave("passed");
  expect(receivers.admit("kept").kind).toBe("later");
  for (const attempt of kept) attempt.leave("passed");
});
