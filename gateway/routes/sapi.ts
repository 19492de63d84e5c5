/** The SAPI profile: send, list received, received detail, acknowledge. @source spec/sapi.md, Endpoints */
import { z } from "zod";

import { isoInstant, isStorable } from "../../engine/base/clock.js";
import type { Instant } from "../../engine/base/clock.js";
import type { Inbox, Reader, ReceivedDocument } from "../../engine/documents/inbound/inbox.js";
import { jsonWithText } from "../../engine/documents/inbound/json-text.js";
import type { SendReply, SendRequest } from "../../engine/documents/accept/request.js";
import { Refusal } from "../../engine/base/errors.js";
import type { ErrorDetail } from "../../engine/base/errors.js";
import {
  PARTICIPANT_FORMS,
  parseParticipantId,
  parseReceivedDocumentId,
  qualifiedParticipant,
  whyExternalIdIsRefused,
} from "../../engine/base/ids.js";
import type { ParticipantId, ReceivedDocumentId } from "../../engine/base/ids.js";
import { LIMITS } from "../../engine/base/limits.js";
import { RECEIVED_STATES } from "../../engine/lifecycle/received.js";
import type { ReceivedItem } from "../../engine/storage/documents/received.js";
import { idBy, isDateTime, PARTICIPANT_WORDS, parsedBy, wholeNumber } from "../contract/query.js";
import { route } from "../contract/route.js";
import type { Route } from "../contract/route.js";

/** What the rows need of the engine. */
interface SapiPorts {
  /** Gives the request to the sender's participant actor. @throws Refusal */
  send(request: SendRequest): Promise<SendReply>;
  readonly inbox: Inbox;
  /** Gives the mark to the participant's actor; answers when the document was first marked. @throws Refusal */
  acknowledge(reader: Reader, id: ReceivedDocumentId): Promise<Instant>;
}

const MOUNTS = ["/sapi/v1", "/sapi"] as const;
const COMMON = {
  mounts: MOUNTS,
  family: "sapi",
  credential: "bearer",
  context: "participant",
  tag: "Documents",
} as const;

const LOCAL_DATE_TIME = z.iso.datetime({ local: true });
const text = (what: string) => z.string().min(1).describe(what);
const participant = (what: string) =>
  parsedBy(parseParticipantId, PARTICIPANT_WORDS).meta({
    pattern: PARTICIPANT_FORMS.either.source,
    description: what,
  });

/** @source spec/sapi.md, Send request */
const sendBody = z.object({
  metadata: z.object({
    documentId: z
      .string()
      .superRefine((value, context) => {
        const fault = whyExternalIdIsRefused(value);
        if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
      })
      .meta({
        openapi: {
          type: "string",
          minLength: 1,
          maxLength: LIMITS.document_id_chars_max,
          description: "The ERP document id; compared exactly, no white space at its ends, nothing invisible in it.",
        },
      }),
    documentTypeId: text("Full Peppol document type URN; must match the UBL root element."),
    processId: text("Peppol process id of the billing flow."),
    senderParticipantId: participant("Must match the EndpointID of the party that sends."),
    receiverParticipantId: participant("Must match the EndpointID of the party that receives."),
    creationDateTime: z
      .string()
      .refine((text) => isDateTime(text) || LOCAL_DATE_TIME.safeParse(text).success, {
        message: "must be an ISO 8601 date and time",
        abort: true,
      })
      .refine(isStorable, "must lie in the years 1 to 9999, in a zone of at most 14 hours")
      .meta({ format: "date-time" })
      .optional()
      .describe("ISO 8601 date-time; without a zone it is UTC."),
  }),
  payload: text("UBL XML text, not base64."),
  payloadFormat: z.literal("XML"),
  payloadEncoding: z.string().optional().describe("UTF-8, the default."),
  checksum: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/, "must be a SHA-256 in hexadecimal, 64 digits")
    .optional()
    .describe("SHA-256 hex digest of the exact payload bytes."),
});
type SendBody = z.output<typeof sendBody>;

const sendReply = z.object({
  providerDocumentId: z.uuid(),
  status: z.literal("ACCEPTED"),
  receivedAt: z.iso.datetime(),
  timestamp: z.iso.datetime(),
});

