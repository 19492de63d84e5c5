/** What a Schematron schema says, after inclusion, extension and the expansion of abstract patterns. */
import type { Severity } from "../../report.js";
import type { SourceElement } from "../release/source-xml.js";

/** Where something stands in the sources, for messages. */
export type Place = { readonly file: string; readonly line: number };

export type Let = { readonly name: string; readonly value: string; readonly place: Place };
export type MessagePart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "value" | "name"; readonly select: string };

export type SourceAssert = {
  readonly id: string;
  /** An assert fails when its test is false, a report when it is true. */
  readonly kind: "assert" | "report";
  readonly test: string;
  readonly severity: Severity;
  readonly message: readonly MessagePart[];
  readonly place: Place;
};

export type SourceRule = {
  readonly context: string;
  readonly lets: readonly Let[];
  readonly asserts: readonly SourceAssert[];
  readonly place: Place;
};
export type SourcePattern = {
  readonly id: string;
  readonly lets: readonly Let[];
  readonly rules: readonly SourceRule[];
};

/** `xsl:function`, kept as XML: the compiler reads its instructions. */
export type SourceFunction = { readonly name: string; readonly element: SourceElement; readonly file: string };

/** `xsl:key`: elements that match a pattern, found by what an expression says of each. */
export type SourceKey = {
  readonly name: string;
  readonly match: string;
  readonly use: string;
  readonly place: Place;
};

export type Schema = {
  readonly title: string;
  /** Of `ns` elements, with xs and fn. */
  readonly namespaces: ReadonlyMap<string, string>;
  readonly lets: readonly Let[];
  readonly functions: readonly SourceFunction[];
  readonly keys: readonly SourceKey[];
  readonly patterns: readonly SourcePattern[];
};
