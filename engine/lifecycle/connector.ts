/** The states of a document as the Connector calls them, and what can be done in each. */
import type { OutboundState } from "./document.js";
import type { ReceivedState } from "./received.js";

/** @source spec/rulings.md, section 11, States */
export const CONNECTOR_STATES = [
  "queued",
  "sending",
  "delivered",
  "received",
  "processed",
  "needs_attention",
  "failed",
  "cancelled",
] as const;
export type ConnectorState = (typeof CONNECTOR_STATES)[number];

/** The states whose beginning is an event. @source spec/rulings.md, section 11, Events */
export const CONNECTOR_EVENT_STATES = ["queued", "delivered", "received", "needs_attention", "failed"] as const;
export type ConnectorEventState = (typeof CONNECTOR_EVENT_STATES)[number];

/** A queued document that was attempted is `sending`. @source spec/rulings.md, section 11, Outbound lifecycle maps */
const OF_SENT = {
  queued: "queued",
  sent: "sending",
  delivered: "delivered",
  rejected: "failed",
  send_failed: "failed",
  delivery_failed: "failed",
  validation_failed: "needs_attention",
} as const satisfies Record<OutboundState, ConnectorState>;

const OF_RECEIVED = {
  RECEIVED: "received",
  ACKNOWLEDGED: "processed",
} as const satisfies Record<ReceivedState, ConnectorState>;

/** What can be done with a document. @source spec/rulings.md, section 11, States */
type ConnectorAction = "send" | "cancel" | "acknowledge" | "respond";

const ACTIONS: Partial<Record<ConnectorState, readonly ConnectorAction[]>> = {
  received: ["acknowledge", "respond"],
  processed: ["acknowledge", "respond"],
};

/** Nothing can be done with a document that is on its way or has ended. */
export const actionsOf = (state: ConnectorState): readonly ConnectorAction[] => ACTIONS[state] ?? [];

/** The state of a sent or a received document. */
export const connectorState = (status: OutboundState | ReceivedState, attempts: number): ConnectorState =>
  status in OF_RECEIVED
    ? OF_RECEIVED[status as ReceivedState]
    : status === "queued" && attempts > 0
      ? "sending"
      : OF_SENT[status as OutboundState];

/** Whose lifecycle states mean a state; `isAttempted` tells apart those of queued documents. */
export function statesOf(state: ConnectorState | undefined): {
  readonly sent: readonly OutboundState[];
  readonly received: readonly ReceivedState[];
  readonly isAttempted: boolean | undefined;
} {
  const named = <S extends string>(table: Readonly<Record<S, ConnectorState>>): S[] =>
    (Object.keys(table) as S[]).filter((status) => state === undefined || table[status] === state);
  return {
    sent: state === "sending" ? ["queued", "sent"] : named(OF_SENT),
    received: named(OF_RECEIVED),
    isAttempted: state === "sending" ? true : state === "queued" ? false : undefined,
  };
}