const listItem = z.object({
  documentId: z.uuid(),
  documentTypeId: z.string(),
  processId: z.string(),
  senderParticipantId: z.string().regex(PARTICIPANT_FORMS.qualified),
  receiverParticipantId: z.string().regex(PARTICIPANT_FORMS.qualified),
  creationDateTime: z.iso.datetime(),
  status: z.enum(RECEIVED_STATES),
});

const detail = z.object({
  documentId: z.uuid(),
  metadata: listItem.omit({ status: true }),
  payload: z.string(),
  payloadFormat: z.literal("XML"),
});

const receivedId = z.object({ documentId: idBy(parseReceivedDocumentId) });

/**
 * Refuses what a schema cannot see, because it needs the header or the characters of the payload.
 * @throws Refusal REQUEST_INVALID
 * @source spec/rulings.md, section 2: payloadFormat, encoding and checksum come first
 */
function refuseWrapper(body: SendBody, onBehalfOf: ParticipantId): void {
  const details: ErrorDetail[] = [];
  if (body.payloadEncoding !== undefined && !/^utf-?8$/i.test(body.payloadEncoding)) {
    details.push({ field: "payloadEncoding", message: "Only UTF-8 is accepted; leave the member out or send UTF-8." });
  }
  if (body.metadata.senderParticipantId.toLowerCase() !== onBehalfOf.toLowerCase()) {
    details.push({
      field: "metadata.senderParticipantId",
      message: "Must be the participant named in X-Peppol-Participant-Id.",
    });
  }
  if (!body.payload.isWellFormed())
    details.push({ field: "payload", message: "Contains half of a surrogate pair, which no UTF-8 text can hold." });
  if (details.length > 0) throw new Refusal("REQUEST_INVALID", details);
}

function sendRequest(
  body: Omit<SendBody, "payload">,
  payload: Buffer,
  facts: {
    readonly context: { readonly firmId: SendRequest["firmId"]; readonly participantId: ParticipantId };
    readonly keyId: SendRequest["keyId"];
    readonly idempotencyKey: string;
    readonly receivedAt: number;
  },
): SendRequest {
  const { metadata, payloadFormat, payloadEncoding, checksum } = body;
  if (payload.length > LIMITS.payload_bytes_max)
    throw new Refusal("BODY_TOO_LARGE", [{ field: "payload", message: "The payload is larger than 20 MB." }]);
  const meaning = (payloadSha256: string): readonly (string | undefined)[] => [
    metadata.documentId,
    metadata.documentTypeId,
    metadata.processId,
    metadata.senderParticipantId,
    metadata.receiverParticipantId,
    metadata.creationDateTime,
    payloadSha256,
    payloadFormat,
    payloadEncoding,
    checksum?.toLowerCase(),
  ];
  return {
    door: "sapi",
    firmId: facts.context.firmId,
    keyId: facts.keyId,
    sender: facts.context.participantId,
    receiver: metadata.receiverParticipantId,
    erpDocumentId: metadata.documentId,
    documentTypeId: metadata.documentTypeId,
    processId: metadata.processId,
    creationDateTime: metadata.creationDateTime,
    idempotencyKey: facts.idempotencyKey.toLowerCase(),
    payload,
    checksum,
    meaning,
    receivedAt: facts.receivedAt,
  };
}

const metadataOf = (
  item: Pick<ReceivedItem, "id" | "documentTypeId" | "processId" | "sender" | "receiver" | "creationDateTime">,
) => ({
  documentId: item.id,
  documentTypeId: item.documentTypeId,
  processId: item.processId,
  senderParticipantId: qualifiedParticipant(item.sender),
  receiverParticipantId: qualifiedParticipant(item.receiver),
  creationDateTime: isoInstant(item.creationDateTime),
});

const itemOf = (item: ReceivedItem) => ({ ...metadataOf(item), status: item.status });
const detailOf = ({ payload, ...document }: ReceivedDocument): Promise<Buffer> =>
  jsonWithText({ documentId: document.id, metadata: metadataOf(document), payloadFormat: "XML" }, { payload });

const accepted = (reply: SendReply) =>
  ({ status: 202, body: { raw: reply.body }, contentType: "application/json; charset=utf-8" }) as const;

