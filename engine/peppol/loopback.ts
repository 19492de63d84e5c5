/** A transport without a network: hands documents of our own participants to the inbound path that AS4 uses. */
import { isPassing } from "../storage/sql.js";
import type { Receive, Transport } from "./transport.js";

export function createLoopback(receive: Receive): Transport {
  return {
    deliver: async (exchange) => {
      try {
        const outcome = await receive(exchange);
        if (outcome.kind === "not_serviced")
          return {
            kind: "recipient_unregistered",
            code: "NXDOMAIN",
            detail: "The recipient is not registered on the network.",
          };
        if (outcome.kind === "conflict") return { kind: "peer_refused", code: "EBMS:0003" };
        return { kind: outcome.kind === "stored" ? "receipt" : "already_handed_over" };
      } catch (error) {
        return isPassing(error) ? { kind: "transport_failed", code: "UNAVAILABLE" } : { kind: "internal" };
      }
    },
  };
}
