/**
 * How one attempt at a document, or at a message of ours, can end. What each end means stands in
 * engine/peppol/transport.ts.
 */

/** @source spec/rulings.md, section 5; design/reliability.md, S-08, S-09 */
export const ATTEMPT_OUTCOMES = [
  "receipt",
  "already_handed_over",
  "unconfirmed",
  "recipient_unregistered",
  "recipient_capability",
  "lookup_failed",
  "certificate_rejected",
  "transport_failed",
  "peer_busy",
  "peer_refused",
  "deferred",
  "unsendable",
  "internal",
] as const;
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

/**
 * Stands behind the code of an attempt whose answer holds an error of ebMS and could not be judged: the message may
 * have been refused.
 */
export const WITH_ERROR = "WITH_ERROR";

/** What is written of an attempt: its outcome, or `cut` where its process died before there was one. */
export const RECORDED_OUTCOMES = [...ATTEMPT_OUTCOMES, "cut"] as const;
export type RecordedOutcome = (typeof RECORDED_OUTCOMES)[number];
