/** Handing documents over for sending. @source spec/shapes.md, section 6; spec/rulings.md, section 13 */
import { z } from "zod";

import { ERRORS, Refusal } from "../../../engine/base/errors.js";
import type { ErrorDetail } from "../../../engine/base/errors.js";
import { PARTICIPANT_FORMS, parseParticipantId } from "../../../engine/base/ids.js";
import type { RequestId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import type { SendReply } from "../../../engine/documents/accept/request.js";
import type { BatchReply } from "../../../engine/documents/send/batch.js";
import type { Handed } from "../../../engine/documents/send/handed.js";
import type { preflightHanded, SendFacts } from "../../../engine/documents/send/send.js";
import { TAX_TREATMENTS } from "../../../engine/invoices/terms.js";
import type { Recipient } from "../../../engine/peppol/discovery/acceptance.js";
import { ROUTING_STATUSES } from "../../../engine/peppol/discovery/routing.js";
import type { Capability, RoutingStatus } from "../../../engine/peppol/discovery/routing.js";
import { SEVERITIES } from "../../../validators/report.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

interface SendPorts {
  /** @throws Refusal */
  send(handed: Handed, facts: SendFacts): Promise<SendReply>;
  /** Sends items one by one; what `send` throws is the result of that item. */
  batch(
    items: { readonly count: number; readonly requestId: RequestId },
    send: (index: number) => Promise<SendReply>,
  ): Promise<BatchReply>;
  /** Writes nothing. @throws Refusal */
  preflight(handed: Handed, facts: SendFacts): ReturnType<typeof preflightHanded>;
}

const COMMON = {
  mounts: ["/api/v1"],
  family: "enterprise",
  credential: "bearer",
  context: "firm",
  scopes: ["documents:send"],
  rate: "enterprise",
  tag: "Documents",
} as const;

/** A member of an invoice: whatever it holds, the reader of invoices says what is wrong with it. */
const member = (openapi: Readonly<Record<string, unknown>>, description: string) =>
  z.unknown().optional().meta({ openapi, description });
const text = (description: string) => member({ type: "string" }, description);
const day = (description: string) => member({ type: "string", format: "date" }, description);
const exact = { anyOf: [{ type: "number" }, { type: "string" }] };
const number = (description: string) => member(exact, `${description} A number of at most 15 digits, or text.`);

const item = {
  type: "object",
  required: ["description", "quantity", "unitPrice", "vatRate"],
  properties: {
    description: { type: "string" },
    quantity: exact,
    unit: { type: "string" },
    unitPrice: exact,
    vatRate: exact,
    discount: exact,
    vatCategoryCode: { type: "string", enum: ["S", "Z", "E", "AE", "K", "G", "O"] },
    taxTreatment: { type: "string", enum: Object.keys(TAX_TREATMENTS) },
  },
};
const attachment = {
  type: "object",
  required: ["fileName", "mimeType", "content"],
  properties: {
    fileName: { type: "string" },
    mimeType: { type: "string" },
    content: { type: "string", format: "byte" },
    description: { type: "string" },
  },
};

const EXAMPLE = {
  receiverPeppolId: "0245:2120000025",
  receiverName: "Stavebniny a. s.",
  receiverCountry: "SK",
  invoiceNumber: "F-2027-001",
  issueDate: "2027-01-15",
  dueDate: "2027-01-29",
  buyerReference: "4100",
  iban: "SK3112000000198742637541",
  items: [{ description: "Chlieb", quantity: 10, unit: "ks", unitPrice: "2.35", vatRate: 5 }],
};

/** Members that clients of the public service send; either `xml`, or those of the invoice. */
const handedBody = z
  .looseObject({
    receiverPeppolId: member(
      { type: "string", pattern: PARTICIPANT_FORMS.either.source },
      "To whom the document goes.",
    ),
    xml: z.string().min(1).nullish().describe("UBL XML as text; then no member of the invoice is read."),
    processId: z.string().min(1).nullish().describe("Of a document as XML; its ProfileID when it is left out."),
    receiverName: text("Required without xml."),
    receiverIco: text("Company id."),
    receiverDic: text("Tax id."),
    receiverIcDph: text("VAT id."),
    receiverAddress: text("Street; the same as receiverStreet."),
    receiverStreet: text("Street."),
    receiverCity: text("Town."),
    receiverPostalCode: text("Postal code."),
    receiverCountry: text("ISO 3166-1; SK for a participant of scheme 0245."),
    invoiceNumber: text("Unique within the firm. Required without xml."),
    issueDate: day("Required without xml."),
    dueDate: day("Required where something is to be paid and paymentTerms do not say when."),
    paymentTerms: text("When to pay, in words; beside dueDate, or instead of it."),
    taxPointDate: day("The day of the supply."),
    deliveryDate: day("The day of the delivery."),
    documentDiscountPercent: number("Percent off the whole document."),
    currency: text("ISO 4217, EUR by default."),
    note: text("Free text."),
    iban: text("The account to pay to."),
    paymentMethod: text("A word such as bank_transfer, or a code of UNTDID 4461."),
    variableSymbol: text("At most 10 digits."),
    buyerReference: text("Required without xml, as Peppol asks for it."),
    documentType: member(
      { type: "string", enum: ["invoice", "credit_note", "self_billing", "self_billing_credit_note"] },
      "invoice by default.",
    ),
    precedingInvoiceRef: text("The invoice that this document corrects."),
    prepaidAmount: number("What was paid before."),
    prepayments: member({ type: "array", items: { type: "object" } }, "{amount, invoiceNumber?, date?}"),
    items: member({ type: "array", minItems: 1, maxItems: LIMITS.invoice_lines_max, items: item }, "The lines."),
    attachments: member(
      { type: "array", maxItems: LIMITS.invoice_attachments_max, items: attachment },
      "Files, base64; 10 MB each, 15 MB together.",
    ),
  })
  .meta({ example: EXAMPLE });
type HandedBody = z.output<typeof handedBody>;

/** @throws Refusal REQUEST_INVALID for XML without a receiver */
function handedOf(body: HandedBody): Handed {
  const { xml, processId, ...invoice } = body;
  const { receiverPeppolId } = invoice;
  // Without xml its processId is a member that nobody reads, which is told; null is none.
  if (typeof xml !== "string")
    return { form: "json", invoice: typeof processId === "string" ? { ...invoice, processId } : invoice };
  const receiver = typeof receiverPeppolId === "string" ? parseParticipantId(receiverPeppolId) : undefined;
  if (receiver === undefined)
    throw new Refusal("REQUEST_INVALID", [
      {
        field: "receiverPeppolId",
        message: "receiverPeppolId must be <scheme>:<id>, for example 0245:2020202020.",
      },
    ]);
  return { form: "xml", xml, receiver, processId: processId ?? undefined };
}

/** An item of a batch. @throws Refusal REQUEST_INVALID */
function itemOf(value: unknown): Handed {
  const parsed = handedBody.safeParse(value);
  if (parsed.success) return handedOf(parsed.data);
  const field = String(parsed.error.issues[0]?.path[0] ?? "item");
  throw new Refusal("REQUEST_INVALID", [
    { field, message: "Must be an object with the members of a single send; xml and processId are texts, not empty." },
  ]);
}

const links = z.object({
  document: z.string(),
  status: z.string(),
  events: z.string(),
  ubl: z.string(),
  evidence: z.string(),
});
const accepted = z.object({
  documentId: z.uuid(),
  messageId: z.string(),
  status: z.literal("queued"),
  duplicate: z.literal(true).optional().describe("Only in the answer to a repeat."),
  payloadSha256: z.string().regex(/^[0-9a-f]{64}$/),
  warning: z.string().optional(),
  links,
});
type Accepted = z.input<typeof accepted>;

/** The stored reply, and whether the document was there before. */
function acceptedOf({ body, replayed }: SendReply): Accepted {
  const { links: to, ...stored } = JSON.parse(body) as Accepted;
  return { ...stored, ...(replayed ? { duplicate: true as const } : {}), links: to };
}

const finding = z.object({
  field: z.string().optional(),
  ruleId: z.string().optional(),
  severity: z.enum(SEVERITIES).optional(),
  location: z.string().optional(),
  message: z.string(),
});
const preflighted = z.object({
  ready: z.boolean().describe("Whether a send would be accepted now."),
  validation: z.object({
    valid: z.boolean(),
    errorCount: z.number().int(),
    warningCount: z.number().int(),
    errors: z.array(finding),
    warnings: z.array(finding),
  }),
  recipient: z.object({
    found: z.boolean(),
    accepts: z.boolean(),
    routingStatus: z.enum(ROUTING_STATUSES).nullable().describe("null when the document cannot be read."),
  }),
  conflict: z
    .object({ code: z.string(), message: z.string() })
    .nullable()
    .describe("Why a valid document would be refused: its number or its key is taken."),
});

/** With these nobody is known to be there. */
const UNFOUND: readonly RoutingStatus[] = ["participant_not_found", "lookup_failed"];
/** With these a send is refused; the others are tried by its attempts. */
const HOPELESS: readonly (Capability | undefined)[] = ["not_accepted", "process_not_accepted"];

/** The finding as look-ups tell it. @source spec/rulings.md, section 13, Peppol lookup: routingStatus */
const recipientShown = (recipient: Recipient | undefined): z.input<typeof preflighted>["recipient"] =>
  recipient === undefined
    ? { found: false, accepts: false, routingStatus: null }
    : {
        found: !UNFOUND.includes(recipient.status),
        accepts: recipient.status === "ready",
        routingStatus: recipient.status,
      };

/** A finding as it is shown. */
function shownOf({ severity, ...detail }: ErrorDetail): z.input<typeof finding> {
  const known = SEVERITIES.find((each) => each === severity);
  return { ...detail, ...(known === undefined ? {} : { severity: known }) };
}

function preflightOf({
  errors,
  warnings,
  recipient,
  conflict,
}: Awaited<ReturnType<typeof preflightHanded>>): z.input<typeof preflighted> {
  const valid = errors.length === 0;
  return {
    ready: valid && conflict === undefined && !HOPELESS.includes(recipient?.capability),
    validation: {
      valid,
      errorCount: errors.length,
      warningCount: warnings.length,
      errors: errors.map(shownOf),
      warnings: warnings.map(shownOf),
    },
    recipient: recipientShown(recipient),
    conflict: conflict === undefined ? null : { code: ERRORS[conflict.reason].enterprise, message: conflict.message },
  };
}

const SEND_ERRORS = [
  "REQUEST_INVALID",
  "SAPI-PROC-002",
  "SAPI-PROC-003",
  "DUPLICATE_INVOICE_NUMBER",
  "SAPI-DOC-025",
  "SENDER_UNREGISTERED",
  "DOCUMENT_TYPE_MISMATCH",
  "DOCUMENT_INVALID",
  "RECIPIENT_CAPABILITY",
  "TEMPORARY",
] as const;

export const documentSendRoutes = (ports: SendPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "sendDocument",
    method: "POST",
    path: "/documents/send",
    idempotency: "optional",
    summary: "Send an invoice",
    description:
      "As UBL in `xml`, or by its members, of which UBL is made. 201 means accepted for sending, never delivered. The same Idempotency-Key with the same body, or the same body under the same number, answers 200 with the stored response and `duplicate`. A refusal uses up neither the key nor the number.",
    request: { body: handedBody, body_bytes_max: LIMITS.request_body_bytes_max },
    responses: {
      201: { description: "Accepted for sending.", schema: accepted },
      200: { description: "It was accepted before.", schema: accepted },
    },
    errors: SEND_ERRORS,
    handler: async ({ body, caller, firm, idempotencyKey, receivedAt }) => {
      const facts = { firmId: firm.firmId, keyId: caller.keyId, idempotencyKey, receivedAt };
      const reply = await ports.send(handedOf(body), facts);
      return { status: reply.replayed ? 200 : 201, body: acceptedOf(reply) };
    },
  }),
  route({
    ...COMMON,
    operation: "sendDocuments",
    method: "POST",
    path: "/documents/send/batch",
    idempotency: "optional",
    summary: "Send many invoices",
    description:
      "Each item is what a single send takes, and is sent or refused by itself. An Idempotency-Key stands for the place of each item, too: the same batch again answers what it answered.",
    request: {
      body: z.object({ items: z.array(z.unknown()).min(1).max(LIMITS.send_batch_max) }).meta({
        example: { items: [EXAMPLE] },
      }),
      body_bytes_max: LIMITS.request_body_bytes_max,
    },
    responses: {
      200: {
        description: "What became of each item: the status and the body that a send of it alone would have had.",
        schema: z.object({
          total: z.number().int(),
          succeeded: z.number().int(),
          failed: z.number().int(),
          results: z.array(
            z.object({
              index: z.number().int(),
              status: z.number().int(),
              result: z.record(z.string(), z.unknown()),
            }),
          ),
        }),
      },
    },
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    handler: async ({ body: { items }, caller, firm, idempotencyKey, receivedAt, requestId }) => ({
      status: 200,
      body: await ports.batch({ count: items.length, requestId }, (index) => {
        // No key that a client can send holds the separator, so that none of a single send is that of an item.
        const key = idempotencyKey === undefined ? undefined : `${idempotencyKey}\u001f${index}`;
        const facts = { firmId: firm.firmId, keyId: caller.keyId, idempotencyKey: key, receivedAt };
        return ports.send(itemOf(items[index]), facts);
      }),
    }),
  }),
  route({
    ...COMMON,
    operation: "preflightDocument",
    method: "POST",
    path: "/documents/preflight",
    idempotency: "optional",
    summary: "Find out whether an invoice could be sent",
    description:
      "Takes what a send takes, judges it by every rule, asks whether the recipient takes it, and looks whether its number or key is free. Nothing is written.",
    request: { body: handedBody, body_bytes_max: LIMITS.request_body_bytes_max },
    responses: { 200: { description: "The verdict, ready or not.", schema: preflighted } },
    errors: ["REQUEST_INVALID", "SENDER_UNREGISTERED", "TEMPORARY"],
    handler: async ({ body, caller, firm, idempotencyKey, receivedAt }) => {
      const facts = { firmId: firm.firmId, keyId: caller.keyId, idempotencyKey, receivedAt };
      return { status: 200, body: preflightOf(await ports.preflight(handedOf(body), facts)) };
    },
  }),
];
