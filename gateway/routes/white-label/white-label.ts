/** White Label: participants without accounts. @source spec/enterprise.md, White Label; spec/rulings.md, section 12 */
import { z } from "zod";

import { Refusal } from "../../../engine/base/errors.js";
import type { ErrorDetail, ErrorName } from "../../../engine/base/errors.js";
import { PARTICIPANT_FORMS, parseEmail } from "../../../engine/base/ids.js";
import type { IntegratorId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { actorOf } from "../../../engine/identity/audit.js";
import type { Actor } from "../../../engine/identity/audit.js";
import { integratorOf } from "../../../engine/identity/caller.js";
import { tenantName } from "../../../engine/identity/names.js";
import type { WhiteLabelWish } from "../../../engine/identity/white-label/operations.js";
import { WHITE_LABEL_TYPES } from "../../../engine/identity/white-label/reads.js";
import type {
  CustomerWish,
  WhiteLabelCustomer,
  WhiteLabelOperation,
  WhiteLabelParticipant,
} from "../../../engine/identity/white-label/reads.js";
import { WHITE_LABEL_STATES } from "../../../engine/lifecycle/white-label.js";
import { parsedBy, uuid, wholeNumber } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

/** One page of a list. */
interface Page {
  readonly integratorId: IntegratorId;
  readonly cursor: string | undefined;
  readonly limit: number;
}

interface WhiteLabelPorts {
  /** Writes the wish and waits some seconds for its end. */
  wish(
    wish: WhiteLabelWish,
    actor: Actor,
  ): Promise<{ readonly operation: WhiteLabelOperation; readonly isNew: boolean }>;
  leave(
    leave: { readonly integratorId: IntegratorId; readonly participantId: string },
    actor: Actor,
  ): Promise<{ readonly operation: WhiteLabelOperation; readonly migrationCode: string | null }>;
  operation(integratorId: IntegratorId, id: string): Promise<WhiteLabelOperation>;
  participant(integratorId: IntegratorId, id: string): Promise<WhiteLabelParticipant>;
  participants(
    page: Page,
  ): Promise<{ readonly participants: WhiteLabelParticipant[]; readonly nextCursor: string | null }>;
  createCustomer(wish: CustomerWish): Promise<{ readonly customer: WhiteLabelCustomer; readonly isNew: boolean }>;
  customers(page: Page): Promise<{ readonly customers: WhiteLabelCustomer[]; readonly nextCursor: string | null }>;
}

const COMMON = {
  mounts: ["/api/v1"],
  family: "enterprise",
  credential: "partner_unrestricted",
  context: "forbidden",
  rate: "enterprise",
  tag: "White Label",
} as const;

const said = z.string().nullable();
const customerRef = z.string().trim().min(1).max(LIMITS.customer_ref_chars_max).describe("Your own name of the firm.");
const dic = z
  .string()
  .regex(/^[0-9]{10}$/, "must be 10 digits")
  .describe("Tax id.");
const companyEmail = parsedBy(parseEmail, "must be one e-mail address").meta({
  openapi: { type: "string", format: "email" },
});
const legalName = tenantName.optional();
const secretOf = (chars_max: number) =>
  z
    .string()
    .regex(/^[\x21-\x7e]+$/, "must be printable ASCII without spaces")
    .max(chars_max);

const operation = z
  .object({
    id: z.uuid(),
    operationType: z.enum(WHITE_LABEL_TYPES),
    status: z.enum(WHITE_LABEL_STATES),
    customerRef: z.string(),
    dic: z.string(),
    peppolId: z.string().regex(PARTICIPANT_FORMS.short),
    legalName: said,
    companyEmail: z.string(),
    firmId: z.uuid().nullable(),
    participantId: z.uuid().nullable(),
    reviewRequired: z
      .boolean()
      .describe("The operator looks at it: what the registry did is not known, or the token must be checked."),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    createdAt: z.iso.datetime(),
    completedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: "WhiteLabelOperation" });

const participant = z
  .object({
    id: z.uuid(),
    customerRef: z.string(),
    firmId: z.uuid(),
    operationId: z.uuid(),
    legalName: z.string(),
    ico: said,
    dic: said,
    icDph: said,
    peppolId: z.string().regex(PARTICIPANT_FORMS.short),
    status: z.enum(["active", "leaving"]),
    authorizationSource: z.enum(["fs_verification_token", "smp_migration_code"]),
    endpointProfile: z.literal("managed"),
    managedSince: z.iso.datetime(),
  })
  .meta({ id: "WhiteLabelParticipant" });

const customer = z
  .object({
    id: z.uuid(),
    customerRef: z.string(),
    relationship: z.literal("represented"),
    dic: z.string(),
    status: z.enum(["active"]),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: "WhiteLabelCustomer" });

const locationOf = ({ id }: { readonly id: string }): Readonly<Record<string, string>> => ({
  Location: `/api/v1/white-label/operations/${id}`,
});

/** The refusals by which an operation has ended. */
const ENDED: Readonly<Record<string, ErrorName>> = {
  REGISTRY_CONFLICT: "REGISTRY_CONFLICT",
  REGISTRY_REFUSED: "REGISTRY_REFUSED",
  REGISTRY_UNAVAILABLE: "REGISTRY_UNAVAILABLE",
};

const NEXT_ACTIONS: Partial<Record<ErrorName, string>> = {
  REGISTRY_CONFLICT:
    "Ask the present provider for a migration code and send POST /white-label/participants/migrations.",
};

/** What the registry judged of a request, the participant first. */
const JUDGED: Readonly<Record<WhiteLabelOperation["operationType"], readonly [string, ...string[]]>> = {
  registration: ["dic", "verificationToken"],
  migration_in: ["dic", "migrationCode"],
  migration_out: ["participantId"],
};

/** The members of a request for which the registry did not do it. */
const DETAILS: Partial<Record<ErrorName, (shown: WhiteLabelOperation) => readonly ErrorDetail[]>> = {
  REGISTRY_CONFLICT: ({ operationType }) => [
    { field: JUDGED[operationType][0], message: "Another provider has this participant in the registry." },
  ],
  REGISTRY_REFUSED: ({ operationType }) =>
    JUDGED[operationType].map((field) => ({ field, message: "The registry has judged it, and does not say more." })),
};

/** What an operation is answered with. @throws Refusal of a registry that did not do it */
function answerOf(shown: WhiteLabelOperation, isNew: boolean) {
  if (shown.status === "rejected") {
    const name = ENDED[shown.error?.code ?? ""] ?? "REGISTRY_REFUSED";
    const nextAction = NEXT_ACTIONS[name];
    throw new Refusal(name, DETAILS[name]?.(shown), nextAction === undefined ? {} : { nextAction });
  }
  if (shown.status === "succeeded" && isNew) return { status: 201 as const, body: shown };
  // What an operator released has ended, too: whoever asks again is not to wait for it.
  if (shown.status === "succeeded" || shown.status === "released") return { status: 200 as const, body: shown };
  return { status: 202 as const, body: shown, headers: locationOf(shown) };
}

const WISH_ERRORS: readonly ErrorName[] = [
  "REQUEST_INVALID",
  "IDENTIFIER_TAKEN",
  "PARTICIPANT_UNDER_WAY",
  "CUSTOMER_REF_CONFLICT",
  "IDEMPOTENCY_REUSED",
  "PARTNER_NOT_AUTHORIZED",
  "REGISTRY_CONFLICT",
  "REGISTRY_REFUSED",
  "REGISTRY_UNAVAILABLE",
  "TEMPORARY",
];
const WISH_RESPONSES = {
  201: { description: "The registry has written it and it is bound here.", schema: operation },
  200: { description: "A repeat of the same key and body, after its end.", schema: operation },
  202: {
    description: "In progress or under review; do not send it again under a new key.",
    schema: operation,
    headers: { Location: "Relative path of the operation." },
  },
} as const;

const wishRows = (ports: WhiteLabelPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "registerWhiteLabelParticipant",
    method: "POST",
    path: "/white-label/participants/registrations",
    scopes: ["participants:write"],
    idempotency: "text",
    summary: "Register a participant with the tax authority's verification token",
    description:
      "The token goes to the registry and is kept nowhere in readable form. An identity that is there already is never taken over.",
    errors: WISH_ERRORS,
    request: {
      body: z.object({
        customerRef,
        dic,
        companyEmail,
        legalName,
        verificationToken: secretOf(LIMITS.verification_token_chars_max),
      }),
    },
    responses: WISH_RESPONSES,
    handler: async (request) => {
      const { verificationToken, ...body } = request.body;
      const { operation: made, isNew } = await ports.wish(
        {
          operationType: "registration",
          integratorId: integratorOf(request.caller),
          idempotencyKey: request.idempotencyKey,
          ...body,
          legalName: body.legalName,
          secret: verificationToken,
        },
        actorOf(request),
      );
      return answerOf(made, isNew);
    },
  }),
  route({
    ...COMMON,
    operation: "migrateWhiteLabelParticipant",
    method: "POST",
    path: "/white-label/participants/migrations",
    scopes: ["participants:migrate"],
    idempotency: "text",
    summary: "Take a participant over with the migration code of its present provider",
    errors: WISH_ERRORS,
    request: {
      body: z.object({
        customerRef,
        dic,
        companyEmail,
        legalName,
        migrationCode: secretOf(LIMITS.migration_code_chars_max),
      }),
    },
    responses: WISH_RESPONSES,
    handler: async (request) => {
      const { migrationCode, ...body } = request.body;
      const { operation: made, isNew } = await ports.wish(
        {
          operationType: "migration_in",
          integratorId: integratorOf(request.caller),
          idempotencyKey: request.idempotencyKey,
          ...body,
          legalName: body.legalName,
          secret: migrationCode,
        },
        actorOf(request),
      );
      return answerOf(made, isNew);
    },
  }),
];

