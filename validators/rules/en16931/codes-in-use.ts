/** Which VAT categories occur at one place of a document. */
import { NONE, type ElementId, type XmlDocument } from "../../xml/document.js";
import { cbc } from "../../xml/names.js";
import { RuleError } from "../rule.js";
import { categoryOf, isVat, rawBit } from "./vat-categories.js";

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
