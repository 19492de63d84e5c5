/**
 * Invitations of companies to consent, and how consent stands.
 * @source spec/enterprise.md, Consent offers; spec/rulings.md, section 8; spec/shapes.md, section 3
 */
import { z } from "zod";

import { parseFirmId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { SCOPES } from "../../../engine/base/scopes.js";
import { actorOf } from "../../../engine/identity/audit.js";
import type { Actor } from "../../../engine/identity/audit.js";
import type { Caller } from "../../../engine/identity/caller.js";
import {
  CONSENT_SCOPES,
  OFFER_STATUSES,
  RELATIONSHIP_MODES,
  REQUESTED_INTERFACES,
} from "../../../engine/identity/partners/consents.js";
import type {
  ConsentOffer,
  ConsentStatus,
  ConsentSubject,
  MadeOffer,
  OfferWish,
} from "../../../engine/identity/partners/consents.js";
import { idBy, uuid } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

/** What the rows need of the engine. */
interface ConsentRoutesPorts {
  offerConsent(caller: Caller, wish: OfferWish, actor: Actor): Promise<MadeOffer>;
  offer(caller: Caller, id: string): Promise<ConsentOffer>;
  consentStatus(caller: Caller, subject: ConsentSubject): Promise<ConsentStatus>;
}

const COMMON = {
  mounts: ["/api/v1"],
  family: "enterprise",
  credential: "partner_unrestricted",
  context: "forbidden",
  scopes: ["firms:manage"],
  tag: "Consent",
} as const;

const CREATE_ERRORS = [
  "SCOPE_EXCEEDS",
  "PARTNER_OFFER_UNAVAILABLE",
  "PARTNER_OFFER_CONFIGURATION_ERROR",
  "KEY_CHANGED",
  "TEMPORARY",
] as const;

const consentScope = z.enum(CONSENT_SCOPES);
const offer = z.object({
  id: z.uuid(),
  targetIdentifier: z.string(),
  customerReference: z.string().nullable(),
  relationshipMode: z.enum(RELATIONSHIP_MODES),
  requestedInterface: z.enum(REQUESTED_INTERFACES),
  requestedScopes: z.array(consentScope),
  status: z.enum(OFFER_STATUSES),
  expiresAt: z.iso.datetime(),
  createdAt: z.iso.datetime(),
});
const madeOffer = offer.extend({
  consentUrl: z.url().describe("The link for the company; it is shown this once."),
});

const createBody = z.object({
  targetIdentifier: z
    .string()
    .regex(/^(?:\d{8}|\d{10})$/, "must be a company id of 8 digits or a tax id of 10 digits")
    .describe("Company id (IČO) or tax id (DIČ) of the company that is invited."),
  customerReference: z
    .string()
    .trim()
    .min(1)
    .max(LIMITS.customer_ref_chars_max)
    .nullish()
    .describe(
      "Your own name for the company. When it accepts it becomes its customerRef of the Connector, unless it has one already or another of your firms bears that name. It does not deduplicate requests.",
    ),
  relationshipMode: z.enum(RELATIONSHIP_MODES).default("technical_delegation"),
  requestedInterface: z
    .enum(REQUESTED_INTERFACES)
    .default("enterprise_api")
    .describe("enterprise_api opens the Enterprise API and SAPI; connector that alone; all opens the three."),
  requestedScopes: z.array(consentScope).min(1).max(CONSENT_SCOPES.length),
});

/** The two ways to name a company in the older form. */
const linkBody = z
  .object({
    dic: z
      .string()
      .regex(/^\d{10}$/, "must be 10 digits")
      .optional(),
    ico: z
      .string()
      .regex(/^\d{8}$/, "must be 8 digits")
      .optional(),
    customer_reference: z.string().trim().min(1).max(LIMITS.customer_reference_chars_max).nullish(),
    scopes: z.array(consentScope).max(CONSENT_SCOPES.length),
  })
  .superRefine(({ dic, ico, scopes }, context) => {
    if ((dic === undefined) === (ico === undefined))
      context.addIssue({
        code: "custom",
        path: ["ico"],
        message: "must be the only name of the company: give exactly one of dic and ico",
      });
    if (!scopes.includes("firms:manage") || !scopes.some((scope) => scope.startsWith("documents:")))
      context.addIssue({
        code: "custom",
        path: ["scopes"],
        message: "must hold firms:manage and at least one documents: scope",
      });
  })
  .meta({ example: { ico: "99000017", customer_reference: "K-1042", scopes: ["firms:manage", "documents:read"] } });

const madeLink = z.object({
  id: z.uuid(),
  consent_url: z.url().describe("The link for the company; it is shown this once."),
  customer_reference: z.string().nullable(),
  integration_path: z.literal("enterprise_api"),
  requested_interfaces: z.array(z.literal("enterprise_api")),
  scopes: z.array(consentScope),
  status: z.literal("issued"),
  expires_at: z.iso.datetime(),
  created_at: z.iso.datetime(),
});

const offerRows = (ports: ConsentRoutesPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "createConsentOffer",
    method: "POST",
    path: "/consent-offers",
    rate: "consent_create",
    summary: "Invite a company to consent",
    description:
      "Each call makes an invitation of its own: after an uncertain answer do not repeat it blindly. It ends after 14 days. An owner or admin of the company must accept it on the page behind consentUrl; the key and the scopes are checked again then.",
    errors: CREATE_ERRORS,
    request: { body: createBody },
    responses: { 201: { description: "The invitation with its link.", schema: madeOffer } },
    handler: async (request) => {
      const { customerReference, ...wish } = request.body;
      const made = await ports.offerConsent(
        request.caller,
        { ...wish, customerReference: customerReference ?? undefined },
        actorOf(request),
      );
      return { status: 201, body: made as z.input<typeof madeOffer> };
    },
  }),
  route({
    ...COMMON,
    operation: "getConsentOffer",
    method: "GET",
    path: "/consent-offers/{offerId}",
    rate: "consent_read",
    summary: "Status of an invitation",
    description:
      "accepted means that the consent was given; it does not mean that contract, billing or API are active.",
    errors: ["NOT_FOUND", "TEMPORARY"],
    request: {
      params: z.object({ offerId: uuid }),
    },
    responses: { 200: { description: "The invitation, without its link.", schema: offer } },
    handler: async ({ caller, params }) => ({
      status: 200,
      body: (await ports.offer(caller, params.offerId)) as z.input<typeof offer>,
    }),
  }),
  route({
    ...COMMON,
    operation: "createConsentLink",
    method: "POST",
    path: "/firms/consent-link",
    rate: "consent_create",
    summary: "Invite a company to consent, in the older form",
    description: "The same operation as POST /consent-offers for the Enterprise API and SAPI.",
    errors: CREATE_ERRORS,
    request: { body: linkBody },
    responses: { 201: { description: "The invitation with its link.", schema: madeLink } },
    handler: async (request) => {
      const { dic, ico, customer_reference: reference, scopes } = request.body;
      const made = await ports.offerConsent(
        request.caller,
        {
          targetIdentifier: dic ?? ico ?? "",
          customerReference: reference ?? undefined,
          relationshipMode: "technical_delegation",
          requestedInterface: "enterprise_api",
          requestedScopes: scopes,
        },
        actorOf(request),
      );
      return {
        status: 201,
        body: {
          id: made.id,
          consent_url: made.consentUrl,
          customer_reference: made.customerReference,
          integration_path: "enterprise_api" as const,
          requested_interfaces: ["enterprise_api" as const],
          scopes: scopes.filter((scope, at) => scopes.indexOf(scope) === at),
          status: "issued" as const,
          expires_at: made.expiresAt,
          created_at: made.createdAt,
        },
      };
    },
  }),
];

