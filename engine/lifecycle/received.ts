/** The life of a received document: processed or not, as the receiving firm says. */
import type { LifecycleTable } from "./machine.js";

/** @source spec/sapi.md, States and transitions, Received document */
export const RECEIVED_STATES = ["RECEIVED", "ACKNOWLEDGED"] as const;
export type ReceivedState = (typeof RECEIVED_STATES)[number];

/** A second acknowledge stays where it is: it answers the first one's time. @source spec/rulings.md, section 6 */
export const receivedLifecycle = {
  RECEIVED: { acknowledge: { to: "ACKNOWLEDGED", emits: [] } },
  ACKNOWLEDGED: { acknowledge: { to: "ACKNOWLEDGED", emits: [] } },
} as const satisfies LifecycleTable<ReceivedState, "acknowledge", never>;
