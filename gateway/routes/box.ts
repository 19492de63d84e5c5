/** The Box: documents that wait here until they are sent. @source spec/enterprise.md, Box; spec/shapes.md, section 2 */
import { z } from "zod";

import { isStorable } from "../../engine/base/clock.js";
import { parseBoxItemId, whyExternalIdIsRefused } from "../../engine/base/ids.js";
import type { BoxItemId, FirmId } from "../../engine/base/ids.js";
import { LIMITS } from "../../engine/base/limits.js";
import type { BoxWish } from "../../engine/documents/box/create.js";
import type { BoxStep } from "../../engine/documents/box/operate.js";
import type { BoxAsked, BoxDetail, BoxItem } from "../../engine/documents/box/reads.js";
import { ACTOR_TYPES, actorOf } from "../../engine/identity/audit.js";
import type { Actor } from "../../engine/identity/audit.js";
import { BOX_EVENTS, BOX_STATES } from "../../engine/lifecycle/box.js";
import { TIMELINE_KINDS } from "../../engine/lifecycle/document.js";
import { idBy, isDateTime, refuseUnheld, wholeNumber } from "../contract/query.js";
import { route } from "../contract/route.js";
import type { Route } from "../contract/route.js";

/** What the rows need of the engine; each throws Refusal NOT_FOUND for an item that is missing or of another firm. */
interface BoxPorts {
  create(wish: Omit<BoxWish, "audit">, actor: Actor): Promise<{ readonly item: BoxItem; readonly isNew: boolean }>;
  items(
    firmId: FirmId,
    asked: BoxAsked,
  ): Promise<{
    readonly items: readonly BoxItem[];
    readonly total: number;
    readonly limit: number;
    readonly offset: number;
  }>;
  item(firmId: FirmId, asked: { readonly id: BoxItemId; readonly isShown: boolean }): Promise<BoxDetail>;
  operate(step: Omit<BoxStep, "audit">, actor: Actor): Promise<BoxItem>;
}

const COMMON = {
  mounts: ["/api/v1"],
  family: "enterprise",
  credential: "bearer",
  context: "firm",
  rate: "enterprise",
  tag: "Box",
} as const;

const itemPath = z.object({ itemId: idBy(parseBoxItemId) });

const instantOut = z.iso.datetime().nullable();
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

