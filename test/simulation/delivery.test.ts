/**
 * The dispatcher among receivers of every kind, in virtual time. Goal: whatever others do and whatever happens to us, a
 * quick receiver gets its documents at its own pace, and a slow one is not overrun. Method: the real gate and the real
 * shares in a world of seeded receivers and disturbances; a failing seed is printed,
 * and SEED=… begins there; KURIER_TEST_SEEDS says how many.
 */
import { expect, test } from "vitest";

import { DeliveryWorld } from "../support/worlds/delivery-world.js";
import type { PeerNature, PeerRecord } from "../support/worlds/delivery-world.js";
import { Random, seedFrom } from "../support/random.js";

/** Worlds, each of 26 virtual seconds. */
const SEEDS = Number(process.env["KURIER_TEST_SEEDS"] ?? "1000");
const FIRST_SEED = seedFrom(20_261_122);

const END_MS = 26_000;
/** Everything that happens to us or to a quick receiver happens between these times. */
const DISTURBED_MS = { from: 6_000, to: 16_000 };
/** By then after a disturbance everything must be well again. */
const RECOVERY_MS = 5_000;

interface Quick extends PeerNature {
  readonly usual_ms: number;
}

interface World {
  readonly world: DeliveryWorld;
  readonly quick: readonly Quick[];
  readonly slow: readonly PeerNature[];
  readonly disturbance: string;
}

const constant =
  (service_ms: number | undefined): PeerNature["service_ms"] =>
  () =>
    service_ms;
const record = ({ world }: World, { name }: PeerNature): PeerRecord => {
  const found = world.records.get(name);
  if (found === undefined) throw new Error(`nobody is called ${name}`);
  return found;
};

const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

/** Between these two times something is wrong. */
const during = (now: number, from: number, to: number): boolean => now >= from && now < to;

function worldOf(seed: number): World {
  const random = new Random(seed);
  const disturbance = random.pick(["none", "our own work is slow", "quick ones are slow", "failures", "restart"]);
  const from = DISTURBED_MS.from + random.int(4_000);
  const to = Math.min(DISTURBED_MS.to, from + 500 + random.int(5_000));
  const usualOwn_ms = 1 + random.int(40);
  const quick = many(1 + random.int(2), (i): Quick => {
    const usual_ms = 40 + random.int(110);
    return {
      name: `quick${i}`,
      servers: 2 + random.int(5),
      backlog: 64,
      usual_ms,
      service_ms: (now) => (disturbance === "quick ones are slow" && during(now, from, to) ? usual_ms * 30 : usual_ms),
      resets: (now) => disturbance === "failures" && during(now, from, to) && random.next() < 0.08,
    };
  });
  const slow = many(random.int(6), (i): PeerNature => {
    const servers = 1 + random.int(8);
    return {
      name: `slow${i}`,
      servers,
      backlog: Math.max(2, Math.ceil(servers / 2)),
      service_ms: constant(1_500 + random.int(15_000)),
    };
  });
  const others = [
    ...many(random.int(5), (i): PeerNature => ({
      name: `dead${i}`,
      servers: 1,
      backlog: 0,
      service_ms: constant(undefined),
    })),
    ...many(random.int(4), (i): PeerNature => {
      const period = 200 + random.int(3_000);
      return {
        name: `flapping${i}`,
        servers: 4,
        backlog: 8,
        service_ms: constant(50 + random.int(2_000)),
        resets: (now) => Math.floor(now / period) % 2 === 1,
      };
    }),
  ];
  const world = new DeliveryWorld(random, [...quick, ...slow, ...others], (now) =>
    disturbance === "our own work is slow" && during(now, from, to) ? 1_500 : usualOwn_ms,
  );
  if (disturbance === "restart")
    world.at(from, () => {
      world.restart();
    });
  return { world, quick, slow, disturbance };
}

const inWindow = (answers: readonly number[], from: number, to: number): number =>
  answers.filter((at) => during(at, from, to)).length;

test("a quick receiver gets 80 % of what it takes within 5 s of any disturbance, and a slow one never more than it takes", () => {
  const broken: string[] = [];
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
    const one = worldOf(seed);
    one.world.runUntil(END_MS);
    const windows = [
      [RECOVERY_MS, DISTURBED_MS.from],
      [DISTURBED_MS.to + RECOVERY_MS, END_MS],
    ] as const;
    for (const peer of one.quick)
      for (const [from, to] of windows) {
        const capacity = ((to - from) * peer.servers) / peer.usual_ms;
        const share = inWindow(record(one, peer).answers, from, to) / capacity;
        if (share < 0.8)
          broken.push(
            `SEED=${seed} (${one.disturbance}): ${peer.name} got ${Math.round(share * 100)} % from ${from} ms on`,
          );
      }
    for (const peer of one.slow) {
      const takes = peer.servers + peer.backlog;
      if (record(one, peer).onWireMax > takes)
        broken.push(
          `SEED=${seed} (${one.disturbance}): ${peer.name} takes ${takes} and had ${record(one, peer).onWireMax}`,
        );
    }
  }
  expect(broken).toEqual([]);
});

test("our own work, however slow it is, does not make a receiver look slow", () => {
  const random = new Random(FIRST_SEED);
  const quick: PeerNature = { name: "quick", servers: 16, backlog: 64, service_ms: constant(60) };
  const world = new DeliveryWorld(random, [quick], () => 600);
  world.runUntil(20_000);
  const answers = world.records.get("quick")?.answers ?? [];
  // 64 places and 1.26 s an attempt, on average: 50 a second. With eight places, as for a slow receiver, it was 6.
  expect(inWindow(answers, 10_000, 20_000)).toBeGreaterThan(400);
});

test("an unknown receiver is approached with two attempts, and has what it takes within a second", () => {
  const quick: PeerNature = { name: "quick", servers: 20, backlog: 64, service_ms: constant(50) };
  const world = new DeliveryWorld(new Random(FIRST_SEED), [quick], () => 5);
  world.runUntil(40);
  expect(world.records.get("quick")?.attempts).toBe(2);
  world.runUntil(2_000);
  expect(inWindow(world.records.get("quick")?.answers ?? [], 1_000, 2_000)).toBeGreaterThan((0.8 * 20 * 1_000) / 50);
});

test("a receiver that is dead gets one attempt a pause once that is known, however much waits for it", () => {
  const dead: PeerNature = { name: "dead", servers: 1, backlog: 0, service_ms: constant(undefined) };
  const world = new DeliveryWorld(new Random(FIRST_SEED), [dead], () => 5);
  world.runUntil(600_000);
  // Five failures open the breaker; its pauses of 10, 20, 40, 80, 160 and 300 s follow.
  expect(world.records.get("dead")?.attempts).toBeLessThan(16);
});
