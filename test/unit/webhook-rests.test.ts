/** How long a node that delivers webhooks waits between two claims: it depends on what was taken, never on a clock. */
import { expect, test } from "vitest";

import { LIMITS } from "../../engine/base/limits.js";
import { claimAgainAfter, isWantedPlace } from "../../engine/events/webhooks/deliverer.js";

const { webhook_claim_rest_ms: short, webhook_claim_idle_rest_ms: long } = LIMITS;
/** Deliveries to endpoints, each of an owner of its own unless one is named. */
const taken = (endpointIds: readonly string[], ownerId?: string) =>
  endpointIds.map((endpointId) => ({ endpointId, ownerId: ownerId ?? endpointId }));
const full = taken(Array.from({ length: LIMITS.webhook_per_endpoint }, () => "one"));
const crowd = taken(
  Array.from({ length: LIMITS.webhook_per_owner }, (_, n) => `place ${n}`),
  "integrator",
);

test("who has found nothing that is due waits to be told", () => {
  expect(claimAgainAfter([], 64, [])).toBe(0);
});

test("who has taken everything that was due lets more come together before the next claim", () => {
  const two = taken(["one", "two"]);
  expect(short).toBeLessThan(long);
  expect(claimAgainAfter(two, 64, two)).toBe(long);
});

test("a node whose places are all taken looks again soon", () => {
  const two = taken(["one", "two"]);
  expect(claimAgainAfter(two, 2, two)).toBe(short);
});

test("one endpoint with more due than its places is not held up: its next deliveries are claimed soon", () => {
  expect(claimAgainAfter(full, 64, full)).toBe(short);
  expect(claimAgainAfter(taken(["one"]), 64, full)).toBe(short);
});

test("an integrator with a place for each customer is not held up either when its share is full", () => {
  const few = crowd.slice(LIMITS.webhook_owner_first + 1);
  expect(claimAgainAfter(crowd, 64, crowd)).toBe(short);
  expect(claimAgainAfter(few, 64, few)).toBe(long);
});

test("an endpoint that hangs with all its places, and of which nothing was taken, makes nobody hurry", () => {
  expect(claimAgainAfter(taken(["two"]), 64, [...full, ...taken(["two"])])).toBe(long);
});

test("an end leads to a claim where its endpoint, its owner or its node was full, and not where another was", () => {
  const [[one], [two], [customer]] = [full, taken(["two"]), crowd];
  if (one === undefined || two === undefined || customer === undefined) throw new Error("nobody is under way");
  const left = { isShort: false, underWay: [...full, two] };
  expect(isWantedPlace(one, left)).toBe(true);
  expect(isWantedPlace(two, left)).toBe(false);
  expect(isWantedPlace(two, { ...left, isShort: true })).toBe(true);
  expect(isWantedPlace(customer, { isShort: false, underWay: crowd })).toBe(true);
});
