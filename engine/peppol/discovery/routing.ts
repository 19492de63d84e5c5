/**
 * What a look-up of a recipient can find, and what each finding means: for accepting a document, which asks beforehand
 * whether the recipient takes it, and for an attempt to send one, which needs an endpoint now.
 * @source spec/rulings.md, section 13 (routingStatus); design/reliability.md, S-08
 */
import { LIMITS } from "../../base/limits.js";
import type { AttemptOutcome } from "../../lifecycle/attempt.js";
import { WORKERS_BUSY } from "../transport.js";
import type { Outcome } from "../transport.js";
import { BUSY } from "./remembering.js";

/**
 * What is known of a recipient before a 202. `unknown` means that the look-up failed: the document is accepted, and its
 * attempts look again.
 */
export type Capability = "accepts" | "not_accepted" | "process_not_accepted" | "unregistered" | "unknown";

interface RoutingRow {
  /** What is known of the recipient before a document is accepted. */
  readonly capability: Capability;
  /** How an attempt ends that finds this instead of an endpoint; undefined where there is one. */
  readonly outcome: AttemptOutcome | undefined;
  /** The finding in a sentence for the operator. */
  readonly detail: string;
}

const UNTRUSTED = "The certificate of the receiving access point is not trusted.";

/** A certificate that is refused today may be renewed before the next attempt, so that it says nothing before a 202. */
export const ROUTING = {
  ready: { capability: "accepts", outcome: undefined, detail: "The recipient has an endpoint for this document type." },
  participant_not_found: {
    capability: "unregistered",
    outcome: "recipient_unregistered",
    detail: "The recipient is not registered on the network.",
  },
  document_type_not_supported: {
    capability: "not_accepted",
    outcome: "recipient_capability",
    detail: "The recipient does not take this document type.",
  },
  process_not_supported: {
    capability: "process_not_accepted",
    outcome: "recipient_capability",
    detail: "The recipient does not take this document type in this process.",
  },
  endpoint_not_found: {
    capability: "not_accepted",
    outcome: "recipient_capability",
    detail: "The recipient has no usable endpoint for this document type.",
  },
  certificate_invalid: { capability: "unknown", outcome: "certificate_rejected", detail: UNTRUSTED },
  certificate_expired: { capability: "unknown", outcome: "certificate_rejected", detail: UNTRUSTED },
  lookup_failed: {
    capability: "unknown",
    outcome: "lookup_failed",
    detail: "The recipient could not be looked up.",
  },
} as const satisfies Record<string, RoutingRow>;

/** What a look-up has found. */
export type RoutingStatus = keyof typeof ROUTING;
/** What a look-up has found where there is no endpoint to send to. */
export type RoutingFailure = Exclude<RoutingStatus, "ready">;
/** Every routing status, as the interface shows them. */
export const ROUTING_STATUSES = Object.keys(ROUTING) as readonly RoutingStatus[];

/**
 * Reasons that are codes themselves: DNS says that a name does not exist, and senders know that as the sign of an
 * unregistered recipient. Where DNS has answered, the code says who did not know the recipient.
 */
const OWN_CODES: ReadonlySet<string> = new Set(["NXDOMAIN"]);

/** The reason of a look-up that no worker could take. */
export const NO_WORKER = "workers_busy";
/** The reason of a look-up that met a fault of ours. */
export const FAULT = "internal";

interface OwnRow {
  readonly outcome: Outcome;
  /** How long the failure is not asked about again: no longer than a document waits after such an outcome. */
  readonly remembered_ms: number;
}

/**
 * How an attempt ends whose look-up has failed on our side, by its reason: nobody on the network has said anything, so
 * that nothing of the plan is used.
 */
const OURS: ReadonlyMap<string, OwnRow> = new Map<string, OwnRow>([
  [
    BUSY,
    {
      outcome: { kind: "deferred", code: "LOOKUPS_BUSY", retryAfter_ms: LIMITS.smp_busy_retry_ms, keepsPlace: true },
      remembered_ms: LIMITS.smp_busy_retry_ms,
    },
  ],
  [NO_WORKER, { outcome: WORKERS_BUSY, remembered_ms: WORKERS_BUSY.retryAfter_ms }],
  [
    FAULT,
    {
      outcome: { kind: "internal", code: "LOOKUP", detail: "The look-up of the recipient met a fault of ours." },
      remembered_ms: LIMITS.fault_wait_first_ms,
    },
  ],
]);

/** How long a failed look-up is not repeated, by its reason, in milliseconds. */
export const failureRemembered_ms = (reason: string): number =>
  OURS.get(reason)?.remembered_ms ?? LIMITS.smp_cache_failed_ms;

/**
 * How an attempt ends whose look-up has found no endpoint.
 * @param reason  short, from a closed set; it becomes part of the outcome's code
 */
export function outcomeOfRouting(status: RoutingFailure, reason: string): Outcome {
  const ours = status === "lookup_failed" ? OURS.get(reason)?.outcome : undefined;
  if (ours !== undefined) return ours;
  const { outcome: kind, detail } = ROUTING[status];
  return { kind, code: OWN_CODES.has(reason) ? reason : `${status} ${reason}`, detail };
}