const item = z.object({
  boxItemId: z.uuid(),
  firmId: z.uuid(),
  integratorId: z.uuid().nullable(),
  direction: z.enum(["outbound", "inbound"]),
  status: z.enum(BOX_STATES),
  source: z.enum(["api", "peppol"]),
  invoiceId: z.null(),
  documentId: z.uuid().nullable().describe("The document that was made of the item; null until one was."),
  externalId: z.string().nullable(),
  peppolMessageId: z.string().nullable(),
  documentTypeId: z.string(),
  processId: z.string(),
  scheduledFor: instantOut,
  nextAttemptAt: instantOut,
  lockedAt: instantOut.describe("Since when it is being sent; null while nothing is under way."),
  lockedBy: z.string().nullable(),
  attemptCount: z.int(),
  payloadSha256: sha256,
  storageBytes: z.int(),
  retention: z.object({ expiresAt: instantOut, reason: z.string().nullable() }),
  sentAt: instantOut,
  receivedAt: instantOut,
  cancelledAt: instantOut,
  lastError: z
    .object({
      status: z.int().optional(),
      code: z.string().optional(),
      message: z.string().optional(),
      retryable: z.boolean().optional(),
      redacted: z.boolean().optional(),
    })
    .nullable(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  links: z.record(z.string(), z.string()),
});

const detail = item.extend({
  metadata: z.unknown().describe("What was given on creation; null where nothing was."),
  storage: z.object({
    encrypted: z.literal(true),
    algorithm: z.literal("AES-256-GCM"),
    bytes: z.int(),
    sha256,
    payloadStored: z.boolean(),
  }),
  attempts: z.array(
    z.object({
      number: z.int(),
      documentId: z.uuid(),
      startedAt: z.iso.datetime(),
      finishedAt: instantOut,
      outcome: z.string().nullable(),
      code: z.string().nullable(),
      retryable: z.boolean().nullable(),
      message: z.string().nullable(),
    }),
  ),
  timeline: z.array(
    z.object({
      event: z.enum([...BOX_EVENTS.map((event) => `box.${event}` as const), ...TIMELINE_KINDS]),
      status: z.enum(BOX_STATES).nullable().describe("Of the item after this step; null for events of its document."),
      actor: z.object({ type: z.enum(ACTOR_TYPES), id: z.uuid().nullable() }),
      detail: z.string().nullable(),
      documentId: z.uuid().nullable(),
      occurredAt: z.iso.datetime(),
    }),
  ),
});

const scheduledFor = z
  .string()
  .refine(isDateTime, { message: "must be an ISO 8601 date and time", abort: true })
  .refine(isStorable, "must lie in the years 1 to 9999, in a zone of at most 14 hours")
  .transform((text) => Date.parse(text))
  .meta({
    openapi: { type: "string", format: "date-time" },
    description: "Future dispatch time, at most a year ahead.",
  });

const createBody = z.object({
  payloadXml: z
    .string()
    .min(1)
    .refine((text) => text.isWellFormed(), "contains half of a surrogate pair, which no UTF-8 text can hold")
    .meta({
      openapi: { type: "string", minLength: 1, description: "UBL XML text; stored encrypted, never returned." },
    }),
  scheduledFor: scheduledFor.nullish(),
  externalId: z
    .string()
    .superRefine((value, context) => {
      const fault = whyExternalIdIsRefused(value);
      if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
    })
    .meta({ openapi: { type: "string", minLength: 1, maxLength: LIMITS.document_id_chars_max } })
    .nullish()
    .describe("Your own id of the item; the same one with the same payload answers the item that there is."),
  metadata: z
    .record(z.string(), z.unknown())
    .refine(
      (value) => Buffer.byteLength(JSON.stringify(value)) <= LIMITS.box_metadata_bytes_max,
      `must have at most ${LIMITS.box_metadata_bytes_max} octets as JSON`,
    )
    .superRefine(refuseUnheld)
    .nullish()
    .describe("Yours; stored encrypted, shown with the item alone."),
});

const readRows = (ports: BoxPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "listBoxItems",
    method: "GET",
    path: "/box/items",
    scopes: ["documents:read"],
    summary: "Items of the Box, newest first",
    description: "What waits to be sent, what came of it, and what was received.",
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    request: {
      query: z.object({
        status: z.enum(BOX_STATES).optional(),
        direction: z.enum(["outbound", "inbound"]).optional(),
        limit: wholeNumber({ min: 1, max: LIMITS.box_page_max, byDefault: LIMITS.box_page_default }),
        offset: wholeNumber({ min: 0, max: LIMITS.box_offset_max, byDefault: 0 }),
      }),
    },
    responses: {
      200: {
        description: "One page.",
        schema: z.object({
          items: z.array(item),
          total: z.int().describe(`Counted up to ${LIMITS.box_counted_max}.`),
          limit: z.int(),
          offset: z.int(),
        }),
      },
    },
    handler: async ({ firm, query, givesBody }) => {
      const page = await ports.items(firm.firmId, {
        isShown: givesBody,
        status: query.status,
        direction: query.direction,
        limit: query.limit ?? LIMITS.box_page_default,
        offset: query.offset ?? 0,
      });
      return { status: 200, body: { ...page, items: [...page.items] as z.input<typeof item>[] } };
    },
  }),
  route({
    ...COMMON,
    operation: "getBoxItem",
    method: "GET",
    path: "/box/items/{itemId}",
    scopes: ["documents:read"],
    summary: "One item with its attempts and its timeline",
    errors: ["NOT_FOUND", "TEMPORARY"],
    request: { params: itemPath },
    responses: { 200: { description: "The item, without its payload.", schema: detail } },
    handler: async ({ firm, params, givesBody }) => ({
      status: 200,
      body: await ports.item(firm.firmId, { id: params.itemId, isShown: givesBody }),
    }),
  }),
];

