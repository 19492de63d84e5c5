/**
 * What was made of long texts, kept for as long as their document: a rule of many elements may ask each time for one
 * text that stands elsewhere, and the length of it is to be paid once.
 */

/** Texts of more bytes are long. Those of values are shorter, and what is made of them is made again as quickly. */
export const LONG_TEXT_BYTES = 256;

/** Makes a value of a text; a function of a module, by which the value is found again. */
export type Maker<T> = (text: string) => T;

/** Memory of one document. */
export class LongTexts {
  /** By maker and element: bounded by the makers that rules have and the long texts of the document. */
  readonly #made = new Map<Maker<unknown>, Map<number, unknown>>();

  /** What `make` makes of the text of an element. */
  made<T>(e: number, text: string, make: Maker<T>): T {
    let values = this.#made.get(make);
    if (values === undefined) this.#made.set(make, (values = new Map<number, unknown>()));
    if (!values.has(e)) values.set(e, make(text));
    return values.get(e) as T;
  }

  clear(): void {
    if (this.#made.size > 0) this.#made.clear();
  }
}
