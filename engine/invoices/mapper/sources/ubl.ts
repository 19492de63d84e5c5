/** UBL invoices and credit notes: every term that a create body can say, and the name of each that it cannot. */
import { LIMITS } from "../../../base/limits.js";
import { hasCheckDigits } from "../../iban.js";
import type { Party } from "../../draft.js";
import type { Cents } from "../../exact.js";
import {
  ATTACHMENT_TYPES,
  DOCUMENT_KINDS,
  ICO_SCHEME,
  PAYMENT_METHODS,
  SLOVAK_SCHEME,
  TRANSFERS,
  VAT_CATEGORIES,
} from "../../terms.js";
import type { InvoiceKind } from "../../terms.js";
import { attributeOf } from "../../../../validators/xml/tree.js";
import type { XmlElement } from "../../../../validators/xml/tree.js";
import type { ValueKind } from "../fields.js";
import { issueOf } from "../issues.js";
import type { IssueCode, IssuePlace, MapIssue } from "../issues.js";
import { CERTAINTY } from "../names.js";
import { placeOf } from "./path.js";
import { foundAt } from "./reading.js";
import type { FoundValue, Reading, StatedTax } from "./reading.js";
import { centsOf, discountOf, readUblLines } from "./ubl-lines.js";
import { placed, TakenElements } from "./ubl-elements.js";
import type { Placed } from "./ubl-elements.js";
import { readSender } from "./ubl-sender.js";

const UBL = /^urn:oasis:names:specification:ubl:schema:xsd:(?:Invoice|CreditNote)-2$/u;

export const isUbl = ({ ns }: XmlElement): boolean => UBL.test(ns);

const ACCOUNT = "PaymentMeans.PayeeFinancialAccount.ID";

interface UblType {
  /** In the words of a create body; undefined for the usual one. */
  readonly type: string | undefined;
  readonly kind: InvoiceKind;
}

const INVOICE: UblType = { type: undefined, kind: "invoice" };
const CREDIT_NOTE: UblType = { type: "credit_note", kind: "credit_note" };

/** The types that a create body has, by their codes of UNTDID 1001. */
const TYPES: Readonly<Record<string, UblType>> = {
  "380": INVOICE,
  "381": CREDIT_NOTE,
  "389": { type: "self_billing_invoice", kind: "self_billing" },
  "261": { type: "self_billing_credit_note", kind: "self_billing_credit_note" },
};
/** As what a document of another type is sent. */
const OTHERWISE: Readonly<Record<string, UblType>> = { Invoice: INVOICE, CreditNote: CREDIT_NOTE };

/** Members that are copied as they stand. */
const COPIED: readonly CopiedRow[] = [
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
];

const RECIPIENT: readonly CopiedRow[] = [
  ["PartyLegalEntity/RegistrationName", "name", "text"],
  ["PartyLegalEntity/CompanyID", "companyId", "text"],
  ["PostalAddress/StreetName", "street", "text"],
  ["PostalAddress/CityName", "city", "text"],
  ["PostalAddress/PostalZone", "postalCode", "text"],
  // A code, which no word of a language is taken for: SR is Suriname.
  ["PostalAddress/Country/IdentificationCode", "country", "text"],
];

const MONEY = "LegalMonetaryTotal";
/** Parties without which an invoice would be another one: to whom it is owed, and who answers for its VAT. */
const PARTIES = ["PayeeParty", "TaxRepresentativeParty"] as const;
const EXEMPTION = "TaxTotal.TaxSubtotal.TaxCategory";

function isIbanText(text: string): boolean {
  const iban = text.replace(/\s+/gu, "");
  return /^[A-Z]{2}\d{2}[A-Z0-9]{10,30}$/u.test(iban) && hasCheckDigits(iban);
}

/** A member that is copied as it stands, with its place in the document. */
export type CopiedRow = readonly [path: string, target: string, kind: ValueKind];

/**
 * @param own  the firm that sends, of which the builder writes what the engine knows
 * @param more  members that the reader's document has beside those of a create body; default none
 */
