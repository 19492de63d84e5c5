/**
 * Onboarding of firms that only send (preview), and the tax authority's confirmation.
 * @source spec/enterprise.md, Endpoints: Onboarding; spec/rulings.md, section 8
 */
import { z } from "zod";

import { isoInstant } from "../../../engine/base/clock.js";
import { parseEmail, parseOnboardingId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { integratorOf } from "../../../engine/identity/caller.js";
import { readConfirmation } from "../../../engine/identity/onboarding/confirmation.js";
import { ONBOARDING_RELATIONSHIPS } from "../../../engine/identity/onboarding/onboarding.js";
import type { Onboarding, OnboardingRequest } from "../../../engine/identity/onboarding/onboarding.js";
import { ONBOARDING_STATES } from "../../../engine/lifecycle/onboarding.js";
import { idBy } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

interface OnboardingPorts extends Pick<Onboarding, "create" | "read" | "confirm"> {
  readonly pfsSecret: string | undefined;
}

const COMMON = {
  mounts: ["/api/v1"],
  family: "enterprise",
  tag: "Onboarding",
} as const;
const PARTNER = {
  ...COMMON,
  credential: "partner_unrestricted",
  context: "forbidden",
  scopes: ["firms:manage"],
  rate: "enterprise",
} as const;

const SEND_SCOPES = ["documents:send", "documents:read"] as const;

const wish = z
  .strictObject({
    serviceMode: z.literal("send_only"),
    customerRef: z
      .string()
      .trim()
      .min(1)
      .max(LIMITS.customer_ref_chars_max)
      .describe("Your own stable id of the firm."),
    dic: z
      .string()
      .regex(/^[0-9]{10}$/, "must be ten digits")
      .describe("Tax id of the firm."),
    contactEmail: z
      .string()
      .max(255)
      .refine((text) => parseEmail(text) !== undefined, "must be an e-mail address")
      .meta({ format: "email" })
      .describe("Where the firm is reached; no evidence of its identity."),
    relationshipMode: z
      .enum(ONBOARDING_RELATIONSHIPS)
      .default("technical_delegation")
      .describe("technical_delegation is paid by the firm, managed_service by the partner."),
  })
  .meta({
    example: {
      serviceMode: "send_only",
      customerRef: "erp-4711",
      dic: "2120000033",
      contactEmail: "uctaren@firma.example",
      relationshipMode: "technical_delegation",
    },
  });

const view = z.object({
  id: z.uuid(),
  customerRef: z.string(),
  serviceMode: z.literal("send_only"),
  status: z.enum(ONBOARDING_STATES),
  firmId: z.uuid().nullable().describe("Null until status is active."),
  nextAction: z.string().nullable().describe("What is to be done, in a sentence; null when nothing is."),
  relationshipMode: z.enum(ONBOARDING_RELATIONSHIPS),
  payerMode: z.enum(["firm_billed", "integrator_billed"]),
  keyCreation: z
    .object({
      method: z.literal("POST"),
      path: z.literal("/api/v1/integrator/keys"),
      scopedFirmId: z.uuid(),
      scopes: z.array(z.enum(SEND_SCOPES)),
    })
    .nullable()
    .describe("How a key for the firm is made; null unless status is active."),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});

/** What an integrator sees. The firm is shown only while the request is active. */
function viewOf(request: OnboardingRequest): z.input<typeof view> {
  const { id, customerRef, status, relationshipMode, nextAction } = request;
  const firmId = status === "active" ? request.firmId : null;
  return {
    id,
    customerRef,
    serviceMode: "send_only",
    status,
    firmId,
    nextAction,
    relationshipMode,
    payerMode: relationshipMode === "managed_service" ? "integrator_billed" : "firm_billed",
    keyCreation:
      firmId === null
        ? null
        : { method: "POST", path: "/api/v1/integrator/keys", scopedFirmId: firmId, scopes: [...SEND_SCOPES] },
    createdAt: isoInstant(request.createdAt),
    updatedAt: isoInstant(request.updatedAt),
  };
}

const requestId = z.object({ id: idBy(parseOnboardingId) });

const partnerRows = (ports: OnboardingPorts): readonly Route[] => [
  route({
    ...PARTNER,
    operation: "createOnboardingRequest",
    method: "POST",
    path: "/onboarding-requests",
    summary: "Ask for a firm that only sends (preview)",
    description:
      "The request waits for the tax authority's confirmation, then the firm is ready. Poll it: no webhook tells of it. A repeat under the same key answers the request as it is now.",
    idempotency: "token",
    errors: ["PREVIEW_DISABLED", "PARTNER_NOT_AUTHORIZED", "IDEMPOTENCY_REUSED", "CUSTOMER_REF_CONFLICT", "TEMPORARY"],
    request: { body: wish },
    responses: { 202: { description: "The request as it is now.", schema: view } },
    handler: async ({ body, caller, idempotencyKey }) => {
      const { customerRef, dic, contactEmail, relationshipMode } = body;
      const request = await ports.create({
        integratorId: integratorOf(caller),
        idempotencyKey,
        customerRef,
        dic,
        contactEmail,
        relationshipMode,
      });
      return { status: 202, body: viewOf(request) };
    },
  }),
  route({
    ...PARTNER,
    operation: "getOnboardingRequest",
    method: "GET",
    path: "/onboarding-requests/{id}",
    summary: "Read an onboarding request (preview)",
    errors: ["PREVIEW_DISABLED", "NOT_FOUND", "TEMPORARY"],
    request: { params: requestId },
    responses: { 200: { description: "The request as it is now.", schema: view } },
    handler: async ({ params, caller }) => ({
      status: 200,
      body: viewOf(await ports.read(integratorOf(caller), params.id)),
    }),
  }),
];

const authorityRows = (ports: OnboardingPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "pfsConfirmation",
    method: "POST",
    path: "/webhooks/pfs",
    hidden: true,
    credential: "none",
    rate: "pfs",
    summary: "The tax authority's confirmation that a firm has named this provider",
    description:
      "X-PFS-Signature is the lower-case hex HMAC-SHA256 of the raw body. Repeats change nothing and are answered alike.",
    errors: ["PREVIEW_DISABLED", "SIGNATURE_INVALID", "BODY_MALFORMED", "REQUEST_INVALID", "TEMPORARY"],
    request: { body: z.instanceof(Uint8Array), accepts: ["raw"], body_bytes_max: LIMITS.pfs_body_bytes_max },
    responses: { 200: { description: "Taken.", schema: z.object({ received: z.literal(true) }) } },
    handler: async (request) => {
      await ports.confirm(readConfirmation(request.body, request.header("x-pfs-signature"), ports.pfsSecret));
      return { status: 200, body: { received: true as const } };
    },
  }),
];

export const onboardingRoutes = (ports: OnboardingPorts): readonly Route[] => [
  ...partnerRows(ports),
  ...authorityRows(ports),
];
