/** Attempts at deliveries: make the body, sign it, post it, write what came of it. */
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
import { settleDeliveries } from "../../storage/events/dispatch.js";
import type { ClaimedDelivery, DeliveryEnd, Settled } from "../../storage/events/dispatch.js";
import { standingBehind } from "../../storage/events/fan-out.js";
import type { DeliveryChain } from "../../storage/events/fan-out.js";
import { disableSubscription } from "../../storage/events/subscriptions.js";
import { giveBack } from "../../storage/events/unopened.js";
import type { OnGivenBack } from "../../storage/events/unopened.js";
import { isKeyOfOthers } from "../../storage/keyring/facts.js";
import type { Sealer } from "../../storage/sealer.js";
import { isPassing } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { backoff } from "../../base/waiting/wake.js";
import { pushedEvent } from "../connector/event.js";
import { recordBeginning, reportOf } from "../connector/record.js";
import { mannerOf } from "../connector/scenarios.js";
import { envelopeOf } from "./envelope.js";
import { openedSecret } from "./secrets.js";
import { signatureOf } from "./signature.js";
import { newSigningSecret } from "./subscriptions.js";
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
  /** Whether places are free and nothing that is due waits for one. @default it is not known */
  readonly hasTime?: () => boolean;
  /** Hears of a delivery whose secret others have sealed, under a key that this process lacks. @default nobody */
  readonly onGivenBack?: OnGivenBack;
  /** Of a call as a whole; a shorter one is for tests. @default LIMITS.outbound_total_ms */
  readonly timeout_ms?: number;
}

function secretsOf(
  { sealer }: AttemptPorts,
  { subscriptionId, secretKeyId, secretSealed, oldSecretKeyId, oldSecretSealed }: ClaimedDelivery,
): { readonly now: string; readonly old?: string } {
  const now = openedSecret(sealer, subscriptionId, secretKeyId, secretSealed);
  return oldSecretKeyId === null || oldSecretSealed === null
    ? { now }
    : { now, old: openedSecret(sealer, subscriptionId, oldSecretKeyId, oldSecretSealed) };
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
    hasTime: outcome === "SUCCESS" && wait_ms === undefined && ports.hasTime?.() === true,
    report: reportOf(claimed, { outcome, result, retryable, retryAfter_ms, wait_ms, cause }, now),
  };
  return { end, disable: verdict.disable };
}

/** Why a delivery is not made. */
interface Unsent {
  readonly cause: string;
  readonly health: DeliveryEnd["health"];
  readonly outcome: AttemptReport["outcome"];
}

/**
 * What is said of a delivery that is not made: of a subscription that was switched off with many waiting, to an
 * integrator that may be told of the firm no more, or one whose attempts were cut off again and again, as by a receiver
 * that ends the process.
 */
function unsentOf({ allowed, cutOff, ending }: ClaimedDelivery): Unsent | undefined {
  if (ending !== null) return { cause: ending, health: "unknown", outcome: "TERMINAL_FAILURE" };
  if (!allowed) return { cause: "consent_withdrawn", health: "unknown", outcome: "AUTHORIZATION_CANCELLED" };
  return cutOff ? { cause: "attempts_cut_off", health: "ill", outcome: "TERMINAL_FAILURE" } : undefined;
}

/** The end of a delivery that nothing is sent of. */
function unsent(ports: AttemptPorts, claimed: ClaimedDelivery, { cause, health, outcome }: Unsent): DeliveryEnd {
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

async function disable(ports: AttemptPorts, claimed: ClaimedDelivery, why: "gone" | "failing"): Promise<void> {
  const { sql, clock, log } = ports;
  const stamp = {
    id: newId(clock),
    at: isoInstant(clock.now()),
    actorType: "system",
    actorId: null,
    ip: null,
    userAgent: null,
  } as const;
  if (await disableSubscription(sql, claimed, why, stamp))
    log.warn("webhook.disabled", { component: claimed.subscriptionId, code: why });
}

type Ends = readonly [DeliveryEnd, ...DeliveryEnd[]];

/** Writes ends, again while Postgres is away for a moment: what is not written is sent twice. */
async function written({ sql }: AttemptPorts, ends: Ends): Promise<Settled | undefined> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await settleDeliveries(sql, ends);
    } catch (error) {
      if (!isPassing(error) || failures === LIMITS.webhook_settle_tries) throw error;
    }
    await pause(backoff(failures, LIMITS.stream_backoff_first_ms, LIMITS.stream_backoff_max_ms));
  }
}

/** What an attempt came to that is not written yet. */
interface Attempted {
  readonly end: DeliveryEnd;
  /** Whether the receiver said that it is gone. */
  readonly gone: boolean;
}

/** Makes one attempt. @returns undefined when the delivery is another process's by now, and nothing was sent */
async function attempted(ports: AttemptPorts, claimed: ClaimedDelivery): Promise<Attempted | undefined> {
  const why = unsentOf(claimed);
  if (why !== undefined)
    return (await recordBeginning(ports, claimed, undefined))
      ? { end: unsent(ports, claimed, why), gone: false }
      : undefined;
  const request = requestOf(ports, claimed);
  if (!(await recordBeginning(ports, claimed, request))) return undefined;
  const { end, disable: gone } = endOf(ports, claimed, await post(ports, claimed, request));
  return { end, gone };
}

