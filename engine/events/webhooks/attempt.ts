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
import { settleDelivery } from "../../storage/events/dispatch.js";
import type { ClaimedDelivery, DeliveryEnd } from "../../storage/events/dispatch.js";
import { disableSubscription } from "../../storage/events/subscriptions.js";
import type { Sealer } from "../../storage/sealer.js";
import { isPassing } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { backoff } from "../wake.js";
import { envelopeOf } from "./envelope.js";
import { signatureOf } from "./signature.js";
import { secretContext } from "./subscriptions.js";
import { verdictOf, waitAfterAttempt } from "./verdict.js";

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

/** The exact octets and headers of an attempt. The time is fresh, the id of the event that of every attempt. */
function requestOf(ports: AttemptPorts, claimed: ClaimedDelivery) {
  const body = Buffer.from(JSON.stringify(envelopeOf(claimed)));
  const timestamp_s = Math.floor(ports.clock.now() / 1_000);
  const secrets = secretsOf(ports, claimed);
  return {
    body,
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
      "x-webhook-max-attempts": String(LIMITS.webhook_attempts_max),
    },
  };
}

const post = (ports: AttemptPorts, claimed: ClaimedDelivery): Promise<HttpResult> =>
  ports.http({
    method: "POST",
    url: claimed.url,
    use: "webhook",
    ...requestOf(ports, claimed),
    bytes_max: LIMITS.webhook_answer_bytes_max,
    cut: true,
    ...(ports.timeout_ms === undefined ? {} : { timeout_ms: ports.timeout_ms }),
  });

/** What a result means for a delivery, in the words of its row. */
function endOf(ports: AttemptPorts, claimed: ClaimedDelivery, result: HttpResult) {
  const verdict = verdictOf(result, ports.clock.now());
  const wait_ms =
    verdict.kind === "again" && ports.once !== true
      ? waitAfterAttempt(claimed.attempt, verdict.retryAfter_ms, ports.random ?? randomUnit)
      : undefined;
  const end: DeliveryEnd = {
    id: claimed.deliveryId,
    owner: ports.owner,
    attempt: claimed.attempt,
    status: verdict.kind === "delivered" ? "SUCCESS" : wait_ms === undefined ? "FAILED" : "RETRYING",
    wait_ms,
    responseStatus: result.kind === "response" ? result.status : undefined,
    responseBody:
      result.kind === "response"
        ? firstChars(result.body.toString("utf8"), LIMITS.webhook_answer_chars_kept)
        : undefined,
    cause: verdict.cause,
    health: verdict.health,
  };
  return { end, disable: verdict.disable };
}

/**
 * What is said of a delivery that is not made: to an integrator that may be told of the firm no more, or one whose
 * attempts were cut off again and again, as by a receiver that ends the process.
 */
const UNSENT = {
  withdrawn: { cause: "consent_withdrawn", health: "unknown" },
  cutOff: { cause: "attempts_cut_off", health: "ill" },
} as const;

const unsentOf = ({ allowed, cutOff }: ClaimedDelivery): keyof typeof UNSENT | undefined => {
  if (!allowed) return "withdrawn";
  return cutOff ? "cutOff" : undefined;
};

/** The end of a delivery that nothing is sent of. */
const unsent = (ports: AttemptPorts, claimed: ClaimedDelivery, why: keyof typeof UNSENT): DeliveryEnd => ({
  id: claimed.deliveryId,
  owner: ports.owner,
  attempt: claimed.attempt,
  status: "FAILED",
  wait_ms: undefined,
  responseStatus: undefined,
  responseBody: undefined,
  ...UNSENT[why],
});

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
    const { end, disable: gone } =
      why === undefined
        ? endOf(ports, claimed, await post(ports, claimed))
        : { end: unsent(ports, claimed, why), disable: false };
    const failing = await written(ports, end);
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
