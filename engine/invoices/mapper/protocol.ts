/** What the mapper is asked and answers: plain data, for it travels between threads. */
import type { Party } from "../draft.js";
import type { MapIssue } from "./issues.js";

/** What a source can be. @source spec/rulings.md, section 11, Mapper */
export const SOURCE_TYPES = ["json", "csv", "xml", "text", "pdf_text"] as const;
export type SourceType = (typeof SOURCE_TYPES)[number];

/** Which member of the source is which member of the document: document member → name or path in the source. */
export type FieldMap = Readonly<Record<string, string>>;

export interface MapInput {
  readonly sourceType: SourceType;
  /** Of everything but json. */
  readonly sourceText: string | undefined;
  /** Of json. */
  readonly sourceJson: unknown;
  readonly customerRef: string;
  readonly fieldMap: FieldMap;
  /** Members of the document that are taken where the source says nothing. */
  readonly defaults: Readonly<Record<string, unknown>>;
  /** The firm for which the document is made: its seller, or the buyer of self-billing. */
  readonly own: Party;
}

/** A create body as far as the source says it, and what is to be known of it. */
export interface Mapped {
  readonly kind: "mapped";
  readonly document: Readonly<Record<string, unknown>>;
  /** Whether the document can be sent as it stands: it is complete and nothing in it is uncertain. */
  readonly ready: boolean;
  /** By member of the document, `lines[0].unitPrice`: 0 to 1. */
  readonly confidence: Readonly<Record<string, number>>;
  /** Members of the source that became nothing. */
  readonly unmapped: readonly string[];
  readonly issues: readonly MapIssue[];
  /** Issues and unmapped members that are not listed. */
  readonly omitted: number;
}

/** A source that cannot be read at all, and why, in one sentence. */
interface Unreadable {
  readonly kind: "unreadable";
  readonly ruleId: string;
  readonly message: string;
}
export type MapOutput = Mapped | Unreadable;
