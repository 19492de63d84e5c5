/** A code list: the values a code may have, from a compact string, with the edition they come from. */

/** The edition of all lists in this folder: as bound by the EN 16931 validation artefacts. */
export const CEN = "EN 16931 validation 1.3.16, 2026-04-10";

/** An immutable list of codes without spaces. */
export interface CodeList {
  /** Who publishes it, "ISO 4217". */
  readonly name: string;
  /** Edition of the values. */
  readonly version: string;
  readonly codes: ReadonlySet<string>;
  has(code: string): boolean;
}

/** @param text codes separated by white space. */
export function codeList(name: string, version: string, text: string): CodeList {
  const codes: ReadonlySet<string> = new Set(text.trim().split(/\s+/u));
  return { name, version, codes, has: (code) => codes.has(code) };
}

/**
 * Every substring of `length` characters of the list written with single spaces around each code. Two official rules
 * look a code up with contains() and without spaces around it, so that "A " or "D A" count as found.
 */
export function windows(list: CodeList, length: number): ReadonlySet<string> {
  const text = ` ${[...list.codes].join(" ")} `;
  return new Set(Array.from({ length: text.length - length + 1 }, (_, i) => text.slice(i, i + length)));
}
