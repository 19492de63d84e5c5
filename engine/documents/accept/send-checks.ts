/** What a SAPI send is checked for once its UBL has been read. The order of the list is the order of precedence. */
import { addDays, bratislavaDay } from "../../base/clock.js";
import type { Instant, LocalDay } from "../../base/clock.js";
import { Refusal } from "../../base/errors.js";
import type { ErrorDetail, ErrorName } from "../../base/errors.js";
import { participantKey } from "../../base/ids.js";
import type { ParticipantId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { parseDocumentType, SELF_BILLING_CUSTOMIZATION } from "../../peppol/envelope/identifiers.js";
import type { DocumentFacts, DocumentFinding, Endpoint, Inspection } from "./facts.js";

/** The parts of a send request that the document is held against. */
export interface SendSubject {
  readonly documentTypeId: string;
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  readonly receivedAt: Instant;
}

interface Check {
  readonly reason: ErrorName;
  /** Findings, or none when the check holds. `facts` is undefined only for the first check. */
  readonly find: (subject: SendSubject, inspection: Inspection, facts: DocumentFacts) => readonly ErrorDetail[];
}

const detailOf = (finding: DocumentFinding): ErrorDetail => ({
  ruleId: finding.ruleId,
  severity: finding.severity,
  location: finding.location,
  message: finding.message,
});

/** Whether a party's electronic address is this participant. */
export const isSame = (endpoint: Endpoint | undefined, participant: ParticipantId): boolean =>
  endpoint !== undefined && `${endpoint.schemeId}:${endpoint.value}`.toLowerCase() === participantKey(participant);

/** In self-billing the customer issues the invoice, so the customer's access point sends it. */
function endpointsOf(facts: DocumentFacts): {
  readonly ofSender: Endpoint | undefined;
  readonly ofReceiver: Endpoint | undefined;
  readonly issues: readonly [string, string];
} {
  return facts.customizationId === SELF_BILLING_CUSTOMIZATION
    ? {
        ofSender: facts.customerEndpoint,
        ofReceiver: facts.supplierEndpoint,
        issues: ["customer_endpoint_mismatch", "supplier_endpoint_mismatch"],
      }
    : {
        ofSender: facts.supplierEndpoint,
        ofReceiver: facts.customerEndpoint,
        issues: ["supplier_endpoint_mismatch", "customer_endpoint_mismatch"],
      };
}

function endpointMismatches(subject: SendSubject, facts: DocumentFacts): ErrorDetail[] {
  const { ofSender, ofReceiver, issues } = endpointsOf(facts);
  const found: ErrorDetail[] = [];
  if (!isSame(ofSender, subject.sender)) {
    found.push({
      code: "SAPI-DOC-025",
      issue: issues[0],
      field: "metadata.senderParticipantId",
      message: "The EndpointID of the party that sends the document differs from metadata.senderParticipantId.",
    });
  }
  if (!isSame(ofReceiver, subject.receiver)) {
    found.push({
      code: "SAPI-DOC-025",
      issue: issues[1],
      field: "metadata.receiverParticipantId",
      message: "The EndpointID of the party that receives the document differs from metadata.receiverParticipantId.",
    });
  }
  return found;
}

const handoffApplies = (day: LocalDay): boolean => day >= LIMITS.handoff_rules_from;

/** The last day on which the invoice may be issued; undefined when the document names no day of supply. */
export function issueDeadline(
  facts: Pick<DocumentFacts, "taxPointDate" | "deliveryDate" | "invoicePeriodEnd">,
  handoff: LocalDay,
): LocalDay | undefined {
  const supply = facts.taxPointDate ?? facts.deliveryDate ?? facts.invoicePeriodEnd;
  const row = LIMITS.issue_deadline_days.findLast(({ from }) => from <= handoff);
  if (supply === undefined || row === undefined || !/^\d{4}-\d{2}-\d{2}/.test(supply)) return undefined;
  return addDays(supply.slice(0, 10), row.days);
}

function handoffMismatch(subject: SendSubject, facts: DocumentFacts): ErrorDetail[] {
  const handoff = bratislavaDay(subject.receivedAt);
  if (!handoffApplies(handoff) || facts.issueDate?.slice(0, 10) === handoff) return [];
  return [
    {
      code: "SAPI-DOC-027",
      issue: "handoff_date_mismatch",
      field: "payload",
      location: `/${facts.rootLocal}/cbc:IssueDate`,
      message: `IssueDate must be ${handoff}, the day of hand-off in Europe/Bratislava.`,
    },
  ];
}

function deadlineExceeded(subject: SendSubject, facts: DocumentFacts): ErrorDetail[] {
  const handoff = bratislavaDay(subject.receivedAt);
  const deadline = issueDeadline(facts, handoff);
  if (!handoffApplies(handoff) || deadline === undefined || handoff <= deadline) return [];
  return [
    {
      code: "SAPI-DOC-028",
      issue: "handoff_date_mismatch",
      field: "payload",
      location: `/${facts.rootLocal}/cbc:IssueDate`,
      message: `The invoice had to be issued by ${deadline}; the day of hand-off is ${handoff}.`,
    },
  ];
}

function rootMismatch(subject: SendSubject, facts: DocumentFacts): ErrorDetail[] {
  const type = parseDocumentType(subject.documentTypeId);
  if (type !== undefined && type.rootNamespace === facts.rootNamespace && type.rootLocal === facts.rootLocal) return [];
  return [
    {
      field: "metadata.documentTypeId",
      issue: "document_type_mismatch",
      message: "metadata.documentTypeId names another document than the root element of the payload.",
    },
  ];
}

function debitNoteWithoutOriginal(
  _subject: SendSubject,
  _inspection: Inspection,
  facts: DocumentFacts,
): readonly ErrorDetail[] {
  if (facts.typeCode !== "383" || facts.precedingInvoiceIds.length > 0) return [];
  return [
    {
      code: "SAPI-DOC-029",
      issue: "original_invoice_missing",
      field: "payload",
      location: `/${facts.rootLocal}/cac:BillingReference/cac:InvoiceDocumentReference/cbc:ID`,
      message: "Name the original invoice of this debit note (BT-25).",
    },
  ];
}

/** @source spec/rulings.md, section 2: SAPI send checks in this order; spec/sapi.md, Errors */
export const SEND_CHECKS: readonly Check[] = [
  {
    reason: "DOCUMENT_INVALID",
    find: (_, inspection) => (inspection.wellFormed ? [] : inspection.findings.map(detailOf)),
  },
  { reason: "DOCUMENT_TYPE_MISMATCH", find: (subject, _, facts) => rootMismatch(subject, facts) },
  { reason: "SAPI-DOC-025", find: (subject, _, facts) => endpointMismatches(subject, facts) },
  { reason: "SAPI-DOC-027", find: (subject, _, facts) => handoffMismatch(subject, facts) },
  { reason: "SAPI-DOC-028", find: (subject, _, facts) => deadlineExceeded(subject, facts) },
  { reason: "SAPI-DOC-029", find: debitNoteWithoutOriginal },
  { reason: "DOCUMENT_INVALID", find: (_, inspection) => (inspection.valid ? [] : inspection.findings.map(detailOf)) },
];

const UNREAD: DocumentFacts = {
  rootNamespace: "",
  rootLocal: "",
  customizationId: undefined,
  profileId: undefined,
  documentNumber: undefined,
  issueDate: undefined,
  dueDate: undefined,
  taxPointDate: undefined,
  deliveryDate: undefined,
  invoicePeriodEnd: undefined,
  typeCode: undefined,
  supplierEndpoint: undefined,
  customerEndpoint: undefined,
  precedingInvoiceIds: [],
  currency: undefined,
  payableAmount: undefined,
  buyerReference: undefined,
  supplierCountry: undefined,
  customerCountry: undefined,
  supplierName: undefined,
  customerName: undefined,
};

/** The refusal of the first check that finds something; undefined when the document may be accepted. */
export function refuseSend(subject: SendSubject, inspection: Inspection): Refusal | undefined {
  for (const { reason, find } of SEND_CHECKS) {
    const details = find(subject, inspection, inspection.facts ?? UNREAD);
    if (details.length > 0) return new Refusal(reason, details);
  }
  return undefined;
}
