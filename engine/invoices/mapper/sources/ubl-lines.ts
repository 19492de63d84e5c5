/** The lines of a UBL document, its allowances and charges. */
import type { XmlElement } from "../../../../validators/xml/tree.js";
import { exactOf, exactText, percentOf, product, quotient, toCents } from "../../exact.js";
import type { Cents, Exact } from "../../exact.js";
import { DISCOUNT } from "../../terms.js";
import type { ValueKind } from "../fields.js";
import { issueOf } from "../issues.js";
import type { MapIssue } from "../issues.js";
import { CERTAINTY } from "../names.js";
import { foundAt } from "./reading.js";
import type { FoundValue } from "./reading.js";
import { placed } from "./ubl-elements.js";
import type { Placed, TakenElements } from "./ubl-elements.js";

/** VAT categories in the words of a create body; S is what a rate says by itself. */
const TREATMENTS: Readonly<Record<string, string>> = {
  Z: "zero_rated",
  E: "exempt",
  AE: "reverse_charge",
  K: "intra_community_supply",
  G: "export",
  O: "out_of_scope",
};

/** A line with what its sums are made of. */
interface UblLine {
  readonly found: readonly FoundValue[];
  /** Category and rate, by which discounts on the document are distributed. */
  readonly vat: string;
  readonly net: Cents;
}

interface UblLines {
  readonly lines: readonly UblLine[];
  readonly issues: readonly MapIssue[];
}

const found = (target: string, kind: ValueKind, value: string, source: string): FoundValue =>
  foundAt({ target, kind, certainty: CERTAINTY.stated }, source, value);

const ZERO: Exact = { coefficient: 0n, scale: 0 };
const exact = (text: string | undefined): Exact => exactOf(text) ?? ZERO;
/** An amount of the document; nothing where it is no number. */
export const centsOf = (text: string | undefined): Cents => toCents(exact(text));

export function readUblLines(root: XmlElement, taken: TakenElements): UblLines {
  const name = `${root.local}Line`;
  const lines: UblLine[] = [];
  const issues: MapIssue[] = [];
  let isCountedAnew = false;
  for (const line of placed(taken.elements(root, name))) {
    isCountedAnew ||= taken.text(line.element, "ID") !== String(lines.length + 1);
    const read = readLine(line, taken);
    lines.push(...read.lines);
    issues.push(...read.issues);
  }
  if (isCountedAnew)
    issues.push(issueOf("CONVERTED", { field: "lines", source: `${name}.ID`, detail: "Lines are counted anew." }));
  return { lines, issues: once(issues) };
}

/** The same about several lines is told once. */
const once = (issues: readonly MapIssue[]): readonly MapIssue[] => [
  ...new Map(issues.map((issue) => [JSON.stringify(issue), issue])).values(),
];

/** What is told of a line stands for all of them; a value stands at the place of its own. */
function readLine({ element: line, place }: Placed, taken: TakenElements): UblLines {
  const name = line.local;
  const quantity = taken.element(line, "InvoicedQuantity") ?? taken.element(line, "CreditedQuantity");
  const unit = quantity?.attributes.find(({ local }) => local === "unitCode")?.value;
  const amount = quantity === undefined ? undefined : taken.textOf(quantity);
  const counted = `${place}.${quantity?.local ?? "InvoicedQuantity"}`;
  const base = taken.text(line, "Price", "BaseQuantity");
  const price = taken.text(line, "Price", "PriceAmount");
  // The price of a hundred is a hundred times the price of one.
  const unitPrice = base === undefined || price === undefined ? price : priceOfOne(price, base);
  const vat = vatOf(line, name, ["Item", "ClassifiedTaxCategory"], taken);
  const description = taken.text(line, "Item", "Name") ?? taken.text(line, "Item", "Description");
  const adjustments = taken.elements(line, "AllowanceCharge").map((entry) => adjustmentOf(entry, taken));
  const allowances = adjustments.filter(({ isCharge }) => !isCharge);
  const allowance = allowances.reduce((sum, { size }) => sum + size, 0n);
  const gross = toCents(product(exact(unitPrice), exact(amount)));
  const discount = statedPercent(allowances, [{ net: gross, allowance }]) ?? percentFor(gross, allowance);
  const own: UblLine = {
    vat: vat.key,
    net: discount === undefined ? gross : gross - allowance,
    found: [
      ...valueOf("description", "text", description, `${place}.Item.Name`),
      ...valueOf("quantity", "quantity", amount, counted),
      // A code, which no word of a language is taken for: ST is a sheet, and no piece.
      ...valueOf("unit", "text", unit, `${counted}@unitCode`),
      ...valueOf("unitPrice", "number", unitPrice, `${place}.Price.PriceAmount`),
      ...vat.found,
      ...(discount === undefined || discount === "0"
        ? []
        : [found("discount", "percent", discount, `${place}.AllowanceCharge`)]),
    ],
  };
  const apart = adjustments.filter(({ isCharge }) => isCharge || discount === undefined);
  const stated = taken.text(line, "LineExtensionAmount");
  const tell = (source: string, detail: string): MapIssue =>
    issueOf("CONVERTED", { field: "lines", source: `${name}.${source}`, detail });
  return {
    lines: [own, ...apart.map((adjustment) => adjustmentLine(adjustment, vat))],
    issues: [
      ...vat.issues,
      ...apart.map(() => converted(`${name}.AllowanceCharge`)),
      ...(apart.length > 0 || isWrittenSo(allowances, discount, gross) ? [] : [rewritten(`${name}.AllowanceCharge`)]),
      ...(stated === undefined || centsOf(stated) === own.net
        ? []
        : [tell("LineExtensionAmount", "It is computed anew.")]),
      ...(base === undefined ? [] : [tell("Price.BaseQuantity", PRICE_OF_ONE)]),
      ...(unitPrice === price ? [] : [tell("Price.PriceAmount", PRICE_OF_ONE)]),
    ],
  };
}

