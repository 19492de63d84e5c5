/**
 * The actor of one credential: its logins, renewals and revocations take turns. The statements behind them are right
 * under races by themselves; the turns keep a flood on one credential from taking every connection to Postgres. Those
 * who know the secret take turns with each other, those who guess it with each other.
 */
import type { Instant } from "../engine/base/clock.js";
import type { KeyId } from "../engine/base/ids.js";
import type { Actor } from "../engine/identity/audit.js";
import type { Identity } from "../engine/identity/identity.js";
import type { TokenPair, TokenRequest } from "../engine/identity/tokens/tokens.js";
import { hiddenName } from "./names.js";
import type { ActorKind, ActorSystem } from "./system.js";

type RenewRequest = Parameters<Identity["renewTokens"]>[0];

interface TokenEnding {
  readonly token: string;
  readonly receivedAt: Instant;
  readonly actor: Actor | undefined;
}

type CredentialProtocol = {
  /** Exchanges a secret for tokens. */
  readonly Issue: { readonly ask: TokenRequest; readonly reply: TokenPair };
  /** Consumes a refresh token for its successor. */
  readonly Renew: { readonly ask: RenewRequest; readonly reply: TokenPair };
  /** Ends a token of either kind. */
  readonly Revoke: { readonly ask: TokenEnding; readonly reply: null };
};

type CredentialKind = ActorKind<CredentialProtocol, null>;

type Tokens = Pick<Identity, "issueTokens" | "renewTokens" | "revokeToken">;
/** A look at a secret takes no turn: it is a read. */
type Secrets = Pick<Identity, "holderOf">;

/** Makes the kind of actor through which everything goes that issues, renews or ends tokens of one credential. */
export const credentialKind = (tokens: Tokens): CredentialKind => ({
  name: "credential",
  // What is remembered of a credential is in identity's caches; the actor only holds the turn.
  idle_ms: 0,
  start: () => null,
  handlers: {
    Issue: async (_, request) => ({ reply: await tokens.issueTokens(request) }),
    Renew: async (_, request) => ({ reply: await tokens.renewTokens(request) }),
    Revoke: async (_, { token, receivedAt, actor }) => {
      await tokens.revokeToken(token, receivedAt, actor);
      return { reply: null };
    },
  },
});

/**
 * The length of `rt_` and the 22 characters that name a family: all refresh tokens of a login share them and take turns
 * together. An access token takes turns alone.
 */
const FAMILY_CHARS = 25;
const familyOf = (token: string): string => (token.startsWith("rt_") ? token.slice(0, FAMILY_CHARS) : token);

/**
 * In which line a login waits: that of its key, or that of all who name this client without its secret. A thousand
 * guesses fill the mailbox of guesses, and its owner's secret is not among them.
 */
const lineOf = (keyId: KeyId | undefined, clientId: string): string =>
  hiddenName(keyId === undefined ? `guess ${clientId}` : `key ${keyId}`);

/** The token operations through their actors. */
export const tokensThroughActors = (actors: ActorSystem, kind: CredentialKind, secrets: Secrets): Tokens => ({
  issueTokens: async (request) => {
    const line = lineOf(await secrets.holderOf(request), request.clientId);
    return actors.ask(kind, line, "Issue", request);
  },
  renewTokens: (request) => actors.ask(kind, hiddenName(familyOf(request.refreshToken)), "Renew", request),
  revokeToken: async (token, receivedAt, actor) => {
    await actors.ask(kind, hiddenName(familyOf(token)), "Revoke", { token, receivedAt, actor });
  },
});
