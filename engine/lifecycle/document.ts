/** The life of an outbound document. */
import { moveOf } from "./machine.js";
import type { LifecycleTable, Move } from "./machine.js";

/** @source spec/enterprise.md, Outbound document lifecycle */
export const OUTBOUND_STATES = [
  "queued",
  "sent",
  "delivered",
  "rejected",
  "send_failed",
  "delivery_failed",
  "validation_failed",
] as const;
export type OutboundState = (typeof OUTBOUND_STATES)[number];

/**
 * The states in the words of the pull interface; a queued document that was attempted is `sending` there.
 * @source spec/shapes.md, section 6, GET /outbound/documents
 */
export const PULL_STATUS = {
  queued: "queued",
  sent: "sent",
  delivered: "delivered",
  rejected: "failed",
  validation_failed: "failed",
  send_failed: "dead",
  delivery_failed: "dead",
} as const satisfies Record<OutboundState, string>;
/** Every word of the pull interface. */
export const PULL_STATUSES = ["queued", "sending", "sent", "delivered", "failed", "dead"] as const;
/** A state of a sent document as the pull interface calls it. */
export type PullStatus = (typeof PULL_STATUSES)[number];

export const OUTBOUND_TRIGGERS = [
  "rules_refused",
  "transmitted",
  "receipt_confirmed",
  "attempts_exhausted",
  "peer_refused",
  "mls_ap",
  "mls_ab",
  "mls_re",
  "invoice_response",
  "cancelled",
] as const;
export type OutboundTrigger = (typeof OUTBOUND_TRIGGERS)[number];

/** What begins a line of a document's history: its acceptance, and every trigger that moved it. */
export const HISTORY_TRIGGERS = ["accepted", ...OUTBOUND_TRIGGERS] as const;
export type HistoryTrigger = (typeof HISTORY_TRIGGERS)[number];

/** @source spec/sapi.md, Events */
export const EVENT_KINDS = [
  "document.sent",
  "document.delivered",
  "document.delivery_failed",
  "document.mls_received",
  "document.rejected",
  "document.response_received",
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/**
 * Everything that the timeline of a document tells its firm; the kinds after those of the events stay there and reach
 * no webhook, but that the Connector has a word for document.cancelled. A new kind is a line here and a migration that
 * adds it to document_event_kind_check.
 */
export const TIMELINE_KINDS = [
  ...EVENT_KINDS,
  "document.queued",
  "document.cancelled",
  "document.attempt_failed",
  "document.mls_ignored",
  "document.response_ignored",
  "document.marked",
] as const;
export type TimelineKind = (typeof TIMELINE_KINDS)[number];

/** The import of a received document, which no timeline and only the Connector tells of. */
export const IMPORT_KIND = "document.processed";
/** Every kind that a row of events may have. */
export const STORED_EVENT_KINDS = [...TIMELINE_KINDS, IMPORT_KIND] as const;
export type StoredEventKind = (typeof STORED_EVENT_KINDS)[number];

/** Whether webhooks and pulls are told of this kind too. */
export const isEventKind = (kind: TimelineKind): kind is EventKind => EVENT_KINDS.some((event) => event === kind);

/** @source spec/rulings.md, section 5. A receipt on `queued` first tells of the transmission that it proves. */
export const outboundLifecycle = {
  queued: {
    rules_refused: { to: "validation_failed", emits: ["document.rejected"] },
    transmitted: { to: "sent", emits: ["document.sent"] },
    receipt_confirmed: { to: "delivered", emits: ["document.sent", "document.delivered"] },
    attempts_exhausted: { to: "send_failed", emits: ["document.delivery_failed"] },
    peer_refused: { to: "rejected", emits: ["document.rejected"] },
    cancelled: { to: "send_failed", emits: ["document.delivery_failed"] },
  },
  sent: {
    receipt_confirmed: { to: "delivered", emits: ["document.delivered"] },
    attempts_exhausted: { to: "delivery_failed", emits: ["document.delivery_failed"] },
    peer_refused: { to: "rejected", emits: ["document.rejected"] },
    mls_ap: { to: "delivered", emits: ["document.mls_received", "document.delivered"] },
    mls_ab: { to: "sent", emits: ["document.mls_received"] },
    mls_re: { to: "rejected", emits: ["document.mls_received", "document.rejected"] },
  },
  delivered: {
    mls_ap: { to: "delivered", emits: ["document.mls_received"] },
    mls_ab: { to: "delivered", emits: ["document.mls_received"] },
    mls_re: { to: "rejected", emits: ["document.mls_received", "document.rejected"] },
    invoice_response: { to: "delivered", emits: ["document.response_received"] },
  },
  rejected: {},
  send_failed: {},
  delivery_failed: {},
  validation_failed: {},
} as const satisfies LifecycleTable<OutboundState, OutboundTrigger, EventKind>;

/** States in which another attempt may still be made. */
export const ATTEMPTABLE_STATES = ["queued", "sent"] as const satisfies readonly OutboundState[];

/** States in which a document has ended without its receiver taking it, unless it was delivered before. */
export const UNDELIVERED_STATES = [
  "rejected",
  "send_failed",
  "delivery_failed",
  "validation_failed",
] as const satisfies readonly OutboundState[];

/** Whether another attempt may still be made at a document in this state. */
export const isAttemptable = (state: OutboundState): boolean => ATTEMPTABLE_STATES.some((open) => open === state);

/** The move that `trigger` makes in `state`; undefined when the table has none, in which case nothing may change. */
export const outboundMove = (
  state: OutboundState,
  trigger: OutboundTrigger,
): Move<OutboundState, EventKind> | undefined =>
  moveOf<OutboundState, OutboundTrigger, EventKind>(outboundLifecycle, state, trigger);
