/**
 * Warnings of our own about invoices that are valid by every published rule and fail with the receiver all the same.
 * They cannot throw, so that they never stand in the way of a verdict.
 */
import type { ElementId, XmlDocument } from "../../xml/document.js";
import { NO_FACTS, rule, warning } from "../rule.js";
import type { RuleSet } from "../rule.js";
import { ruleSet } from "../runner.js";
import { isMistypedIban } from "./iban.js";

const NEGATIVE_ZERO = /^[ \t\r\n]*-(?:0+(?:\.0*)?|\.0+)[ \t\r\n]*$/u;

/**
 * XPath says that minus zero is not below zero, so BR-27 and BR-28 hold; the processor that most receivers run says it
 * is.
 */
const isPlainZero = (doc: XmlDocument, e: ElementId): boolean => !NEGATIVE_ZERO.test(doc.text(e));
const isNoMistake = (doc: XmlDocument, e: ElementId): boolean => !isMistypedIban(doc.text(e));

const zero = (id: string, terms: string, refusing: string) =>
  warning(
    id,
    terms,
    `The price is minus zero. It counts as zero here, but receivers with other processors refuse it by ${refusing}; write 0.00 without the sign.`,
    isPlainZero,
  );

/** What the findings of this set are named by, wherever it is asked for. */
export const ADVICE_LAYER = "advice";

/** For documents whose root is Invoice or CreditNote. */
export const adviceRules = (): RuleSet =>
  ruleSet({
    id: "advice",
    version: "1",
    layer: ADVICE_LAYER,
    facts: NO_FACTS,
    patterns: [
      {
        id: "prices",
        rules: [
          rule("cac:Price/cbc:PriceAmount", zero("ADVICE-PRICE-MINUS-ZERO", "BT-146", "BR-27")),
          rule("cac:Price/cac:AllowanceCharge/cbc:BaseAmount", zero("ADVICE-GROSS-MINUS-ZERO", "BT-148", "BR-28")),
        ],
      },
      {
        id: "accounts",
        rules: [
          rule(
            "cac:PayeeFinancialAccount/cbc:ID",
            warning(
              "ADVICE-IBAN",
              "BT-84",
              "The account has the form of an IBAN, but its check digits do not fit: a digit is mistyped or swapped. Compare it with the account and correct it, or the payment will not arrive.",
              isNoMistake,
            ),
          ),
          rule(
            "cac:PayerFinancialAccount/cbc:ID",
            warning(
              "ADVICE-IBAN-DEBITED",
              "BT-91",
              "The account to be debited has the form of an IBAN, but its check digits do not fit: a digit is mistyped or swapped. Compare it with the mandate and correct it.",
              isNoMistake,
            ),
          ),
        ],
      },
    ],
  });
