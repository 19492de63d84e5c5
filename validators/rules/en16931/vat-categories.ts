/** The VAT categories of EN 16931, and how a category group of a document is recognised. */
import { NONE } from "../../xml/document.js";
import type { ElementId, XmlDocument } from "../../xml/document.js";
import { cac, cbc } from "../../xml/names.js";
import { RuleError } from "../rule.js";
import { normalizedText, normalizedUpper, normalizeSpace, onlyChild } from "../values.js";

/** One bit per category code, so that "which categories occur" is one number. */
export const CATEGORY = {
  AE: 1,
  E: 2,
  G: 4,
  K: 8,
  L: 16,
  M: 32,
  O: 64,
  S: 128,
  Z: 256,
  B: 512,
  /** Any other code, a missing one included. */
  other: 1024,
} as const;

/** What differs between the families of rules BR-AE, BR-E, BR-G, BR-IC, BR-AF, BR-AG, BR-O, BR-S and BR-Z. */
export interface VatFamily {
  /** Part of the rule ids, "IC". */
  readonly family: string;
  readonly code: keyof typeof CATEGORY & string;
  /** Name in sentences. */
  readonly title: string;
  /** Which tax identifiers of the seller satisfy rules 02 to 04; "none" forbids all VAT identifiers. */
  readonly seller: "any" | "vat" | "none";
  readonly buyer: "free" | "vat" | "vat or legal";
  /** What rules 05 to 07 ask of the rate. */
  readonly rate: "zero" | "positive" | "not negative" | "absent";
  /** What rule 10 asks of the exemption reason. */
  readonly reason: "required" | "forbidden";
}

/** In the order of the official file. */
export const VAT_FAMILIES: readonly VatFamily[] = [
  {
    family: "AE",
    code: "AE",
    title: "reverse charge",
    seller: "any",
    buyer: "vat or legal",
    rate: "zero",
    reason: "required",
  },
  { family: "E", code: "E", title: "exempt from VAT", seller: "any", buyer: "free", rate: "zero", reason: "required" },
  {
    family: "G",
    code: "G",
    title: "export outside the EU",
    seller: "vat",
    buyer: "free",
    rate: "zero",
    reason: "required",
  },
  {
    family: "IC",
    code: "K",
    title: "intra-community supply",
    seller: "vat",
    buyer: "vat",
    rate: "zero",
    reason: "required",
  },
  {
    family: "AF",
    code: "L",
    title: "IGIC, Canary Islands",
    seller: "any",
    buyer: "free",
    rate: "not negative",
    reason: "forbidden",
  },
  {
    family: "AG",
    code: "M",
    title: "IPSI, Ceuta and Melilla",
    seller: "any",
    buyer: "free",
    rate: "not negative",
    reason: "forbidden",
  },
  {
    family: "O",
    code: "O",
    title: "not subject to VAT",
    seller: "none",
    buyer: "free",
    rate: "absent",
    reason: "required",
  },
  {
    family: "S",
    code: "S",
    title: "standard rated",
    seller: "any",
    buyer: "free",
    rate: "positive",
    reason: "forbidden",
  },
  { family: "Z", code: "Z", title: "zero rated", seller: "any", buyer: "free", rate: "zero", reason: "forbidden" },
];

const BITS: ReadonlyMap<string, number> = new Map<string, number>(
  Object.entries(CATEGORY).filter(([code]) => code !== "other"),
);

/** Bit of a code as written, white space included. */
export const rawBit = (text: string): number => BITS.get(text) ?? CATEGORY.other;

/** Bit of a code after normalize-space(). */
export const categoryBit = (text: string): number => BITS.get(normalizeSpace(text)) ?? CATEGORY.other;

/**
 * Bit of the category of a TaxCategory or ClassifiedTaxCategory. @throws RuleError XPTY0004 when it has several codes.
 */
export function categoryOf(doc: XmlDocument, e: ElementId): number {
  const id = onlyChild(doc, e, cbc.ID);
  return id === NONE ? CATEGORY.other : (BITS.get(normalizedText(doc, id)) ?? CATEGORY.other);
}

/** Some TaxScheme of the element is VAT, in any case and with white space. @throws RuleError XPTY0004 */
export function isVat(doc: XmlDocument, e: ElementId): boolean {
  for (let scheme = doc.child(e, cac.TaxScheme); scheme !== NONE; scheme = doc.nextSame(scheme))
    if (isVatScheme(doc, scheme)) return true;
  return false;
}

/**
 * The same as some official predicates put it, [cac:TaxScheme/(… = 'VAT')]: one truth value per scheme, and of several
 * none is the truth. @throws RuleError FORG0006 when there are several schemes, XPTY0004
 */
export function isOnlyVat(doc: XmlDocument, e: ElementId): boolean {
  const scheme = doc.child(e, cac.TaxScheme);
  if (scheme === NONE) return false;
  const vat = isVatScheme(doc, scheme);
  const second = doc.nextSame(scheme);
  if (second === NONE) return vat;
  // The second value is made before it is noticed that it is one too many.
  isVatScheme(doc, second);
  throw new RuleError("FORG0006");
}

function isVatScheme(doc: XmlDocument, scheme: ElementId): boolean {
  const id = onlyChild(doc, scheme, cbc.ID);
  return id !== NONE && (doc.text(id) === "VAT" || normalizedUpper(doc, id) === "VAT");
}

/** The first TaxCategory below that is VAT, and the next one after `after`; NONE when there is none left. */
export function vatCategory(doc: XmlDocument, parent: ElementId, after: ElementId = NONE): ElementId {
  let e = after === NONE ? doc.child(parent, cac.TaxCategory) : doc.nextSame(after);
  while (e !== NONE && !isVat(doc, e)) e = doc.nextSame(e);
  return e;
}
