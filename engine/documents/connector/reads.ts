/** What a firm has sent and received, in the words of the Connector. @source spec/rulings.md, section 11 */
import { isoInstant, isoOrNull } from "../../base/clock.js";
import type { Clock, Instant } from "../../base/clock.js";
import type { Cursors } from "../../base/cursors.js";
import type { FirmId } from "../../base/ids.js";
import { actionsOf, connectorState, statesOf } from "../../lifecycle/connector.js";
import type { ConnectorState } from "../../lifecycle/connector.js";
import { statusNamed } from "../../lifecycle/response.js";
import type { ConnectorType } from "../../invoices/connector/create-body.js";
import { findConnectorDocument, listConnectorDocuments } from "../../storage/documents/connector.js";
import type { ConnectorRow } from "../../storage/documents/connector.js";
import { orNotFound, orTemporary } from "../../storage/sql.js";
import type { DocumentSummary } from "../accept/validators.js";
import { kindOf, patternOf } from "../reads/kinds.js";
import type { ListedKind } from "../reads/kinds.js";
import { pageOf, placeBehind, refuseLost } from "../reads/places.js";
import type { Giving } from "../inbound/inbox.js";
import { settled } from "../reads/settled.js";
import { payloadOf, saidIn } from "./said.js";
import type { PayloadPorts, SayingPorts } from "./said.js";

/** Whose documents are read, and what the integrator calls the firm. */
export interface Customer {
  readonly firmId: FirmId;
  readonly customerRef: string;
}

/** To whom it is given, for as long as somebody waits for it. */
export interface ConnectorGiving extends Giving {
  /** Aborted when nobody waits any more. */
  readonly gone?: AbortSignal | undefined;
}

/** What reading for the Connector needs. */
export interface ConnectorReadPorts extends SayingPorts {
  readonly clock: Clock;
  readonly cursors: Cursors;
}

/** The kinds as the Connector calls them. */
export const TYPES = {
  invoice: "invoice",
  credit_note: "credit_note",
  self_billing: "self_billing_invoice",
  self_billing_credit_note: "self_billing_credit_note",
} as const satisfies Record<ListedKind, ConnectorType>;

const kindsOf = Object.entries(TYPES) as readonly (readonly [ListedKind, ConnectorType])[];

/** The scheme under which a participant is named by its Slovak tax id. */
const TAX_ID_SCHEME = "0245:";

type Party = DocumentSummary["supplier"];

const partyOf = (party: Party | undefined, participant: string) => {
  const networkId = party?.participantId ?? participant;
  return {
    name: party?.name ?? null,
    country: party?.country ?? null,
    companyId: party?.companyId ?? null,
    taxId: networkId.startsWith(TAX_ID_SCHEME) ? networkId.slice(TAX_ID_SCHEME.length) : null,
    vatId: party?.vatId ?? null,
    networkId,
  };
};

const responseOf = ({ responseCode, responseReason, respondedAt, direction }: ConnectorRow) =>
  responseCode === null
    ? null
    : {
        status: statusNamed(responseCode),
        direction: direction === "outbound" ? ("received" as const) : ("sent" as const),
        reason: responseReason,
        respondedAt: isoOrNull(respondedAt),
      };

/** A document as an integrator's program sees it. */
function shownOf(row: ConnectorRow, customerRef: string, said: DocumentSummary | undefined) {
  const kind = kindOf(row.documentTypeId);
  const isSelfBilled = kind?.startsWith("self_billing") === true;
  const [sender, recipient] = isSelfBilled ? [said?.customer, said?.supplier] : [said?.supplier, said?.customer];
  const path = `/api/v1/connector/documents/${row.id}`;
  const query = `?customerRef=${encodeURIComponent(customerRef)}`;
  return {
    id: row.id,
    customerRef,
    externalId: row.externalId,
    direction: row.direction,
    type: kind === null ? null : TYPES[kind],
    number: said?.number ?? row.number,
    state: connectorState(row),
    statusReason: row.statusReason,
    currency: said?.currency ?? null,
    amounts: {
      withoutTax: said?.totals.taxExclusive ?? null,
      tax: said?.totals.tax ?? null,
      total: said?.totals.taxInclusive ?? null,
      due: said?.totals.payable ?? null,
    },
    sender: partyOf(sender, row.sender),
    recipient: {
      ...partyOf(recipient, row.receiver),
      ...(row.resolution === null ? {} : { resolution: row.resolution }),
    },
    issueDate: said?.issueDate ?? null,
    dueDate: said?.dueDate ?? null,
    taxPointDate: said?.taxPointDate ?? null,
    deliveryDate: said?.deliveryDate ?? null,
    processedAt: isoOrNull(row.acknowledgedAt),
    processedReference: row.reference,
    createdAt: isoInstant(row.createdAt),
    updatedAt: isoInstant(row.updatedAt),
    response: responseOf(row),
    actions: [...actionsOf(row)],
    links: {
      self: `${path}${query}`,
      evidence: `${path}/evidence${query}`,
      supportPacket: `${path}/support-packet${query}`,
      ubl: `${path}/ubl${query}`,
    },
  };
}

