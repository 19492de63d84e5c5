/**
 * Amounts per VAT category and rate: what the breakdown of an invoice is compared with (rules 08 of each family).
 *
 * Lines and allowances are read once, however many breakdowns there are: the official expressions add all lines up
 * again for every TaxSubtotal, which is quadratic. An error is kept with the sum it belongs to and raised when that sum
 * is used.
 */
import { NONE } from "../../../xml/document.js";
import type { ElementId, XmlDocument } from "../../../xml/document.js";
import { cac, cbc } from "../../../xml/names.js";
import type { NameId } from "../../../xml/names.js";
import { add, parseDecimal, toText, ZERO } from "../../decimal.js";
import type { Decimal } from "../../decimal.js";
import { RuleError } from "../../rule.js";
import { childDecimal, hasChargeIndicator, onlyChild } from "../../values.js";
import { CATEGORY, categoryOf } from "../vat-categories.js";

/** Categories whose sums are kept per rate; the others have one rate by definition. */
const RATED = CATEGORY.S | CATEGORY.L | CATEGORY.M;
const CODES = Object.values(CATEGORY).filter((bit) => bit !== CATEGORY.other && bit !== CATEGORY.B);
const slot = (bit: number): number => 31 - Math.clz32(bit);
const SLOTS = slot(CATEGORY.other) + 1;

/** A rate as a key: equal rates have equal keys. */
type RateKey = string;

/** The key of a VAT rate: 20, 20.0 and 20.00 are one rate. */
export const rateKey = (rate: Decimal): RateKey => toText(rate);

const NO_RATES: ReadonlySet<RateKey> = new Set();

/** Sums of one kind of element: invoice lines, credit note lines, charges or allowances. */
class Group {
  /** Sum per category, of children of the document element. */
  readonly #totals: Decimal[] = Array.from({ length: SLOTS }, () => ZERO);
  /** The same per rate. */
  readonly #rated = Array.from({ length: SLOTS }, () => new Map<RateKey, Decimal>());
  /** Amounts that cannot be read: they end the sum of their own rate only. */
  readonly #ratedErrors = Array.from({ length: SLOTS }, () => new Map<RateKey, RuleError>());
  readonly #errors: (RuleError | undefined)[] = Array.from({ length: SLOTS }, () => undefined);
  /** Rates whose sums the error of the category has not ended: their element was found before it. */
  readonly #spared = Array.from({ length: SLOTS }, () => new Set<RateKey>());

