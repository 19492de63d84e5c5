/** What a document is, in the words by which invoices are sent as JSON, told from its type. */

/** Each word with the regular expression of its document types; it means the same to Postgres. */
const PATTERNS = {
  invoice: "::Invoice##(?!.*:selfbilling:)",
  credit_note: "::CreditNote##(?!.*:selfbilling:)",
  self_billing: "::Invoice##.*:selfbilling:",
  self_billing_credit_note: "::CreditNote##.*:selfbilling:",
} as const;

/** Every word. @source spec/shapes.md, section 6: documentType of an invoice as JSON */
export const LISTED_KINDS = Object.keys(PATTERNS) as readonly (keyof typeof PATTERNS)[];
/** A kind of invoice. */
export type ListedKind = keyof typeof PATTERNS;

/** The regular expression of a kind's document types. */
export const patternOf = (kind: ListedKind | undefined): string | undefined =>
  kind === undefined ? undefined : PATTERNS[kind];

/** The kind of a document type; null for what is no invoice. */
export const kindOf = (documentTypeId: string): ListedKind | null =>
  LISTED_KINDS.find((kind) => new RegExp(PATTERNS[kind], "u").test(documentTypeId)) ?? null;