export function readUbl(root: XmlElement, own: Party, more: readonly CopiedRow[] = []): Reading {
  return new UblReader(root, own).read(more);
}

class UblReader {
  readonly #root: XmlElement;
  readonly #own: Party;
  readonly #taken = new TakenElements();
  // Bounded by the elements of one source.
  readonly #head: FoundValue[] = [];
  // Bounded by the same.
  readonly #issues: MapIssue[] = [];

  constructor(root: XmlElement, own: Party) {
    this.#root = root;
    this.#own = own;
  }

  read(more: readonly CopiedRow[]): Reading {
    const type = this.#readType();
    for (const row of [...COPIED, ...more]) this.#copy(this.#root, row);
    const notes = this.#taken.elements(this.#root, "Note").map((note) => this.#taken.textOf(note));
    if (notes.length > 0) this.#find("note", "text", notes.join("\n"), "Note");
    if (notes.length > 1) this.#tell("CONVERTED", { field: "note", source: "Note", detail: "Notes became one." });
    const taxes = this.#readTaxTotals();
    this.#readParties(type?.startsWith("self_billing") === true);
    for (const name of PARTIES) this.#tellAnother(placed(this.#taken.elements(this.#root, name)));
    this.#readPayment();
    const { lines, issues } = readUblLines(this.#root, this.#taken);
    this.#issues.push(...issues);
    const discount = discountOf(this.#root, lines, this.#taken);
    if (discount.percent !== undefined)
      this.#find("documentDiscountPercent", "percent", discount.percent, "AllowanceCharge");
    this.#issues.push(...discount.issues);
    this.#tellSums(
      [...lines, ...discount.lines].reduce((sum, { net }) => sum + net, 0n),
      discount.total,
    );
    this.#tellRest();
    const attachments = this.#attachments();
    return {
      head: this.#head,
      lines: [...lines, ...discount.lines].map(({ found }) => found),
      taxes,
      unmapped: this.#taken.rest(this.#root),
      issues: this.#issues,
      mark: ".",
      attachments,
    };
  }

  #find(target: string, kind: ValueKind, value: string, source: string): void {
    this.#head.push(foundAt({ target, kind, certainty: CERTAINTY.stated }, source, value));
  }

  /** The same about one element is said once. */
  #tell(code: IssueCode, place: IssuePlace): void {
    if (!this.#issues.some((issue) => issue.code === code && issue.source === place.source))
      this.#issues.push(issueOf(code, place));
  }

