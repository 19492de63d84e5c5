/** A transport without a network: hands documents of our own participants to the inbound path that AS4 uses. */
import { isPassing } from "../storage/sql.js";
import { outcomeOfRouting } from "./discovery/routing.js";
import type { Receive, Transport } from "./transport.js";

/** Makes the transport for a sandbox without a network. @param receive the inbound path */
export function createLoopback(receive: Receive): Transport {
  return {
    deliver: async (exchange) => {
      try {
        const outcome = await receive(exchange);
        if (outcome.kind === "not_serviced") return outcomeOfRouting("participant_not_found", "not_ours");
        if (outcome.kind === "conflict") return { kind: "peer_refused", code: "EBMS:0003" };
        return { kind: outcome.kind === "stored" ? "receipt" : "already_handed_over" };
      } catch (error) {
        return isPassing(error) ? { kind: "transport_failed", code: "UNAVAILABLE" } : { kind: "internal" };
      }
    },
  };
}
