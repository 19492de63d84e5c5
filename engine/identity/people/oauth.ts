/**
 * OAuth 2.0, authorization code with PKCE: a program asks an integrator's administrator, and gets a key of its own.
 *
 * RFC 6749, RFC 7636 with S256 alone, RFC 9207. A code is good once and for a minute; whatever becomes of its first
 * exchange, it is used up, and the key of a code that comes a second time ends.
 * @source spec/enterprise.md, Endpoints: POST /oauth/token; spec/rulings.md, section 4
 */
import type { Clock } from "../../base/clock.js";
import { Refusal } from "../../base/errors.js";
import { newId, parseUuid } from "../../base/ids.js";
import type { IntegratorId, KeyId, OAuthClientId, PersonId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { isScope } from "../../base/scopes.js";
import type { Scope } from "../../base/scopes.js";
import { firstChars } from "../../base/text.js";
import {
  findOAuthClient,
  insertOAuthClient,
  insertOAuthCode,
  listOAuthClients,
  noteKeyOfCode,
  redeemOAuthCode,
} from "../../storage/identity/people/oauth.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import type { Identity } from "../identity.js";
import { createKey } from "../keys.js";
import { knownScopes } from "../scopes.js";
import { digestsEqual, randomBase62, sha256 } from "../tokens/secrets.js";
import type { SecretEnvironment } from "../tokens/secrets.js";

/** A program as an administrator sees it. */
interface OAuthProgram {
  readonly id: OAuthClientId;
  readonly name: string;
  /** Addresses to which its users are led back; compared exactly. */
  readonly redirectUris: readonly string[];
}

/** A program that was just registered, at the only moment at which its secret is known. */
type MadeOAuthProgram = OAuthProgram & { readonly secret: string };

/** What a program asks for, checked. */
export interface AuthorizationRequest {
  readonly program: OAuthProgram;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly scopes: readonly Scope[];
  readonly state: string | undefined;
}

/** Members of the query of GET /oauth/authorize, as sent. */
export type AuthorizationQuery = Readonly<
  Partial<
    Record<
      "client_id" | "redirect_uri" | "response_type" | "code_challenge" | "code_challenge_method" | "scope" | "state",
      string | undefined
    >
  >
>;

/** Errors that a program is told at its own address. RFC 6749, 4.1.2.1 */
type AuthorizationError = "invalid_request" | "unsupported_response_type" | "invalid_scope" | "access_denied";

/** A request that can be shown, one whose error goes back to the program, or one of nobody that we know. */
type CheckedAuthorization =
  | { readonly kind: "asked"; readonly request: AuthorizationRequest }
  | { readonly kind: "refused"; readonly location: string }
  | { readonly kind: "unknown" };

/** The exchange of a code, as the program asks for it. */
export interface CodeExchange {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly code: string;
  readonly redirectUri: string;
  readonly codeVerifier: string;
  /** Of the program that asks, for the record of changes. */
  readonly address: string;
  readonly userAgent: string | null;
}

/** The key that a code gave; the secret is shown this once. */
export interface ExchangedKey {
  readonly keyId: KeyId;
  readonly prefix: string;
  readonly secret: string;
  readonly integratorId: IntegratorId;
  readonly scopes: readonly Scope[];
}

/** What is done with programs and agreements. */
export interface OAuth {
  check(query: AuthorizationQuery): Promise<CheckedAuthorization>;
  /**
   * Notes that an administrator agrees.
   * @returns where the browser goes; undefined when the person is no administrator of the integrator
   */
  agree(agreement: {
    readonly request: AuthorizationRequest;
    readonly personId: PersonId;
    readonly integratorId: IntegratorId;
  }): Promise<string | undefined>;
  /** Where the browser goes when the administrator declines. */
  decline(request: AuthorizationRequest): string;
  /** @throws Refusal CREDENTIALS_INVALID, OAUTH_GRANT */
  exchange(exchange: CodeExchange): Promise<ExchangedKey>;
  /** @throws Refusal REQUEST_INVALID for an address that no user should be led to */
  register(program: { readonly name: string; readonly redirectUris: readonly string[] }): Promise<MadeOAuthProgram>;
  programs(): Promise<readonly OAuthProgram[]>;
}

interface Ports {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly environment: SecretEnvironment;
  /** Names us in what programs get: RFC 9207. */
  readonly publicUrl: string;
  readonly identity: Pick<Identity, "deactivateKey">;
}

/** What a program gets when it names no scope. Keys and participants must be asked for by name. */
const DEFAULT_SCOPES: readonly Scope[] = [
  "documents:send",
  "documents:read",
  "documents:write",
  "webhooks:read",
  "webhooks:write",
  "events:read",
  "evidence:read",
  "firms:manage",
  "account:read",
];

const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;
const CODE_CHARS = 40;
const LOOPBACK = new Set(["127.0.0.1", "[::1]", "localhost"]);
const REDIRECT = /^https?:\/\/[A-Za-z0-9.:[\]-]+(?:[/?][A-Za-z0-9._~:/?@!$&()*+=%-]*)?$/;

const parseClientId = (text: string | undefined): OAuthClientId | undefined =>
  parseUuid(text ?? "") as OAuthClientId | undefined;

/**
 * Whether users may be led to an address: https, or http to their own machine; no user, no fragment, and nothing that a
 * header or a policy would read as more than an address.
 */
export const isRedirectUri = (uri: string): boolean => {
  if (uri.length > LIMITS.oauth_redirect_chars_max || !REDIRECT.test(uri) || !URL.canParse(uri)) return false;
  const { protocol, hostname } = new URL(uri);
  return protocol === "https:" || LOOPBACK.has(hostname);
};

/** The rule, for who gave an address that breaks it. */
export const REDIRECT_RULE = "Each is https:, or http: to this machine, without user and fragment.";

const withParameters = (uri: string, parameters: Readonly<Record<string, string | undefined>>): string => {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as [string, string]],
  );
  return `${uri}${uri.includes("?") ? "&" : "?"}${new URLSearchParams(given).toString()}`;
};

