/** ASVS 5.0.0, chapters 11 to 16: cryptography, connections, configuration, data, code, logs. */
import { by, met, nothing, outside, partly } from "./row.js";
import type { SecurityRow } from "./row.js";

export const CRYPTOGRAPHY: readonly SecurityRow[] = [
  partly(
    "11.1.1",
    "keys have a life: made, changed, ended",
    "docs/operators/keys.md; after no standard",
    by(
      "bulkheads/keys/master-keys",
      "the ring of master keys with a new one seals under it and opens both; the old one is asked for until it was replaced",
    ),
    by(
      "integration/identity/identity-tokens",
      "a successor is published before it signs, and tokens of both are good until they end",
    ),
  ),
  partly(
    "11.1.2",
    "keys and algorithms are listed",
    "docs/operators/keys.md lists keys; algorithms of AS4 are Peppol's",
    by("integration/peppol/pki-own-keys", "everything that ends is listed for the metrics"),
  ),
  partly(
    "11.2.1",
    "primitives are OpenSSL's, through Node.js",
    "XML signatures and AS4 are our own on top of them",
    by("unit/as4/peers/wss4j", "a message signed and encrypted by Apache WSS4J opens with its payload unchanged"),
  ),
  partly(
    "11.2.2",
    "keys can be exchanged and data sealed anew",
    "algorithms are in the code",
    by(
      "bulkheads/keys/master-keys",
      "an engine whose master key is replaced serves what it stored before, during and after; a node with another key does not start",
    ),
  ),
  partly(
    "11.2.3",
    "128 bits of security",
    "RSA of 2048 bits, which Peppol issues, has about 112",
    by("unit/as4/messages/round-trip", "a user message signed with an RSA key of 1024 bits is refused"),
  ),
  met(
    "11.3.1",
    "no ECB, no PKCS#1 v1.5 for encryption",
    by("unit/as4/messages/attacks", "%s is refused"),
    by("unit/as4/signatures/oaep", "a key of another length, another form, or no RSA block at all gives nothing"),
  ),
  met(
    "11.3.2",
    "AES-GCM",
    by(
      "unit/engine/base/base",
      "what an earlier key sealed is still read; a changed bit, another context or an unknown key is refused",
    ),
  ),
  met(
    "11.3.3",
    "what is sealed is authenticated, with its place",
    by(
      "unit/storage/payloads",
      "a stored payload is not opened under another id, with one octet changed or with its end cut off",
    ),
  ),
  met(
    "11.4.1",
    "SHA-2 alone",
    by("conformance/as4-vectors", "%s: the signature holds with RSA-SHA1, and production refuses SHA-1"),
  ),
  nothing("11.4.2", "no passwords"),
  met(
    "11.4.3",
    "digests of signatures are SHA-256 and more",
    by("unit/as4/signatures/enveloped", "the digest is over inclusive C14N with SHA-256, signed with RSA-SHA256"),
  ),
  nothing("11.4.4", "no key is derived from a password of ours; that of a key store is PKCS#12's"),
  met(
    "11.5.1",
    "what must not be guessed comes from the system's generator",
    by("tidy", "the sources %s"),
    by("unit/identity/secrets", "every letter of base 62 comes up equally often"),
  ),
  met(
    "11.6.1",
    "signatures are those of the profile",
    by(
      "unit/as4/messages/attacks",
      "HMAC keyed with the public RSA key is refused",
      "HMACOutputLength under the signature method is refused (CVE-2009-0217)",
    ),
  ),
];

export const CONNECTIONS: readonly SecurityRow[] = [
  partly(
    "12.1.1",
    "TLS 1.2 and 1.3 towards others",
    "towards us it is the proxy's",
    by("unit/peppol/http-client-tls", "nothing is transmitted to %s"),
  ),
  outside("12.1.2", "cipher suites", "Node.js' towards others, the proxy's towards us"),
  nothing("12.1.3", "no client certificates in TLS: messages are signed"),
  partly(
    "12.2.1",
    "no plain HTTP in production",
    "TLS is ended by a proxy of the operator",
    by("unit/engine/base/base", "production refuses an embedded database, generated keys and plain HTTP"),
  ),
  outside("12.2.2", "public certificates", "the proxy's; kurier doctor calls PUBLIC_URL"),
  outside(
    "12.3.1",
    "all connections are encrypted",
    "DATABASE_URL, NATS_URL and SMTP_URL say so: sslmode, tls:, smtps:",
  ),
  met(
    "12.3.2",
    "certificates of servers are judged",
    by(
      "unit/peppol/http-client-tls",
      "a server that proves its name is told with %s and its certificate, also on a connection that was kept",
    ),
  ),
  outside("12.3.3", "between parts of the installation as well", "as 12.3.1"),
  outside("12.3.4", "with certificates that are trusted", "as 12.3.1"),
];

