/** Totals of the document: LegalMonetaryTotal, TaxTotal and TaxSubtotal. */
import { NONE } from "../../xml/document.js";
import type { ElementId, XmlDocument } from "../../xml/document.js";
import { attr, cac, cbc } from "../../xml/names.js";
import type { NameId } from "../../xml/names.js";
import { add, eq, isZero, round, roundTo, sub, ZERO } from "../decimal.js";
import type { Decimal } from "../decimal.js";
import { fatal, rule, RuleError } from "../rule.js";
import type { Rule } from "../rule.js";
import { childDecimal, childText, decimalOf, fractionLengthOf, normalizeSpace } from "../values.js";
import type { En16931Facts } from "./facts.js";
import { decimalsOf, present } from "./tests.js";
import type { En16931Assert, En16931Test } from "./tests.js";
import { isTaxOf } from "./vat.js";
import { isVat, vatCategory } from "./vat-categories.js";

/** cac:LegalMonetaryTotal */
export const MONETARY_TOTAL: Rule<En16931Facts> = rule(
  "cac:LegalMonetaryTotal",
  fatal(
    "BR-12",
    "BT-106",
    "The sum of line net amounts is missing; add cbc:LineExtensionAmount.",
    present("cbc:LineExtensionAmount"),
  ),
  fatal(
    "BR-13",
    "BT-109",
    "The total without VAT is missing; add cbc:TaxExclusiveAmount.",
    present("cbc:TaxExclusiveAmount"),
  ),
  fatal(
    "BR-14",
    "BT-112",
    "The total with VAT is missing; add cbc:TaxInclusiveAmount.",
    present("cbc:TaxInclusiveAmount"),
  ),
  fatal("BR-15", "BT-115", "The amount due is missing; add cbc:PayableAmount.", present("cbc:PayableAmount")),
  fatal(
    "BR-CO-10",
    "BT-106 BT-131",
    "cbc:LineExtensionAmount must equal the sum of the net amounts of all lines; recalculate it.",
    isSumOfLines,
  ),
  fatal(
    "BR-CO-11",
    "BT-92 BT-107",
    "cbc:AllowanceTotalAmount must equal the sum of the document level allowances; recalculate it, or leave it out when there are none.",
    isSumOfAllowances(cbc.AllowanceTotalAmount, false),
  ),
  fatal(
    "BR-CO-12",
    "BT-99 BT-108",
    "cbc:ChargeTotalAmount must equal the sum of the document level charges; recalculate it, or leave it out when there are none.",
    isSumOfAllowances(cbc.ChargeTotalAmount, true),
  ),
  fatal(
    "BR-CO-13",
    "BT-106 BT-107 BT-108 BT-109",
    "cbc:TaxExclusiveAmount must equal the line total minus allowances plus charges; recalculate it.",
    isTotalWithoutVat,
  ),
  fatal(
    "BR-CO-16",
    "BT-112 BT-113 BT-114 BT-115",
    "cbc:PayableAmount must equal the total with VAT minus the paid amount plus the rounding amount; recalculate it.",
    isAmountDue,
  ),
  decimalsOf("BR-DEC-09", "BT-106", "cbc:LineExtensionAmount"),
  decimalsOf("BR-DEC-10", "BT-107", "cbc:AllowanceTotalAmount"),
  decimalsOf("BR-DEC-11", "BT-108", "cbc:ChargeTotalAmount"),
  decimalsOf("BR-DEC-12", "BT-109", "cbc:TaxExclusiveAmount"),
  decimalsOf("BR-DEC-14", "BT-112", "cbc:TaxInclusiveAmount"),
  decimalsOf("BR-DEC-16", "BT-113", "cbc:PrepaidAmount"),
  decimalsOf("BR-DEC-17", "BT-114", "cbc:PayableRoundingAmount"),
  decimalsOf("BR-DEC-18", "BT-115", "cbc:PayableAmount"),
);

/** cac:TaxTotal of the document. */
export const TAX_TOTAL: Rule<En16931Facts> = rule(
  "/Invoice/cac:TaxTotal | /CreditNote/cac:TaxTotal",
  fatal(
    "BR-CO-14",
    "BT-110 BT-117",
    "The VAT total must equal the sum of the tax amounts of its cac:TaxSubtotal; recalculate cbc:TaxAmount.",
    (doc, e) => {
      const tax = childDecimal(doc, e, cbc.TaxAmount);
      return (
        !doc.has(e, cac.TaxSubtotal) ||
        (tax !== undefined && eq(tax, roundTo(sumOfChildren(doc, e, cac.TaxSubtotal, cbc.TaxAmount), 2)))
      );
    },
  ),
);