const statusQuery = z
  .object({
    firmId: idBy(parseFirmId).optional(),
    customerReference: z.string().trim().min(1).max(LIMITS.customer_ref_chars_max).optional(),
  })
  .superRefine(({ firmId, customerReference }, context) => {
    if ((firmId === undefined) === (customerReference === undefined))
      context.addIssue({
        code: "custom",
        path: ["firmId"],
        message: "must be named alone: exactly one of firmId and customerReference",
      });
  });

const statusRow = (ports: ConsentRoutesPorts): Route =>
  route({
    ...COMMON,
    credential: "partner",
    operation: "getConsentStatus",
    method: "GET",
    path: "/firms/consent-status",
    rate: "enterprise",
    summary: "How the consent of a firm stands",
    description:
      "active does not mean that the firm is registered in Peppol or that billing is ready. A firm that you have nothing to do with is required, whether it exists or not.",
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    request: { query: statusQuery },
    responses: {
      200: {
        description: "The state of the binding.",
        schema: z.object({
          state: z.enum(["required", "pending", "active", "revoked"]),
          interface: z.enum(REQUESTED_INTERFACES).nullable(),
          scopes: z.array(z.enum(SCOPES)),
          customerReference: z.string().nullable(),
          firmId: z.uuid().nullable(),
          updatedAt: z.iso.datetime().nullable(),
        }),
      },
    },
    handler: async ({ caller, query }) => {
      const status = await ports.consentStatus(caller, {
        firmId: query.firmId,
        customerReference: query.customerReference,
      });
      return { status: 200, body: { ...status, scopes: SCOPES.filter((scope) => status.scopes.includes(scope)) } };
    },
  });

export const consentRoutes = (ports: ConsentRoutesPorts): readonly Route[] => [...offerRows(ports), statusRow(ports)];
