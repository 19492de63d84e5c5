/** Words how an invoice is paid, as a payer fills in an order. */
import { paymentMeansName } from "./codes.js";
import { dateText, ibanText, isIban } from "./format.js";
import type { InvoiceView, PaymentView, Said } from "../invoice-view.js";
import type { Card, Row } from "../sheet.js";
import { row } from "./worded.js";
import type { Wording } from "./worded.js";

/** The first way to pay carries what is said of all of them. */
export function paymentCards({ payments, terms, dueDate }: InvoiceView, wording: Wording): readonly Card[] {
  const { words, language } = wording;
  const due = row(words("due"), dueDate, (date) => dateText(date, language));
  const ways: readonly (PaymentView | undefined)[] =
    payments.length === 0 && (terms.length > 0 || dueDate !== null) ? [undefined] : payments;
  return ways.map((payment, index) => ({
    heading: words("payment"),
    text: [],
    rows: [
      ...(payment === undefined ? [] : paymentRows(payment, wording)),
      ...(index === 0 ? due : []),
      ...(index === 0 ? terms.flatMap((text) => row(words("terms"), text)) : []),
    ],
  }));
}

function paymentRows(payment: PaymentView, { language, words }: Wording): readonly Row[] {
  const { code, account } = payment;
  const means = code === null ? payment.name : (paymentMeansName(code, language) ?? payment.name ?? code);
  const card = [payment.cardNetwork, payment.card, payment.cardHolder].filter((text) => text !== null);
  return [
    ...row(words("means"), means),
    ...(account !== null && isIban(account) ? row(words("iban"), ibanText(account)) : row(words("account"), account)),
    ...row(words("account_name"), payment.accountName),
    ...row(words("bank"), payment.bank),
    ...referenceRows(payment.reference, words),
    ...row(words("card"), card.length === 0 ? null : card.join(", ")),
    ...row(words("mandate"), payment.mandate),
    ...row(words("debited"), payment.debited, (debited) => (isIban(debited) ? ibanText(debited) : debited)),
  ];
}

const SYMBOLS = { VS: "variable_symbol", SS: "specific_symbol", KS: "constant_symbol" } as const;

/** Slovak symbols are digits, or stand in one reference: /VS123/SS1/KS0308. */
function referenceRows(reference: Said, words: Wording["words"]): readonly Row[] {
  if (reference === null) return [];
  if (/^\d{1,10}$/u.test(reference)) return row(words("variable_symbol"), reference);
  if (!/^(?:\/(?:VS|SS|KS)\d{0,10})+$/u.test(reference)) return row(words("payment_reference"), reference);
  return [...reference.matchAll(/\/(VS|SS|KS)(\d+)/gu)].map(([, symbol, digits = ""]) => ({
    label: words(SYMBOLS[symbol as keyof typeof SYMBOLS]),
    value: digits,
  }));
}
