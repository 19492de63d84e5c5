/** What the EN 16931 rules remember about a document: VAT categories by place, tax identifiers of the parties, sums. */
import { NONE, type ElementId, type XmlDocument } from "../../xml/document.js";
import { cac, cbc, roots } from "../../xml/names.js";
import { RuleError, type Facts } from "../rule.js";
import { hasChargeIndicator } from "../values.js";
import { Sums } from "./sums.js";
import { CATEGORY, categoryBit, categoryOf, isVat, rawBit } from "./vat-categories.js";

/** Codes of the tax categories at one place of the document, as bits of CATEGORY. */
export class Codes {
  /** By normalised code. */
  any = 0;
  /** By normalised code, categories of the scheme VAT only. */
  vat = 0;
  /** By code exactly as written. */
  raw = 0;
  rawVat = 0;
  /** The error that looking at this place raises. */
  error: RuleError | undefined;

  clear(): void {
    this.any = this.vat = this.raw = this.rawVat = 0;
    this.error = undefined;
  }

  /** Takes in one category; an error is kept for the rule that looks here. */
  add(doc: XmlDocument, e: ElementId): void {
    try {
      const bit = categoryOf(doc, e);
      this.any |= bit;
      const vat = isVat(doc, e);
      if (vat) this.vat |= bit;
      const id = doc.child(e, cbc.ID);
      const raw = id === NONE ? 0 : rawBit(doc.text(id));
      this.raw |= raw;
      if (vat) this.rawVat |= raw;
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error: unknown): void {
    if (!(error instanceof RuleError)) throw error;
    this.error ??= error;
  }

  /** Itself, for a rule that looks at it. @throws RuleError */
  get checked(): this {
    if (this.error !== undefined) throw this.error;
    return this;
  }
}

/** The facts. Everything is worked out when it is first asked for. */
export class En16931Facts implements Facts {
  #doc: XmlDocument | undefined;
  readonly sums = new Sums();

  #linesKnown = false;
  readonly #lines = new Codes();
  #allowancesKnown = false;
  readonly #allowances = new Codes();
  readonly #charges = new Codes();
  readonly #anyIndicator = new Codes();
  readonly #documentAllowances = new Codes();
  readonly #documentCharges = new Codes();
  readonly #documentAny = new Codes();
  #breakdownKnown = false;
  readonly #breakdown = new Codes();
  /** Codes of VAT categories of the breakdown met once, and met again. */
  #breakdownOnce = 0;
  #breakdownTwice = 0;
  #everywhereKnown = false;
  #everywhereVat = 0;
  #everywhereRaw = 0;
  #category: ElementId = NONE;
  #categoryVat = 0;

  reset(doc: XmlDocument): void {
    this.#doc = doc;
    this.#linesKnown = this.#allowancesKnown = this.#breakdownKnown = this.#everywhereKnown = false;
    this.#category = NONE;
    this.sums.reset(doc);
  }

  /** exists(//cac:InvoiceLine), exists(//cac:CreditNoteLine) */
  hasLines(name: "InvoiceLine" | "CreditNoteLine"): boolean {
    return this.#document.all(cac[name]).length > 0;
  }

  /** //cac:ClassifiedTaxCategory */
  get lines(): Codes {
    if (!this.#linesKnown) {
      const doc = this.#document;
      this.#lines.clear();
      const all = doc.all(cac.ClassifiedTaxCategory);
      for (let i = 0; i < all.length; i += 1) this.#lines.add(doc, all[i] ?? NONE);
      this.#linesKnown = true;
    }
    return this.#lines;
  }

  /** //cac:AllowanceCharge[cbc:ChargeIndicator = charge]/cac:TaxCategory */
  allowances(charge: boolean): Codes {
    this.#readAllowances();
    return charge ? this.#charges : this.#allowances;
  }

  /** //cac:AllowanceCharge/cac:TaxCategory */
  get allowancesAndCharges(): Codes {
    this.#readAllowances();
    return this.#anyIndicator;
  }

  /** Allowances or charges that are children of the document element Invoice or CreditNote. */
  documentAllowances(charge: boolean): Codes {
    this.#readAllowances();
    return charge ? this.#documentCharges : this.#documentAllowances;
  }

  /** All children AllowanceCharge of the document element. */
  get documentAllowancesAndCharges(): Codes {
    this.#readAllowances();
    return this.#documentAny;
  }

  /** cac:TaxTotal/cac:TaxSubtotal/cac:TaxCategory of the document element. */
  get breakdown(): Codes {
    this.#readBreakdown();
    return this.#breakdown;
  }

