/**
 * Invoices as JSON of every kind, right and wrong, and their sums computed with fractions of BigInt that share no code
 * with the builder.
 */
import fc from "fast-check";

import { parseDocument } from "../../../validators/summary.js";
import { SCAN_LIMITS } from "../../../validators/xml/limits.js";

/** Digits with a point: `-12.5`; sent as text, or as a number where a double holds it. */
const decimalText = (most: number, decimals: number) =>
  fc
    .tuple(fc.nat({ max: most }), fc.nat({ max: 10 ** decimals - 1 }), fc.nat({ max: decimals }))
    .map(([whole, fraction, places]) =>
      places === 0 ? String(whole) : `${whole}.${String(fraction).padStart(decimals, "0").slice(0, places)}`,
    );
const sent = (text: fc.Arbitrary<string>): fc.Arbitrary<string | number> =>
  fc.tuple(text, fc.boolean()).map(([value, asNumber]) => (asNumber ? Number(value) : value));
const percent = sent(decimalText(99, 2));
const words = fc.string({ unit: fc.constantFrom(..."abÄžč <>&\"'€漢0123\n"), minLength: 1, maxLength: 30 });
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

const vat = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<object>({ vatRate: 23 }, { vatRate: "19.00" }, { vatRate: 5 }) },
  {
    weight: 3,
    arbitrary: fc.constantFrom<object>(
      { vatRate: 0, vatCategoryCode: "Z" },
      { vatRate: 0, taxTreatment: "exempt" },
      { vatRate: "0", taxTreatment: "reverse_charge" },
      { vatCategoryCode: "K" },
      { vatRate: 0, taxTreatment: "export" },
      { taxTreatment: "out_of_scope" },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<object>({ vatRate: 20 }, { vatRate: 0 }, { vatRate: 23, vatCategoryCode: "E" }, {}),
  },
);
const item = fc
  .record({
    description: words,
    quantity: sent(fc.tuple(fc.constantFrom("", "", "-"), decimalText(99_999, 5)).map(([sign, text]) => sign + text)),
    unit: fc.constantFrom("ks", "hod", "KGM", undefined, "ZZ"),
    unitPrice: sent(decimalText(999_999, 6)),
    discount: optional(percent),
  })
  .chain((members) => vat.map((rate) => ({ ...members, ...rate })));
/** An invoice that may be wrong in many ways. */
export const anyInvoice = fc.record({
  documentType: fc.constantFrom(undefined, "invoice", "credit_note", "self_billing", "self_billing_credit_note"),
  receiverPeppolId: fc.constantFrom("0245:2020202020", "9930:DE123456789", "0245:1"),
  receiverName: words,
  receiverIco: fc.constantFrom(undefined, "12345678"),
  receiverDic: fc.constantFrom(undefined, "2020202020"),
  receiverIcDph: fc.constantFrom("SK2020202020", "DE123456789", undefined, "QQ1234"),
  receiverStreet: optional(words),
  receiverCity: optional(words),
  receiverPostalCode: optional(words),
  receiverCountry: fc.constantFrom("SK", "DE", undefined, "QQ"),
  invoiceNumber: words,
  issueDate: fc.constantFrom("2026-11-20", "2026-02-28"),
  dueDate: fc.constantFrom("2026-12-04", "2026-12-04", undefined),
  taxPointDate: fc.constantFrom(undefined, "2026-11-19"),
  deliveryDate: fc.constantFrom("2026-11-19", undefined),
  documentDiscountPercent: optional(percent),
  currency: fc.constantFrom(undefined, "EUR", "CZK", "QQQ"),
  note: optional(words),
  iban: fc.constantFrom("SK3112000000198742637541", "SK31 1200 0000 1987 4263 7541", undefined),
  paymentMethod: fc.constantFrom(undefined, "bank_transfer", "card", "58"),
  paymentTerms: optional(words),
  variableSymbol: fc.constantFrom(undefined, "2026000123"),
  buyerReference: words,
  precedingInvoiceRef: optional(words),
  prepayments: fc.constantFrom<unknown>(undefined, [
    { amount: "10.00", invoiceNumber: "P1", date: "2026-10-01" },
    { amount: 0.1 },
  ]),
  items: fc.oneof(
    { weight: 5, arbitrary: fc.array(item, { minLength: 1, maxLength: 6 }) },
    // Outside VAT is only a whole invoice.
    {
      weight: 1,
      arbitrary: fc.array(
        item.map((members) => ({ ...members, vatRate: 0, vatCategoryCode: "O", taxTreatment: undefined })),
        { minLength: 1, maxLength: 3 },
      ),
    },
  ),
  attachments: fc.constantFrom<unknown>(undefined, [
    { fileName: "a & b.pdf", mimeType: "application/pdf", content: "JVBERi0=", description: "Scan" },
  ]),
});

