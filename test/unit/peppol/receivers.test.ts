/** Receiving access points one by one: places, the breaker, the pace at which those who wait come again. */
import { describe, expect, test } from "vitest";

import { createReceivers } from "../../../engine/peppol/as4/send-gate.js";
import type { Admission, Receivers } from "../../../engine/peppol/as4/send-gate.js";
import { fakeClock } from "../../support/fake-clock.js";

const LIMITS = {
  attempts_per_receiver_max: 6,
  attempts_per_slow_receiver_max: 3,
  attempts_slow_max: 5,
  receiver_quick_ms: 1_000,
  receiver_place_wait_ms: 0,
  breaker_failures: 2,
  breaker_pause_first_ms: 1_000,
  breaker_pause_max_ms: 4_000,
  receiver_retry_min_ms: 100,
  receiver_retry_max_ms: 10_000,
  receivers_max: 5,
};

const setUp = (limits: Partial<typeof LIMITS> = {}): { clock: ReturnType<typeof fakeClock>; receivers: Receivers } => {
  const clock = fakeClock();
  clock.advance(1);
  return { clock, receivers: createReceivers(clock, { ...LIMITS, ...limits }, () => 0) };
};

const admitted = (admission: Admission): Extract<Admission, { kind: "admitted" }> => {
  if (admission.kind !== "admitted") throw new Error(`not admitted: ${admission.reason}`);
  return admission;
};

describe("places", () => {
  test("a full receiver sends documents away, and others are not touched", async () => {
    const { receivers } = setUp();
    for (let i = 0; i < 3; i += 1) admitted(await receivers.admit("slow"));
    expect(await receivers.admit("slow")).toMatchObject({ kind: "later", reason: "full" });
    for (let i = 0; i < 3; i += 1) admitted(await receivers.admit("other"));
  });

  test("a place is free again when an attempt ends, and leaving twice frees one", async () => {
    const { receivers } = setUp();
    const [first] = [
      admitted(await receivers.admit("a")),
      admitted(await receivers.admit("a")),
      admitted(await receivers.admit("a")),
    ];
    first?.leave("passed");
    first?.leave("passed");
    admitted(await receivers.admit("a"));
    expect((await receivers.admit("a")).kind).toBe("later");
  });

  test("a thousand who find it full come again one after the other, at the receiver's pace", async () => {
    const { clock, receivers } = setUp();
    const one = admitted(await receivers.admit("slow"));
    clock.advance(3_000);
    one.leave("passed");
    for (let i = 0; i < 3; i += 1) admitted(await receivers.admit("slow"));
    const waits = (await Promise.all(Array.from({ length: 5 }, () => receivers.admit("slow")))).map((admission) =>
      admission.kind === "later" ? admission.retryAfter_ms : -1,
    );
    // 3 s an attempt and three places: one a second.
    expect(waits).toEqual([1_000, 2_000, 3_000, 4_000, 5_000]);
    for (let i = 0; i < 1_000; i += 1) await receivers.admit("slow");
    expect(await receivers.admit("slow")).toMatchObject({ retryAfter_ms: 10_000 });
  });
});

test("those who find a receiver full that has not answered yet do not come again together", async () => {
  const { receivers } = setUp();
  for (let i = 0; i < 3; i += 1) admitted(await receivers.admit("new"));
  const waits = (await Promise.all(Array.from({ length: 4 }, () => receivers.admit("new")))).map((admission) =>
    admission.kind === "later" ? admission.retryAfter_ms : -1,
  );
  expect(waits).toEqual([333, 667, 1_000, 1_333]);
});

