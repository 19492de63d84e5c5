/** Rules of the parties, their addresses and how they are paid. */
import { NONE } from "../../xml/document.js";
import type { ElementId, XmlDocument } from "../../xml/document.js";
import { attr, cac, cbc } from "../../xml/names.js";
import { VAT_PREFIXES } from "../codes/countries.js";
import { windows } from "../codes/code-list.js";
import { at } from "../path.js";
import type { Path } from "../path.js";
import { fatal, rule, ruleWhen, warning } from "../rule.js";
import type { Rule } from "../rule.js";
import { childText, codePoints, normalizeSpace, someChildIs } from "../values.js";
import type { En16931Facts } from "./facts.js";
import type { LastAnswer } from "./memory/last-answer.js";
import { hasVatId } from "./identifiers.js";
import { filled, hasAttribute, present } from "./tests.js";
import { isVat } from "./vat-categories.js";

type PartyRule = Rule<En16931Facts>;

const hasCountry = filled("cac:Country/cbc:IdentificationCode");

export const SUPPORTING_DOCUMENT: PartyRule = rule(
  "cac:AdditionalDocumentReference",
  fatal("BR-52", "BT-122", "The supporting document has no reference; add cbc:ID.", filled("cbc:ID")),
);

export const BUYER_ENDPOINT: PartyRule = rule(
  "cac:AccountingCustomerParty/cac:Party/cbc:EndpointID",
  fatal(
    "BR-63",
    "BT-49",
    "The electronic address of the buyer has no scheme; add the attribute schemeID.",
    hasAttribute("@schemeID"),
  ),
);

export const BUYER_ADDRESS: PartyRule = rule(
  "cac:AccountingCustomerParty/cac:Party/cac:PostalAddress",
  fatal("BR-11", "BT-55", "The country of the buyer is missing; add cac:Country/cbc:IdentificationCode.", hasCountry),
);

export const CARD_NUMBER: PartyRule = rule(
  "cac:PaymentMeans/cac:CardAccount/cbc:PrimaryAccountNumberID",
  warning(
    "BR-51",
    "BT-87",
    "A card number must not be given in full; give at most the first six and the last four digits.",
    (doc, e) => codePoints(normalizeSpace(doc.text(e))) <= 10,
  ),
);

export const DELIVERY_ADDRESS: PartyRule = rule(
  "cac:Delivery/cac:DeliveryLocation/cac:Address",
  fatal(
    "BR-57",
    "BT-80",
    "The country of delivery is missing; add cac:Country/cbc:IdentificationCode.",
    present("cac:Country/cbc:IdentificationCode"),
  ),
);

const payeeName = at("cac:PartyName/cbc:Name");
const payeeId = at("cac:PartyIdentification/cbc:ID");

export const PAYEE: PartyRule = rule(
  "cac:PayeeParty",
  fatal(
    "BR-17",
    "BT-59 BT-60",
    "A payee is given only when it differs from the seller; add its name (cac:PartyName/cbc:Name), or remove cac:PayeeParty when it is the seller.",
    (doc, e, facts) =>
      payeeName.exists(doc, e) &&
      !sharesText(doc, e, payeeName, facts.sellerNames) &&
      !sharesText(doc, e, payeeId, facts.sellerIds),
  ),
);

/** Some element at `path` below the payee has a text of the seller, who stands next to it. */
function sharesText(doc: XmlDocument, payee: ElementId, path: Path, seller: LastAnswer<ReadonlySet<string>>): boolean {
  const parent = doc.parent(payee);
  return parent !== NONE && path.exists(doc, payee) && path.some(doc, payee, hasTextIn, seller.of(doc, parent));
}

const hasTextIn = (doc: XmlDocument, e: ElementId, texts: ReadonlySet<string>): boolean => texts.has(doc.text(e));

const isCreditTransfer = (doc: XmlDocument, means: ElementId): boolean =>
  someChildIs(doc, means, cbc.PaymentMeansCode, "30") || someChildIs(doc, means, cbc.PaymentMeansCode, "58");

export const CREDIT_TRANSFER_ACCOUNT: PartyRule = ruleWhen(
  "cac:PaymentMeans/cac:PayeeFinancialAccount",
  (doc, e) => isCreditTransfer(doc, doc.parent(e)),
  fatal(
    "BR-50",
    "BT-84",
    "The account of the credit transfer has no identifier; add cbc:ID (an IBAN, for instance).",
    filled("cbc:ID"),
  ),
);

const payeeAccount = at("cac:PayeeFinancialAccount/cbc:ID");