  /** @param within  where `from` stands: `AccountingCustomerParty.Party.`; default at the root */
  #copy(from: XmlElement, [path, target, kind]: CopiedRow, within = ""): void {
    const value = this.#taken.text(from, ...path.split("/"));
    if (value !== undefined) this.#find(target, kind, value, within + path.replaceAll("/", "."));
  }

  /** What the document is, and what the builder writes of that by itself. @returns the member of the create body */
  #readType(): string | undefined {
    const source = `${this.#root.local}TypeCode`;
    const code = this.#taken.text(this.#root, source) ?? "";
    const said = Object.hasOwn(TYPES, code) ? TYPES[code] : undefined;
    // What is called a credit note owes the other way round, whatever its code says.
    const isOther =
      this.#root.local === "CreditNote" && said !== undefined && DOCUMENT_KINDS[said.kind].root === "Invoice";
    const { type, kind } = (isOther ? undefined : said) ?? OTHERWISE[this.#root.local] ?? INVOICE;
    const { customization, profile, typeCode } = DOCUMENT_KINDS[kind];
    if (code !== "" && typeCode !== code)
      this.#tell("TYPE_CHANGED", {
        field: "type",
        source,
        detail: `The source says ${placeOf(code)}; ${typeCode} is sent.`,
      });
    if (type !== undefined) this.#find("type", "type", type, source);
    for (const [name, written] of [
      ["CustomizationID", customization],
      ["ProfileID", profile],
    ] as const)
      this.#taken.takeSame(this.#taken.element(this.#root, name), written);
    return type;
  }

  /** VAT in the currency of the document; that of another currency (BT-111) may stand before it. */
  #readTaxTotals(): readonly StatedTax[] {
    const totals = placed(this.#taken.elements(this.#root, "TaxTotal"));
    const currency = this.#taken.element(this.#root, "DocumentCurrencyCode");
    const said = currency === undefined ? undefined : this.#taken.peek(currency);
    const unitOf = ({ element }: Placed): string | undefined => {
      const amount = this.#taken.element(element, "TaxAmount");
      return amount === undefined ? undefined : attributeOf(amount, "currencyID");
    };
    const own = totals.find((total) => said !== undefined && unitOf(total) === said) ?? totals[0];
    if (own === undefined) return [];
    this.#copy(own.element, ["TaxAmount", "checkTax", "number"], `${own.place}.`);
    this.#tellAnother(totals.filter((total) => total !== own));
    return placed(this.#taken.elements(own.element, "TaxSubtotal")).map(({ element, place }) =>
      this.#readSubtotal(element, `${own.place}.${place}`),
    );
  }

  #readSubtotal(subtotal: XmlElement, source: string): StatedTax {
    const category = this.#taken.text(subtotal, "TaxCategory", "ID") ?? "";
    this.#tellExemption(subtotal, category);
    this.#taken.takeSame(this.#taken.element(subtotal, "TaxCategory", "TaxScheme", "ID"), "VAT");
    return {
      source,
      category,
      rate: this.#taken.text(subtotal, "TaxCategory", "Percent"),
      taxable: this.#taken.text(subtotal, "TaxableAmount"),
      tax: this.#taken.text(subtotal, "TaxAmount"),
    };
  }

  /** Elements that no member says, and without which the invoice would be another one, with all that is in them. */
  #tellAnother(elements: readonly Placed[]): void {
    for (const { element } of elements) this.#taken.take(element);
    const named = elements.filter((_, at) => at < LIMITS.mapper_issues_max);
    for (const { place } of named) this.#tell("UNSAYABLE", { source: place });
  }

  /** In self-billing the seller is the one to whom the document goes. */
  #readParties(isSelfBilling: boolean): void {
    const [other, own] = isSelfBilling
      ? ["AccountingSupplierParty", "AccountingCustomerParty"]
      : ["AccountingCustomerParty", "AccountingSupplierParty"];
    const recipient = this.#taken.element(this.#root, other, "Party");
    if (recipient !== undefined) this.#readRecipient(recipient, other);
    const sender = this.#taken.element(this.#root, own, "Party");
    if (sender !== undefined) this.#head.push(...readSender(sender, own, { own: this.#own, taken: this.#taken }));
  }

  #readRecipient(party: XmlElement, role: string): void {
    const within = `${role}.Party.`;
    for (const [path, target, kind] of RECIPIENT) this.#copy(party, [path, `recipient.${target}`, kind], within);
    const country = this.#taken.element(party, "PostalAddress", "Country", "IdentificationCode");
    const isSlovak = country !== undefined && this.#taken.peek(country) === "SK";
    const company = this.#taken.element(party, "PartyLegalEntity", "CompanyID");
    this.#taken.writesScheme(company, isSlovak ? ICO_SCHEME : undefined);
    const endpoint = this.#taken.element(party, "EndpointID");
    const scheme = endpoint === undefined ? undefined : attributeOf(endpoint, "schemeID");
    if (endpoint !== undefined && scheme !== undefined) {
      this.#taken.writesScheme(endpoint, scheme);
      const id = `${scheme}:${this.#taken.textOf(endpoint)}`;
      this.#find("recipient.networkId", "participant", id, `${within}EndpointID`);
    }
    const written = role === "AccountingSupplierParty" ? ["VAT", "TAX"] : ["VAT"];
    for (const { id, isVat, isWritten } of this.#taken.taxSchemes(party, written)) {
      const [field, source] = [isVat ? "recipient.vatId" : "recipient.taxId", `${within}PartyTaxScheme`];
      this.#find(field, "taxId", id, source);
      if (!isWritten) this.#tell("CONVERTED", { field, source, detail: "It is sent as the tax id of the recipient." });
    }
    // Where the builder puts a tax id that is no VAT id.
    const identifier = this.#taken.element(party, "PartyIdentification", "ID");
    if (identifier !== undefined && /^\d{10}$/u.test(this.#taken.peek(identifier))) {
      this.#find("recipient.taxId", "taxId", this.#taken.textOf(identifier), `${within}PartyIdentification.ID`);
      this.#taken.writesScheme(identifier, isSlovak ? SLOVAK_SCHEME : undefined);
    }
    if (!this.#taken.has(party, "PartyLegalEntity", "RegistrationName"))
      this.#copy(party, ["PartyName/Name", "recipient.name", "text"], within);
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

  /** Sums over lines, discounts and charges, which are others where one of these became another. */
  #tellSums(lines: Cents, discount: Cents): void {
    const told = (name: string): void => {
      this.#tell("CONVERTED", { field: "lines", source: `${MONEY}.${name}`, detail: "It is computed anew." });
    };
    const stated = this.#taken.text(this.#root, MONEY, "LineExtensionAmount");
    if (stated !== undefined && centsOf(stated) !== lines) told("LineExtensionAmount");
    const allowances = this.#taken.text(this.#root, MONEY, "AllowanceTotalAmount");
    if (allowances !== undefined && centsOf(allowances) !== discount) told("AllowanceTotalAmount");
    if (this.#taken.text(this.#root, MONEY, "ChargeTotalAmount") !== undefined) told("ChargeTotalAmount");
  }

  /** Why no tax is due: the builder writes the usual words of each treatment. */
  #tellExemption(subtotal: XmlElement, category: string): void {
    const usual = Object.hasOwn(VAT_CATEGORIES, category)
      ? VAT_CATEGORIES[category as keyof typeof VAT_CATEGORIES].exemption
      : undefined;
    for (const [name, written] of [
      ["TaxExemptionReason", usual?.reason],
      ["TaxExemptionReasonCode", usual?.code],
    ] as const) {
      const said = this.#taken.element(subtotal, "TaxCategory", name);
      if (said === undefined || this.#taken.takeSame(said, written)) continue;
      this.#taken.textOf(said);
      this.#tell("REASON_CHANGED", { field: "lines", source: `${EXEMPTION}.${name}` });
    }
  }

  /** Sums that a create body cannot come to. */
  #tellRest(): void {
    const rounding = this.#taken.text(this.#root, MONEY, "PayableRoundingAmount");
    if (rounding !== undefined && /[1-9]/u.test(rounding))
      this.#tell("UNSAYABLE", { field: "lines", source: `${MONEY}.PayableRoundingAmount` });
    const payable = this.#taken.element(this.#root, MONEY, "PayableAmount");
    const currency = this.#taken.element(this.#root, "DocumentCurrencyCode");
    const unit = payable === undefined ? undefined : attributeOf(payable, "currencyID");
    if (unit !== undefined && currency !== undefined && unit !== this.#taken.peek(currency))
      this.#tell("UNSAYABLE", { field: "currency", source: `${MONEY}.PayableAmount@currencyID` });
  }

  #attachments(): readonly Readonly<Record<string, string>>[] {
    return this.#taken.elements(this.#root, "AdditionalDocumentReference").flatMap((reference) => {
      const embedded = this.#taken.element(reference, "Attachment", "EmbeddedDocumentBinaryObject");
      const mimeType = embedded === undefined ? undefined : attributeOf(embedded, "mimeCode");
      if (embedded === undefined || mimeType === undefined || !Object.hasOwn(ATTACHMENT_TYPES, mimeType)) return [];
      const id = this.#taken.element(reference, "ID");
      const named = id === undefined ? "" : this.#taken.peek(id);
      const fileName = attributeOf(embedded, "filename") ?? (named === "" ? "attachment" : named);
      this.#taken.takeSame(id, fileName);
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