const createRow = (ports: BoxPorts): Route =>
  route({
    ...COMMON,
    operation: "createBoxItem",
    method: "POST",
    path: "/box/items",
    scopes: ["documents:send"],
    summary: "Put a document into the Box",
    description:
      "Without scheduledFor it is sent at once, otherwise then. The rules are judged on the day on which it is sent; what they refuse becomes needs_repair. Safe to repeat with the same externalId and payload.",
    errors: [
      "REQUEST_INVALID",
      "BODY_TOO_LARGE",
      "BOX_EXTERNAL_ID_CONFLICT",
      "BOX_SCHEDULE_IN_PAST",
      "BOX_SCHEDULE_TOO_FAR",
      "DOCUMENT_INVALID",
      "SAPI-DOC-025",
      "TEMPORARY",
    ],
    request: { body: createBody, body_bytes_max: LIMITS.request_body_bytes_max, octets: "payloadXml" },
    responses: {
      201: { description: "The new item.", schema: item },
      200: { description: "The item that this externalId and payload have made before.", schema: item },
    },
    handler: async (request) => {
      const { body, caller, firm, receivedAt } = request;
      const made = await ports.create(
        {
          firmId: firm.firmId,
          integratorId: caller.integratorId,
          keyId: caller.keyId,
          payload: await request.octetsOf(body.payloadXml),
          scheduledFor: body.scheduledFor ?? undefined,
          externalId: body.externalId ?? undefined,
          metadata: (body.metadata ?? undefined) as BoxWish["metadata"],
          receivedAt,
        },
        actorOf(request),
      );
      return { status: made.isNew ? 201 : 200, body: made.item as z.input<typeof item> };
    },
  });

const operationRow = {
  ...COMMON,
  method: "POST",
  scopes: ["documents:send"],
  responses: { 200: { description: "The item as it is now.", schema: item } },
} as const;
const OPERATION_ERRORS = ["NOT_FOUND", "BOX_ITEM_STATE", "TEMPORARY"] as const;
const DISPATCH_ERRORS = [...OPERATION_ERRORS, "BOX_DISPATCH_UNAVAILABLE"] as const;

const scheduleRow = (ports: BoxPorts): Route =>
  route({
    ...operationRow,
    operation: "scheduleBoxItem",
    path: "/box/items/{itemId}/schedule",
    summary: "Send an item at another time",
    description: "Of one that is ready, scheduled, failed or needs repair.",
    errors: [...DISPATCH_ERRORS, "REQUEST_INVALID", "BOX_SCHEDULE_IN_PAST", "BOX_SCHEDULE_TOO_FAR"],
    request: { params: itemPath, body: z.object({ scheduledFor }) },
    handler: async (request) => {
      const { params, body, firm, caller, receivedAt } = request;
      const step = { firmId: firm.firmId, id: params.itemId, integratorId: caller.integratorId, receivedAt };
      const changed = await ports.operate(
        { ...step, operation: "schedule", scheduledFor: body.scheduledFor },
        actorOf(request),
      );
      return { status: 200, body: changed as z.input<typeof item> };
    },
  });

/** The operations that need no body. */
const PLAIN = [
  {
    trigger: "send_now",
    operation: "sendBoxItemNow",
    path: "/box/items/{itemId}/send-now",
    summary: "Send an item now",
    description: "Attempts the dispatch at once, of one that is ready, scheduled, failed or needs repair.",
    errors: DISPATCH_ERRORS,
  },
  {
    trigger: "retry",
    operation: "retryBoxItem",
    path: "/box/items/{itemId}/retry",
    summary: "Try an item again",
    description: "One that failed or needs repair; of one that is retrying the next attempt comes at once.",
    errors: DISPATCH_ERRORS,
  },
  {
    trigger: "cancel",
    operation: "cancelBoxItem",
    path: "/box/items/{itemId}/cancel",
    summary: "Cancel an item that was not sent yet",
    description: "What was sent or received stays.",
    errors: OPERATION_ERRORS,
  },
] as const;

const plainRows = (ports: BoxPorts): readonly Route[] =>
  PLAIN.map(({ trigger, ...row }) =>
    route({
      ...operationRow,
      ...row,
      request: { params: itemPath },
      handler: async (request) => {
        const { params, firm, caller, receivedAt } = request;
        const step = { firmId: firm.firmId, id: params.itemId, integratorId: caller.integratorId, receivedAt };
        const changed = await ports.operate({ ...step, operation: trigger, scheduledFor: undefined }, actorOf(request));
        return { status: 200, body: changed as z.input<typeof item> };
      },
    }),
  );

export const boxRoutes = (ports: BoxPorts): readonly Route[] => [
  createRow(ports),
  ...readRows(ports),
  scheduleRow(ports),
  ...plainRows(ports),
];
