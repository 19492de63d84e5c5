/** One attempt at a delivery: make the body, sign it, post it, write what came of it. */
import { setTimeout as pause } from "node:timers/promises";

import { isoInstant } from "../../base/clock.js";
import type { Clock } from "../../base/clock.js";
import { newId, randomUnit } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import type { Metrics } from "../../base/metrics.js";
import { firstChars } from "../../base/text.js";
import type { Http, HttpResult } from "../../peppol/network/http.js";
import type { AttemptReport } from "../../storage/events/attempts.js";
import { settleDelivery } from "../../storage/events/dispatch.js";
import type { ClaimedDelivery, DeliveryEnd } from "../../storage/events/dispatch.js";
import { disableSubscription } from "../../storage/events/subscriptions.js";
import type { Sealer } from "../../storage/sealer.js";
import { isPassing } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { backoff } from "../wake.js";
import { pushedEvent } from "../connector/event.js";
import { recordBeginning, reportOf } from "../connector/record.js";
import { mannerOf } from "../connector/scenarios.js";
import { envelopeOf } from "./envelope.js";
import { signatureOf } from "./signature.js";
import { newSigningSecret, secretContext } from "./subscriptions.js";
import { verdictOf, waitAfterAttempt } from "./verdict.js";
import type { DeliveryVerdict } from "./verdict.js";

/** What an attempt needs of the engine. */
export interface AttemptPorts {
  readonly sql: Sql;
  readonly sealer: Sealer;
  /** The guarded client: it checks addresses when it connects, and follows no redirect. */
  readonly http: Http;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Names this process in leases. */
  readonly owner: string;
  /** From 0 to 1, for the jitter of the plan. @default a random number */
  readonly random?: () => number;
  /** Whether a delivery that is not taken has failed at once. @default false */
  readonly once?: boolean;
  /** Whether this process still has the delivery for this attempt, and not for a later one. @default it has */
  readonly isCurrent?: (claimed: ClaimedDelivery) => boolean;
  /** Of a call as a whole; a shorter one is for tests. @default LIMITS.outbound_total_ms */
  readonly timeout_ms?: number;
}

function secretsOf(
  { sealer }: AttemptPorts,
  claimed: ClaimedDelivery,
): { readonly now: string; readonly old?: string } {
  const open = (keyId: string, sealed: Buffer): string =>
    sealer.open(keyId, sealed, secretContext(claimed.subscriptionId)).toString("utf8");
  const now = open(claimed.secretKeyId, claimed.secretSealed);
  const { oldSecretKeyId, oldSecretSealed } = claimed;
  return oldSecretKeyId === null || oldSecretSealed === null
    ? { now }
    : { now, old: open(oldSecretKeyId, oldSecretSealed) };
}

/** What is sent of a delivery: the Connector's event, or the envelope of the Enterprise interface. */
const bodyOf = (claimed: ClaimedDelivery): Buffer =>
  Buffer.from(JSON.stringify(claimed.customerRef === null ? envelopeOf(claimed) : pushedEvent(claimed)));

/** The exact octets and headers of an attempt. The time is fresh, the id of the event that of every attempt. */
function requestOf(ports: AttemptPorts, claimed: ClaimedDelivery) {
  const body = bodyOf(claimed);
  const timestamp_s = Math.floor(ports.clock.now() / 1_000);
  const { attempts_max, forges } = mannerOf(claimed.scenario);
  const secrets = forges ? { now: newSigningSecret() } : secretsOf(ports, claimed);
  return {
    body,
    timestamp_s,
    headers: {
      "content-type": "application/json; charset=utf-8",
      "content-length": String(body.length),
      "x-webhook-timestamp": String(timestamp_s),
      "x-webhook-signature": signatureOf(secrets.now, timestamp_s, body),
      ...(secrets.old === undefined
        ? {}
        : { "x-webhook-signature-previous": signatureOf(secrets.old, timestamp_s, body) }),
      "x-webhook-event-id": claimed.eventId,
      "x-webhook-id": claimed.deliveryId,
      "x-webhook-attempt": String(claimed.attempt),
      "x-webhook-max-attempts": String(attempts_max),
      ...(claimed.scenario === null ? {} : { "x-webhook-test-scenario": claimed.scenario }),
    },
  };
}

const post = (
  ports: AttemptPorts,
  { url, scenario }: ClaimedDelivery,
  { body, headers }: ReturnType<typeof requestOf>,
): Promise<HttpResult> => {
  const { timeout_ms = ports.timeout_ms } = mannerOf(scenario);
  return ports.http({
    method: "POST",
    url,
    use: "webhook",
    body,
    headers,
    bytes_max: LIMITS.webhook_answer_bytes_max,
    cut: true,
    ...(timeout_ms === undefined ? {} : { timeout_ms }),
  });
};

/** How long a delivery waits for its next attempt; undefined when there is none. */
function waitOf(
  { once, random = randomUnit }: AttemptPorts,
  { attempt, scenario }: ClaimedDelivery,
  { kind, retryAfter_ms }: DeliveryVerdict,
): number | undefined {
  const { attempts_max, repeatsAfter } = mannerOf(scenario);
  if (kind === "delivered") return repeatsAfter(attempt) ? 0 : undefined;
  const isOver = kind === "never" || once === true || attempt >= attempts_max;
  return isOver ? undefined : waitAfterAttempt(attempt, retryAfter_ms, random);
}

