/**
 * What belongs to a document of the Connector: its octets, its proofs, the mark that it was imported. @source
 * spec/enterprise.md, Connector; spec/rulings.md, section 11
 */
import { z } from "zod";

import type { FirmId, ReceivedDocumentId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import type { Giving } from "../../../engine/documents/inbound/inbox.js";
import type { ConnectorEventsAsked, readConnectorEvents } from "../../../engine/documents/connector/events.js";
import type { Customer } from "../../../engine/documents/connector/reads.js";
import type { AcknowledgedReply } from "../../../engine/documents/reads/acknowledge.js";
import type { readConnectorEvidence, readConnectorPacket } from "../../../engine/documents/connector/records.js";
import { evidenceMembers, link } from "../../../engine/documents/reads/evidence-shape.js";
import { connectorEventData } from "../../../engine/events/connector/event-shape.js";
import { CONNECTOR_TYPES } from "../../../engine/invoices/connector/create-body.js";
import {
  CONNECTOR_EVENT_STATES,
  CONNECTOR_EVENT_TYPES,
  CONNECTOR_STATES,
} from "../../../engine/lifecycle/connector.js";
import { packetShape } from "../../../engine/documents/reads/packet-shape.js";
import { uuid, wholeNumber } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

/** Each throws Refusal NOT_FOUND for a document that is missing or of another firm. */
interface RecordPorts {
  ubl(customer: Customer, id: string, giving: Giving): Promise<Buffer>;
  evidence(customer: Customer, id: string): ReturnType<typeof readConnectorEvidence>;
  supportPacket(customer: Customer, id: string): ReturnType<typeof readConnectorPacket>;
  events(customer: Customer, asked: ConnectorEventsAsked): ReturnType<typeof readConnectorEvents>;
  /** Gives the mark to the actor of the participant that received the document. */
  acknowledge(firmId: FirmId, id: ReceivedDocumentId, reference: string | undefined): Promise<AcknowledgedReply>;
}

const CUSTOMER = {
  mounts: ["/api/v1"],
  family: "connector",
  credential: "partner",
  context: "customer",
  scopes: ["documents:read"],
  rate: "enterprise",
  tag: "Documents",
} as const;

const state = z.enum(CONNECTOR_STATES);
const evidenceRecord = evidenceMembers.extend({ state, links: z.object({ self: link }) });
const packet = packetShape.extend({ status: state, evidence: evidenceRecord });

const acknowledgement = z
  .object({
    reference: z
      .string()
      .trim()
      .min(1)
      .max(LIMITS.connector_reference_chars_max)
      .optional()
      .describe("What the firm's own program calls the document."),
  })
  .optional();

const eventItem = z
  .object({
    id: z.uuid(),
    type: z.enum(CONNECTOR_EVENT_TYPES),
    customerRef: z.string(),
    documentId: z.uuid(),
    state: z.enum(CONNECTOR_EVENT_STATES),
    occurredAt: z.iso.datetime(),
    data: connectorEventData.extend({ type: z.enum(CONNECTOR_TYPES).nullable() }),
  })
  .meta({ id: "ConnectorEvent" });

/** What happened, to be read page by page. */
export const connectorEventRoutes = (ports: Pick<RecordPorts, "events">): readonly Route[] => [
  route({
    ...CUSTOMER,
    operation: "connectorListEvents",
    method: "GET",
    path: "/connector/events",
    showsMany: true,
    summary: "Follow what happens to a firm's documents",
    description:
      "Oldest first. Save nextCursor after a commit of your own, and use it also when hasMore is false. Without a cursor everything is told from the beginning; the id of an event tells a repeat.",
    request: {
      query: z.object({
        cursor: z.string().min(1).optional(),
        limit: wholeNumber({ min: 1, max: LIMITS.connector_page_max, byDefault: LIMITS.connector_page_default }),
      }),
    },
    responses: {
      200: {
        description: "One page.",
        schema: z.object({ events: z.array(eventItem), nextCursor: z.string(), hasMore: z.boolean() }),
      },
    },
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    handler: async ({ query: { cursor, limit = LIMITS.connector_page_default }, firm }) => ({
      status: 200,
      body: await ports.events(firm, { cursor, limit }),
    }),
  }),
];

export const connectorRecordRoutes = (ports: RecordPorts): readonly Route[] => [
  route({
    ...CUSTOMER,
    operation: "connectorGetUbl",
    method: "GET",
    path: "/connector/documents/{documentId}/ubl",
    summary: "Read a document's UBL",
    showsDocument: true,
    request: { params: z.object({ documentId: uuid }) },
    responses: { 200: { description: "The exact octets.", contentType: "application/xml" } },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async ({ params, firm, givesBody }) => ({
      status: 200,
      body: { raw: await ports.ubl(firm, params.documentId, { isShown: givesBody }) },
      contentType: "application/xml",
    }),
  }),
  route({
    ...CUSTOMER,
    operation: "connectorGetEvidence",
    method: "GET",
    path: "/connector/documents/{documentId}/evidence",
    summary: "Read what proves a document's way over the network",
    request: { params: z.object({ documentId: uuid }) },
    responses: { 200: { description: "Ids, instants and digests.", schema: evidenceRecord } },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async ({ params, firm }) => ({ status: 200, body: await ports.evidence(firm, params.documentId) }),
  }),
  route({
    ...CUSTOMER,
    operation: "connectorGetSupportPacket",
    method: "GET",
    path: "/connector/documents/{documentId}/support-packet",
    summary: "What support needs to know of a document",
    description: "Evidence, timeline, attempts, verdict and versions; nothing of what the document says.",
    request: { params: z.object({ documentId: uuid }) },
    responses: { 200: { description: "The packet.", schema: packet } },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async ({ params, firm }) => ({ status: 200, body: await ports.supportPacket(firm, params.documentId) }),
  }),
  route({
    ...CUSTOMER,
    operation: "connectorAcknowledge",
    receives: true,
    method: "POST",
    path: "/connector/documents/{documentId}/acknowledge",
    scopes: ["documents:write"],
    summary: "Confirm that a received document was imported",
    description:
      "Confirms the import into the firm's own program; nothing is sent to the counterparty. Safe to repeat: the first instant and the first reference stay.",
    request: { params: z.object({ documentId: uuid }), body: acknowledgement },
    responses: {
      200: {
        description: "It is processed.",
        schema: z.object({
          id: z.uuid(),
          customerRef: z.string(),
          state: z.literal("processed"),
          processedAt: z.iso.datetime(),
          reference: z.string().nullable(),
          idempotent: z.boolean().describe("Whether it was acknowledged before."),
        }),
      },
    },
    errors: ["NOT_FOUND", "REQUEST_INVALID", "TEMPORARY"],
    handler: async ({ params, body, firm }) => {
      const id = params.documentId as ReceivedDocumentId;
      const { acknowledgedAt, reference, isFirst } = await ports.acknowledge(firm.firmId, id, body?.reference);
      return {
        status: 200,
        body: {
          id: params.documentId,
          customerRef: firm.customerRef,
          state: "processed" as const,
          processedAt: acknowledgedAt,
          reference,
          idempotent: !isFirst,
        },
      };
    },
  }),
];
