/** Germany: seller and buyer with German addresses. */
import { NONE } from "../../../xml/document.js";
import type { ElementId, XmlDocument } from "../../../xml/document.js";
import { attr, cac, cbc } from "../../../xml/names.js";
import type { NameId } from "../../../xml/names.js";
import { at } from "../../path.js";
import type { Path } from "../../path.js";
import { fatal, RuleError, ruleWhen, warning } from "../../rule.js";
import type { Assert, Pattern, Rule, Test } from "../../rule.js";
import type { PeppolFacts } from "../facts.js";
import { isIban } from "../identifiers.js";
import { childText, normalizeSpace, someChildIs } from "../../values.js";
import { childNormalized, pathText, saysSomething } from "../xpath.js";

const isWithinGermany: Test<PeppolFacts> = (doc, _, facts) => facts.isWithinGermany(doc);

/** A context of the group: the path below either document element. */
const below = (path: string): string => `/Invoice/${path} | /CreditNote/${path}`;

/** Some child of that name says something. */
const isGiven =
  (name: NameId): Test<PeppolFacts> =>
  (doc, e) => {
    for (let child = doc.child(e, name); child !== NONE; child = doc.nextSame(child))
      if (saysSomething(doc, child)) return true;
    return false;
  };

const isAbsent =
  (...names: readonly NameId[]): Test<PeppolFacts> =>
  (doc, e) =>
    names.every((name) => !doc.has(e, name));
const isPresent =
  (name: NameId): Test<PeppolFacts> =>
  (doc, e) =>
    doc.has(e, name);

const TAXED: ReadonlySet<string> = new Set(["S", "Z", "E", "AE", "K", "G", "L", "M"]);
const INVOICE_TYPES: ReadonlySet<string> = new Set(["326", "380", "384", "389", "381", "875", "876", "877"]);
const LINE_CATEGORIES = [
  at("cac:InvoiceLine/cac:Item/cac:ClassifiedTaxCategory/cbc:ID"),
  at("cac:CreditNoteLine/cac:Item/cac:ClassifiedTaxCategory/cbc:ID"),
];
const CHARGE_CATEGORY = at("cac:TaxCategory/cbc:ID");
const SELLER_NUMBERS = at("cac:AccountingSupplierParty/cac:Party/cac:PartyTaxScheme/cbc:CompanyID");
const SELLER_IDS = at("cac:AccountingSupplierParty/cac:Party/cac:PartyIdentification/cbc:ID");
const PAYEE_IDS = at("cac:PayeeParty/cac:PartyIdentification/cbc:ID");
const MANDATE = at("cac:PaymentMeans/cac:PaymentMandate");
const PAYER_ACCOUNT = at("cac:PaymentMeans/cac:PaymentMandate/cac:PayerFinancialAccount/cbc:ID");
const PRECEDING = at("cac:BillingReference/cac:InvoiceDocumentReference");
const CONTACT = at("cac:Party/cac:Contact");
const PERCENT = at("cac:TaxCategory/cbc:Percent");
const ATTACHMENT = at("cac:Attachment/cbc:EmbeddedDocumentBinaryObject");
const PAYEE_ACCOUNT = at("cac:PayeeFinancialAccount/cbc:ID");
const MANDATE_ACCOUNT = at("cac:PaymentMandate/cac:PayerFinancialAccount/cbc:ID");

const isTaxed = (doc: XmlDocument, e: ElementId): boolean => TAXED.has(doc.text(e));

/** Some VAT category that needs a tax number occurs on an allowance, a charge or a line of the document. */
function hasTaxedCategory(doc: XmlDocument, e: ElementId): boolean {
  for (let charge = doc.child(e, cac.AllowanceCharge); charge !== NONE; charge = doc.nextSame(charge)) {
    const counts =
      someChildIs(doc, charge, cbc.ChargeIndicator, "false") || someChildIs(doc, charge, cbc.ChargeIndicator, "true");
    if (counts && CHARGE_CATEGORY.some(doc, charge, isTaxed, undefined)) return true;
  }
  return LINE_CATEGORIES.some((path) => path.some(doc, e, isTaxed, undefined));
}

