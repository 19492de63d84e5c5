/** An invoice that was read from JSON, before it is UBL: every member has its type, nothing is computed but lines. */
import type { LocalDay } from "../base/clock.js";
import type { ParticipantId } from "../base/ids.js";
import type { Cents, Exact } from "./exact.js";
import type { InvoiceKind, VatCategory } from "./terms.js";

/** One of the two parties. */
export interface Party {
  readonly participant: ParticipantId | undefined;
  readonly name: string;
  readonly ico: string | undefined;
  readonly dic: string | undefined;
  readonly icDph: string | undefined;
  readonly street: string | undefined;
  readonly city: string | undefined;
  readonly postalCode: string | undefined;
  /** ISO 3166-1. */
  readonly country: string;
}

/** VAT of a line. */
export interface LineVat {
  readonly category: VatCategory;
  /** Percent, as exactText writes it. */
  readonly rate: string;
}

export interface Line extends LineVat {
  readonly description: string;
  readonly quantity: Exact;
  readonly unit: string;
  readonly unitPrice: Exact;
  /** Percent off; undefined for none. */
  readonly discount: Exact | undefined;
  /** quantity × unitPrice, rounded. */
  readonly gross: Cents;
  readonly discountAmount: Cents;
}

export interface Attachment {
  readonly fileName: string;
  readonly mimeType: string;
  /** base64. */
  readonly content: string;
  readonly description: string | undefined;
}

export interface Payment {
  /** UNTDID 4461. */
  readonly code: string;
  readonly iban: string | undefined;
  readonly variableSymbol: string | undefined;
}

export interface Draft {
  readonly kind: InvoiceKind;
  readonly number: string;
  readonly issueDate: LocalDay;
  readonly dueDate: LocalDay | undefined;
  readonly taxPointDate: LocalDay | undefined;
  readonly deliveryDate: LocalDay | undefined;
  readonly currency: string;
  readonly note: string | undefined;
  readonly buyerReference: string;
  /** When to pay, in words, where there is no day. */
  readonly paymentTerms: string | undefined;
  readonly precedingInvoices: readonly { readonly number: string; readonly date: LocalDay | undefined }[];
  readonly seller: Party;
  readonly buyer: Party;
  readonly payment: Payment | undefined;
  /** Percent off the whole document. */
  readonly discount: Exact | undefined;
  readonly prepaid: Cents;
  readonly lines: readonly Line[];
  readonly attachments: readonly Attachment[];
}
