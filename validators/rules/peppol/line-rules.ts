/** Peppol rules that calculate: allowances and charges, payment, currencies, periods, lines and prices. */
import { NONE } from "../../xml/document.js";
import type { ElementId, XmlDocument } from "../../xml/document.js";
import { attr, cac, cbc, roots } from "../../xml/names.js";
import type { NameId } from "../../xml/names.js";
import { abs, add, decimal, div, eq, HUNDRED, isZero, le, mul, ONE, roundTo, sign, sub, ZERO } from "../decimal.js";
import type { Decimal } from "../decimal.js";
import { ofParts, partDecimal, partOf, partText } from "../parts.js";
import type { Part } from "../parts.js";
import { at } from "../path.js";
import { fatal, ofNames, ofNamesFirst, rule, RuleError, ruleWhen } from "../rule.js";
import type { Rule, Test } from "../rule.js";
import type { PeppolFacts } from "./facts.js";
import type { Variant } from "./variant.js";
import { childDecimal, decimalOf, normalizeSpace, onlyChild, someChildIs } from "../values.js";
import { remembered } from "../walks.js";
import { childNormalized, textNode, toDate } from "./xpath.js";

const TOLERANCE = decimal("0.02");
const ALLOWANCES =
  "Invoice/cac:AllowanceCharge | Invoice/cac:InvoiceLine/cac:AllowanceCharge | " +
  "CreditNote/cac:AllowanceCharge | CreditNote/cac:CreditNoteLine/cac:AllowanceCharge";
const PRICE_AMOUNT = at("cac:Price/cbc:PriceAmount");
const BASE_QUANTITY = at("cac:Price/cbc:BaseQuantity");
const MANDATE = at("cac:PaymentMandate/cbc:ID");
const ROOT = 0;

/** Whether two amounts differ by no more than the tolerance. */
const isClose = (a: Decimal, b: Decimal): boolean => le(abs(sub(a, b)), TOLERANCE);

const hasPercentage = (doc: XmlDocument, e: ElementId): boolean => doc.has(e, cbc.MultiplierFactorNumeric);
const hasBase = (doc: XmlDocument, e: ElementId): boolean => doc.has(e, cbc.BaseAmount);

const isPercentageOfBase: Test = ofParts(
  (doc, e) => ({
    applies: hasPercentage(doc, e) && hasBase(doc, e),
    amount: partOf(() => doc.child(e, cbc.Amount)),
    second: partOf(() => secondChild(doc, e, cbc.Amount)),
    base: partOf(() => onlyChild(doc, e, cbc.BaseAmount)),
    percentage: partOf(() => onlyChild(doc, e, cbc.MultiplierFactorNumeric)),
  }),
  (doc, parts, distance) => {
    if (!parts.applies) return true;
    const amount = partDecimal(doc, parts.amount, distance) ?? ZERO;
    // As an argument of type xs:decimal each item is converted before it is noticed that a second is too many.
    if (partDecimal(doc, parts.second, distance) !== undefined) throw new RuleError("XPTY0004");
    const base = partDecimal(doc, parts.base, distance) ?? ZERO;
    const percentage = partDecimal(doc, parts.percentage, distance) ?? ZERO;
    return isClose(amount, div(mul(base, percentage), HUNDRED) ?? ZERO);
  },
);

const ALLOWANCE_RULES: readonly Rule<PeppolFacts>[] = [
  ruleWhen(
    ALLOWANCES,
    ofNames((doc, e) => hasPercentage(doc, e) && !hasBase(doc, e)),
    fatal(
      "PEPPOL-EN16931-R041",
      "BT-93 BT-94 BT-100 BT-101 BT-137 BT-138 BT-142 BT-143",
      "The allowance or charge has a percentage but no base amount. Add cbc:BaseAmount or drop the percentage.",
      () => false,
    ),
  ),
  ruleWhen(
    ALLOWANCES,
    ofNames((doc, e) => !hasPercentage(doc, e) && hasBase(doc, e)),
    fatal(
      "PEPPOL-EN16931-R042",
      "BT-93 BT-94 BT-100 BT-101 BT-137 BT-138 BT-142 BT-143",
      "The allowance or charge has a base amount but no percentage. Add cbc:MultiplierFactorNumeric or drop the base amount.",
      () => false,
    ),
  ),
  rule(
    ALLOWANCES,
    fatal(
      "PEPPOL-EN16931-R040",
      "BT-92 BT-93 BT-94 BT-99 BT-100 BT-101 BT-136 BT-137 BT-138 BT-141 BT-142 BT-143",
      "The amount of the allowance or charge is not its base amount times its percentage (0.02 of difference is tolerated). Recalculate it.",
      isPercentageOfBase,
    ),
    fatal(
      "PEPPOL-EN16931-R043",
      "BG-20 BG-21 BG-27 BG-28",
      "cbc:ChargeIndicator must say true for a charge or false for an allowance.",
      (doc, e) => isTrueOrFalse(chargeIndicatorText(doc, e)),
    ),
  ),
];