/** cac:TaxTotal/cac:TaxSubtotal */
export const TAX_SUBTOTAL: Rule<En16931Facts> = rule(
  "cac:TaxTotal/cac:TaxSubtotal",
  fatal(
    "BR-45",
    "BT-116",
    "The taxable amount of the VAT breakdown is missing; add cbc:TaxableAmount.",
    present("cbc:TaxableAmount"),
  ),
  fatal(
    "BR-46",
    "BT-117",
    "The tax amount of the VAT breakdown is missing; add cbc:TaxAmount.",
    present("cbc:TaxAmount"),
  ),
  fatal(
    "BR-47",
    "BT-118",
    "The VAT breakdown has no VAT category code; add cac:TaxCategory/cbc:ID with cac:TaxScheme VAT.",
    (doc, e) => someVatCategory(doc, e, (category) => doc.has(category, cbc.ID)),
  ),
  fatal(
    "BR-48",
    "BT-119",
    "The VAT breakdown has no VAT rate; add cac:TaxCategory/cbc:Percent (only category O has none).",
    (doc, e) =>
      someVatCategory(doc, e, (category) => doc.has(category, cbc.Percent)) ||
      someVatCategory(doc, e, (category) => normalizeSpace(childText(doc, category, cbc.ID)) === "O"),
  ),
  fatal(
    "BR-CO-17",
    "BT-116 BT-117 BT-119",
    "The tax amount must equal the taxable amount times the VAT rate, rounded to two decimals; recalculate cbc:TaxAmount.",
    isTaxOfSubtotal,
  ),
  decimalsOf("BR-DEC-19", "BT-116", "cbc:TaxableAmount"),
  decimalsOf("BR-DEC-20", "BT-117", "cbc:TaxAmount"),
);

/** Asserts of the document element about totals. */
export const DOCUMENT_TOTALS: readonly En16931Assert[] = [
  fatal(
    "BR-CO-15",
    "BT-109 BT-110 BT-112",
    "The total with VAT must equal the total without VAT plus the VAT total in the invoice currency, of which there must be exactly one; recalculate it.",
    isTotalWithVat,
  ),
  fatal(
    "BR-CO-18",
    "BG-23",
    "The VAT breakdown is missing; add at least one cac:TaxTotal/cac:TaxSubtotal.",
    present("cac:TaxTotal/cac:TaxSubtotal"),
  ),
  // The official paths look for the currency codes inside the amounts, where none can be.
  fatal(
    "BR-DEC-13",
    "BT-110",
    "The VAT total may have at most two decimals; round it.",
    taxAmountDecimals(cbc.DocumentCurrencyCode),
  ),
  fatal(
    "BR-DEC-15",
    "BT-111",
    "The VAT total in accounting currency may have at most two decimals; round it.",
    taxAmountDecimals(cbc.TaxCurrencyCode),
  ),
];

function isSumOfLines(doc: XmlDocument, e: ElementId, facts: En16931Facts): boolean {
  const amount = childDecimal(doc, e, cbc.LineExtensionAmount);
  return amount !== undefined && eq(amount, roundTo(facts.sumOfLines.of(doc, 0), 2));
}

/** Sum of one child's amounts over the children of a name. */
function sumOfChildren(doc: XmlDocument, e: ElementId, name: NameId, amount: NameId): Decimal {
  let sum = ZERO;
  for (let c = doc.child(e, name); c !== NONE; c = doc.nextSame(c))
    sum = add(sum, childDecimal(doc, c, amount) ?? ZERO);
  return sum;
}

function isSumOfAllowances(total: NameId, charge: boolean): En16931Test {
  return (doc, e, facts) => {
    const amount = childDecimal(doc, e, total);
    const parent = doc.parent(e);
    if (parent === NONE) return amount === undefined || isZero(amount);
    const { exists, sum } = (charge ? facts.sumOfCharges : facts.sumOfAllowances).of(doc, parent);
    if (amount === undefined) return !exists;
    if (sum instanceof RuleError) throw sum;
    return eq(amount, roundTo(sum, 2));
  };
}

function isTotalWithoutVat(doc: XmlDocument, e: ElementId): boolean {
  const total = childDecimal(doc, e, cbc.TaxExclusiveAmount);
  const lines = childDecimal(doc, e, cbc.LineExtensionAmount);
  if (total === undefined || lines === undefined) return false;
  const charges = childDecimal(doc, e, cbc.ChargeTotalAmount);
  const allowances = childDecimal(doc, e, cbc.AllowanceTotalAmount);
  // Without allowances and charges the official comparison does not round.
  if (charges === undefined && allowances === undefined) return eq(total, lines);
  return eq(total, roundTo(sub(add(lines, charges ?? ZERO), allowances ?? ZERO), 2));
}

/** Both sides left to right, the right one only when the left one has a value: what is never read raises no error. */
function isAmountDue(doc: XmlDocument, e: ElementId): boolean {
  const due = lessRounded(doc, e, cbc.PayableAmount, cbc.PayableRoundingAmount);
  if (due === undefined) return false;
  const owed = lessRounded(doc, e, cbc.TaxInclusiveAmount, cbc.PrepaidAmount);
  return owed !== undefined && eq(due, owed);
}

