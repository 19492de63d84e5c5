import { expect, test } from "vitest";

import type { FirmId } from "../../../../engine/base/ids.js";
import { LIMITS } from "../../../../engine/base/limits.js";
import { createAgenda, restAfter } from "../../../../engine/documents/delivery/agenda.js";
import { createPlaces } from "../../../../engine/documents/delivery/claims.js";
import type { FirmLanes, ReceiverCapacity } from "../../../../engine/documents/delivery/claims.js";

const firm = (name: string, ...lanes: readonly (readonly [receiver: string, ready: number])[]): FirmLanes => ({
  firmId: name as FirmId,
  lanes: lanes.map(([receiver, ready]) => ({ receiver, ready })),
});
/** A receiver with an access point of its own, which is known. */
const wide = (receiver: string): ReceiverCapacity => ({
  key: `https://${receiver}.example/as4`,
  places: 100,
  typical_ms: undefined,
});

/** More than any lane here has. */
const COUNTED = 32;

test("what one look found is claimed to its end by many claims, and no more often than it was found", () => {
  const agenda = createAgenda();
  agenda.renew([firm("a", ["r1", 5], ["r2", 2]), firm("b", ["r1", 1])], COUNTED);
  const claimed = new Map<string, number>();
  let claims = 0;
  while (!agenda.isEmpty()) {
    const shares = agenda.shares(createPlaces(2, 1), wide);
    for (const { firmId, receiver, count } of shares)
      claimed.set(`${firmId} ${receiver}`, (claimed.get(`${firmId} ${receiver}`) ?? 0) + count);
    agenda.served(shares, shares);
    claims += 1;
    expect(claims).toBeLessThan(20);
  }
  expect(Object.fromEntries(claimed)).toEqual({ "a r1": 5, "a r2": 2, "b r1": 1 });
});

test("firms that were served wait until the others were", () => {
  const agenda = createAgenda();
  agenda.renew([firm("a", ["r", 3]), firm("b", ["r", 3]), firm("c", ["r", 3])], COUNTED);
  const order: string[] = [];
  for (let i = 0; i < 6; i += 1) {
    const shares = agenda.shares(createPlaces(1, 1), wide);
    order.push(...shares.map(({ firmId }) => firmId));
    agenda.served(shares, shares);
  }
  expect(order).toEqual(["a", "b", "c", "a", "b", "c"]);
});

test.each([
  ["firms", () => ["a", "b", "c"].map((name) => firm(name, ["r", 9])), ["a r", "b r", "c r"]],
  ["receivers of a firm", () => [firm("a", ["r1", 9], ["r2", 9], ["r3", 9])], ["a r1", "a r2", "a r3"]],
])(
  "%s that have more than there are places for are served in turn, also when each look finds all of them again",
  (_who, found, expected) => {
    for (const looks of [1, 6]) {
      const agenda = createAgenda();
      const order: string[] = [];
      for (let i = 0; i < 6; i += 1) {
        if (i < looks) agenda.renew(found(), COUNTED);
        const shares = agenda.shares(createPlaces(1, 1), wide);
        order.push(...shares.map(({ firmId, receiver }) => `${firmId} ${receiver}`));
        agenda.served(shares, shares);
      }
      expect(order).toEqual([...expected, ...expected]);
    }
  },
);

test("a firm that comes while others wait for their turn is served before those that had one", () => {
  const agenda = createAgenda();
  const order: string[] = [];
  for (const names of ["ac", "ac", "abc", "abc", "abc"]) {
    agenda.renew(
      [...names].map((name) => firm(name, ["r", 9])),
      COUNTED,
    );
    const shares = agenda.shares(createPlaces(1, 1), wide);
    order.push(...shares.map(({ firmId }) => firmId));
    agenda.served(shares, shares);
  }
  expect(order).toEqual(["a", "c", "b", "a", "c"]);
});

