/** The life of an operation by which a participant comes to us or leaves, without an account of its firm. */
import type { LifecycleTable } from "./machine.js";

/** @source spec/rulings.md, section 12 */
export const WHITE_LABEL_STATES = [
  "processing",
  "smp_succeeded",
  "succeeded",
  "rejected",
  "manual_review",
  "released",
] as const;
export type WhiteLabelState = (typeof WHITE_LABEL_STATES)[number];

/**
 * What moves an operation: the registry has written, what was written is bound here, the registry has refused, nobody
 * knows what it did, a person has vouched for its token, or a person has ended the review after the registry was asked.
 */
export const WHITE_LABEL_TRIGGERS = ["written", "bound", "refused", "unknown", "vouched", "released"] as const;
export type WhiteLabelTrigger = (typeof WHITE_LABEL_TRIGGERS)[number];

const review = { to: "manual_review", emits: [] } as const;

/**
 * An operation whose token the registry cannot check begins in review. One whose outcome nobody knows ends as succeeded
 * where the registry says that it is done, and as released where not.
 */
export const whiteLabelLifecycle = {
  processing: {
    written: { to: "smp_succeeded", emits: [] },
    refused: { to: "rejected", emits: [] },
    unknown: review,
  },
  smp_succeeded: { bound: { to: "succeeded", emits: [] }, unknown: review },
  manual_review: {
    written: { to: "smp_succeeded", emits: [] },
    vouched: { to: "processing", emits: [] },
    released: { to: "released", emits: [] },
  },
  succeeded: {},
  rejected: {},
  released: {},
} as const satisfies LifecycleTable<WhiteLabelState, WhiteLabelTrigger, never>;
