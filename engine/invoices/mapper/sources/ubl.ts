/** UBL invoices and credit notes: every term that a create body can say, and the name of each that it cannot. */
import { hasCheckDigits } from "../../iban.js";
import { ATTACHMENT_TYPES, PAYMENT_METHODS, TRANSFERS } from "../../terms.js";
import { attributeOf } from "../../../../validators/xml/tree.js";
import type { XmlElement } from "../../../../validators/xml/tree.js";
import type { ValueKind } from "../fields.js";
import { issueOf } from "../issues.js";
import type { IssueCode, IssuePlace, MapIssue } from "../issues.js";
import { CERTAINTY } from "../names.js";
import { foundAt } from "./reading.js";
import type { FoundValue, Reading } from "./reading.js";
import { discountOf, readUblLines } from "./ubl-lines.js";
import { TakenElements } from "./ubl-elements.js";

const UBL = /^urn:oasis:names:specification:ubl:schema:xsd:(?:Invoice|CreditNote)-2$/u;

export const isUbl = ({ ns }: XmlElement): boolean => UBL.test(ns);

const ACCOUNT = "PaymentMeans.PayeeFinancialAccount.ID";

/** UNTDID 1001; other types of invoices are sent as an invoice, which they are. */
const TYPES: Readonly<Record<string, string>> = {
  "381": "credit_note",
  "389": "self_billing_invoice",
  "261": "self_billing_credit_note",
};

/** Members that are copied as they stand. */
const COPIED: readonly (readonly [path: string, target: string, kind: ValueKind])[] = [
  ["ID", "number", "text"],
  ["IssueDate", "issueDate", "date"],
  ["DueDate", "dueDate", "date"],
  ["TaxPointDate", "taxPointDate", "date"],
  ["DocumentCurrencyCode", "currency", "currency"],
  ["BuyerReference", "buyerReference", "text"],
  ["OrderReference/ID", "orderReference", "text"],
  ["BillingReference/InvoiceDocumentReference/ID", "precedingDocumentNumber", "text"],
  ["Delivery/ActualDeliveryDate", "deliveryDate", "date"],
  ["PaymentMeans/PaymentDueDate", "dueDate", "date"],
  ["LegalMonetaryTotal/PrepaidAmount", "prepaidAmount", "number"],
  ["LegalMonetaryTotal/PayableAmount", "checkDue", "number"],
  ["LegalMonetaryTotal/TaxInclusiveAmount", "checkWithTax", "number"],
  ["LegalMonetaryTotal/TaxExclusiveAmount", "checkWithoutTax", "number"],
  ["TaxTotal/TaxAmount", "checkTax", "number"],
];

const RECIPIENT: readonly (readonly [path: string, target: string, kind: ValueKind])[] = [
  ["PartyLegalEntity/RegistrationName", "name", "text"],
  ["PartyLegalEntity/CompanyID", "companyId", "text"],
  ["PostalAddress/StreetName", "street", "text"],
  ["PostalAddress/CityName", "city", "text"],
  ["PostalAddress/PostalZone", "postalCode", "text"],
  ["PostalAddress/Country/IdentificationCode", "country", "country"],
];

/** What the builder writes by itself, or computes. */
const WRITTEN_ANEW = new RegExp(
  `^(?:UBLVersionID|CustomizationID|ProfileID|(?:Invoice|CreditNote)TypeCode|LegalMonetaryTotal\\.\\w+|TaxTotal\\.TaxSubtotal\\..*|(?:Invoice|CreditNote)Line\\.(?:ID|LineExtensionAmount)|.*TaxScheme\\.ID)$`,
  "u",
);

function isIbanText(text: string): boolean {
  const iban = text.replace(/\s+/gu, "");
  return /^[A-Z]{2}\d{2}[A-Z0-9]{10,30}$/u.test(iban) && hasCheckDigits(iban);
}

export function readUbl(root: XmlElement): Reading {
  return new UblReader(root).read();
}

class UblReader {
  readonly #root: XmlElement;
  readonly #taken = new TakenElements();
  // Bounded by the elements of one source.
  readonly #head: FoundValue[] = [];
  // Bounded by the same.
  readonly #issues: MapIssue[] = [];

  constructor(root: XmlElement) {
    this.#root = root;
  }

  read(): Reading {
    const code = this.#taken.text(this.#root, `${this.#root.local}TypeCode`) ?? "";
    const type = Object.hasOwn(TYPES, code)
      ? TYPES[code]
      : this.#root.local === "CreditNote"
        ? "credit_note"
        : undefined;
    if (type !== undefined) this.#find("type", "type", type, "TypeCode");
    for (const [path, target, kind] of COPIED) this.#copy(this.#root, path, target, kind);
    const notes = this.#taken.elements(this.#root, "Note").map((note) => this.#taken.textOf(note));
    if (notes.length > 0) this.#find("note", "text", notes.join("\n"), "Note");
    this.#readParties(type?.startsWith("self_billing") === true);
    this.#readPayment();
    const { lines, issues } = readUblLines(this.#root, this.#taken);
    this.#issues.push(...issues);
    const discount = discountOf(this.#root, lines, this.#taken);
    if (discount.percent !== undefined)
      this.#find("documentDiscountPercent", "percent", discount.percent, "AllowanceCharge");
    this.#issues.push(...discount.issues);
    this.#tellRest();
    const attachments = this.#attachments();
    const unmapped = this.#taken.rest(this.#root).filter((path) => !WRITTEN_ANEW.test(path));
    return {
      head: this.#head,
      lines: [...lines.map(({ found }) => found), ...discount.lines],
      unmapped,
      issues: this.#issues,
      attachments,
    };
  }

  #find(target: string, kind: ValueKind, value: string, source: string): void {
    this.#head.push(foundAt({ target, kind, certainty: CERTAINTY.stated }, source, value));
  }

  #tell(code: IssueCode, place: IssuePlace): void {
    this.#issues.push(issueOf(code, place));
  }

