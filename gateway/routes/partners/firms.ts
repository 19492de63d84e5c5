/** Firms of an integrator. @source spec/rulings.md, section 8; spec/shapes.md, section 3 */
import { z } from "zod";

import { PARTICIPANT_FORMS, parseFirmId } from "../../../engine/base/ids.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { actorOf } from "../../../engine/identity/audit.js";
import type { Actor } from "../../../engine/identity/audit.js";
import type { Caller } from "../../../engine/identity/caller.js";
import { assignMany } from "../../../engine/identity/partners/firms.js";
import type {
  AddedIdentifier,
  AssignedFirm,
  FirmDetail,
  FirmDocumentPage,
  FirmDocumentsAsked,
  FirmPage,
  WantedIdentifier,
} from "../../../engine/identity/partners/firms.js";
import { OUTBOUND_STATES } from "../../../engine/lifecycle/document.js";
import { RECEIVED_STATES } from "../../../engine/lifecycle/received.js";
import { idBy, instant, wholeNumber } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

/** What the rows need of the engine. */
interface FirmRoutesPorts {
  firms(caller: Caller, page: { readonly cursor: string | undefined; readonly limit: number }): Promise<FirmPage>;
  firm(caller: Caller, firmId: FirmId): Promise<FirmDetail>;
  documents(caller: Caller, firmId: FirmId, asked: FirmDocumentsAsked): Promise<FirmDocumentPage>;
  assignFirm(caller: Caller, ico: string, actor: Actor): Promise<AssignedFirm>;
  addIdentifier(caller: Caller, wanted: WantedIdentifier, actor: Actor): Promise<AddedIdentifier>;
}

const COMMON = {
  mounts: ["/api/v1"],
  family: "enterprise",
  credential: "partner",
  context: "forbidden",
  rate: "enterprise",
  tag: "Firms",
} as const;

const firmPath = z.object({ id: idBy(parseFirmId) });

const ico = z
  .string()
  .regex(/^\d{8}$/, "must be 8 digits")
  .describe("Company id (IČO).");

const peppolStatus = z.enum(["registered", "not_registered"]);

const listedFirm = z.object({
  id: z.uuid(),
  name: z.string(),
  ico: z.string().nullable(),
  vatRegType: z.string().nullable(),
  isVatPayer: z.boolean(),
  peppolId: z.string().regex(PARTICIPANT_FORMS.short).nullable(),
  peppolStatus,
});
const firmDetail = listedFirm.extend({
  dic: z.string().nullable(),
  icDph: z.string().nullable(),
  address: z.object({ street: z.string().nullable(), city: z.string().nullable(), zip: z.string().nullable() }),
  plan: z.string(),
  createdAt: z.iso.datetime(),
});

const STATUSES = [...OUTBOUND_STATES, ...RECEIVED_STATES.map((state) => state.toLowerCase())] as const;

const firmDocument = z.object({
  id: z.uuid(),
  direction: z.enum(["outbound", "inbound"]),
  status: z.string().meta({ openapi: { type: "string", enum: [...STATUSES] } }),
  documentType: z.string(),
  processId: z.string(),
  senderPeppolId: z.string().regex(PARTICIPANT_FORMS.short),
  receiverPeppolId: z.string().regex(PARTICIPANT_FORMS.short),
  number: z.string().nullable(),
  createdAt: z.iso.datetime(),
});
const documentPage = z.object({
  documents: z.array(firmDocument),
  pagination: z.object({
    page: z.number().int(),
    page_size: z.number().int(),
    total: z.number().int().describe(`Counted up to ${LIMITS.firm_documents_counted_max}.`),
  }),
});

const assigned = z.object({
  id: z.uuid(),
  name: z.string(),
  ico: z.string().nullable(),
  peppol_id: z.string().regex(PARTICIPANT_FORMS.short).nullable(),
  peppol_status: peppolStatus,
});
const assignment = z.object({ firm: assigned, status: z.literal("active") });
const batch = z.object({
  total: z.number().int(),
  succeeded: z.number().int(),
  failed: z.number().int(),
  results: z.array(
    z.object({
      ico: z.string(),
      status: z.enum(["active", "failed"]),
      firm: assigned.nullable(),
      error: z.object({ code: z.string(), message: z.string() }).nullable(),
    }),
  ),
});

