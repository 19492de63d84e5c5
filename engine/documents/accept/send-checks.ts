/** What a SAPI send is checked for once its UBL has been read. The order of the list is the order of precedence. */
import { bratislavaDay } from "../../base/clock.js";
import type { Instant, LocalDay } from "../../base/clock.js";
import { parseCalendarDay } from "../../base/dates.js";
import { Refusal } from "../../base/errors.js";
import type { ErrorDetail, ErrorName } from "../../base/errors.js";
import type { ParticipantId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { UBL_CREDIT_NOTE, UBL_INVOICE } from "../../peppol/envelope/identifiers.js";
import {
  endpointOfRole,
  hasDeclaredCustomization,
  hasDeclaredProcess,
  hasDeclaredRoot,
  isSame,
  otherRole,
  senderRole,
} from "../declared.js";
import type { DocumentFacts, DocumentFinding, Inspection } from "./facts.js";

/** The parts of a send request that the document is held against. */
export interface SendSubject {
  readonly documentTypeId: string;
  readonly processId: string;
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  readonly receivedAt: Instant;
}

export interface Check {
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

const PARTY_FIELDS = [
  { field: "metadata.senderParticipantId", does: "sends" },
  { field: "metadata.receiverParticipantId", does: "receives" },
] as const;

function endpointMismatches(subject: SendSubject, facts: DocumentFacts): ErrorDetail[] {
  const sends = senderRole(subject.documentTypeId);
  const parties = [
    { ...PARTY_FIELDS[0], role: sends, participant: subject.sender },
    { ...PARTY_FIELDS[1], role: otherRole(sends), participant: subject.receiver },
  ];
  return parties
    .filter(({ role, participant }) => !isSame(endpointOfRole(facts, role), participant))
    .map(({ role, field, does }) => ({
      code: "SAPI-DOC-025",
      issue: `${role}_endpoint_mismatch`,
      field,
      message: `The EndpointID of the party that ${does} the document differs from ${field}.`,
    }));
}

const handoffApplies = (day: LocalDay): boolean => day >= LIMITS.handoff_rules_from;

/**
 * Kinds of invoices that correct or charge what was supplied before; they, and all credit notes, have no deadline of
 * issue.
 * @source spec/rulings.md, section 14: 381, 383, 384 and their like (UNTDID 1001: notes, corrections, reversals)
 */
const WITHOUT_DEADLINE: ReadonlySet<string> = new Set([
  "80",
  "81",
  "83",
  "84",
  "381",
  "383",
  "384",
  "396",
  "457",
  "458",
  "471",
  "472",
  "473",
  "527",
  "532",
]);

/**
 * The last day on which an invoice may be issued; undefined when the document names no day of supply, or one that is
 * none, which is a finding of the rules. Deadlines beyond the calendar's end are no deadlines.
 */
export function issueDeadline(
  facts: Pick<DocumentFacts, "rootLocal" | "typeCode" | "taxPointDate" | "deliveryDate" | "invoicePeriodEnd">,
  handoff: LocalDay,
): { readonly ordinal: number; readonly days: number } | undefined {
  if (facts.rootLocal !== "Invoice" || WITHOUT_DEADLINE.has(facts.typeCode ?? "")) return undefined;
  const supply = facts.taxPointDate ?? facts.deliveryDate ?? facts.invoicePeriodEnd;
  const day = supply === undefined ? undefined : parseCalendarDay(supply);
  const row = LIMITS.issue_deadline_days.findLast(({ from }) => from <= handoff);
  return day === undefined || row === undefined ? undefined : { ordinal: day.ordinal + row.days, days: row.days };
}

function handoffMismatch(subject: SendSubject, facts: DocumentFacts): ErrorDetail[] {
  const handoff = bratislavaDay(subject.receivedAt);
  const issued = facts.issueDate === undefined ? undefined : parseCalendarDay(facts.issueDate);
  if (!handoffApplies(handoff) || issued === undefined || issued.day === handoff) return [];
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
  const today = parseCalendarDay(handoff);
  if (!handoffApplies(handoff) || deadline === undefined || today === undefined || today.ordinal <= deadline.ordinal)
    return [];
  return [
    {
      code: "SAPI-DOC-028",
      issue: "handoff_date_mismatch",
      field: "payload",
      location: `/${facts.rootLocal}/cbc:IssueDate`,
      message: `The invoice had to be issued within ${deadline.days} days of the supply; the day of hand-off is ${handoff}.`,
    },
  ];
}

/** Dates that rules of ours rest on, and where they stand. */
const DATES = [
  ["issueDate", "cbc:IssueDate"],
  ["taxPointDate", "cbc:TaxPointDate"],
  ["deliveryDate", "cac:Delivery/cbc:ActualDeliveryDate"],
  ["invoicePeriodEnd", "cac:InvoicePeriod/cbc:EndDate"],
] as const;

/**
 * Dates that are none. The rules find them too; whatever those are, no rule on dates is passed by a date that is none.
 */
const datesThatAreNone = (facts: DocumentFacts): ErrorDetail[] =>
  DATES.filter(([name]) => facts[name] !== undefined && parseCalendarDay(facts[name]) === undefined).map(
    ([, place]) => ({
      ruleId: "ENGINE-DATE",
      issue: "date_invalid",
      severity: "fatal",
      field: "payload",
      location: `/${facts.rootLocal}/${place}`,
      message: "This is no date of the calendar. Write YYYY-MM-DD.",
    }),
  );

const mismatch = (field: string, issue: string, message: string): ErrorDetail[] => [{ field, issue, message }];

/** The payload must say of itself what the metadata say of it; the first that differs is named. */
function declarationMismatch(subject: SendSubject, facts: DocumentFacts): ErrorDetail[] {
  if (!hasDeclaredRoot(subject, facts))
    return mismatch(
      "metadata.documentTypeId",
      "document_type_mismatch",
      "metadata.documentTypeId names another document than the root element of the payload.",
    );
  if (!hasDeclaredCustomization(subject, facts))
    return mismatch(
      "metadata.documentTypeId",
      "document_type_mismatch",
      "metadata.documentTypeId names another specification than the CustomizationID of the payload.",
    );
  if (!hasDeclaredProcess(subject, facts))
    return mismatch(
      "metadata.processId",
      "process_mismatch",
      "metadata.processId names another process than the ProfileID of the payload.",
    );
  return [];
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

const DOCUMENT_KINDS: ReadonlySet<string> = new Set([UBL_INVOICE, UBL_CREDIT_NOTE]);

/** What is checked where the document itself says of which type it is, and is called by its number. */
export const INVOICE_CHECKS: readonly Check[] = [
  {
    reason: "DOCUMENT_TYPE_MISMATCH",
    find: (_, __, { rootNamespace }) =>
      DOCUMENT_KINDS.has(rootNamespace)
        ? []
        : mismatch("payload", "document_type_mismatch", "Only UBL invoices and credit notes are sent here."),
  },
  {
    reason: "DOCUMENT_INVALID",
    find: (_, __, { documentNumber = "", rootLocal }) =>
      [...documentNumber.trim()].length <= LIMITS.document_id_chars_max
        ? []
        : [
            {
              ruleId: "ENGINE-NUMBER",
              severity: "fatal",
              field: "payload",
              location: `/${rootLocal}/cbc:ID`,
              message: `A document is known by its number here, which must have at most ${LIMITS.document_id_chars_max} characters.`,
            },
          ],
  },
];

/** @source spec/rulings.md, section 2: SAPI send checks in this order; spec/sapi.md, Errors */
export const SEND_CHECKS: readonly Check[] = [
  {
    reason: "DOCUMENT_INVALID",
    find: (_, inspection) => (inspection.wellFormed ? [] : inspection.findings.map(detailOf)),
  },
  { reason: "DOCUMENT_TYPE_MISMATCH", find: (subject, _, facts) => declarationMismatch(subject, facts) },
  { reason: "SAPI-DOC-025", find: (subject, _, facts) => endpointMismatches(subject, facts) },
  { reason: "SAPI-DOC-027", find: (subject, _, facts) => handoffMismatch(subject, facts) },
  { reason: "SAPI-DOC-028", find: (subject, _, facts) => deadlineExceeded(subject, facts) },
  { reason: "SAPI-DOC-029", find: debitNoteWithoutOriginal },
  {
    reason: "DOCUMENT_INVALID",
    find: (_, inspection, facts) => (inspection.valid ? datesThatAreNone(facts) : inspection.findings.map(detailOf)),
  },
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
  orderReference: undefined,
  supplierCountry: undefined,
  customerCountry: undefined,
  supplierName: undefined,
  customerName: undefined,
};

/**
 * The refusal of the first check that finds something; undefined when the document may be accepted.
 * @param checks those of the door. @default those of SAPI
 */
export function refuseSend(
  subject: SendSubject,
  inspection: Inspection,
  checks: readonly Check[] = SEND_CHECKS,
): Refusal | undefined {
  for (const { reason, find } of checks) {
    const details = find(subject, inspection, inspection.facts ?? UNREAD);
    if (details.length > 0) return new Refusal(reason, details);
  }
  return undefined;
}