/** The scopes that a program asks for; undefined when one of them is none. */
function scopesOf(scope: string | undefined): readonly Scope[] | undefined {
  const names = (scope ?? "").split(" ").filter((name) => name !== "");
  if (names.length === 0) return DEFAULT_SCOPES;
  return names.every(isScope) ? knownScopes(names) : undefined;
}

/** The first thing that is wrong with a request of a program that we know. */
function errorOf(query: AuthorizationQuery): AuthorizationError | undefined {
  if (query.response_type !== "code")
    return query.response_type === undefined ? "invalid_request" : "unsupported_response_type";
  if (query.code_challenge_method !== "S256" || !CHALLENGE.test(query.code_challenge ?? "")) return "invalid_request";
  return scopesOf(query.scope) === undefined ? "invalid_scope" : undefined;
}

/** Puts OAuth together for one node. */
export function createOAuth(ports: Ports): OAuth {
  const { sql, clock, publicUrl } = ports;
  const refusalAt = (redirectUri: string, error: AuthorizationError, state: string | undefined): string =>
    withParameters(redirectUri, { error, state, iss: publicUrl });
  return {
    check: async (query) => {
      const id = parseClientId(query.client_id);
      const program = id === undefined ? undefined : await orTemporary(findOAuthClient(sql, id));
      const { redirect_uri: redirectUri, state } = query;
      // Before both are known nobody is led anywhere: a browser must not be sent where a stranger wants it.
      if (program === undefined || redirectUri === undefined || !program.redirectUris.includes(redirectUri))
        return { kind: "unknown" };
      const error = errorOf(query);
      const scopes = scopesOf(query.scope);
      if (error !== undefined || scopes === undefined)
        return { kind: "refused", location: refusalAt(redirectUri, error ?? "invalid_scope", state) };
      return { kind: "asked", request: { program, redirectUri, challenge: query.code_challenge ?? "", scopes, state } };
    },
    agree: async ({ request, personId, integratorId }) => {
      const code = randomBase62(CODE_CHARS);
      const { program, redirectUri, challenge, scopes, state } = request;
      const row = {
        codeSha256: sha256(code),
        clientId: program.id,
        personId,
        integratorId,
        redirectUri,
        challenge,
        scopes,
      };
      const isKept = await orTemporary(insertOAuthCode(sql, row, clock.now()));
      return isKept ? withParameters(redirectUri, { code, state, iss: publicUrl }) : undefined;
    },
    decline: ({ redirectUri, state }) => refusalAt(redirectUri, "access_denied", state),
    exchange: (request) => exchange(ports, request),
    register: (program) => registerOAuthProgram({ sql, clock }, program),
    programs: () => listOAuthPrograms(sql),
  };
}