export const PAYMENT_MEANS: PartyRule = rule(
  "cac:PaymentMeans",
  fatal("BR-49", "BT-81", "The payment means have no type; add cbc:PaymentMeansCode.", present("cbc:PaymentMeansCode")),
  fatal(
    "BR-61",
    "BT-81 BT-84",
    "A credit transfer (codes 30 and 58) needs the account to pay to; add cac:PayeeFinancialAccount/cbc:ID.",
    (doc, e) => {
      const code = normalizeSpace(childText(doc, e, cbc.PaymentMeansCode));
      return (code !== "30" && code !== "58") || payeeAccount.exists(doc, e);
    },
  ),
);

export const PRECEDING_INVOICE: PartyRule = rule(
  "cac:BillingReference",
  fatal(
    "BR-55",
    "BT-25",
    "The reference to a preceding invoice has no number; add cac:InvoiceDocumentReference/cbc:ID.",
    present("cac:InvoiceDocumentReference/cbc:ID"),
  ),
);

export const SELLER: PartyRule = rule(
  "cac:AccountingSupplierParty",
  fatal(
    "BR-CO-26",
    "BT-29 BT-30 BT-31",
    "The seller cannot be identified; give its VAT identifier, its legal registration (cac:PartyLegalEntity/cbc:CompanyID) or another identifier.",
    isIdentified,
  ),
);

function isIdentified(doc: XmlDocument, supplier: ElementId): boolean {
  for (let party = doc.child(supplier, cac.Party); party !== NONE; party = doc.nextSame(party)) {
    for (let e = doc.child(party, cac.PartyTaxScheme); e !== NONE; e = doc.nextSame(e))
      if (isVat(doc, e) && doc.has(e, cbc.CompanyID)) return true;
  }
  for (let party = doc.child(supplier, cac.Party); party !== NONE; party = doc.nextSame(party)) {
    if (hasIdentifier(doc, party) || hasLegalId.exists(doc, party)) return true;
  }
  return false;
}

const hasLegalId = at("cac:PartyLegalEntity/cbc:CompanyID");

/** An identifier of the party that is not the SEPA creditor identifier. */
function hasIdentifier(doc: XmlDocument, party: ElementId): boolean {
  for (let e = doc.child(party, cac.PartyIdentification); e !== NONE; e = doc.nextSame(e)) {
    for (let id = doc.child(e, cbc.ID); id !== NONE; id = doc.nextSame(id))
      if (doc.attr(id, attr.schemeID) !== "SEPA") return true;
  }
  return false;
}

export const SELLER_ENDPOINT: PartyRule = rule(
  "cac:AccountingSupplierParty/cac:Party/cbc:EndpointID",
  fatal(
    "BR-62",
    "BT-34",
    "The electronic address of the seller has no scheme; add the attribute schemeID.",
    hasAttribute("@schemeID"),
  ),
);

export const SELLER_ADDRESS: PartyRule = rule(
  "cac:AccountingSupplierParty/cac:Party/cac:PostalAddress",
  fatal("BR-09", "BT-40", "The country of the seller is missing; add cac:Country/cbc:IdentificationCode.", hasCountry),
);

export const TAX_REPRESENTATIVE: PartyRule = rule(
  "cac:TaxRepresentativeParty",
  fatal(
    "BR-18",
    "BT-62",
    "The name of the tax representative is missing; add cac:PartyName/cbc:Name.",
    filled("cac:PartyName/cbc:Name"),
  ),
  fatal(
    "BR-19",
    "BG-12",
    "The address of the tax representative is missing; add cac:PostalAddress.",
    present("cac:PostalAddress"),
  ),
  fatal(
    "BR-56",
    "BT-63",
    "The VAT identifier of the tax representative is missing; add cac:PartyTaxScheme with cac:TaxScheme VAT.",
    hasVatId,
  ),
);

export const TAX_REPRESENTATIVE_ADDRESS: PartyRule = rule(
  "cac:TaxRepresentativeParty/cac:PostalAddress",
  fatal(
    "BR-20",
    "BT-69",
    "The country of the tax representative is missing; add cac:Country/cbc:IdentificationCode.",
    hasCountry,
  ),
);

/** The official rule searches the list as text, so that a prefix of one character or with a space is found too. */
const PREFIXES = new Set([...windows(VAT_PREFIXES, 2), ...windows(VAT_PREFIXES, 1), ""]);

export const VAT_IDENTIFIER: PartyRule = ruleWhen(
  "cac:PartyTaxScheme",
  isVat,
  fatal(
    "BR-CO-09",
    "BT-31 BT-48 BT-63",
    "A VAT identifier must start with the code of its country (EL for Greece); correct cbc:CompanyID.",
    (doc, e) => PREFIXES.has(firstTwo(childText(doc, e, cbc.CompanyID))),
  ),
);

/** The first two characters; characters beyond the basic plane are in no list, so halves of them do no harm. */
const firstTwo = (text: string): string => text.slice(0, 2);
