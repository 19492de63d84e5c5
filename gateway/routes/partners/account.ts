/**
 * What a key and its firm read and change of themselves.
 * @source spec/enterprise.md, Authentication and keys; Account and licence; spec/shapes.md, section 4
 */
import { z } from "zod";

import { PARTICIPANT_FORMS } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { SCOPES } from "../../../engine/base/scopes.js";
import { ACTOR_TYPES, AUDIT_EVENTS, actorOf } from "../../../engine/identity/audit.js";
import type { Actor, AuditAsked, AuditPage } from "../../../engine/identity/audit.js";
import type { Account, KeyStatus } from "../../../engine/identity/account.js";
import type { Caller } from "../../../engine/identity/caller.js";
import type { CreatedKey } from "../../../engine/identity/keys.js";
import { instant, wholeNumber } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

/** What the rows need of the engine. */
interface AccountRoutesPorts {
  keyStatus(caller: Caller): Promise<KeyStatus>;
  rotateSecret(caller: Caller, actor: Actor): Promise<CreatedKey>;
  /** @returns the list as stored */
  replaceOwnAllowlist(caller: Caller, entries: readonly string[], actor: Actor): Promise<readonly string[]>;
  account(caller: Caller): Promise<Account>;
  audit(caller: Caller, asked: AuditAsked): Promise<AuditPage>;
}

const COMMON = {
  mounts: ["/api/v1"],
  family: "enterprise",
  credential: "bearer",
  rate: "enterprise",
} as const;

const peppolStatus = z.enum(["registered", "not_registered"]);

const keyStatus = z.object({
  key: z.object({
    id: z.uuid(),
    name: z.string().nullable(),
    prefix: z.string(),
    permissions: z.array(z.enum(SCOPES)),
    active: z.boolean(),
    createdAt: z.iso.datetime(),
    lastUsedAt: z.iso.datetime().nullable(),
  }),
  firm: z.object({ id: z.uuid(), peppolStatus }).nullable(),
  plan: z.object({ name: z.string(), expiresAt: z.iso.datetime().nullable(), active: z.boolean() }),
  rateLimit: z.object({ perMinute: z.number().int(), window: z.literal("60s") }),
  integrator: z.object({ id: z.uuid() }).nullable(),
  firm_id: z.uuid().nullable(),
  key_type: z.enum(["live", "integrator"]),
  scope: z.string().describe("Space-separated scopes of the token."),
});

const rotated = z.object({
  key: z.string().describe("The new secret; it is shown this once."),
  prefix: z.string().describe("What is shown of it; also good as client_id."),
  clientId: z.uuid(),
  message: z.string(),
});

const allowlist = z.object({
  ip_allowlist: z.array(z.string()).describe("Addresses and networks; empty lets the key be used from anywhere."),
});

const account = z.object({
  firm: z.object({
    name: z.string(),
    ico: z.string().nullable(),
    peppolId: z.string().regex(PARTICIPANT_FORMS.short).nullable(),
    peppolStatus,
  }),
  plan: z.object({ name: z.string(), status: z.enum(["active", "expired"]) }),
  usage: z.object({
    outbound: z.number().int(),
    inbound: z.number().int(),
    ocr_extractions: z.number().int(),
  }),
  limits: z.object({ documents_per_month: z.number().int(), ocr_per_month: z.number().int() }),
});

const auditPage = z.object({
  rows: z.array(
    z.object({
      id: z.uuid(),
      occurred_at: z.iso.datetime(),
      actor_type: z.enum(ACTOR_TYPES),
      actor_id: z.string().nullable(),
      event: z.enum(AUDIT_EVENTS),
      target_type: z.string(),
      target_id: z.string(),
      ip: z.string().nullable(),
      user_agent: z.string().nullable(),
      metadata: z.record(z.string(), z.unknown()),
    }),
  ),
  next_cursor: z.string().nullable(),
});