/** What an attempt that was made is called in the Connector's record. */
const outcomeOf = (kind: DeliveryVerdict["kind"], wait_ms: number | undefined): AttemptReport["outcome"] =>
  kind === "delivered" ? "SUCCESS" : wait_ms === undefined ? "TERMINAL_FAILURE" : "RETRY_SCHEDULED";

/** What a result means for a delivery, in the words of its row. */
function endOf(ports: AttemptPorts, claimed: ClaimedDelivery, result: HttpResult) {
  const now = ports.clock.now();
  const verdict = verdictOf(result, now);
  const { retryAfter_ms, cause } = verdict;
  const wait_ms = waitOf(ports, claimed, verdict);
  const [outcome, retryable] = [outcomeOf(verdict.kind, wait_ms), verdict.kind === "again"];
  const end: DeliveryEnd = {
    id: claimed.deliveryId,
    owner: ports.owner,
    attempt: claimed.attempt,
    status: wait_ms !== undefined ? "RETRYING" : verdict.kind === "delivered" ? "SUCCESS" : "FAILED",
    wait_ms,
    responseStatus: result.kind === "response" ? result.status : undefined,
    responseBody:
      result.kind === "response"
        ? firstChars(result.body.toString("utf8"), LIMITS.webhook_answer_chars_kept)
        : undefined,
    cause,
    health: verdict.health,
    report: reportOf(claimed, { outcome, result, retryable, retryAfter_ms, wait_ms, cause }, now),
  };
  return { end, disable: verdict.disable };
}

/**
 * What is said of a delivery that is not made: to an integrator that may be told of the firm no more, or one whose
 * attempts were cut off again and again, as by a receiver that ends the process.
 */
const UNSENT = {
  withdrawn: { cause: "consent_withdrawn", health: "unknown", outcome: "AUTHORIZATION_CANCELLED" },
  cutOff: { cause: "attempts_cut_off", health: "ill", outcome: "TERMINAL_FAILURE" },
} as const;

const unsentOf = ({ allowed, cutOff }: ClaimedDelivery): keyof typeof UNSENT | undefined => {
  if (!allowed) return "withdrawn";
  return cutOff ? "cutOff" : undefined;
};

/** The end of a delivery that nothing is sent of. */
function unsent(ports: AttemptPorts, claimed: ClaimedDelivery, why: keyof typeof UNSENT): DeliveryEnd {
  const { cause, health, outcome } = UNSENT[why];
  const ending = { outcome, result: undefined, retryable: false, retryAfter_ms: undefined, wait_ms: undefined, cause };
  return {
    id: claimed.deliveryId,
    owner: ports.owner,
    attempt: claimed.attempt,
    status: "FAILED",
    wait_ms: undefined,
    responseStatus: undefined,
    responseBody: undefined,
    cause,
    health,
    report: reportOf(claimed, ending, ports.clock.now()),
  };
}

async function disable(ports: AttemptPorts, subscriptionId: string, why: "gone" | "failing"): Promise<void> {
  const { sql, clock, log } = ports;
  const stamp = {
    id: newId(clock),
    at: isoInstant(clock.now()),
    actorType: "system",
    actorId: null,
    ip: null,
    userAgent: null,
  } as const;
  if (await disableSubscription(sql, subscriptionId, why, stamp))
    log.warn("webhook.disabled", { component: subscriptionId, code: why });
}

/** Writes an end, again while Postgres is away for a moment: what is not written is sent twice. */
async function written({ sql }: AttemptPorts, end: DeliveryEnd): Promise<boolean | undefined> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await settleDelivery(sql, end);
    } catch (error) {
      if (!isPassing(error) || failures === LIMITS.webhook_settle_tries) throw error;
    }
    await pause(backoff(failures, LIMITS.stream_backoff_first_ms, LIMITS.stream_backoff_max_ms));
  }
}

/** What became of an attempt; the caller learns it when it is written. */
type WrittenEnd = Pick<DeliveryEnd, "status" | "responseStatus" | "cause">;

/**
 * Makes one attempt at a delivery that this process has under lease. Never rejects: what could not be written is made
 * again when its lease is freed, under the same number and the same event id.
 */
export async function attemptDelivery(ports: AttemptPorts, claimed: ClaimedDelivery): Promise<WrittenEnd | undefined> {
  const { metrics, log } = ports;
  try {
    const why = unsentOf(claimed);
    const request = why === undefined ? requestOf(ports, claimed) : undefined;
    if (!(await recordBeginning(ports, claimed, request))) {
      metrics.count("webhook_deliveries_total", { outcome: "LOST" });
      return undefined;
    }
    const { end, disable: gone } =
      request === undefined
        ? { end: unsent(ports, claimed, why ?? "withdrawn"), disable: false }
        : endOf(ports, claimed, await post(ports, claimed, request));
    const failing = ports.isCurrent?.(claimed) === false ? undefined : await written(ports, end);
    if (failing === undefined) {
      metrics.count("webhook_deliveries_total", { outcome: "LOST" });
      return undefined;
    }
    metrics.count("webhook_deliveries_total", { outcome: end.status });
    if (end.status === "SUCCESS")
      metrics.observe(
        "webhook_delivery_duration_seconds",
        {},
        Math.max(0, ports.clock.now() - claimed.createdAt.getTime()) / 1_000,
      );
    if (gone || failing) await disable(ports, claimed.subscriptionId, gone ? "gone" : "failing");
    return end;
  } catch (error) {
    log.warn("webhook.attempt_unwritten", { component: claimed.subscriptionId, ...errorFields(error) });
    return undefined;
  }
}
