/** The threat model: what somebody could do to an installation, what stands against it, and the tests of that. */
import { by } from "./row.js";
import type { Shown } from "../faults/table/row.js";

export interface Threat {
  readonly threat: string;
  readonly measure: string;
  readonly shown: readonly Shown[];
  /** What stays open, or is the operator's. */
  readonly rest?: string;
}

export interface ThreatFamily {
  readonly who: string;
  readonly threats: readonly Threat[];
}

export const THREATS: readonly ThreatFamily[] = [
  {
    who: "A stranger at the public listener",
    threats: [
      {
        threat: "hides a second request behind the first, so that a proxy and the engine disagree where one ends",
        measure: "what can be read in two ways is refused; a body in chunks is the last of its connection",
        shown: [
          by(
            "bulkheads/shares/framing",
            "nothing behind a chunked body with %s is taken for a request",
            "a request with %s is answered 400 in the words of its family and with its id, and none behind it is served",
          ),
          by(
            "property/http-bytes",
            "the gateway outlives ${ROUNDS} connections with mutilated, cut and abandoned requests (seed ${seed})",
          ),
        ],
      },
      {
        threat: "uses up connections, memory or places with slow, large or countless requests",
        measure: "shares by address and class, octets counted before they are held, a least rate, deadlines",
        shown: [
          by(
            "bulkheads/shares/shares",
            "40 slow anonymous uploads leave every call of the API unharmed, and are answered 503 beyond their own part",
          ),
          by(
            "bulkheads/shares/connections",
            "an address that opens 60 connections keeps the 20 it may have, and those that end make room for others",
          ),
          by("contract/http/http", "a body that comes too slowly ends the connection; others are not disturbed"),
          by(
            "contract/http/codings",
            "a bomb is 413, and is not inflated beyond the limit: what comes behind is never looked at",
          ),
        ],
        rest: "a flood from very many addresses is for whoever stands before the engine",
      },
      {
        threat: "guesses secrets, or locks others out by guessing",
        measure:
          "five failures in a window, counted over all nodes; a valid secret stays usable; a bound for each address",
        shown: [
          by(
            "integration/identity/identity-credentials",
            "a hundred guesses at once on two nodes: five are 401, the rest 423",
            "a valid secret stays usable while its client is locked, and unlocks nothing",
          ),
          by(
            "bulkheads/shares/strangers-logins",
            "behind a thousand guesses of a stranger the owner's secret is answered at once",
          ),
        ],
      },
      {
        threat: "forges a token",
        measure:
          "algorithm, key, type, issuer, audience and environment are pinned; the key is chosen from our own list",
        shown: [
          by(
            "integration/identity/identity-tokens",
            "a token's header decides nothing (A-01): alg %j",
            "a token's header decides nothing (A-01): a key that the token brings along",
            "a token of another deployment or another environment is refused",
          ),
        ],
      },
      {
        threat: "sends XML that costs much, reads files or calls addresses",
        measure:
          "no document type declarations, no entities, limits before anything is built, worker threads with a clock",
        shown: [
          by(
            "integration/validation/validation-hostile",
            "public validation answers every kind of hostile document: %s",
            "memory is flat: the same hostile documents again leave no more behind",
          ),
          by(
            "bulkheads/bytes/costly-xml",
            "8,000 prefixes around 2,000 declaring children are refused at the first declaration too many",
          ),
        ],
      },
    ],
  },
  {
    who: "Another access point, or whoever pretends to be one",
    threats: [
      {
        threat: "makes the engine decrypt or sign for a stranger",
        measure:
          "the sender's certificate is judged before our key is used; refusals of strangers are bounded and sampled",
        shown: [
          by(
            "bulkheads/shares/strangers-as4",
            "a message of the network is opened with our key, a stranger's is refused without it",
            "a stranger who shows the certificate of a peer but has not its key opens nothing",
          ),
        ],
      },
      {
        threat: "wraps, strips or re-uses a signature, or learns from refusals",
        measure: "signed parts are found by place and must be exactly the set; every decryption fault has one answer",
        shown: [
          by(
            "unit/as4/messages/attacks",
            "a signature without a reference to Messaging, Body, or the part is refused",
            "every decryption fault has one answer: key, padding, tag, length, other certificate",
          ),
          by(
            "unit/as4/messages/every-octet",
            "every octet of the message of $folder counts: whatever is changed is refused, or outside of what was signed",
          ),
          by(
            "integration/access-points/as4-http",
            "the gateway refuses what is signed and hostile: half a gigabyte in a small gzip, a wrapped signature, parts without end; in bounded memory",
          ),
        ],
      },
      {
        threat: "uses a revoked or foreign certificate",
        measure:
          "path, time, use, OCSP and lists are asked, at the sender and at the SMP; production must choose what no answer means",
        shown: [
          by(
            "integration/peppol/pki",
            "every flipped bit makes a certificate untrusted",
            "%s: good is trusted with the answer as evidence, revoked is refused",
          ),
          by("bulkheads/starts/safe-defaults", "in production asks for REVOCATION, and takes each of its values"),
        ],
      },
      {
        threat: "takes an id that another will use, so that the other's message counts as a duplicate",
        measure: "ids of messages belong to the seat that signed",
        shown: [
          by(
            "bulkheads/starts/safe-defaults",
            "a stranger who uses an %s first takes nothing from the access point that uses it later",
          ),
        ],
      },
      {
        threat: "does not answer, answers slowly, or never ends its answer",
        measure: "deadlines, bounds on octets, one breaker for each receiver; others do not wait",
        shown: [
          by(
            "integration/delivery/hostile-receivers",
            "a receiver that answers one octet a second is given up when its time is over, and its documents arrive once",
          ),
          by("unit/peppol/http-client", "a peer that misbehaves answers more than may be read"),
        ],
      },
    ],
  },
  {
    who: "A tenant with a key of his own",
    threats: [
      {
        threat: "reads or changes what is another tenant's",
        measure: "every path with an id is asked whose it is; what is foreign and what never was have one answer",
        shown: [
          by(
            "contract/identity/authorization",
            "%s stops each caller where its row says",
            "an id in a path that is somebody else's and one that never was are answered with the same words",
          ),
        ],
      },
      {
        threat: "gives himself more scopes, or keeps access that was withdrawn",
        measure: "a key cannot give what it has not; a token is worth what its key is worth now, on every node",
        shown: [
          by("contract/identity/partner-keys", "a key cannot get a scope that the calling token has not"),
          by(
            "integration/identity/identity-nodes",
            "a withdrawn consent ends access, keys and tokens on every node; a new one revives none of them",
            "with Postgres away too, a token is neither believed nor called invalid: 503",
          ),
        ],
      },
      {
        threat: "fills queues, workers or the outbox so that others wait",
        measure: "shares of queues, octets and workers for each key; deliveries are claimed fairly",
        shown: [
          by(
            "bulkheads/shares/lanes",
            "one key holds a quarter of a lane's queue, and every other key is still taken",
            "one key holds a quarter of a lane's bytes, and every other key is still taken",
          ),
        ],
      },
      {
        threat: "has the engine call an address inside (webhooks, SMP, revocation)",
        measure:
          "one client for all that goes out: addresses are judged when they are connected to, redirects are not followed",
        shown: [
          by(
            "integration/webhooks/webhooks",
            "a name that is public when it is judged and private when it is called is asked twice, and nobody is connected to",
          ),
          by("unit/peppol/outbound-address", "%s is no address of the open network"),
        ],
      },
      {
        threat: "puts script into an invoice that people look at",
        measure: "templates that escape; a policy that allows one style and nothing else",
        shown: [
          by(
            "unit/view/html",
            "a script in every text of a document stays text",
            "the page has one style and no script, and its own policy allows nothing else",
          ),
        ],
      },
      {
        threat: "sends a document twice, or makes it seem so, by repeats and races",
        measure: "one statement with the unique indexes of the acceptance; the same key has the same reply for ever",
        shown: [
          by(
            "integration/documents/idempotency",
            "1,000 concurrent sends of one key and body: one document, every answer 202 or 409 in flight, later repeats byte-identical",
          ),
        ],
      },
      {
        threat: "brings a package of rules that reaches out of its rules",
        measure: "compiled rules reach their document and XPath and nothing else, and are ended when they do not end",
        shown: [
          by(
            "unit/validators/schematron/schematron-hostile",
            "compiled rules reach nothing but their document and the functions of XPath, with %s",
            "rules that do not end are ended: %s",
          ),
        ],
        rest: "only operators import rules",
      },
    ],
  },
  {
    who: "A web site that a signed-in person visits",
    threats: [
      {
        threat: "sends a form in that person's name, or frames a page",
        measure: "tokens in forms bound to the browser, the site of the sender asked, frames refused",
        shown: [
          by(
            "integration/identity/people-sign-in",
            "a form with %s changes nothing and is 403",
            "no page can be framed, loads a script or names another host",
          ),
          by(
            "contract/pages/console",
            "a form without the token of its page, with that of another browser, or from another site is refused with 403",
            "a form that another site or a hidden page has sent is refused with a page that says why; forms through a proxy are taken",
          ),
        ],
      },
      {
        threat: "leads a person on after the sign-in, or catches the code of an agreement",
        measure:
          "sign-ins lead to our own pages; addresses of programs are compared to the letter; PKCE with S256 alone",
        shown: [
          by("integration/identity/people-sign-in", "a link that would lead on to %s leads to the account instead"),
          by(
            "integration/identity/people-oauth",
            "a request with %s leads nowhere: the page says so",
            "a code is good once: of many exchanges at once one has a key, and a second use ends that key",
          ),
        ],
      },
    ],
  },
  {
    who: "Somebody who has the database, a backup or a disk",
    threats: [
      {
        threat: "reads invoices, secrets or tokens",
        measure:
          "payloads, facts and secrets are sealed under a master key that is not in the database; keys are kept as digests",
        shown: [
          by(
            "bulkheads/keys/sealed-facts",
            "no secret and no word of a document stands in the log at its most talkative, in metrics, in refusals, in the database or in files",
          ),
          by(
            "faults/secrets/canaries",
            "neither a dump, nor files, nor the memory of Postgres and of nats-server hold a secret, and of documents a number that is asked for at the most",
          ),
        ],
        rest: "who has the master key as well reads everything; names of firms and participants, times and states are in clear",
      },
      {
        threat: "changes or removes evidence",
        measure: "content-addressed and chained, write-once; each record is signed by both sides",
        shown: [
          by(
            "integration/evidence/evidence-verify",
            "a forger who keeps every digest in step is found by the signature: the chain is not all there is",
            "one flipped bit in any object is found",
          ),
          by("integration/evidence/evidence-journal", "an entry is never changed or deleted"),
        ],
        rest: "who can also delete the store destroys evidence: a bucket with object lock prevents that",
      },
      {
        threat: "restores an old state, so that documents are sent again",
        measure: "a document that may have left is sent under its old MessageId only",
        shown: [
          by(
            "faults/servers/restore",
            "a database that is destroyed under load and restored to a moment has every document of before it, and sends those that may have been sent under their old MessageId only",
          ),
        ],
      },
    ],
  },
  {
    who: "An operator, or somebody at his browser",
    threats: [
      {
        threat: "reads what documents say without a reason",
        measure: "documents are masked at the console; what is unmasked needs a reason and is recorded",
        shown: [
          by(
            "contract/pages/console-documents",
            "what a document says is shown for a reason, which the record keeps with session and address",
          ),
        ],
        rest: "who has the master key and the database needs no console",
      },
      {
        threat: "hides what he did",
        measure: "the database refuses to change, delete or empty the audit",
        shown: [by("contract/identity/partner-keys", "the database refuses to change, delete or empty the audit")],
        rest: "the owner of the database can change its rules",
      },
      {
        threat: "starts production with what only a sandbox may have",
        measure: "production does not start with generated keys, plain HTTP, or choices left open",
        shown: [
          by("unit/engine/base/base", "production refuses an embedded database, generated keys and plain HTTP"),
          by("integration/operators/sandbox-production", "production has none of the rows of the sandbox"),
        ],
      },
    ],
  },
];