const isSepaId = (doc: XmlDocument, e: ElementId): boolean => doc.attr(e, attr.schemeID) === "SEPA";

const DISCOUNT = /^#SKONTO#TAGE=[0-9]+#PROZENT=[0-9]+\.[0-9]{2}(?:#BASISBETRAG=-?[0-9]+\.[0-9]{2})?#$/u;

/**
 * Cash discounts in the payment terms: every line of a first note that begins with # has the form of a discount, and
 * the last of them ends in a line break.
 * @throws RuleError XPTY0004 for discounts with several payment terms
 */
function areDiscountsWellFormed(doc: XmlDocument, e: ElementId): boolean {
  const notes: string[] = [];
  for (let terms = doc.child(e, cac.PaymentTerms); terms !== NONE; terms = doc.nextSame(terms)) {
    const note = doc.child(terms, cbc.Note);
    if (note !== NONE) notes.push(doc.text(note));
  }
  let ended: boolean | undefined;
  return notes.every((note) =>
    note.split(/\r?\n/u).every((line) => {
      const discount = normalizeSpace(line);
      if (!discount.startsWith("#")) return true;
      return DISCOUNT.test(discount) && (ended ??= endsInLineBreak(notes));
    }),
  );
}

/** What follows the last "#…#" of the note begins with a line break. @throws RuleError XPTY0004 for several notes */
function endsInLineBreak(notes: readonly string[]): boolean {
  const written = notes.filter((note) => note !== "");
  if (written.length > 1) throw new RuleError("XPTY0004");
  return /^[ \t\r]*\n/u.test(afterLastMark(written[0] ?? ""));
}

/** The last piece of the text when it is cut at every "#…#" within a line (`#.+#`, as long as possible). */
function afterLastMark(note: string): string {
  const lines = note.split("\n");
  for (let i = lines.length - 1; i >= 0; i -= 1) {
    const line = lines[i] ?? "";
    const first = line.indexOf("#");
    const last = line.lastIndexOf("#");
    if (first >= 0 && last > first + 1) return [line.slice(last + 1), ...lines.slice(i + 1)].join("\n");
  }
  return note;
}

/** No file name of an attachment repeats one of an earlier supporting document. */
function areFileNamesUnique(doc: XmlDocument, e: ElementId): boolean {
  const earlier = new Set<string>();
  for (
    let reference = doc.child(e, cac.AdditionalDocumentReference);
    reference !== NONE;
    reference = doc.nextSame(reference)
  ) {
    const names: string[] = [];
    ATTACHMENT.each(
      doc,
      reference,
      (_, object, into) => {
        const name = doc.attr(object, attr.filename);
        if (name !== undefined) into.push(name);
      },
      names,
    );
    if (names.some((name) => earlier.has(name))) return false;
    for (const name of names) earlier.add(name);
  }
  return true;
}

const isType = (doc: XmlDocument, e: ElementId, types: ReadonlySet<string>): boolean =>
  types.has(childNormalized(doc, e, cbc.InvoiceTypeCode)) || types.has(childNormalized(doc, e, cbc.CreditNoteTypeCode));

const CORRECTED: ReadonlySet<string> = new Set(["384"]);

