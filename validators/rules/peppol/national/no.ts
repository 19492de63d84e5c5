/** Norway: sellers with a Norwegian VAT number or address. */
import { NONE } from "../../../xml/document.js";
import type { ElementId, XmlDocument } from "../../../xml/document.js";
import { cac, cbc } from "../../../xml/names.js";
import { fatal, ruleWhen, RuleError, warning } from "../../rule.js";
import type { Pattern } from "../../rule.js";
import type { PeppolFacts } from "../facts.js";
import { hasMod11CheckDigit } from "../identifiers.js";
import { childText, normalizeSpace } from "../../values.js";
import { substring } from "../xpath.js";
import { isRegistration, taxNumbers } from "./registrations.js";

function isInRegister(doc: XmlDocument, party: ElementId): boolean {
  const numbers = taxNumbers(doc, party);
  if (numbers.length > 1) throw new RuleError("XPTY0004");
  return normalizeSpace(numbers[0] ?? "") === "Foretaksregisteret";
}

/** Only numbers that begin with NO are examined; several VAT registrations cannot be. */
function isVatNumberRight(doc: XmlDocument, party: ElementId): boolean {
  const numbers: string[] = [];
  for (let scheme = doc.child(party, cac.PartyTaxScheme); scheme !== NONE; scheme = doc.nextSame(scheme)) {
    if (isRegistration(doc, scheme, "VAT")) numbers.push(childText(doc, scheme, cbc.CompanyID));
  }
  if (!numbers.some((number) => substring(number, 1, 2) === "NO")) return true;
  if (numbers.length > 1) throw new RuleError("XPTY0004");
  const digits = substring(numbers[0] ?? "", 3);
  return /^[0-9]{9}MVA$/u.test(digits) && hasMod11CheckDigit(digits.slice(0, 9));
}

export const NORWAY: Pattern<PeppolFacts> = {
  id: "norway",
  concerns: (doc, facts) => facts.supplierCountry.of(doc) === "NO",
  rules: [
    ruleWhen(
      "cac:AccountingSupplierParty/cac:Party",
      (doc, _, facts) => facts.supplierCountry.of(doc) === "NO",
      warning(
        "NO-R-002",
        "BT-32",
        "Most Norwegian sellers are entered in Foretaksregisteret and must say so: add a tax registration with scheme TAX and that word.",
        isInRegister,
      ),
      fatal(
        "NO-R-001",
        "BT-31",
        "A Norwegian VAT number is NO, a valid nine-digit organisation number and MVA. Correct the number.",
        isVatNumberRight,
      ),
    ),
  ],
};
