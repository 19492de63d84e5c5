/** The look-up as the question that is asked before a 202: does this recipient take this document in this process? */
import { LIMITS } from "../../base/limits.js";
import { within } from "../../base/waiting/wake.js";
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
    recipient: async (participant, { documentTypeId: documentType, processId: process }) => {
      const asked = lookup.lookup({ participant, documentType, process });
      const answer = await within(asked, options.timeout_ms ?? LIMITS.smp_before_accept_ms, undefined);
      if (answer === undefined) return recipientFound("lookup_failed");
      // An address that we must not connect to, or a service that has not begun, says nothing about what the recipient
      // takes.
      return answer.status === "endpoint_not_found" && answer.reason !== "no_as4"
        ? { status: answer.status, capability: "unknown" }
        : recipientFound(answer.status);
    },
    forget: (receiver) => {
      lookup.forget(receiver);
    },
  };
}
