/**
 * Receiving access points one by one: places on the wire, the breaker, the pace at which those who find one full come
 * again.
 */
import { describe, expect, test } from "vitest";

import { createReceivers } from "../../../engine/peppol/as4/send-gate.js";
import type { Begun, Later, Passage, Place, Receivers } from "../../../engine/peppol/as4/send-gate.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { fakeClock } from "../../support/fake-clock.js";
import type { FakeClock } from "../../support/fake-clock.js";

const FEW = {
  ...LIMITS,
  breaker_failures: 2,
  breaker_pause_first_ms: 1_000,
  breaker_pause_max_ms: 4_000,
  receiver_retry_min_ms: 100,
  receiver_retry_max_ms: 10_000,
  receivers_max: 5,
  receiver_routes_max: 3,
};

interface Bench {
  readonly clock: FakeClock;
  readonly receivers: Receivers;
  /** Ends every wait for a place. */
  giveUp(): void;
}

function setUp(limits: Partial<Record<keyof typeof FEW, number>> = {}): Bench {
  const clock = fakeClock();
  clock.advance(1);
  const waits = new Set<() => void>();
  const receivers = createReceivers({
    clock,
    limits: { ...FEW, ...limits } as unknown as typeof FEW,
    random: () => 0,
    after: (_, call) => {
      waits.add(call);
      return () => {
        waits.delete(call);
      };
    },
  });
  return {
    clock,
    receivers,
    giveUp: () => {
      for (const call of [...waits]) call();
    },
  };
}

const begun = (answer: Begun | Later): Begun => {
  if (answer.kind === "later") throw new Error(`sent away: ${answer.reason}`);
  return answer;
};

/** An attempt's entry, once it is known. */
function enter(attempt: Begun): { entry: Place | Later | undefined } {
  const held: { entry: Place | Later | undefined } = { entry: undefined };
  attempt.enter((entry) => {
    held.entry = entry;
  });
  return held;
}

const place = ({ entry }: { readonly entry: Place | Later | undefined }): Place => {
  if (entry?.kind !== "place") throw new Error(`no place: ${entry?.kind ?? "waiting"}`);
  return entry;
};

/** One exchange that takes so long on the wire, and so long around it. */
function exchange({ receivers, clock }: Bench, key: string, passage: Passage, wire_ms = 10, own_ms = 0): void {
  const attempt = begun(receivers.begin(key));
  clock.advance(own_ms);
  const entry = place(enter(attempt));
  entry.sending();
  clock.advance(wire_ms);
  entry.leave(passage);
  attempt.end();
}

describe("places", () => {
  test("a full receiver sends attempts away, and others are not touched", () => {
    const { receivers } = setUp();
    begun(receivers.begin("slow"));
    begun(receivers.begin("slow"));
    expect(receivers.begin("slow")).toMatchObject({ kind: "later", reason: "full" });
    begun(receivers.begin("other"));
  });

  test("an attempt that ends makes room for one, also when it ends twice", () => {
    const { receivers } = setUp();
    const first = begun(receivers.begin("a"));
    begun(receivers.begin("a"));
    first.end();
    first.end();
    begun(receivers.begin("a"));
    expect(receivers.begin("a").kind).toBe("later");
  });

  test("who is ready waits for a place on the wire, and has it as soon as one is free, the first to come first", () => {
    const bench = setUp();
    // 10 ms on the wire and 90 ms around it: there are ten times as many attempts as places on the wire.
    exchange(bench, "a", "passed", 10, 90);
    const attempts = Array.from({ length: 6 }, () => begun(bench.receivers.begin("a")));
    const entries = attempts.map(enter);
    const order = (): number[] => entries.flatMap(({ entry }, i) => (entry?.kind === "place" ? [i] : []));
    const first = order().length;
    expect(first).toBeLessThan(6);
    place(entries[0] ?? { entry: undefined }).leave("failed");
    place(entries[1] ?? { entry: undefined }).leave("failed");
    // Two failures close it: those who wait are sent away at once.
    expect(entries.slice(first).map(({ entry }) => entry)).toEqual(
      entries.slice(first).map(() => expect.objectContaining({ kind: "later", reason: "down" }) as unknown),
    );
  });

  test("a wait ends in time when no place becomes free", () => {
    const bench = setUp();
    exchange(bench, "a", "passed", 10, 90);
    const attempts = Array.from({ length: 5 }, () => begun(bench.receivers.begin("a")));
    const entries = attempts.map(enter);
    expect(entries.at(-1)?.entry).toBeUndefined();
    bench.giveUp();
    expect(entries.at(-1)?.entry).toMatchObject({ kind: "later", reason: "full" });
    // The place that somebody gave up waiting for goes to nobody else's account.
    for (const { entry } of entries) if (entry?.kind === "place") entry.leave("passed");
    for (const attempt of attempts) attempt.end();
    expect(enter(begun(bench.receivers.begin("a"))).entry?.kind).toBe("place");
  });

  test("those who find a receiver full come again when a place has become free, however many they are", () => {
    const bench = setUp();
    exchange(bench, "slow", "passed", 3_000);
    const taken = bench.receivers.capacityOf("slow").places;
    for (let i = 0; i < taken; i += 1) begun(bench.receivers.begin("slow"));
    const waits = Array.from({ length: 1_000 }, () => bench.receivers.begin("slow")).map((answer) =>
      answer.kind === "later" ? answer.retryAfter_ms : -1,
    );
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(3_000 / taken);
    expect(Math.max(...waits)).toBeLessThanOrEqual((3_000 / taken) * 1.2);
  });

  test("a receiver of many participants that was full before anybody knew it for one keeps none of them for longer than the least wait", () => {
    const bench = setUp();
    const waits = Array.from({ length: 80 }, (_, i) => bench.receivers.begin("one", `0245:${i}`)).flatMap((answer) =>
      answer.kind === "later" ? [answer.retryAfter_ms] : [],
    );
    expect(waits.length).toBeGreaterThan(70);
    expect(Math.max(...waits)).toBeLessThanOrEqual(120);
  });
});

