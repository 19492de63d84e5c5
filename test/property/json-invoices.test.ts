/**
 * Goal: an invoice as JSON becomes UBL that every rule layer takes, or the answer names the member that is wrong; its
 * sums are right to the cent.
 * Method: generated invoices through the builder and the whole validator; sums computed again from the JSON with
 * fractions of BigInt that share no code with the builder (`SEED=7 RUNS=5000` repeats or extends a run).
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { buildInvoice } from "../../engine/invoices/build.js";
import { parseDocument } from "../../validators/summary.js";
import { validateDocument } from "../../validators/validate.js";
import { SCAN_LIMITS } from "../../validators/xml/limits.js";
import { OWN_FIRM } from "../support/json-invoices.js";

const seed = Number(process.env["SEED"] ?? 20_261_122);
const numRuns = Number(process.env["RUNS"] ?? 400);
const OPTIONS = { limits: SCAN_LIMITS, day: "2026-11-20" };

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
const invoice = fc.record({
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

const judge = (value: unknown) => {
  const built = buildInvoice(value, OWN_FIRM);
  const report = built.ubl === undefined ? undefined : validateDocument(built.ubl, OPTIONS);
  return { ...built, findings: report?.findings ?? [], valid: report?.valid === true };
};

test(`a generated invoice passes every rule layer, or what is wrong is named by its member (SEED=${seed})`, () => {
  let valid = 0;
  fc.assert(
    fc.property(invoice, (value) => {
      // As it arrives: through JSON, where what is undefined is not there.
      const { ubl, problems, findings, fieldOf, valid: passes } = judge(JSON.parse(JSON.stringify(value)));
      if (passes) valid++;
      if (ubl === undefined) {
        expect(problems.filter(({ severity, field }) => severity === "fatal" && field !== "document")).not.toEqual([]);
        return;
      }
      const unnamed = findings.filter((finding) => finding.severity !== "warning" && fieldOf(finding) === "document");
      expect(unnamed.map(({ ruleId, location, message }) => [ruleId, location, message])).toEqual([]);
    }),
    { seed, numRuns },
  );
  // A builder that refuses everything would keep the promise and help nobody.
  expect(valid).toBeGreaterThan(numRuns / 50);
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
const sums = fc.record({
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
  prepaidAmount: decimalText(99_999, 2),
  documentType: fc.constantFrom("invoice", "credit_note"),
});

test(`every sum equals one that is computed with BigInt fractions, to the cent (SEED=${seed})`, () => {
  fc.assert(
    fc.property(sums, (value) => {
      const { ubl, findings } = judge({
        ...value,
        receiverPeppolId: "0245:2020202020",
        receiverName: "Buyer",
        invoiceNumber: "1",
        issueDate: "2026-11-20",
        dueDate: "2026-12-04",
        buyerReference: "4100",
      });
      expect(findings).toEqual([]);
      const nets = value.items.map(({ quantity, unitPrice, discount }) => {
        const gross = hundredths(times(fraction(quantity), fraction(unitPrice)));
        return gross - shareOf(gross, discount);
      });
      const groups = [...new Set(value.items.map(({ vatRate }) => vatRate))].map((vatRate) => {
        const lines = nets.reduce((sum, net, at) => sum + (value.items[at]?.vatRate === vatRate ? net : 0n), 0n);
        const taxable = lines - shareOf(lines, value.documentDiscountPercent);
        return { taxable, tax: shareOf(taxable, vatRate) };
      });
      const total = (of: readonly bigint[]): bigint => of.reduce((sum, cents) => sum + cents, 0n);
      const exclusive = total(groups.map(({ taxable }) => taxable));
      const tax = total(groups.map((group) => group.tax));
      const read = parseDocument({ bytes: ubl ?? Buffer.alloc(0), limits: SCAN_LIMITS, linesMax: 100 });
      if (read.kind !== "parsed") throw new Error("not read");
      const said = (text: string | null): bigint => hundredths(fraction(text ?? ""));
      const { lineNet, taxExclusive, taxInclusive, payable, tax: saidTax } = read.summary.totals;
      expect([lineNet, taxExclusive, saidTax, taxInclusive, payable].map(said)).toEqual([
        total(nets),
        exclusive,
        tax,
        exclusive + tax,
        exclusive + tax - hundredths(fraction(value.prepaidAmount)),
      ]);
      expect(read.summary.lines.map(({ netAmount }) => said(netAmount))).toEqual(nets);
    }),
    { seed, numRuns: Math.ceil(numRuns / 4) },
  );
});
