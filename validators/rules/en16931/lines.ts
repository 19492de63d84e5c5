/** Rules of lines, of allowances and charges, of periods and of notes. */
import { NONE } from "../../xml/document.js";
import type { ElementId, XmlDocument } from "../../xml/document.js";
import { attr, cac, cbc } from "../../xml/names.js";
import { windows } from "../codes/code-list.js";
import { NOTE_SUBJECTS } from "../codes/documents.js";
import { at } from "../path.js";
import { fatal, ofNames, ofNamesFirst, rule, ruleWhen } from "../rule.js";
import type { Rule } from "../rule.js";
import { codePoints, dateOf, isAllowance, isCharge, onlyChild, signOf } from "../values.js";
import type { En16931Facts } from "./facts.js";
import { alwaysHolds, decimalsOf, filled, hasAttribute, present } from "./tests.js";
import type { En16931Assert, En16931Test } from "./tests.js";
import { isOnlyVat, isVat } from "./vat-categories.js";

type LineRule = Rule<En16931Facts>;

/** Business terms of one kind of allowance or charge, and the ids of its rules. */
interface AllowanceTable {
  readonly what: string;
  readonly context: string;
  readonly when: En16931Test;
  readonly amount: readonly [id: string, term: string];
  readonly reason: readonly [id: string, sameId: string, eitherId: string, terms: string];
  readonly decimals: readonly [amountId: string, baseId: string, baseTerm: string];
  /** Only at document level: the VAT category. */
  readonly category?: readonly [id: string, term: string];
}

const AT_TOP = "/Invoice/cac:AllowanceCharge | /CreditNote/cac:AllowanceCharge";
const IN_LINE = "cac:InvoiceLine/cac:AllowanceCharge | cac:CreditNoteLine/cac:AllowanceCharge";

const allowanceRule = (table: AllowanceTable): LineRule => {
  const { what, context, when, amount, reason, decimals, category } = table;
  const hasReason = present("cbc:AllowanceChargeReason", "cbc:AllowanceChargeReasonCode");
  const [reasonId, sameId, eitherId, reasonTerms] = reason;
  const needsReason = `The ${what} has no reason; add cbc:AllowanceChargeReason or cbc:AllowanceChargeReasonCode.`;
  return ruleWhen(
    context,
    when,
    fatal(amount[0], amount[1], `The ${what} has no amount; add cbc:Amount.`, present("cbc:Amount")),
    ...(category === undefined
      ? []
      : [
          fatal(
            category[0],
            category[1],
            `The ${what} has no VAT category; add cac:TaxCategory/cbc:ID with cac:TaxScheme VAT.`,
            hasVatCategory,
          ),
        ]),
    fatal(reasonId, reasonTerms, needsReason, hasReason),
    alwaysHolds(sameId, reasonTerms, `Reason and reason code of the ${what} must mean the same; correct one of them.`),
    fatal(eitherId, reasonTerms, needsReason, hasReason),
    decimalsOf(decimals[0], amount[1], "cbc:Amount"),
    decimalsOf(decimals[1], decimals[2], "cbc:BaseAmount"),
  );
};

