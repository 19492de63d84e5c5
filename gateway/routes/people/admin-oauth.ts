/** Programs that may ask integrators for keys, as operators register them. */
import { z } from "zod";

import { LIMITS } from "../../../engine/base/limits.js";
import { keyName } from "../../../engine/identity/names.js";
import type { OAuth } from "../../../engine/identity/people/oauth.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

const COMMON = {
  mounts: ["/admin"],
  family: "admin",
  credential: "admin",
  tag: "OAuth",
  path: "/oauth-clients",
} as const;

export const adminOAuthRoutes = (ports: Pick<OAuth, "programs" | "register">): readonly Route[] => [
  route({
    ...COMMON,
    operation: "adminListOAuthClients",
    method: "GET",
    summary: "Programs that may ask integrators for keys",
    errors: ["TEMPORARY"],
    responses: { 200: { description: "Programs without their secrets.", schema: z.record(z.string(), z.unknown()) } },
    handler: async () => ({ status: 200, body: { clients: await ports.programs() } }),
  }),
  route({
    ...COMMON,
    operation: "adminCreateOAuthClient",
    method: "POST",
    summary: "Register a program that may ask integrators for keys",
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    request: {
      body: z.strictObject({
        name: keyName,
        redirectUris: z.array(z.string().max(LIMITS.oauth_redirect_chars_max)).min(1).max(LIMITS.oauth_redirects_max),
      }),
    },
    responses: {
      201: { description: "The program and its secret, shown once.", schema: z.record(z.string(), z.unknown()) },
    },
    handler: async ({ body }) => {
      const { id, secret, name, redirectUris } = await ports.register(body);
      return { status: 201, body: { clientId: id, clientSecret: secret, name, redirectUris } };
    },
  }),
];
