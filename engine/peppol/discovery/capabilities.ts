/** What a participant of ours takes unless it is registered otherwise: invoices, and answers to those it sends. */
import { BILLING_CAPABILITIES } from "../envelope/identifiers.js";
import { INVOICE_RESPONSE_DOCUMENT_TYPE, INVOICE_RESPONSE_PROFILE } from "../responses/invoice-response.js";

/** The document types and processes that our SMP publishes for a participant by default. */
export const PARTICIPANT_CAPABILITIES: typeof BILLING_CAPABILITIES = [
  ...BILLING_CAPABILITIES,
  { documentTypeId: INVOICE_RESPONSE_DOCUMENT_TYPE, processId: INVOICE_RESPONSE_PROFILE },
];