function secondChild(doc: XmlDocument, e: ElementId, name: NameId): ElementId {
  const first = doc.child(e, name);
  return first === NONE ? NONE : doc.nextSame(first);
}

const isTrueOrFalse = (text: string): boolean => text === "true" || text === "false";
const CHARGE_INDICATOR = at("cbc:ChargeIndicator");

/** `normalize-space(cbc:ChargeIndicator/text())`. */
function chargeIndicatorText(doc: XmlDocument, e: ElementId): string {
  const indicator = CHARGE_INDICATOR.one(doc, e);
  return indicator === NONE ? "" : normalizeSpace(textNode(doc, indicator));
}

/** Direct debit: 49 and the SEPA form 59. */
const isDirectDebit = (code: string): boolean => code === "49" || code === "59";

/** `cac:TaxTotal/cbc:TaxAmount` counts where the total has a breakdown: the other one is in the accounting currency. */
const CURRENCY_AMOUNTS =
  "cbc:Amount | cbc:BaseAmount | cbc:PriceAmount | cac:TaxTotal/cbc:TaxAmount | cbc:TaxableAmount | " +
  "cbc:LineExtensionAmount | cbc:TaxExclusiveAmount | cbc:TaxInclusiveAmount | cbc:AllowanceTotalAmount | " +
  "cbc:ChargeTotalAmount | cbc:PrepaidAmount | cbc:PayableRoundingAmount | cbc:PayableAmount";

const isNotAccountingTotal = ofNames(
  (doc, e) =>
    doc.name(e) !== cbc.TaxAmount ||
    doc.name(doc.parent(e)) === cac.TaxSubtotal ||
    doc.has(doc.parent(e), cac.TaxSubtotal),
);

const currencyRule = (variant: Variant): Rule<PeppolFacts> =>
  ruleWhen<PeppolFacts>(
    variant.subtotalCurrencyIsChecked ? `${CURRENCY_AMOUNTS} | cac:TaxSubtotal/cbc:TaxAmount` : CURRENCY_AMOUNTS,
    isNotAccountingTotal,
    fatal(
      "PEPPOL-EN16931-R051",
      "BT-5",
      "The amount is in another currency than the document. Use the document currency (BT-5); only the VAT total in accounting currency may differ.",
      (doc, e, facts) => {
        const currency = doc.attr(e, attr.currencyID);
        return currency !== undefined && facts.currencies.of(doc).has(currency);
      },
    ),
  );

const PERIOD_RULES: readonly Rule<PeppolFacts>[] = [
  ruleWhen(
    "Invoice/cac:InvoiceLine/cac:InvoicePeriod/cbc:StartDate | CreditNote/cac:CreditNoteLine/cac:InvoicePeriod/cbc:StartDate",
    (doc, e, facts) => facts.hasPeriodStart(doc, invoiceOf(doc, e)),
    fatal(
      "PEPPOL-EN16931-R110",
      "BT-73 BT-134",
      "The line period starts before the invoicing period. Correct one of the two dates.",
      (doc, e, facts) => comparesDate(doc, e, (line) => line >= facts.periodStart(doc, invoiceOf(doc, e))),
    ),
  ),
  ruleWhen(
    "Invoice/cac:InvoiceLine/cac:InvoicePeriod/cbc:EndDate | CreditNote/cac:CreditNoteLine/cac:InvoicePeriod/cbc:EndDate",
    (doc, e, facts) => facts.hasPeriodEnd(doc, invoiceOf(doc, e)),
    fatal(
      "PEPPOL-EN16931-R111",
      "BT-74 BT-135",
      "The line period ends after the invoicing period. Correct one of the two dates.",
      (doc, e, facts) => comparesDate(doc, e, (line) => line <= facts.periodEnd(doc, invoiceOf(doc, e))),
    ),
  ),
];