const PRICE_OF_ONE = "A price is that of one.";

/**
 * Whether the builder writes a discount as the allowance that the document has.
 * @param whole  what it is a share of
 */
const isWrittenSo = (
  [only, ...more]: readonly Adjustment[],
  discount: string | undefined,
  whole: Cents | undefined,
): boolean =>
  only === undefined ||
  (more.length === 0 &&
    discount !== undefined &&
    discount !== "0" &&
    exactText(exact(only.percent)) === discount &&
    (only.base === undefined || centsOf(only.base) === whole));

const valueOf = (target: string, kind: ValueKind, value: string | undefined, source: string): readonly FoundValue[] =>
  value === undefined ? [] : [found(target, kind, value, source)];

function priceOfOne(price: string, base: string): string {
  const one = quotient(exact(price), exact(base));
  return one === undefined ? price : exactText(one);
}

interface Vat {
  readonly key: string;
  readonly found: readonly FoundValue[];
  readonly issues: readonly MapIssue[];
}

/** @param within  where the element stands: `InvoiceLine` */
function vatOf(element: XmlElement, within: string, path: readonly string[], taken: TakenElements): Vat {
  const category = taken.text(element, ...path, "ID") ?? "";
  const rate = taken.text(element, ...path, "Percent") ?? "0";
  const treatment = Object.hasOwn(TREATMENTS, category) ? TREATMENTS[category] : undefined;
  const source = [within, ...path].join(".");
  taken.takeSame(taken.element(element, ...path, "TaxScheme", "ID"), "VAT");
  const isKnown = treatment !== undefined || category === "S" || category === "";
  return {
    issues: isKnown ? [] : [issueOf("UNSAYABLE", { field: "lines", source: `${source}.ID` })],
    key: `${category} ${exactText(exact(rate))}`,
    found: [
      found("vatRate", "percent", rate, source),
      ...(treatment === undefined ? [] : [found("taxTreatment", "treatment", treatment, source)]),
    ],
  };
}

/** How XML Schema writes yes. */
const TRUE: ReadonlySet<string> = new Set(["true", "1"]);

/** An allowance or a charge. */
interface Adjustment {
  readonly isCharge: boolean;
  readonly size: Cents;
  readonly amount: string;
  /** Percent, as the document says it beside the amount. */
  readonly percent: string | undefined;
  /** What it is a share of, as the document says it. */
  readonly base: string | undefined;
  readonly reason: string;
}

function adjustmentOf(entry: XmlElement, taken: TakenElements): Adjustment {
  const isCharge = TRUE.has(taken.text(entry, "ChargeIndicator") ?? "");
  const amount = taken.text(entry, "Amount") ?? "0";
  const reason = taken.element(entry, "AllowanceChargeReason");
  const base = taken.text(entry, "BaseAmount");
  const percent = taken.text(entry, "MultiplierFactorNumeric");
  // What the builder writes of a discount.
  if (!isCharge) {
    taken.takeSame(reason, DISCOUNT.reason);
    taken.takeSame(taken.element(entry, "AllowanceChargeReasonCode"), DISCOUNT.code);
  }
  const words = reason === undefined ? "" : isCharge ? taken.textOf(reason) : taken.peek(reason);
  const said = words === "" ? (isCharge ? "Charge" : "Discount") : words;
  return { isCharge, size: centsOf(amount), amount, percent, base, reason: said };
}

