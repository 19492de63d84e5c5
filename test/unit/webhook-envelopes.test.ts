/**
 * The states that an event says. Method: every way through the table of the lifecycle, and of each way every event that
 * its moves tell, read as it is pushed and pulled, so that a trigger that is added is asked for too.
 * @source spec/rulings.md, sections 5 and 10
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
