/**
 * The Connector: what an integrator does with the documents of a firm that it calls by its own name. @source
 * spec/enterprise.md, Connector; spec/rulings.md, section 11
 */
import { z } from "zod";

import type { RespondReply, RespondRequest } from "../../../engine/documents/inbound/respond.js";
import { parseReceivedDocumentId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { isXmlText } from "../../../engine/invoices/members.js";
import { RESPONSE_STATUSES } from "../../../engine/lifecycle/response.js";
import { idBy } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

interface ConnectorPorts {
  /** Gives the answer to the document's actor. @throws Refusal */
  respond(request: RespondRequest): Promise<RespondReply>;
}

const COMMON = {
  mounts: ["/api/v1"],
  family: "connector",
  credential: "partner",
  context: "customer",
  rate: "enterprise",
  tag: "Documents",
} as const;

const receivedId = z.object({ documentId: idBy(parseReceivedDocumentId) });

const response = z.object({
  status: z.enum(RESPONSE_STATUSES),
  direction: z.literal("sent"),
  delivery: z.enum(["sent", "queued"]),
  reason: z.string().optional(),
  respondedAt: z.iso.datetime(),
});

export const connectorRoutes = (ports: ConnectorPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "connectorRespond",
    receives: true,
    method: "POST",
    path: "/connector/documents/{documentId}/respond",
    scopes: ["documents:write"],
    summary: "Answer a received document",
    description:
      "Sends the counterparty a Peppol Invoice Response. The same status and note as the last answer are given back as they were, `idempotent` true, and not sent again, unless that answer surely did not arrive. A document is answered as often as its state changes.",
    request: {
      params: receivedId,
      body: z.object({
        status: z.enum(RESPONSE_STATUSES),
        note: z
          .string()
          .max(LIMITS.response_note_chars_max)
          .refine(isXmlText, "must be text that XML can hold")
          .optional()
          .describe("Why, in the firm's words; the counterparty reads it."),
      }),
    },
    responses: {
      200: {
        description: "The answer, sent or on its way.",
        schema: z.object({ id: z.uuid(), customerRef: z.string(), response, idempotent: z.boolean() }),
      },
    },
    errors: ["NOT_FOUND", "RESPONSE_STATE", "DOCUMENT_INVALID", "TEMPORARY"],
    handler: async ({ params, body, firm }) => {
      const { id, ...reply } = await ports.respond({
        firmId: firm.firmId,
        documentId: params.documentId,
        status: body.status,
        note: body.note,
      });
      return { status: 200, body: { id, customerRef: firm.customerRef, ...reply } };
    },
  }),
];
