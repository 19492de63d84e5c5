/** What is kept of each attempt at a delivery of the Connector, so that its receiver can be put right from here. */
import { isoInstant } from "../../base/clock.js";
import type { Clock, Instant } from "../../base/clock.js";
import { newId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { firstChars } from "../../base/text.js";
import type { HttpResult } from "../../peppol/network/http.js";
import { beginAttempt } from "../../storage/events/attempts.js";
import type { WebhookAttemptOutcome, AttemptReport } from "../../storage/events/attempts.js";
import type { ClaimedDelivery } from "../../storage/events/dispatch.js";
import { sha256Hex } from "../../storage/evidence/record.js";
import type { Sql } from "../../storage/sql.js";

/** The exact octets that leave, and the time in their signature. */
interface Leaving {
  readonly body: Uint8Array;
  readonly timestamp_s: number;
}

/**
 * Writes that an attempt begins. Deliveries of the Enterprise interface keep their last attempt only, in their own row.
 * @param leaving  undefined where nothing is sent
 * @returns false when the delivery is another process's by now: then nothing may be sent
 */
export async function recordBeginning(
  { sql, clock, owner }: { readonly sql: Sql; readonly clock: Clock; readonly owner: string },
  claimed: ClaimedDelivery,
  leaving: Leaving | undefined,
): Promise<boolean> {
  if (claimed.customerRef === null) return true;
  const { deliveryId, attempt, url } = claimed;
  const begun = await beginAttempt(sql, {
    id: newId(clock),
    deliveryId,
    owner,
    attempt,
    startedAt: isoInstant(clock.now()),
    endpoint: url,
    timestamp_s: leaving?.timestamp_s ?? null,
    bodySha256: leaving === undefined ? null : sha256Hex(leaving.body),
  });
  return begun === true;
}

/** What is known of an attempt when it is over. */
interface Ending {
  readonly outcome: Exclude<WebhookAttemptOutcome, "STARTED">;
  /** Undefined where nothing was sent. */
  readonly result: HttpResult | undefined;
  readonly retryable: boolean;
  readonly retryAfter_ms: number | undefined;
  readonly wait_ms: number | undefined;
  readonly cause: string | undefined;
}

function responseOf(result: HttpResult | undefined) {
  if (result?.kind !== "response")
    return {
      response_status: null,
      response_content_type: null,
      response_body: null,
      response_body_sha256: null,
      response_body_truncated: null,
    };
  const { status, contentType, body } = result;
  const text = body.toString("utf8");
  const kept = firstChars(text, LIMITS.webhook_answer_chars_kept);
  return {
    response_status: status,
    response_content_type: firstChars(contentType, LIMITS.webhook_content_type_chars_max),
    response_body: kept,
    response_body_sha256: sha256Hex(body),
    response_body_truncated: kept.length < text.length || body.length >= LIMITS.webhook_answer_bytes_max,
  };
}

/** What is kept of an attempt that is over; undefined for deliveries of the Enterprise interface. */
export const reportOf = (claimed: ClaimedDelivery, ending: Ending, now: Instant): AttemptReport | undefined =>
  claimed.customerRef === null
    ? undefined
    : {
        outcome: ending.outcome,
        completed_at: isoInstant(now),
        ...responseOf(ending.result),
        retryable: ending.retryable,
        retry_after_ms: ending.retryAfter_ms ?? null,
        next_retry_at: ending.wait_ms === undefined ? null : isoInstant(now + ending.wait_ms),
        cause: ending.cause ?? null,
      };
