/** The nine families of VAT rules, BR-AE-01 … BR-Z-10, written once and cut to the facts of each category. */
import { NONE } from "../../xml/document.js";
import type { ElementId, XmlDocument } from "../../xml/document.js";
import { cbc } from "../../xml/names.js";
import {
  abs,
  add,
  cmp,
  decimal,
  div,
  eq,
  fromDouble,
  HUNDRED,
  isZero,
  lt,
  mul,
  ONE,
  roundTo,
  sub,
  toDouble,
} from "../decimal.js";
import type { Decimal } from "../decimal.js";
import { fatal, ruleWhen, RuleError } from "../rule.js";
import type { Assert, Rule, Test } from "../rule.js";
import { childDecimal, numberOf, onlyChild, signOf } from "../values.js";
import { EVERY_CODE } from "./memory/codes-in-use.js";
import type { Codes } from "./memory/codes-in-use.js";
import type { En16931Facts } from "./facts.js";
import {
  buyerHasLegalId,
  buyerHasVatId,
  representativeHasVatId,
  sellerHasTaxId,
  sellerHasVatId,
} from "./identifiers.js";
import { rateKey } from "./memory/sums.js";
import { CATEGORY, VAT_FAMILIES } from "./vat-categories.js";
import type { VatFamily } from "./vat-categories.js";

type VatTest = Test<En16931Facts>;
type VatRule = Rule<En16931Facts>;

const LINE_CATEGORY =
  "cac:InvoiceLine/cac:Item/cac:ClassifiedTaxCategory | cac:CreditNoteLine/cac:Item/cac:ClassifiedTaxCategory";
const BREAKDOWN_CATEGORY = "/*/cac:TaxTotal/cac:TaxSubtotal/cac:TaxCategory";
const ALLOWANCE_CATEGORY = "cac:AllowanceCharge/cac:TaxCategory";

/** Rules 01 to 04 of one family: asserts of the document element. */
export function documentAsserts(code: VatFamily["code"]): readonly Assert<En16931Facts>[] {
  const family = VAT_FAMILIES.find((row) => row.code === code);
  if (family === undefined) throw new Error(`no VAT family of code ${code}`);
  const bit = CATEGORY[code];
  const identified = identifiersTest(family);
  const needs = identifiersSentence(family);
  const place = (
    rule: string,
    terms: string,
    what: string,
    codes: (facts: En16931Facts) => Codes,
  ): Assert<En16931Facts> =>
    fatal(
      `BR-${family.family}-${rule}`,
      terms,
      `The invoice has ${what} of VAT category ${code} (${family.title}): ${needs}.`,
      categoryNeeds(`${family.family}-${rule}`, bit, codes, identified),
    );
  return [
    fatal(
      `BR-${family.family}-01`,
      "BT-95 BT-102 BT-118 BT-151",
      inBreakdownSentence(family),
      breakdownTest(family, bit),
    ),
    place("02", `BT-151 ${identifierTerms(family)}`, "a line", (facts) => facts.lines),
    place("03", `BT-95 ${identifierTerms(family)}`, "a document level allowance", (facts) =>
      allowanceCodes(family, facts, false),
    ),
    place("04", `BT-102 ${identifierTerms(family)}`, "a document level charge", (facts) =>
      allowanceCodes(family, facts, true),
    ),
  ];
}

