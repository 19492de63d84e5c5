/** How many entries of lists are not shown; lines are counted by themselves. */
import type { Fields } from "../ubl/fields.js";
import type { ElementId } from "../xml/document.js";
import { cac, cbc } from "../xml/names.js";
import type { NameId } from "../xml/names.js";
import { ENTRIES_MAX, LINES_MAX } from "./bounds.js";

/** Lists of the whole document. */
const OF_DOCUMENT = [
  cbc.Note,
  cac.BillingReference,
  cac.AdditionalDocumentReference,
  cac.PaymentMeans,
  cac.PaymentTerms,
  cac.AllowanceCharge,
  cac.TaxTotal,
] as const;

/** @param line  the name of a line */
export function countOmitted(fields: Fields, line: NameId): number {
  const over = (e: ElementId, name: NameId): number => Math.max(0, fields.count(e, name) - ENTRIES_MAX);
  const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0);
  const inTotals = fields.each(0, cac.TaxTotal, ENTRIES_MAX, (e) => over(e, cac.TaxSubtotal));
  const inLines = fields.each(0, line, LINES_MAX, (e) => {
    const item = fields.at(e, cac.Item);
    return (
      over(e, cac.AllowanceCharge) +
      over(e, cac.DocumentReference) +
      over(item, cac.AdditionalItemProperty) +
      over(item, cac.CommodityClassification)
    );
  });
  return sum([...OF_DOCUMENT.map((name) => over(0, name)), ...inTotals, ...inLines]);
}
