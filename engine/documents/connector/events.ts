/** What happened to a firm's documents, in the words of the Connector. @source spec/rulings.md, section 11, Events */
import { connectorEvent } from "../../events/connector/event.js";
import type { ConnectorEventState } from "../../lifecycle/connector.js";
import { listConnectorEvents } from "../../storage/documents/connector.js";
import type { ConnectorEventRow } from "../../storage/documents/connector.js";
import { FEED_START } from "../../storage/events/feed.js";
import { orTemporary } from "../../storage/sql.js";
import { kindOf } from "../reads/kinds.js";
import { pageOf, placeBehind, refuseLost } from "../reads/places.js";
import { TYPES } from "./reads.js";
import type { ConnectorReadPorts, Customer } from "./reads.js";

/** What a page of events asks for. */
export interface ConnectorEventsAsked {
  readonly cursor: string | undefined;
  readonly limit: number;
}

/**
 * The kinds of the timeline that are events here, each as the state that it tells of. What happened to a document
 * between them is read from the document.
 */
const TOLD = {
  "document.queued": "queued",
  "document.cancelled": "cancelled",
  "document.delivered": "delivered",
  "document.rejected": "failed",
  "document.delivery_failed": "failed",
  "document.received": "received",
  "document.processed": "processed",
} as const satisfies Partial<Record<ConnectorEventRow["kind"], ConnectorEventState>>;
const KINDS = Object.keys(TOLD) as readonly (keyof typeof TOLD)[];

const stateOf = ({ kind, status }: ConnectorEventRow): ConnectorEventState =>
  status === "validation_failed" && kind === "document.rejected" ? "needs_attention" : TOLD[kind as keyof typeof TOLD];

/**
 * A page of events, oldest first, in an order in which nothing appears behind a reader.
 * @throws Refusal REQUEST_INVALID for a cursor that is not of this list; TEMPORARY
 */
export async function readConnectorEvents(
  { sql, cursors }: Pick<ConnectorReadPorts, "sql" | "cursors">,
  { firmId, customerRef }: Customer,
  { cursor, limit }: ConnectorEventsAsked,
) {
  const list = `connector events/${firmId}`;
  const after = placeBehind(cursors, list, cursor);
  const found = await orTemporary(listConnectorEvents(sql, { firmId, after, kinds: KINDS, limit }));
  await refuseLost(sql, "cursor", { after, rows: found });
  const { rows, nextCursor, hasMore } = pageOf(cursors, list, { rows: found, limit, given: cursor });
  return {
    events: rows.map((row) => {
      const state = stateOf(row);
      const kind = kindOf(row.documentTypeId);
      const { id, documentId, occurredAt, direction, number, answer } = row;
      const type = kind === null ? null : TYPES[kind];
      return connectorEvent({ id, state, customerRef, documentId, occurredAt, direction, type, number, answer });
    }),
    // Also before anything has happened there is a place to go on from.
    nextCursor: nextCursor ?? cursors.seal(list, `${FEED_START.transactionId}.${FEED_START.position}`),
    hasMore,
  };
}
