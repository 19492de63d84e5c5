/** What a reader finds in a source, whatever its form, and the names by which it looks. */
import { LINE_NUMBERS } from "../fields.js";
import type { PartyRole } from "../fields.js";
import type { MapIssue } from "../issues.js";
import { CERTAINTY, fold, headMeaning, kindOfTarget, lineMeaning } from "../names.js";
import type { Meaning } from "../names.js";
import { placeOf, SourcePath } from "./path.js";
import type { DecimalMark } from "../numbers.js";
import type { FieldMap } from "../protocol.js";
import type { SourceValue } from "../values.js";

/** A value with the member that it is taken for. */
export interface FoundValue extends Meaning {
  /** Where it stands in the source: `items[].price`; in UBL with the number of its line: `InvoiceLine[2]`. */
  readonly source: string;
  readonly value: SourceValue;
}

/** What a source says of the VAT of one category and rate. */
export interface StatedTax {
  readonly source: string;
  readonly category: string;
  readonly rate: string | undefined;
  readonly taxable: string | undefined;
  readonly tax: string | undefined;
}

/** What a source says. */
export interface Reading {
  readonly head: readonly FoundValue[];
  readonly lines: readonly (readonly FoundValue[])[];
  /** The breakdown of VAT, to compare what the lines come to with it; default none. */
  readonly taxes?: readonly StatedTax[];
  readonly unmapped: readonly string[];
  readonly issues: readonly MapIssue[];
  /** The sign before decimals where the form of the source says it; default: what its numbers show. */
  readonly mark?: DecimalMark;
  /** Files that travel with the invoice, as a create body has them. */
  readonly attachments?: readonly Readonly<Record<string, string>>[];
}

const LINE_TARGET = /^lines\[\]\./u;

/** The names of one source: what the caller says they mean, and what they usually mean. */
export class Dictionary {
  readonly #head = new Map<string, Meaning>();
  readonly #lines = new Map<string, Meaning>();
  // Bounded by the entries of a field map, as is what follows.
  readonly #said = new Map<string, string>();
  // Bounded by the same.
  readonly #used = new Set<string>();
  /** The folded path of the list of lines, where the caller says it. */
  readonly list: string | undefined;

  readonly #root: string;
  /** Characters of the longest name that the caller says: a longer path of the source is none of them. */
  readonly #longest: number;

  /** @param root  the name of the root element, with which a path may begin and need not */
  constructor(fieldMap: FieldMap, root = "") {
    this.#root = fold(root);
    this.#longest = Object.values(fieldMap).reduce((most, source) => Math.max(most, fold(source).length), 0);
    for (const [target, source] of Object.entries(fieldMap)) {
      const name = fold(source);
      this.#said.set(target, source);
      const kind = kindOfTarget(target);
      if (kind === undefined) continue;
      const meaning = { target: shortTarget(target), kind, certainty: CERTAINTY.stated };
      (LINE_TARGET.test(target) ? this.#lines : this.#head).set(name, meaning);
    }
    const list = fieldMap["lines"];
    this.list = list === undefined ? undefined : fold(list);
  }

  head(path: SourcePath, within?: PartyRole): Meaning | undefined {
    const stated = this.#stated(this.#head, [path.folded, this.#root + path.folded]);
    return stated ?? this.#unclaimed(headMeaning(path, within), this.#head);
  }

  /** @param list  the path of the list, before that of the member */
  line(path: SourcePath, list = SourcePath.root): Meaning | undefined {
    const inList = list.folded + path.folded;
    const stated = this.#stated(this.#lines, [path.folded, inList, this.#root + inList]);
    return stated ?? this.#unclaimed(lineMeaning(path), this.#lines);
  }

  /** What the caller says that a place without a name means: `#3`, the third column. */
  stated(of: "head" | "line", place: string): Meaning | undefined {
    return this.#stated(of === "head" ? this.#head : this.#lines, [fold(place)]);
  }

  /** Whether a path is what the caller calls the list of lines. */
  isList({ folded }: SourcePath): boolean {
    const isIt = this.list !== undefined && [folded, this.#root + folded].includes(this.list);
    if (isIt) this.#used.add(this.list);
    return isIt;
  }

  /** Members of the field map that name nothing in the source. */
  unused(): readonly (readonly [target: string, source: string])[] {
    return [...this.#said].filter(([, source]) => !this.#used.has(fold(source)));
  }

  /** @param names  folded */
  #stated(table: ReadonlyMap<string, Meaning>, names: readonly string[]): Meaning | undefined {
    for (const name of names) {
      const meaning = name === "" || name.length > this.#longest ? undefined : table.get(name);
      if (meaning === undefined) continue;
      this.#used.add(name);
      return meaning;
    }
    return undefined;
  }

  /** A member that the caller has mapped is found nowhere else. */
  #unclaimed(meaning: Meaning | undefined, table: ReadonlyMap<string, Meaning>): Meaning | undefined {
    const isClaimed = [...table.values()].some(({ target }) => target === meaning?.target);
    return isClaimed ? undefined : meaning;
  }
}

const shortTarget = (target: string): string =>
  target.replace(LINE_TARGET, "").replace("recipient.address.", "recipient.");

/** Whether a column of lines only counts them. */
export const isLineNumber = (name: string): boolean => LINE_NUMBERS.has(fold(name)) || fold(name) === "";

export const foundAt = (meaning: Meaning, source: string, value: SourceValue): FoundValue => ({
  ...meaning,
  source: placeOf(source),
  value,
});
