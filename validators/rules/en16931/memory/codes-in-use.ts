/** Which VAT categories occur at one place of a document. */
import { NONE } from "../../../xml/document.js";
import type { ElementId, XmlDocument } from "../../../xml/document.js";
import { cbc } from "../../../xml/names.js";
import { RuleError } from "../../rule.js";
import { categoryOf, isVat, rawBit } from "../vat-categories.js";

/** Codes of the tax categories at one place of the document, as bits of CATEGORY. */
export class Codes {
  /** One bit a code, after its text was normalised. */
  any = 0;
  /** The same, of categories whose tax scheme is VAT only. */
  vat = 0;
  /** One bit a code, as its text is written. */
  raw = 0;
  rawVat = 0;
  /** The error that reading the codes of this place raises. */
  #error: RuleError | undefined;
  /** The error of a tax scheme that cannot be read, and the codes whose categories have one. */
  #schemeError: RuleError | undefined;
  #schemeErrorOf = 0;

  clear(): void {
    this.any = this.vat = this.raw = this.rawVat = this.#schemeErrorOf = 0;
    this.#error = this.#schemeError = undefined;
  }

  /** Takes in one category; an error is kept for the rule that looks here. */
  add(doc: XmlDocument, e: ElementId): void {
    let bit = 0;
    try {
      bit = categoryOf(doc, e);
      const id = doc.child(e, cbc.ID);
      const raw = id === NONE ? 0 : rawBit(doc.text(id));
      this.any |= bit;
      this.raw |= raw;
      if (!isVat(doc, e)) return;
      this.vat |= bit;
      this.rawVat |= raw;
    } catch (error) {
      if (bit === 0) this.fail(error);
      else this.#failScheme(error, bit);
    }
  }

  fail(error: unknown): void {
    if (!(error instanceof RuleError)) throw error;
    this.#error ??= error;
  }

  #failScheme(error: unknown, bit: number): void {
    if (!(error instanceof RuleError)) throw error;
    this.#schemeError ??= error;
    this.#schemeErrorOf |= bit;
  }

  /**
   * Itself, for a rule that asks for the tax scheme of categories with these codes; 0 when it asks for none.
   * @throws RuleError
   */
  checked(bits: number): this {
    if (this.#error !== undefined) throw this.#error;
    if (this.#schemeError !== undefined && (this.#schemeErrorOf & bits) !== 0) throw this.#schemeError;
    return this;
  }
}

/** The tax scheme of every category is asked for, whatever its code. */
export const EVERY_CODE = -1;
