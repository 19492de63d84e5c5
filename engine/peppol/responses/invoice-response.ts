/**
 * Peppol Invoice Response 3.1 (transaction T111): what a buyer says to an invoice, written and read.
 * @source validators/rules/invoice-response (facts of the release); spec/rulings.md, sections 5 and 11
 */
import type { ResponseFacts } from "../../../validators/responses.js";
import { bratislavaDay, bratislavaTime, parseInstant } from "../../base/clock.js";
import type { Instant, LocalDay } from "../../base/clock.js";
import { parseParticipantId, participantParts } from "../../base/ids.js";
import type { ParticipantId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { RESPONSE_CODES } from "../../lifecycle/response.js";
import type { ResponseCode } from "../../lifecycle/response.js";
import {
  aggregate,
  applicationResponse,
  basic,
  clipped,
  dateInstant,
  idOf,
  UBL_APPLICATION_RESPONSE,
} from "./application-response.js";
import { canonicalProcessId, documentTypeId, parseDocumentType } from "../envelope/identifiers.js";

/** The CustomizationID of Peppol Invoice Response 3. */
export const INVOICE_RESPONSE_CUSTOMIZATION = "urn:fdc:peppol.eu:poacc:trns:invoice_response:3";
/** The ProfileID of Peppol Invoice Response 3. */
export const INVOICE_RESPONSE_PROFILE = "urn:fdc:peppol.eu:poacc:bis:invoice_response:3";
/** The document type of an Invoice Response, without scheme. */
export const INVOICE_RESPONSE_DOCUMENT_TYPE = documentTypeId({
  rootNamespace: UBL_APPLICATION_RESPONSE,
  rootLocal: "ApplicationResponse",
  customizationId: INVOICE_RESPONSE_CUSTOMIZATION,
  version: "2.1",
});

/**
 * Codes that must come with a reason.
 * @source PEPPOL-T111-R001
 */
const OWES_REASON: ReadonlySet<ResponseCode> = new Set<ResponseCode>(["UQ", "CA", "RE"]);

/** One of the two parties of an Invoice Response. */
export interface ResponseParty {
  readonly participant: ParticipantId;
  readonly name: string;
}

/** What an Invoice Response is made of. */
export interface NewInvoiceResponse {
  readonly id: string;
  readonly issuedAt: Instant;
  /** Who answers: the receiver of the invoice. */
  readonly sender: ResponseParty;
  readonly receiver: ResponseParty;
  readonly code: ResponseCode;
  /** Why, in the firm's words. */
  readonly note: string | undefined;
  /** BT-1, BT-2 (`YYYY-MM-DD`) and BT-3 of the invoice. */
  readonly invoice: { readonly number: string; readonly issueDate: string | undefined; readonly typeCode: string };
}

const party = (name: "SenderParty" | "ReceiverParty", { participant, name: legalName }: ResponseParty): string => {
  const { scheme: schemeID, value: id } = participantParts(participant);
  return aggregate(
    name,
    basic("EndpointID", id, { schemeID }),
    aggregate("PartyLegalEntity", basic("RegistrationName", clipped(legalName, 255))),
  );
};

function reasonOf(code: ResponseCode, note: string | undefined): string {
  const text = note === undefined ? "" : clipped(note, LIMITS.response_note_chars_max);
  if (text === "" && !OWES_REASON.has(code)) return "";
  return aggregate(
    "Status",
    basic("StatusReasonCode", OWES_REASON.has(code) ? "OTH" : "NON", { listID: "OPStatusReason" }),
    basic("StatusReason", text === "" ? "No reason was given." : text),
  );
}

/**
 * Writes one response. It bears the day on which it is made in Slovakia, as the invoice does: in the first hours of a
 * day that of UTC would lie before an invoice of the same day.
 */
export const buildInvoiceResponse = (response: NewInvoiceResponse): Buffer =>
  applicationResponse(
    basic("CustomizationID", INVOICE_RESPONSE_CUSTOMIZATION),
    basic("ProfileID", INVOICE_RESPONSE_PROFILE),
    basic("ID", response.id),
    basic("IssueDate", bratislavaDay(response.issuedAt)),
    basic("IssueTime", bratislavaTime(response.issuedAt)),
    party("SenderParty", response.sender),
    party("ReceiverParty", response.receiver),
    aggregate(
      "DocumentResponse",
      aggregate("Response", basic("ResponseCode", response.code), reasonOf(response.code, response.note)),
      aggregate(
        "DocumentReference",
        basic("ID", response.invoice.number),
        ...(response.invoice.issueDate === undefined ? [] : [basic("IssueDate", response.invoice.issueDate)]),
        basic("DocumentTypeCode", response.invoice.typeCode),
      ),
    ),
  );

interface ResponseReason {
  readonly list: "OPStatusReason" | "OPStatusAction";
  readonly code: string;
  readonly text: string | undefined;
}

/** What an Invoice Response says. */
export interface InvoiceResponse {
  readonly id: string;
  /**
   * Day of issue as an instant at midnight UTC, with the time of day when the response has one: for putting responses
   * in order.
   */
  readonly issuedAt: Instant;
  /** Day of issue, `YYYY-MM-DD`: what puts responses in order. */
  readonly issuedOn: LocalDay;
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  readonly code: ResponseCode;
  readonly reasons: readonly ResponseReason[];
  readonly invoice: { readonly number: string; readonly issueDate: string | undefined; readonly typeCode: string };
  /** Ids of other documents that it names beside its invoice: an order, or the invoice that a credit note corrects. */
  readonly otherReferences: readonly string[];
}

/** Why a response was not read, in order of precedence. */
export const RESPONSE_FAULTS = [
  "not_readable",
  "customization",
  "profile",
  "id",
  "issued",
  "sender",
  "receiver",
  "responses",
  "code",
  "invoice",
] as const;
type ResponseFault = (typeof RESPONSE_FAULTS)[number];

/** The profiles in which a response may come: its own, or billing with response. */
const PROFILES: ReadonlySet<string> = new Set([INVOICE_RESPONSE_PROFILE, "urn:peppol:bis:billing_with_response"]);

/** What the envelope of a response declares of it: the response must say the same of itself. */
interface DeclaredResponse {
  readonly documentTypeId: string;
  readonly processId: string;
}

/**
 * Judges an Invoice Response strictly.
 * @param facts  what a worker read; undefined for what is no response
 * @param declared  what its envelope says; undefined where it is not known
 * @returns the response with the first LIMITS.mls_issues_max of its reasons, or the first fault of RESPONSE_FAULTS
 */
export function readInvoiceResponse(
  facts: ResponseFacts | undefined,
  declared?: DeclaredResponse,
): InvoiceResponse | ResponseFault {
  if (facts === undefined) return "not_readable";
  if (facts.customizationId?.startsWith(INVOICE_RESPONSE_CUSTOMIZATION) !== true) return "customization";
  if (!PROFILES.has(facts.profileId ?? "")) return "profile";
  if (declared !== undefined && parseDocumentType(declared.documentTypeId)?.customizationId !== facts.customizationId)
    return "customization";
  if (declared !== undefined && canonicalProcessId(declared.processId) !== facts.profileId) return "profile";
  const id = idOf(facts);
  if (id === undefined) return "id";
  const issuedAt = issued(facts);
  const issuedOn = facts.issueDate;
  if (issuedAt === undefined || issuedOn === undefined) return "issued";
  const sender = participantOf(facts.sender);
  if (sender === undefined) return "sender";
  const receiver = participantOf(facts.receiver);
  if (receiver === undefined) return "receiver";
  const answer = readAnswer(facts.answer);
  return typeof answer === "string" ? answer : { id, issuedOn, issuedAt, sender, receiver, ...answer };
}

const participantOf = (endpoint: ResponseFacts["sender"]): ParticipantId | undefined =>
  endpoint === undefined ? undefined : parseParticipantId(`${endpoint.schemeId}:${endpoint.value}`);

const TIME_OF_DAY = /^(\d\d:\d\d:\d\d)(?:\.\d{1,9})?(Z|[+-]\d\d:\d\d)?$/;

/** IssueTime is optional and may come without a zone: then it is read as UTC. */
function issued({ issueDate, issueTime }: ResponseFacts): Instant | undefined {
  const midnight = dateInstant(issueDate);
  const [, time, zone = "Z"] = TIME_OF_DAY.exec(issueTime ?? "") ?? [];
  if (midnight === undefined || time === undefined) return midnight;
  return parseInstant(`${issueDate}T${time}${zone}`) ?? midnight;
}

const LISTS = ["OPStatusReason", "OPStatusAction"] as const;

function readAnswer(
  answer: ResponseFacts["answer"],
): Pick<InvoiceResponse, "code" | "reasons" | "invoice" | "otherReferences"> | ResponseFault {
  if (answer === undefined) return "responses";
  const code = RESPONSE_CODES.find((known) => known === answer.code);
  if (code === undefined) return "code";
  const { number, issueDate, typeCode } = answer.document;
  if (number === undefined || typeCode === undefined) return "invoice";
  const reasons = answer.reasons.flatMap((reason): readonly ResponseReason[] => {
    const list = LISTS.find((name) => name === reason.list);
    return list === undefined || reason.code === undefined ? [] : [{ list, code: reason.code, text: reason.text }];
  });
  const otherReferences = answer.otherReferences
    .slice(0, LIMITS.response_references_max)
    .filter((other) => other !== undefined);
  return { code, reasons, invoice: { number, issueDate, typeCode }, otherReferences };
}
