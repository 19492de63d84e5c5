/** The states of a document as the Connector calls them, and what can be done in each. */
import { outboundLifecycle } from "./document.js";
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

/**
 * What becomes of a document that was staged: it is held until its program sends or cancels it, or nobody has for
 * LIMITS.staged_kept_days.
 */
export const STAGINGS = ["held", "sent", "cancelled"] as const;
export type Staging = (typeof STAGINGS)[number];

/** What a program asks of a document that it has staged. @source spec/enterprise.md, Connector */
export const STAGED_OPERATIONS = ["send", "cancel"] as const;
export type StagedOperation = (typeof STAGED_OPERATIONS)[number];

/** Where an operation leads. Asked for again it is done already; the other one comes too late. */
const STAGED_MOVES = {
  send: { held: "sent", sent: "sent" },
  cancel: { held: "cancelled", cancelled: "cancelled" },
} as const satisfies Record<StagedOperation, Partial<Record<Staging, Staging>>>;

/** What an operation makes of a document; undefined where it cannot be done, as with what was never staged. */
export const stagedMove = (staging: Staging | null, operation: StagedOperation): Staging | undefined => {
  const moves: Partial<Record<Staging, Staging>> = STAGED_MOVES[operation];
  return staging === null ? undefined : moves[staging];
};

/** The states whose beginning is an event, in the order of the ruling. @source spec/rulings.md, section 11, Events */
export const CONNECTOR_EVENT_STATES = [
  "queued",
  "delivered",
  "received",
  "processed",
  "needs_attention",
  "cancelled",
  "failed",
] as const satisfies readonly ConnectorState[];
export type ConnectorEventState = (typeof CONNECTOR_EVENT_STATES)[number];
/** The types of events, polled or pushed. */
export const CONNECTOR_EVENT_TYPES = CONNECTOR_EVENT_STATES.map((state) => `document.${state}` as const);
export type ConnectorEventType = (typeof CONNECTOR_EVENT_TYPES)[number];

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

/** As far as the Connector's words depend on it. */
interface Standing {
  readonly status: OutboundState | ReceivedState;
  readonly attempts: number;
  /** Null for what was never staged. */
  readonly staged: Staging | null;
}

/** Nothing can be done with a document that is on its way or has ended. */
export const actionsOf = (standing: Standing): readonly ConnectorAction[] =>
  standing.staged === "held" ? STAGED_OPERATIONS : (ACTIONS[connectorState(standing)] ?? []);

/** The state of a sent or a received document. */
export const connectorState = ({ status, attempts, staged }: Standing): ConnectorState => {
  if (status in OF_RECEIVED) return OF_RECEIVED[status as ReceivedState];
  if (staged === "cancelled") return staged;
  return status === "queued" && attempts > 0 ? "sending" : OF_SENT[status as OutboundState];
};

/** The state in which the lifecycle of a document knows one that was cancelled before it was sent. */
const OF_CANCELLED: OutboundState = outboundLifecycle.queued.cancelled.to;

/**
 * Whose lifecycle states mean a state; `isAttempted` tells apart those of queued documents, `isCancelled` those of
 * documents that were not sent.
 */
export function statesOf(state: ConnectorState | undefined): {
  readonly sent: readonly OutboundState[];
  readonly received: readonly ReceivedState[];
  readonly isAttempted: boolean | undefined;
  readonly isCancelled: boolean | undefined;
} {
  const named = <S extends string>(table: Readonly<Record<S, ConnectorState>>): S[] =>
    (Object.keys(table) as S[]).filter((status) => state === undefined || table[status] === state);
  return {
    sent: state === "sending" ? ["queued", "sent"] : state === "cancelled" ? [OF_CANCELLED] : named(OF_SENT),
    received: named(OF_RECEIVED),
    isAttempted: state === "sending" ? true : state === "queued" ? false : undefined,
    isCancelled: state === "cancelled" ? true : state === "failed" ? false : undefined,
  };
}
