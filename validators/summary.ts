/** What an invoice, credit note or response says, as plain values: for people and programs that do not read UBL. */
import { isKnownRoot } from "./ubl/check.js";
import type { Finding } from "./report.js";
import { firstChars } from "./text.js";
import { Fields } from "./ubl/fields.js";
import { NONE } from "./xml/document.js";
import type { ElementId, XmlDocument } from "./xml/document.js";
import type { ScanLimits } from "./xml/limits.js";
import { attr, cac, cbc, roots } from "./xml/names.js";
import type { NameId } from "./xml/names.js";
import { scan } from "./xml/scanner.js";

/** Longer values are cut: a summary is for reading, the document itself stays the record. */
const VALUE_CHARS_MAX = 1_024;
/** Entries of the lists that are not lines: taxes, allowances, earlier invoices. */
const ENTRIES_MAX = 1_000;

/** One of the two parties. Null where the document says nothing. */
export interface PartySummary {
  /** Trading name, else the registered one. */
  readonly name: string | null;
  /** `<scheme>:<id>`. */
  readonly participantId: string | null;
  readonly companyId: string | null;
  readonly vatId: string | null;
  readonly country: string | null;
}

export interface TaxSummary {
  readonly category: string | null;
  readonly percent: string | null;
  readonly taxableAmount: string | null;
  readonly taxAmount: string | null;
}

/** An allowance or a charge on the whole document. */
export interface AllowanceSummary {
  readonly isCharge: boolean;
  readonly reason: string | null;
  readonly reasonCode: string | null;
  readonly percent: string | null;
  readonly amount: string | null;
  readonly baseAmount: string | null;
  readonly taxCategory: string | null;
  readonly taxPercent: string | null;
}

export interface LineSummary {
  readonly id: string | null;
  readonly name: string | null;
  readonly quantity: string | null;
  readonly unitCode: string | null;
  /** Of baseQuantity units. */
  readonly price: string | null;
  /** For how many units the price is; null for one. */
  readonly baseQuantity: string | null;
  readonly netAmount: string | null;
  readonly taxCategory: string | null;
  readonly taxPercent: string | null;
}

/** Numbers are the document's own text, exact; dates as written. */
export interface DocumentSummary {
  readonly documentType: "Invoice" | "CreditNote" | "ApplicationResponse";
  readonly customizationId: string | null;
  readonly profileId: string | null;
  readonly number: string | null;
  readonly typeCode: string | null;
  readonly issueDate: string | null;
  readonly dueDate: string | null;
  readonly taxPointDate: string | null;
  readonly deliveryDate: string | null;
  readonly currency: string | null;
  readonly buyerReference: string | null;
  readonly orderReference: string | null;
  readonly precedingInvoices: readonly string[];
  /** The seller; the sender of an ApplicationResponse. */
  readonly supplier: PartySummary;
  /** The buyer; the receiver of an ApplicationResponse. */
  readonly customer: PartySummary;
  readonly totals: {
    readonly lineNet: string | null;
    readonly allowances: string | null;
    readonly charges: string | null;
    readonly taxExclusive: string | null;
    readonly tax: string | null;
    readonly taxInclusive: string | null;
    readonly prepaid: string | null;
    readonly rounding: string | null;
    readonly payable: string | null;
  };
  readonly taxes: readonly TaxSummary[];
  readonly allowances: readonly AllowanceSummary[];
  /** Lines of the document; `lines` may hold fewer. */
  readonly lineCount: number;
  readonly lines: readonly LineSummary[];
}

export interface ParseInput {
  readonly bytes: Uint8Array;
  readonly limits: ScanLimits;
  /** Lines taken at most. */
  readonly linesMax: number;
}

export type ParseOutput =
  | { readonly kind: "parsed"; readonly summary: DocumentSummary }
  | { readonly kind: "refused"; readonly findings: readonly Finding[] };

const ROOT_UNKNOWN: Finding = {
  ruleId: "UBL-ROOT",
  layer: "schema",
  severity: "fatal",
  location: "/",
  line: 1,
  message: "Send a UBL 2.1 Invoice, CreditNote or ApplicationResponse.",
};