export const DOCUMENT_ALLOWANCE: LineRule = allowanceRule({
  what: "document level allowance",
  context: AT_TOP,
  when: isAllowance,
  amount: ["BR-31", "BT-92"],
  category: ["BR-32", "BT-95"],
  reason: ["BR-33", "BR-CO-05", "BR-CO-21", "BT-97 BT-98"],
  decimals: ["BR-DEC-01", "BR-DEC-02", "BT-93"],
});
export const DOCUMENT_CHARGE: LineRule = allowanceRule({
  what: "document level charge",
  context: AT_TOP,
  when: isCharge,
  amount: ["BR-36", "BT-99"],
  category: ["BR-37", "BT-102"],
  reason: ["BR-38", "BR-CO-06", "BR-CO-22", "BT-104 BT-105"],
  decimals: ["BR-DEC-05", "BR-DEC-06", "BT-100"],
});
export const LINE_ALLOWANCE: LineRule = allowanceRule({
  what: "line allowance",
  context: IN_LINE,
  when: isAllowance,
  amount: ["BR-41", "BT-136"],
  reason: ["BR-42", "BR-CO-07", "BR-CO-23", "BT-139 BT-140"],
  decimals: ["BR-DEC-24", "BR-DEC-25", "BT-137"],
});
export const LINE_CHARGE: LineRule = allowanceRule({
  what: "line charge",
  context: IN_LINE,
  when: isCharge,
  amount: ["BR-43", "BT-141"],
  reason: ["BR-44", "BR-CO-08", "BR-CO-24", "BT-144 BT-145"],
  decimals: ["BR-DEC-27", "BR-DEC-28", "BT-142"],
});

function hasVatCategory(doc: XmlDocument, e: ElementId): boolean {
  for (let c = doc.child(e, cac.TaxCategory); c !== NONE; c = doc.nextSame(c))
    if (isVat(doc, c) && doc.has(c, cbc.ID)) return true;
  return false;
}

const price = at("cac:Price/cbc:PriceAmount");
const grossPrice = at("cac:Price/cac:AllowanceCharge/cbc:BaseAmount");
const itemCategory = at("cac:Item/cac:ClassifiedTaxCategory");
const isOnlyVatWithCode = (doc: XmlDocument, category: ElementId): boolean =>
  isOnlyVat(doc, category) && doc.has(category, cbc.ID);
const isNotNegative = (doc: XmlDocument, e: ElementId): boolean => signOf(doc, e) >= 0;

export const LINE: LineRule = rule(
  "cac:InvoiceLine | cac:CreditNoteLine",
  fatal("BR-21", "BT-126", "The line has no identifier; add cbc:ID.", filled("cbc:ID")),
  fatal(
    "BR-22",
    "BT-129",
    "The line has no quantity; add cbc:InvoicedQuantity or cbc:CreditedQuantity.",
    present("cbc:InvoicedQuantity", "cbc:CreditedQuantity"),
  ),
  fatal("BR-23", "BT-130", "The quantity of the line has no unit; add the attribute unitCode.", hasUnit()),
  fatal(
    "BR-24",
    "BT-131",
    "The line has no net amount; add cbc:LineExtensionAmount.",
    present("cbc:LineExtensionAmount"),
  ),
  fatal("BR-25", "BT-153", "The item of the line has no name; add cac:Item/cbc:Name.", filled("cac:Item/cbc:Name")),
  fatal(
    "BR-26",
    "BT-146",
    "The item of the line has no net price; add cac:Price/cbc:PriceAmount.",
    present("cac:Price/cbc:PriceAmount"),
  ),
  fatal(
    "BR-27",
    "BT-146",
    "The net price of an item must not be negative; make the quantity negative instead.",
    ofNamesFirst(
      (doc, e) => {
        const only = price.count(doc, e, 2) === 1 ? price.first(doc, e) - e : undefined;
        return only === undefined ? undefined : (d, line) => isNotNegative(d, line + only);
      },
      (doc, e) => price.some(doc, e, isNotNegative, undefined),
    ),
  ),
  fatal(
    "BR-28",
    "BT-148",
    "The gross price of an item must not be negative; correct cac:Price/cac:AllowanceCharge/cbc:BaseAmount.",
    ofNamesFirst(
      (doc, e) => (grossPrice.exists(doc, e) ? undefined : true),
      (doc, e) => !grossPrice.exists(doc, e) || grossPrice.some(doc, e, isNotNegative, undefined),
    ),
  ),
  fatal(
    "BR-CO-04",
    "BT-151",
    "The item of the line has no VAT category; add cac:ClassifiedTaxCategory/cbc:ID with cac:TaxScheme VAT.",
    (doc, e) => itemCategory.some(doc, e, isOnlyVatWithCode, undefined),
  ),
  decimalsOf("BR-DEC-23", "BT-131", "cbc:LineExtensionAmount"),
);

