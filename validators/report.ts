/** What a validation says: findings, and the report that carries them with the version of what produced it. */

/** Id of an imported rule pack, e.g. `pack:peppol-3.0.22`. */
export type PackId = `pack:${string}`;

/**
 * Layers of the chain, in the order in which they run; `advice` holds warnings of our own. `engine` findings carry the
 * layer in which they arose.
 */
export const LAYERS = ["xml", "schema", "en16931", "peppol", "advice"] as const;
export type Layer = (typeof LAYERS)[number] | PackId;

/** `fatal` and `error` make a document invalid, `warning` and `information` do not. */
export const SEVERITIES = ["fatal", "error", "warning", "information"] as const;
export type Severity = (typeof SEVERITIES)[number];

/** Languages that findings can be told in; the first is what they are written in. */
export const LANGUAGES = ["en", "sk"] as const;
export type Language = (typeof LANGUAGES)[number];

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
  /** Column of the start tag in its line, from 1, in UTF-16 units; where details are asked for. */
  readonly column?: number;
  /**
   * What the document says at this place, shortened; where details are asked for and the place has a value. For whoever
   * sent the document: it is kept nowhere.
   */
  readonly value?: string;
  /** What is wrong and what to do. Never quotes a value of the document. */
  readonly message: string;
  /** Business terms of EN 16931: ["BT-109", "BT-110"]. */
  readonly btIds?: readonly string[];
}

/** Whether findings of this severity make a document invalid. */
export const invalidates = (severity: Severity): boolean => severity === "fatal" || severity === "error";

/** An electronic address: scheme and value of an EndpointID. */
export interface Endpoint {
  readonly schemeId: string;
  readonly value: string;
}

/**
 * Values that the owner needs of a document, as trimmed text; undefined where it has none. Taken out while it is
 * judged.
 */
export interface DocumentFacts {
  readonly rootNamespace: string;
  readonly rootLocal: string;
  readonly customizationId: string | undefined;
  readonly profileId: string | undefined;
  /** BT-1; the id of an ApplicationResponse. */
  readonly documentNumber: string | undefined;
  /** BT-2, `YYYY-MM-DD`. */
  readonly issueDate: string | undefined;
  /** BT-9. */
  readonly dueDate: string | undefined;
  /** BT-7. */
  readonly taxPointDate: string | undefined;
  /** BT-72; the latest of several. */
  readonly deliveryDate: string | undefined;
  /** BT-74; the latest of several. */
  readonly invoicePeriodEnd: string | undefined;
  /** BT-3. */
  readonly typeCode: string | undefined;
  /** BT-34; the sender of an ApplicationResponse. */
  readonly supplierEndpoint: Endpoint | undefined;
  /** BT-49; the receiver of an ApplicationResponse. */
  readonly customerEndpoint: Endpoint | undefined;
  /** BT-25, one for each billing reference that has it. */
  readonly precedingInvoiceIds: readonly string[];
  /** BT-5. */
  readonly currency: string | undefined;
  /** BT-115, the exact decimal text. */
  readonly payableAmount: string | undefined;
  /** BT-10. */
  readonly buyerReference: string | undefined;
  /** BT-13. */
  readonly orderReference: string | undefined;
  /** BT-40 and BT-55. */
  readonly supplierCountry: string | undefined;
  readonly customerCountry: string | undefined;
  /** BT-27 and BT-44, the registered names. */
  readonly supplierName: string | undefined;
  readonly customerName: string | undefined;
}

/** What judged a layer: part of the evidence. */
export interface RuleSetUsed {
  /** "ubl-2.1", "en16931", "peppol-billing", or the id of a pack. */
  readonly id: string;
  readonly version: string;
  readonly layer: Layer;
  /** SHA-256 of the sources, hex; imported packs only. */
  readonly sha256?: string;
}

/** The verdict that a document gets from a later day on, when other rules come into force. */
export interface Upcoming {
  /** First day of these rules, YYYY-MM-DD, Europe/Bratislava. */
  readonly mandatoryFrom: string;
  /** The rule sets that are not in force before. */
  readonly ruleSets: readonly RuleSetUsed[];
  readonly valid: boolean;
  /** What they find and the rules of today do not. */
  readonly findings: readonly Finding[];
}

/** The verdict on one document. One report, several projections; nothing is judged twice. */
export interface Report {
  readonly valid: boolean;
  /** False when layer xml refused the bytes; then there are no facts and no other layer ran. */
  readonly wellFormed: boolean;
  /** SHA-256 of the exact bytes, hex. */
  readonly payloadSha256: string;
  /** Layers in chain order, document order within a layer. */
  readonly findings: readonly Finding[];
  /** Findings beyond the limit. */
  readonly dropped: number;
  /** How many of them each rule has; absent where none is missing. */
  readonly omitted?: Readonly<Record<string, number>>;
  /**
   * Name of the selection: "peppol-billing", "peppol-self-billing", "en16931", "peppol-invoice-response", "peppol-mls";
   * "none" when nothing could be selected.
   */
  readonly profile: string;
  readonly ruleSets: readonly RuleSetUsed[];
  readonly facts: DocumentFacts | undefined;
  /** Verdicts of rules that come into force later; only when the options ask for them. */
  readonly upcoming?: readonly Upcoming[];
  /** gzip of the exact bytes; only of a valid document, and when the options ask for it. */
  readonly compressed?: Uint8Array;
  /** Milliseconds per layer, and `scan`; only when the options ask for them. */
  readonly timings?: Readonly<Record<string, number>>;
}
