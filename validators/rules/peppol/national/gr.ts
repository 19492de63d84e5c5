/** Greece: sellers, directly or through a tax representative, with a Greek VAT number or address. */
import { NONE } from "../../../xml/document.js";
import type { ElementId, XmlDocument } from "../../../xml/document.js";
import { attr, cac, cbc } from "../../../xml/names.js";
import { at } from "../../path.js";
import { fatal, RuleError, ruleWhen, warning } from "../../rule.js";
import type { Pattern, Rule, Test } from "../../rule.js";
import { isGreek } from "../facts.js";
import type { PeppolFacts } from "../facts.js";
import { isGreekTin } from "../identifiers.js";
import { codePoints, isBlank, normalizeSpace, onlyChild, someChildIs } from "../../values.js";
import { isCastableAsInteger, pathText, substring, toNumber } from "../xpath.js";
import { isRegistration, vatNumbers } from "./registrations.js";

const ROOT = 0;
const PARTY_NAME = at("cac:PartyName/cbc:Name");
const LINK = at("cac:Attachment/cac:ExternalReference/cbc:URI");

const MARK = "##M.AR.K##";
const LINK_MARK = "##INVOICE|URL##";
const DOCUMENT_TYPES: ReadonlySet<string> = new Set(["1.1", "1.6", "2.1", "2.4", "5.1", "5.2"]);
const DATE = /^(0?[1-9]|[12][0-9]|3[01])[-\\/ ]?(0?[1-9]|1[0-2])[-\\/ ]?(19|20)[0-9]{2}/u;

const isGreekSender: Test<PeppolFacts> = (doc, _, facts) => facts.isGreekSender(doc);
const isGreekBetween: Test<PeppolFacts> = (doc, _, facts) => facts.isGreekBetween(doc);

/** Segments of the invoice number, separated by "|", seven at most: six are right. An empty number has none. */
const segments = (doc: XmlDocument, id: ElementId): readonly string[] =>
  doc.text(id) === "" ? [] : doc.text(id).split("|", 7);
const segment = (doc: XmlDocument, id: ElementId, position: number): string => segments(doc, id)[position - 1] ?? "";

const dateParts = (date: string): readonly string[] => (date === "" ? [] : date.split("-", 3));

/** The second segment is a date, and the day, month and year of the issue date in this order. */
function isIssueDate(doc: XmlDocument, text: string): boolean {
  if (isBlank(text) || !DATE.test(text)) return false;
  const written = text.split("/");
  const issue = onlyChild(doc, ROOT, cbc.IssueDate);
  const [year, month, day] =
    issue === NONE ? [] : doc.isLong(issue) ? doc.ofLong(issue, dateParts) : dateParts(doc.text(issue));
  return [day, month, year].every((part, index) => part !== undefined && part === written[index]);
}

/** A whole number from zero. @throws RuleError FORG0001 for a number that is not whole */
function isWholeNumber(text: string): boolean {
  if (Number.isNaN(toNumber(text))) return false;
  if (!isCastableAsInteger(text)) throw new RuleError("FORG0001");
  return toNumber(text) >= 0;
}

const isGreekVat = (number: string): boolean => number.startsWith("EL") && isGreekTin(substring(number, 3));

function hasOneGreekVat(doc: XmlDocument, party: ElementId): boolean {
  const numbers = vatNumbers(doc, party);
  return numbers.length === 1 && isGreekVat(numbers[0] ?? "");
}

const isGreekAddress: Test<PeppolFacts> = (doc, e) => doc.attr(e, attr.schemeID) === "9933" && isGreekTin(doc.text(e));
const hasPartyName: Test<PeppolFacts> = (doc, e) => pathText(doc, e, PARTY_NAME) !== "";

/** Supporting documents with this description. */
function countMarked(doc: XmlDocument, e: ElementId, mark: string): number {
  let count = 0;
  for (
    let reference = doc.child(e, cac.AdditionalDocumentReference);
    reference !== NONE;
    reference = doc.nextSame(reference)
  ) {
    if (someChildIs(doc, reference, cbc.DocumentDescription, mark)) count += 1;
  }
  return count;
}

const INVOICE_NUMBER: Rule<PeppolFacts> = ruleWhen(
  "/Invoice/cbc:ID | /CreditNote/cbc:ID",
  isGreekSender,
  fatal(
    "GR-R-001-1",
    "BT-1",
    "The number of a Greek invoice has six segments separated by |.",
    (doc, e) => segments(doc, e).length === 6,
  ),
  fatal(
    "GR-R-001-2",
    "BT-1 BT-31 BT-63",
    "The first segment of the number must be a valid TIN, that of the seller or of its tax representative.",
    (doc, e, facts) =>
      codePoints(normalizeSpace(segment(doc, e, 1))) === 9 &&
      isGreekTin(segment(doc, e, 1)) &&
      facts.isTinOfSeller(doc, segment(doc, e, 1)),
  ),
  fatal(
    "GR-R-001-3",
    "BT-1 BT-2",
    "The second segment of the number must be the issue date, written DD/MM/YYYY.",
    (doc, e) => isIssueDate(doc, segment(doc, e, 2)),
  ),
  fatal(
    "GR-R-001-4",
    "BT-1",
    "The third segment of the number must be a whole number.",
    (doc, e) => !isBlank(segment(doc, e, 3)) && isWholeNumber(segment(doc, e, 3)),
  ),
  fatal(
    "GR-R-001-5",
    "BT-1",
    "The fourth segment of the number must be a Greek document type: 1.1, 1.6, 2.1, 2.4, 5.1 or 5.2.",
    (doc, e) => !isBlank(segment(doc, e, 4)) && DOCUMENT_TYPES.has(segment(doc, e, 4)),
  ),
  fatal(
    "GR-R-001-6",
    "BT-1",
    "The fifth segment of the number must not be empty.",
    (doc, e) => segment(doc, e, 5) !== "",
  ),
  fatal(
    "GR-R-001-7",
    "BT-1",
    "The sixth segment of the number must not be empty.",
    (doc, e) => segment(doc, e, 6) !== "",
  ),
);

