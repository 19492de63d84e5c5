/** Who calls: keys and tokens, tenants (T-01 to T-08), rates. @source design/reliability.md, sections 3.5, 3.7 and 3.9 */
import { by, partly, row } from "./row.js";
import type { FaultRow } from "./row.js";

export const IDENTITY: readonly FaultRow[] = [
  row(
    "A-01",
    "forged tokens",
    by(
      "integration/identity/identity-tokens",
      "a token's header decides nothing (A-01): alg %j",
      "a token's header decides nothing (A-01): kid %j",
      "a token's text is exactly ours (A-01): %j is refused",
    ),
  ),
  row(
    "A-02",
    "claims that are missing, of another kind, or of another time",
    by(
      "integration/identity/identity-tokens",
      "a token without %s, or with it of another kind, is refused",
      "a token may come from a clock that is up to 30 seconds ahead, not more",
    ),
  ),
  row(
    "A-03",
    "a revoked key or consent, on every node",
    by(
      "integration/database/pgbouncer",
      "behind PgBouncer, where no announcement is heard, a token that one machine has revoked is refused by the other at once",
    ),
    by(
      "integration/identity/identity-nodes",
      "a revoked access token is refused by the other node as soon as the revocation is answered, 200 times in a row",
      "a node that hears nothing asks Postgres for every request and is never stale",
      "a withdrawn consent ends access, keys and tokens on every node; a new one revives none of them",
    ),
  ),
  row(
    "A-04",
    "a refresh token that comes twice",
    by(
      "integration/identity/identity-credentials",
      "each refresh token is good once; the second use is 401 and ends the family",
      "a thousand renewals at once have one success",
      "a repeat after a lost response is a reuse: there is no grace",
    ),
  ),
  partly(
    "measured without HTTP between; a client that is known costs five microseconds more than one that is not, a secret that is almost right nothing",
    row(
      "A-05",
      "what the time of an answer tells",
      by(
        "faults/secrets/guess-times",
        "guesses of every kind are refused alike, and the figures say how much their times differ (SEED=${SEED})",
      ),
      by("integration/identity/identity-credentials", "an unknown client is told exactly what a known one is told"),
    ),
  ),
  row(
    "A-06",
    "wrong secrets",
    by(
      "integration/identity/identity-credentials",
      "a valid secret stays usable while its client is locked, and unlocks nothing",
      "a hundred guesses at once on two nodes: five are 401, the rest 423",
    ),
    by(
      "contract/identity/auth-tokens",
      "%s: five failures are 401, the sixth is 423 with Retry-After; a valid secret stays usable",
    ),
  ),
  row(
    "A-07",
    "a flood of logins",
    by(
      "bulkheads/shares/strangers-logins",
      "behind a thousand guesses of a stranger the owner's secret is answered at once",
      "an address that names a fresh client with each login is refused after as many as an address may make, unread",
    ),
  ),
  row(
    "A-08",
    "a scope that a token has not",
    by("contract/identity/authorization", "%s stops each caller where its row says"),
    by("unit/identity/scopes", "nothing is effective that key, token and consent do not all grant (SEED=${seed})"),
  ),
  row(
    "A-09",
    "the firm that a call names",
    by(
      "contract/identity/auth-contexts",
      "403 with one body for a foreign, an unbound and an unknown firm",
      "after the consent was withdrawn the next request is refused on both interfaces",
    ),
    by("contract/http/envelopes", "X-Firm-Id sent twice is refused"),
  ),
  row(
    "A-10",
    "an allowlist and addresses in odd forms",
    by(
      "unit/identity/allowlist",
      "%s against 192.0.2.1, 10.0.0.0/8 and 2001:db8::/64 is %s",
      "%j is refused",
      "fifty entries are accepted, fifty-one are not",
    ),
    by("unit/addresses", "a network holds its own addresses and no others, in every spelling"),
  ),
  row(
    "A-11",
    "an invented X-Forwarded-For",
    by(
      "unit/gateway/client-address",
      "behind a proxy the client is the last entry that no proxy of ours has",
      "from a peer that is no configured proxy X-Forwarded-For is not looked at",
    ),
  ),
  row(
    "A-12",
    "a secret is rotated while it is used",
    by(
      "integration/identity/partner-races",
      "one of ten rotations at once wins, among a hundred uses, and the old key is dead on every node when it is answered",
    ),
  ),
  row(
    "A-13",
    "a secret is shown once",
    by("contract/identity/partner-keys", "the secret of a new key stands nowhere but in its answer"),
    by(
      "integration/identity/identity-credentials",
      "neither the secret nor a refresh token is anywhere in the database",
    ),
  ),
  row(
    "A-14",
    "the link of an invitation",
    by("contract/identity/consents", "the secret of a link stands nowhere but in the answer that made it"),
  ),
  row(
    "A-15",
    "the signing key is replaced under load",
    by(
      "integration/identity/identity-tokens",
      "a successor is published before it signs, and tokens of both are good until they end",
      "nodes that start together on an empty database share one key",
    ),
    by(
      "integration/identity/signing-keys",
      "when the command ends no node believes a token of the retired key, and each signs with another at once",
      "a node that hears no announcement neither believes a retired key nor signs with it, from the next request on",
    ),
  ),
];

