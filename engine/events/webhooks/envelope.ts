/**
 * What a receiver reads of an event, pushed or pulled: the envelope, and in its data the members of its kind. It is
 * made of what never changes, so that every attempt and every pull says the same.
 * @source spec/rulings.md, section 10; spec/shapes.md, section 5
 */
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import { firstChars } from "../../base/text.js";
import { OUTBOUND_STATES, OUTBOUND_TRIGGERS, outboundMove } from "../../lifecycle/document.js";
import type { EventKind } from "../../lifecycle/document.js";
import type { FeedKind } from "../../lifecycle/feed.js";
import { BILLING_CAPABILITIES, isSelfBilling, parseDocumentType } from "../../peppol/envelope/identifiers.js";
import type { MessageRow } from "../../storage/events/dispatch.js";

/** What an event says of its document. */
type EventData = Readonly<Record<string, string | number | boolean | null>>;

/** An event as it is pushed and pulled. */
export interface EventEnvelope {
  readonly event: FeedKind;
  readonly event_version: "1";
  readonly webhook_id: string;
  readonly webhook_event_id: string;
  readonly timestamp: string;
  readonly data: EventData;
}

/** Words for documents by the root of their type; the second for self-billing. */
const DOCTYPE_KEYS = {
  Invoice: ["invoice", "self_billing_invoice"],
  CreditNote: ["credit_note", "self_billing_credit_note"],
} as const;
type DoctypeKey = (typeof DOCTYPE_KEYS)[keyof typeof DOCTYPE_KEYS][number];

/** The word for a document's type; `other` for one that is neither invoice nor credit note. */
export function doctypeKey(documentTypeId: string | null): DoctypeKey | "other" {
  const type = documentTypeId === null ? undefined : parseDocumentType(documentTypeId);
  const words = Object.entries(DOCTYPE_KEYS).find(([root]) => root === type?.rootLocal)?.[1];
  return words === undefined ? "other" : words[isSelfBilling(documentTypeId ?? "") ? 1 : 0];
}

/** What a document and its event tell of themselves. */
type Told = Omit<MessageRow, "deliveryId" | "subscriptionId" | "firmId" | "eventId">;

interface Change {
  readonly status: string;
  readonly previous: string | null;
}

/**
 * The step of a document's history that told this kind, with the status before it; undefined where there is none. The
 * lifecycle says which triggers tell it, so that none can be forgotten here.
 */
function movedTelling(kind: EventKind): (row: Told) => Change | undefined {
  const triggers: ReadonlySet<string> = new Set(
    OUTBOUND_TRIGGERS.filter((trigger) =>
      OUTBOUND_STATES.some((state) => outboundMove(state, trigger)?.emits.includes(kind)),
    ),
  );
  return ({ history }) => {
    const at = history?.findIndex(({ trigger }) => triggers.has(trigger)) ?? -1;
    const step = history?.[at];
    return step === undefined ? undefined : { status: step.status, previous: history?.[at - 1]?.status ?? null };
  };
}

interface Meta {
  readonly attempt?: number;
  readonly mls?: string;
  readonly response?: string;
}

const metaOf = ({ meta }: Told): Meta => (typeof meta === "object" && meta !== null ? (meta as Meta) : {});

/** A stranger's words, or ours, cut to what an envelope carries. */
const reason = (text: string | null): string | null =>
  text === null ? null : firstChars(text, LIMITS.webhook_reason_chars_max);

/** What each kind tells: the step of the document, and the members of its own. */
interface KindRow {
  readonly change: (row: Told) => Change | undefined;
  readonly members: (row: Told, at: string) => EventData;
}

const fixed =
  (status: string, previous: string | null): KindRow["change"] =>
  () => ({ status, previous });

const attempts = (row: Told): EventData => {
  const { attempt } = metaOf(row);
  return attempt === undefined ? {} : { attempts: attempt };
};

