/** Denmark: sellers with a Danish address; most rules ask for a Danish buyer too. Country codes count as written. */
import type { ElementId, XmlDocument } from "../../../xml/document.js";
import { attr, cbc, roots } from "../../../xml/names.js";
import { at } from "../../path.js";
import { fatal, ruleWhen } from "../../rule.js";
import type { Pattern } from "../../rule.js";
import type { PeppolFacts } from "../facts.js";
import { childText, codePoints, isBlank, normalizeSpace, someChildIs } from "../../values.js";
import { pathAttribute, pathText, pathTextNode, substring, toNumber } from "../xpath.js";

const ROOT = 0;
const SELLER_ID = at("cac:AccountingSupplierParty/cac:Party/cac:PartyLegalEntity/cbc:CompanyID");
const LEGAL_ID = at("cac:PartyLegalEntity/cbc:CompanyID");
const PAYABLE = at("cac:LegalMonetaryTotal/cbc:PayableAmount");
const PARTY_ID = at("cbc:ID");
const ACCOUNT = at("cac:PayeeFinancialAccount/cbc:ID");
const BRANCH = at("cac:PayeeFinancialAccount/cac:FinancialInstitutionBranch/cbc:ID");
const MANDATE = at("cac:PaymentMandate/cbc:ID");
const PAYER_ACCOUNT = at("cac:PaymentMandate/cac:PayerFinancialAccount/cbc:ID");
const CLASSIFICATION = at("cac:Item/cac:CommodityClassification/cbc:ItemClassificationCode");
const REASON = at("cbc:AllowanceChargeReason");

const isDanish = (doc: XmlDocument, facts: PeppolFacts): boolean => facts.supplierAddress.of(doc) === "DK";
const isBetweenDanes = (doc: XmlDocument, facts: PeppolFacts): boolean =>
  isDanish(doc, facts) && facts.customerAddress.of(doc) === "DK";

/** `normalize-space(path/text()) != ''`. @throws RuleError XPTY0004 for several texts */
const says = (doc: XmlDocument, e: ElementId, path: typeof ACCOUNT): boolean => !isBlank(pathTextNode(doc, e, path));

/** A number at the path, if there is one, has scheme 0184 (CVR). @throws RuleError XPTY0004 for several schemes */
const isCvr = (doc: XmlDocument, e: ElementId, path: typeof ACCOUNT): boolean =>
  !path.exists(doc, e) || normalizeSpace(pathAttribute(doc, e, path, attr.schemeID)) === "0184";

const hasCode = (doc: XmlDocument, e: ElementId, code: string): boolean =>
  someChildIs(doc, e, cbc.PaymentMeansCode, code);

const PAYMENT_CODES = " 1 10 31 42 48 49 50 58 59 93 97 ";

/** PaymentID begins with one of the card type codes. @throws RuleError XPTY0004 for several PaymentIDs */
const hasCardType = (doc: XmlDocument, e: ElementId, ...types: readonly string[]): boolean =>
  types.includes(substring(childText(doc, e, cbc.PaymentID), 1, 3));

const paymentIdLength = (doc: XmlDocument, e: ElementId): number => codePoints(childText(doc, e, cbc.PaymentID));

const UNSPSC_VERSIONS: ReadonlySet<string> = new Set(["19.05.01", "19.0501", "26.08.01", "26.0801"]);

const isListed = (doc: XmlDocument, e: ElementId): boolean => doc.attr(e, attr.listID) === "TST";
const hasVersion = (doc: XmlDocument, e: ElementId): boolean =>
  UNSPSC_VERSIONS.has(doc.attr(e, attr.listVersionID) ?? "");

/** A four-digit tax category, or a text with # inside. */
function namesTaxCategory(doc: XmlDocument, e: ElementId): boolean {
  const reason = pathText(doc, e, REASON);
  if (codePoints(normalizeSpace(pathTextNode(doc, e, REASON))) === 4) {
    const category = toNumber(reason);
    if (category >= 0 && category <= 9999) return true;
  }
  return reason.includes("#") && !reason.startsWith("#") && !reason.endsWith("#");
}

const isCreditNote = (doc: XmlDocument): boolean => doc.name(ROOT) === roots.CreditNote;

