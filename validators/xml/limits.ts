/** Bounds of one scan: what a document may ask of a worker. */

/** The owner passes the numbers of its own limits file. */
export interface ScanLimits {
  /** Bytes of the document. */
  readonly payloadBytes: number;
  /** Nesting of elements; the root has depth 1. */
  readonly depth: number;
  /** Attributes of one element, namespace declarations included. */
  readonly attributesPerElement: number;
  /** Bytes of one qualified name. */
  readonly nameLength: number;
  readonly elements: number;
  /** Namespace declarations in the whole document. */
  readonly namespaceDeclarations: number;
  /** Different spellings of names beyond those of UBL. */
  readonly names: number;
  /** Findings kept in one report; the rest is counted. */
  readonly findings: number;
}

/** Start values of design/validation.md V5, for tools and tests that have no engine around them. */
export const SCAN_LIMITS: ScanLimits = {
  payloadBytes: 20_971_520,
  depth: 256,
  attributesPerElement: 256,
  nameLength: 256,
  elements: 4_000_000,
  namespaceDeclarations: 4_096,
  names: 16_384,
  findings: 1_000,
};
