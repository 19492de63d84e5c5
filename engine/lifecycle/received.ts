/** The life of a received document: held until it was judged, then processed or not, as the receiving firm says. */
import type { LifecycleTable } from "./machine.js";

/** What the firm sees. @source spec/sapi.md, States and transitions, Received document */
export const RECEIVED_STATES = ["RECEIVED", "ACKNOWLEDGED"] as const;
export type ReceivedState = (typeof RECEIVED_STATES)[number];

/**
 * Every state; the first and the last are the provider's own. REFUSED: its sender's provider was told that it is
 * rejected, or nobody can open it any more.
 */
export const INBOUND_STATES = ["HELD", ...RECEIVED_STATES, "REFUSED"] as const;
export type InboundState = (typeof INBOUND_STATES)[number];

export const INBOUND_TRIGGERS = ["rules_passed", "rules_refused", "released", "acknowledge"] as const;
export type InboundTrigger = (typeof INBOUND_TRIGGERS)[number];

/**
 * What a firm has seen is never taken back: nothing leads from RECEIVED to REFUSED. A second acknowledge stays where it
 * is and answers the first one's time. @source spec/rulings.md, section 6
 */
export const receivedLifecycle = {
  HELD: {
    rules_passed: { to: "RECEIVED", emits: [] },
    rules_refused: { to: "REFUSED", emits: [] },
    released: { to: "RECEIVED", emits: [] },
  },
  RECEIVED: { acknowledge: { to: "ACKNOWLEDGED", emits: [] } },
  ACKNOWLEDGED: { acknowledge: { to: "ACKNOWLEDGED", emits: [] } },
  REFUSED: {},
} as const satisfies LifecycleTable<InboundState, InboundTrigger, never>;
