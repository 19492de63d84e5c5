/**
 * What an event says. Method: for its states every way through the table of the lifecycle, and of each way every event
 * that its moves tell, read as it is pushed and pulled, so that a trigger that is added is asked for too; for its
 * members a document of which everything is known.
 * @source spec/rulings.md, sections 5 and 10; spec/shapes.md, section 5
 */
import { expect, test } from "vitest";

import type { FirmId } from "../../engine/base/ids.js";
import { envelopeOf } from "../../engine/events/webhooks/envelope.js";
import { OUTBOUND_STATES, OUTBOUND_TRIGGERS, outboundMove } from "../../engine/lifecycle/document.js";
import type { EventKind, OutboundState, OutboundTrigger } from "../../engine/lifecycle/document.js";
import { KINDS_WITH_HISTORY } from "../../engine/storage/events/dispatch.js";
import type { MessageRow } from "../../engine/storage/events/dispatch.js";

interface Step {
  readonly from: OutboundState;
  readonly trigger: OutboundTrigger;
  readonly to: OutboundState;
  readonly emits: readonly EventKind[];
}

const stepsFrom = (from: OutboundState): readonly Step[] =>
  OUTBOUND_TRIGGERS.flatMap((trigger) => {
    const move = outboundMove(from, trigger);
    return move === undefined ? [] : [{ from, trigger, ...move }];
  });

/** Ways of a document to wherever it ends. It is told of each kind once: a document has one status, the first. */
function waysFrom(from: OutboundState, told: readonly EventKind[] = []): readonly (readonly Step[])[] {
  const next = stepsFrom(from).filter(({ emits }) => emits.every((kind) => !told.includes(kind)));
  const further = next.flatMap((step) =>
    waysFrom(step.to, [...told, ...step.emits]).map((way) => [step, ...way] as const),
  );
  return [[], ...further];
}

/** What an event of a step is to say: where the step led, but that a receipt tells of the transmission first. */
function statesOf({ from, to, emits }: Step, kind: EventKind): readonly [status: string, previous: string] {
  const isThroughSent = emits.includes("document.sent") && emits.includes("document.delivered");
  if (!isThroughSent) return [to, from];
  return kind === "document.sent" ? ["sent", from] : [to, "sent"];
}

const rowOf = (event: EventKind, way: readonly Step[]): MessageRow => ({
  deliveryId: "delivery",
  subscriptionId: "subscription",
  firmId: "firm" as FirmId,
  eventId: "event",
  event,
  documentId: "document",
  occurredAt: new Date(0),
  createdAt: new Date(0),
  testData: null,
  documentTypeId: null,
  sender: null,
  receiver: null,
  as4MessageId: null,
  number: null,
  amount: null,
  currency: null,
  issueDate: null,
  dueDate: null,
  statusReason: null,
  history: KINDS_WITH_HISTORY.includes(event)
    ? [{ status: "queued", trigger: "accepted" }, ...way.map(({ to, trigger }) => ({ status: to, trigger }))]
    : null,
  detail: null,
  meta: null,
});

test("an event says the state that its move led to and the one before, whatever trigger made the move and whatever came after it", () => {
  const walked = new Set<string>();
  for (const way of waysFrom("queued")) {
    for (const step of way) {
      walked.add(`${step.from} ${step.trigger}`);
      for (const kind of step.emits) {
        const { data } = envelopeOf(rowOf(kind, way));
        const triggers = way.map(({ trigger }) => trigger).join(", ");
        expect([triggers, kind, data["status"], data["previous_status"]]).toEqual([
          triggers,
          kind,
          ...statesOf(step, kind),
        ]);
      }
    }
  }
  const moves = OUTBOUND_STATES.flatMap((state) => stepsFrom(state).map(({ trigger }) => `${state} ${trigger}`));
  expect([...walked].sort()).toEqual(moves.sort());
});

/** A document of which everything is known, with a stranger's words of 401 characters. */
const told = (event: EventKind, way: readonly OutboundTrigger[], meta: MessageRow["meta"]): MessageRow => ({
  ...rowOf(event, []),
  documentTypeId: null,
  sender: "0245:2120000017",
  receiver: "0245:2120000025",
  as4MessageId: "message@kurier",
  number: "F-1",
  amount: "12.30",
  currency: "EUR",
  issueDate: "2027-01-15",
  dueDate: "2027-01-29",
  statusReason: null,
  history: [
    { status: "queued", trigger: "accepted" },
    ...way.map((trigger) => ({ status: "rejected" as const, trigger })),
  ],
  detail: "ž".repeat(401),
  meta,
});
const COMMON = [
  ...["document_id", "document_number", "direction", "doctype_key", "status", "previous_status"],
  ...["total_amount", "currency", "issue_date", "due_date", "sender_peppol_id", "receiver_peppol_id"],
];
const AT = "1970-01-01T00:00:00.000Z";
const WORDS = "ž".repeat(400);

// shapes.md §5: "per event: sent_at, received_at, delivered_at, as4_message_id, rejected_at, responded_at, response_code
// AB|IP|UQ|CA|RE|AP|PD, response_reason, responder peer_ap|buyer|loopback, failure_reason (<=400), attempts"
test.each<readonly [EventKind, OutboundTrigger, MessageRow["meta"], Readonly<Record<string, unknown>>]>([
  ["document.delivery_failed", "attempts_exhausted", { attempt: 9 }, { failure_reason: WORDS, attempts: 9 }],
  ["document.rejected", "peer_refused", { attempt: 1 }, { rejected_at: AT, failure_reason: WORDS, attempts: 1 }],
  ["document.rejected", "mls_re", { mls: "RE" }, { rejected_at: AT, failure_reason: WORDS }],
  [
    "document.mls_received",
    "mls_re",
    { mls: "RE", issues: [{ location: "NA", reason: "BV", description: "words" }] },
    { received_at: AT, response_code: "RE", response_reason: WORDS, responder: "peer_ap" },
  ],
  [
    "document.response_received",
    "invoice_response",
    { response: "UQ", reasons: [{ list: "OPStatusReason", code: "OTH", text: "words" }] },
    { responded_at: AT, response_code: "UQ", response_reason: WORDS, responder: "buyer" },
  ],
])("%s by %s has its own members and no other, and at most 400 characters of a reason", (kind, trigger, meta, own) => {
  const { data } = envelopeOf(told(kind, [trigger], meta));
  expect(data).toMatchObject(own);
  expect(Object.keys(data).sort()).toEqual([...COMMON, ...Object.keys(own)].sort());
});