const KINDS: Readonly<Record<FeedKind, KindRow>> = {
  "document.created": { change: fixed("queued", null), members: () => ({}) },
  "document.validated": { change: fixed("queued", "queued"), members: () => ({}) },
  "document.received": {
    change: fixed("received", null),
    members: ({ as4MessageId }, at) => ({ received_at: at, as4_message_id: as4MessageId }),
  },
  "document.sent": {
    change: fixed("sent", "queued"),
    members: (row, at) => ({ sent_at: at, as4_message_id: row.as4MessageId, ...attempts(row) }),
  },
  "document.delivered": {
    change: fixed("delivered", "sent"),
    members: (row, at) => ({ delivered_at: at, as4_message_id: row.as4MessageId, ...attempts(row) }),
  },
  "document.delivery_failed": {
    change: movedTelling("document.delivery_failed"),
    members: (row) => ({ failure_reason: reason(row.statusReason ?? row.detail), ...attempts(row) }),
  },
  "document.rejected": {
    change: movedTelling("document.rejected"),
    members: (row, at) => ({
      rejected_at: at,
      failure_reason: reason(row.statusReason ?? row.detail),
      ...attempts(row),
    }),
  },
  "document.mls_received": {
    change: movedTelling("document.mls_received"),
    members: (row, at) => ({
      received_at: at,
      response_code: metaOf(row).mls ?? null,
      response_reason: reason(row.detail),
      responder: "peer_ap",
    }),
  },
  "document.response_received": {
    change: fixed("delivered", "delivered"),
    members: (row, at) => ({
      responded_at: at,
      response_code: metaOf(row).response ?? null,
      response_reason: reason(row.detail),
      responder: "buyer",
    }),
  },
};

/** Members that an envelope has only where the document has them. */
function present(members: EventData): EventData {
  const shown: Record<string, EventData[string]> = {};
  for (const [name, value] of Object.entries(members)) if (value !== null) shown[name] = value;
  return shown;
}

/** What an event that happened says. */
function dataOf(row: Told): EventData {
  const kind = KINDS[row.event];
  const change = kind.change(row);
  const inbound = row.event === "document.received";
  return {
    document_id: row.documentId,
    ...present({ document_number: row.number }),
    direction: inbound ? "inbound" : "outbound",
    doctype_key: doctypeKey(row.documentTypeId),
    status: change?.status ?? "unknown",
    previous_status: change?.previous ?? null,
    ...present({
      total_amount: row.amount,
      currency: row.currency,
      issue_date: row.issueDate,
      due_date: row.dueDate,
      sender_peppol_id: row.sender,
      receiver_peppol_id: row.receiver,
    }),
    ...kind.members(row, isoInstant(row.occurredAt)),
  };
}

/** The envelope of a delivery. */
export const envelopeOf = (row: MessageRow): EventEnvelope => ({
  event: row.event,
  event_version: "1",
  webhook_id: row.subscriptionId,
  webhook_event_id: row.eventId,
  timestamp: isoInstant(row.occurredAt),
  data: row.testData === null ? dataOf(row) : (row.testData as EventData),
});

/** A document that does not exist, with every member that an event may tell, and a history that has every step. */
const SAMPLE = {
  documentTypeId: BILLING_CAPABILITIES[0]?.documentTypeId ?? "",
  sender: "0245:2120000017",
  receiver: "0245:2120000025",
  as4MessageId: "test@kurier",
  number: "TEST-1",
  amount: "123.00",
  currency: "EUR",
  issueDate: "2027-01-15",
  dueDate: "2027-01-29",
  statusReason: "This event is a test.",
  detail: "This event is a test.",
  meta: { attempt: 1, mls: "AP", response: "AP" },
  testData: null,
} as const;

/** The history that leads to what an event tells. */
const SAMPLE_HISTORY: Readonly<Partial<Record<FeedKind, MessageRow["history"]>>> = {
  "document.delivery_failed": [
    { status: "queued", trigger: "accepted" },
    { status: "send_failed", trigger: "attempts_exhausted" },
  ],
  "document.rejected": [
    { status: "queued", trigger: "accepted" },
    { status: "rejected", trigger: "peer_refused" },
  ],
  "document.mls_received": [
    { status: "sent", trigger: "transmitted" },
    { status: "delivered", trigger: "mls_ap" },
  ],
};

/** What a test event says, of a document that does not exist; the member `test` is in no other event. */
export function testData(documentId: string, event: FeedKind, at: Instant): EventData {
  const [occurredAt, createdAt] = [new Date(at), new Date(at)];
  const row = { ...SAMPLE, documentId, event, occurredAt, createdAt, history: SAMPLE_HISTORY[event] ?? null };
  return { ...dataOf(row), test: true };
}
