/** The look-up as the question that is asked before a 202: does this recipient take this document in this process? */
import { LIMITS } from "../../base/limits.js";
import { recipientFound } from "./acceptance.js";
import type { Recipients } from "./acceptance.js";
import type { SmpLookup } from "./smp.js";

/**
 * Makes the question before a 202 out of a look-up.
 * @param options.timeout_ms  how long an answer is waited for; then it has failed, and the look-up goes on for the
 * attempt. @default LIMITS.smp_before_accept_ms
 */
export function createSmpRecipients(lookup: SmpLookup, options: { readonly timeout_ms?: number } = {}): Recipients {
  return {
    recipient: (participant, { documentTypeId: documentType, processId: process }) =>
      new Promise((resolve) => {
        const timer = setTimeout(() => {
          resolve(recipientFound("lookup_failed"));
        }, options.timeout_ms ?? LIMITS.smp_before_accept_ms);
        void lookup.lookup({ participant, documentType, process }).then(({ status, ...rest }) => {
          clearTimeout(timer);
          // An address that we must not connect to, or a service that has not begun, says nothing about what the
          // recipient takes.
          const isOffered = status === "endpoint_not_found" && "reason" in rest && rest.reason !== "no_as4";
          resolve(isOffered ? { status, capability: "unknown" } : recipientFound(status));
        });
      }),
    forget: (receiver) => {
      lookup.forget(receiver);
    },
  };
}