export const DENMARK: Pattern<PeppolFacts> = {
  id: "denmark",
  concerns: isDanish,
  rules: [
    ruleWhen(
      "CreditNote | Invoice",
      (doc, _, facts) => isDanish(doc, facts),
      fatal(
        "DK-R-002",
        "BT-30",
        "A Danish seller must give its CVR number as legal registration identifier.",
        (doc, e) => says(doc, e, SELLER_ID),
      ),
      fatal(
        "DK-R-014",
        "BT-30",
        "The legal registration identifier of a Danish seller must have scheme 0184.",
        (doc, e) => isCvr(doc, e, SELLER_ID),
      ),
      fatal(
        "DK-R-016",
        "BT-115",
        "A credit note between Danish parties must not have a negative amount due.",
        (doc, e, facts) =>
          !(isCreditNote(doc) && facts.customerAddress.of(doc) === "DK" && toNumber(pathTextNode(doc, e, PAYABLE)) < 0),
      ),
    ),
    ruleWhen(
      "CreditNote/cac:AccountingSupplierParty/cac:Party/cac:PartyIdentification | CreditNote/cac:AccountingCustomerParty/cac:Party/cac:PartyIdentification | " +
        "Invoice/cac:AccountingSupplierParty/cac:Party/cac:PartyIdentification | Invoice/cac:AccountingCustomerParty/cac:Party/cac:PartyIdentification",
      (doc, _, facts) => isBetweenDanes(doc, facts),
      fatal(
        "DK-R-013",
        "BT-29 BT-46",
        "Between Danish parties a party identifier must name its scheme. Add schemeID.",
        (doc, e) => !doc.has(e, cbc.ID) || normalizeSpace(pathAttribute(doc, e, PARTY_ID, attr.schemeID)) !== "",
      ),
    ),
    ruleWhen(
      "Invoice/cac:PaymentMeans",
      (doc, _, facts) => isBetweenDanes(doc, facts),
      fatal(
        "DK-R-005",
        "BT-81",
        "Between Danish parties the payment means must be 1, 10, 31, 42, 48, 49, 50, 58, 59, 93 or 97.",
        (doc, e) => PAYMENT_CODES.includes(` ${childText(doc, e, cbc.PaymentMeansCode)} `),
      ),
      fatal(
        "DK-R-006",
        "BT-84 BT-86",
        "Payment means 31 and 42 need the account and its registration number (financial institution branch).",
        (doc, e) =>
          !(hasCode(doc, e, "31") || hasCode(doc, e, "42")) || (says(doc, e, ACCOUNT) && says(doc, e, BRANCH)),
      ),
      fatal(
        "DK-R-007",
        "BT-89 BT-91",
        "Payment means 49 needs the mandate reference and the account of the payer.",
        (doc, e) => !hasCode(doc, e, "49") || (says(doc, e, MANDATE) && says(doc, e, PAYER_ACCOUNT)),
      ),
      fatal(
        "DK-R-008",
        "BT-83 BT-84",
        "Payment means 50 (giro) needs a payment id that begins with 01#, 04# or 15# and an account of 7 or 8 digits.",
        (doc, e) =>
          !hasCode(doc, e, "50") ||
          (hasCardType(doc, e, "01#", "04#", "15#") && /^[0-9]{7,8}$/u.test(pathText(doc, e, ACCOUNT))),
      ),
      fatal(
        "DK-R-009",
        "BT-83",
        "Payment means 50 (giro) with 04# or 15# needs the 16 digits of the instruction behind it.",
        (doc, e) => !hasCode(doc, e, "50") || !hasCardType(doc, e, "04#", "15#") || paymentIdLength(doc, e) === 19,
      ),
      fatal(
        "DK-R-010",
        "BT-83 BT-84",
        "Payment means 93 (FIK) needs a payment id that begins with 71#, 73# or 75# and an account of 8 characters.",
        (doc, e) =>
          !hasCode(doc, e, "93") ||
          (hasCardType(doc, e, "71#", "73#", "75#") && codePoints(pathTextNode(doc, e, ACCOUNT)) === 8),
      ),
      fatal(
        "DK-R-011",
        "BT-83",
        "Payment means 93 (FIK) with 71# or 75# needs the 15 or 16 digits of the instruction behind it.",
        (doc, e) =>
          !hasCode(doc, e, "93") ||
          !hasCardType(doc, e, "71#", "75#") ||
          paymentIdLength(doc, e) === 18 ||
          paymentIdLength(doc, e) === 19,
      ),
    ),
    ruleWhen(
      "CreditNote/cac:AccountingCustomerParty/cac:Party | Invoice/cac:AccountingCustomerParty/cac:Party",
      (doc, _, facts) => isBetweenDanes(doc, facts),
      fatal(
        "DK-R-017",
        "BT-47",
        "The legal registration identifier of a Danish buyer of a Danish seller must have scheme 0184.",
        (doc, e) => isCvr(doc, e, LEGAL_ID),
      ),
    ),
    ruleWhen(
      "CreditNote/cac:CreditNoteLine | Invoice/cac:InvoiceLine",
      (doc, _, facts) => isBetweenDanes(doc, facts),
      fatal(
        "DK-R-003",
        "BT-158",
        "Items classified by UNSPSC (list TST) must use version 19.05.01 or 26.08.01.",
        (doc, e) =>
          !CLASSIFICATION.some(doc, e, isListed, undefined) || CLASSIFICATION.some(doc, e, hasVersion, undefined),
      ),
    ),
    ruleWhen(
      "cac:AllowanceCharge",
      (doc, _, facts) => isBetweenDanes(doc, facts),
      fatal(
        "DK-R-004",
        "BT-97 BT-104 BT-139 BT-144",
        "Reason code ZZZ (a tax other than VAT) needs the four-digit tax category as reason, or a text with # inside.",
        (doc, e) => !someChildIs(doc, e, cbc.AllowanceChargeReasonCode, "ZZZ") || namesTaxCategory(doc, e),
      ),
    ),
  ],
};