/** A charge is a line of its own, an allowance one of a negative quantity: the sums stay the same. */
const adjustmentLine = ({ amount, reason, size, isCharge }: Adjustment, vat: Vat): UblLine => ({
  vat: vat.key,
  net: isCharge ? size : -size,
  found: [
    found("description", "text", reason, "AllowanceCharge"),
    found("quantity", "quantity", isCharge ? "1" : "-1", "AllowanceCharge"),
    found("unitPrice", "number", amount, "AllowanceCharge"),
    ...vat.found,
  ],
});

const converted = (source: string): MapIssue =>
  issueOf("CONVERTED", { field: "lines", source, detail: "An allowance or a charge became a line." });
const rewritten = (source: string): MapIssue =>
  issueOf("CONVERTED", { field: "lines", source, detail: "Allowances became one percentage." });

const HUNDRED = 100n;

/** The percentage of an amount that comes to an allowance to the cent; undefined where there is none. */
function percentFor(whole: Cents, allowance: Cents): string | undefined {
  if (allowance === 0n) return "0";
  const percent = quotient({ coefficient: allowance * HUNDRED, scale: 0 }, { coefficient: whole, scale: 0 });
  if (percent === undefined || percent.coefficient < 0n || percentOf(whole, percent) !== allowance) return undefined;
  return percent.coefficient > HUNDRED * 10n ** BigInt(percent.scale) ? undefined : exactText(percent);
}

/** What allowances are off: the sum of a line, or of the lines of one VAT group. */
interface Reduced {
  readonly net: Cents;
  readonly allowance: Cents;
}

/** The percentage that all allowances name, where it comes to each of their amounts to the cent. */
function statedPercent(allowances: readonly Adjustment[], of: readonly Reduced[]): string | undefined {
  const [first, ...others] = [...new Set(allowances.map(({ percent }) => percent))];
  const percent = exactOf(first);
  if (percent === undefined || others.length > 0 || percent.coefficient < 0n) return undefined;
  if (percent.coefficient > HUNDRED * 10n ** BigInt(percent.scale)) return undefined;
  const isRight = of.every(({ net, allowance }) => percentOf(net, percent) === allowance);
  return isRight ? exactText(percent) : undefined;
}

/** What the allowances and charges on the whole document become. */
interface DocumentDiscount {
  readonly percent: string | undefined;
  /** What the percentage comes to; 0 without one. */
  readonly total: Cents;
  /** Lines that charges became, and allowances that no percentage comes to. */
  readonly lines: readonly UblLine[];
  readonly issues: readonly MapIssue[];
}

/** One percentage for all of the document, where it comes to each VAT group's allowances to the cent. */
export function discountOf(root: XmlElement, lines: readonly UblLine[], taken: TakenElements): DocumentDiscount {
  const entries = taken.elements(root, "AllowanceCharge").map((entry) => ({
    vat: vatOf(entry, "AllowanceCharge", ["TaxCategory"], taken),
    ...adjustmentOf(entry, taken),
  }));
  const charges = entries.filter(({ isCharge }) => isCharge);
  const allowances = entries.filter(({ isCharge }) => !isCharge);
  // Bounded by the lines of one source.
  const groups = new Map<string, Reduced>();
  const add = (vat: string, net: Cents, allowance: Cents): void => {
    const before = groups.get(vat) ?? { net: 0n, allowance: 0n };
    groups.set(vat, { net: before.net + net, allowance: before.allowance + allowance });
  };
  for (const { vat, net } of lines) add(vat, net, 0n);
  for (const { vat, size } of charges) add(vat.key, size, 0n);
  for (const { vat, size } of allowances) add(vat.key, 0n, size);
  const sums = [...groups.values()];
  const total = sums.reduce((sum, { allowance }) => sum + allowance, 0n);
  const whole = sums.reduce((sum, { net }) => sum + net, 0n);
  const share = statedPercent(allowances, sums) ?? (total === 0n ? undefined : percentFor(whole, total));
  const percent = exactOf(share);
  const isExact = percent !== undefined && sums.every(({ net, allowance }) => percentOf(net, percent) === allowance);
  const apart = [...charges, ...(isExact ? [] : allowances)];
  const isWritten =
    allowances.length === groups.size &&
    allowances.every((one) => isWrittenSo([one], share, groups.get(one.vat.key)?.net));
  return {
    percent: isExact ? share : undefined,
    total: isExact ? total : 0n,
    lines: apart.map((adjustment) => adjustmentLine(adjustment, adjustment.vat)),
    issues: once([
      ...entries.flatMap(({ vat }) => vat.issues),
      ...apart.map(() => converted("AllowanceCharge")),
      ...(isExact && allowances.length > 0 && !isWritten ? [rewritten("AllowanceCharge")] : []),
    ]),
  };
}