describe("the pace of a receiver", () => {
  const pass = async (
    receivers: Receivers,
    clock: ReturnType<typeof fakeClock>,
    key: string,
    took_ms: number,
  ): Promise<void> => {
    const attempt = admitted(await receivers.admit(key));
    clock.advance(took_ms);
    attempt.leave("passed");
  };
  const fill = async (receivers: Receivers, key: string): Promise<number> => {
    let places = 0;
    while ((await receivers.admit(key)).kind === "admitted") places += 1;
    return places;
  };

  test("a quick one has more places than one that is slow or not known yet", async () => {
    const { clock, receivers } = setUp();
    await pass(receivers, clock, "quick", 50);
    await pass(receivers, clock, "slow", 2_000);
    expect([await fill(receivers, "quick"), await fill(receivers, "slow"), await fill(receivers, "unknown")]).toEqual([
      6, 3, 3,
    ]);
  });

  test("slow ones together leave places for the others", async () => {
    const { clock, receivers } = setUp();
    for (const key of ["a", "b", "c"]) await pass(receivers, clock, key, 2_000);
    expect([
      await fill(receivers, "a"),
      await fill(receivers, "b"),
      await fill(receivers, "c"),
      await fill(receivers, "new"),
    ]).toEqual([3, 2, 0, 3]);
  });

  test("who finds a quick one full waits, and is let in as soon as a place is free, the first to come first", async () => {
    const { clock, receivers } = setUp({ receiver_place_wait_ms: 60_000, attempts_per_receiver_max: 1 });
    await pass(receivers, clock, "quick", 50);
    const holder = admitted(await receivers.admit("quick"));
    const order: string[] = [];
    const waiting = ["first", "second"].map(async (name) => {
      const attempt = admitted(await receivers.admit("quick"));
      order.push(name);
      attempt.leave("passed");
    });
    expect(order).toEqual([]);
    holder.leave("passed");
    await Promise.all(waiting);
    expect(order).toEqual(["first", "second"]);
  });

  test("nobody waits for a slow one, nor behind more than the pace serves in time", async () => {
    const { clock, receivers } = setUp({ receiver_place_wait_ms: 500, attempts_per_receiver_max: 1 });
    await pass(receivers, clock, "slow", 2_000);
    for (let i = 0; i < 3; i += 1) admitted(await receivers.admit("slow"));
    expect(await receivers.admit("slow")).toMatchObject({ kind: "later", reason: "full" });
    await pass(receivers, clock, "quick", 200);
    const holder = admitted(await receivers.admit("quick"));
    const waiting = [receivers.admit("quick"), receivers.admit("quick")];
    expect(await receivers.admit("quick")).toMatchObject({ kind: "later", reason: "full" });
    holder.leave("passed");
    for (const one of waiting) admitted(await one).leave("passed");
  });

  test("a wait ends in time when no place becomes free, and at once when the receiver turns out to be down", async () => {
    const { clock, receivers } = setUp({ receiver_place_wait_ms: 20, attempts_per_receiver_max: 2 });
    await pass(receivers, clock, "a", 10);
    const held = [admitted(await receivers.admit("a")), admitted(await receivers.admit("a"))];
    expect(await receivers.admit("a")).toMatchObject({ kind: "later", reason: "full" });
    const patient = setUp({ receiver_place_wait_ms: 60_000, attempts_per_receiver_max: 2 });
    await pass(patient.receivers, patient.clock, "a", 10);
    const failing = [admitted(await patient.receivers.admit("a")), admitted(await patient.receivers.admit("a"))];
    // The first place that a failure frees is given on; the second failure opens the breaker.
    const waiting = [patient.receivers.admit("a"), patient.receivers.admit("a")];
    for (const attempt of failing) attempt.leave("failed");
    expect(
      (await Promise.all(waiting)).map((admission) => (admission.kind === "later" ? admission.reason : admission.kind)),
    ).toEqual(["admitted", "down"]);
    for (const attempt of held) attempt.leave("passed");
  });
});

describe("the breaker", () => {
  const fail = async (receivers: Receivers, times: number): Promise<void> => {
    for (let i = 0; i < times; i += 1) admitted(await receivers.admit("down")).leave("failed");
  };

  test("opens after failures in a row, and one success between them starts the count anew", async () => {
    const { receivers } = setUp();
    await fail(receivers, 1);
    admitted(await receivers.admit("down")).leave("passed");
    await fail(receivers, 1);
    expect((await receivers.admit("down")).kind).toBe("admitted");
    await fail(receivers, 1);
    expect(await receivers.admit("down")).toMatchObject({ kind: "later", reason: "down", retryAfter_ms: 1_100 });
    expect(receivers.open()).toBe(1);
  });

  test("after the pause one attempt goes out; its success opens the way for all", async () => {
    const { clock, receivers } = setUp();
    await fail(receivers, 2);
    clock.advance(1_000);
    const probe = admitted(await receivers.admit("down"));
    expect(await receivers.admit("down")).toMatchObject({ kind: "later", reason: "down" });
    probe.leave("passed");
    for (let i = 0; i < 3; i += 1) admitted(await receivers.admit("down"));
    expect(receivers.open()).toBe(0);
  });

  test("its pauses double up to the longest, and start short again after a success", async () => {
    const { clock, receivers } = setUp();
    await fail(receivers, 2);
    for (const pause of [1_000, 2_000, 4_000, 4_000]) {
      expect(await receivers.admit("down")).toMatchObject({ retryAfter_ms: pause + 100 });
      clock.advance(pause);
      await fail(receivers, 1);
    }
    clock.advance(4_000);
    admitted(await receivers.admit("down")).leave("passed");
    await fail(receivers, 2);
    expect(await receivers.admit("down")).toMatchObject({ retryAfter_ms: 1_100 });
  });

  test("attempts that were under way when it opened do not make the pause longer", async () => {
    const { receivers } = setUp();
    const three = [
      admitted(await receivers.admit("a")),
      admitted(await receivers.admit("a")),
      admitted(await receivers.admit("a")),
    ];
    for (const attempt of three) attempt.leave("failed");
    expect(await receivers.admit("a")).toMatchObject({ retryAfter_ms: 1_100 });
  });
});

test("only so many receivers are remembered, and never one that is being talked to is forgotten", async () => {
  const { receivers } = setUp();
  const kept = [
    admitted(await receivers.admit("kept")),
    admitted(await receivers.admit("kept")),
    admitted(await receivers.admit("kept")),
  ];
  for (let i = 0; i < 100; i += 1) admitted(await receivers.admit(`r${i}`)).leave("passed");
  expect((await receivers.admit("kept")).kind).toBe("later");
  for (const attempt of kept) attempt.leave("passed");
});
