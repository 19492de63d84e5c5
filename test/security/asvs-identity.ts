/** ASVS 5.0.0, chapters 6 to 10: who calls, sessions, rights, tokens, OAuth. */
import { by, met, nothing, outside, partly, unmet } from "./row.js";
import type { SecurityRow } from "./row.js";

export const AUTHENTICATION: readonly SecurityRow[] = [
  met(
    "6.1.1",
    "what is done about guessing stands in the decisions and in limits.ts",
    by(
      "integration/identity/identity-credentials",
      "%s: five failures on any node are 401, then 423 until the first is %d ms old",
    ),
  ),
  nothing("6.1.2", "no passwords"),
  met(
    "6.1.3",
    "ways in: keys of programs, codes by letter, the operators' token",
    by("contract/identity/auth-tokens", "%s: client_id is the key's id or its displayed prefix, never the secret"),
    by(
      "integration/identity/people-sign-in",
      "an owner signs in with the code from the letter, sees the firm, and signs out",
    ),
  ),
  nothing("6.2.1–6.2.12", "no passwords: secrets of programs are made by the engine, people get codes"),
  met(
    "6.3.1",
    "guesses are counted over all nodes",
    by(
      "integration/identity/identity-credentials",
      "a hundred guesses at once on two nodes: five are 401, the rest 423",
    ),
    by(
      "integration/identity/people-sign-in",
      "five wrong codes end the code, also when they come at once; the right one is refused afterwards",
    ),
  ),
  met(
    "6.3.2",
    "no accounts that everybody knows",
    by("integration/operators/sandbox-production", "production has none of the rows of the sandbox"),
  ),
  unmet(
    "6.3.3",
    "a second factor for people",
    "a code by letter alone; operators have one token. Put the console behind a proxy that asks for more",
  ),
  met(
    "6.3.4",
    "no way in is weaker than another for the same rights",
    by("contract/identity/authorization", "%s stops each caller where its row says"),
  ),
  met(
    "6.4.1",
    "codes are random and end soon",
    by("integration/identity/people-sign-in", "a code ends after ten minutes"),
    by("unit/identity/secrets", "every letter of base 62 comes up equally often"),
  ),
  nothing("6.4.2", "no questions and hints"),
  nothing("6.4.3", "no passwords to reset"),
  outside("6.4.4", "a lost mailbox is proved anew", "operators give and take offices"),
  met(
    "6.5.1",
    "a code is good once",
    by("integration/identity/people-sign-in", "a code opens one session, whoever sends it twice"),
  ),
  partly(
    "6.5.2",
    "secrets are kept as digests",
    "codes of six digits have few bits: a bound of five tries and ten minutes stands for a slow hash",
    by(
      "integration/identity/people-sign-in",
      "nothing of a code, a token or an address stands in the database or the log",
    ),
    by(
      "integration/identity/identity-credentials",
      "neither the secret nor a refresh token is anywhere in the database",
    ),
  ),
  met(
    "6.5.3",
    "codes come from the system's generator",
    by("tidy", "the sources %s"),
    by("unit/identity/secrets", "every letter of base 62 comes up equally often"),
  ),
  partly(
    "6.5.4",
    "codes have enough bits",
    "by reading: no test counts them",
    by(
      "integration/identity/people-sign-in",
      "five wrong codes end the code, also when they come at once; the right one is refused afterwards",
    ),
  ),
  met(
    "6.5.5",
    "codes end within ten minutes",
    by("integration/identity/people-sign-in", "a code ends after ten minutes"),
  ),
  nothing("6.6.1", "no telephone"),
  met(
    "6.6.2",
    "a code belongs to the browser that asked",
    by("integration/identity/people-sign-in", "a code is good only in the browser that asked for it"),
  ),
  met(
    "6.6.3",
    "tries of a code are bounded",
    by(
      "integration/identity/people-sign-in",
      "five wrong codes end the code, also when they come at once; the right one is refused afterwards",
    ),
  ),
  nothing("6.8.1–6.8.4", "no other identity providers"),
];

