/** What an arriving message is for: a firm's inbox, a document of ours, or somebody else. */
import { canonicalDocumentTypeId, parseDocumentType } from "../envelope/identifiers.js";
import { INVOICE_RESPONSE_CUSTOMIZATION } from "./invoice-response.js";
import { EUSR_NS, TSR_NS } from "../reporting.js";
import { UBL_APPLICATION_RESPONSE } from "./application-response.js";

/** What a document of the network can be to us: business goes to a customer, the others are ours to act on. */
export const INBOUND_KINDS = ["business", "mls", "invoice_response", "report"] as const;
type InboundKind = (typeof INBOUND_KINDS)[number];

/** Versions of the status that we read; 1.1.0 of the specification kept the identifiers of 1.0. */
const MLS = /^urn:peppol:edec:mls:1\.\d+$/;

/** Classified by its document type alone: what the payload says is read after it is stored. */
export function classifyInbound(documentTypeId: string): InboundKind {
  const type = parseDocumentType(canonicalDocumentTypeId(documentTypeId));
  if (type === undefined) return "business";
  if (type.rootNamespace === TSR_NS || type.rootNamespace === EUSR_NS) return "report";
  if (type.rootNamespace !== UBL_APPLICATION_RESPONSE) return "business";
  if (MLS.test(type.customizationId)) return "mls";
  return type.customizationId.startsWith(INVOICE_RESPONSE_CUSTOMIZATION) ? "invoice_response" : "business";
}
