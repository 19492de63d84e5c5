/** The look-up as the question that is asked before a 202: does this recipient take this document in this process? */
import { LIMITS } from "../../base/limits.js";
import type { Capability, Recipients } from "./acceptance.js";
import type { RoutingStatus, SmpLookup } from "./smp.js";

/**
 * What a routing status means for accepting a document. An endpoint that is broken today may work at the next attempt.
 */
const CAPABILITY: Readonly<Record<RoutingStatus, Capability>> = {
  ready: "accepts",
  participant_not_found: "unregistered",
  document_type_not_supported: "not_accepted",
  process_not_supported: "process_not_accepted",
  endpoint_not_found: "not_accepted",
  certificate_invalid: "unknown",
  certificate_expired: "unknown",
  lookup_failed: "unknown",
};

/**
 * @param options.timeout_ms  how long an answer is waited for; then it is "unknown", and the look-up goes on for the
 * attempt.
 *   @default LIMITS.smp_before_accept_ms
 */
export function createSmpRecipients(lookup: SmpLookup, options: { readonly timeout_ms?: number } = {}): Recipients {
  return {
    capability: (participant, { documentTypeId: documentType, processId: process }) =>
      new Promise((resolve) => {
        const timer = setTimeout(() => {
          resolve("unknown");
        }, options.timeout_ms ?? LIMITS.smp_before_accept_ms);
        void lookup.lookup({ participant, documentType, process }).then(({ status, ...rest }) => {
          clearTimeout(timer);
          // Addresses that we must not connect to and services that have not begun say nothing about what the recipient
          // takes.
          const isOffered = status === "endpoint_not_found" && "reason" in rest && rest.reason !== "no_as4";
          resolve(isOffered ? "unknown" : CAPABILITY[status]);
        });
      }),
    forget: (receiver) => {
      lookup.forget(receiver);
    },
  };
}