export const SESSIONS: readonly SecurityRow[] = [
  met(
    "7.1.1",
    "ends of sessions stand in limits.ts",
    by(
      "integration/identity/people-sign-in",
      "a session ends an hour after its last use, and twelve hours after its sign-in however it is used",
    ),
  ),
  met(
    "7.1.2",
    "how many sessions there may be",
    by(
      "contract/pages/console",
      "the oldest session ends where there are more than may be, and another operators' token ends them all",
    ),
  ),
  nothing("7.1.3", "no federated identities"),
  met(
    "7.2.1",
    "tokens are judged here",
    by(
      "integration/identity/identity-tokens",
      "a token of a key that does not exist, or of an older generation of the key, is refused",
    ),
  ),
  met(
    "7.2.2",
    "tokens of sessions are made for them",
    by("contract/pages/console", "a sign-in gives the browser a token that nobody knew before"),
  ),
  partly(
    "7.2.3",
    "tokens of sessions are random and long",
    "256 bits by reading: no test counts them",
    by("contract/pages/console", "a sign-in gives the browser a token that nobody knew before"),
  ),
  met(
    "7.2.4",
    "a sign-in makes a new token",
    by(
      "integration/identity/people-sign-in",
      "a sign-in replaces the token of the browser twice: one that a stranger has fixed is worth nothing",
    ),
  ),
  met(
    "7.3.1",
    "sessions end when they are not used",
    by(
      "integration/identity/people-sign-in",
      "a session ends an hour after its last use, and twelve hours after its sign-in however it is used",
    ),
    by("contract/pages/console", "a session ends 12 hours after its sign-in, and 30 minutes after its last click"),
  ),
  met(
    "7.3.2",
    "sessions end in any case",
    by("contract/pages/console", "a session ends 12 hours after its sign-in, and 30 minutes after its last click"),
  ),
  met(
    "7.4.1",
    "who has signed out is out",
    by("contract/pages/console", "a sign-out ends the session for whoever has kept its cookie"),
  ),
  met(
    "7.4.2",
    "who has lost an office has lost it in a session too",
    by(
      "integration/identity/people-consent",
      "an operator gives and takes offices; what is taken is gone from the next request on, in a session too",
    ),
  ),
  unmet(
    "7.4.3",
    "other sessions can be ended after a change",
    "people have nothing to change; their other sessions end by themselves",
  ),
  met(
    "7.4.4",
    "every page has a way out",
    by(
      "integration/identity/people-sign-in",
      "an owner signs in with the code from the letter, sees the firm, and signs out",
    ),
  ),
  partly(
    "7.4.5",
    "operators end sessions",
    "by taking the office; single sessions cannot be ended",
    by(
      "integration/identity/people-consent",
      "an operator gives and takes offices; what is taken is gone from the next request on, in a session too",
    ),
  ),
  nothing("7.5.1", "people have no account data to change"),
  unmet("7.5.2", "people see their sessions", "they do not; twelve hours are the most"),
  nothing("7.6.1", "no identity providers"),
  nothing("7.6.2", "no identity providers"),
];

export const AUTHORIZATION: readonly SecurityRow[] = [
  met(
    "8.1.1",
    "who may call what is a column of each operation",
    by("contract/identity/authorization", "%s stops each caller where its row says"),
    by(
      "unit/gateway/steps",
      "the column `refuses` is what the OpenAPI writer says of every published operation, beside the handler's own refusals",
    ),
  ),
  met(
    "8.1.2",
    "what of an object is shown is its schema",
    by("unit/gateway/route", "a handler's request has the types that its row's schemas and columns promise"),
  ),
  met(
    "8.2.1",
    "functions need their scope",
    by("contract/identity/authorization", "%s stops each caller where its row says"),
  ),
  met(
    "8.2.2",
    "objects need their owner",
    by(
      "contract/identity/authorization",
      "an id in a path that is somebody else's and one that never was are answered with the same words",
    ),
  ),
  met(
    "8.2.3",
    "members too many change nothing",
    by("contract/http/envelopes", "a member too many is refused where the row is strict, ignored elsewhere"),
    by("contract/identity/partner-keys", "a firm sees what its integrator does with it, but not from which address"),
  ),
  met(
    "8.3.1",
    "rights are judged here",
    by("contract/identity/auth-contexts", "403 with one body for a foreign, an unbound and an unknown firm"),
  ),
  met(
    "8.4.1",
    "tenants do not reach each other",
    by(
      "contract/identity/authorization",
      "a foreign firm, one that has withdrawn and one that never was are answered with the same words",
    ),
    by("contract/identity/auth-contexts", "403, with one body for a foreign and an unknown participant"),
  ),
];