/** What waits behind the first of a chain as it is now; undefined where it is not to be sent, or nobody can tell. */
async function standingNow(
  { sql, owner, log }: AttemptPorts,
  first: ClaimedDelivery,
  { deliveryId: behind }: ClaimedDelivery,
): Promise<ClaimedDelivery | undefined> {
  try {
    return await standingBehind(sql, owner, { first: first.deliveryId, behind });
  } catch (error) {
    // What was taken so far is still to be written.
    log.warn("webhook.look_failed", { component: "chain", ...errorFields(error) });
    return undefined;
  }
}

/** An attempt behind others; undefined also where it fails on our side: what was taken is still to be written. */
async function attemptedBehind(ports: AttemptPorts, claimed: ClaimedDelivery): Promise<Attempted | undefined> {
  try {
    return await attempted(ports, claimed);
  } catch (error) {
    ports.log.warn("webhook.attempt_unwritten", { component: claimed.subscriptionId, ...errorFields(error) });
    return undefined;
  }
}

/**
 * Makes an attempt at each delivery of a chain while the one before is taken at once. What waits behind is sent before
 * the end of the first is written, so that one statement writes all of them; a receiver that takes its time has each
 * end written before the next event, and a process that dies has little to send twice. What was read a while ago is
 * read again: it goes to the url of now, signed by the secrets of now, and to nobody who may be told no more.
 */
async function attemptedInARow(
  ports: AttemptPorts,
  [first, ...behind]: DeliveryChain,
): Promise<readonly [Attempted, ...Attempted[]] | undefined> {
  const start = ports.clock.monotonic();
  const one = await attempted(ports, first);
  if (one === undefined) return undefined;
  const made: [Attempted, ...Attempted[]] = [one];
  for (const claimed of behind.slice(0, LIMITS.webhook_chain_max - 1)) {
    const passed_ms = ports.clock.monotonic() - start;
    if (made.at(-1)?.end.status !== "SUCCESS" || passed_ms >= LIMITS.webhook_chain_ms) break;
    const standing = passed_ms < LIMITS.webhook_chain_fresh_ms ? claimed : await standingNow(ports, first, claimed);
    const next = standing && (await attemptedBehind(ports, standing));
    if (next === undefined) break;
    made.push(next);
  }
  return made;
}

/** What became of a chain of attempts, for its caller; it is written. */
interface WrittenEnds {
  /** Of the first. */
  readonly end: Pick<DeliveryEnd, "status" | "responseStatus" | "cause">;
  /** Whether something is due because of it. */
  readonly freed: boolean;
}

function observe({ metrics, clock }: AttemptPorts, chain: DeliveryChain, ends: Ends): void {
  for (const [at, { status }] of ends.entries()) {
    metrics.count("webhook_deliveries_total", { outcome: status });
    const waited_ms = clock.now() - (chain[at]?.createdAt.getTime() ?? 0);
    if (status === "SUCCESS") metrics.observe("webhook_delivery_duration_seconds", {}, Math.max(0, waited_ms) / 1_000);
  }
}

/**
 * Gives back a delivery whose secret does not open here: another process, or this one when it has the key, makes it.
 * Kept until its lease is freed it would be claimed again and again, and end as one that was cut off too often, as one
 * does whose secret lies under a key of nobody.
 */
async function leaveToOthers({ sql, owner, log, onGivenBack }: AttemptPorts, delivery: ClaimedDelivery): Promise<void> {
  try {
    await giveBack(sql, owner, [delivery], onGivenBack);
  } catch (error) {
    log.warn("webhook.attempt_unwritten", { component: delivery.subscriptionId, ...errorFields(error) });
  }
}

/**
 * Makes an attempt at a delivery that this process has under lease, and at those of its document that wait behind it.
 * Never rejects: what could not be written is made again when its lease is freed, under the same numbers and the same
 * event ids.
 */
export async function attemptDelivery(ports: AttemptPorts, ...chain: DeliveryChain): Promise<WrittenEnds | undefined> {
  const { sql, metrics, log } = ports;
  const [{ subscriptionId }] = chain;
  try {
    const made = await attemptedInARow(ports, chain);
    const [first, ...others] = made ?? [];
    const ends: Ends | undefined = first && [first.end, ...others.map(({ end }) => end)];
    const isOwn = ends !== undefined && ports.isCurrent?.(chain[0]) !== false;
    const settled = isOwn ? await written(ports, ends) : undefined;
    if (ends === undefined || settled === undefined) {
      metrics.count("webhook_deliveries_total", { outcome: "LOST" });
      return undefined;
    }
    observe(ports, chain, ends);
    const gone = made?.some((one) => one.gone) === true;
    if (gone || settled.failing) await disable(ports, chain[0], gone ? "gone" : "failing");
    return { end: ends[0], freed: settled.freed || ends.some(({ wait_ms }) => wait_ms === 0) };
  } catch (error) {
    if (isKeyOfOthers(sql, error)) await leaveToOthers(ports, chain[0]);
    else log.warn("webhook.attempt_unwritten", { component: subscriptionId, ...errorFields(error) });
    return undefined;
  }
}