export const TENANTS: readonly FaultRow[] = [
  row(
    "T-01",
    "every operation, asked by everybody who may not",
    by(
      "contract/identity/authorization",
      "%s stops each caller where its row says",
      "an id in a path that is somebody else's and one that never was are answered with the same words",
    ),
  ),
  row(
    "T-02",
    "ids of others in bodies, filters and cursors",
    by(
      "contract/documents/documents-reads",
      "POST /documents/status/batch: the states of those that are ours, in order; a foreign id is as unknown as none",
    ),
    by(
      "contract/connector/connector-debugger",
      "a delivery and a suite of another account are as unknown as ones that never were",
    ),
    by(
      "contract/documents/mapper",
      "customerRef of another integrator is the same 404 as one that never was; without one it is 400 and named",
    ),
  ),
  partly(
    "there is no row-level security: a tenant's rows are reached by statements that name the tenant, and the matrix of T-01 is the only wall",
    row("T-03", "a second wall below the statements"),
  ),
  row(
    "T-04",
    "a tenant's text as a name inside the engine",
    by(
      "integration/delivery/streams",
      "a body that is more than ids, and a name that no broker could keep, are refused",
    ),
    by(
      "integration/validation/validation-engine",
      "labels come from closed lists: no rule id of a document's own, no tenant",
    ),
  ),
  row(
    "T-05",
    "a tenant's setting that stays on a connection",
    by(
      "tidy-migrations",
      "no statement leaves a setting on a connection but those of migrations, whose connection ends with them",
    ),
  ),
  row(
    "T-06",
    "what a conflict tells of others",
    by("integration/documents/documents", "another participant may use the same key, documentId and payload"),
    by(
      "integration/documents/doors",
      "any sequence of requests through any doors comes to what the rules of each door say, keys, external ids and payloads shared or not",
    ),
  ),
  row(
    "T-07",
    "members that nobody offered",
    by("contract/http/envelopes", "a member too many is refused where the row is strict, ignored elsewhere"),
  ),
  partly(
    "counted in rows read, over twelve thousand in CI and a million in the long form; not in time over ten million",
    row(
      "T-08",
      "the last page of a long list",
      by(
        "bulkheads/ends/past",
        "a scrape, the inbox, a status, an acceptance and a sweep read no more rows among 12,000 of everything than among 200",
      ),
      by(
        "faults/loads/past",
        "a scrape, the inbox, a status, an acceptance and a sweep read no more rows among 1,000,000 of everything than among 200",
      ),
      by(
        "integration/documents/inbox-depth",
        "each page is the next of all documents by their arrival, and a deep one reads a part of the mailboxes",
      ),
    ),
  ),
];

export const RATES: readonly FaultRow[] = [
  row(
    "R-01",
    "the limit exactly",
    by(
      "contract/sapi/sapi",
      "POST /document/send: 150 requests per 60 seconds per API key; standard endpoints 200; headers on HTTP 429 only",
    ),
    by(
      "contract/identity/partner-keys",
      "every Enterprise answer says how many calls are left, refusals after the token too",
    ),
    by(
      "unit/gateway/rate-limit",
      "exactly the limit passes; the next is refused with the seconds until the oldest leaves",
    ),
  ),
  row(
    "R-02",
    "bursts on both sides of a window's edge",
    by(
      "unit/gateway/rate-limit",
      "bursts at 59.9 s and 60.1 s do not give twice the limit",
      "no window of 60 s ever holds more than the limit, whatever the arrivals; and no request is refused without that reason",
    ),
  ),
  row(
    "R-03",
    "ways around a limit",
    by(
      "integration/delivery/many-machines",
      "two machines together let one key make as many calls as one machine does, within a twentieth",
    ),
    by(
      "unit/gateway/rate-limit",
      "several nodes together admit the limit within 5 %, at any spread of the load, and lose less than 5 % of it",
      "keys and buckets do not share a count; rows of one bucket do",
    ),
    by("unit/addresses", "an IPv6 client is counted with its /64, an IPv4 client alone, however the socket spells it"),
    by("integration/identity/identity-credentials", "id and prefix of one key are one client"),
  ),
  row(
    "R-04",
    "the common count is away",
    by("unit/gateway/rate-limit", "without the store a node admits its share: never unlimited, never nothing"),
  ),
  row(
    "R-05",
    "a clock that steps back; very many callers",
    by(
      "unit/gateway/rate-limit",
      "repeating after Retry-After passes, also when the wall clock steps back meanwhile",
      "a million made-up identifiers stay within the bound",
    ),
    by("integration/identity/identity-nodes", "a clock that was set back forgets no admission"),
  ),
  row(
    "R-06",
    "what is given up first under a flood",
    by(
      "integration/delivery/payload-path",
      "where no worker is free a wrong checksum is still CHECKSUM, a repeat still has its reply, and only new work is TEMPORARY",
    ),
    by(
      "bulkheads/shares/strangers-logins",
      "while every connection of the calls is busy logins are answered",
      "while every connection of the logins is busy calls are answered",
    ),
  ),
  row(
    "R-07",
    "a refusal for the rate burns nothing",
    by("contract/http/envelopes", "the first of several faults answers: %s"),
    by(
      "contract/sapi/sapi",
      "a send that is refused for its rate writes nothing, and burns nothing: it is accepted when it comes again in time",
    ),
  ),
];
