/**
 * The pull interface: what was received and sent, in an order in which nothing appears behind a reader; snake_case.
 * @source spec/shapes.md, section 6, Pull API
 */
import { z } from "zod";

import { PARTICIPANT_FORMS, parseDocumentId, parseReceivedDocumentId } from "../../../engine/base/ids.js";
import type { DocumentId, FirmId, ReceivedDocumentId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import type { Giving } from "../../../engine/documents/inbound/inbox.js";
import type { AcknowledgedReply } from "../../../engine/documents/reads/acknowledge.js";
import type { Envelope } from "../../../engine/documents/reads/evidence.js";
import { LISTED_KINDS } from "../../../engine/documents/reads/kinds.js";
import { RECEIVED_WORDS } from "../../../engine/documents/reads/received.js";
import type { pullInbound, ReceivedPullAsked, readPulledReceived } from "../../../engine/documents/reads/received.js";
import type {
  pulledSent,
  pullOutbound,
  pullOutboundEvents,
  SentPullAsked,
} from "../../../engine/documents/reads/sent.js";
import { OUTBOUND_STATES, PULL_STATUSES, TIMELINE_KINDS } from "../../../engine/lifecycle/document.js";
import { RESPONSE_CODES } from "../../../engine/lifecycle/response.js";
import { idBy, participant, wholeNumber } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

/** Each throws Refusal NOT_FOUND for a document that is missing or of another firm. */
interface PullPorts {
  inbound(firmId: FirmId, asked: ReceivedPullAsked): ReturnType<typeof pullInbound>;
  received(firmId: FirmId, id: ReceivedDocumentId, giving: Giving): ReturnType<typeof readPulledReceived>;
  receivedUbl(firmId: FirmId, id: ReceivedDocumentId, giving: Giving): Promise<Buffer>;
  /** Gives the mark to the actor of the participant that received the document. */
  acknowledge(firmId: FirmId, id: ReceivedDocumentId, reference: string | undefined): Promise<AcknowledgedReply>;
  outbound(firmId: FirmId, asked: SentPullAsked): ReturnType<typeof pullOutbound>;
  sent(firmId: FirmId, id: DocumentId): Promise<ReturnType<typeof pulledSent>>;
  sentUbl(firmId: FirmId, id: DocumentId): Promise<Buffer>;
  /** The receiving access point's signed receipt. */
  receipt(firmId: FirmId, id: DocumentId): Promise<Envelope>;
  events(firmId: FirmId, asked: Pick<SentPullAsked, "since" | "limit">): ReturnType<typeof pullOutboundEvents>;
}

const COMMON = {
  mounts: ["/api/v1"],
  family: "enterprise",
  credential: "bearer",
  context: "firm",
  scopes: ["documents:read"],
  rate: "enterprise",
  tag: "Pull",
} as const;
const INBOUND = { ...COMMON, receives: true } as const;

const since = z
  .string()
  .min(1)
  .optional()
  .describe("The next_cursor of the page before, or an ISO 8601 date and time with its zone to begin at.");
const limit = wholeNumber({ min: 1, max: LIMITS.pull_page_max, byDefault: LIMITS.pull_page_default });
const pageMembers = {
  next_cursor: z
    .string()
    .nullable()
    .describe("Where to go on, also when has_more is false; null while there is nothing."),
  has_more: z.boolean(),
};

const participantId = z.string().regex(PARTICIPANT_FORMS.short);
const shared = {
  id: z.uuid(),
  kind: z.enum(LISTED_KINDS).nullable().describe("null for what is no invoice."),
  document_number: z.string().nullable(),
  issue_date: z.string().nullable(),
  due_date: z.string().nullable(),
  currency: z.string().nullable(),
  total_amount: z.string().nullable(),
  sender: participantId,
  recipient: participantId,
  document_type_id: z.string(),
  process_id: z.string(),
  as4_message_id: z.string(),
  payload_sha256: z.string(),
};
const receivedItem = z.object({
  ...shared,
  status: z.enum(RECEIVED_WORDS),
  received_at: z.iso.datetime(),
  acknowledged_at: z.iso.datetime().nullable(),
  client_reference: z.string().nullable(),
});
const sentItem = z.object({
  ...shared,
  status: z.enum(PULL_STATUSES),
  state: z.enum(OUTBOUND_STATES).describe("The same in the words of all other interfaces."),
  status_reason: z.string().nullable(),
  business_status: z
    .enum(RESPONSE_CODES)
    .nullable()
    .meta({ openapi: { type: "string", enum: [...RESPONSE_CODES], nullable: true } }),
  external_id: z.string().nullable(),
  attempts: z.number().int(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  delivered_at: z.iso.datetime().nullable(),
});
const event = z.object({
  event_id: z.uuid(),
  event: z.enum(TIMELINE_KINDS),
  document_id: z.uuid(),
  detail: z.string().nullable(),
  meta: z.unknown(),
  occurred_at: z.iso.datetime(),
});

const receivedPath = z.object({ id: idBy(parseReceivedDocumentId) });
const sentPath = z.object({ id: idBy(parseDocumentId) });

const inboundRows = (ports: PullPorts): readonly Route[] => [
  route({
    ...INBOUND,
    operation: "pullInboundDocuments",
    method: "GET",
    path: "/inbound/documents",
    showsMany: true,
    summary: "Pull received documents",
    description: "In the order in which they could be seen. Go on with next_cursor after it was stored.",
    request: {
      query: z.object({ since, limit, kind: z.enum(LISTED_KINDS).optional(), sender: participant.optional() }),
    },
    responses: {
      200: { description: "One page.", schema: z.object({ documents: z.array(receivedItem), ...pageMembers }) },
    },
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    handler: async ({ firm, query, givesBody }) => {
      const { limit: most = LIMITS.pull_page_default, since: from, kind, sender } = query;
      const asked = { since: from, limit: most, kind, sender, isShown: givesBody };
      return { status: 200, body: await ports.inbound(firm.firmId, asked) };
    },
  }),
  route({
    ...INBOUND,
    operation: "getInboundDocument",
    method: "GET",
    path: "/inbound/documents/{id}",
    summary: "Read a received document",
    request: { params: receivedPath },
    responses: { 200: { description: "The document without its UBL.", schema: receivedItem } },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async ({ firm, params, givesBody }) => ({
      status: 200,
      body: await ports.received(firm.firmId, params.id, { isShown: givesBody }),
    }),
  }),
  route({
    ...INBOUND,
    operation: "getInboundDocumentUbl",
    method: "GET",
    path: "/inbound/documents/{id}/ubl",
    summary: "The UBL of a received document",
    showsDocument: true,
    request: { params: receivedPath },
    responses: { 200: { description: "The exact bytes as they were received.", contentType: "application/xml" } },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async ({ firm, params, givesBody }) => ({
      status: 200,
      body: { raw: await ports.receivedUbl(firm.firmId, params.id, { isShown: givesBody }) },
      contentType: "application/xml",
    }),
  }),
  route({
    ...INBOUND,
    operation: "acknowledgeInboundDocument",
    method: "POST",
    path: "/inbound/documents/{id}/ack",
    scopes: ["documents:write"],
    summary: "Mark a received document as processed",
    description:
      "The first acknowledgement and the first client_reference stay, through whichever interface they came.",
    request: {
      params: receivedPath,
      body: z
        .object({ client_reference: z.string().trim().min(1).max(LIMITS.client_reference_chars_max).nullish() })
        .optional(),
    },
    responses: {
      200: {
        description: "Acknowledged.",
        schema: z.object({
          id: z.uuid(),
          status: z.literal("acknowledged"),
          acknowledged_at: z.iso.datetime(),
          client_reference: z.string().nullable(),
        }),
      },
    },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async ({ firm, params: { id }, body }) => {
      const { acknowledgedAt, reference } = await ports.acknowledge(
        firm.firmId,
        id,
        body?.client_reference ?? undefined,
      );
      return {
        status: 200,
        body: {
          id,
          status: "acknowledged" as const,
          acknowledged_at: acknowledgedAt,
          client_reference: reference,
        },
      };
    },
  }),
];

const outboundRows = (ports: PullPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "pullOutboundDocuments",
    method: "GET",
    path: "/outbound/documents",
    showsMany: true,
    summary: "Pull sent documents",
    description:
      "In the order in which they were accepted. Go on with next_cursor after it was stored. status and business_status choose by what a document is at that moment: one that becomes it later does not come behind next_cursor, GET /outbound/events tells of it.",
    request: {
      query: z.object({
        since,
        limit,
        kind: z.enum(LISTED_KINDS).optional(),
        status: z.enum(PULL_STATUSES).optional(),
        business_status: z.enum(RESPONSE_CODES).optional(),
        recipient: participant.optional(),
      }),
    },
    responses: {
      200: { description: "One page.", schema: z.object({ documents: z.array(sentItem), ...pageMembers }) },
    },
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    handler: async ({ firm, query }) => {
      const { limit: most = LIMITS.pull_page_default, since: from, kind, status, recipient } = query;
      const asked = { since: from, limit: most, kind, status, businessStatus: query.business_status, recipient };
      return { status: 200, body: await ports.outbound(firm.firmId, asked) };
    },
  }),
  route({
    ...COMMON,
    operation: "getOutboundDocument",
    method: "GET",
    path: "/outbound/documents/{id}",
    summary: "Read a sent document",
    request: { params: sentPath },
    responses: { 200: { description: "The document without its UBL.", schema: sentItem } },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async ({ firm, params }) => ({ status: 200, body: await ports.sent(firm.firmId, params.id) }),
  }),
  route({
    ...COMMON,
    operation: "getOutboundDocumentUbl",
    method: "GET",
    path: "/outbound/documents/{id}/ubl",
    summary: "The UBL of a sent document",
    showsDocument: true,
    request: { params: sentPath },
    responses: { 200: { description: "The exact bytes as they were sent.", contentType: "application/xml" } },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async ({ firm, params }) => ({
      status: 200,
      body: { raw: await ports.sentUbl(firm.firmId, params.id) },
      contentType: "application/xml",
    }),
  }),
  route({
    ...COMMON,
    operation: "getOutboundDocumentReceipt",
    method: "GET",
    path: "/outbound/documents/{id}/mdn",
    summary: "The signed receipt for a sent document",
    description: "The receiving access point's receipt, byte for byte; 404 while there is none.",
    showsDocument: true,
    request: { params: sentPath },
    responses: { 200: { description: "The receipt as it was received.", contentType: "application/soap+xml" } },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async ({ firm, params }) => {
      const { bytes, contentType } = await ports.receipt(firm.firmId, params.id);
      return { status: 200, body: { raw: bytes }, contentType };
    },
  }),
  route({
    ...COMMON,
    operation: "pullOutboundEvents",
    method: "GET",
    path: "/outbound/events",
    showsMany: true,
    summary: "Pull what happened to sent documents",
    description: "Oldest first, beginning with each acceptance. Go on with next_cursor after it was stored.",
    request: { query: z.object({ since, limit }) },
    responses: { 200: { description: "One page.", schema: z.object({ events: z.array(event), ...pageMembers }) } },
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    handler: async ({ firm, query: { since: from, limit: most = LIMITS.pull_page_default } }) => ({
      status: 200,
      body: await ports.events(firm.firmId, { since: from, limit: most }),
    }),
  }),
];

export const documentPullRoutes = (ports: PullPorts): readonly Route[] => [
  ...inboundRows(ports),
  ...outboundRows(ports),
];
