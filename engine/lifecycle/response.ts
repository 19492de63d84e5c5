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
