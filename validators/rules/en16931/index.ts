/** EN 16931 bound to UBL: business rules, code lists and syntax restrictions as one rule set. */
import type { RuleSet } from "../rule.js";
import { ruleSet } from "../runner.js";
import { CODES } from "./code-rules.js";
import { DOCUMENT } from "./document.js";
import { En16931Facts } from "./facts.js";
import {
  DOCUMENT_ALLOWANCE,
  DOCUMENT_CHARGE,
  ITEM_ATTRIBUTE,
  ITEM_CLASSIFICATION,
  ITEM_STANDARD_ID,
  LINE,
  LINE_ALLOWANCE,
  LINE_CHARGE,
  LINE_PERIOD,
  NOTE,
  PERIOD,
} from "./lines.js";
import {
  BUYER_ADDRESS,
  BUYER_ENDPOINT,
  CARD_NUMBER,
  CREDIT_TRANSFER_ACCOUNT,
  DELIVERY_ADDRESS,
  PAYEE,
  PAYMENT_MEANS,
  PRECEDING_INVOICE,
  SELLER,
  SELLER_ADDRESS,
  SELLER_ENDPOINT,
  SUPPORTING_DOCUMENT,
  TAX_REPRESENTATIVE,
  TAX_REPRESENTATIVE_ADDRESS,
  VAT_IDENTIFIER,
} from "./parties.js";
import { SYNTAX } from "./syntax.js";
import { MONETARY_TOTAL, TAX_SUBTOTAL, TAX_TOTAL } from "./totals.js";
import { categoryRules } from "./vat.js";

/** Version of the official artefact that the tables encode. */
export const EN16931_VERSION = "1.3.16";

/**
 * The rule set, ready to run; one per worker, because its facts belong to the document being judged.
 * @source CEN-EN16931-UBL.sch 1.3.16, as bundled with Peppol BIS Billing 3.0.21
 */
export function en16931(): RuleSet {
  return ruleSet({
    id: "en16931",
    version: EN16931_VERSION,
    layer: "en16931",
    facts: new En16931Facts(),
    patterns: [
      {
        id: "UBL-model",
        rules: [
          SUPPORTING_DOCUMENT,
          BUYER_ENDPOINT,
          BUYER_ADDRESS,
          CARD_NUMBER,
          DELIVERY_ADDRESS,
          DOCUMENT_ALLOWANCE,
          DOCUMENT_CHARGE,
          MONETARY_TOTAL,
          DOCUMENT,
          LINE,
          LINE_ALLOWANCE,
          LINE_CHARGE,
          LINE_PERIOD,
          PERIOD,
          ITEM_ATTRIBUTE,
          ITEM_CLASSIFICATION,
          ITEM_STANDARD_ID,
          NOTE,
          PAYEE,
          CREDIT_TRANSFER_ACCOUNT,
          PAYMENT_MEANS,
          PRECEDING_INVOICE,
          SELLER,
          SELLER_ENDPOINT,
          SELLER_ADDRESS,
          TAX_REPRESENTATIVE,
          TAX_REPRESENTATIVE_ADDRESS,
          TAX_TOTAL,
          TAX_SUBTOTAL,
          VAT_IDENTIFIER,
          ...categoryRules(),
        ],
      },
      SYNTAX,
      CODES,
    ],
  });
}