/** Rules 05 to 10 of all families: rules of the tax categories, in the order of the official file. */
export const categoryRules = (): readonly VatRule[] =>
  VAT_FAMILIES.flatMap((family) => {
    const bit = CATEGORY[family.code];
    const isFamily: VatTest = (doc, e, facts) => facts.isCategory(doc, e, bit);
    const rate = (rule: string, terms: string, what: string): Assert<En16931Facts> =>
      fatal(
        `BR-${family.family}-${rule}`,
        terms,
        `The VAT rate of ${what} of category ${family.code} (${family.title}) ${RATES[family.rate].asks}.`,
        RATES[family.rate].holds,
      );
    return [
      ruleWhen(BREAKDOWN_CATEGORY, isFamily, ...breakdownAsserts(family, bit)),
      ruleWhen(
        ALLOWANCE_CATEGORY,
        (doc, e, facts) => facts.isAllowance.of(doc, doc.parent(e)) && isFamily(doc, e, facts),
        rate("06", "BT-95 BT-96", "an allowance"),
      ),
      ruleWhen(
        ALLOWANCE_CATEGORY,
        (doc, e, facts) => facts.isCharge.of(doc, doc.parent(e)) && isFamily(doc, e, facts),
        rate("07", "BT-102 BT-103", "a charge"),
      ),
      ruleWhen(LINE_CATEGORY, isFamily, rate("05", "BT-151 BT-152", "an item")),
    ];
  });

/** What rules 05 to 07 ask of cbc:Percent. A missing rate satisfies "absent" only. */
const RATES: Readonly<Record<VatFamily["rate"], { readonly asks: string; readonly holds: VatTest }>> = {
  zero: {
    asks: "must be given and be 0; set cbc:Percent to 0",
    holds: (doc, e) => {
      const percent = childDecimal(doc, e, cbc.Percent);
      return percent !== undefined && isZero(percent);
    },
  },
  positive: {
    asks: "must be greater than 0; correct cbc:Percent or the category",
    holds: (doc, e) => somePercent(doc, e, (sign) => sign > 0),
  },
  "not negative": {
    asks: "must be 0 or more; correct cbc:Percent",
    holds: (doc, e) => somePercent(doc, e, (sign) => sign >= 0),
  },
  absent: { asks: "must not be given; remove cbc:Percent", holds: (doc, e) => !doc.has(e, cbc.Percent) },
};

function somePercent(doc: XmlDocument, e: ElementId, test: (sign: number) => boolean): boolean {
  for (let c = doc.child(e, cbc.Percent); c !== NONE; c = doc.nextSame(c)) if (test(signOf(doc, c))) return true;
  return false;
}

/** Rule 01. Three wordings exist: exactly one breakdown, at least one, and what each looks at. */
function breakdownTest(family: VatFamily, bit: number): VatTest {
  const used = (codes: number): boolean => (codes & bit) !== 0;
  switch (family.code) {
    case "S":
      return (_, __, facts) =>
        (used(facts.allowancesAndCharges.checked(0).any) || used(facts.lines.checked(0).any)) ===
        used(facts.breakdown.checked(0).any);
    case "L":
    case "M":
      return (_, __, facts) => {
        const isUsed = used(facts.allowancesAndCharges.checked(bit).vat) || used(facts.lines.checked(bit).vat);
        if (!isUsed) return !used(facts.breakdown.checked(bit).vat);
        return used(family.code === "L" ? facts.breakdown.raw : facts.breakdown.rawVat);
      };
    default:
      return (_, __, facts) => {
        const isUsed = used(facts.everywhereVat) || used(facts.lines.checked(EVERY_CODE).vat);
        return !isUsed || facts.breakdownCount(bit) === 1;
      };
  }
}

function inBreakdownSentence({ code, title }: VatFamily): string {
  return ["S", "L", "M"].includes(code)
    ? `The VAT breakdown must have a cac:TaxSubtotal of category ${code} (${title}) if and only if a line, allowance or charge has this category.`
    : `Lines, allowances or charges of VAT category ${code} (${title}) need exactly one cac:TaxSubtotal of this category in the VAT breakdown.`;
}

/**
 * Rules 02 to 04 read: the category occurs and the identifiers satisfy the family, or the category does not occur.
 * Three of them look at the scheme VAT, or trim the code, on one side only; a category outside VAT then makes a
 * difference.
 */
const OCCURS: ReadonlyMap<string, readonly [occurs: keyof CodeBits, occursNot: keyof CodeBits]> = new Map([
  ["S-02", ["vat", "any"]],
  ["G-03", ["any", "vat"]],
  ["G-04", ["any", "vat"]],
  ["AF-04", ["vat", "rawVat"]],
]);
type CodeBits = Pick<Codes, "any" | "vat" | "rawVat">;