const participantPath = z.object({ participantId: uuid });

const pageQuery = z.object({
  cursor: z.string().optional(),
  limit: wholeNumber({ min: 1, max: LIMITS.white_label_page_max, byDefault: LIMITS.white_label_page_default }),
});

const leaveRow = (ports: WhiteLabelPorts): Route => {
  const left = z.object({ operation, migrationCode: said.describe("For the provider that takes it over.") });
  return route({
    ...COMMON,
    operation: "whiteLabelMigrationCode",
    method: "POST",
    path: "/white-label/participants/{participantId}/migration-code",
    scopes: ["participants:migrate"],
    summary: "A code with which another provider takes a participant over",
    description: "A repeat answers the same code.",
    errors: ["NOT_FOUND", "PARTICIPANT_UNDER_WAY", "REGISTRY_REFUSED", "REGISTRY_UNAVAILABLE", "TEMPORARY"],
    request: { params: participantPath },
    responses: {
      200: { description: "The code.", schema: left },
      202: {
        description: "In progress or under review.",
        schema: left,
        headers: { Location: "Relative path of the operation." },
      },
    },
    handler: async (request) => {
      const { participantId } = request.params;
      const body = await ports.leave({ integratorId: integratorOf(request.caller), participantId }, actorOf(request));
      const answer = answerOf(body.operation, false);
      return answer.status === 202 ? { status: 202, body, headers: locationOf(body.operation) } : { status: 200, body };
    },
  });
};