const keyRows = (ports: AccountRoutesPorts): readonly Route[] => [
  route({
    ...COMMON,
    family: "auth",
    operation: "authStatus",
    method: "GET",
    path: "/auth/status",
    tag: "Authentication",
    summary: "The calling key: what it may do, for whom, how often",
    errors: ["TEMPORARY"],
    responses: { 200: { description: "The key as it is now.", schema: keyStatus } },
    handler: async ({ caller }) => ({
      status: 200,
      body: (await ports.keyStatus(caller)) as z.input<typeof keyStatus>,
    }),
  }),
  route({
    ...COMMON,
    operation: "authRotateSecret",
    method: "POST",
    path: "/auth/rotate-secret",
    tag: "Authentication",
    summary: "Replace the calling firm key by a new one",
    description:
      "The old key and its tokens are of no use from the next request on; the new one has the same scopes, allowlist and name. The token must have all scopes of its key.",
    errors: ["ROTATION_FORBIDDEN", "SCOPE_MISSING", "KEY_CHANGED", "TEMPORARY"],
    responses: { 200: { description: "The new key; its secret is shown this once.", schema: rotated } },
    handler: async (request) => {
      const made = await ports.rotateSecret(request.caller, actorOf(request));
      return {
        status: 200,
        body: {
          key: made.secret,
          prefix: made.prefix,
          clientId: made.id,
          message: "Store the new key now; it is not shown again. The old key is inactive.",
        },
      };
    },
  }),
  route({
    ...COMMON,
    operation: "getIpAllowlist",
    method: "GET",
    path: "/auth/ip-allowlist",
    tag: "Authentication",
    summary: "From where the calling key may be used",
    scopes: ["account:read"],
    errors: [],
    responses: { 200: { description: "The list.", schema: allowlist } },
    handler: ({ caller }) => ({ status: 200, body: { ip_allowlist: [...caller.ipAllowlist] } }),
  }),
  route({
    ...COMMON,
    operation: "putIpAllowlist",
    method: "PUT",
    path: "/auth/ip-allowlist",
    tag: "Authentication",
    summary: "Set from where the calling key may be used",
    description: "Holds from the next request on. An empty list clears the restriction.",
    scopes: ["account:read"],
    errors: ["REQUEST_INVALID", "KEY_CHANGED", "TEMPORARY"],
    request: { body: allowlist },
    responses: { 200: { description: "The list as it is stored.", schema: allowlist } },
    handler: async (request) => {
      const stored = await ports.replaceOwnAllowlist(request.caller, request.body.ip_allowlist, actorOf(request));
      return { status: 200, body: { ip_allowlist: [...stored] } };
    },
  }),
];

const auditQuery = z.object({
  event: z.enum(AUDIT_EVENTS).optional(),
  actor_type: z.enum(ACTOR_TYPES).optional(),
  since: instant.optional(),
  until: instant.optional(),
  cursor: z.string().optional(),
  limit: wholeNumber({ min: 1, max: LIMITS.audit_page_max, byDefault: LIMITS.audit_page_default }),
});

const accountRows = (ports: AccountRoutesPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "getAccount",
    method: "GET",
    path: "/account",
    context: "forbidden",
    tag: "Account",
    summary: "The firm, its registration, its plan and what it has used this month",
    description: "-1 is unlimited. 404 for a key that is not of one firm.",
    errors: ["NOT_FOUND", "TEMPORARY"],
    responses: { 200: { description: "The account.", schema: account } },
    handler: async ({ caller }) => ({
      status: 200,
      body: (await ports.account(caller)) as z.input<typeof account>,
    }),
  }),
  route({
    ...COMMON,
    operation: "auditList",
    method: "GET",
    path: "/audit",
    context: "forbidden",
    scopes: ["account:read"],
    tag: "Account",
    showsMany: true,
    summary: "Who changed keys, tokens, consents and firms",
    description:
      "Newest first. Entries are never changed. What the other side of a consent did shows neither its address nor the person.",
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    request: { query: auditQuery },
    responses: { 200: { description: "One page.", schema: auditPage } },
    handler: async ({ caller, query }) => ({
      status: 200,
      body: (await ports.audit(caller, {
        event: query.event,
        actorType: query.actor_type,
        since: query.since,
        until: query.until,
        cursor: query.cursor,
        limit: query.limit ?? LIMITS.audit_page_default,
      })) as z.input<typeof auditPage>,
    }),
  }),
];

export const accountRoutes = (ports: AccountRoutesPorts): readonly Route[] => [
  ...keyRows(ports),
  ...accountRows(ports),
];
