/** What a firm says to and of a document, and what support needs to know of it. @source spec/shapes.md, section 6 */
import { z } from "zod";

import type { FirmId, ReceivedDocumentId } from "../../../engine/base/ids.js";
import { parseReceivedDocumentId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import type { RespondReply } from "../../../engine/documents/inbound/respond.js";
import { MARK_STATES } from "../../../engine/documents/reads/marks.js";
import type { Mark, Marked } from "../../../engine/documents/reads/marks.js";
import type { readResponses } from "../../../engine/documents/reads/responses.js";
import { packetShape } from "../../../engine/documents/reads/packet-shape.js";
import type { readSupportPacket } from "../../../engine/documents/reads/support-packet.js";
import { isXmlText } from "../../../engine/invoices/members.js";
import { RESPONSE_CODES } from "../../../engine/lifecycle/response.js";
import type { ResponseCode } from "../../../engine/lifecycle/response.js";
import { idBy, uuid } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

/** Each throws Refusal NOT_FOUND for a document that is missing or of another firm. */
interface HandlingPorts {
  /** Gives the answer to the document's actor. @throws Refusal RESPONSE_STATE, DOCUMENT_INVALID */
  respond(
    firmId: FirmId,
    answer: { readonly id: ReceivedDocumentId; readonly code: ResponseCode; readonly note: string | undefined },
  ): Promise<RespondReply>;
  responses(firmId: FirmId, id: string): ReturnType<typeof readResponses>;
  /** Gives the mark to the actor of the participant that sent or received the document. */
  mark(firmId: FirmId, mark: Mark): Promise<Marked>;
  supportPacket(firmId: FirmId, id: string): ReturnType<typeof readSupportPacket>;
}

const COMMON = {
  mounts: ["/api/v1"],
  family: "enterprise",
  credential: "bearer",
  context: "firm",
  rate: "enterprise",
  tag: "Documents",
} as const;

const code = z.enum(RESPONSE_CODES);
const anyDocument = z.object({ id: uuid });
const codeOrNull = code.nullable().meta({ openapi: { type: "string", enum: [...RESPONSE_CODES], nullable: true } });

const response = z.object({
  id: z.uuid(),
  direction: z.enum(["received", "sent"]).describe("By whom: the buyer of what was sent, or the firm itself."),
  status: codeOrNull,
  reason: z.string().nullable().describe("In words; null where there are none, and where the outcome is foreign."),
  applied: z.boolean().describe("Whether it counts; one that may not follow another is shown and changes nothing."),
  outcome: z.string().nullable().describe("What came of a received one."),
  delivery: z.enum(["sent", "queued", "failed"]).nullable().describe("How far the firm's own has come."),
  respondedAt: z.iso
    .datetime()
    .describe(
      "When a received one was told, as in its event, or came where it does not count; when the firm gave its own.",
    ),
  issuedAt: z.iso.datetime().nullable().describe("When it says that it was made; null where it does not say it."),
});

const answerRows = (ports: HandlingPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "respondToDocument",
    receives: true,
    method: "POST",
    path: "/documents/{id}/respond",
    scopes: ["documents:write"],
    summary: "Answer a received document",
    description:
      "Sends the counterparty a Peppol Invoice Response. The same status and note as the last answer are given back as they were, `idempotent` true, and not sent again, unless that answer surely did not arrive.",
    request: {
      params: z.object({ id: idBy(parseReceivedDocumentId) }),
      body: z.object({
        status: code.describe(
          "AB received, IP in process, UQ under query, CA conditionally accepted, RE rejected, AP accepted, PD paid.",
        ),
        note: z
          .string()
          .max(LIMITS.response_note_chars_max)
          .refine(isXmlText, "must be text that XML can hold")
          .nullish()
          .describe("Why; the counterparty reads it."),
      }),
    },
    responses: {
      200: {
        description: "The answer, sent or on its way.",
        schema: z.object({
          documentId: z.uuid(),
          status: code,
          reason: z.string().nullable(),
          delivery: z.enum(["sent", "queued"]),
          respondedAt: z.iso.datetime(),
          idempotent: z.boolean(),
        }),
      },
    },
    errors: ["NOT_FOUND", "RESPONSE_STATE", "DOCUMENT_INVALID", "TEMPORARY"],
    handler: async ({ firm, params: { id }, body: { status, note } }) => {
      const answer = { id, code: status, note: note ?? undefined };
      const { response: said, idempotent } = await ports.respond(firm.firmId, answer);
      const { delivery, reason = null, respondedAt } = said;
      return { status: 200, body: { documentId: id, status, reason, delivery, respondedAt, idempotent } };
    },
  }),
  route({
    ...COMMON,
    operation: "listDocumentResponses",
    method: "GET",
    path: "/documents/{id}/responses",
    scopes: ["documents:read"],
    summary: "What was answered to a document",
    description: `Oldest first: what the buyer answered to a sent document, or what the firm answered to a received one. Of more than ${LIMITS.responses_listed_max} those that count are listed before all others, and the newest.`,
    request: { params: anyDocument },
    responses: {
      200: {
        description: "The answers, those that do not count included.",
        schema: z.object({ documentId: z.uuid(), responses: z.array(response) }),
      },
    },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async ({ firm, params }) => ({ status: 200, body: await ports.responses(firm.firmId, params.id) }),
  }),
];

const supportRows = (ports: HandlingPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "markDocument",
    method: "POST",
    path: "/documents/{id}/mark",
    scopes: ["documents:write"],
    summary: "Note how the firm itself handled a document",
    description:
      "`processed` acknowledges a received document, and what became of a sent one. `read`, `delivered` (to the firm's own program) and `failed` (to get there) are noted. The state of the transport never changes. Repeated: the first time stays, a newer note counts.",
    request: {
      params: anyDocument,
      body: z.object({
        state: z.enum(MARK_STATES),
        note: z.string().trim().min(1).max(LIMITS.mark_note_chars_max).nullish(),
      }),
    },
    responses: {
      200: {
        description: "The mark as it stands.",
        schema: z.object({
          documentId: z.uuid(),
          state: z.enum(MARK_STATES),
          note: z.string().nullable(),
          markedAt: z.iso.datetime(),
          acknowledgedAt: z.iso.datetime().nullable(),
        }),
      },
    },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async ({ firm, params: { id }, body: { state, note } }) => ({
      status: 200,
      body: await ports.mark(firm.firmId, { id, state, note: note ?? undefined }),
    }),
  }),
  route({
    ...COMMON,
    operation: "getSupportPacket",
    method: "GET",
    path: "/documents/{id}/support-packet",
    scopes: ["evidence:read"],
    summary: "What support needs to know of a document",
    description: "Evidence, timeline, attempts, verdict and versions; nothing of what the document says.",
    request: { params: anyDocument },
    responses: { 200: { description: "The packet.", schema: packetShape } },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async ({ firm, params }) => ({
      status: 200,
      body: await ports.supportPacket(firm.firmId, params.id),
    }),
  }),
];

export const documentHandlingRoutes = (ports: HandlingPorts): readonly Route[] => [
  ...answerRows(ports),
  ...supportRows(ports),
];