const sendRows = (ports: SapiPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "sapiSend",
    method: "POST",
    path: "/document/send",
    scopes: ["documents:send"],
    rate: "sapi_send",
    idempotency: "uuid",
    summary: "Send a UBL document",
    description:
      "Accepts one Peppol BIS 3.0 UBL document for sending. 202 means accepted for processing, never delivered. The same Idempotency-Key with the same body answers the stored response.",
    request: { body: sendBody, body_bytes_max: LIMITS.request_body_bytes_max, octets: "payload" },
    responses: { 202: { description: "Accepted for processing.", schema: sendReply } },
    errors: [
      "REQUEST_INVALID",
      "CHECKSUM",
      "SAPI-PROC-002",
      "SAPI-PROC-003",
      "SAPI-DOC-018",
      "SAPI-DOC-024",
      "SAPI-DOC-025",
      "SAPI-DOC-027",
      "SAPI-DOC-028",
      "SAPI-DOC-029",
      "DOCUMENT_TYPE_MISMATCH",
      "DOCUMENT_INVALID",
      "RECIPIENT_CAPABILITY",
      "TEMPORARY",
    ],
    // Not async: a function that waits keeps its parameters, and with them the text of the payload. What outlives this
    // call keeps the octets, and nothing that leads to the text.
    handler: (request) => {
      const { body, caller, participant: context, idempotencyKey, receivedAt } = request;
      refuseWrapper(body, context.participantId);
      const { payload: text, ...wrapper } = body;
      const facts = { context, keyId: caller.keyId, idempotencyKey, receivedAt };
      return request
        .octetsOf(text)
        .then((payload) => ports.send(sendRequest(wrapper, payload, facts)))
        .then(accepted);
    },
  }),
];

const receiveRows = (ports: SapiPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "sapiReceiveList",
    receives: true,
    method: "GET",
    path: "/document/receive",
    scopes: ["documents:read"],
    rate: "sapi",
    summary: "List received documents",
    description:
      "Oldest first. Without status: the documents not yet acknowledged. While nextPageToken is present, continue with pageToken.",
    request: {
      query: z.object({
        limit: wholeNumber({
          min: 1,
          max: LIMITS.receive_page_max,
          byDefault: LIMITS.receive_page_default,
        }).describe("1 to 100, default 20."),
        status: z.enum(RECEIVED_STATES).optional(),
        pageToken: z.string().optional(),
      }),
    },
    responses: {
      200: {
        description: "One page.",
        schema: z.object({ documents: z.array(listItem), nextPageToken: z.string().nullable() }),
      },
    },
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    handler: async ({ query, participant: reader, givesBody }) => {
      const page = await ports.inbox.list({
        isShown: givesBody,
        reader,
        status: query.status ?? "RECEIVED",
        limit: query.limit ?? LIMITS.receive_page_default,
        pageToken: query.pageToken,
      });
      return { status: 200, body: { documents: page.documents.map(itemOf), nextPageToken: page.nextPageToken } };
    },
  }),
  route({
    ...COMMON,
    operation: "sapiReceiveDetail",
    receives: true,
    method: "GET",
    path: "/document/receive/{documentId}",
    scopes: ["documents:read"],
    rate: "sapi",
    summary: "Read a received document with its UBL",
    showsDocument: true,
    request: { params: receivedId },
    responses: { 200: { description: "The document with the full UBL.", schema: detail } },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async ({ params, participant: reader, givesBody }) => ({
      status: 200,
      body: { raw: await detailOf(await ports.inbox.read(reader, params.documentId, { isShown: givesBody })) },
      contentType: "application/json; charset=utf-8",
    }),
  }),
  route({
    ...COMMON,
    operation: "sapiAcknowledge",
    receives: true,
    method: "POST",
    path: "/document/receive/{documentId}/acknowledge",
    scopes: ["documents:write"],
    rate: "sapi",
    summary: "Mark a received document as processed",
    description:
      "A local mark: nothing is told to the sender. A second time answers the first time's acknowledgedDateTime.",
    request: { params: receivedId },
    responses: {
      200: {
        description: "Acknowledged.",
        schema: z.object({
          documentId: z.uuid(),
          status: z.literal("ACKNOWLEDGED"),
          acknowledgedDateTime: z.iso.datetime(),
        }),
      },
    },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async ({ params, participant: reader }) => {
      const at = await ports.acknowledge(reader, params.documentId);
      return {
        status: 200,
        body: { documentId: params.documentId, status: "ACKNOWLEDGED" as const, acknowledgedDateTime: isoInstant(at) },
      };
    },
  }),
];

export const sapiRoutes = (ports: SapiPorts): readonly Route[] => [...sendRows(ports), ...receiveRows(ports)];
