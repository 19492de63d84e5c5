/** What the EN 16931 rules remember about a document: VAT categories by place, tax identifiers of the parties, sums. */
import { NONE } from "../../xml/document.js";
import type { ElementId, XmlDocument } from "../../xml/document.js";
import { attr, cac, cbc, roots } from "../../xml/names.js";
import { add, ZERO } from "../decimal.js";
import type { Decimal } from "../decimal.js";
import { at } from "../path.js";
import type { Path } from "../path.js";
import { RuleError } from "../rule.js";
import type { Facts } from "../rule.js";
import { childDecimal, hasChargeIndicator, isAllowance, isCharge } from "../values.js";
import { Codes } from "./memory/codes-in-use.js";
import { LastAnswer } from "./memory/last-answer.js";
import { Sums } from "./memory/sums.js";
import { CATEGORY, categoryBit, categoryOf, isVat, rawBit } from "./vat-categories.js";

/** The distinct texts of the elements at a path. */
function textsOf(doc: XmlDocument, e: ElementId, path: Path): ReadonlySet<string> {
  const texts = new Set<string>();
  path.each(
    doc,
    e,
    (d, found) => {
      texts.add(d.text(found));
    },
    undefined,
  );
  return texts;
}

const textsAt = (text: string): LastAnswer<ReadonlySet<string>> => {
  const path = at(text);
  return new LastAnswer((doc, e) => textsOf(doc, e, path));
};

/** The facts. Everything is worked out when it is first asked for. */
export class En16931Facts implements Facts {
  #doc: XmlDocument | undefined;
  readonly sums = new Sums();

  /** cbc:ChargeIndicator = false(), = true() of an AllowanceCharge. */
  readonly isAllowance = new LastAnswer(isAllowance);
  readonly isCharge = new LastAnswer(isCharge);
  /** Sum of the net amounts of all lines; asked of the document element. */
  readonly sumOfLines = new LastAnswer(sumOfLines);
  /**
   * Sum of the allowances, and of the charges, among the children of an element; asked of LegalMonetaryTotal's parent.
   */
  readonly sumOfAllowances = new LastAnswer((doc, e) => sumOfIndicated(doc, e, this.isAllowance));
  readonly sumOfCharges = new LastAnswer((doc, e) => sumOfIndicated(doc, e, this.isCharge));
  /** Currencies of //cac:TaxTotal/cbc:TaxAmount; asked of the document element. */
  readonly taxCurrencies = new LastAnswer(taxCurrencies);
  /** Texts of the seller; asked of the payee's parent. */
  readonly sellerNames = textsAt("cac:AccountingSupplierParty/cac:Party/cac:PartyName/cbc:Name");
  readonly sellerIds = textsAt("cac:AccountingSupplierParty/cac:Party/cac:PartyIdentification/cbc:ID");
  readonly sellerLegalNames = textsAt(
    "cac:AccountingSupplierParty/cac:Party/cac:PartyLegalEntity/cbc:RegistrationName",
  );
  /** Names of the payee. */
  readonly payeeNames = textsAt("cac:PartyName/cbc:Name");
  readonly #answers: readonly LastAnswer<unknown>[] = [
    this.isAllowance,
    this.isCharge,
    this.sumOfLines,
    this.sumOfAllowances,
    this.sumOfCharges,
    this.taxCurrencies,
    this.sellerNames,
    this.sellerIds,
    this.sellerLegalNames,
    this.payeeNames,
  ];

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
    for (const answer of this.#answers) answer.forget();
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
    for (const codes of [
      this.#allowances,
      this.#charges,
      this.#anyIndicator,
      this.#documentAllowances,
      this.#documentCharges,
      this.#documentAny,
    ])
      codes.clear();
    for (let i = 0; i < all.length; i += 1) {
      const e = all[i] ?? NONE;
      const atTop = doc.parent(e) === 0 && billing;
      addCategories(doc, e, this.#anyIndicator);
      if (atTop) addCategories(doc, e, this.#documentAny);
      addIndicated(doc, e, false, atTop ? [this.#allowances, this.#documentAllowances] : [this.#allowances]);
      addIndicated(doc, e, true, atTop ? [this.#charges, this.#documentCharges] : [this.#charges]);
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

/**
 * Adds the categories of an AllowanceCharge whose indicator has that value; an unreadable indicator is an error of the
 * place.
 */
function addIndicated(doc: XmlDocument, allowance: ElementId, charge: boolean, lists: readonly Codes[]): void {
  try {
    if (!hasChargeIndicator(doc, allowance, charge)) return;
  } catch (error) {
    for (const codes of lists) codes.fail(error);
    return;
  }
  for (const codes of lists) addCategories(doc, allowance, codes);
}

/** Sum of LineExtensionAmount of every line, wherever it stands. @throws RuleError XPTY0004, FORG0001 */
function sumOfLines(doc: XmlDocument): Decimal {
  let sum = ZERO;
  for (const name of [cac.InvoiceLine, cac.CreditNoteLine]) {
    const lines = doc.all(name);
    for (let i = 0; i < lines.length; i += 1)
      sum = add(sum, childDecimal(doc, lines[i] ?? NONE, cbc.LineExtensionAmount) ?? ZERO);
  }
  return sum;
}

function taxCurrencies(doc: XmlDocument): ReadonlySet<string> {
  const currencies = new Set<string>();
  const totals = doc.all(cac.TaxTotal);
  for (let i = 0; i < totals.length; i += 1) {
    for (let c = doc.child(totals[i] ?? NONE, cbc.TaxAmount); c !== NONE; c = doc.nextSame(c)) {
      const currency = doc.attr(c, attr.currencyID);
      if (currency !== undefined) currencies.add(currency);
    }
  }
  return currencies;
}

/** Whether there are such allowances at all, and what they add up to, unless an amount cannot be read. */
interface IndicatedSum {
  readonly exists: boolean;
  readonly sum: Decimal | RuleError;
}

/** @throws RuleError FORG0001 when an indicator cannot be read. */
function sumOfIndicated(doc: XmlDocument, parent: ElementId, isIndicated: LastAnswer<boolean>): IndicatedSum {
  let exists = false;
  let sum: Decimal | RuleError = ZERO;
  for (let c = doc.child(parent, cac.AllowanceCharge); c !== NONE; c = doc.nextSame(c)) {
    if (!isIndicated.of(doc, c)) continue;
    exists = true;
    if (!(sum instanceof RuleError)) sum = addAmount(doc, c, sum);
  }
  return { exists, sum };
}

function addAmount(doc: XmlDocument, allowance: ElementId, sum: Decimal): Decimal | RuleError {
  try {
    return add(sum, childDecimal(doc, allowance, cbc.Amount) ?? ZERO);
  } catch (error) {
    if (error instanceof RuleError) return error;
    throw error;
  }
}