const DOCUMENT: Rule<PeppolFacts> = ruleWhen(
  "/Invoice | /CreditNote",
  isWithinGermany,
  fatal(
    "DE-R-001",
    "BG-16",
    "German invoices need payment instructions. Add cac:PaymentMeans.",
    isPresent(cac.PaymentMeans),
  ),
  fatal(
    "DE-R-015",
    "BT-10",
    "German invoices need a buyer reference (Leitweg-ID or another one). Add cbc:BuyerReference.",
    isGiven(cbc.BuyerReference),
  ),
  fatal(
    "DE-R-016",
    "BT-31 BT-32 BG-11",
    "With this VAT category the seller needs a VAT number, a tax number or a tax representative. Add one of them.",
    (doc, e) =>
      !hasTaxedCategory(doc, e) ||
      doc.has(e, cac.TaxRepresentativeParty) ||
      SELLER_NUMBERS.some(doc, e, saysSomething, undefined),
  ),
  warning("DE-R-017", "BT-3", "The type code should be 326, 380, 381, 384, 389, 875, 876 or 877.", (doc, e) =>
    isType(doc, e, INVOICE_TYPES),
  ),
  fatal(
    "DE-R-018",
    "BT-20",
    "Cash discounts are lines #SKONTO#TAGE=n#PROZENT=n.nn# with an optional BASISBETRAG=n.nn#, each ended by a line break. Correct the payment terms.",
    areDiscountsWellFormed,
  ),
  fatal("DE-R-022", "BT-125", "Two attachments have the same file name. Rename one.", areFileNamesUnique),
  warning(
    "DE-R-026",
    "BG-3",
    "A corrected invoice (384) should name the invoice it corrects. Add cac:BillingReference.",
    (doc, e) => !isType(doc, e, CORRECTED) || PRECEDING.exists(doc, e),
  ),
  fatal(
    "DE-R-030",
    "BT-90",
    "Direct debit needs the creditor identifier: a party identifier of seller or payee with scheme SEPA.",
    (doc, e) =>
      !MANDATE.exists(doc, e) ||
      SELLER_IDS.some(doc, e, isSepaId, undefined) ||
      PAYEE_IDS.some(doc, e, isSepaId, undefined),
  ),
  fatal(
    "DE-R-031",
    "BT-91",
    "Direct debit needs the account to be debited. Add cac:PayerFinancialAccount/cbc:ID to the mandate.",
    (doc, e) => !MANDATE.exists(doc, e) || PAYER_ACCOUNT.exists(doc, e),
  ),
);

/** `.*([0-9].*){3,}.*` without its backtracking. */
const hasThreeDigits = (text: string): boolean => /^(?:[^0-9]*[0-9]){3}/u.test(text);

/** `^[^@\s]+@([^@.\s]+\.)+[^@.\s]+$` on collapsed text, in one pass. */
function isMailAddress(text: string): boolean {
  const [local, domain, rest] = text.split("@", 3);
  if (local === undefined || domain === undefined || rest !== undefined || local === "" || text.includes(" "))
    return false;
  const labels = domain.split(".");
  return labels.length > 1 && labels.every((label) => label !== "");
}

const SELLER_CONTACT: Rule<PeppolFacts> = ruleWhen(
  below("cac:AccountingSupplierParty/cac:Party/cac:Contact"),
  isWithinGermany,
  fatal("DE-R-005", "BT-41", "The contact of a German seller needs a name.", isGiven(cbc.Name)),
  fatal("DE-R-006", "BT-42", "The contact of a German seller needs a telephone number.", isGiven(cbc.Telephone)),
  fatal("DE-R-007", "BT-43", "The contact of a German seller needs an e-mail address.", isGiven(cbc.ElectronicMail)),
  warning("DE-R-027", "BT-42", "The telephone number should have at least three digits.", (doc, e) =>
    hasThreeDigits(childNormalized(doc, e, cbc.Telephone)),
  ),
  warning(
    "DE-R-028",
    "BT-43",
    "The e-mail address should have one @ between a name and a domain of at least two parts.",
    (doc, e) => isMailAddress(childNormalized(doc, e, cbc.ElectronicMail)),
  ),
);

const address = (
  context: string,
  party: string,
  ...facts: readonly [city: string, cityTerm: string, code: string, codeTerm: string]
): Rule<PeppolFacts> =>
  ruleWhen(
    below(context),
    isWithinGermany,
    fatal(facts[0], facts[1], `${party} needs a city. Add cbc:CityName.`, isGiven(cbc.CityName)),
    fatal(facts[2], facts[3], `${party} needs a post code. Add cbc:PostalZone.`, isGiven(cbc.PostalZone)),
  );

const accountIsIban = (doc: XmlDocument, e: ElementId, account: Path): boolean => isIban(pathText(doc, e, account));

/** Payment means of some codes: what they need and what they exclude. */
const payment = (codes: readonly string[], ...asserts: readonly Assert<PeppolFacts>[]): Rule<PeppolFacts> =>
  ruleWhen(
    below("cac:PaymentMeans"),
    (doc, e, facts) => facts.isWithinGermany(doc) && codes.includes(childNormalized(doc, e, cbc.PaymentMeansCode)),
    ...asserts,
  );

