/** Which received documents we have rules for. */
import {
  BILLING_CUSTOMIZATION,
  parseDocumentType,
  SELF_BILLING_CUSTOMIZATION,
} from "../../peppol/envelope/identifiers.js";
import { INVOICE_RESPONSE_CUSTOMIZATION } from "../../peppol/responses/invoice-response.js";

/** Specifications whose rules we have, by the name of the root; of others we say nothing but that they arrived. */
const JUDGED: Readonly<Record<string, readonly string[]>> = {
  Invoice: [BILLING_CUSTOMIZATION, SELF_BILLING_CUSTOMIZATION],
  CreditNote: [BILLING_CUSTOMIZATION, SELF_BILLING_CUSTOMIZATION],
  ApplicationResponse: [INVOICE_RESPONSE_CUSTOMIZATION],
};

/** Whether we have rules for a declared type, plain or extended. */
export function isJudged(documentTypeId: string): boolean {
  const { rootLocal = "", customizationId = "" } = parseDocumentType(documentTypeId) ?? {};
  return JUDGED[rootLocal]?.some((id) => customizationId === id || customizationId.startsWith(`${id}#`)) === true;
}
