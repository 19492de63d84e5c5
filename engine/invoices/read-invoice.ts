/** Reads an invoice as JSON. @source spec/shapes.md, section 6, POST /documents/send */
import { participantParts } from "../base/ids.js";
import { LIMITS } from "../base/limits.js";
import type { Draft, Party, Payment } from "./draft.js";
import { hasCheckDigits } from "./iban.js";
import { Members } from "./members.js";
import type { InvoiceObject } from "./members.js";
import type { Problems } from "./problems.js";
import { readAttachments } from "./read-attachments.js";
import { readLines } from "./read-lines.js";
import { DOCUMENT_KINDS, PAYMENT_METHODS, PAYMENT_UNDEFINED, SLOVAK_SCHEME, TRANSFERS } from "./terms.js";
import type { InvoiceKind } from "./terms.js";

const MEMBERS: ReadonlySet<string> = new Set(
  `receiverPeppolId receiverName receiverIco receiverDic receiverIcDph receiverAddress receiverStreet receiverCity
  receiverPostalCode receiverCountry invoiceNumber issueDate dueDate taxPointDate deliveryDate documentDiscountPercent
  currency note iban paymentMethod paymentTerms variableSymbol buyerReference documentType precedingInvoiceRef
  prepaidAmount prepayments items attachments processId`.split(/\s+/u),
);
const PREPAYMENT_MEMBERS: ReadonlySet<string> = new Set(["amount", "invoiceNumber", "date"]);

const VAT_ID = /^[A-Z]{2}[A-Za-z0-9+*]{2,13}$/u;
const COUNTRY = /^[A-Z]{2}$/u;
const CURRENCY = /^[A-Z]{3}$/u;
const IBAN = /^[A-Za-z]{2}\d{2}[A-Za-z0-9]{10,30}$/u;
const KINDS = Object.fromEntries(Object.keys(DOCUMENT_KINDS).map((kind) => [kind, kind as InvoiceKind]));

/** What members of a form may hold, and why some are needed. */
const HINTS = {
  vatId: {
    en: "A VAT id begins with its country in capitals, such as SK2020202020.",
    sk: "IČ DPH sa začína kódom krajiny veľkými písmenami, napríklad SK2020202020.",
  },
  country: {
    en: "It is a country's code of two capitals, such as SK.",
    sk: "Je to kód krajiny z dvoch veľkých písmen, napríklad SK.",
  },
  currency: {
    en: "It is a currency's code of three capitals, such as EUR.",
    sk: "Je to kód meny z troch veľkých písmen, napríklad EUR.",
  },
  iban: {
    en: "It has two letters of the country, two check digits and 10 to 30 letters and digits, such as SK3112000000198742637541.",
    sk: "Má dve písmená krajiny, dve kontrolné číslice a 10 až 30 písmen a číslic, napríklad SK3112000000198742637541.",
  },
  checkDigits: { en: "Its check digits do not fit.", sk: "Kontrolné číslice nesedia." },
  account: { en: "A transfer goes to an account.", sk: "Prevod ide na účet." },
  variableSymbol: { en: "It has 1 to 10 digits and nothing else.", sk: "Má 1 až 10 číslic a nič iné." },
} as const;

/**
 * @param own  the firm that sends: the seller, and the buyer where it bills itself
 * @returns undefined when something is wrong that makes the invoice impossible; the problems say what
 */
