/** Says findings about a document in the members by which the client wrote it. */
import { Refusal } from "../../base/errors.js";
import type { ErrorDetail, ErrorName } from "../../base/errors.js";

/** A finding in the members of the client's request. */
export type Renamed = (detail: ErrorDetail) => ErrorDetail;

interface Words {
  readonly field: string;
  /** How the sentence calls it. */
  readonly words: string;
}

/** What SAPI calls metadata is a member of its own, the document itself, or a thing of the firm. */
const XML: Readonly<Record<string, Words>> = {
  "metadata.documentTypeId": { field: "xml", words: "the document type" },
  "metadata.processId": { field: "processId", words: "processId" },
  "metadata.senderParticipantId": { field: "xml", words: "the firm's participant id" },
  "metadata.receiverParticipantId": { field: "receiverPeppolId", words: "receiverPeppolId" },
  payload: { field: "xml", words: "the document" },
};
const JSON_MEMBERS: Readonly<Record<string, Words>> = {
  "metadata.documentTypeId": { field: "documentType", words: "documentType" },
  "metadata.processId": { field: "documentType", words: "documentType" },
  "metadata.senderParticipantId": { field: "document", words: "the firm's participant id" },
  "metadata.receiverParticipantId": { field: "receiverPeppolId", words: "receiverPeppolId" },
};

/** Names such as `metadata.processId` in a sentence. */
const METADATA = /metadata\.[A-Za-z]+/gu;

const inWords = (message: string, names: Readonly<Record<string, Words>>): string =>
  message.replace(METADATA, (name) => names[name]?.words ?? name);

/** For each form in which a document comes: a finding's place → the member. */
export const memberNames = {
  xml:
    (): Renamed =>
    ({ message, ...detail }) => ({
      ...detail,
      field: XML[detail.field ?? "payload"]?.field ?? detail.field ?? "xml",
      message: inWords(message, XML),
    }),
  json:
    (fieldOf: (finding: { readonly ruleId: string; readonly location: string }) => string): Renamed =>
    ({ location, message, ...detail }) => ({
      ...detail,
      field:
        JSON_MEMBERS[detail.field ?? ""]?.field ??
        (location === undefined ? (detail.field ?? "document") : fieldOf({ ruleId: detail.ruleId ?? "", location })),
      message: inWords(message, JSON_MEMBERS),
    }),
} as const;

/** Refusals about a document; all others speak of the request itself. */
const ABOUT_DOCUMENTS: ReadonlySet<ErrorName> = new Set([
  "DOCUMENT_INVALID",
  "DOCUMENT_TYPE_MISMATCH",
  "SAPI-DOC-025",
  "RECIPIENT_CAPABILITY",
]);
const SENTENCES: Partial<Record<ErrorName, string>> = {
  "SAPI-DOC-025": "An EndpointID in the document is not that of the party; details name the member.",
  DOCUMENT_TYPE_MISMATCH: "The document is not what the request says of it; details name the member.",
};

/** The same refusal with its details in the client's members. */
export function inMembers(refusal: Refusal, renamed: Renamed): Refusal {
  const { reason, details, extras } = refusal;
  if (!ABOUT_DOCUMENTS.has(reason)) return refusal;
  const message = SENTENCES[reason];
  return new Refusal(reason, details.map(renamed), message === undefined ? extras : { ...extras, message });
}