/** From a date of a line period up to the invoice: period, line, invoice. */
const invoiceOf = (doc: XmlDocument, e: ElementId): ElementId => doc.parent(doc.parent(doc.parent(e)));

/**
 * Compares the date of a line with that of the document; an element without text compares false.
 * @throws RuleError FORG0001 for a text that is no date, and what the date of the document is refused with
 */
function comparesDate(doc: XmlDocument, e: ElementId, holds: (line: number) => boolean): boolean {
  const text = textNode(doc, e);
  return text !== "" && holds(toDate(text));
}

const isLineAmountRight: Test = ofParts(
  (doc, line) => ({
    amount: partOf(() => onlyChild(doc, line, cbc.LineExtensionAmount)),
    quantity: partOf(() => onlyChild(doc, line, quantityName(doc))),
    price: partOf(() => PRICE_AMOUNT.one(doc, line)),
    base: partOf(() => BASE_QUANTITY.one(doc, line)),
    charges: chargesOf(doc, line),
  }),
  (doc, parts, distance) => {
    const amount = partDecimal(doc, parts.amount, distance) ?? ZERO;
    const quantity = partDecimal(doc, parts.quantity, distance) ?? ONE;
    const price = partDecimal(doc, parts.price, distance) ?? ZERO;
    const written = partDecimal(doc, parts.base, distance) ?? ONE;
    const base = isZero(written) ? ONE : written;
    const gross = mul(quantity, base === ONE ? price : (div(price, base) ?? ZERO));
    if (parts.charges.length === 0) return isClose(amount, gross);
    const charged = add(gross, sumOf(doc, parts.charges, "true", distance));
    return isClose(amount, sub(charged, sumOf(doc, parts.charges, "false", distance)));
  },
);

/** An allowance or charge of a line. */
interface Charge {
  readonly indicator: Part;
  readonly amounts: readonly ElementId[];
}

function chargesOf(doc: XmlDocument, line: ElementId): readonly Charge[] {
  const charges: Charge[] = [];
  for (let charge = doc.child(line, cac.AllowanceCharge); charge !== NONE; charge = doc.nextSame(charge)) {
    const amounts: ElementId[] = [];
    for (let amount = doc.child(charge, cbc.Amount); amount !== NONE; amount = doc.nextSame(amount))
      amounts.push(amount);
    const parent = charge;
    charges.push({ indicator: partOf(() => onlyChild(doc, parent, cbc.ChargeIndicator)), amounts });
  }
  return charges;
}

/** Sum of the line's charges ("true") or allowances ("false"), rounded to two decimals. */
function sumOf(doc: XmlDocument, charges: readonly Charge[], indicator: string, distance: number): Decimal {
  let total = ZERO;
  for (const charge of charges) {
    if (normalizeSpace(partText(doc, charge.indicator, distance)) !== indicator) continue;
    for (const amount of charge.amounts) total = add(total, decimalOf(doc, amount + distance));
  }
  return roundTo(total, 2);
}

const LINE_RULES: readonly Rule<PeppolFacts>[] = [
  rule(
    "cac:InvoiceLine | cac:CreditNoteLine",
    fatal(
      "PEPPOL-EN16931-R120",
      "BT-129 BT-131 BT-136 BT-141 BT-146 BT-149",
      "The line net amount is not quantity × (net price / base quantity) + charges − allowances (0.02 of difference is tolerated). Recalculate the line.",
      isLineAmountRight,
    ),
    fatal(
      "PEPPOL-EN16931-R121",
      "BT-149",
      "The price base quantity must be greater than zero.",
      ofParts(
        (doc, e) => partOf(() => BASE_QUANTITY.one(doc, e)),
        (doc, quantity, distance) => sign(partDecimal(doc, quantity, distance) ?? ONE) > 0,
      ),
    ),
    fatal(
      "PEPPOL-EN16931-R100",
      "BT-128",
      "The line names several invoiced objects. Keep one cac:DocumentReference.",
      ofNames((doc, e) => doc.countChildren(e, cac.DocumentReference) <= 1),
    ),
    fatal(
      "PEPPOL-EN16931-R101",
      "BT-128",
      "A cac:DocumentReference of a line identifies the invoiced object: give it the document type code 130.",
      ofNamesFirst(
        (doc, e) => (doc.has(e, cac.DocumentReference) ? undefined : true),
        (doc, e) => !doc.has(e, cac.DocumentReference) || someReferenceIsObject(doc, e),
      ),
    ),
  ),
];

