/** What the grammar reports: the ids of its rules and the shape of one finding. */
import type { ElementId } from "../xml/document.js";

/** Rule ids of the schema layer. */
export const GRAMMAR_RULES = [
  "UBL-GRAMMAR-ORDER",
  "UBL-GRAMMAR-MISSING",
  "UBL-GRAMMAR-UNEXPECTED",
  "UBL-GRAMMAR-REPEATED",
  "UBL-GRAMMAR-TEXT",
  "UBL-GRAMMAR-VALUE",
  "UBL-GRAMMAR-ATTRIBUTE",
  "UBL-GRAMMAR-ATTRIBUTE-MISSING",
  "UBL-GRAMMAR-ATTRIBUTE-VALUE",
  "UBL-GRAMMAR-EXTENSION",
  "UBL-GRAMMAR-NIL",
  "UBL-GRAMMAR-TYPE",
] as const;
type GrammarRule = (typeof GRAMMAR_RULES)[number];

/** A finding before location and line are worked out. */
export interface GrammarFinding {
  readonly ruleId: GrammarRule;
  readonly severity: "error";
  readonly element: ElementId;
  readonly message: string;
  readonly terms: readonly string[];
}
export interface GrammarResult {
  readonly findings: readonly GrammarFinding[];
  readonly dropped: number;
  /** How many of them each rule has. */
  readonly droppedRules: ReadonlyMap<string, number>;
}

/** Takes findings of one document. */
export type Report = (ruleId: GrammarRule, element: ElementId, message: string) => void;
