/**
 * Every number that bounds something, with its unit and its source. Nothing else in the project invents one. The table
 * is one; its rows stand by subject in the files of `limits`.
 */
import { DELIVERY_LIMITS } from "./limits/delivery.js";
import { DOCUMENT_LIMITS } from "./limits/documents.js";
import { EVENT_LIMITS } from "./limits/events.js";
import { IDENTITY_LIMITS } from "./limits/identity.js";
import { KEEPING_LIMITS } from "./limits/keeping.js";
import { NETWORK_LIMITS } from "./limits/network.js";
import { REQUEST_LIMITS } from "./limits/requests.js";
import { RUNNING_LIMITS } from "./limits/running.js";

export const LIMITS = {
  ...IDENTITY_LIMITS,
  ...REQUEST_LIMITS,
  ...EVENT_LIMITS,
  ...DELIVERY_LIMITS,
  ...NETWORK_LIMITS,
  ...DOCUMENT_LIMITS,
  ...RUNNING_LIMITS,
  ...KEEPING_LIMITS,
} as const;

/**
 * How much of the heap each bound comes to at the most, on a process that has little. Octets lie beside the heap, but
 * texts are made of them that lie in it, and whoever gives a small heap has little memory for both. Ours: what all of
 * them hold together is less than twice the heap.
 */
export const HEAP_SHARES = {
  request_bodies_bytes_max: 1 / 4,
  request_inflated_bytes_max: 1 / 8,
  validator_queue_bytes_max: 1 / 8,
  attempt_bytes_max: 1 / 4,
  box_dispatch_bytes_max: 1 / 8,
  arrivals_bytes_max: 1 / 4,
  evidence_bytes_max: 1 / 4,
  responses_bytes_max: 1 / 4,
  connector_reads_bytes_max: 1 / 8,
} as const satisfies Partial<Record<keyof typeof LIMITS, number>>;
