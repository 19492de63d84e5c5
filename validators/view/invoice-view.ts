/** What an invoice or credit note says, as plain values in no language. Numbers and dates are its own text. */

/** A value, or null where the document says nothing. */
export type Said = string | null;

/** An identifier with the scheme that says whose it is. */
export interface Identifier {
  readonly id: string;
  readonly scheme: Said;
}

export interface PartyView {
  /** The registered name; the trading name stands beside it where it differs. */
  readonly name: Said;
  readonly tradingName: Said;
  /** Street, further lines, postcode and city, region: one entry a line. */
  readonly address: readonly string[];
  /** ISO 3166-1. */
  readonly country: Said;
  readonly participant: Identifier | null;
  /** Of the business register. */
  readonly company: Identifier | null;
  readonly vatId: Said;
  /** Registrations for taxes other than VAT. */
  readonly taxIds: readonly string[];
  readonly otherIds: readonly Identifier[];
  readonly legalForm: Said;
  /** Name, telephone, mail: one entry a line. */
  readonly contact: readonly string[];
}

/** What a document refers to. */
export const REFERENCE_KINDS = [
  "buyer",
  "order",
  "salesOrder",
  "preceding",
  "contract",
  "project",
  "despatch",
  "receipt",
  "tender",
  "object",
  "costs",
] as const;
export interface ReferenceView {
  readonly kind: (typeof REFERENCE_KINDS)[number];
  readonly id: string;
  readonly date: Said;
}

export interface PeriodView {
  readonly start: Said;
  readonly end: Said;
}

/** An allowance or a charge. */
export interface AllowanceView {
  readonly isCharge: boolean;
  readonly reason: Said;
  /** UNTDID 5189 for allowances, 7161 for charges. */
  readonly reasonCode: Said;
  readonly percent: Said;
  readonly amount: Said;
  readonly base: Said;
  readonly category: Said;
  readonly rate: Said;
}

export interface LineView {
  readonly id: Said;
  readonly name: Said;
  readonly description: Said;
  /** Numbers of the seller, the buyer and a standard. */
  readonly sellersId: Said;
  readonly buyersId: Said;
  readonly standardId: Identifier | null;
  readonly properties: readonly { readonly name: Said; readonly value: Said }[];
  /** Codes of what is sold, each with the list that it is of. */
  readonly classifications: readonly Identifier[];
  /** ISO 3166-1. */
  readonly origin: Said;
  readonly objects: readonly string[];
  readonly note: Said;
  readonly period: PeriodView | null;
  readonly orderLine: Said;
  readonly costs: Said;
  readonly quantity: Said;
  /** UN/ECE Recommendation 20 or 21. */
  readonly unit: Said;
  readonly price: Said;
  /** The quantity that the price is for; null for one. */
  readonly priceQuantity: Said;
  readonly priceUnit: Said;
  /** What was taken off the gross price for one. */
  readonly priceDiscount: Said;
  readonly allowances: readonly AllowanceView[];
  readonly category: Said;
  readonly rate: Said;
  readonly amount: Said;
}

/** One row of the VAT breakdown. */
export interface TaxView {
  readonly category: Said;
  readonly rate: Said;
  readonly taxable: Said;
  readonly tax: Said;
  readonly reason: Said;
  readonly reasonCode: Said;
}

/** One way to pay. */
export interface PaymentView {
  /** UNTDID 4461, and how the document names it. */
  readonly code: Said;
  readonly name: Said;
  /** What the payer writes so that the payment is recognised. */
  readonly reference: Said;
  readonly account: Said;
  readonly accountName: Said;
  readonly bank: Said;
  readonly card: Said;
  readonly cardNetwork: Said;
  readonly cardHolder: Said;
  readonly mandate: Said;
  /** The account that is debited. */
  readonly debited: Said;
}

export interface AttachmentView {
  readonly id: Said;
  readonly description: Said;
  readonly fileName: Said;
  readonly mediaType: Said;
  /** Octets of the file; null where it is not in the document. */
  readonly bytes: number | null;
  /** Where the file is when it is not in the document. */
  readonly location: Said;
}

export interface InvoiceView {
  readonly isCreditNote: boolean;
  readonly isSelfBilled: boolean;
  /** UNTDID 1001. */
  readonly typeCode: Said;
  readonly number: Said;
  readonly issueDate: Said;
  readonly dueDate: Said;
  readonly taxPointDate: Said;
  /** UNTDID 2005: the day that is the tax point, where no date says it. */
  readonly taxPointCode: Said;
  readonly deliveryDate: Said;
  readonly period: PeriodView | null;
  readonly currency: Said;
  readonly taxCurrency: Said;
  readonly notes: readonly string[];
  readonly references: readonly ReferenceView[];
  readonly seller: PartyView;
  readonly buyer: PartyView;
  readonly payee: PartyView | null;
  readonly taxRepresentative: PartyView | null;
  readonly deliverTo: PartyView | null;
  readonly payments: readonly PaymentView[];
  readonly terms: readonly string[];
  readonly allowances: readonly AllowanceView[];
  readonly taxes: readonly TaxView[];
  readonly totals: {
    readonly lines: Said;
    readonly allowances: Said;
    readonly charges: Said;
    readonly net: Said;
    readonly tax: Said;
    /** The VAT in `taxCurrency`. */
    readonly taxConverted: Said;
    readonly gross: Said;
    readonly prepaid: Said;
    readonly rounding: Said;
    readonly payable: Said;
  };
  /** Lines of the document; `lines` may hold fewer. */
  readonly lineCount: number;
  readonly lines: readonly LineView[];
  readonly attachments: readonly AttachmentView[];
  /** Entries of all lists but the lines that are not shown. */
  readonly omittedCount: number;
}
