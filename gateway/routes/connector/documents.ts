/**
 * Documents in the words of an integrator's program: created, staged, listed, read. @source spec/enterprise.md,
 * Connector; spec/rulings.md, section 11
 */
import { z } from "zod";

import type { FirmId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { bratislavaDay } from "../../../engine/base/clock.js";
import type { SendReply } from "../../../engine/documents/accept/request.js";
import type { CreateBody, createDocument } from "../../../engine/documents/connector/create.js";
import type {
  ConnectorAsked,
  ConnectorDocument,
  ConnectorGiving,
  Customer,
  readConnectorDocuments,
} from "../../../engine/documents/connector/reads.js";
import type { StagedStep } from "../../../engine/documents/connector/staged.js";
import { warningOfUnread } from "../../../engine/documents/send/send.js";
import { actorOf } from "../../../engine/identity/audit.js";
import type { Actor } from "../../../engine/identity/audit.js";
import { CONNECTOR_TYPES, connectorCreateBody } from "../../../engine/invoices/connector/create-body.js";
import { CONNECTOR_STATES } from "../../../engine/lifecycle/connector.js";
import { connectorAnswer } from "../../../engine/events/connector/event-shape.js";
import { instant, uuid, wholeNumber } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

/** Each throws Refusal NOT_FOUND for a document that is missing or of another firm. */
interface ConnectorDocumentPorts {
  /** @throws Refusal of the door connector */
  create(body: CreateBody, facts: Parameters<typeof createDocument>[2]): Promise<SendReply>;
  documents(customer: Customer, asked: ConnectorAsked): ReturnType<typeof readConnectorDocuments>;
  document(customer: Customer, id: string, giving?: ConnectorGiving): Promise<ConnectorDocument>;
  /** @throws Refusal of a document that cannot be sent or cancelled */
  operate(step: Omit<StagedStep, "audit">, actor: Actor): Promise<{ readonly replayed: boolean }>;
}

const COMMON = {
  mounts: ["/api/v1"],
  family: "connector",
  credential: "partner",
  rate: "enterprise",
  tag: "Documents",
} as const;

/** Between the firms of the sandbox, so that it can be sent as it stands. */
const CREATE_EXAMPLE = {
  customerRef: "demo-sender",
  externalId: "order-2027-001",
  number: "F-2027-001",
  dueDate: "2027-12-31",
  recipient: { country: "SK", name: "Príjemca a. s.", taxId: "2120000025" },
  lines: [{ description: "Papier A4", quantity: 3, unit: "ks", unitPrice: "23.90", vatRate: 23 }],
};

const party = z.object({
  name: z.string().nullable(),
  country: z.string().nullable(),
  companyId: z.string().nullable(),
  taxId: z.string().nullable(),
  vatId: z.string().nullable(),
  networkId: z.string().describe("Participant id in the network."),
});
const amount = z.string().nullable().describe("As the document says it, exact.");

const members = {
  id: z.uuid(),
  customerRef: z.string(),
  externalId: z.string().nullable(),
  direction: z.enum(["outbound", "inbound"]),
  type: z.enum(CONNECTOR_TYPES).nullable().describe("null for what is no invoice."),
  number: z.string().nullable(),
  state: z.enum(CONNECTOR_STATES),
  statusReason: z.string().nullable().describe("Why it failed, or needs attention."),
  currency: z.string().nullable(),
  amounts: z.object({ withoutTax: amount, tax: amount, total: amount, due: amount }),
  sender: party,
  recipient: party.extend({
    resolution: z.enum(["verified", "declared"]).optional().describe("How the recipient was found; of sent documents."),
  }),
  issueDate: z.string().nullable(),
  dueDate: z.string().nullable(),
  taxPointDate: z.string().nullable(),
  deliveryDate: z.string().nullable(),
  processedAt: z.iso.datetime().nullable(),
  processedReference: z.string().nullable(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  response: connectorAnswer.nullable().describe("The last answer to it; null while there is none."),
  actions: z.array(z.enum(["send", "cancel", "acknowledge", "respond"])).describe("What can be done with it now."),
  links: z.object({ self: z.string(), evidence: z.string(), supportPacket: z.string(), ubl: z.string() }),
};
const document = z.object(members).meta({ id: "ConnectorDocument" });
const done = z.object({ ...members, replayed: z.boolean() });
const created = done.extend({
  warning: z.string().optional().describe("Which members of the body are not read: a name that is misspelt, for one."),
});

const CREATE_ERRORS = [
  "REQUEST_INVALID",
  "SAPI-PROC-002",
  "SAPI-PROC-003",
  "EXTERNAL_ID_CONFLICT",
  "SAPI-DOC-024",
  "SAPI-DOC-025",
  "SENDER_UNREGISTERED",
  "DOCUMENT_TYPE_MISMATCH",
  "DOCUMENT_INVALID",
  "RECIPIENT_CAPABILITY",
  "TEMPORARY",
] as const;

const CUSTOMER = { ...COMMON, context: "customer", scopes: ["documents:read"] } as const;

const customerOf = ({ firmId, customerRef }: { readonly firmId: FirmId; readonly customerRef: string }): Customer => ({
  firmId,
  customerRef,
});

/** What is done with a staged document. */
const STEPS = [
  {
    step: "send",
    operation: "connectorSendDocument",
    path: "/connector/documents/{documentId}/send",
    summary: "Send a staged document",
    description:
      "It is judged once more by the rules of the moment; what they refuse stays staged. Safe to repeat: what was sent before is answered with `replayed` true. Other documents were sent when they were created.",
    errors: [
      "NOT_FOUND",
      "DOCUMENT_STATE",
      "SENDER_UNREGISTERED",
      "SAPI-DOC-025",
      "DOCUMENT_TYPE_MISMATCH",
      "DOCUMENT_INVALID",
      "RECIPIENT_CAPABILITY",
      "TEMPORARY",
    ],
  },
  {
    step: "cancel",
    operation: "connectorCancelDocument",
    path: "/connector/documents/{documentId}/cancel",
    summary: "Cancel a staged document",
    description: `It is never sent. Its key and its externalId stay taken while it can be read, so that no late repeat of its create sends it after all. A staged document that nobody sends within ${LIMITS.staged_kept_days} days is cancelled by itself. Safe to repeat.`,
    errors: ["NOT_FOUND", "DOCUMENT_STATE", "TEMPORARY"],
  },
] as const;

const stepRows = (ports: Pick<ConnectorDocumentPorts, "operate" | "document">): readonly Route[] =>
  STEPS.map(({ step, ...row }) =>
    route({
      ...CUSTOMER,
      ...row,
      method: "POST",
      scopes: ["documents:send"],
      request: { params: z.object({ documentId: uuid }) },
      responses: { 200: { description: "The document as it is now.", schema: done } },
      handler: async (request) => {
        const { params, firm, caller, receivedAt } = request;
        const { replayed } = await ports.operate(
          {
            operation: step,
            firmId: firm.firmId,
            id: params.documentId,
            integratorId: caller.integratorId,
            receivedAt,
          },
          actorOf(request),
        );
        const { links, ...shown } = await ports.document(customerOf(firm), params.documentId);
        return { status: 200, body: { ...shown, replayed, links } };
      },
    }),
  );

export const connectorDocumentRoutes = (ports: ConnectorDocumentPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "connectorCreateDocument",
    context: "customer_body",
    method: "POST",
    path: "/connector/documents",
    scopes: ["documents:send"],
    idempotency: "optional",
    summary: "Create a document, and send or stage it",
    description:
      "The recipient is found by its ids, the e-invoice is made and judged by every rule, queued, retried and followed. With `delivery` stage it is made and judged all the same and then waits for send or cancel. The same Idempotency-Key with the same body, or the same body under the same externalId, answers 200 with the document as it is now and `replayed` true. Without the header the key is derived from customerRef and externalId. Members that are not read are named in `warning`; they do not tell one body from another.",
    request: {
      body: connectorCreateBody.meta({ example: CREATE_EXAMPLE }),
      body_bytes_max: LIMITS.request_body_bytes_max,
    },
    responses: {
      201: { description: "It is on its way, or staged.", schema: created },
      200: { description: "It was created before.", schema: created },
    },
    errors: CREATE_ERRORS,
    handler: async ({ body, unread, caller, firm, idempotencyKey, receivedAt }) => {
      const reply = await ports.create(body, {
        firmId: firm.firmId,
        keyId: caller.keyId,
        idempotencyKey,
        receivedAt,
        today: bratislavaDay(receivedAt),
      });
      const { id } = JSON.parse(reply.body) as { readonly id: string };
      const { links, ...shown } = await ports.document(customerOf(firm), id);
      const warning = warningOfUnread(unread);
      const said = warning === undefined ? {} : { warning };
      if (reply.replayed) return { status: 200, body: { ...shown, replayed: true, ...said, links } };
      // Attempts may have begun since the commit; what this request has made is what it was then.
      const made = { state: "queued", statusReason: null, response: null, updatedAt: shown.createdAt } as const;
      return { status: 201, body: { ...shown, ...made, replayed: false, ...said, links } };
    },
  }),
  route({
    ...CUSTOMER,
    operation: "connectorListDocuments",
    method: "GET",
    path: "/connector/documents",
    showsMany: true,
    summary: "List documents of a firm, sent and received",
    description:
      "Oldest first; nextCursor leads on, also when hasMore is false: what comes later is behind it. state chooses by what a document is at that moment; GET /connector/events tells of later changes.",
    request: {
      query: z.object({
        direction: z.enum(["outbound", "inbound"]).optional(),
        state: z.enum(CONNECTOR_STATES).optional(),
        type: z.enum(CONNECTOR_TYPES).optional(),
        createdAfter: instant.optional(),
        cursor: z.string().min(1).optional(),
        limit: wholeNumber({ min: 1, max: LIMITS.connector_page_max, byDefault: LIMITS.connector_page_default }),
      }),
    },
    responses: {
      200: {
        description: "One page.",
        schema: z.object({ documents: z.array(document), nextCursor: z.string().nullable(), hasMore: z.boolean() }),
      },
    },
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    handler: async ({ query, firm, givesBody, signal }) => {
      const { direction, state, type, createdAfter, cursor, limit = LIMITS.connector_page_default } = query;
      const asked = { direction, state, type, createdAfter, cursor, limit, isShown: givesBody, gone: signal };
      const page = await ports.documents(customerOf(firm), asked);
      return { status: 200, body: page };
    },
  }),
  route({
    ...CUSTOMER,
    operation: "connectorGetDocument",
    method: "GET",
    path: "/connector/documents/{documentId}",
    summary: "Read a document, and what can be done with it",
    request: { params: z.object({ documentId: uuid }) },
    responses: { 200: { description: "As it is now.", schema: document } },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async ({ params, firm, givesBody, signal }) => ({
      status: 200,
      body: await ports.document(customerOf(firm), params.documentId, { isShown: givesBody, gone: signal }),
    }),
  }),
  ...stepRows(ports),
];