describe("what there is room for", () => {
  test("a participant that nobody has looked up counts as a receiver of its own, with room for two", () => {
    expect(setUp().receivers.capacityOf("0245:1")).toEqual({ key: "0245:1", places: 2, typical_ms: undefined });
  });

  test("participants of one access point share its places", () => {
    const bench = setUp();
    bench.receivers.begin("https://ap/", "0245:1");
    bench.receivers.begin("https://ap/", "0245:2");
    expect(bench.receivers.capacityOf("0245:1")).toMatchObject({ key: "https://ap/", places: 2 });
    expect(bench.receivers.capacityOf("0245:2")).toMatchObject({ key: "https://ap/" });
  });

  test("a receiver at which somebody found no place has none to claim for until an attempt there ends, whoever's that is", () => {
    const { receivers } = setUp();
    const places = (): number => receivers.capacityOf("p").places;
    const first = begun(receivers.begin("r", "p"));
    begun(receivers.begin("r"));
    expect(places()).toBe(LIMITS.attempts_receiver_first);
    expect(receivers.begin("r", "p").kind).toBe("later");
    expect(places()).toBe(0);
    first.end();
    expect(places()).toBe(LIMITS.attempts_receiver_first);
  });

  test("our own time around an exchange makes room for attempts to prepare, and none for a slow receiver", () => {
    const bench = setUp();
    exchange(bench, "quick", "passed", 100, 400);
    exchange(bench, "slow", "passed", 4_000, 8_000);
    const { places } = bench.receivers.capacityOf("quick");
    expect(places).toBeGreaterThanOrEqual(10);
    expect(bench.receivers.capacityOf("slow").places).toBeLessThanOrEqual(3);
  });

  test("there is none at one that is down, and for one attempt after the pause", () => {
    const bench = setUp();
    exchange(bench, "a", "failed");
    exchange(bench, "a", "failed");
    expect(bench.receivers.capacityOf("a").places).toBe(0);
    bench.clock.advance(1_000);
    expect(bench.receivers.capacityOf("a").places).toBe(1);
  });

  test("only so many participants are remembered; one that is forgotten is looked up again", () => {
    const { receivers } = setUp();
    for (const id of ["1", "2", "3", "4"]) begun(receivers.begin(`https://ap${id}/`, id)).end();
    expect(["1", "4"].map((id) => receivers.capacityOf(id).key)).toEqual(["1", "https://ap4/"]);
  });
});

/** What is said to one attempt more than a receiver takes. */
function fullAt({ receivers }: Bench): unknown {
  const underWay: Begun[] = [];
  for (;;) {
    const answer = receivers.begin("busy");
    if (answer.kind === "later") {
      for (const attempt of underWay) attempt.end();
      return answer;
    }
    underWay.push(answer);
  }
}