const readRows = (ports: WhiteLabelPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "getWhiteLabelOperation",
    method: "GET",
    path: "/white-label/operations/{operationId}",
    scopes: ["participants:read"],
    summary: "How an operation stands",
    errors: ["NOT_FOUND", "TEMPORARY"],
    request: { params: z.object({ operationId: uuid }) },
    responses: { 200: { description: "The operation.", schema: operation } },
    handler: async ({ caller, params }) => ({
      status: 200,
      body: await ports.operation(integratorOf(caller), params.operationId),
    }),
  }),
  route({
    ...COMMON,
    operation: "getWhiteLabelParticipant",
    method: "GET",
    path: "/white-label/participants/{participantId}",
    scopes: ["participants:read"],
    summary: "One of your participants",
    errors: ["NOT_FOUND", "TEMPORARY"],
    request: { params: participantPath },
    responses: { 200: { description: "The participant.", schema: participant } },
    handler: async ({ caller, params }) => ({
      status: 200,
      body: await ports.participant(integratorOf(caller), params.participantId),
    }),
  }),
  route({
    ...COMMON,
    operation: "listWhiteLabelParticipants",
    method: "GET",
    path: "/white-label/participants",
    scopes: ["participants:read"],
    summary: "Your participants, in the order in which they came",
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    request: { query: pageQuery },
    responses: {
      200: {
        description: "One page.",
        schema: z.object({ participants: z.array(participant), nextCursor: said }),
      },
    },
    handler: async ({ caller, query }) => ({
      status: 200,
      body: await ports.participants({
        integratorId: integratorOf(caller),
        cursor: query.cursor,
        limit: query.limit ?? LIMITS.white_label_page_default,
      }),
    }),
  }),
];

const customerRows = (ports: WhiteLabelPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "createCustomer",
    method: "POST",
    path: "/customers",
    scopes: ["participants:write"],
    idempotency: "text",
    summary: "Note a customer whom you represent",
    errors: ["REQUEST_INVALID", "IDEMPOTENCY_REUSED", "CUSTOMER_REF_CONFLICT", "TEMPORARY"],
    request: {
      body: z.object({
        customerRef,
        relationship: z.literal("represented"),
        customerAuthorization: z
          .string()
          .trim()
          .min(1)
          .max(LIMITS.customer_authorization_chars_max)
          .describe("What proves that you may: a reference to the mandate, or its words."),
        dic,
        companyEmail,
        legalName,
      }),
    },
    responses: {
      201: { description: "The customer.", schema: customer },
      200: { description: "A repeat of the same key and body.", schema: customer },
    },
    handler: async ({ caller, body: { relationship: _, ...body }, idempotencyKey }) => {
      const { customer: made, isNew } = await ports.createCustomer({
        integratorId: integratorOf(caller),
        idempotencyKey,
        ...body,
        legalName: body.legalName,
      });
      return isNew ? { status: 201, body: made } : { status: 200, body: made };
    },
  }),
  route({
    ...COMMON,
    operation: "listCustomers",
    method: "GET",
    path: "/customers",
    scopes: ["participants:read"],
    summary: "Customers whom you represent",
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    request: { query: pageQuery },
    responses: {
      200: { description: "One page.", schema: z.object({ customers: z.array(customer), nextCursor: said }) },
    },
    handler: async ({ caller, query }) => ({
      status: 200,
      body: await ports.customers({
        integratorId: integratorOf(caller),
        cursor: query.cursor,
        limit: query.limit ?? LIMITS.white_label_page_default,
      }),
    }),
  }),
];

/** Rows of White Label. */
export const whiteLabelRoutes = (ports: WhiteLabelPorts): readonly Route[] => [
  ...wishRows(ports),
  ...readRows(ports),
  leaveRow(ports),
  ...customerRows(ports),
];
