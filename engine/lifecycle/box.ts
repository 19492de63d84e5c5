/** The life of a Box item: from its handing over to the end of the document that is made of it. */
import { moveOf } from "./machine.js";
import type { LifecycleTable, Move } from "./machine.js";

/** States of what waits to be sent, and of what came of it. */
export const BOX_OUTBOUND_STATES = [
  "ready",
  "scheduled",
  "sending",
  "retrying",
  "sent",
  "needs_repair",
  "failed",
  "cancelled",
  "expired",
] as const;
export type BoxOutboundState = (typeof BOX_OUTBOUND_STATES)[number];

/** Every state; a received document is an item too. @source spec/rulings.md, section 7 */
export const BOX_STATES = [...BOX_OUTBOUND_STATES, "received"] as const;
export type BoxState = (typeof BOX_STATES)[number];

/** What clients ask for. @source spec/enterprise.md, Box item */
export const BOX_OPERATIONS = ["schedule", "send_now", "retry", "cancel"] as const;
export type BoxOperation = (typeof BOX_OPERATIONS)[number];

/**
 * What moves an item. `due`: it was taken for dispatch, the first time or again after whoever had taken it was gone;
 * `postponed`: a dispatch or an attempt has failed and comes again; the others are ends of the document or of its
 * dispatch.
 */
export const BOX_TRIGGERS = [
  ...BOX_OPERATIONS,
  "due",
  "postponed",
  "transmitted",
  "rules_refused",
  "failed",
  "expired",
] as const;
export type BoxTrigger = (typeof BOX_TRIGGERS)[number];

/** Steps that the timeline of an item tells; what becomes of its documents stands there under their own events. */
export const BOX_EVENTS = ["created", ...BOX_OPERATIONS, "postponed", "failed", "rules_refused", "expired"] as const;
/** What happens to an item. */
export type BoxEvent = (typeof BOX_EVENTS)[number];

const to = <S extends BoxState>(state: S) => ({ to: state, emits: [] }) as const;
const waiting = {
  schedule: to("scheduled"),
  send_now: to("sending"),
  due: to("sending"),
  cancel: to("cancelled"),
} as const;
const ended = {
  schedule: to("scheduled"),
  send_now: to("sending"),
  retry: to("retrying"),
  cancel: to("cancelled"),
  expired: to("expired"),
} as const;

/** @source spec/rulings.md, section 7 */
export const boxLifecycle = {
  ready: waiting,
  scheduled: waiting,
  sending: {
    due: to("sending"),
    postponed: to("retrying"),
    transmitted: to("sent"),
    rules_refused: to("needs_repair"),
    failed: to("failed"),
  },
  retrying: { retry: to("retrying"), cancel: to("cancelled"), due: to("sending") },
  // A recipient's provider can refuse afterwards what was transmitted.
  sent: { failed: to("failed"), expired: to("expired") },
  needs_repair: ended,
  failed: ended,
  cancelled: { expired: to("expired") },
  expired: {},
  received: {},
} as const satisfies LifecycleTable<BoxState, BoxTrigger, never>;

/** The move that `trigger` makes in `state`; undefined when the table has none, in which case nothing may change. */
export const boxMove = (state: BoxState, trigger: BoxTrigger): Move<BoxState, never> | undefined =>
  moveOf<BoxState, BoxTrigger, never>(boxLifecycle, state, trigger);
