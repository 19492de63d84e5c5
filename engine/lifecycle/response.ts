/** What a buyer can say to an invoice, as the network writes it. */

/** Received, in process, under query, conditionally accepted, rejected, accepted, paid. */
export const RESPONSE_CODES = ["AB", "IP", "UQ", "CA", "RE", "AP", "PD"] as const;
/** A code of an Invoice Response, such as `AP`. */
export type ResponseCode = (typeof RESPONSE_CODES)[number];
