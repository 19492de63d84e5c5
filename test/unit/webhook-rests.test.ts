/** How long a node that delivers webhooks waits between two claims: it depends on what was taken, never on a clock. */
import { expect, test } from "vitest";

import { LIMITS } from "../../engine/base/limits.js";
import { restAfter } from "../../engine/events/webhooks/deliverer.js";

const taken = (...endpointIds: readonly string[]) => endpointIds.map((endpointId) => ({ endpointId }));
const { webhook_claim_rest_ms: short, webhook_claim_idle_rest_ms: long, webhook_per_endpoint: each } = LIMITS;
const full = Array.from({ length: each }, () => "one");

test("who has found nothing that is due waits to be told", () => {
  expect(restAfter([], 64, [])).toBe(0);
});

test("who has taken everything that was due lets more come together before the next claim", () => {
  expect(short).toBeLessThan(long);
  expect(restAfter(taken("one", "two"), 64, ["one", "two"])).toBe(long);
});

test("a node whose places are all taken looks again soon", () => {
  expect(restAfter(taken("one", "two"), 2, ["one", "two"])).toBe(short);
});

test("one endpoint with more due than its places is not held up: its next deliveries are claimed soon", () => {
  expect(restAfter(taken(...full), 64, full)).toBe(short);
  expect(restAfter(taken("one"), 64, full)).toBe(short);
});

test("an endpoint that hangs with all its places, and of which nothing was taken, makes nobody hurry", () => {
  expect(restAfter(taken("two"), 64, [...full, "two"])).toBe(long);
});
