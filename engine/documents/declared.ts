/**
 * What an envelope or a request declares of a document against what the document says of itself. The declared type
 * decides: by which rules a document is judged, who of its parties sends it, and whose country that is.
 * @source spec/rulings.md, section 14
 */
import { participantKey } from "../base/ids.js";
import type { ParticipantId } from "../base/ids.js";
import { canonicalProcessId, isSelfBilling, parseDocumentType } from "../peppol/envelope/identifiers.js";
import type { DocumentFacts, Endpoint } from "./accept/facts.js";

/** Of SAPI the metadata, inbound the SBDH. */
interface Declared {
  readonly documentTypeId: string;
  readonly processId: string;
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
}

type Role = "supplier" | "customer";

/** In self-billing the customer issues the invoice, so the customer's access point sends it. */
export const senderRole = (documentTypeId: string): Role => (isSelfBilling(documentTypeId) ? "customer" : "supplier");
export const otherRole = (role: Role): Role => (role === "supplier" ? "customer" : "supplier");

export const endpointOfRole = (facts: DocumentFacts, role: Role): Endpoint | undefined =>
  role === "supplier" ? facts.supplierEndpoint : facts.customerEndpoint;

/** Whether a party's electronic address is this participant. */
export const isSame = (endpoint: Endpoint | undefined, participant: ParticipantId): boolean =>
  endpoint !== undefined && `${endpoint.schemeId}:${endpoint.value}`.toLowerCase() === participantKey(participant);

/** Whether the root element is that of the type. */
export function hasDeclaredRoot({ documentTypeId }: Pick<Declared, "documentTypeId">, facts: DocumentFacts): boolean {
  const type = parseDocumentType(documentTypeId);
  return type !== undefined && type.rootNamespace === facts.rootNamespace && type.rootLocal === facts.rootLocal;
}

/** Whether the CustomizationID is that of the type, to the letter: an extension is another type. */
export const hasDeclaredCustomization = (
  { documentTypeId }: Pick<Declared, "documentTypeId">,
  facts: DocumentFacts,
): boolean => parseDocumentType(documentTypeId)?.customizationId === facts.customizationId;

/** Whether the ProfileID is the process. */
export const hasDeclaredProcess = ({ processId }: Pick<Declared, "processId">, facts: DocumentFacts): boolean =>
  canonicalProcessId(processId) === facts.profileId;

/** Country of the party that sends, as the document has it. */
export function countryOfSender(
  documentTypeId: string,
  facts: Pick<DocumentFacts, "supplierCountry" | "customerCountry">,
): string | undefined {
  return senderRole(documentTypeId) === "supplier" ? facts.supplierCountry : facts.customerCountry;
}
