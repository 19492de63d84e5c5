/** What an answer of a receiver, or its absence, means for a delivery. @source spec/rulings.md, section 10 */
import type { Instant } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import type { HttpFault, HttpResult } from "../../peppol/network/http.js";
import type { EndpointHealth } from "../../storage/events/dispatch.js";

/** Answers after which it is tried again; anything else but 2xx ends the delivery. */
const RETRIED_STATUSES: readonly number[] = [408, 425, 429, 502, 503, 504];

/** Faults after which nothing is tried again: the URL itself is not called. */
const BLOCKED: readonly HttpFault[] = ["bad_url", "address_refused"];

/** What an attempt came to. `disable`: the receiver says that it is gone. */
export interface DeliveryVerdict {
  readonly kind: "delivered" | "again" | "never";
  readonly disable: boolean;
  /** Why it was not delivered, a short code. */
  readonly cause: string | undefined;
  readonly health: EndpointHealth;
  /** What the receiver asked for. */
  readonly retryAfter_ms: number | undefined;
}

/** The end of a date that names no zone, as the oldest of HTTP's three forms. @source RFC 9110, section 5.6.7 */
const WITHOUT_ZONE = /(?<![+-]\d\d):\d\d(?:\.\d+)?(?: \d{4})?$/;

/** Reads `Retry-After`, seconds or a date, of a stranger. @returns undefined for what is neither */
function retryAfterOf(header: string | undefined, now: Instant): number | undefined {
  const text = header?.trim() ?? "";
  const date = WITHOUT_ZONE.test(text) ? `${text}Z` : text;
  const wait = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(date) - now;
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, 0), LIMITS.webhook_retry_after_max_ms);
}

/** Judges the result of an attempt. */
export function verdictOf(result: HttpResult, now: Instant): DeliveryVerdict {
  const none = { disable: false, retryAfter_ms: undefined };
  if (result.kind === "failed")
    return BLOCKED.includes(result.fault)
      ? { ...none, kind: "never", cause: "url_blocked", health: "unknown" }
      : { ...none, kind: "again", cause: result.fault, health: "ill" };
  const { status } = result;
  if (status >= 200 && status < 300) return { ...none, kind: "delivered", cause: undefined, health: "well" };
  const cause = `status_${status}`;
  if (RETRIED_STATUSES.includes(status))
    return { kind: "again", disable: false, cause, health: "ill", retryAfter_ms: retryAfterOf(result.retryAfter, now) };
  return { ...none, kind: "never", disable: status === 410, cause, health: "well" };
}

/**
 * How long a delivery waits for its next attempt; undefined when the plan is used up. A receiver may ask for more than
 * the plan has, not for less.
 * @param attempt  the one that has failed, from 1
 * @param random  from 0 to 1
 */
export function waitAfterAttempt(
  attempt: number,
  retryAfter_ms: number | undefined,
  random: () => number,
): number | undefined {
  const planned = LIMITS.webhook_plan_ms[attempt - 1];
  if (planned === undefined) return undefined;
  const jittered = planned * (1 + LIMITS.retry_jitter_share * (2 * random() - 1));
  return Math.round(Math.max(jittered, retryAfter_ms ?? 0));
}
