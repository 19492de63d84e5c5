/** What a node knows of its attempts: each begins once and ends once, and what it held is given back with its end. */
import { expect, test } from "vitest";

import type { EndedAttempt } from "../../../actors/delivery/attempt.js";
import { Doubt } from "../../../actors/delivery/doubt.js";
import { AttemptOctets } from "../../../actors/delivery/octets.js";
import { Working } from "../../../actors/delivery/working.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { budget } from "../../../engine/base/memory/budgets.js";
import type { TakenAttempt } from "../../../engine/documents/delivery/due.js";

/** A claim of one document; `version` tells two of the same document apart. */
const taken = (version: number, payloadBytes = 10): TakenAttempt =>
  ({ id: "document", version, payloadBytes }) as TakenAttempt;

function node() {
  const octets = new AttemptOctets();
  const ended: EndedAttempt[] = [];
  const given: number[] = [];
  const working = new Working(octets, (end) => ended.push(end));
  const add = (version: number, payloadBytes?: number) =>
    working.add(taken(version, payloadBytes), () => given.push(version));
  return { octets, ended, given, working, add };
}

test("an attempt begins once and ends once, and with its end its place and its octets are free", () => {
  const { octets, ended, given, working, add } = node();
  const before = octets.room();
  const attempt = add(1);
  expect(octets.room().bytes).toBe(before.bytes - 10);
  expect([attempt?.start(), attempt?.start()]).toEqual([true, false]);
  attempt?.end();
  attempt?.end();
  expect(attempt?.start(), "what is over is not begun").toBe(false);
  expect([given, ended, working.isAt(taken(1).id), octets.room()]).toEqual([
    [1],
    [{ isTakenAgain: false }],
    false,
    before,
  ]);
});

test("a document that is taken again while its attempt is under way is not given a second one, and the end tells of it", () => {
  const { octets, ended, given, add } = node();
  const before = octets.room();
  const attempt = add(1);
  attempt?.start();
  expect(add(2)).toBeUndefined();
  expect(given, "the second's place is free at once").toEqual([2]);
  attempt?.end();
  expect([given, ended, octets.room()]).toEqual([[2, 1], [{ isTakenAgain: true }], before]);
});

test("a document that is taken again before its attempt has begun is attempted by the second claim alone", () => {
  const { octets, given, working, add } = node();
  const before = octets.room();
  const first = add(1);
  const second = add(2);
  expect([given, first?.start(), second?.start(), working.isAt(taken(2).id)]).toEqual([[1], false, true, true]);
  first?.end();
  expect(working.isAt(taken(2).id), "the end of the first is not that of the second").toBe(true);
  second?.end();
  expect([given, octets.room()]).toEqual([[1, 2], before]);
});

test("one attempt at a time goes although it has more octets than are left, and leaves the others theirs", () => {
  const octets = new AttemptOctets();
  const shared = budget("attempt_bytes_max") - LIMITS.payload_bytes_max;
  const giveBack = octets.hold(shared);
  expect(octets.room()).toEqual({ bytes: 0, one: true });
  const giveLargeBack = octets.hold(LIMITS.payload_bytes_max);
  expect(octets.room()).toEqual({ bytes: 0, one: false });
  giveBack();
  giveBack();
  expect(octets.room()).toEqual({ bytes: shared, one: false });
  giveLargeBack();
  expect(octets.room()).toEqual({ bytes: shared, one: true });
});

test("a node is idle when no attempt is under lease and none may come by what was set aside", async () => {
  const { working, add } = node();
  let isIdle = false;
  const giveBack = working.setAside(10);
  const idle = working.whenIdle().then(() => {
    isIdle = true;
  });
  giveBack();
  giveBack();
  const attempt = add(1);
  await Promise.resolve();
  expect(isIdle, "the attempt came in the turn in which its octets were given back").toBe(false);
  attempt?.end();
  await idle;
});

test("a doubt is told of once while it lasts, and until a look has begun after it the next one is soon", () => {
  let now = 0;
  let told = 0;
  const doubt = new Doubt({ monotonic: () => now }, () => {
    told += 1;
  });
  expect(doubt.wait_ms(now)).toBe(LIMITS.lease_look_ms);
  doubt.raise();
  doubt.raise();
  expect([told, doubt.wait_ms(now)]).toEqual([1, LIMITS.lease_look_soon_ms]);
  now = LIMITS.lease_young_ms + LIMITS.lease_look_soon_ms;
  expect(doubt.wait_ms(now - 1)).toBe(LIMITS.lease_look_soon_ms);
  expect(doubt.wait_ms(now)).toBe(LIMITS.lease_look_ms);
  doubt.raise();
  expect(told).toBe(2);
});
