/** Whose documents are claimed next: turns of firms and receivers, and places. */
import { describe, expect, test } from "vitest";

import { createPlaces, shareOut } from "../../../../engine/documents/delivery/claims.js";
import type { FirmLanes, ReceiverCapacity } from "../../../../engine/documents/delivery/claims.js";
import type { FirmId } from "../../../../engine/base/ids.js";

const firm = (name: string, lanes: Readonly<Record<string, number>>): FirmLanes => ({
  firmId: name as FirmId,
  lanes: Object.entries(lanes).map(([receiver, ready]) => ({ receiver, ready })),
});
const quick = (receiver: string): ReceiverCapacity => ({ key: receiver, places: 64, typical_ms: 50 });

describe("shares", () => {
  test("a firm with a hundred thousand documents and one with a single one get their first places in the same turn", () => {
    const shares = shareOut([firm("many", { a: 100_000 }), firm("one", { a: 1 })], createPlaces(3, 1_000), quick);
    expect(shares).toEqual([
      { firmId: "many", receiver: "a", count: 1 },
      { firmId: "one", receiver: "a", count: 1 },
    ]);
  });

  test("a firm's receivers take turns", () => {
    const shares = shareOut([firm("f", { a: 100, b: 100, c: 1 })], createPlaces(96, 1_000), (key) => ({
      key,
      places: 4,
      typical_ms: 50,
    }));
    expect(shares.map(({ count }) => count)).toEqual([4, 4, 1]);
  });

  test("nothing is claimed for a receiver without places, and nothing twice", () => {
    const shares = shareOut([firm("f", { down: 100_000, up: 2 })], createPlaces(96, 1_000), (receiver) =>
      receiver === "down" ? { key: "down", places: 0, typical_ms: 50 } : quick(receiver),
    );
    expect(shares).toEqual([{ firmId: "f", receiver: "up", count: 2 }]);
  });

  test("participants of one access point share its places, and those that are taken count", () => {
    const places = createPlaces(96, 1_000);
    const ap: ReceiverCapacity = { key: "ap", places: 5, typical_ms: 50 };
    const giveBack = places.take(ap);
    const count = (): number =>
      shareOut([firm("f", { a: 9, b: 9 })], places, () => ap).reduce((sum, share) => sum + share.count, 0);
    expect(count()).toBe(4);
    expect(count(), "asking holds no place").toBe(4);
    giveBack();
    giveBack();
    expect(count()).toBe(5);
  });
});

describe("places", () => {
  const fill = (capacity: ReceiverCapacity, places = createPlaces(96, 1_000)): number => {
    let count = 0;
    while (places.isFree(capacity)) {
      places.take(capacity);
      count += 1;
    }
    return count;
  };
  const capacity = (key: string, typical_ms: number | undefined): ReceiverCapacity => ({
    key,
    places: 1_000,
    typical_ms,
  });

  test("one receiver alone gets two thirds of them", () => {
    expect(fill(capacity("a", 50))).toBe(64);
  });

  test("slow ones together, however many, leave half of them to quick ones", () => {
    const places = createPlaces(96, 1_000);
    let slow = 0;
    for (let i = 0; i < 1_000; i += 1) slow += fill(capacity(`slow${i}`, 60_000), places);
    expect(slow).toBeLessThanOrEqual(49);
    expect(fill(capacity("quick", 50), places)).toBeGreaterThanOrEqual(24);
  });

  test("ten thousand receivers that nobody knows leave places to those that answer quickly", () => {
    const places = createPlaces(96, 1_000);
    for (let i = 0; i < 10_000; i += 1) fill({ key: `new${i}`, places: 2, typical_ms: undefined }, places);
    expect(places.free()).toBe(24);
    expect(fill(capacity("quick", 50), places)).toBeGreaterThanOrEqual(16);
  });
});
