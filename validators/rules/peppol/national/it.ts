/** Italy: sellers with an Italian VAT number or address. */
import type { XmlDocument } from "../../../xml/document.js";
import { cbc } from "../../../xml/names.js";
import { at } from "../../path.js";
import { fatal, ruleWhen } from "../../rule.js";
import type { Pattern } from "../../rule.js";
import type { PeppolFacts } from "../facts.js";
import { childNormalized } from "../xpath.js";
import { isRegistration } from "./registrations.js";

const STREET = at("cac:PostalAddress/cbc:StreetName");
const CITY = at("cac:PostalAddress/cbc:CityName");
const POST_CODE = at("cac:PostalAddress/cbc:PostalZone");

const isItalian = (doc: XmlDocument, facts: PeppolFacts): boolean => facts.supplierCountry.of(doc) === "IT";

export const ITALY: Pattern<PeppolFacts> = {
  id: "italy",
  concerns: isItalian,
  rules: [
    ruleWhen(
      "cac:AccountingSupplierParty/cac:Party/cac:PartyTaxScheme",
      (doc, e, facts) => isItalian(doc, facts) && !isRegistration(doc, e, "VAT"),
      fatal(
        "IT-R-001",
        "BT-32",
        "The seller's tax registration (not VAT) must have 11 to 16 capital letters or digits.",
        (doc, e) => /^[A-Z0-9]{11,16}$/u.test(childNormalized(doc, e, cbc.CompanyID)),
      ),
    ),
    ruleWhen(
      "cac:AccountingSupplierParty/cac:Party",
      (doc, _, facts) => isItalian(doc, facts),
      fatal("IT-R-002", "BT-35", "An Italian seller needs a street in its address. Add cbc:StreetName.", (doc, e) =>
        STREET.exists(doc, e),
      ),
      fatal("IT-R-003", "BT-37", "An Italian seller needs a city in its address. Add cbc:CityName.", (doc, e) =>
        CITY.exists(doc, e),
      ),
      fatal("IT-R-004", "BT-38", "An Italian seller needs a post code in its address. Add cbc:PostalZone.", (doc, e) =>
        POST_CODE.exists(doc, e),
      ),
    ),
  ],
};
