/** What a buyer can say to an invoice, as the network writes it, and how far the word has come. */
import type { OutboundState } from "./document.js";

/** Received, in process, under query, conditionally accepted, rejected, accepted, paid. */
export const RESPONSE_CODES = ["AB", "IP", "UQ", "CA", "RE", "AP", "PD"] as const;
/** A code of an Invoice Response, such as `AP`. */
export type ResponseCode = (typeof RESPONSE_CODES)[number];

/**
 * How far a response of ours has come, as its firm is told. One that was transmitted and never confirmed counts as
 * sent: the seller may have it.
 */
export const RESPONSE_DELIVERY = {
  queued: "queued",
  sent: "queued",
  delivered: "sent",
  delivery_failed: "sent",
  rejected: "queued",
  send_failed: "queued",
  validation_failed: "queued",
} as const satisfies Record<OutboundState, "sent" | "queued">;

const LOST: readonly OutboundState[] = ["rejected", "send_failed"];

/** Whether a response surely did not arrive: given again, it is sent again. */
export const isLostResponse = (state: OutboundState): boolean => LOST.includes(state);

/** The names of a firm's answers. @source spec/rulings.md, section 11 */
export const RESPONSE_OF_STATUS = {
  received: "AB",
  in_process: "IP",
  under_query: "UQ",
  conditionally_accepted: "CA",
  rejected: "RE",
  accepted: "AP",
  paid: "PD",
} as const satisfies Record<string, ResponseCode>;
/** A firm's answer to an invoice by its name in the interface. */
export type ResponseStatus = keyof typeof RESPONSE_OF_STATUS;
/** Every answer that a firm can give. */
export const RESPONSE_STATUSES = Object.keys(RESPONSE_OF_STATUS) as readonly ResponseStatus[];
/** The name of an answer's code. */
export const statusNamed = (code: string | undefined): ResponseStatus =>
  RESPONSE_STATUSES.find((name) => RESPONSE_OF_STATUS[name] === code) ?? "received";
