/** Many documents in one request: each is sent or refused by itself. */
import { ERRORS, Refusal, shownDetails } from "../../base/errors.js";
import type { RequestId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import type { SendReply } from "../accept/request.js";

/** What became of one document: the status and the body that a request with it alone would have been answered. */
interface BatchResult {
  readonly index: number;
  readonly status: number;
  readonly result: Readonly<Record<string, unknown>>;
}

/** @source spec/shapes.md, section 6, POST /documents/send/batch */
export interface BatchReply {
  readonly total: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly results: BatchResult[];
}

/**
 * Sends each of the items, a few at a time; what becomes of one says nothing of the others.
 * @param requestId  of the request that all of them came in; errors of items bear it
 * @param send  of one item, by its place; whatever it throws is the result of that item alone
 * @returns the results in the order of the items
 */
export async function sendMany(
  log: Log,
  { count, requestId }: { readonly count: number; readonly requestId: RequestId },
  send: (index: number) => Promise<SendReply>,
): Promise<BatchReply> {
  const results: BatchResult[] = [];
  let next = 0;
  const runner = async (): Promise<void> => {
    while (next < count) {
      const index = next;
      next += 1;
      results[index] = await resultOf({ log, requestId }, index, send);
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, LIMITS.send_batch_parallel) }, runner));
  const succeeded = results.filter(({ status }) => status < 400).length;
  return { total: count, succeeded, failed: count - succeeded, results };
}

async function resultOf(
  { log, requestId }: { readonly log: Log; readonly requestId: RequestId },
  index: number,
  send: (index: number) => Promise<SendReply>,
): Promise<BatchResult> {
  try {
    const { status, body, replayed } = await send(index);
    const stored = JSON.parse(body) as Readonly<Record<string, unknown>>;
    return { index, status, result: replayed ? { ...stored, duplicate: true } : stored };
  } catch (error) {
    if (!(error instanceof Refusal)) log.error("documents.batch_item_failed", errorFields(error));
    const refusal = error instanceof Refusal ? error : new Refusal("INTERNAL");
    const { status, enterprise: code, retryable, sapiRetryable } = ERRORS[refusal.reason];
    const { message, extras } = refusal;
    const details = shownDetails(refusal);
    const field = details.length === 1 ? details[0]?.field : undefined;
    return {
      index,
      status,
      result: {
        error: {
          code,
          message,
          requestId,
          ...(field === undefined ? {} : { field }),
          ...(details.length === 0 ? {} : { details }),
          ...extras.members,
          ...(sapiRetryable ? { retryable } : {}),
        },
      },
    };
  }
}
