/**
 * What an envelope or a request declares of a document against what the document says of itself. The declared type
 * decides: by which rules a document is judged, who of its parties sends it, and whose country that is.
 * @source spec/rulings.md, section 14
 */
import { participantKey } from "../base/ids.js";
import type { ParticipantId } from "../base/ids.js";
import { canonicalProcessId, isSelfBilling, parseDocumentType } from "../peppol/envelope/identifiers.js";
import type { DocumentFacts, DocumentFinding, Endpoint } from "./accept/facts.js";

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

/** One thing that a received document says of itself otherwise than its envelope. */
interface Contradiction {
  readonly ruleId: string;
  /** Below the root element. */
  readonly place: (declared: Declared, facts: DocumentFacts) => string;
  readonly message: string;
  readonly isFound: (declared: Declared, facts: DocumentFacts) => boolean;
}

const endpointPlace = (facts: DocumentFacts, role: Role): string => {
  if (facts.rootLocal === "ApplicationResponse")
    return role === "supplier" ? "/cac:SenderParty/cbc:EndpointID" : "/cac:ReceiverParty/cbc:EndpointID";
  const party = role === "supplier" ? "cac:AccountingSupplierParty" : "cac:AccountingCustomerParty";
  return `/${party}/cac:Party/cbc:EndpointID`;
};

const CONTRADICTIONS: readonly Contradiction[] = [
  {
    ruleId: "ENGINE-DOCUMENT-TYPE",
    place: () => "",
    message: "The root element is not that of the document type in the envelope.",
    isFound: (declared, facts) => !hasDeclaredRoot(declared, facts),
  },
  {
    ruleId: "ENGINE-CUSTOMIZATION",
    place: () => "/cbc:CustomizationID",
    message: "The CustomizationID is not that of the document type in the envelope.",
    isFound: (declared, facts) => !hasDeclaredCustomization(declared, facts),
  },
  {
    ruleId: "ENGINE-PROCESS",
    place: () => "/cbc:ProfileID",
    message: "The ProfileID is not the process in the envelope.",
    isFound: (declared, facts) => !hasDeclaredProcess(declared, facts),
  },
  {
    ruleId: "ENGINE-SENDER",
    place: (declared, facts) => endpointPlace(facts, senderRole(declared.documentTypeId)),
    message: "The EndpointID of the party that sends is not the sender in the envelope.",
    isFound: (declared, facts) => !isSame(endpointOfRole(facts, senderRole(declared.documentTypeId)), declared.sender),
  },
  {
    ruleId: "ENGINE-RECEIVER",
    place: (declared, facts) => endpointPlace(facts, otherRole(senderRole(declared.documentTypeId))),
    message: "The EndpointID of the party that receives is not the receiver in the envelope.",
    isFound: (declared, facts) =>
      !isSame(endpointOfRole(facts, otherRole(senderRole(declared.documentTypeId))), declared.receiver),
  },
];

/** What a received document says of itself otherwise than its envelope: findings like those of a rule. */
export const contradictionsOf = (declared: Declared, facts: DocumentFacts): readonly DocumentFinding[] =>
  CONTRADICTIONS.filter(({ isFound }) => isFound(declared, facts)).map(({ ruleId, place, message }) => ({
    ruleId,
    layer: "peppol",
    severity: "fatal",
    location: `/${facts.rootLocal}${place(declared, facts)}`,
    message,
  }));