export function readInvoice(object: InvoiceObject, own: Party, problems: Problems): Draft | undefined {
  const members = new Members(object, "", problems);
  members.knowsOnly(MEMBERS);
  const kind = members.code("documentType", KINDS) ?? "invoice";
  const { isSelfBilling, root } = DOCUMENT_KINDS[kind];
  const other = readReceiver(members);
  const seller = isSelfBilling ? other : own;
  const buyer = isSelfBilling ? own : other;
  const issueDate = members.day("issueDate");
  if (members.value("issueDate") === undefined) members.fails("issueDate", "JSON-MISSING");
  const taxPointDate = members.day("taxPointDate");
  const deliveryDate = members.day("deliveryDate");
  const prepayments = readPrepayments(members);
  const preceding = members.text("precedingInvoiceRef");
  const day = taxPointDate ?? deliveryDate ?? issueDate ?? "";
  const draft: Draft = {
    kind,
    number: members.documentNumber("invoiceNumber"),
    issueDate: issueDate ?? "",
    dueDate: members.day("dueDate"),
    taxPointDate,
    deliveryDate,
    currency: members.shaped("currency", CURRENCY, "JSON-CODE", HINTS.currency) ?? "EUR",
    note: members.text("note"),
    buyerReference: members.required("buyerReference"),
    paymentTerms: members.text("paymentTerms"),
    precedingInvoices: [
      ...(preceding === undefined ? [] : [{ number: preceding, date: undefined }]),
      ...prepayments.of,
    ],
    seller,
    buyer,
    payment: readPayment(members),
    discount: members.percent("documentDiscountPercent"),
    prepaid: prepayments.sum,
    lines: readLines(members, { seller, buyer, isSelfBilling, day, corrects: root === "CreditNote", deliveryDate }),
    attachments: readAttachments(members),
  };
  return problems.isFatal ? undefined : draft;
}

function readReceiver(members: Members): Party {
  const participant = members.participant("receiverPeppolId");
  const icDph = members.shaped("receiverIcDph", VAT_ID, "JSON-IDENTIFIER", HINTS.vatId);
  const country = members.shaped("receiverCountry", COUNTRY, "JSON-CODE", HINTS.country);
  const isSlovak = participant !== undefined && participantParts(participant).scheme === SLOVAK_SCHEME;
  if (country === undefined && !isSlovak && members.value("receiverCountry") === undefined)
    members.fails("receiverCountry", "JSON-MISSING");
  return {
    participant,
    name: members.required("receiverName"),
    ico: members.text("receiverIco"),
    dic: members.text("receiverDic"),
    icDph,
    street: members.text("receiverStreet") ?? members.text("receiverAddress"),
    city: members.text("receiverCity"),
    postalCode: members.text("receiverPostalCode"),
    country: country ?? "SK",
  };
}

function readPayment(members: Members): Payment | undefined {
  const iban = members.shaped("iban", IBAN, "JSON-IBAN", HINTS.iban)?.toUpperCase();
  if (iban !== undefined && !hasCheckDigits(iban)) members.fails("iban", "JSON-IBAN", HINTS.checkDigits);
  const method = members.code("paymentMethod", PAYMENT_METHODS);
  const variableSymbol = members.shaped("variableSymbol", /^\d{1,10}$/u, "JSON-IDENTIFIER", HINTS.variableSymbol);
  const code = method ?? (iban === undefined ? PAYMENT_UNDEFINED : "30");
  if (TRANSFERS.has(code) && members.value("iban") === undefined) members.fails("iban", "JSON-MISSING", HINTS.account);
  const says = iban !== undefined || method !== undefined || variableSymbol !== undefined;
  return says ? { code, iban, variableSymbol } : undefined;
}

/** What was paid before, and the invoices by which it was asked for. */
function readPrepayments(members: Members): { readonly sum: bigint; readonly of: Draft["precedingInvoices"] } {
  const entries = members.entries("prepayments", LIMITS.invoice_prepayments_max).map((entry) => {
    entry.knowsOnly(PREPAYMENT_MEMBERS);
    if (entry.value("amount") === undefined) entry.fails("amount", "JSON-MISSING");
    return { amount: entry.amount("amount") ?? 0n, number: entry.text("invoiceNumber"), date: entry.day("date") };
  });
  const listed = entries.reduce((sum, { amount }) => sum + amount, 0n);
  const written = members.amount("prepaidAmount");
  if (written !== undefined && entries.length > 0 && written !== listed) members.fails("prepaidAmount", "JSON-PREPAID");
  return {
    sum: written ?? listed,
    of: entries.flatMap(({ number, date }) => (number === undefined ? [] : [{ number, date }])),
  };
}
