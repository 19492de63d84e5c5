/** What a firm has sent: the list, many states at once, the exact bytes. @source spec/shapes.md, section 6 */
import { z } from "zod";

import type { DocumentId, FirmId } from "../../../engine/base/ids.js";
import { PARTICIPANT_FORMS, parseDocumentId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import type { Giving } from "../../../engine/documents/inbound/inbox.js";
import { LISTED_KINDS } from "../../../engine/documents/reads/kinds.js";
import type { OutboxAsked, readOutbox, readSentStates } from "../../../engine/documents/reads/sent.js";
import { OUTBOUND_STATES } from "../../../engine/lifecycle/document.js";
import { RESPONSE_CODES } from "../../../engine/lifecycle/response.js";
import { idBy, instant, participant, uuid, wholeNumber } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

/** Each throws Refusal NOT_FOUND for a document that is missing or of another firm. */
interface OutboxPorts {
  outbox(firmId: FirmId, asked: OutboxAsked): ReturnType<typeof readOutbox>;
  statuses(firmId: FirmId, ids: readonly DocumentId[]): ReturnType<typeof readSentStates>;
  /** The exact bytes of a sent or a received document. */
  ubl(firmId: FirmId, id: string, giving: Giving): Promise<Buffer>;
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

const participantId = z.string().regex(PARTICIPANT_FORMS.short);
const sentItem = z.object({
  id: z.uuid(),
  direction: z.literal("outbound"),
  status: z.enum(OUTBOUND_STATES),
  statusReason: z.string().nullable().describe("Why it failed; null otherwise."),
  documentType: z.enum(LISTED_KINDS).nullable().describe("null for what is no invoice."),
  documentTypeId: z.string(),
  processId: z.string(),
  senderPeppolId: participantId,
  receiverPeppolId: participantId,
  documentNumber: z.string().nullable(),
  issueDate: z.string().nullable(),
  dueDate: z.string().nullable(),
  currency: z.string().nullable(),
  totalAmount: z.string().nullable(),
  externalId: z.string().nullable(),
  invoiceResponseStatus: z.enum(RESPONSE_CODES).nullable(),
  as4MessageId: z.string(),
  payloadSha256: z.string(),
  attempts: z.number().int(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  deliveredAt: z.iso.datetime().nullable(),
  acknowledgedAt: z.iso.datetime().nullable(),
});

export const documentOutboxRoutes = (ports: OutboxPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "listOutbox",
    method: "GET",
    path: "/documents/outbox",
    showsMany: true,
    summary: "List sent documents",
    description: "Newest first, whichever interface they came through.",
    request: {
      query: z.object({
        offset: wholeNumber({ min: 0, max: LIMITS.inbox_offset_max, byDefault: 0 }),
        limit: wholeNumber({ min: 1, max: LIMITS.inbox_page_max, byDefault: LIMITS.inbox_page_default }),
        status: z.enum(OUTBOUND_STATES).optional(),
        receiver: participant.optional(),
        since: instant.optional(),
      }),
    },
    responses: {
      200: {
        description: "One page.",
        schema: z.object({
          documents: z.array(sentItem),
          total: z.number().int().describe(`Counted up to ${LIMITS.firm_documents_counted_max}.`),
          limit: z.number().int(),
          offset: z.number().int(),
          hasMore: z.boolean(),
        }),
      },
    },
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    handler: async ({ firm, query }) => {
      const { offset = 0, limit = LIMITS.inbox_page_default, status, receiver, since } = query;
      return { status: 200, body: await ports.outbox(firm.firmId, { offset, limit, status, receiver, since }) };
    },
  }),
  route({
    ...COMMON,
    operation: "batchDocumentStatus",
    method: "POST",
    path: "/documents/status/batch",
    showsMany: true,
    summary: "States of many sent documents",
    request: { body: z.object({ ids: z.array(idBy(parseDocumentId)).min(1).max(LIMITS.status_batch_max) }) },
    responses: {
      200: {
        description: "Those that the firm has sent, in the order of the ids, and the ids that name none of them.",
        schema: z.object({
          documents: z.array(
            sentItem
              .pick({
                id: true,
                status: true,
                invoiceResponseStatus: true,
                as4MessageId: true,
                deliveredAt: true,
                acknowledgedAt: true,
                createdAt: true,
                updatedAt: true,
              })
              .extend({ statusReason: z.string().nullable() }),
          ),
          missing: z.array(z.uuid()),
        }),
      },
    },
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    handler: async ({ firm, body }) => ({
      status: 200,
      body: await ports.statuses(firm.firmId, [...new Set(body.ids)]),
    }),
  }),
  route({
    ...COMMON,
    operation: "getDocumentUbl",
    method: "GET",
    path: "/documents/{id}/ubl",
    summary: "The UBL of a sent or received document",
    description: "The exact bytes as they were sent or received.",
    showsDocument: true,
    request: { params: z.object({ id: uuid }) },
    responses: { 200: { description: "The UBL.", contentType: "application/xml" } },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async ({ firm, params, givesBody }) => ({
      status: 200,
      body: { raw: await ports.ubl(firm.firmId, params.id, { isShown: givesBody }) },
      contentType: "application/xml",
    }),
  }),
];
