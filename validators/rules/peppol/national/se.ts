/**
 * Sweden: sellers with a Swedish address, some rules only with a Swedish VAT number. Country codes count as written.
 */
import { NONE } from "../../../xml/document.js";
import type { ElementId, XmlDocument } from "../../../xml/document.js";
import { cbc } from "../../../xml/names.js";
import { at } from "../../path.js";
import { fatal, ruleWhen, RuleError, warning } from "../../rule.js";
import type { Pattern } from "../../rule.js";
import { isInSweden, isInSwedenWithVat, isVatScheme } from "../facts.js";
import type { PeppolFacts } from "../facts.js";
import { hasSwedishCheckDigit } from "../identifiers.js";
import { childText, codePoints, normalizeSpace, normalizedText, normalizedUpper, someChildIs } from "../../values.js";
import { childNormalized, isNumeric, pathNormalized, substring, toNumber } from "../xpath.js";
import { companyIds } from "./registrations.js";

const LEGAL_ID = at("cac:PartyLegalEntity/cbc:CompanyID");
const SCHEME_ID = at("cac:TaxScheme/cbc:ID");
const ACCOUNT_BRANCH = at("cac:PayeeFinancialAccount/cac:FinancialInstitutionBranch/cbc:ID");

/** The only number of the VAT registrations, "" without one. @throws RuleError XPTY0004 for several */
function vatNumber(doc: XmlDocument, party: ElementId): string {
  const numbers = companyIds(doc, party, isVatScheme);
  if (numbers.length > 1) throw new RuleError("XPTY0004");
  return numbers[0] ?? "";
}

/** A tax registration other than VAT of a Swedish seller that is registered as a legal entity. */
function isOtherRegistration(doc: XmlDocument, e: ElementId): boolean {
  const registration = doc.parent(e);
  const party = doc.parent(registration);
  if (!isInSweden(doc, party) || !LEGAL_ID.exists(doc, party)) return false;
  const scheme = SCHEME_ID.one(doc, registration);
  return scheme === NONE || normalizedUpper(doc, scheme) !== "VAT";
}

const RATES: ReadonlySet<number> = new Set([6, 12, 25]);

/** A `cbc:ID` of the account to be paid, by code 30 and through the giro of that name, of a Swedish seller. */
const isGiroAccount =
  (giro: string) =>
  (doc: XmlDocument, e: ElementId, facts: PeppolFacts): boolean => {
    const means = doc.parent(doc.parent(e));
    return (
      facts.supplierIsSwedish.of(doc) &&
      childNormalized(doc, means, cbc.PaymentMeansCode) === "30" &&
      pathNormalized(doc, means, ACCOUNT_BRANCH) === giro
    );
  };

const accountLength = (doc: XmlDocument, e: ElementId): number => codePoints(normalizedText(doc, e));
const isAccountNumeric = (doc: XmlDocument, e: ElementId): boolean => isNumeric(doc.text(e));

const hasCode = (doc: XmlDocument, e: ElementId, ...codes: readonly string[]): boolean =>
  codes.some((code) => someChildIs(doc, e, cbc.PaymentMeansCode, code));

const PARTY = "cac:AccountingSupplierParty/cac:Party";
const ACCOUNT = "cac:PaymentMeans/cac:PayeeFinancialAccount/cbc:ID";

export const SWEDEN: Pattern<PeppolFacts> = {
  id: "sweden",
  concerns: (doc, facts) => facts.supplierIsSwedish.of(doc),
  rules: [
    ruleWhen(
      PARTY,
      isInSwedenWithVat,
      fatal(
        "SE-R-001",
        "BT-31",
        "A Swedish VAT number has 14 characters: SE and twelve digits.",
        (doc, e) => codePoints(normalizeSpace(vatNumber(doc, e))) === 14,
      ),
      fatal("SE-R-002", "BT-31", "The twelve characters after SE in a Swedish VAT number must be digits.", (doc, e) =>
        isNumeric(substring(vatNumber(doc, e), 3, 12)),
      ),
    ),
    ruleWhen(
      `${PARTY}/cac:PartyLegalEntity`,
      (doc, e) => doc.has(e, cbc.CompanyID) && isInSweden(doc, doc.parent(e)),
      fatal("SE-R-003", "BT-30", "A Swedish organisation number must be numeric.", (doc, e) =>
        isNumeric(childText(doc, e, cbc.CompanyID)),
      ),
      fatal(
        "SE-R-004",
        "BT-30",
        "A Swedish organisation number has ten characters.",
        (doc, e) => codePoints(childNormalized(doc, e, cbc.CompanyID)) === 10,
      ),
      fatal(
        "SE-R-013",
        "BT-30",
        "The last digit of the Swedish organisation number is not its Luhn check digit. Correct the number.",
        (doc, e) => hasSwedishCheckDigit(childNormalized(doc, e, cbc.CompanyID)),
      ),
    ),
    ruleWhen(
      `${PARTY}/cac:PartyTaxScheme/cbc:CompanyID`,
      isOtherRegistration,
      fatal(
        "SE-R-005",
        "BT-32",
        "The tax registration of a Swedish seller other than VAT must be the text 'Godkänd för F-skatt'.",
        (doc, e) => normalizedUpper(doc, e) === "GODKÄND FÖR F-SKATT",
      ),
    ),
    ruleWhen(
      "cac:TaxCategory | cac:ClassifiedTaxCategory",
      (doc, e, facts) => facts.supplierHasSwedishVat.of(doc) && someChildIs(doc, e, cbc.ID, "S"),
      fatal(
        "SE-R-006",
        "BT-96 BT-103 BT-119 BT-152",
        "Standard rates in Sweden are 6, 12 and 25 percent. Correct the rate or the category.",
        (doc, e) => RATES.has(toNumber(childText(doc, e, cbc.Percent))),
      ),
    ),
    ruleWhen(
      ACCOUNT,
      isGiroAccount("SE:PLUSGIRO"),
      warning("SE-R-007", "BT-84", "A Plusgiro account should be numeric.", isAccountNumeric),
      warning(
        "SE-R-010",
        "BT-84",
        "A Plusgiro account should have two to eight characters.",
        (doc, e) => accountLength(doc, e) >= 2 && accountLength(doc, e) <= 8,
      ),
    ),
    ruleWhen(
      ACCOUNT,
      isGiroAccount("SE:BANKGIRO"),
      warning("SE-R-008", "BT-84", "A Bankgiro account should be numeric.", isAccountNumeric),
      warning(
        "SE-R-009",
        "BT-84",
        "A Bankgiro account should have seven or eight characters.",
        (doc, e) => accountLength(doc, e) === 7 || accountLength(doc, e) === 8,
      ),
    ),
    ruleWhen(
      "cac:PaymentMeans",
      (doc, e, facts) => facts.supplierIsSwedish.of(doc) && hasCode(doc, e, "50", "56"),
      warning(
        "SE-R-011",
        "BT-81 BT-86",
        "Bankgiro and Plusgiro should be given as payment means 30 with the branch SE:BANKGIRO or SE:PLUSGIRO.",
        () => false,
      ),
    ),
    ruleWhen(
      "cac:PaymentMeans",
      (doc, e, facts) => facts.supplierIsSwedish.of(doc) && facts.customerIsSwedish.of(doc) && hasCode(doc, e, "31"),
      warning(
        "SE-R-012",
        "BT-81",
        "Between Swedish parties a credit transfer should be payment means 30.",
        () => false,
      ),
    ),
  ],
};