/** How often each lane is served in so many looks, one place at each receiver but a dead one. */
function servedIn(looks: number, found: (look: number) => readonly FirmLanes[]): Record<string, number> {
  const agenda = createAgenda();
  const served: Record<string, number> = {};
  for (let look = 0; look < looks; look += 1) {
    agenda.renew(found(look), COUNTED);
    const shares = agenda.shares(createPlaces(64), (receiver) => ({
      ...wide(receiver),
      places: receiver === "dead" ? 0 : 1,
    }));
    agenda.served(shares, shares);
    for (const { firmId, receiver } of shares)
      served[`${firmId} ${receiver}`] = (served[`${firmId} ${receiver}`] ?? 0) + 1;
  }
  return served;
}

test("what a firm is served at one receiver, or cannot be served at another, moves no turn at a third", () => {
  const beside = ["b", "c", "d"].map((name) => firm(name, ["r", 9]));
  expect(servedIn(30, () => [...beside, firm("z", ["s", 9])])).toEqual({ "b r": 10, "c r": 10, "d r": 10, "z s": 30 });
  expect(servedIn(30, () => [firm("a", ["r", 9], ["s", 9]), firm("b", ["r", 9])])).toEqual({
    ...{ "a r": 15, "b r": 15 },
    "a s": 30,
  });
  expect(servedIn(30, () => [firm("a", ["dead", 9], ["r", 9]), firm("b", ["r", 9])])).toEqual({ "a r": 15, "b r": 15 });
});

test.each([1, 2, 3])(
  "a firm with thousands of receivers at one access point has no more turns there than one with one receiver; free places: %s",
  (free) => {
    const agenda = createAgenda();
    const receivers = Array.from({ length: 2_000 }, (_, index) => `r${index}`);
    const order: string[] = [];
    for (let at = 0; order.length < 120; at += 8) {
      const many = receivers.slice(at, at + 8).map((receiver) => [receiver, 1] as const);
      agenda.renew([firm("large", ...many), firm("small", ["s", 9])], COUNTED);
      for (let claims = 0; claims < 4; claims += 1) {
        const shares = agenda.shares(createPlaces(64), () => ({ ...wide("access point"), places: free }));
        for (const { firmId, count } of shares) order.push(...Array.from({ length: count }, () => firmId as string));
        agenda.served(shares, shares);
      }
    }
    const small = order.filter((name) => name === "small").length / order.length;
    expect(small).toBeGreaterThanOrEqual(free === 3 ? 1 / 3 : 0.45);
  },
);

test("where the node has one place, a firm that sends to a hundred access points has no more turns than those that send to one", () => {
  const agenda = createAgenda();
  const claimed: Record<string, number> = {};
  for (let look = 0; look < 300; look += 1) {
    const many = Array.from({ length: 8 }, (_, index) => [`r${(look * 8 + index) % 100}`, 1] as const);
    agenda.renew([firm("a", ...many), firm("b", ["b", 9]), firm("c", ["c", 9])], COUNTED);
    const shares = agenda.shares(createPlaces(1, 1), wide);
    for (const { firmId, count } of shares) claimed[firmId] = (claimed[firmId] ?? 0) + count;
    agenda.served(shares, shares);
  }
  expect(claimed).toEqual({ a: 100, b: 100, c: 100 });
});

test("firms whose receivers nobody has looked up yet have no more turns than one whose receiver is the same each time", () => {
  const agenda = createAgenda();
  const places = createPlaces(96);
  const unknown = (receiver: string): ReceiverCapacity => ({ ...wide(receiver), key: receiver, places: 2 });
  // So many that one more is let to whoever is not known.
  for (let index = 0; index < 71; index += 1) places.take(unknown(`held ${index}`));
  const claimed: Record<string, number> = {};
  for (let look = 0; look < 300; look += 1) {
    const fresh = (name: string) =>
      firm(name, ...Array.from({ length: 8 }, (_, index) => [`${name}${look * 8 + index}`, 1] as const));
    agenda.renew([fresh("a"), fresh("b"), firm("c", ["c", 9])], COUNTED);
    const shares = agenda.shares(places, unknown);
    for (const { firmId, count } of shares) claimed[firmId] = (claimed[firmId] ?? 0) + count;
    agenda.served(shares, shares);
  }
  expect(claimed).toEqual({ a: 100, b: 100, c: 100 });
});