type Fraction = { readonly n: bigint; readonly d: bigint };
const fraction = (value: string | number): Fraction => {
  const [, minus = "", whole = "", rest = ""] = /^(-?)(\d+)\.?(\d*)$/u.exec(String(value)) ?? [];
  return { n: BigInt(`${minus}${whole}${rest}`), d: 10n ** BigInt(rest.length) };
};
const times = (a: Fraction, b: Fraction): Fraction => ({ n: a.n * b.n, d: a.d * b.d });
/** Hundredths, a half away from zero. */
const hundredths = ({ n, d }: Fraction): bigint => {
  const size = (n < 0n ? -n : n) * 100n;
  const rounded = size / d + ((size % d) * 2n >= d ? 1n : 0n);
  return n < 0n ? -rounded : rounded;
};
const shareOf = (cents: bigint, rate: string | number): bigint =>
  hundredths(times({ n: cents, d: 10_000n }, fraction(rate)));

/** Every number can stand in a text as a double without an exponent. */
export const anySums = fc.record({
  items: fc.array(
    fc.record({
      description: fc.constant("x"),
      quantity: sent(decimalText(99_999, 5).map((text) => `1${text}`)),
      unitPrice: sent(decimalText(999_999, 6).map((text) => `1${text}`)),
      vatRate: fc.constantFrom(23, 19, 5),
      discount: decimalText(99, 2),
    }),
    { minLength: 1, maxLength: 30 },
  ),
  documentDiscountPercent: decimalText(99, 2),
  prepayments: fc.array(fc.record({ amount: decimalText(9_999, 2), invoiceNumber: optional(fc.constant("P1")) }), {
    maxLength: 4,
  }),
  currency: fc.constantFrom("EUR", "CZK", "USD"),
  documentType: fc.constantFrom("invoice", "credit_note"),
});

/** What makes a whole invoice of `anySums`, beside its receiver. */
export const SUMMED = {
  receiverName: "Buyer",
  invoiceNumber: "1",
  issueDate: "2026-11-20",
  dueDate: "2026-12-04",
  buyerReference: "4100",
} as const;

type Sums = typeof anySums extends fc.Arbitrary<infer Value> ? Value : never;

/** Every sum of an invoice in hundredths: lines, without tax, tax, with tax, to be paid; and each line. */
export function exactSums(value: Sums): { readonly totals: bigint[]; readonly lines: bigint[] } {
  const lines = value.items.map(({ quantity, unitPrice, discount }) => {
    const gross = hundredths(times(fraction(quantity), fraction(unitPrice)));
    return gross - shareOf(gross, discount);
  });
  const groups = [...new Set(value.items.map(({ vatRate }) => vatRate))].map((vatRate) => {
    const net = lines.reduce((sum, line, at) => sum + (value.items[at]?.vatRate === vatRate ? line : 0n), 0n);
    const taxable = net - shareOf(net, value.documentDiscountPercent);
    return { taxable, tax: shareOf(taxable, vatRate) };
  });
  const total = (of: readonly bigint[]): bigint => of.reduce((sum, cents) => sum + cents, 0n);
  const exclusive = total(groups.map(({ taxable }) => taxable));
  const tax = total(groups.map((group) => group.tax));
  const payable = exclusive + tax - total(value.prepayments.map(({ amount }) => hundredths(fraction(amount))));
  return { totals: [total(lines), exclusive, tax, exclusive + tax, payable], lines };
}

/** The same as they stand in UBL. */
export function sumsIn(ubl: Buffer): { readonly totals: bigint[]; readonly lines: bigint[] } {
  const read = parseDocument({ bytes: ubl, limits: SCAN_LIMITS, linesMax: 100 });
  if (read.kind !== "parsed") throw new Error("not read");
  const said = (text: string | null): bigint => hundredths(fraction(text ?? ""));
  const { lineNet, taxExclusive, taxInclusive, payable, tax } = read.summary.totals;
  return {
    totals: [lineNet, taxExclusive, tax, taxInclusive, payable].map(said),
    lines: read.summary.lines.map(({ netAmount }) => said(netAmount)),
  };
}