function someReferenceIsObject(doc: XmlDocument, line: ElementId): boolean {
  for (
    let reference = doc.child(line, cac.DocumentReference);
    reference !== NONE;
    reference = doc.nextSame(reference)
  ) {
    if (someChildIs(doc, reference, cbc.DocumentTypeCode, "130")) return true;
  }
  return false;
}

/** Invoices count InvoicedQuantity, everything else CreditedQuantity. */
const quantityName = (doc: XmlDocument): NameId =>
  doc.name(ROOT) === roots.Invoice ? cbc.InvoicedQuantity : cbc.CreditedQuantity;

const PRICE_RULES: readonly Rule<PeppolFacts>[] = [
  rule(
    "cac:Price/cac:AllowanceCharge",
    fatal(
      "PEPPOL-EN16931-R044",
      "BT-147",
      "A price can have a discount but no charge: cbc:ChargeIndicator must be false here.",
      (doc, e) => childNormalized(doc, e, cbc.ChargeIndicator) === "false",
    ),
    fatal(
      "PEPPOL-EN16931-R046",
      "BT-146 BT-147 BT-148",
      "The net price is not the gross price minus the discount. Correct one of the three amounts.",
      ofNamesFirst((doc, e) => (hasBase(doc, e) ? undefined : true), isNetPriceRight),
    ),
  ),
  ruleWhen(
    "cac:Price/cbc:BaseQuantity",
    ofNames((doc, e) => doc.hasAttr(e, attr.unitCode)),
    fatal(
      "PEPPOL-EN16931-R130",
      "BT-130 BT-150",
      "The price base quantity is in another unit than the quantity of the line. Use the same unit code.",
      hasUnitOfLine,
    ),
  ),
];

function isNetPriceRight(doc: XmlDocument, e: ElementId): boolean {
  if (!hasBase(doc, e)) return true;
  const net = childDecimal(doc, doc.parent(e), cbc.PriceAmount);
  const gross = net === undefined ? undefined : childDecimal(doc, e, cbc.BaseAmount);
  const discount = gross === undefined ? undefined : childDecimal(doc, e, cbc.Amount);
  return net !== undefined && gross !== undefined && discount !== undefined && eq(net, sub(gross, discount));
}

function hasUnitOfLine(doc: XmlDocument, e: ElementId): boolean {
  const line = doc.parent(doc.parent(e));
  if (line === NONE || (!doc.has(line, cbc.InvoicedQuantity) && !doc.has(line, cbc.CreditedQuantity))) return true;
  const unit = doc.attr(e, attr.unitCode);
  const quantity = doc.child(line, quantityName(doc));
  return (quantity !== NONE && doc.attr(quantity, attr.unitCode) === unit) || unitsOfLine(doc, line).has(unit);
}

const unitsOfLine = remembered((doc, line): ReadonlySet<string | undefined> => {
  const units = new Set<string | undefined>();
  for (let quantity = doc.child(line, quantityName(doc)); quantity !== NONE; quantity = doc.nextSame(quantity))
    units.add(doc.attr(quantity, attr.unitCode));
  return units;
});

/** The middle of the transaction pattern, in its official order. */
export const lineRules = (variant: Variant): readonly Rule<PeppolFacts>[] => [
  ...ALLOWANCE_RULES,
  ruleWhen(
    "cac:PaymentMeans",
    (doc, e) => isDirectDebit(childNormalized(doc, e, cbc.PaymentMeansCode)),
    fatal(
      "PEPPOL-EN16931-R061",
      "BT-81 BT-89",
      "Payment by direct debit needs a mandate reference. Add cac:PaymentMandate/cbc:ID.",
      (doc, e) => MANDATE.exists(doc, e),
    ),
  ),
  currencyRule(variant),
  ...PERIOD_RULES,
  ...LINE_RULES,
  ...PRICE_RULES,
];
