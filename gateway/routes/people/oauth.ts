/**
 * The exchange of an OAuth code for a key of the integrator.
 * @source spec/enterprise.md, Endpoints: POST {oauth_base_url}/oauth/token; spec/rulings.md, section 4
 */
import { z } from "zod";

import { Refusal } from "../../../engine/base/errors.js";
import { LIMITS } from "../../../engine/base/limits.js";
import type { OAuth } from "../../../engine/identity/people/oauth.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

const text = (max: number, description: string) => z.string().min(1).max(max).describe(description);

const exchangeBody = z.object({
  grant_type: text(64, "Must be authorization_code.").meta({ example: "authorization_code" }),
  code: text(LIMITS.client_secret_chars_max, "The code that came back to redirect_uri; good once, for a minute."),
  client_id: text(LIMITS.client_id_chars_max, "Id of the program, or HTTP Basic.").optional(),
  client_secret: text(LIMITS.client_secret_chars_max, "Secret of the program, or HTTP Basic.").optional(),
  redirect_uri: text(LIMITS.oauth_redirect_chars_max, "Exactly as it was in the authorization request."),
  code_verifier: text(LIMITS.client_id_chars_max, "The PKCE verifier, 43 to 128 characters."),
});

const key = z.object({
  client_id: z.uuid().describe("Id of the new key: client_id at POST /api/v1/auth/token."),
  client_secret: z
    .string()
    .describe(
      "The new sk_int_* secret, shown this once. It is no bearer token: exchange it at POST /api/v1/auth/token.",
    ),
  key_prefix: z.string().describe("What the secret is called in lists."),
  integrator_id: z.uuid(),
  scope: z.string().describe("Space-separated scopes of the key."),
});

/** The credentials of a program: in the body or as HTTP Basic, never both. RFC 6749, 2.3.1 */
function credentialsOf(
  body: z.output<typeof exchangeBody>,
  authorization: string | undefined,
): { readonly clientId: string; readonly clientSecret: string } {
  const basic = /^basic +([A-Za-z0-9+/]+=*) *$/i.exec(authorization ?? "")?.[1];
  if (basic !== undefined && (body.client_id !== undefined || body.client_secret !== undefined))
    throw new Refusal("REQUEST_INVALID", [], {
      message: "Send the client's credentials once, in the body or as HTTP Basic.",
    });
  const parts = /^([^:]*):(.*)$/s.exec(basic === undefined ? "" : Buffer.from(basic, "base64").toString("utf8"));
  const clientId = body.client_id ?? parts?.[1];
  const clientSecret = body.client_secret ?? parts?.[2];
  if (clientId === undefined || clientSecret === undefined) throw new Refusal("CREDENTIALS_INVALID");
  return { clientId, clientSecret };
}

export const oauthRoutes = (ports: Pick<OAuth, "exchange">): readonly Route[] => [
  route({
    operation: "oauthToken",
    method: "POST",
    path: "/oauth/token",
    mounts: ["", "/api"],
    family: "oauth",
    credential: "none",
    tag: "OAuth",
    summary: "Exchange an authorization code for an integrator's key",
    description:
      "The code comes from `GET /oauth/authorize`, where an administrator of the integrator signs in and agrees. Errors are those of RFC 6749, section 5.2.",
    rate: "token",
    errors: ["GRANT_TYPE", "CREDENTIALS_INVALID", "OAUTH_GRANT", "TEMPORARY"],
    request: { body: exchangeBody, accepts: ["json", "form"] },
    responses: { 200: { description: "A new key of the integrator.", schema: key } },
    handler: async (request) => {
      const { body } = request;
      if (body.grant_type !== "authorization_code")
        throw new Refusal("GRANT_TYPE", [{ field: "grant_type", message: "Must be authorization_code." }]);
      const made = await ports.exchange({
        ...credentialsOf(body, request.header("authorization")),
        code: body.code,
        redirectUri: body.redirect_uri,
        codeVerifier: body.code_verifier,
        address: request.address,
        userAgent: request.header("user-agent") ?? null,
      });
      return {
        status: 200,
        headers: { "Cache-Control": "no-store", Pragma: "no-cache" },
        body: {
          client_id: made.keyId,
          client_secret: made.secret,
          key_prefix: made.prefix,
          integrator_id: made.integratorId,
          scope: made.scopes.join(" "),
        },
      };
    },
  }),
];