export const CONFIGURATION: readonly SecurityRow[] = [
  met(
    "13.1.1",
    "who is called is configured, and listed in env.example",
    by("unit/engine/base/base", "the example names every variable"),
  ),
  met(
    "13.2.1",
    "parts show who they are to each other",
    by(
      "integration/delivery/streams",
      "the server listens on loopback behind a token, is found by its data directory, knows nothing of our environment, and an orphan is stopped",
    ),
  ),
  partly(
    "13.2.2",
    "with as few rights as will do",
    "the database's user is the operator's: it needs its own schema only",
    by("unit/deployment", "systemd reads the unit without a word, and rates its exposure below 2"),
  ),
  met(
    "13.2.3",
    "no default credentials",
    by(
      "unit/engine/base/base",
      "the operators' token is given by variable or file, and one that could be guessed stops the start",
    ),
  ),
  partly(
    "13.2.4",
    "who may be called is bounded",
    "by kind of address, not by a list: receivers are found by look-up",
    by("unit/peppol/outbound-address", "%s is no address of the open network"),
  ),
  outside("13.2.5", "also by the server around it", "the network policy of the chart"),
  partly(
    "13.3.1",
    "secrets come from files and credentials",
    "no vault of its own",
    by("unit/deployment", "every credential that the unit names is loaded, and none lies in its environment"),
    by("unit/engine/base/base", "a secret may come from a file"),
  ),
  met(
    "13.3.2",
    "secrets are read by the engine alone",
    by(
      "integration/peppol/pki-own-keys",
      "the development PKI is made once, trusted by itself, and readable by its owner alone",
    ),
  ),
  met(
    "13.4.1",
    "no .git in what is deployed",
    by(
      "integration/operators/packed",
      "the package holds what runs and what operators read, and neither tests nor sources",
    ),
  ),
  met(
    "13.4.2",
    "no debug modes",
    by("contract/http/http", "a handler that throws answers 500 with the request id and nothing of the error (%s)"),
  ),
  nothing("13.4.3", "no folder is served"),
  met(
    "13.4.4",
    "TRACE is no method",
    by("contract/http/http", "a method that does not exist is refused, and method overrides are not looked at"),
  ),
  met(
    "13.4.5",
    "metrics and console stand on a listener of their own",
    by(
      "contract/pages/console",
      "the public listener has nothing of the operators', with their token or without: no figures, no health, no console, no heap",
    ),
  ),
];

export const DATA: readonly SecurityRow[] = [
  partly(
    "14.1.1",
    "what is sensitive is known",
    "assets above; a law names each column that is sealed",
    by(
      "bulkheads/keys/master-keys",
      "a change of the master key covers every column of the schema that holds sealed octets",
    ),
  ),
  partly(
    "14.1.2",
    "and what protects it",
    "assets above",
    by("bulkheads/ends/row-ends", "a table without an end for its rows is found"),
  ),
  partly(
    "14.2.1",
    "no secrets in addresses",
    "an invitation's link is its secret; it is kept as a digest",
    by("contract/identity/consents", "the secret of a link stands nowhere but in the answer that made it"),
  ),
  met("14.2.2", "answers are cached by nobody", by("contract/http/http", "answers forbid sniffing and caching")),
  met(
    "14.2.3",
    "no one else is told",
    by(
      "contract/pages/docs",
      "a page allows scripts and styles of this host only, no frame around it, and loads nothing of another host",
    ),
  ),
  met(
    "14.2.4",
    "protection is what is written",
    by(
      "bulkheads/keys/sealed-facts",
      "no secret and no word of a document stands in the log at its most talkative, in metrics, in refusals, in the database or in files",
    ),
    by(
      "bulkheads/ends/erasure",
      "what stays of a firm that is forgotten is what the law asks for, and its texts say nothing of it",
    ),
  ),
  partly(
    "14.3.1",
    "nothing stays in the browser",
    "no Clear-Site-Data; pages are not stored",
    by("contract/pages/console", "pages load files of the console alone, run nothing inline, and are kept by nobody"),
  ),
  met("14.3.2", "pages are not stored", by("contract/http/http", "answers forbid sniffing and caching")),
  partly(
    "14.3.3",
    "browsers keep tokens of sessions alone",
    "by reading: pages use no storage",
    by(
      "contract/pages/console",
      "neither the operators' token nor a session's stands in a page, an address or a line of the log",
    ),
  ),
];