function hasUnit(): En16931Test {
  return ofNames((doc, e) => {
    for (const name of [cbc.InvoicedQuantity, cbc.CreditedQuantity]) {
      for (let c = doc.child(e, name); c !== NONE; c = doc.nextSame(c)) if (doc.hasAttr(c, attr.unitCode)) return true;
    }
    return false;
  });
}

/** Both dates are given and the end is before the start. */
function endsBeforeStart(doc: XmlDocument, e: ElementId): boolean {
  if (!doc.has(e, cbc.StartDate) || !doc.has(e, cbc.EndDate)) return false;
  return dateOf(doc, onlyChild(doc, e, cbc.EndDate)) < dateOf(doc, onlyChild(doc, e, cbc.StartDate));
}

const inOrder = (id: string, terms: string): En16931Assert =>
  fatal(
    id,
    terms,
    "The period ends before it starts; correct cbc:StartDate or cbc:EndDate.",
    (doc, e) => !endsBeforeStart(doc, e),
  );

export const LINE_PERIOD: LineRule = rule(
  "cac:InvoiceLine/cac:InvoicePeriod | cac:CreditNoteLine/cac:InvoicePeriod",
  inOrder("BR-30", "BT-134 BT-135"),
  fatal(
    "BR-CO-20",
    "BG-26",
    "The period of the line is empty; add cbc:StartDate, cbc:EndDate or both.",
    present("cbc:StartDate", "cbc:EndDate"),
  ),
);

export const PERIOD: LineRule = rule(
  "cac:InvoicePeriod",
  inOrder("BR-29", "BT-73 BT-74"),
  fatal(
    "BR-CO-19",
    "BG-14",
    "The invoicing period is empty; add cbc:StartDate, cbc:EndDate or both.",
    present("cbc:StartDate", "cbc:EndDate", "cbc:DescriptionCode"),
  ),
);

export const ITEM_ATTRIBUTE: LineRule = rule(
  "cac:AdditionalItemProperty",
  fatal(
    "BR-54",
    "BT-160 BT-161",
    "An item attribute needs a name and a value; add cbc:Name and cbc:Value.",
    ofNames((doc, e) => doc.has(e, cbc.Name) && doc.has(e, cbc.Value)),
  ),
);

const inItem = (path: string): string => `cac:InvoiceLine/cac:Item/${path} | cac:CreditNoteLine/cac:Item/${path}`;

export const ITEM_CLASSIFICATION: LineRule = rule(
  inItem("cac:CommodityClassification/cbc:ItemClassificationCode"),
  fatal("BR-65", "BT-158", "The item classification has no scheme; add the attribute listID.", hasAttribute("@listID")),
);

export const ITEM_STANDARD_ID: LineRule = rule(
  inItem("cac:StandardItemIdentification/cbc:ID"),
  fatal(
    "BR-64",
    "BT-157",
    "The standard identifier of the item has no scheme; add the attribute schemeID.",
    hasAttribute("@schemeID"),
  ),
);

/** The official rule searches the list as text: three characters with a space between two codes count as found. */
const SUBJECTS = windows(NOTE_SUBJECTS, 3);

export const NOTE: LineRule = rule(
  "/Invoice/cbc:Note | /CreditNote/cbc:Note",
  fatal(
    "BR-CL-08",
    "BT-21",
    "The subject code of the note (between # marks) is not in UNTDID 4451; correct it.",
    (doc, e) => {
      const [, subject, ...rest] = doc.text(e).split("#", 3);
      return subject === undefined || rest.length === 0 || codePoints(subject) !== 3 || SUBJECTS.has(subject);
    },
  ),
);
