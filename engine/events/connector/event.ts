/**
 * An event in the Connector's words: what is polled and what is pushed are one thing.
 * @source spec/rulings.md, section 11, Events
 */
import { isoInstant } from "../../base/clock.js";
import type { ConnectorEventType, ConnectorEventState } from "../../lifecycle/connector.js";
import type { ConnectorClaim } from "../../storage/events/dispatch.js";
import { statusNamed } from "../../lifecycle/response.js";
import type { StoodAnswer } from "../../storage/events/answers.js";
import type { Json } from "../../storage/sql.js";
import { doctypeKey } from "../webhooks/envelope.js";

interface Happened<State extends ConnectorEventState, Type extends string | null> {
  readonly id: string;
  readonly state: State;
  readonly customerRef: string;
  readonly documentId: string;
  readonly occurredAt: Date;
  readonly direction: "outbound" | "inbound";
  readonly type: Type;
  readonly number: string | null;
  /** The answer to it that stood then. */
  readonly answer: StoodAnswer | null;
}

/** An answer to a document in the Connector's words. */
const answerOf = ({ answer, direction }: Pick<Happened<ConnectorEventState, null>, "answer" | "direction">) =>
  answer === null
    ? null
    : {
        status: statusNamed(answer.code),
        direction: direction === "outbound" ? ("received" as const) : ("sent" as const),
        reason: answer.reason,
        respondedAt: isoInstant(answer.at),
      };

/** What happened to a document, as an integrator's program reads it. */
export const connectorEvent = <State extends ConnectorEventState, Type extends string | null>(
  happened: Happened<State, Type>,
) => {
  const { id, state, customerRef, documentId, occurredAt, direction, type, number } = happened;
  return {
    id,
    type: `document.${state}` as const,
    customerRef,
    documentId,
    state,
    occurredAt: isoInstant(occurredAt),
    data: { direction, type, number, response: answerOf(happened) },
  };
};

type EventData = Pick<Happened<ConnectorEventState, string | null>, "direction" | "type" | "number">;
type PushedData = EventData & Pick<ConnectorClaim, "answer">;

/** States whose document was received. */
const INBOUND: readonly ConnectorEventState[] = ["received", "processed"];
const stateOf = (type: ConnectorEventType): ConnectorEventState =>
  type.slice("document.".length) as ConnectorEventState;
const directionOf = (type: ConnectorEventType): EventData["direction"] =>
  INBOUND.includes(stateOf(type)) ? "inbound" : "outbound";

/** The number of the document that a test tells of, which exists nowhere. */
const TEST_NUMBER = "TEST-1";

/** What an event that never happened says of its document. */
export const connectorTestData = (event: ConnectorEventType): EventData => ({
  direction: directionOf(event),
  type: "invoice",
  number: TEST_NUMBER,
});

function dataOf({
  event,
  documentTypeId,
  number,
  answer,
}: Pick<ConnectorClaim, "event" | "documentTypeId" | "number" | "answer">): PushedData {
  const type = doctypeKey(documentTypeId);
  return { direction: directionOf(event), type: type === "other" ? null : type, number, answer };
}

/** What was stored of an event that never happened; a column of jsonb holds whatever it was given. */
function storedData(event: ConnectorEventType, stored: Json): PushedData {
  const members: Readonly<Record<string, unknown>> = typeof stored === "object" && stored !== null ? { ...stored } : {};
  const { direction, type, number } = members;
  return {
    direction: direction === "inbound" || direction === "outbound" ? direction : directionOf(event),
    type: typeof type === "string" ? type : null,
    number: typeof number === "string" ? number : null,
    answer: null,
  };
}

/** What an event is made of, beside the name of its type. */
type Told = Pick<
  ConnectorClaim,
  | "eventId"
  | "event"
  | "customerRef"
  | "documentId"
  | "occurredAt"
  | "documentTypeId"
  | "number"
  | "answer"
  | "testData"
>;

/** The body of a delivery: the event itself. It is made of what never changes, so that every attempt says the same. */
export function pushedEvent(told: Told) {
  const { eventId, event, customerRef, documentId, occurredAt, testData } = told;
  const data = testData === null ? dataOf(told) : storedData(event, testData);
  const said = connectorEvent({ id: eventId, state: stateOf(event), customerRef, documentId, occurredAt, ...data });
  return testData === null ? said : { ...said, test: true as const };
}
