/** The time that an attempt has, and what a fault of ours makes of it. */
import { LIMITS } from "../../base/limits.js";
import type { Outcome } from "../../peppol/transport.js";
import { FirmKeyGone } from "../../storage/keyring/firm-key-files.js";

/** It is tried again, but for what nobody will ever open: its firm was erased, and its key with it. */
const faultOf = (error: unknown): Outcome =>
  error instanceof FirmKeyGone
    ? { kind: "internal", code: "FIRM_ERASED", detail: "Its firm was erased, and its key with it.", isLast: true }
    : { kind: "internal" };

/**
 * Makes an attempt, which is told when its time is over.
 * @param failed  is told what it has thrown, which becomes its outcome
 */
export async function attemptInTime(
  attempt: (signal: AbortSignal) => Promise<Outcome>,
  failed: (error: unknown) => void,
): Promise<Outcome> {
  const abort = new AbortController();
  const timer = setTimeout(() => {
    abort.abort();
  }, LIMITS.attempt_timeout_ms);
  try {
    return await attempt(abort.signal);
  } catch (error) {
    failed(error);
    return faultOf(error);
  } finally {
    clearTimeout(timer);
  }
}