  /** How often a VAT category occurs in the breakdown: 0, 1, or 2 for more. */
  breakdownCount(bit: number): number {
    this.#readBreakdown();
    if ((this.#breakdownTwice & bit) !== 0) return 2;
    return (this.#breakdownOnce & bit) === 0 ? 0 : 1;
  }

  /** Codes of //cac:TaxCategory[VAT]/cbc:ID. @throws RuleError */
  get everywhereVat(): number {
    this.#readEverywhere();
    return this.#everywhereVat;
  }

  /** Codes of //cac:TaxCategory/cbc:ID as written. @throws RuleError */
  get everywhereRaw(): number {
    this.#readEverywhere();
    return this.#everywhereRaw;
  }

  /**
   * True when the element is a category of that code and of the scheme VAT. The nine families ask in turn for the same
   * element, so the last answer is kept.
   */
  isCategory(doc: XmlDocument, e: ElementId, bit: number): boolean {
    if (this.#category !== e) {
      this.#category = NONE;
      const code = categoryOf(doc, e);
      this.#categoryVat = (code & CATEGORY.other) === 0 && isVat(doc, e) ? code : 0;
      this.#category = e;
    }
    return this.#categoryVat === bit;
  }

  get #document(): XmlDocument {
    if (this.#doc === undefined) throw new Error("facts asked before reset");
    return this.#doc;
  }

  #readAllowances(): void {
    if (this.#allowancesKnown) return;
    const doc = this.#document;
    const all = doc.all(cac.AllowanceCharge);
    const billing = doc.name(0) === roots.Invoice || doc.name(0) === roots.CreditNote;
    for (const codes of [this.#allowances, this.#charges, this.#anyIndicator, this.#documentAllowances, this.#documentCharges, this.#documentAny]) codes.clear();
    for (let i = 0; i < all.length; i += 1) {
      const e = all[i] ?? NONE;
      const atTop = doc.parent(e) === 0 && billing;
      addCategories(doc, e, this.#anyIndicator);
      if (atTop) addCategories(doc, e, this.#documentAny);
      addIndicated(doc, e, false, this.#allowances, atTop ? this.#documentAllowances : undefined);
      addIndicated(doc, e, true, this.#charges, atTop ? this.#documentCharges : undefined);
    }
    this.#allowancesKnown = true;
  }

  #readBreakdown(): void {
    if (this.#breakdownKnown) return;
    const doc = this.#document;
    this.#breakdown.clear();
    this.#breakdownOnce = this.#breakdownTwice = 0;
    for (let total = doc.child(0, cac.TaxTotal); total !== NONE; total = doc.nextSame(total)) {
      for (let subtotal = doc.child(total, cac.TaxSubtotal); subtotal !== NONE; subtotal = doc.nextSame(subtotal)) {
        for (let e = doc.child(subtotal, cac.TaxCategory); e !== NONE; e = doc.nextSame(e)) {
          this.#breakdown.add(doc, e);
          this.#countBreakdown(doc, e);
        }
      }
    }
    this.#breakdownKnown = true;
  }

  #countBreakdown(doc: XmlDocument, category: ElementId): void {
    if (!isVat(doc, category)) return;
    for (let id = doc.child(category, cbc.ID); id !== NONE; id = doc.nextSame(id)) {
      const bit = categoryBit(doc.text(id));
      this.#breakdownTwice |= this.#breakdownOnce & bit;
      this.#breakdownOnce |= bit;
    }
  }

  #readEverywhere(): void {
    if (this.#everywhereKnown) return;
    const doc = this.#document;
    const all = doc.all(cac.TaxCategory);
    this.#everywhereVat = this.#everywhereRaw = 0;
    for (let i = 0; i < all.length; i += 1) {
      const category = all[i] ?? NONE;
      const vat = isVat(doc, category);
      for (let id = doc.child(category, cbc.ID); id !== NONE; id = doc.nextSame(id)) {
        this.#everywhereRaw |= rawBit(doc.text(id));
        if (vat) this.#everywhereVat |= categoryBit(doc.text(id));
      }
    }
    this.#everywhereKnown = true;
  }
}

function addCategories(doc: XmlDocument, allowance: ElementId, codes: Codes): void {
  for (let e = doc.child(allowance, cac.TaxCategory); e !== NONE; e = doc.nextSame(e)) codes.add(doc, e);
}

/** Adds the categories of an AllowanceCharge whose indicator has that value; an unreadable indicator is an error of the place. */
function addIndicated(doc: XmlDocument, allowance: ElementId, charge: boolean, codes: Codes, atTop: Codes | undefined): void {
  try {
    if (!hasChargeIndicator(doc, allowance, charge)) return;
  } catch (error) {
    codes.fail(error);
    atTop?.fail(error);
    return;
  }
  addCategories(doc, allowance, codes);
  if (atTop !== undefined) addCategories(doc, allowance, atTop);
}