  clear(): void {
    this.#totals.fill(ZERO);
    this.#errors.fill(undefined);
    for (const kept of [...this.#rated, ...this.#ratedErrors, ...this.#spared]) if (kept.size > 0) kept.clear();
  }

  /** Ends the sums of the categories. @param found  rates that the element showed before its error: theirs go on */
  fail(bits: number, error: RuleError, found: ReadonlySet<RateKey> = NO_RATES): void {
    for (const bit of CODES) {
      if ((bits & bit) === 0) continue;
      const spared = this.#spared[slot(bit)];
      if (this.#errors[slot(bit)] === undefined) {
        this.#errors[slot(bit)] = error;
        for (const rate of found) spared?.add(rate);
      } else {
        for (const rate of spared ?? []) {
          if (found.has(rate)) continue;
          this.failAt(bit, rate, error);
          // Its error is kept now: the next element that fails need not walk past it.
          spared?.delete(rate);
        }
      }
    }
  }

  /** The sum of this rate meets the error, unless it has met another before. */
  failAt(bit: number, rate: RateKey, error: RuleError): void {
    const errors = this.#ratedErrors[slot(bit)];
    if (this.#isOpen(bit, rate) && errors?.has(rate) === false) errors.set(rate, error);
  }

  #isOpen(bit: number, rate: RateKey): boolean {
    return this.#errors[slot(bit)] === undefined || this.#spared[slot(bit)]?.has(rate) === true;
  }

  add(bit: number, amount: Decimal): void {
    this.#totals[slot(bit)] = add(this.#totals[slot(bit)] ?? ZERO, amount);
  }

  addRated(bit: number, rate: RateKey, amount: Decimal): void {
    const map = this.#rated[slot(bit)];
    map?.set(rate, add(map.get(rate) ?? ZERO, amount));
  }

  /** @throws RuleError of an element that belongs to the sum. */
  total(bit: number): Decimal {
    this.#check(bit);
    return this.#totals[slot(bit)] ?? ZERO;
  }

  totalAt(bit: number, rate: RateKey): Decimal {
    const error = this.#ratedErrors[slot(bit)]?.get(rate);
    if (error !== undefined) throw error;
    if (!this.#isOpen(bit, rate)) this.#check(bit);
    return this.#rated[slot(bit)]?.get(rate) ?? ZERO;
  }

  #check(bit: number): void {
    const error = this.#errors[slot(bit)];
    if (error !== undefined) throw error;
  }
}

/** Which rates of a category occur anywhere in the document: the search ends at the first, or at an error before it. */
class Rates {
  /** Rate → the error that stands before its first occurrence. */
  readonly #seen = Array.from({ length: SLOTS }, () => new Map<RateKey, RuleError | undefined>());
  readonly #errors: (RuleError | undefined)[] = Array.from({ length: SLOTS }, () => undefined);

  clear(): void {
    this.#errors.fill(undefined);
    for (const map of this.#seen) if (map.size > 0) map.clear();
  }

  add(bit: number, rate: RateKey): void {
    const seen = this.#seen[slot(bit)];
    if (seen?.has(rate) === false) seen.set(rate, this.#errors[slot(bit)]);
  }

  fail(bits: number, error: RuleError): void {
    for (const bit of CODES) if ((bits & bit) !== 0) this.#errors[slot(bit)] ??= error;
  }

  has(bit: number, rate: RateKey): boolean {
    const seen = this.#seen[slot(bit)];
    const occurs = seen?.has(rate) === true;
    const error = occurs ? seen.get(rate) : this.#errors[slot(bit)];
    if (error !== undefined) throw error;
    return occurs;
  }
}

/** The value, or the error that reading it ends with. */
function orError<T>(read: () => T): T | RuleError {
  try {
    return read();
  } catch (error) {
    if (error instanceof RuleError) return error;
    throw error;
  }
}

/** Where the amounts of a kind of element and its categories are. */
interface Kind {
  readonly amount: NameId;
  /** Child between the element and its categories; NONE when they are its children. */
  readonly item: NameId;
  readonly category: NameId;
}

const LINE: Kind = { amount: cbc.LineExtensionAmount, item: cac.Item, category: cac.ClassifiedTaxCategory };
const ALLOWANCE: Kind = { amount: cbc.Amount, item: NONE, category: cac.TaxCategory };

export class Sums {
  #doc: XmlDocument | undefined;
  #known = false;
  readonly #lines = { invoice: new Group(), creditNote: new Group() };
  readonly #lineRates = { invoice: new Rates(), creditNote: new Rates() };
  readonly #charges = new Group();
  readonly #allowances = new Group();
  readonly #allowanceRates = new Rates();
  /** The last rate read as text and as key: most lines of an invoice share one. */
  #rateText = "";
  #rateKey: RateKey = "";

  reset(doc: XmlDocument): void {
    this.#doc = doc;
    this.#known = false;
  }

  /** Lines plus charges minus allowances of a category. @throws RuleError */
  ofCategory(kind: "invoice" | "creditNote", bit: number): [lines: Decimal, charges: Decimal, allowances: Decimal] {
    this.#read();
    return [this.#lines[kind].total(bit), this.#charges.total(bit), this.#allowances.total(bit)];
  }

  /** The same for one rate; S, L and M only. @throws RuleError */
  ofRate(
    kind: "invoice" | "creditNote",
    bit: number,
    rate: RateKey,
  ): [lines: Decimal, charges: Decimal, allowances: Decimal] {
    this.#read();
    return [
      this.#lines[kind].totalAt(bit, rate),
      this.#charges.totalAt(bit, rate),
      this.#allowances.totalAt(bit, rate),
    ];
  }

  /**
   * A line of that category and rate, or else an allowance or charge, stands somewhere in the document. @throws
   * RuleError
   */
  occurs(kind: "invoice" | "creditNote", bit: number, rate: RateKey): boolean {
    this.#read();
    return this.#lineRates[kind].has(bit, rate) || this.#allowanceRates.has(bit, rate);
  }

  #read(): void {
    const doc = this.#doc;
    if (this.#known || doc === undefined) return;
    for (const group of [this.#lines.invoice, this.#lines.creditNote, this.#charges, this.#allowances]) group.clear();
    for (const rates of [this.#lineRates.invoice, this.#lineRates.creditNote, this.#allowanceRates]) rates.clear();
    this.#readLines(doc, cac.InvoiceLine, this.#lines.invoice, this.#lineRates.invoice);
    this.#readLines(doc, cac.CreditNoteLine, this.#lines.creditNote, this.#lineRates.creditNote);
    const all = doc.all(cac.AllowanceCharge);
    for (let i = 0; i < all.length; i += 1) this.#readAllowance(doc, all[i] ?? NONE);
    this.#known = true;
  }

  #readLines(doc: XmlDocument, name: NameId, group: Group, rates: Rates): void {
    const all = doc.all(name);
    for (let i = 0; i < all.length; i += 1) {
      const e = all[i] ?? NONE;
      this.#add(doc, e, LINE, rates, doc.parent(e) === 0 ? group : undefined);
    }
  }

  #readAllowance(doc: XmlDocument, e: ElementId): void {
    if (doc.parent(e) !== 0) {
      this.#add(doc, e, ALLOWANCE, this.#allowanceRates, undefined);
      return;
    }
    const indicators = orError(() => ({
      isCharge: hasChargeIndicator(doc, e, true),
      isAllowance: hasChargeIndicator(doc, e, false),
    }));
    if (indicators instanceof RuleError) {
      this.#charges.fail(NONE, indicators);
      this.#allowances.fail(NONE, indicators);
    }
    const { isCharge, isAllowance } =
      indicators instanceof RuleError ? { isCharge: false, isAllowance: false } : indicators;
    this.#add(
      doc,
      e,
      ALLOWANCE,
      this.#allowanceRates,
      isCharge ? this.#charges : isAllowance ? this.#allowances : undefined,
    );
    if (isCharge && isAllowance) this.#add(doc, e, ALLOWANCE, this.#allowanceRates, this.#allowances);
  }

  /** Adds the amount of one element to the sums of its categories. */
  #add(doc: XmlDocument, e: ElementId, kind: Kind, rates: Rates, group: Group | undefined): void {
    const bits = orError(() => codesOf(doc, e, kind));
    if (bits instanceof RuleError) {
      rates.fail(NONE, bits);
      group?.fail(NONE, bits);
      return;
    }
    const amount = group === undefined ? undefined : orError(() => childDecimal(doc, e, kind.amount));
    if ((bits & RATED) !== 0) this.#addRated(doc, e, kind, bits & RATED, rates, group, amount);
    if (group === undefined || amount === undefined) return;
    if (amount instanceof RuleError) group.fail(bits & ~RATED, amount);
    else for (const bit of CODES) if ((bits & bit & ~RATED) !== 0) group.add(bit, amount);
  }

  /** The category and rate of an element are looked at before its amount; what stands before an error counts. */
  #addRated(
    doc: XmlDocument,
    e: ElementId,
    kind: Kind,
    bits: number,
    rates: Rates,
    group: Group | undefined,
    amount: Decimal | RuleError | undefined,
  ): void {
    const keys = new Set<RateKey>();
    const error = orError(() => {
      eachCategory(doc, e, kind, (category) => {
        this.#addKey(doc, category, keys);
      });
    });
    for (const bit of CODES) {
      if ((bits & bit) === 0) continue;
      for (const key of keys) {
        rates.add(bit, key);
        if (amount instanceof RuleError) group?.failAt(bit, key, amount);
        else if (amount !== undefined) group?.addRated(bit, key, amount);
      }
    }
    if (error instanceof RuleError) {
      rates.fail(bits, error);
      group?.fail(bits, error, keys);
    }
  }

  #addKey(doc: XmlDocument, category: ElementId, keys: Set<RateKey>): void {
    const percent = onlyChild(doc, category, cbc.Percent);
    if (percent === NONE) return;
    const text = doc.text(percent);
    if (text !== this.#rateText || this.#rateKey === "") {
      const rate = parseDecimal(text);
      if (rate === undefined) throw new RuleError("FORG0001");
      this.#rateText = text;
      this.#rateKey = rateKey(rate);
    }
    keys.add(this.#rateKey);
  }
}

/** Calls `visit` with every tax category of a line or allowance. */
function eachCategory(doc: XmlDocument, e: ElementId, kind: Kind, visit: (category: ElementId) => void): void {
  if (kind.item === NONE) {
    for (let c = doc.child(e, kind.category); c !== NONE; c = doc.nextSame(c)) visit(c);
    return;
  }
  for (let item = doc.child(e, kind.item); item !== NONE; item = doc.nextSame(item)) {
    for (let c = doc.child(item, kind.category); c !== NONE; c = doc.nextSame(c)) visit(c);
  }
}

/** Bits of the categories of a line or allowance. @throws RuleError XPTY0004 */
function codesOf(doc: XmlDocument, e: ElementId, kind: Kind): number {
  let bits = 0;
  eachCategory(doc, e, kind, (category) => {
    bits |= categoryOf(doc, category);
  });
  return bits;
}
