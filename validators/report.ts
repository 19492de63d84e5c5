/** What a validation says: findings, and the report that carries them with the version of what produced it. */

/** Id of an imported rule pack, e.g. `pack:peppol-3.0.22`. */
export type PackId = `pack:${string}`;

/** Layers of the chain, in the order in which they run. `engine` findings carry the layer in which they arose. */
export const LAYERS = ["xml", "schema", "en16931", "peppol"] as const;
export type Layer = (typeof LAYERS)[number] | PackId;

/** `fatal` and `error` make a document invalid, `warning` does not. */
export const SEVERITIES = ["fatal", "error", "warning"] as const;
export type Severity = (typeof SEVERITIES)[number];

/**
 * One thing that is wrong with a document.
 * @source design/validation.md section 2
 */
export interface Finding {
  /** "BR-CO-15", "UBL-GRAMMAR-ORDER", "XML-END-TAG", "!err:FORG0001". */
  readonly ruleId: string;
  readonly layer: Layer;
  readonly severity: Severity;
  /** XPath with the prefixes cac, cbc and ext; the root has none: `/Invoice/cac:InvoiceLine[2]/cbc:ID`. */
  readonly location: string;
  /** Line of the start tag, from 1. */
  readonly line?: number;
  /** What is wrong and what to do. Never quotes a value of the document. */
  readonly message: string;
  /** Business terms of EN 16931: ["BT-109", "BT-110"]. */
  readonly btIds?: readonly string[];
}

/** Whether findings of this severity make a document invalid. */
export const invalidates = (severity: Severity): boolean => severity !== "warning";