/** Rules of Greek sellers, whoever buys. */
export const GREECE: Pattern<PeppolFacts> = {
  id: "greece",
  concerns: (doc, facts) => facts.isGreekSender(doc) || isGreek(facts.accountingSupplierCountry.of(doc)),
  rules: [
    INVOICE_NUMBER,
    ruleWhen(
      "cac:AccountingSupplierParty/cac:Party",
      isGreekSender,
      fatal("GR-R-002", "BT-27", "A Greek seller must give its name as registered. Add cac:PartyName.", hasPartyName),
      warning("GR-S-011", "BT-31", "A Greek seller should give one VAT number, EL and a valid TIN.", hasOneGreekVat),
    ),
    ruleWhen(
      "cac:AccountingSupplierParty/cac:Party/cac:PartyTaxScheme/cbc:CompanyID",
      (doc, e, facts) => facts.isGreekSender(doc) && isRegistration(doc, doc.parent(e), "VAT"),
      fatal(
        "GR-R-003",
        "BT-31",
        "The VAT number of a Greek seller is EL and a valid TIN. Correct the number.",
        (doc, e) => isGreekVat(doc.text(e)),
      ),
    ),
    ruleWhen(
      "/Invoice | /CreditNote",
      (doc, _, facts) => facts.isGreekSender(doc) && facts.sellerIsInGreece.of(doc),
      fatal(
        "GR-R-004-1",
        "BT-122",
        "A Greek invoice carries one MARK: one supporting document described as ##M.AR.K##.",
        (doc, e) => countMarked(doc, e, MARK) === 1,
      ),
      warning(
        "GR-S-008-1",
        "BT-122",
        "A Greek invoice should carry one link: one supporting document described as ##INVOICE|URL##.",
        (doc, e) => countMarked(doc, e, LINK_MARK) === 1,
      ),
      fatal(
        "GR-R-008-2",
        "BT-122",
        "A Greek invoice carries at most one link (##INVOICE|URL##).",
        (doc, e) => countMarked(doc, e, LINK_MARK) <= 1,
      ),
    ),
    ruleWhen(
      "cac:AdditionalDocumentReference/cbc:ID",
      (doc, e, facts) =>
        facts.isGreekSender(doc) &&
        facts.sellerIsInGreece.of(doc) &&
        someChildIs(doc, doc.parent(e), cbc.DocumentDescription, MARK),
      fatal("GR-R-004-2", "BT-122", "The MARK must be a whole number above zero.", (doc, e) =>
        /^[1-9]/u.test(doc.text(e)),
      ),
    ),
    ruleWhen(
      "cac:AdditionalDocumentReference",
      (doc, e, facts) => facts.isGreekSender(doc) && someChildIs(doc, e, cbc.DocumentDescription, LINK_MARK),
      fatal(
        "GR-R-008-3",
        "BT-124",
        "The supporting document ##INVOICE|URL## must have the link in cac:ExternalReference/cbc:URI.",
        (doc, e) => !isBlank(pathText(doc, e, LINK)),
      ),
    ),
    ruleWhen(
      "cac:AccountingCustomerParty/cac:Party",
      isGreekSender,
      fatal(
        "GR-R-005",
        "BT-44",
        "A Greek seller must give the full name of the buyer. Add cac:PartyName.",
        hasPartyName,
      ),
    ),
    ruleWhen(
      "cac:AccountingSupplierParty/cac:Party/cbc:EndpointID",
      (doc, _, facts) => isGreek(facts.accountingSupplierCountry.of(doc)),
      fatal(
        "GR-R-009",
        "BT-34",
        "The electronic address of a Greek seller is a valid TIN with scheme 9933.",
        isGreekAddress,
      ),
    ),
  ],
};

/** Rules of Greek sellers with Greek buyers. */
export const GREECE_DOMESTIC: Pattern<PeppolFacts> = {
  id: "greece-domestic",
  concerns: (doc, facts) => facts.isGreekBetween(doc),
  rules: [
    ruleWhen(
      "cac:AccountingCustomerParty/cac:Party",
      isGreekBetween,
      fatal(
        "GR-R-006",
        "BT-48",
        "A Greek seller must give the VAT number of a Greek buyer: EL and a valid TIN.",
        hasOneGreekVat,
      ),
    ),
    ruleWhen(
      "cac:AccountingCustomerParty/cac:Party/cbc:EndpointID",
      isGreekBetween,
      fatal(
        "GR-R-010",
        "BT-49",
        "The electronic address of a Greek buyer is a valid TIN with scheme 9933.",
        isGreekAddress,
      ),
    ),
  ],
};