/** An amount, less another one and rounded where that is given; undefined when the amount is missing. */
function lessRounded(doc: XmlDocument, e: ElementId, amount: NameId, less: NameId): Decimal | undefined {
  const value = childDecimal(doc, e, amount);
  if (value === undefined) return undefined;
  const subtrahend = childDecimal(doc, e, less);
  return subtrahend === undefined ? value : roundTo(sub(value, subtrahend), 2);
}

/** BR-CO-15: for the invoice currency, one TaxTotal amount, and with it the total with VAT. */
function isTotalWithVat(doc: XmlDocument, root: ElementId): boolean {
  for (let code = doc.child(root, cbc.DocumentCurrencyCode); code !== NONE; code = doc.nextSame(code)) {
    if (!isTotalInCurrency(doc, root, doc.text(code))) return false;
  }
  return true;
}

function isTotalInCurrency(doc: XmlDocument, root: ElementId, currency: string): boolean {
  let tax: Decimal | undefined;
  let taxes = 0;
  for (let total = doc.child(root, cac.TaxTotal); total !== NONE; total = doc.nextSame(total)) {
    const amount = amountIn(doc, total, currency);
    if (amount === NONE) continue;
    tax = decimalOf(doc, amount);
    taxes += 1;
  }
  if (taxes !== 1 || tax === undefined) return false;
  let exclusive: Decimal | undefined;
  for (let total = doc.child(root, cac.LegalMonetaryTotal); total !== NONE; total = doc.nextSame(total)) {
    const amount = childDecimal(doc, total, cbc.TaxExclusiveAmount);
    if (amount !== undefined && exclusive !== undefined) throw new RuleError("XPTY0004");
    exclusive ??= amount;
  }
  if (exclusive === undefined) return false;
  const expected = roundTo(add(exclusive, tax), 2);
  for (let total = doc.child(root, cac.LegalMonetaryTotal); total !== NONE; total = doc.nextSame(total)) {
    const inclusive = childDecimal(doc, total, cbc.TaxInclusiveAmount);
    if (inclusive !== undefined && eq(inclusive, expected)) return true;
  }
  return false;
}

/** The TaxAmount of a TaxTotal in that currency, or NONE. @throws RuleError XPTY0004 when there are several. */
function amountIn(doc: XmlDocument, total: ElementId, currency: string): ElementId {
  let found = NONE;
  for (let c = doc.child(total, cbc.TaxAmount); c !== NONE; c = doc.nextSame(c)) {
    if (doc.attr(c, attr.currencyID) !== currency) continue;
    if (found !== NONE) throw new RuleError("XPTY0004");
    found = c;
  }
  return found;
}

/** BR-DEC-13 and 15: of amounts that contain an element with their own currency. */
function taxAmountDecimals(currencyCode: NameId): En16931Test {
  return (doc) => {
    const totals = doc.all(cac.TaxTotal);
    let found = NONE;
    for (let i = 0; i < totals.length; i += 1) {
      for (let c = doc.child(totals[i] ?? NONE, cbc.TaxAmount); c !== NONE; c = doc.nextSame(c)) {
        if (!doc.hasElements(c) || !hasOwnCurrency(doc, c, currencyCode)) continue;
        if (found !== NONE) throw new RuleError("XPTY0004");
        found = c;
      }
    }
    return found === NONE || fractionLengthOf(doc, found) <= 2;
  };
}

function hasOwnCurrency(doc: XmlDocument, amount: ElementId, currencyCode: NameId): boolean {
  const currency = doc.attr(amount, attr.currencyID);
  for (let c = doc.child(amount, currencyCode); c !== NONE; c = doc.nextSame(c))
    if (doc.text(c) === currency) return true;
  return false;
}

function someVatCategory(doc: XmlDocument, subtotal: ElementId, test: (category: ElementId) => boolean): boolean {
  for (let c = vatCategory(doc, subtotal); c !== NONE; c = vatCategory(doc, subtotal, c)) if (test(c)) return true;
  return false;
}

/** BR-CO-17: no tax where the rate rounds to 0 or is missing, otherwise the taxable amount times the rate. */
function isTaxOfSubtotal(doc: XmlDocument, e: ElementId): boolean {
  let percent: Decimal | undefined;
  for (let c = doc.child(e, cac.TaxCategory); c !== NONE; c = doc.nextSame(c)) {
    if (!isVat(doc, c)) continue;
    const value = childDecimal(doc, c, cbc.Percent);
    if (value !== undefined && percent !== undefined) throw new RuleError("XPTY0004");
    percent ??= value;
  }
  const tax = childDecimal(doc, e, cbc.TaxAmount);
  if (tax === undefined) return false;
  if (percent === undefined || isZero(round(percent))) return isZero(round(tax));
  const taxable = childDecimal(doc, e, cbc.TaxableAmount);
  return taxable !== undefined && isTaxOf(tax, taxable, percent);
}
