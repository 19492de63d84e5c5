/**
 * Keys of integrators.
 * @source spec/enterprise.md, Authentication and keys; Integrator API key; Key management rules
 */
import { z } from "zod";

import { parseFirmId, parseKeyId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { SCOPES } from "../../../engine/base/scopes.js";
import { actorOf } from "../../../engine/identity/audit.js";
import type { Actor } from "../../../engine/identity/audit.js";
import type { Caller } from "../../../engine/identity/caller.js";
import { keyName } from "../../../engine/identity/names.js";
import type { IssuedKey, KeyWish, ListedKey, NamedKey } from "../../../engine/identity/partners/keys.js";
import { idBy } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

/** What the rows need of the engine. */
interface KeyRoutesPorts {
  keys(caller: Caller): Promise<ListedKey[]>;
  issueKey(caller: Caller, wish: KeyWish, actor: Actor): Promise<IssuedKey>;
  endKey(caller: Caller, named: NamedKey, actor: Actor): Promise<unknown>;
}

const COMMON = {
  mounts: ["/api/v1"],
  family: "enterprise",
  credential: "partner_unrestricted",
  context: "forbidden",
  scopes: ["keys:manage"],
  rate: "enterprise",
  tag: "Integrator keys",
} as const;

const keyId = idBy(parseKeyId);

const firmId = idBy(parseFirmId);

const key = z.object({
  id: z.uuid(),
  keyPrefix: z.string(),
  name: z.string().nullable(),
  scopes: z.array(z.enum(SCOPES)),
  ipAllowlist: z.array(z.string()),
  scopedFirmId: z.uuid().nullable().describe("The only firm for which the key may act; null for a main key."),
});
const listedKey = key.extend({
  isActive: z.boolean(),
  lastUsedAt: z.iso.datetime().nullable(),
  createdAt: z.iso.datetime(),
});
const issuedKey = key.extend({
  key: z.string().describe("The secret; it is shown this once."),
  clientId: z.uuid(),
});

const wish = z.object({
  name: keyName.nullish(),
  scopes: z
    .array(z.enum(SCOPES))
    .min(1)
    .max(SCOPES.length)
    .optional()
    .describe(
      "A subset of the calling token's scopes and, for a firm's key, of the firm's consent; all of them when absent.",
    ),
  ipAllowlist: z.array(z.string()).max(LIMITS.ip_allowlist_entries_max).optional(),
  scopedFirmId: firmId.nullish().describe("Makes a key for this firm alone."),
});

/** The older form of a deletion. */
const ending = z
  .object({
    keyId: keyId.optional(),
    client_id: z.string().min(1).max(LIMITS.client_id_chars_max).optional().describe("The key's prefix."),
  })
  .superRefine((body, context) => {
    if (body.keyId !== undefined || body.client_id !== undefined) return;
    context.addIssue({ code: "custom", path: ["keyId"], message: "must be given, or client_id in its place" });
  });

const ended = z.object({ success: z.boolean(), message: z.string() });
const ENDED = { success: true, message: "The key is inactive and its tokens are invalid." };
const END_ERRORS = ["NOT_FOUND", "KEY_INACTIVE", "KEY_LAST_MAIN", "KEY_CHANGED", "TEMPORARY"] as const;

export const integratorKeyRoutes = (ports: KeyRoutesPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "listIntegratorKeys",
    method: "GET",
    path: "/integrator/keys",
    summary: "Keys of the integrator, newest first",
    errors: ["TEMPORARY"],
    responses: { 200: { description: "No secrets.", schema: z.object({ keys: z.array(listedKey) }) } },
    handler: async ({ caller }) => ({
      status: 200,
      body: { keys: (await ports.keys(caller)) as z.input<typeof listedKey>[] },
    }),
  }),
  route({
    ...COMMON,
    operation: "createIntegratorKey",
    method: "POST",
    path: "/integrator/keys",
    summary: "Make a key",
    description: `At most ${LIMITS.keys_unrestricted_active_max} active unrestricted keys, and ${LIMITS.keys_scoped_active_max} for each firm.`,
    errors: [
      "REQUEST_INVALID",
      "FIRM_KEY_ISSUANCE_DISABLED",
      "FIRM_FORBIDDEN",
      "SCOPE_EXCEEDS",
      "KEY_LIMIT_REACHED",
      "KEY_CHANGED",
      "TEMPORARY",
    ],
    request: { body: wish.optional() },
    responses: { 201: { description: "The key; its secret is shown this once.", schema: issuedKey } },
    handler: async (request) => {
      const { name, scopes, ipAllowlist, scopedFirmId } = request.body ?? {};
      const made = await ports.issueKey(
        request.caller,
        { name: name ?? undefined, scopes, ipAllowlist, scopedFirmId: scopedFirmId ?? undefined },
        actorOf(request),
      );
      return {
        status: 201,
        body: {
          id: made.id,
          keyPrefix: made.prefix,
          name: made.name,
          scopes: [...made.scopes],
          ipAllowlist: [...made.ipAllowlist],
          scopedFirmId: made.scopedFirmId,
          key: made.secret,
          clientId: made.id,
        },
      };
    },
  }),
  route({
    ...COMMON,
    operation: "deleteIntegratorKey",
    method: "DELETE",
    path: "/integrator/keys",
    summary: "End a key that the body names",
    description: "The older form: keyId, or client_id with the key's prefix.",
    errors: END_ERRORS,
    request: { body: ending },
    responses: { 200: { description: "The key has ended.", schema: ended } },
    handler: async (request) => {
      const { keyId: named, client_id: prefix } = request.body;
      await ports.endKey(request.caller, { keyId: named, prefix }, actorOf(request));
      return { status: 200, body: ENDED };
    },
  }),
  route({
    ...COMMON,
    operation: "deleteIntegratorKeyById",
    method: "DELETE",
    path: "/integrator/keys/{keyId}",
    summary: "End a key",
    errors: END_ERRORS,
    request: { params: z.object({ keyId }) },
    responses: { 200: { description: "The key has ended.", schema: ended } },
    handler: async (request) => {
      await ports.endKey(request.caller, { keyId: request.params.keyId, prefix: undefined }, actorOf(request));
      return { status: 200, body: ENDED };
    },
  }),
];