const PAYMENT: readonly Rule<PeppolFacts>[] = [
  payment(
    ["30", "58"],
    warning(
      "DE-R-019",
      "BT-84",
      "The account of a SEPA credit transfer (58) should be a valid IBAN.",
      (doc, e) => childNormalized(doc, e, cbc.PaymentMeansCode) !== "58" || accountIsIban(doc, e, PAYEE_ACCOUNT),
    ),
    fatal(
      "DE-R-023-1",
      "BG-17",
      "A credit transfer (30, 58) needs the account of the payee. Add cac:PayeeFinancialAccount.",
      isPresent(cac.PayeeFinancialAccount),
    ),
    fatal(
      "DE-R-023-2",
      "BG-18 BG-19",
      "A credit transfer (30, 58) must not carry card data or a mandate.",
      isAbsent(cac.CardAccount, cac.PaymentMandate),
    ),
  ),
  payment(
    ["48", "54", "55"],
    fatal(
      "DE-R-024-1",
      "BG-18",
      "Payment by card (48, 54, 55) needs the card. Add cac:CardAccount.",
      isPresent(cac.CardAccount),
    ),
    fatal(
      "DE-R-024-2",
      "BG-17 BG-19",
      "Payment by card (48, 54, 55) must not carry an account of the payee or a mandate.",
      isAbsent(cac.PayeeFinancialAccount, cac.PaymentMandate),
    ),
  ),
  payment(
    ["59"],
    warning("DE-R-020", "BT-91", "The account of a SEPA direct debit (59) should be a valid IBAN.", (doc, e) =>
      accountIsIban(doc, e, MANDATE_ACCOUNT),
    ),
    fatal(
      "DE-R-025-1",
      "BG-19",
      "A direct debit (59) needs the mandate. Add cac:PaymentMandate.",
      isPresent(cac.PaymentMandate),
    ),
    fatal(
      "DE-R-025-2",
      "BG-17 BG-18",
      "A direct debit (59) must not carry an account of the payee or card data.",
      isAbsent(cac.PayeeFinancialAccount, cac.CardAccount),
    ),
  ),
];

/** Scheme, colon, anything. */
const URL = /^[a-zA-Z][a-zA-Z0-9+.-]+:/u;

export const GERMANY: Pattern<PeppolFacts> = {
  id: "germany",
  concerns: (doc, facts) => facts.isWithinGermany(doc),
  rules: [
    DOCUMENT,
    ruleWhen(
      below("cac:AdditionalDocumentReference/cac:Attachment/cac:ExternalReference"),
      isWithinGermany,
      warning(
        "DE-R-T02",
        "BT-124",
        "The location of the external document should be an absolute URL with a scheme.",
        (doc, e) => URL.test(childText(doc, e, cbc.URI)),
      ),
    ),
    ruleWhen(
      below("cac:AccountingSupplierParty"),
      isWithinGermany,
      fatal("DE-R-002", "BG-6", "A German seller needs a contact. Add cac:Contact.", (doc, e) =>
        CONTACT.exists(doc, e),
      ),
    ),
    address(
      "cac:AccountingSupplierParty/cac:Party/cac:PostalAddress",
      "The address of a German seller",
      "DE-R-003",
      "BT-37",
      "DE-R-004",
      "BT-38",
    ),
    SELLER_CONTACT,
    address(
      "cac:AccountingCustomerParty/cac:Party/cac:PostalAddress",
      "The address of a German buyer",
      "DE-R-008",
      "BT-52",
      "DE-R-009",
      "BT-53",
    ),
    address(
      "cac:Delivery/cac:DeliveryLocation/cac:Address",
      "A delivery address",
      "DE-R-010",
      "BT-77",
      "DE-R-011",
      "BT-78",
    ),
    ...PAYMENT,
    ruleWhen(
      below("cac:TaxTotal/cac:TaxSubtotal"),
      isWithinGermany,
      fatal("DE-R-014", "BT-119", "Every VAT breakdown needs its rate. Add cbc:Percent.", (doc, e) =>
        PERCENT.some(doc, e, saysSomething, undefined),
      ),
    ),
  ],
};
