/**
 * Identifiers by scheme: electronic addresses, party identifiers, legal and VAT numbers.
 *
 * The official pattern asks one rule per scheme, in order. Schemes exclude each other, so one look-up finds the rule;
 * only the form of Dutch VAT numbers does not depend on the scheme and has its place in the order.
 */
import type { ElementId, XmlDocument } from "../../xml/document.js";
import { attr, cac, cbc } from "../../xml/names.js";
import type { Severity } from "../../report.js";
import { at } from "../path.js";
import { RuleError } from "../rule.js";
import type { AssertFacts, Rule } from "../rule.js";
import { IDENTIFIER_CHECKS, isDutchVat } from "./identifiers.js";
import type { IdentifierCheck } from "./identifiers.js";
import { normalizedText } from "../values.js";
import { pathNormalized } from "./xpath.js";

interface SchemeRule extends AssertFacts {
  /** Code of the scheme; undefined for the rule that goes by the VAT scheme instead. */
  readonly scheme: string | undefined;
}

const ADDRESS_OR_LEGAL = "BT-29 BT-30 BT-34 BT-46 BT-47 BT-49 BT-60 BT-61".split(" ");

const scheme = (id: string, severity: Severity, code: string | undefined, message: string): SchemeRule => ({
  id,
  severity,
  scheme: code,
  message,
  terms: ADDRESS_OR_LEGAL,
});

/** In the order of the official pattern. */
const SCHEME_RULES: readonly SchemeRule[] = [
  scheme(
    "PEPPOL-COMMON-R040",
    "fatal",
    "0088",
    "The GLN (0088) is not made of digits with a correct GS1 check digit. Correct the number.",
  ),
  scheme(
    "PEPPOL-COMMON-R041",
    "fatal",
    "0192",
    "The Norwegian organisation number (0192) needs nine digits with a correct check digit.",
  ),
  scheme(
    "PEPPOL-COMMON-R042",
    "fatal",
    "0184",
    "The Danish CVR number (0184) needs eight digits, optionally after DK.",
  ),
  scheme("PEPPOL-COMMON-R052", "fatal", "0096", "The Danish P number (0096) needs ten digits."),
  scheme("PEPPOL-COMMON-R053", "fatal", "0198", "The Danish SE number (0198) needs DK and eight digits."),
  scheme(
    "PEPPOL-COMMON-R043",
    "fatal",
    "0208",
    "The Belgian enterprise number (0208) needs ten digits with correct check digits.",
  ),
  scheme(
    "PEPPOL-COMMON-R044",
    "warning",
    "0201",
    "The Italian IPA office code (0201) should have six letters or digits.",
  ),
  scheme(
    "PEPPOL-COMMON-R045",
    "warning",
    "0210",
    "The Italian tax code (0210) should have 11 digits or the 16 characters of a codice fiscale.",
  ),
  {
    ...scheme(
      "PEPPOL-COMMON-R046",
      "warning",
      "9907",
      "The Italian tax code (9907) should have 11 digits or the 16 characters of a codice fiscale.",
    ),
    terms: ["BT-34", "BT-49"],
  },
  scheme(
    "PEPPOL-COMMON-R047",
    "warning",
    "0211",
    "The Italian VAT number (0211) should be IT and eleven digits with a correct check digit.",
  ),
  scheme(
    "PEPPOL-COMMON-R049",
    "fatal",
    "0007",
    "The Swedish organisation number (0007) needs ten digits with a correct check digit.",
  ),
  scheme(
    "PEPPOL-COMMON-R050",
    "fatal",
    "0151",
    "The Australian Business Number (0151) needs eleven digits with correct check digits.",
  ),
  scheme(
    "PEPPOL-COMMON-R054",
    "warning",
    "0106",
    "The Dutch chamber of commerce number (0106) should have eight digits.",
  ),
  scheme(
    "PEPPOL-COMMON-R055",
    "warning",
    "0190",
    "The Dutch organisation identification number (0190) should have twenty digits.",
  ),
  scheme(
    "PEPPOL-COMMON-R056-1",
    "warning",
    "9944",
    "The Dutch VAT number (9944) should be NL, nine digits, B and two digits.",
  ),
  {
    ...scheme(
      "PEPPOL-COMMON-R056-2",
      "warning",
      undefined,
      "A VAT number that begins with NL should go on with nine digits, B and two digits.",
    ),
    terms: ["BT-31", "BT-48", "BT-63"],
  },
  scheme("PEPPOL-COMMON-R057", "warning", "0217", "The Dutch establishment number (0217) should have twelve digits."),
];

const DUTCH_VAT = SCHEME_RULES.findIndex((row) => row.scheme === undefined);

interface SchemeCheck {
  readonly index: number;
  readonly check: IdentifierCheck;
}

const BY_SCHEME: ReadonlyMap<string, SchemeCheck> = new Map(
  SCHEME_RULES.flatMap((row, index) => {
    const check = row.scheme === undefined ? undefined : IDENTIFIER_CHECKS.get(row.scheme);
    return row.scheme === undefined || check === undefined ? [] : [[row.scheme, { index, check }] as const];
  }),
);

/** Scheme that is examined on electronic addresses only. */
const ADDRESS_ONLY = "9907";
const SCHEME_ID = at("cac:TaxScheme/cbc:ID");

/**
 * All identifier rules as one rule: EndpointID, PartyIdentification/ID and CompanyID have no other rule in the pattern.
 */
export const IDENTIFIER_RULE: Rule = {
  context: "cbc:EndpointID | cac:PartyIdentification/cbc:ID | cbc:CompanyID",
  asserts: [],
  survey: { asserts: SCHEME_RULES, judge: (doc, e, _, fail) => judgeIdentifier(doc, e, fail) },
};

function judgeIdentifier(doc: XmlDocument, e: ElementId, fail: (index: number) => void): void {
  const code = doc.attr(e, attr.schemeID);
  const found = code === undefined ? undefined : BY_SCHEME.get(code);
  const applies = found !== undefined && (code !== ADDRESS_ONLY || doc.name(e) === cbc.EndpointID);
  if (applies && found.index < DUTCH_VAT) {
    if (!found.check(doc.text(e))) fail(found.index);
  } else if (doc.name(e) === cbc.CompanyID && isDutchVatNumber(doc, e)) {
    if (!isDutchVat(doc.text(e))) fail(DUTCH_VAT);
  } else if (applies && !found.check(doc.text(e))) {
    fail(found.index);
  }
}

/** A CompanyID of a VAT registration that begins with NL. Part of a context, so an error means that it is none. */
function isDutchVatNumber(doc: XmlDocument, e: ElementId): boolean {
  const registration = doc.parent(e);
  if (doc.name(registration) !== cac.PartyTaxScheme || !normalizedText(doc, e).startsWith("NL")) return false;
  try {
    return pathNormalized(doc, registration, SCHEME_ID) === "VAT";
  } catch (error) {
    if (error instanceof RuleError) return false;
    throw error;
  }
}
