/**
 * Message Level Status 1.0, read strictly: what the receiving service provider says became of a document we sent.
 *
 * The reader refuses what the published rules refuse, so that a status that moves a document is one that its sender had
 * no right to send differently.
 * @source design/as4.md, section 11; conditions of SCH-MLS-01 to -31
 */
import type { ResponseFacts } from "../../../validators/responses.js";
import type { Instant } from "../../base/clock.js";
import { idOf, issueInstant, UBL_APPLICATION_RESPONSE } from "./application-response.js";
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
 * Judges a Message Level Status strictly.
 * @param facts  what a worker read; undefined for what is no response
 * @returns the status with the first LIMITS.mls_issues_max of its issues, or the first fault of MLS_FAULTS
 */
export function readMls(facts: ResponseFacts | undefined): Mls | MlsFault {
  if (facts === undefined) return "not_readable";
  if (facts.customizationId !== MLS_CUSTOMIZATION) return "customization";
  if (facts.profileId !== MLS_PROFILE) return "profile";
  const id = idOf(facts);
  if (id === undefined) return "id";
  const issuedAt = issueInstant(facts.issueDate, facts.issueTime);
  if (issuedAt === undefined) return "issued";
  const sender = providerOf(facts.sender);
  if (sender === undefined) return "sender";
  const receiver = providerOf(facts.receiver);
  if (receiver === undefined) return "receiver";
  const answer = readAnswer(facts.answer);
  return typeof answer === "string" ? answer : { id, issuedAt, sender, receiver, ...answer };
}

const providerOf = (endpoint: ResponseFacts["sender"]): string | undefined =>
  endpoint?.schemeId === PROVIDER_SCHEME && isProviderValue(endpoint.value) ? endpoint.value : undefined;

const reasonOf = (text: string): MlsReason | undefined => MLS_REASONS.find((known) => known === text);

function readAnswer(
  answer: ResponseFacts["answer"],
): Pick<Mls, "code" | "description" | "reference" | "issues"> | MlsFault {
  if (answer === undefined) return "responses";
  const code = MLS_CODES.find((known) => known === answer.code);
  if (code === undefined) return "code";
  const { description } = answer;
  if (code === "RE" && description === undefined) return "description";
  const reference = answer.document.number;
  if (reference === undefined || answer.otherReferences.length > 0) return "references";
  const reasons = answer.issueReasons.map(reasonOf);
  if (answer.issues === undefined || reasons.includes(undefined)) return "issues";
  const issues = answer.issues.flatMap((issue) => {
    const reason = reasonOf(issue.reason);
    return reason === undefined ? [] : [{ ...issue, reason }];
  });
  const failed = reasons.some((reason) => reason !== "BW");
  return failed === (code === "RE") ? { code, description, reference, issues } : "reasons";
}
