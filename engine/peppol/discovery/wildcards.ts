/**
 * Which of the document types that a participant has published takes a document. Types under busdox-docid-qns mean
 * themselves; of those under peppol-doctype-wildcard an asterisk stands for whatever follows, part by part.
 * @source Peppol Policy for use of identifiers 4.3, document type identifier schemes
 */
import { documentTypeId, DOCUMENT_TYPE_SCHEME, parseDocumentType, WILDCARD_SCHEME } from "../envelope/identifiers.js";

const WILDCARD = "*";
/** Separates the parts of a customization that specialise one another: `urn:peppol:pint:billing-1@sk-1`. */
const PART_SEPARATOR = "@";

/** A document type with its scheme. */
interface DocumentTypeMatch {
  readonly scheme: string;
  /** Without scheme. */
  readonly value: string;
}

/**
 * What may be published for a document of this type, the closest first: the type itself, then itself and every more
 * general one with an asterisk behind it.
 */
function candidates(documentType: string): DocumentTypeMatch[] {
  const exact = [DOCUMENT_TYPE_SCHEME, WILDCARD_SCHEME].map((scheme) => ({ scheme, value: documentType }));
  const parts = parseDocumentType(documentType);
  // Nobody has a document whose own customization is open.
  if (parts === undefined || parts.customizationId.includes(WILDCARD)) return exact;
  const pieces = parts.customizationId.split(PART_SEPARATOR);
  const general = pieces.map((_, dropped) => pieces.slice(0, pieces.length - dropped).join(PART_SEPARATOR));
  return [
    ...exact,
    ...general.map((customizationId) => ({
      scheme: WILDCARD_SCHEME,
      value: documentTypeId({ ...parts, customizationId: `${customizationId}${WILDCARD}` }),
    })),
  ];
}

/**
 * The published type by which a participant takes a document.
 * @param published  types with their schemes, as the participant's group lists them
 * @param documentType  of the document, without scheme
 * @returns undefined where none does
 */
export function matchDocumentType(published: readonly string[], documentType: string): DocumentTypeMatch | undefined {
  const known = new Set(published);
  return candidates(documentType).find(({ scheme, value }) => known.has(`${scheme}::${value}`));
}

/** Whether a type could be taken by a wildcard: those of PINT, which are specialised part by part. */
export const mayMatchWildcard = (documentType: string): boolean =>
  parseDocumentType(documentType)?.customizationId.startsWith("urn:peppol:pint:") === true;