export const TOKENS: readonly SecurityRow[] = [
  met(
    "9.1.1",
    "signatures are verified first",
    by(
      "integration/identity/identity-tokens",
      "a token's text is exactly ours (A-01): claims changed after signing are refused",
    ),
  ),
  met(
    "9.1.2",
    "one algorithm",
    by(
      "integration/identity/identity-tokens",
      "a token's header decides nothing (A-01): alg %j",
      "a token's header decides nothing (A-01): HS256 with the public key as secret",
    ),
  ),
  met(
    "9.1.3",
    "keys of our own list",
    by(
      "integration/identity/identity-tokens",
      "a token's header decides nothing (A-01): kid %j",
      "a token's header decides nothing (A-01): a key that the token brings along",
    ),
  ),
  met(
    "9.2.1",
    "times are looked at",
    by(
      "integration/identity/identity-tokens",
      "a token ends after exactly 900 seconds",
      "a token that lives longer than ours, or ends before it begins, is refused",
    ),
  ),
  met(
    "9.2.2",
    "the type is looked at",
    by("integration/identity/identity-tokens", "a token's header decides nothing (A-01): typ %j"),
  ),
  met(
    "9.2.3",
    "the audience is looked at",
    by("integration/identity/identity-tokens", "a token of another deployment or another environment is refused"),
  ),
  met(
    "9.2.4",
    "tokens name their audience",
    by(
      "integration/identity/identity-tokens",
      "a token of ours names key, firm, environment, scope and generations, and nothing secret",
    ),
  ),
];

export const OAUTH: readonly SecurityRow[] = [
  nothing("10.1.1–10.2.2", "the engine is no OAuth client"),
  met(
    "10.3.1",
    "tokens for somebody else are refused",
    by("integration/identity/identity-tokens", "a token of another deployment or another environment is refused"),
  ),
  met(
    "10.3.2",
    "scopes of the token decide",
    by("contract/identity/auth-contexts", "403 when the token lacks the scope"),
  ),
  nothing("10.3.3", "tokens are of programs, not of people"),
  nothing("10.3.4", "no operation asks for a stronger sign-in"),
  met(
    "10.4.1",
    "addresses of programs are compared to the letter",
    by("integration/identity/people-oauth", "a request with %s leads nowhere: the page says so"),
  ),
  met(
    "10.4.2",
    "a code is good once",
    by(
      "integration/identity/people-oauth",
      "a code is good once: of many exchanges at once one has a key, and a second use ends that key",
    ),
  ),
  met("10.4.3", "a code ends after a minute", by("integration/identity/people-oauth", "a code ends after a minute")),
  met(
    "10.4.4",
    "no other grants",
    by(
      "contract/identity/auth-tokens",
      "a missing grant_type is accepted on /sapi and 400 on /api/v1; another one is 400 everywhere",
    ),
  ),
  met(
    "10.4.5",
    "a refresh token that comes twice ends its family",
    by(
      "integration/identity/identity-credentials",
      "each refresh token is good once; the second use is 401 and ends the family",
    ),
  ),
  met(
    "10.4.6",
    "PKCE, S256 alone",
    by(
      "integration/identity/people-oauth",
      "a wrong verifier uses the code up",
      "a request with %s goes back to the program with %s",
    ),
  ),
  nothing("10.4.7", "programs are registered by operators"),
  partly(
    "10.4.8",
    "refresh tokens end",
    "30 days each; a family that is used lives on",
    by("integration/identity/identity-credentials", "a refresh token lives 30 days, and its successor 30 days again"),
  ),
  met(
    "10.4.9",
    "refresh tokens are revoked",
    by("contract/identity/auth-tokens", "%s: a refresh token renews nothing any more"),
  ),
  met(
    "10.4.10",
    "confidential clients are authenticated",
    by("integration/identity/people-oauth", "an exchange with %s is refused in the words of RFC 6749"),
  ),
  met(
    "10.4.11",
    "a key has the scopes it was given",
    by("integration/identity/identity-tokens", "scopes that the key does not have are worth nothing"),
  ),
  nothing("10.5.1–10.6.2", "no OpenID Connect"),
  met(
    "10.7.1",
    "each agreement is asked for",
    by(
      "integration/identity/people-oauth",
      "an administrator signs in, sees who asks for what, agrees, and the program's new key works",
    ),
  ),
  met(
    "10.7.2",
    "who asks, for what, is said",
    by(
      "integration/identity/people-consent",
      "the page says who asks, for which firm, through which interface and for what, to anybody who has the link",
    ),
  ),
  partly(
    "10.7.3",
    "agreements are seen and taken back",
    "those of firms; an administrator takes a program's by ending its key",
    by(
      "integration/identity/people-consent",
      "a firm's page is its own people's; whoever withdraws there ends the partner's access at once",
    ),
  ),
];
