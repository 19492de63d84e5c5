/** Peppol document type and process identifiers. */

/** Schemes that may stand before an identifier. @source design/as4.md, section 2 */
export const DOCUMENT_TYPE_SCHEME = "busdox-docid-qns";
/** The scheme of document types that may end in an asterisk. */
export const WILDCARD_SCHEME = "peppol-doctype-wildcard";
/** The scheme of process identifiers in Peppol. */
export const PROCESS_SCHEME = "cenbii-procid-ubl";

/** The namespace of UBL invoices. */
export const UBL_INVOICE = "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2";
/** The namespace of UBL credit notes. */
export const UBL_CREDIT_NOTE = "urn:oasis:names:specification:ubl:schema:xsd:CreditNote-2";
/** The CustomizationID of Peppol BIS Billing 3.0. */
export const BILLING_CUSTOMIZATION = "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0";
/** The ProfileID of Peppol BIS Billing 3.0. */
export const BILLING_PROCESS = "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0";
/** The CustomizationID of Peppol BIS Self-Billing 3.0. */
export const SELF_BILLING_CUSTOMIZATION =
  "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:selfbilling:3.0";
/** The ProfileID of Peppol BIS Self-Billing 3.0. */
export const SELF_BILLING_PROCESS = "urn:fdc:peppol.eu:2017:poacc:selfbilling:01:1.0";

/** `{root namespace}::{root name}##{customization}::{UBL version}` in its parts. */
interface DocumentType {
  readonly rootNamespace: string;
  readonly rootLocal: string;
  readonly customizationId: string;
  readonly version: string;
}

const withoutScheme = (scheme: string, id: string): string =>
  id.startsWith(`${scheme}::`) ? id.slice(scheme.length + 2) : id;

/** A document type id without its scheme: the form that is stored and compared. */
export const canonicalDocumentTypeId = (id: string): string => withoutScheme(DOCUMENT_TYPE_SCHEME, id);
/** A process id without its scheme. */
export const canonicalProcessId = (id: string): string => withoutScheme(PROCESS_SCHEME, id);

const DOCUMENT_TYPE = /^([^#]+)::([A-Za-z_][\w.-]*)##(.+)::([0-9.]+)$/;

/** Reads a document type id; undefined when it has not the form of the Peppol policy for identifiers. */
export function parseDocumentType(id: string): DocumentType | undefined {
  const [, rootNamespace, rootLocal, customizationId, version] = DOCUMENT_TYPE.exec(canonicalDocumentTypeId(id)) ?? [];
  if (rootNamespace === undefined || rootLocal === undefined || customizationId === undefined || version === undefined)
    return undefined;
  return { rootNamespace, rootLocal, customizationId, version };
}

/** The document type identifier of its parts, without scheme; the inverse of parseDocumentType. */
export const documentTypeId = (type: DocumentType): string =>
  `${type.rootNamespace}::${type.rootLocal}##${type.customizationId}::${type.version}`;

/** Whether a document type is self-billing, plain or extended (`…#conformant#…`). */
export function isSelfBilling(documentTypeIdText: string): boolean {
  const customization = parseDocumentType(documentTypeIdText)?.customizationId ?? "";
  return customization === SELF_BILLING_CUSTOMIZATION || customization.startsWith(`${SELF_BILLING_CUSTOMIZATION}#`);
}

/** What a billing participant accepts: invoices and credit notes, ordinary and self-billed. */
export const BILLING_CAPABILITIES: readonly { readonly documentTypeId: string; readonly processId: string }[] = (
  [
    [BILLING_CUSTOMIZATION, BILLING_PROCESS],
    [SELF_BILLING_CUSTOMIZATION, SELF_BILLING_PROCESS],
  ] as const
).flatMap(([customizationId, processId]) =>
  (
    [
      [UBL_INVOICE, "Invoice"],
      [UBL_CREDIT_NOTE, "CreditNote"],
    ] as const
  ).map(([rootNamespace, rootLocal]) => ({
    documentTypeId: documentTypeId({ rootNamespace, rootLocal, customizationId, version: "2.1" }),
    processId,
  })),
);
