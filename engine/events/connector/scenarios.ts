/**
 * What a test delivery asks of its receiver, how it is made, and what must have come of it. The receiver reads the
 * scenario in X-Webhook-Test-Scenario and the number of the attempt in X-Webhook-Attempt.
 */
import { LIMITS } from "../../base/limits.js";
import type { TestScenario } from "../../storage/events/dispatch.js";

/** What an attempt of a test may come to: an exact status, any that takes the event, a refusal, no answer in time. */
type Expected = 422 | 429 | 503 | "2xx" | "401 or 403" | "timeout";

interface ScenarioRow {
  /** What each attempt must come to, in their order; there are no others. */
  readonly expected: readonly Expected[];
  /** What the receiver is asked for. */
  readonly ask: string;
  /** Until an attempt without an answer is given up. @default that of every call */
  readonly timeout_ms?: number;
  /** Whether the signature is not that of the secret. @default false */
  readonly forges?: true;
  /** Whether an event that was taken is sent once more. @default false */
  readonly repeats?: true;
}

/** @source spec/rulings.md, section 11, Webhook: scenarios; spec/enterprise.md, Events: Consumer rules */
export const SCENARIOS: Readonly<Record<TestScenario, ScenarioRow>> = {
  success: { expected: ["2xx"], ask: "Take the event and answer 2xx." },
  deduplication: {
    expected: ["2xx", "2xx"],
    ask: "Answer 2xx both times; the second time the id in X-Webhook-Event-Id is known, and nothing else happens.",
    repeats: true,
  },
  retry_503: { expected: [503, "2xx"], ask: "Answer 503 to the first attempt and 2xx to the second." },
  rate_limit_429: {
    expected: [429, "2xx"],
    ask: "Answer 429 with Retry-After to the first attempt and 2xx to the second.",
  },
  terminal_422: { expected: [422], ask: "Answer 422, as to an event that your program can never take." },
  timeout: {
    expected: ["timeout", "2xx"],
    ask: `Answer the first attempt after more than ${LIMITS.connector_test_timeout_ms / 1_000} seconds, or not at all, and the second with 2xx.`,
    timeout_ms: LIMITS.connector_test_timeout_ms,
  },
  signature: {
    expected: ["401 or 403"],
    ask: "The signature is wrong on purpose: answer 401 or 403, and take nothing of the event.",
    forges: true,
  },
};

/** How a delivery is made. */
interface Manner {
  readonly attempts_max: number;
  readonly timeout_ms: number | undefined;
  readonly forges: boolean;
  /** Whether it is sent again after an attempt that was taken. */
  readonly repeatsAfter: (attempt: number) => boolean;
}

const AS_EVER: Manner = {
  attempts_max: LIMITS.webhook_attempts_max,
  timeout_ms: undefined,
  forges: false,
  repeatsAfter: () => false,
};

/** How a delivery is made; null for what really happened. */
export function mannerOf(scenario: TestScenario | null): Manner {
  if (scenario === null) return AS_EVER;
  const { expected, timeout_ms, forges = false, repeats = false } = SCENARIOS[scenario];
  return {
    attempts_max: LIMITS.connector_test_attempts_max,
    timeout_ms,
    forges,
    repeatsAfter: (attempt) => repeats && attempt < expected.length,
  };
}

/** Whether what an attempt came to is what was expected of it. @param seen  the status, or the short code of a fault */
export function isExpected(expected: Expected | undefined, seen: number | string | null): boolean {
  if (expected === "2xx") return typeof seen === "number" && seen >= 200 && seen < 300;
  return expected === "401 or 403" ? seen === 401 || seen === 403 : expected !== undefined && seen === expected;
}