test("firms that no one look finds together have their turns at one receiver all the same", () => {
  const names = Array.from({ length: 8 }, (_, index) => `f${index}`);
  const halves = [names.slice(0, 4), names.slice(4)].map((half) => half.map((name) => firm(name, ["r", 9])));
  expect(servedIn(80, (look) => halves[look % 2] ?? [])).toEqual(
    Object.fromEntries(names.map((name) => [`${name} r`, 10])),
  );
});

test("documents for a receiver that has no place stay on the agenda, and hold up nobody else's", () => {
  const agenda = createAgenda();
  agenda.renew([firm("a", ["full", 4]), firm("b", ["free", 1])], COUNTED);
  const capacityOf = (receiver: string): ReceiverCapacity => ({
    ...wide(receiver),
    places: receiver === "full" ? 0 : 9,
  });
  const shares = agenda.shares(createPlaces(9, 1), capacityOf);
  expect(shares).toEqual([{ firmId: "b", receiver: "free", count: 1 }]);
  agenda.served(shares, shares);
  expect(agenda.isEmpty()).toBe(false);
  expect(agenda.shares(createPlaces(9, 1), capacityOf)).toEqual([]);
  expect(agenda.shares(createPlaces(9, 1), wide)).toEqual([{ firmId: "a", receiver: "full", count: 4 }]);
});

test("a lane of which a look counted as many as it counts at most may have more once they are claimed, and only then", () => {
  const agenda = createAgenda();
  const places =
    (free: number) =>
    (receiver: string): ReceiverCapacity => ({
      ...wide(receiver),
      places: receiver === "dead" ? 0 : free,
    });
  agenda.renew([firm("a", ["dead", 4], ["long", 4], ["short", 3])], 4);
  const short = agenda.shares(createPlaces(1, 1), places(1));
  agenda.served(short, short);
  expect([agenda.hasEndedShort(), agenda.isEmpty()]).toEqual([false, false]);
  for (let shares = short; shares.length > 0;) {
    shares = agenda.shares(createPlaces(9, 1), places(9));
    agenda.served(shares, shares);
  }
  expect([agenda.hasEndedShort(), agenda.isEmpty()]).toEqual([true, false]);
  agenda.renew([firm("a", ["dead", 4], ["long", 3])], 4);
  const long = agenda.shares(createPlaces(9, 1), places(9));
  agenda.served(long, long);
  expect(agenda.hasEndedShort(), "all of the long one are claimed, and the dead one is still there").toBe(false);
});

test("a firm whose document was passed over keeps its turn, and does not stand on the agenda until it is found again", () => {
  const agenda = createAgenda();
  agenda.renew([firm("a", ["r", 2]), firm("b", ["r", 2])], COUNTED);
  const both = agenda.shares(createPlaces(2, 1), wide);
  agenda.served(both, [{ firmId: "b" as FirmId, receiver: "r" }]);
  expect(agenda.shares(createPlaces(1, 1), wide)).toEqual([{ firmId: "a", receiver: "r", count: 1 }]);
  agenda.served(agenda.shares(createPlaces(2, 1), wide), []);
  expect(agenda.isEmpty()).toBe(true);
});

test("what a new look found replaces what the last one had found", () => {
  const agenda = createAgenda();
  agenda.renew([firm("a", ["r", 4])], COUNTED);
  agenda.renew([firm("a", ["r", 1]), firm("b", ["r", 0])], COUNTED);
  expect(agenda.shares(createPlaces(9, 1), wide)).toEqual([{ firmId: "a", receiver: "r", count: 1 }]);
});

test("looks have a tenth of the time at the most, and nobody waits for one longer than its longest rest", () => {
  expect(restAfter(2) + 2).toBe(20);
  expect(restAfter(10_000)).toBe(LIMITS.lane_look_rest_max_ms);
  expect(restAfter(0)).toBe(0);
});
