/**
 * Message Level Status 1.0, read strictly: what the receiving service provider says became of a document we sent.
 *
 * The reader refuses what the published rules refuse, so that a status that moves a document is one that its sender had
 * no right to send differently.
 * @source design/as4.md, section 11; conditions of SCH-MLS-01 to -31
 */
import type { XmlElement } from "../../../validators/xml/tree.js";
import type { Instant } from "../../base/clock.js";
import {
  countValues,
  endpointOf,
  idOf,
  issueInstant,
  part,
  parts,
  readApplicationResponse,
  UBL_APPLICATION_RESPONSE,
  value,
} from "./application-response.js";
import { documentTypeId } from "../envelope/identifiers.js";
import { isProviderValue, PROVIDER_SCHEME } from "../seats.js";

/** The CustomizationID of Message Level Status 1.0. */
export const MLS_CUSTOMIZATION = "urn:peppol:edec:mls:1.0";
/** The ProfileID of Message Level Status 1.0. */
export const MLS_PROFILE = "urn:peppol:edec:mls";
/** Process of a status: the ProfileID. */
export const MLS_PROCESS = MLS_PROFILE;
/** The document type of a status, without scheme. */
export const MLS_DOCUMENT_TYPE = documentTypeId({
  rootNamespace: UBL_APPLICATION_RESPONSE,
  rootLocal: "ApplicationResponse",
  customizationId: MLS_CUSTOMIZATION,
  version: "2.1",
});

/** AP: delivered and confirmed. AB: handed on, no confirmation. RE: rejected or not deliverable. */
export const MLS_CODES = ["AP", "AB", "RE"] as const;
/** What a status says of a document as a whole. */
export type MlsCode = (typeof MLS_CODES)[number];

/** BV business rule violated, BW business rule warning, FD failure of delivery, SV syntax violated. */
export const MLS_REASONS = ["BV", "BW", "FD", "SV"] as const;
/** Why a status names an issue. */
export type MlsReason = (typeof MLS_REASONS)[number];

/** One thing that a status finds wrong with a document. */
export interface MlsIssue {
  /** Where in the document; `NA` when there is no place. */
  readonly location: string;
  readonly reason: MlsReason;
  readonly description: string;
}

/** What a Message Level Status says. */
export interface Mls {
  readonly id: string;
  /** When the receiving provider made the status; the specification calls this time M2. */
  readonly issuedAt: Instant;
  /** Service provider identifiers without scheme. */
  readonly sender: string;
  readonly receiver: string;
  readonly code: MlsCode;
  /** Text for people; a rejection always has one. */
  readonly description: string | undefined;
  /** SBDH InstanceIdentifier of the document that the status is about. */
  readonly reference: string;
  readonly issues: readonly MlsIssue[];
}

/** Why a status was not read, in order of precedence. */
export const MLS_FAULTS = [
  "not_readable",
  "customization",
  "profile",
  "id",
  "issued",
  "sender",
  "receiver",
  "responses",
  "code",
  "description",
  "references",
  "issues",
  "reasons",
] as const;
type MlsFault = (typeof MLS_FAULTS)[number];

/**
 * Reads a Message Level Status strictly.
 * @returns the status, or the first fault of MLS_FAULTS
 */
export function readMls(bytes: Uint8Array): Mls | MlsFault {
  const root = readApplicationResponse(bytes);
  if (root === undefined) return "not_readable";
  if (value(root, "CustomizationID") !== MLS_CUSTOMIZATION) return "customization";
  if (value(root, "ProfileID") !== MLS_PROFILE) return "profile";
  const id = idOf(root);
  if (id === undefined) return "id";
  const issuedAt = issueInstant(value(root, "IssueDate"), value(root, "IssueTime"));
  if (issuedAt === undefined) return "issued";
  const sender = providerOf(part(root, "SenderParty"));
  if (sender === undefined) return "sender";
  const receiver = providerOf(part(root, "ReceiverParty"));
  if (receiver === undefined) return "receiver";
  const answer = readAnswer(root);
  return typeof answer === "string" ? answer : { id, issuedAt, sender, receiver, ...answer };
}

function providerOf(party: XmlElement | undefined): string | undefined {
  const endpoint = endpointOf(party);
  return endpoint?.schemeId === PROVIDER_SCHEME && isProviderValue(endpoint.value) ? endpoint.value : undefined;
}

function readAnswer(root: XmlElement): Pick<Mls, "code" | "description" | "reference" | "issues"> | MlsFault {
  const [response, ...others] = parts(root, "DocumentResponse");
  if (response === undefined || others.length > 0) return "responses";
  const verdict = part(response, "Response");
  const code = MLS_CODES.find((known) => known === value(verdict, "ResponseCode"));
  if (code === undefined) return "code";
  const description = value(verdict, "Description");
  if (code === "RE" && description === undefined) return "description";
  const reference = value(part(response, "DocumentReference"), "ID");
  if (reference === undefined) return "references";
  const issues = readIssues(response);
  if (typeof issues === "string") return issues;
  const failed = issues.some(({ reason }) => reason !== "BW");
  return failed === (code === "RE") ? { code, description, reference, issues } : "reasons";
}

function readIssues(response: XmlElement): readonly MlsIssue[] | MlsFault {
  const found: MlsIssue[] = [];
  for (const line of parts(response, "LineResponse")) {
    const location = value(part(line, "LineReference"), "LineID");
    if (location === undefined) return "issues";
    for (const answer of parts(line, "Response")) {
      const description = countValues(answer, "Description") === 1 ? value(answer, "Description") : undefined;
      const reason = MLS_REASONS.find((known) => known === value(part(answer, "Status"), "StatusReasonCode"));
      if (description === undefined || reason === undefined) return "issues";
      found.push({ location, reason, description });
    }
  }
  return found;
}