  #copy(from: XmlElement, path: string, target: string, kind: ValueKind): void {
    const value = this.#taken.text(from, ...path.split("/"));
    if (value !== undefined) this.#find(target, kind, value, path.replaceAll("/", "."));
  }

  /** In self-billing the seller is the one to whom the document goes. */
  #readParties(isSelfBilling: boolean): void {
    const [other, own] = isSelfBilling
      ? ["AccountingSupplierParty", "AccountingCustomerParty"]
      : ["AccountingCustomerParty", "AccountingSupplierParty"];
    const recipient = this.#taken.element(this.#root, other, "Party");
    if (recipient !== undefined) this.#readRecipient(recipient, other);
    const sender = this.#taken.element(this.#root, own, "Party");
    if (sender === undefined) return;
    this.#taken.takeAll(sender);
    const company = this.#taken.text(sender, "PartyLegalEntity", "CompanyID");
    if (company !== undefined) this.#find("supplier.companyId", "text", company, `${own}.CompanyID`);
    for (const { scheme, id } of this.#taken.taxSchemes(sender))
      if (scheme === "VAT") this.#find("supplier.vatId", "taxId", id, `${own}.PartyTaxScheme`);
  }

  #readRecipient(party: XmlElement, role: string): void {
    for (const [path, target, kind] of RECIPIENT) this.#copy(party, path, `recipient.${target}`, kind);
    const endpoint = this.#taken.element(party, "EndpointID");
    const scheme = endpoint === undefined ? undefined : attributeOf(endpoint, "schemeID");
    if (endpoint !== undefined && scheme !== undefined) {
      const id = `${scheme}:${this.#taken.textOf(endpoint)}`;
      this.#find("recipient.networkId", "participant", id, `${role}.EndpointID`);
    }
    for (const tax of this.#taken.taxSchemes(party))
      this.#find(
        tax.scheme === "VAT" ? "recipient.vatId" : "recipient.taxId",
        "taxId",
        tax.id,
        `${role}.PartyTaxScheme`,
      );
    // Where the builder puts a tax id that is no VAT id.
    const identifier = this.#taken.element(party, "PartyIdentification", "ID");
    if (identifier !== undefined && /^\d{10}$/u.test(this.#taken.peek(identifier)))
      this.#find("recipient.taxId", "taxId", this.#taken.textOf(identifier), `${role}.PartyIdentification`);
    if (!this.#taken.has(party, "PartyLegalEntity", "RegistrationName"))
      this.#copy(party, "PartyName/Name", "recipient.name", "text");
  }

  #readPayment(): void {
    const means = this.#taken.elements(this.#root, "PaymentMeans");
    const [first] = means;
    if (first === undefined) return;
    const account = this.#taken.element(first, "PayeeFinancialAccount", "ID");
    const isIban = account !== undefined && isIbanText(this.#taken.peek(account));
    if (isIban) this.#find("iban", "iban", this.#taken.textOf(account), ACCOUNT);
    else if (account !== undefined) this.#tell("NOT_AN_IDENTIFIER", { field: "iban", source: ACCOUNT });
    const code = this.#taken.element(first, "PaymentMeansCode");
    const method = code === undefined ? "" : this.#taken.peek(code);
    // A transfer is one to an IBAN.
    const isSaid = Object.hasOwn(PAYMENT_METHODS, method) && (isIban || !TRANSFERS.has(method));
    if (code !== undefined && isSaid)
      this.#find("paymentMethod", "payment", this.#taken.textOf(code), "PaymentMeans.PaymentMeansCode");
    const id = this.#taken.element(first, "PaymentID");
    if (id !== undefined && /^\d{1,10}$/u.test(this.#taken.peek(id)))
      this.#find("variableSymbol", "symbol", this.#taken.textOf(id), "PaymentMeans.PaymentID");
  }

  /** Sums that a create body cannot come to. */
  #tellRest(): void {
    const rounding = this.#taken.text(this.#root, "LegalMonetaryTotal", "PayableRoundingAmount");
    if (rounding !== undefined && /[1-9]/u.test(rounding))
      this.#tell("UNSAYABLE", { field: "lines", source: "LegalMonetaryTotal.PayableRoundingAmount" });
  }

  #attachments(): readonly Readonly<Record<string, string>>[] {
    return this.#taken.elements(this.#root, "AdditionalDocumentReference").flatMap((reference) => {
      const embedded = this.#taken.element(reference, "Attachment", "EmbeddedDocumentBinaryObject");
      const mimeType = embedded === undefined ? undefined : attributeOf(embedded, "mimeCode");
      if (embedded === undefined || mimeType === undefined || !Object.hasOwn(ATTACHMENT_TYPES, mimeType)) return [];
      const id = this.#taken.text(reference, "ID");
      const fileName = attributeOf(embedded, "filename") ?? id ?? "attachment";
      const description = this.#taken.text(reference, "DocumentDescription");
      return [
        {
          fileName,
          mimeType,
          content: this.#taken.textOf(embedded).replace(/\s+/gu, ""),
          ...(description === undefined ? {} : { description }),
        },
      ];
    });
  }
}