describe("the breaker", () => {
  const fail = (bench: Bench, times: number): void => {
    for (let i = 0; i < times; i += 1) exchange(bench, "down", "failed", 0);
  };

  test("the breaker opens after failures in a row, and one success between them starts the count anew", () => {
    const bench = setUp();
    fail(bench, 1);
    exchange(bench, "down", "passed", 0);
    fail(bench, 1);
    expect(bench.receivers.open()).toBe(0);
    fail(bench, 1);
    expect(bench.receivers.begin("down")).toMatchObject({ kind: "later", reason: "down", retryAfter_ms: 1_100 });
    expect(bench.receivers.open()).toBe(1);
  });

  test("after the pause one attempt goes out; its success opens the way for as many as to one that is not known", () => {
    const bench = setUp();
    fail(bench, 2);
    bench.clock.advance(1_000);
    const probe = begun(bench.receivers.begin("down"));
    expect(bench.receivers.begin("down")).toMatchObject({ kind: "later", reason: "down" });
    const entry = place(enter(probe));
    entry.sending();
    entry.leave("passed");
    probe.end();
    begun(bench.receivers.begin("down"));
    begun(bench.receivers.begin("down"));
    expect(bench.receivers.open()).toBe(0);
  });

  test("the breaker's pauses double up to the longest, and start short again after a success", () => {
    const bench = setUp();
    fail(bench, 2);
    for (const pause of [1_000, 2_000, 4_000, 4_000]) {
      expect(bench.receivers.begin("down")).toMatchObject({ retryAfter_ms: pause + 100 });
      bench.clock.advance(pause);
      fail(bench, 1);
    }
    bench.clock.advance(4_000);
    exchange(bench, "down", "passed", 0);
    fail(bench, 2);
    expect(bench.receivers.begin("down")).toMatchObject({ retryAfter_ms: 1_100 });
  });

  test("a gate knows since when a receiver is down, through all pauses, until it answers", () => {
    const bench = setUp();
    expect(fullAt(bench)).toMatchObject({ reason: "full", down_ms: 0 });
    fail(bench, 2);
    expect(bench.receivers.begin("down")).toMatchObject({ reason: "down", down_ms: 0 });
    for (const pause of [1_000, 2_000]) {
      bench.clock.advance(pause);
      fail(bench, 1);
    }
    expect(bench.receivers.begin("down")).toMatchObject({ reason: "down", down_ms: 3_000 });
    bench.clock.advance(4_000);
    const probe = begun(bench.receivers.begin("down"));
    expect(bench.receivers.begin("down"), "one asks whether it is back").toMatchObject({ down_ms: 7_000 });
    place(enter(probe)).leave("passed");
    probe.end();
    fail(bench, 2);
    expect(bench.receivers.begin("down")).toMatchObject({ reason: "down", down_ms: 0 });
  });

  test("attempts that were under way when the breaker opened do not make the pause longer", () => {
    const bench = setUp({ attempts_receiver_first: 3 });
    const places = Array.from({ length: 3 }, () => place(enter(begun(bench.receivers.begin("a")))));
    for (const entry of places) entry.leave("failed");
    expect(bench.receivers.begin("a")).toMatchObject({ retryAfter_ms: 1_100 });
  });
});

describe("a place that is left with nothing sent", () => {
  /** Comes too late for anything to be sent. */
  const miss = ({ receivers, clock }: Bench, own_ms: number): void => {
    const attempt = begun(receivers.begin("a"));
    clock.advance(own_ms);
    const entry = place(enter(attempt));
    clock.advance(1);
    entry.leave();
    attempt.end();
  };

  test("a place that is left with nothing sent says nothing of the receiver, however often: as many go there as before", () => {
    const bench = setUp();
    exchange(bench, "a", "passed", 10, 10);
    const before = bench.receivers.capacityOf("a");
    for (let n = 0; n < 10; n += 1) miss(bench, 60_000);
    expect(bench.receivers.capacityOf("a")).toEqual(before);
    expect(bench.receivers.open()).toBe(0);
  });

  test("a place that is left with nothing sent goes to the next that waits, also after the pause of one that was down", () => {
    const bench = setUp();
    exchange(bench, "a", "failed", 0);
    exchange(bench, "a", "failed", 0);
    bench.clock.advance(1_000);
    miss(bench, 0);
    const probe = place(enter(begun(bench.receivers.begin("a"))));
    expect(bench.receivers.begin("a")).toMatchObject({ kind: "later", reason: "down" });
    probe.leave("passed");
    expect(bench.receivers.open()).toBe(0);
  });
});

test("only so many receivers are remembered, and never one that is being talked to is forgotten", () => {
  const { receivers } = setUp();
  const kept = [begun(receivers.begin("kept")), begun(receivers.begin("kept"))];
  for (let i = 0; i < 100; i += 1) begun(receivers.begin(`r${i}`)).end();
  expect(receivers.begin("kept").kind).toBe("later");
  for (const attempt of kept) attempt.end();
});