export const CODE: readonly SecurityRow[] = [
  partly("15.1.1", "how soon weaknesses are repaired", "SECURITY.md says it of ours; of libraries no time is promised"),
  met(
    "15.1.2",
    "what it is made of is listed (CycloneDX, npm run sbom)",
    by(
      "unit/deployment",
      "nothing that a package brings along has a licence that asks for more than its text, and one that does is named",
    ),
  ),
  partly(
    "15.1.3",
    "what costs much is known",
    "CONTRIBUTING.md, section 13; measured by kurier bench",
    by(
      "bulkheads/bytes/bytes",
      "what all budgets hold together is less than twice the heap, and less than the memory of the container",
    ),
  ),
  partly("15.2.1", "components are current", "`npm audit` is a job of the workflow of GitHub, and no test"),
  met(
    "15.2.2",
    "what costs much cannot stop the rest",
    by("bulkheads/shares/lanes", "our own work takes its turn beside a key that has filled its share"),
    by(
      "bulkheads/bytes/heap",
      "sixteen invoices of 10 MB at once with 160 MB of heap are each accepted or told to come again, and the engine lives",
    ),
  ),
  met(
    "15.2.3",
    "production has nothing of the sandbox",
    by(
      "integration/operators/sandbox-production",
      "production publishes none of the participants, names none of them in its reference, and makes no key for them",
    ),
    by(
      "integration/operators/packed",
      "the package holds what runs and what operators read, and neither tests nor sources",
    ),
  ),
  met(
    "15.3.1",
    "answers have the members of their schema",
    by("unit/gateway/route", "a handler's request has the types that its row's schemas and columns promise"),
  ),
  met(
    "15.3.2",
    "redirects are not followed",
    by("unit/peppol/http-client", "a redirect is an answer like any other: it is not followed"),
  ),
  met(
    "15.3.3",
    "members too many set nothing",
    by("contract/http/envelopes", "a member too many is refused where the row is strict, ignored elsewhere"),
  ),
  met(
    "15.3.4",
    "the client's address comes from proxies that are named",
    by("unit/gateway/client-address", "behind a proxy the client is the last entry that no proxy of ours has"),
  ),
  met(
    "15.3.5",
    "types are what schemas say; the compiler is strict",
    by("unit/gateway/route", "a handler's request has the types that its row's schemas and columns promise"),
  ),
  partly(
    "15.3.6",
    "names of members cannot reach prototypes",
    "by schemas that take known names",
    by("unit/gateway/json", "any JSON object is read as JSON.parse reads it"),
  ),
  met(
    "15.3.7",
    "what comes twice is refused",
    by(
      "contract/http/envelopes",
      "the header %s sent twice, even with one value, is refused: two readers could take different ones",
      "a query value that its schema refuses, or that comes twice: 400",
    ),
  ),
];

export const LOGS: readonly SecurityRow[] = [
  met(
    "16.1.1",
    "what is logged is a list",
    by(
      "unit/engine/base/log-events",
      "every log call names an event of the list by its code, and every event of the list is logged",
    ),
  ),
  met(
    "16.2.1",
    "a line says when, what, which request",
    by("unit/engine/base/base", "a log line carries the fields of the list and nothing else, on one line"),
  ),
  partly(
    "16.2.2",
    "times are UTC",
    "clocks of machines are the operator's; the database's decides what is due",
    by(
      "integration/access-points/as4-deferral",
      "waits are database time: a node whose clock is two minutes off neither hurries nor delays the next attempt",
    ),
  ),
  met("16.2.3", "to standard output and nowhere else", by("tidy", "the sources %s")),
  met(
    "16.2.4",
    "as lines of JSON",
    by("unit/engine/base/base", "a log line carries the fields of the list and nothing else, on one line"),
  ),
  met(
    "16.2.5",
    "without secrets and texts",
    by(
      "bulkheads/keys/sealed-facts",
      "no secret and no word of a document stands in the log at its most talkative, in metrics, in refusals, in the database or in files",
    ),
  ),
  partly(
    "16.3.1",
    "logins are recorded",
    "changes of keys and tokens are in the audit; a login that succeeds is a metric",
    by("contract/identity/partner-keys", "every change of a key and its tokens leaves an entry"),
  ),
  partly(
    "16.3.2",
    "refusals are recorded",
    "as metrics by route and status; operators' actions one by one",
    by(
      "contract/pages/console-documents",
      "retry now makes a waiting document due, and refuses one that does not wait; the record has both",
    ),
  ),
  partly(
    "16.3.3",
    "attempts to get around are recorded",
    "strangers' messages by kind and second; the rest as metrics",
    by("bulkheads/shares/strangers-as4", "a thousand refusals are one line of the log for each kind and second"),
  ),
  met(
    "16.3.4",
    "what goes wrong is logged",
    by(
      "bulkheads/shares/strangers-as4",
      "a line that stands for others says for how many, and what goes wrong is told once a second, too",
    ),
  ),
  met(
    "16.4.1",
    "no line can be forged",
    by("unit/engine/base/base", "a log line carries the fields of the list and nothing else, on one line"),
  ),
  outside("16.4.2", "logs are kept from others", "whoever collects standard output"),
  outside("16.4.3", "and sent elsewhere", "whoever collects standard output"),
  met(
    "16.5.1",
    "refusals say nothing of the inside",
    by("contract/http/http", "a handler that throws answers 500 with the request id and nothing of the error (%s)"),
    by("unit/as4/messages/attacks", "no answer tells more than its code: the reason stays out of what the peer gets"),
  ),
  met(
    "16.5.2",
    "what is away is lived without",
    by(
      "contract/sapi/sapi-temporary",
      "TEMPORARY: temporary unavailability; repeat with the same Idempotency-Key: nothing was written, the repeat is accepted, without a restart",
    ),
    by("integration/delivery/streams", "the engine starts while NATS is away and works once it comes"),
  ),
  met(
    "16.5.3",
    "doubt refuses",
    by(
      "integration/identity/identity-nodes",
      "with Postgres away too, a token is neither believed nor called invalid: 503",
    ),
  ),
];
