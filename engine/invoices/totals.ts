/** The sums of an invoice, in hundredths. */
import type { Draft, Line, LineVat } from "./draft.js";
import { percentOf } from "./exact.js";
import type { Cents } from "./exact.js";

/** The lines of one category and rate. */
interface VatGroup extends LineVat {
  readonly lines: Cents;
  /** What of the discount on the document falls to these lines. */
  readonly allowance: Cents;
  readonly taxable: Cents;
  readonly tax: Cents;
}

interface Totals {
  readonly groups: readonly VatGroup[];
  readonly lines: Cents;
  readonly allowances: Cents;
  readonly taxExclusive: Cents;
  readonly tax: Cents;
  readonly taxInclusive: Cents;
  readonly payable: Cents;
}

export const lineNet = ({ gross, discountAmount }: Pick<Line, "gross" | "discountAmount">): Cents =>
  gross - discountAmount;

/** Each amount is rounded once: line, discount and tax of a group; sums are then sums of what the invoice shows. */
export function totalsOf({ lines, discount, prepaid }: Pick<Draft, "lines" | "discount" | "prepaid">): Totals {
  const byVat = new Map<string, LineVat & { readonly lines: Cents }>();
  for (const line of lines) {
    const { category, rate } = line;
    const key = `${category} ${rate}`;
    byVat.set(key, { category, rate, lines: (byVat.get(key)?.lines ?? 0n) + lineNet(line) });
  }
  const groups = [...byVat.values()].map((group) => {
    const allowance = discount === undefined ? 0n : percentOf(group.lines, discount);
    const taxable = group.lines - allowance;
    return { ...group, allowance, taxable, tax: percentOf(taxable, rateOf(group.rate)) };
  });
  const sum = (of: (group: VatGroup) => Cents): Cents => groups.reduce((total, group) => total + of(group), 0n);
  const [taxExclusive, tax] = [sum(({ taxable }) => taxable), sum((group) => group.tax)];
  return {
    groups,
    lines: sum((group) => group.lines),
    allowances: sum(({ allowance }) => allowance),
    taxExclusive,
    tax,
    taxInclusive: taxExclusive + tax,
    payable: taxExclusive + tax - prepaid,
  };
}

function rateOf(text: string) {
  const [whole = "0", fraction = ""] = text.split(".");
  return { coefficient: BigInt(whole + fraction), scale: fraction.length };
}