function categoryNeeds(
  rule: string,
  bit: number,
  codes: (facts: En16931Facts) => Codes,
  identified: (doc: XmlDocument) => boolean,
): VatTest {
  const [occurs, occursNot] = OCCURS.get(rule) ?? ["vat", "vat"];
  return (doc, _, facts) => {
    const place = codes(facts).checked(bit);
    return ((place[occurs] & bit) !== 0 && identified(doc)) || (place[occursNot] & bit) === 0;
  };
}

/** BR-O looks at the allowances of the document element, the other families at all allowances. */
const allowanceCodes = (family: VatFamily, facts: En16931Facts, charge: boolean): Codes =>
  family.code === "O" ? facts.documentAllowances(charge) : facts.allowances(charge);

function identifiersTest({ seller, buyer }: VatFamily): (doc: XmlDocument) => boolean {
  if (seller === "none") return (doc) => !sellerHasVatId(doc) && !representativeHasVatId(doc) && !buyerHasVatId(doc);
  const sellerHas = seller === "any" ? sellerHasTaxId : sellerHasVatId;
  const hasSeller = (doc: XmlDocument): boolean => sellerHas(doc) || representativeHasVatId(doc);
  switch (buyer) {
    case "free":
      return hasSeller;
    case "vat":
      return (doc) => hasSeller(doc) && buyerHasVatId(doc);
    case "vat or legal":
      return (doc) => hasSeller(doc) && (buyerHasVatId(doc) || buyerHasLegalId(doc));
  }
}

function identifiersSentence({ seller, buyer }: VatFamily): string {
  if (seller === "none") return "remove the VAT identifiers of seller, tax representative and buyer";
  const ofSeller =
    seller === "any"
      ? "give the seller's VAT or tax registration identifier, or the VAT identifier of the tax representative"
      : "give the VAT identifier of the seller or of the tax representative";
  const ofBuyer = {
    free: "",
    vat: ", and the VAT identifier of the buyer",
    "vat or legal": ", and the VAT or legal registration identifier of the buyer",
  };
  return ofSeller + ofBuyer[buyer];
}

function identifierTerms({ seller, buyer }: VatFamily): string {
  const ofBuyer = { free: "", vat: " BT-48", "vat or legal": " BT-47 BT-48" };
  return seller === "any"
    ? `BT-31 BT-32 BT-63${ofBuyer[buyer]}`
    : seller === "vat"
      ? `BT-31 BT-63${ofBuyer[buyer]}`
      : "BT-31 BT-48 BT-63";
}

/** Rules 08, 09 and 10: asserts of a category of the breakdown. */
function breakdownAsserts(family: VatFamily, bit: number): readonly Assert<En16931Facts>[] {
  const { family: id, code, title } = family;
  const rated = code === "S" || code === "L" || code === "M";
  const name = `VAT category ${code} (${title})`;
  return [
    fatal(
      `BR-${id}-08`,
      rated ? "BT-92 BT-99 BT-116 BT-119 BT-131" : "BT-92 BT-99 BT-116 BT-131",
      `The taxable amount of ${name} must equal the lines plus charges minus allowances of this category${rated ? " and rate" : ""}; recalculate cbc:TaxableAmount.`,
      rated ? taxableAtRate(code, bit) : taxableOf(bit),
    ),
    fatal(
      `BR-${id}-09`,
      rated ? "BT-116 BT-117 BT-119" : "BT-117",
      rated
        ? `The tax amount of ${name} must equal its taxable amount times its rate; recalculate cbc:TaxAmount.`
        : `The tax amount of ${name} must be 0; set cbc:TaxAmount to 0.`,
      rated ? taxIsRateOfTaxable : taxIsZero,
    ),
    fatal(
      `BR-${id}-10`,
      "BT-120 BT-121",
      family.reason === "required"
        ? `The breakdown of ${name} needs an exemption reason; add cbc:TaxExemptionReasonCode or cbc:TaxExemptionReason.`
        : `The breakdown of ${name} has no exemption reason; remove cbc:TaxExemptionReasonCode and cbc:TaxExemptionReason.`,
      (doc, e) =>
        (doc.has(e, cbc.TaxExemptionReason) || doc.has(e, cbc.TaxExemptionReasonCode)) ===
        (family.reason === "required"),
    ),
  ];
}

