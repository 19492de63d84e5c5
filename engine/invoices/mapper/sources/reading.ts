/** What a reader finds in a source, whatever its form, and the names by which it looks. */
import { LIMITS } from "../../../base/limits.js";
import { firstChars } from "../../../base/text.js";
import { LINE_NUMBERS } from "../fields.js";
import type { PartyRole } from "../fields.js";
import type { MapIssue } from "../issues.js";
import { CERTAINTY, fold, headMeaning, kindOfTarget, lineMeaning } from "../names.js";
import type { Meaning } from "../names.js";
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

/** Why a source cannot be read; it leaves the reader at once. */
export class UnreadableSource extends Error {
  readonly ruleId: string;

  constructor(ruleId: string, message: string) {
    super(message);
    this.name = "UnreadableSource";
    this.ruleId = ruleId;
  }
}

/** A place of a source as an answer names it. */
export const placeOf = (text: string): string => firstChars(text, LIMITS.mapper_place_chars_max);

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

  /** @param root  the name of the root element, with which a path may begin and need not */
  constructor(fieldMap: FieldMap, root = "") {
    this.#root = root;
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

  head(path: readonly string[], within?: PartyRole): Meaning | undefined {
    const stated = this.#stated(this.#head, [path.join(""), this.#root + path.join("")]);
    return stated ?? this.#unclaimed(headMeaning(path, within), this.#head);
  }

  /** @param list  the path of the list, before that of the member */
  line(path: readonly string[], list: readonly string[] = []): Meaning | undefined {
    const stated = this.#stated(this.#lines, [
      path.join(""),
      [...list, ...path].join(""),
      [this.#root, ...list, ...path].join(""),
    ]);
    return stated ?? this.#unclaimed(lineMeaning(path), this.#lines);
  }

  /** What the caller says that a place without a name means: `#3`, the third column. */
  stated(of: "head" | "line", place: string): Meaning | undefined {
    return this.#stated(of === "head" ? this.#head : this.#lines, [place]);
  }

  /** Whether a path is what the caller calls the list of lines. */
  isList(path: readonly string[]): boolean {
    const names = [fold(path.join("")), fold(this.#root + path.join(""))];
    const isIt = this.list !== undefined && names.includes(this.list);
    if (isIt) this.#used.add(this.list);
    return isIt;
  }

  /** Members of the field map that name nothing in the source. */
  unused(): readonly (readonly [target: string, source: string])[] {
    return [...this.#said].filter(([, source]) => !this.#used.has(fold(source)));
  }

  #stated(table: ReadonlyMap<string, Meaning>, names: readonly string[]): Meaning | undefined {
    for (const name of names.map(fold)) {
      const meaning = name === "" ? undefined : table.get(name);
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