/** Reads a document without judging it: what is missing is null, what is wrong is shown as it stands. */
export function parseDocument({ bytes, limits, linesMax }: ParseInput): ParseOutput {
  const scanned = scan(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), limits);
  if (scanned.kind === "refused") return scanned;
  if (!isKnownRoot(scanned.document.name(0))) return { kind: "refused", findings: [ROOT_UNKNOWN] };
  return { kind: "parsed", summary: new Summariser(scanned.document).summary(linesMax) };
}

class Summariser {
  readonly #root: NameId;
  readonly #fields: Fields;

  constructor(document: XmlDocument) {
    this.#root = document.name(0);
    this.#fields = new Fields(document, (text) => firstChars(text, VALUE_CHARS_MAX));
  }

  summary(linesMax: number): DocumentSummary {
    const isResponse = this.#root === roots.ApplicationResponse;
    const isCredit = this.#root === roots.CreditNote;
    const line = isCredit ? cac.CreditNoteLine : cac.InvoiceLine;
    const total = (name: NameId): string | null => this.#fields.text(0, cac.LegalMonetaryTotal, name);
    const currency = this.#fields.text(0, cbc.DocumentCurrencyCode);
    const tax = this.#taxTotal(currency);
    return {
      documentType: isResponse ? "ApplicationResponse" : isCredit ? "CreditNote" : "Invoice",
      customizationId: this.#fields.text(0, cbc.CustomizationID),
      profileId: this.#fields.text(0, cbc.ProfileID),
      number: this.#fields.text(0, cbc.ID),
      typeCode: this.#fields.text(0, isCredit ? cbc.CreditNoteTypeCode : cbc.InvoiceTypeCode),
      issueDate: this.#fields.text(0, cbc.IssueDate),
      dueDate: this.#fields.text(0, cbc.DueDate) ?? this.#fields.text(0, cac.PaymentMeans, cbc.PaymentDueDate),
      taxPointDate: this.#fields.text(0, cbc.TaxPointDate),
      deliveryDate: this.#fields.text(0, cac.Delivery, cbc.ActualDeliveryDate),
      currency,
      buyerReference: this.#fields.text(0, cbc.BuyerReference),
      orderReference: this.#fields.text(0, cac.OrderReference, cbc.ID),
      precedingInvoices: this.#fields
        .each(0, cac.BillingReference, ENTRIES_MAX, (e) => this.#fields.text(e, cac.InvoiceDocumentReference, cbc.ID))
        .filter((id) => id !== null),
      supplier: this.#party(
        isResponse ? this.#fields.at(0, cac.SenderParty) : this.#fields.at(0, cac.AccountingSupplierParty, cac.Party),
      ),
      customer: this.#party(
        isResponse ? this.#fields.at(0, cac.ReceiverParty) : this.#fields.at(0, cac.AccountingCustomerParty, cac.Party),
      ),
      totals: {
        lineNet: total(cbc.LineExtensionAmount),
        allowances: total(cbc.AllowanceTotalAmount),
        charges: total(cbc.ChargeTotalAmount),
        taxExclusive: total(cbc.TaxExclusiveAmount),
        tax: this.#fields.text(tax, cbc.TaxAmount),
        taxInclusive: total(cbc.TaxInclusiveAmount),
        prepaid: total(cbc.PrepaidAmount),
        rounding: total(cbc.PayableRoundingAmount),
        payable: total(cbc.PayableAmount),
      },
      taxes: this.#fields.each(this.#brokenDown(tax), cac.TaxSubtotal, ENTRIES_MAX, (e) => ({
        category: this.#fields.text(e, cac.TaxCategory, cbc.ID),
        percent: this.#fields.text(e, cac.TaxCategory, cbc.Percent),
        taxableAmount: this.#fields.text(e, cbc.TaxableAmount),
        taxAmount: this.#fields.text(e, cbc.TaxAmount),
      })),
      allowances: this.#fields.each(0, cac.AllowanceCharge, ENTRIES_MAX, (e) => ({
        isCharge: this.#fields.isTrue(e, cbc.ChargeIndicator),
        reason: this.#fields.text(e, cbc.AllowanceChargeReason),
        reasonCode: this.#fields.text(e, cbc.AllowanceChargeReasonCode),
        percent: this.#fields.text(e, cbc.MultiplierFactorNumeric),
        amount: this.#fields.text(e, cbc.Amount),
        baseAmount: this.#fields.text(e, cbc.BaseAmount),
        taxCategory: this.#fields.text(e, cac.TaxCategory, cbc.ID),
        taxPercent: this.#fields.text(e, cac.TaxCategory, cbc.Percent),
      })),
      lineCount: this.#fields.count(0, line),
      lines: this.#fields.each(0, line, linesMax, (e) =>
        this.#line(e, isCredit ? cbc.CreditedQuantity : cbc.InvoicedQuantity),
      ),
    };
  }

  /** The total of VAT in the document's currency (BT-110), before or behind that of another one (BT-111). */
  #taxTotal(currency: string | null): ElementId {
    const first = this.#fields.at(0, cac.TaxTotal);
    if (this.#fields.count(0, cac.TaxTotal) < 2) return first;
    const totals = this.#fields.each(0, cac.TaxTotal, ENTRIES_MAX, (e) => ({
      e,
      currency: this.#fields.attribute(this.#fields.at(e, cbc.TaxAmount), attr.currencyID),
    }));
    return totals.find((each) => each.currency === currency)?.e ?? first;
  }

  /** The total of VAT that has the breakdown: of a document that breaks rules it may be another one. */
  #brokenDown(own: ElementId): ElementId {
    if (this.#fields.at(own, cac.TaxSubtotal) !== NONE) return own;
    const totals = this.#fields.each(0, cac.TaxTotal, ENTRIES_MAX, (e) => e);
    return totals.find((e) => this.#fields.at(e, cac.TaxSubtotal) !== NONE) ?? NONE;
  }

  #line(e: ElementId, quantityName: NameId): LineSummary {
    return {
      id: this.#fields.text(e, cbc.ID),
      name: this.#fields.text(e, cac.Item, cbc.Name),
      quantity: this.#fields.text(e, quantityName),
      unitCode: this.#fields.attribute(this.#fields.at(e, quantityName), attr.unitCode),
      price: this.#fields.text(e, cac.Price, cbc.PriceAmount),
      baseQuantity: this.#fields.text(e, cac.Price, cbc.BaseQuantity),
      netAmount: this.#fields.text(e, cbc.LineExtensionAmount),
      taxCategory: this.#fields.text(e, cac.Item, cac.ClassifiedTaxCategory, cbc.ID),
      taxPercent: this.#fields.text(e, cac.Item, cac.ClassifiedTaxCategory, cbc.Percent),
    };
  }

  #party(party: ElementId): PartySummary {
    if (party === NONE) return { name: null, participantId: null, companyId: null, vatId: null, country: null };
    const scheme = this.#fields.attribute(this.#fields.at(party, cbc.EndpointID), attr.schemeID);
    const id = this.#fields.text(party, cbc.EndpointID);
    const vat = this.#fields.each(party, cac.PartyTaxScheme, ENTRIES_MAX, (e) =>
      this.#fields.text(e, cac.TaxScheme, cbc.ID) === "VAT" ? this.#fields.text(e, cbc.CompanyID) : null,
    );
    return {
      name:
        this.#fields.text(party, cac.PartyName, cbc.Name) ??
        this.#fields.text(party, cac.PartyLegalEntity, cbc.RegistrationName),
      participantId: id === null ? null : `${scheme ?? ""}:${id}`,
      companyId: this.#fields.text(party, cac.PartyLegalEntity, cbc.CompanyID),
      vatId: vat.find((companyId) => companyId !== null) ?? null,
      country: this.#fields.text(party, cac.PostalAddress, cac.Country, cbc.IdentificationCode),
    };
  }
}