const KINDS = [
  ["invoice", "InvoiceLine"],
  ["creditNote", "CreditNoteLine"],
] as const;

/** Rule 08 of categories without rates: exactly the sum. */
function taxableOf(bit: number): VatTest {
  return (doc, e, facts) =>
    KINDS.some(([kind, line]) => {
      if (!facts.hasLines(line)) return false;
      const taxable = childDecimal(doc, doc.parent(e), cbc.TaxableAmount);
      return taxable !== undefined && eq(taxable, total(facts.sums.ofCategory(kind, bit)));
    });
}

/** Rule 08 of S, L and M: within 1 of the sum of the same rate. A missing rate is nothing to compare, so it holds. */
function taxableAtRate(code: string, bit: number): VatTest {
  return (doc, e, facts) => {
    const percent = childDecimal(doc, e, cbc.Percent);
    if (percent === undefined) return true;
    const rate = rateKey(percent);
    return KINDS.some(([kind, line]) => {
      if (!(code === "S" ? facts.sums.occurs(kind, bit, rate) : facts.hasLines(line))) return false;
      const taxable = onlyChild(doc, doc.parent(e), cbc.TaxableAmount);
      return taxable !== NONE && isWithinOne(numberOf(doc, taxable), total(facts.sums.ofRate(kind, bit, rate)));
    });
  };
}

const total = ([lines, charges, allowances]: readonly [Decimal, Decimal, Decimal]): Decimal =>
  sub(add(lines, charges), allowances);

/** Below this, a double is off by less than a thousandth, also after 1 was added. */
const DOUBLES_CLOSE_MAX = 1e12;
const BORDER = 0.001;

/**
 * taxable - 1 < sum and taxable + 1 > sum. The official expression subtracts from untyped text, which makes it
 * xs:double arithmetic: near the border, and for numbers with more digits than a double holds, the last bit decides as
 * it does there.
 */
function isWithinOne(value: Decimal, sum: Decimal): boolean {
  const double = toDouble(value);
  const distance = Math.abs(double - toDouble(sum));
  if (Math.abs(double) < DOUBLES_CLOSE_MAX && Math.abs(distance - 1) > BORDER) return distance < 1;
  return cmp(exact(double - 1), sum) < 0 && cmp(exact(double + 1), sum) > 0;
}

function exact(value: number): Decimal {
  const result = fromDouble(value);
  if (result === undefined) throw new RuleError("FOCA0002");
  return result;
}

const taxIsZero: VatTest = (doc, e) => {
  const tax = childDecimal(doc, doc.parent(e), cbc.TaxAmount);
  return tax !== undefined && isZero(tax);
};

/** Rule 09 of S, L and M: within 1 of taxable × rate, signs ignored. What follows a missing value is not read. */
const taxIsRateOfTaxable: VatTest = (doc, e) => {
  const subtotal = doc.parent(e);
  const tax = childDecimal(doc, subtotal, cbc.TaxAmount);
  const taxable = tax === undefined ? undefined : childDecimal(doc, subtotal, cbc.TaxableAmount);
  const percent = taxable === undefined ? undefined : childDecimal(doc, e, cbc.Percent);
  return tax !== undefined && taxable !== undefined && percent !== undefined && isTaxOf(tax, taxable, percent);
};

const ONE_HUNDREDTH = decimal("0.01");

/** |tax| is less than 1 away from round(|taxable| × percent ÷ 100, 2). */
export function isTaxOf(tax: Decimal, taxable: Decimal, percent: Decimal): boolean {
  const rate = div(percent, HUNDRED) ?? mul(percent, ONE_HUNDREDTH);
  return lt(abs(sub(abs(tax), roundTo(mul(abs(taxable), rate), 2))), ONE);
}
