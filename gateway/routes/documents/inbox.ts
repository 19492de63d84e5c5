/** What a firm has received, and what all firms of an integrator have. @source spec/shapes.md, section 6 */
import { z } from "zod";

import { PARTICIPANT_FORMS, parseReceivedDocumentId } from "../../../engine/base/ids.js";
import type { FirmId, ReceivedDocumentId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import type { AcknowledgedReply } from "../../../engine/documents/reads/acknowledge.js";
import type { Giving } from "../../../engine/documents/inbound/inbox.js";
import { jsonWithText } from "../../../engine/documents/inbound/json-text.js";
import { LISTED_KINDS } from "../../../engine/documents/reads/kinds.js";
import { RECEIVED_WORDS } from "../../../engine/documents/reads/received.js";
import type {
  InboxAsked,
  readAllInboxes,
  readFirmInbox,
  readReceivedDetail,
} from "../../../engine/documents/reads/received.js";
import type { Caller } from "../../../engine/identity/caller.js";
import { idBy, instant, wholeNumber } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

/** Each throws Refusal NOT_FOUND for a document that is missing, of another firm, or not to be seen yet. */
interface InboxPorts {
  inbox(firmId: FirmId, asked: InboxAsked): ReturnType<typeof readFirmInbox>;
  /** Of all firms for which the caller may read at this moment. */
  all(caller: Caller, asked: InboxAsked): ReturnType<typeof readAllInboxes>;
  detail(firmId: FirmId, id: ReceivedDocumentId, giving: Giving): ReturnType<typeof readReceivedDetail>;
  /** Gives the mark to the actor of the participant that received the document. */
  acknowledge(firmId: FirmId, id: ReceivedDocumentId): Promise<AcknowledgedReply>;
}

const COMMON = {
  mounts: ["/api/v1"],
  family: "enterprise",
  receives: true,
  rate: "enterprise",
  tag: "Inbox",
} as const;
const OF_FIRM = { ...COMMON, credential: "bearer", context: "firm" } as const;

const participantId = z.string().regex(PARTICIPANT_FORMS.short);
const receivedItem = z.object({
  documentId: z.uuid(),
  direction: z.literal("inbound"),
  status: z.enum(RECEIVED_WORDS),
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
  as4MessageId: z.string(),
  payloadSha256: z.string(),
  receivedAt: z.iso.datetime(),
  acknowledgedAt: z.iso.datetime().nullable(),
  clientReference: z.string().nullable(),
});
const ofFirm = z.object({
  id: z.uuid(),
  firm_id: z.uuid(),
  firm_name: z.string(),
  kind: z.enum(LISTED_KINDS).nullable(),
  status: z.enum(RECEIVED_WORDS),
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
  received_at: z.iso.datetime(),
  acknowledged_at: z.iso.datetime().nullable(),
  client_reference: z.string().nullable(),
});
const pageMembers = {
  total: z.number().int().describe(`Counted up to ${LIMITS.firm_documents_counted_max}.`),
  limit: z.number().int(),
  offset: z.number().int(),
};

const pageQuery = z.object({
  offset: wholeNumber({ min: 0, max: LIMITS.inbox_offset_max, byDefault: 0 }),
  limit: wholeNumber({ min: 1, max: LIMITS.inbox_page_max, byDefault: LIMITS.inbox_page_default }),
  status: z.enum(RECEIVED_WORDS).optional().describe("Both, when it is left out."),
  since: instant.optional().describe("Received then or later."),
});
const askedOf = ({ offset = 0, limit = LIMITS.inbox_page_default, status, since }: z.output<typeof pageQuery>) => ({
  offset,
  limit,
  status,
  since,
});

const params = z.object({ id: idBy(parseReceivedDocumentId) });

export const documentInboxRoutes = (ports: InboxPorts): readonly Route[] => [
  route({
    ...OF_FIRM,
    operation: "listInbox",
    method: "GET",
    path: "/documents/inbox",
    scopes: ["documents:read"],
    showsMany: true,
    summary: "List received documents",
    description: "Oldest first.",
    request: { query: pageQuery },
    responses: {
      200: {
        description: "One page.",
        schema: z.object({ documents: z.array(receivedItem), ...pageMembers, hasMore: z.boolean() }),
      },
    },
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    handler: async ({ firm, query, givesBody }) => ({
      status: 200,
      body: await ports.inbox(firm.firmId, { ...askedOf(query), isShown: givesBody }),
    }),
  }),
  route({
    ...COMMON,
    operation: "listInboxes",
    credential: "partner",
    context: "forbidden",
    method: "GET",
    path: "/documents/inbox/all",
    scopes: ["documents:read"],
    showsMany: true,
    summary: "List what all firms have received",
    description:
      "Oldest first, of every firm with an active consent that allows to read its documents. Firms that only send have none.",
    request: { query: pageQuery },
    responses: {
      200: {
        description: "One page.",
        schema: z.object({ documents: z.array(ofFirm), ...pageMembers, has_more: z.boolean() }),
      },
    },
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    handler: async ({ caller, query, givesBody }) => ({
      status: 200,
      body: await ports.all(caller, { ...askedOf(query), isShown: givesBody }),
    }),
  }),
  route({
    ...OF_FIRM,
    operation: "getInboxDocument",
    method: "GET",
    path: "/documents/inbox/{id}",
    scopes: ["documents:read"],
    summary: "Read a received document with its UBL",
    showsDocument: true,
    request: { params },
    responses: {
      200: {
        description: "The document with the full UBL.",
        schema: z.object({ document: receivedItem, payload: z.string() }),
      },
    },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async ({ firm, params: { id }, givesBody }) => {
      const { document, payload } = await ports.detail(firm.firmId, id, { isShown: givesBody });
      return {
        status: 200,
        body: { raw: await jsonWithText({ document }, { payload }) },
        contentType: "application/json; charset=utf-8",
      };
    },
  }),
  route({
    ...OF_FIRM,
    operation: "acknowledgeInboxDocument",
    method: "POST",
    path: "/documents/inbox/{id}/acknowledge",
    scopes: ["documents:write"],
    summary: "Mark a received document as processed",
    description:
      "A local mark: nothing is told to the sender. A second time, through whichever interface, answers the first time's acknowledgedAt.",
    request: { params },
    responses: {
      200: {
        description: "Acknowledged.",
        schema: z.object({
          documentId: z.uuid(),
          status: z.literal("ACKNOWLEDGED"),
          acknowledgedAt: z.iso.datetime(),
        }),
      },
    },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async ({ firm, params: { id } }) => {
      const { acknowledgedAt } = await ports.acknowledge(firm.firmId, id);
      return { status: 200, body: { documentId: id, status: "ACKNOWLEDGED" as const, acknowledgedAt } };
    },
  }),
];