/** A document of the Connector. */
export type ConnectorDocument = ReturnType<typeof shownOf>;

/** One document, sent or received. @throws Refusal NOT_FOUND, TEMPORARY */
export async function readConnectorDocument(
  ports: ConnectorReadPorts,
  { firmId, customerRef }: Customer,
  id: string,
  { isShown = true, gone }: ConnectorGiving = {},
): Promise<ConnectorDocument> {
  const shownAt = isShown ? ports.clock.now() : undefined;
  const row = await orNotFound(findConnectorDocument(ports.sql, firmId, { id, shownAt }));
  const [said] = await saidIn(ports, { firmId, gone }, [row.id]);
  return shownOf(row, customerRef, said);
}

/** The exact octets of a document, sent or received. @throws Refusal NOT_FOUND, TEMPORARY */
export async function readConnectorUbl(
  ports: PayloadPorts & Pick<ConnectorReadPorts, "clock">,
  { firmId }: Customer,
  id: string,
  { isShown = true }: Giving = {},
): Promise<Buffer> {
  const shownAt = isShown ? ports.clock.now() : undefined;
  await orNotFound(findConnectorDocument(ports.sql, firmId, { id, shownAt }));
  return payloadOf(ports, firmId, id);
}

/** What is listed. */
export interface ConnectorAsked extends ConnectorGiving {
  readonly direction: ConnectorDocument["direction"] | undefined;
  readonly state: ConnectorState | undefined;
  readonly type: ConnectorType | undefined;
  readonly createdAfter: Instant | undefined;
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** The feeds that a list goes by. */
const FEEDS = { inbound: ["received"], outbound: ["sent"], both: ["received", "sent"] } as const;

/**
 * A page of what was sent and received, oldest first, in an order in which nothing appears behind a reader.
 * @throws Refusal REQUEST_INVALID for a cursor that is not of this list; TEMPORARY
 */
export async function readConnectorDocuments(ports: ConnectorReadPorts, customer: Customer, asked: ConnectorAsked) {
  const { direction, state, type, createdAfter, cursor, limit, isShown = true, gone } = asked;
  const list = `connector/${customer.firmId}`;
  const { sent, received, ...standing } = statesOf(state);
  const query = {
    firmId: customer.firmId,
    after: placeBehind(ports.cursors, list, cursor),
    createdAfter,
    type: patternOf(kindsOf.find(([, name]) => name === type)?.[0]),
    sent: direction === "inbound" ? [] : sent,
    ...standing,
    received: direction === "outbound" ? [] : received,
    limit,
    shownAt: isShown ? ports.clock.now() : undefined,
  };
  const feeds = FEEDS[direction ?? "both"];
  await settled(ports, { firms: { firmId: customer.firmId }, showsJudged: direction !== "outbound", feeds });
  const found = await orTemporary(listConnectorDocuments(ports.sql, query));
  await refuseLost(ports.sql, "cursor", { ...query, rows: found });
  const { rows, nextCursor, hasMore } = pageOf(ports.cursors, list, { rows: found, limit, given: cursor });
  const said = await saidIn(
    ports,
    { firmId: customer.firmId, gone },
    rows.map(({ id }) => id),
  );
  const documents = rows.map((row, at) => shownOf(row, customer.customerRef, said[at]));
  return { documents, nextCursor, hasMore };
}