const readRows = (ports: FirmRoutesPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "firmList",
    method: "GET",
    path: "/firms",
    scopes: ["firms:manage"],
    showsMany: true,
    summary: "Firms for which the key may act",
    description: "Those with an active consent. A key for one firm sees that firm.",
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    request: {
      query: z.object({
        cursor: z.string().optional(),
        limit: wholeNumber({ min: 1, max: LIMITS.firms_page_max, byDefault: LIMITS.firms_page_max }),
      }),
    },
    responses: {
      200: {
        description: "One page.",
        schema: z.object({ firms: z.array(listedFirm), nextCursor: z.string().nullable() }),
      },
    },
    handler: async ({ caller, query }) => {
      const page = await ports.firms(caller, { cursor: query.cursor, limit: query.limit ?? LIMITS.firms_page_max });
      return { status: 200, body: { ...page, firms: page.firms as z.input<typeof listedFirm>[] } };
    },
  }),
  route({
    ...COMMON,
    operation: "getFirm",
    method: "GET",
    path: "/firms/{id}",
    summary: "One firm",
    description: "Needs the scope `firms:manage`, in the firm's consent too.",
    errors: ["NOT_FOUND", "SCOPE_MISSING", "TEMPORARY"],
    request: { params: firmPath },
    responses: { 200: { description: "The firm.", schema: firmDetail } },
    handler: async ({ caller, params }) => ({
      status: 200,
      body: (await ports.firm(caller, params.id)) as z.input<typeof firmDetail>,
    }),
  }),
  route({
    ...COMMON,
    operation: "firmDocuments",
    method: "GET",
    path: "/firms/{id}/documents",
    showsMany: true,
    summary: "What a firm sent and received, newest first",
    description: "Needs the scope `documents:read`, in the firm's consent too.",
    errors: ["NOT_FOUND", "SCOPE_MISSING", "REQUEST_INVALID", "TEMPORARY"],
    request: {
      params: firmPath,
      query: z.object({
        page: wholeNumber({ min: 1, max: LIMITS.firm_documents_pages_max, byDefault: 1 }),
        page_size: wholeNumber({
          min: 1,
          max: LIMITS.firm_documents_page_max,
          byDefault: LIMITS.firm_documents_page_default,
        }),
        direction: z.enum(["outbound", "inbound"]).optional(),
        status: z
          .string()
          .transform((text) => text.toLowerCase())
          .pipe(z.enum(STATUSES))
          .meta({ openapi: { type: "string", enum: [...STATUSES] } })
          .optional(),
        from: instant.optional(),
        to: instant.optional(),
      }),
    },
    responses: { 200: { description: "One page.", schema: documentPage } },
    handler: async ({ caller, params, query, givesBody }) => ({
      status: 200,
      body: await ports.documents(caller, params.id, {
        isShown: givesBody,
        direction: query.direction,
        status: query.status,
        from: query.from,
        until: query.to,
        page: query.page ?? 1,
        pageSize: query.page_size ?? LIMITS.firm_documents_page_default,
      }),
    }),
  }),
];

const commandRows = (ports: FirmRoutesPorts): readonly Route[] => [
  route({
    ...COMMON,
    credential: "partner_unrestricted",
    operation: "firmAssign",
    method: "POST",
    path: "/firms/assign",
    scopes: ["firms:manage"],
    summary: "Take a firm that has agreed into your work",
    errors: ["FIRM_NOT_REGISTERED", "CONSENT_REQUIRED", "ALREADY_LINKED", "TEMPORARY"],
    request: { body: z.object({ ico }) },
    responses: { 200: { description: "The firm is linked.", schema: assignment } },
    handler: async (request) => ({
      status: 200,
      body: (await ports.assignFirm(request.caller, request.body.ico, actorOf(request))) as z.input<typeof assignment>,
    }),
  }),
  route({
    ...COMMON,
    credential: "partner_unrestricted",
    operation: "firmAssignBatch",
    method: "POST",
    path: "/firms/assign/batch",
    scopes: ["firms:manage"],
    summary: "Take several firms into your work",
    description: "Each has its own outcome, in the order of the request; the errors are those of a single call.",
    errors: ["TEMPORARY"],
    request: { body: z.object({ icos: z.array(ico).min(1).max(LIMITS.assign_batch_max) }) },
    responses: { 200: { description: "An outcome for each.", schema: batch } },
    handler: async (request) => {
      const actor = actorOf(request);
      const made = await assignMany(request.body.icos, (one) => ports.assignFirm(request.caller, one, actor));
      return { status: 200, body: made as z.input<typeof batch> };
    },
  }),
  route({
    ...COMMON,
    operation: "addFirmIdentifier",
    method: "POST",
    path: "/firms/{id}/peppol-identifiers",
    summary: "Register a firm under its tax id",
    description: "Needs the scope `firms:manage`, in the firm's consent too. Safe to repeat.",
    errors: ["NOT_FOUND", "SCOPE_MISSING", "IDENTIFIER_FOREIGN", "IDENTIFIER_TAKEN", "TEMPORARY"],
    request: {
      params: firmPath,
      body: z.object({
        scheme: z.string().regex(/^\d{4}$/, "must be 4 digits"),
        identifier: z.string().min(1).max(50),
      }),
    },
    responses: {
      200: {
        description: "The identifier.",
        schema: z.object({
          peppolId: z.string().regex(PARTICIPANT_FORMS.short),
          registrationStatus: z.literal("registered"),
          message: z.string(),
        }),
      },
    },
    handler: async (request) => ({
      status: 200,
      body: await ports.addIdentifier(request.caller, { firmId: request.params.id, ...request.body }, actorOf(request)),
    }),
  }),
];

export const firmRoutes = (ports: FirmRoutesPorts): readonly Route[] => [...readRows(ports), ...commandRows(ports)];
