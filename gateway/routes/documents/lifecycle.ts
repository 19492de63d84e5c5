/**
 * What became of a sent document. @source spec/enterprise.md, Webhooks, events and lifecycle; spec/rulings.md, sections
 * 5 and 13
 */
import { z } from "zod";

import type { EventsRecord, StatusRecord } from "../../../engine/documents/reads/lifecycle-reads.js";
import { MARK_STATES } from "../../../engine/documents/reads/marks.js";
import type { readSentDetail } from "../../../engine/documents/reads/sent.js";
import { PARTICIPANT_FORMS, parseDocumentId } from "../../../engine/base/ids.js";
import type { DocumentId, FirmId } from "../../../engine/base/ids.js";
import { OUTBOUND_STATES, TIMELINE_KINDS } from "../../../engine/lifecycle/document.js";
import { RESPONSE_CODES } from "../../../engine/lifecycle/response.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { idBy, wholeNumber } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

/** Reads of the engine; each throws Refusal NOT_FOUND for a document that is missing or of another firm. */
interface DocumentPorts {
  detail(firmId: FirmId, id: DocumentId): ReturnType<typeof readSentDetail>;
  status(firmId: FirmId, id: DocumentId): Promise<StatusRecord>;
  events(
    firmId: FirmId,
    id: DocumentId,
    page: { readonly limit: number; readonly cursor: string | undefined },
  ): Promise<EventsRecord>;
}

const COMMON = {
  mounts: ["/api/v1"],
  family: "enterprise",
  credential: "bearer",
  context: "firm",
  scopes: ["documents:read"],
  rate: "enterprise",
  tag: "Documents",
} as const;

const documentId = z.object({ id: idBy(parseDocumentId) });

const finding = z.object({ ruleId: z.string(), location: z.string(), message: z.string() }).partial();
const statusRecord = z.object({
  id: z.uuid(),
  status: z.enum(OUTBOUND_STATES),
  documentType: z.string(),
  senderPeppolId: z.string().regex(PARTICIPANT_FORMS.short),
  receiverPeppolId: z.string().regex(PARTICIPANT_FORMS.short),
  statusHistory: z.array(
    z.object({ status: z.enum(OUTBOUND_STATES), timestamp: z.iso.datetime(), detail: z.string().optional() }),
  ),
  validationResult: z.object({ errors: z.array(finding), warnings: z.array(finding) }).nullable(),
  deliveredAt: z.iso.datetime().nullable(),
  acknowledgedAt: z.iso.datetime().nullable(),
  invoiceResponseStatus: z.enum(RESPONSE_CODES).nullable(),
  as4MessageId: z.string(),
  statusReason: z.string().optional(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});

const detail = statusRecord.extend({
  externalId: z.string().nullable(),
  processId: z.string(),
  direction: z.literal("outbound"),
  documentNumber: z.string().nullable(),
  issueDate: z.string().nullable(),
  dueDate: z.string().nullable(),
  currency: z.string().nullable(),
  totalAmount: z.string().nullable(),
  payloadSha256: z.string(),
  attempts: z.number().int(),
  sentAt: z.iso.datetime().nullable(),
  marks: z.array(z.object({ state: z.enum(MARK_STATES), note: z.string().nullable(), markedAt: z.iso.datetime() })),
  links: z.object({
    self: z.string(),
    status: z.string(),
    events: z.string(),
    ubl: z.string(),
    evidence: z.string(),
    responses: z.string(),
    supportPacket: z.string(),
  }),
});

const eventsRecord = z.object({
  documentId: z.uuid(),
  events: z.array(
    z.object({
      id: z.uuid(),
      eventType: z.enum(TIMELINE_KINDS),
      actor: z.enum(["system", "user", "api"]),
      detail: z.string().nullable(),
      meta: z.unknown(),
      occurredAt: z.iso.datetime(),
    }),
  ),
  pagination: z.object({ limit: z.number(), nextCursor: z.string().nullable(), hasMore: z.boolean() }),
});

export const documentRoutes = (ports: DocumentPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "getDocument",
    method: "GET",
    path: "/documents/{id}",
    summary: "One sent document",
    request: { params: documentId },
    responses: { 200: { description: "What was sent, and what became of it.", schema: detail } },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async ({ params, firm }) => ({
      status: 200,
      body: (await ports.detail(firm.firmId, params.id)) as z.input<typeof detail>,
    }),
  }),
  route({
    ...COMMON,
    operation: "getDocumentStatus",
    method: "GET",
    path: "/documents/{id}/status",
    servesSapi: true,
    summary: "Status and history of a sent document",
    description:
      "id is the providerDocumentId that a send answered; a consent to SAPI alone is enough. invoiceResponseStatus is the recipient's business reply and proves no delivery.",
    request: { params: documentId },
    responses: { 200: { description: "The lifecycle record.", schema: statusRecord } },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async ({ params, firm }) => {
      return { status: 200, body: (await ports.status(firm.firmId, params.id)) as z.input<typeof statusRecord> };
    },
  }),
  route({
    ...COMMON,
    operation: "listDocumentEvents",
    method: "GET",
    path: "/documents/{id}/events",
    servesSapi: true,
    summary: "Timeline of a sent document",
    description: "A consent to SAPI alone is enough, as for the status.",
    request: {
      params: documentId,
      query: z.object({
        limit: wholeNumber({ min: 1, max: LIMITS.events_page_max, byDefault: LIMITS.events_page_default }),
        cursor: z.string().optional(),
      }),
    },
    responses: { 200: { description: "Oldest first.", schema: eventsRecord } },
    errors: ["NOT_FOUND", "REQUEST_INVALID", "TEMPORARY"],
    handler: async ({ params, query, firm }) => ({
      status: 200,
      body: await ports.events(firm.firmId, params.id, {
        limit: query.limit ?? LIMITS.events_page_default,
        cursor: query.cursor,
      }),
    }),
  }),
];