/**
 * Registers a program.
 * @throws Refusal REQUEST_INVALID for an address that no user should be led to
 */
export async function registerOAuthProgram(
  { sql, clock }: Pick<Ports, "sql" | "clock">,
  { name, redirectUris }: { readonly name: string; readonly redirectUris: readonly string[] },
): Promise<MadeOAuthProgram> {
  if (!redirectUris.every(isRedirectUri))
    throw new Refusal("REQUEST_INVALID", [{ field: "redirectUris", message: REDIRECT_RULE }]);
  const secret = `oauth_${randomBase62(CODE_CHARS)}`;
  const program = { id: newId(clock) as OAuthClientId, name, redirectUris: [...new Set(redirectUris)] };
  await orTemporary(insertOAuthClient(sql, { ...program, secretSha256: sha256(secret) }, clock.now()));
  return { ...program, secret };
}

/** Programs, the newest first, at most a page of operators. */
export const listOAuthPrograms = (sql: Sql): Promise<readonly OAuthProgram[]> =>
  orTemporary(listOAuthClients(sql, LIMITS.operator_page_max));

/** The program, if the secret is its own; an unknown one takes the same path. @throws Refusal CREDENTIALS_INVALID */
async function authenticated(ports: Ports, { clientId, clientSecret }: CodeExchange): Promise<OAuthProgram> {
  const id = parseClientId(clientId) ?? ("00000000-0000-0000-0000-000000000000" as OAuthClientId);
  const program = await orTemporary(findOAuthClient(ports.sql, id));
  const isOwn = digestsEqual(program?.secretSha256 ?? Buffer.alloc(32), sha256(clientSecret));
  if (program === undefined || !isOwn) throw new Refusal("CREDENTIALS_INVALID");
  return program;
}

async function exchange(ports: Ports, request: CodeExchange): Promise<ExchangedKey> {
  const { sql, clock, environment, identity } = ports;
  const program = await authenticated(ports, request);
  const codeSha256 = sha256(request.code);
  const code = await orTemporary(redeemOAuthCode(sql, { codeSha256, clientId: program.id }, clock.now()));
  if (code?.outcome === "replayed" && code.keyId !== null) await identity.deactivateKey(code.keyId);
  if (code?.outcome !== "redeemed" || code.redirectUri !== request.redirectUri || !isVerified(request, code.challenge))
    throw new Refusal("OAUTH_GRANT");
  const scopes = knownScopes(code.scopes);
  const key = await orTemporary(
    createKey(
      { sql, clock, environment },
      {
        owner: { integratorId: code.integratorId },
        scopes,
        // Whoever agreed has made the key; the program only fetches it.
        actor: { type: "user", id: code.personId, address: request.address, userAgent: request.userAgent },
        name: firstChars(`OAuth: ${program.name}`, LIMITS.key_name_chars_max),
      },
    ),
  );
  if (key === "limit_reached")
    throw new Refusal("OAUTH_GRANT", [], {
      message: "The integrator has as many active main keys as it may have; end one of them and ask again.",
    });
  if (typeof key === "string") throw new Refusal("OAUTH_GRANT");
  if (await orTemporary(noteKeyOfCode(sql, codeSha256, key.id))) {
    await identity.deactivateKey(key.id);
    throw new Refusal("OAUTH_GRANT");
  }
  return { keyId: key.id, prefix: key.prefix, secret: key.secret, integratorId: code.integratorId, scopes };
}

/** RFC 7636, 4.6: the challenge is the SHA-256 of the verifier. */
const isVerified = ({ codeVerifier }: CodeExchange, challenge: string): boolean =>
  VERIFIER.test(codeVerifier) && digestsEqual(sha256(codeVerifier), Buffer.from(challenge, "base64url"));
