/** What comes at once: C-01 to C-21. @source design/reliability.md, section 3.2 */
import { by, partly, row } from "./row.js";
import type { FaultRow } from "./row.js";

export const CONCURRENCY: readonly FaultRow[] = [
  row(
    "C-01",
    "one key and one body, many times at once",
    by(
      "faults/loads/one-key",
      "one key and one body at four gateways, again and again at once: one document, and every answer is its 202 or says that it may come",
    ),
    by(
      "integration/documents/idempotency",
      "1,000 concurrent sends of one key and body: one document, every answer 202 or 409 in flight, later repeats byte-identical",
    ),
    by(
      "integration/documents/documents",
      "1,000 concurrent acceptances of one key in two processes make one document, and every answer names it",
    ),
  ),
  row(
    "C-02",
    "one key with many bodies",
    by(
      "integration/database/lost-connections",
      "sixty bodies under one key at once: one is accepted, every other is told for ever that the key is another's",
    ),
    by("contract/sapi/sapi", "SAPI-PROC-003: idempotency key reused with a different body"),
    by(
      "integration/documents/documents",
      "the same key and body answers the stored bytes; another body under it is a conflict",
      "1,000 bodies under one key in two processes: one is accepted, every other is told that the key is another's, also later",
    ),
    by(
      "integration/documents/doors",
      "any sequence of requests through any doors comes to what the rules of each door say, keys, external ids and payloads shared or not",
    ),
  ),
  row(
    "C-03",
    "one payload under many keys and ids at once",
    by("integration/documents/idempotency", "1,000 keys and one payload: one 202, the rest SAPI-DOC-024"),
    by(
      "integration/documents/documents",
      "1,000 keys and documentIds with one payload make one document; the rest are duplicate_payload",
    ),
  ),
  row(
    "C-04",
    "one documentId under many keys",
    by("contract/sapi/sapi", "SAPI-DOC-018: duplicate documentId"),
    by(
      "integration/documents/documents",
      "key goes before documentId, documentId before payload, in all eight combinations",
    ),
  ),
  row(
    "C-05",
    "one request, written in another way",
    by(
      "contract/sapi/sapi",
      "1. the same Idempotency-Key and body returns the stored response, byte for byte, also later and over JSON that only looks different",
      "checksum is SHA-256 hex over the exact payload bytes, byte order mark included",
    ),
    by("contract/documents/documents-send", "the order of members and the way they are written make no other request"),
  ),
  row(
    "C-06",
    "one key in two places: tenants, doors, environments",
    by("integration/documents/documents", "another participant may use the same key, documentId and payload"),
    by(
      "integration/documents/doors",
      "the same key, external id and payload through all doors at the same moment make one document each",
    ),
    by(
      "integration/identity/identity-credentials",
      "a sandbox secret is worth nothing in production, even when the row is there",
    ),
  ),
  row(
    "C-07",
    "the client leaves before its answer",
    by(
      "integration/database/lost-connections",
      "a client that leaves before its answer finds its document when it asks again",
    ),
    by("contract/http/http", "clients that go away in mid-body or before the answer leave nothing behind"),
  ),
  row(
    "C-08",
    "a refused document comes again, mended, under its key",
    by("contract/sapi/sapi", "a refusal burns neither the key, nor the documentId, nor the payload"),
    by("integration/documents/doors", "%s refuses a document that breaks the rules, and the refusal burns nothing"),
  ),
  row(
    "C-09",
    "a send that was told 503 comes again",
    by(
      "contract/sapi/sapi-temporary",
      "TEMPORARY: temporary unavailability; repeat with the same Idempotency-Key: nothing was written, the repeat is accepted, without a restart",
    ),
    by(
      "integration/delivery/payload-path",
      "where no worker is free a wrong checksum is still CHECKSUM, a repeat still has its reply, and only new work is TEMPORARY",
    ),
  ),
  row(
    "C-10",
    "an item of the Box is cancelled, sent and due at once",
    by(
      "integration/box/box",
      "cancel, send-now and the scheduler at once: exactly one of cancelled and sent, and the loser is told 409",
    ),
    by(
      "integration/connector/connector-staged",
      "cancel races send on two nodes: one of them has its way, the other is told, and what is cancelled never leaves",
    ),
  ),
  row(
    "C-11",
    "one operation on an item, many times at once",
    by("integration/box/box", "retry said 200 times at once from two nodes is one transition"),
    by("integration/connector/connector-staged", "said twenty times at once on two nodes, send sends once"),
  ),
  row(
    "C-12",
    "many keys are made where one has a place",
    by(
      "integration/identity/identity-credentials",
      "fifty creations at once with one of five places left make one key (C-12)",
    ),
    by(
      "integration/identity/identity-races",
      "the sixth key is refused although the fifth is not committed yet (C-12)",
    ),
  ),
  row(
    "C-13",
    "the last two keys are ended at once",
    by("integration/identity/identity-credentials", "the last two main keys, ended at once, leave one (C-13)"),
    by(
      "integration/identity/identity-races",
      "one of the last two main keys stays, although the other's end is not committed yet (C-13)",
    ),
  ),
  row(
    "C-14",
    "usage is counted by many at once",
    by(
      "integration/billing/meter",
      "the figures are the same when meters on several nodes die again and again in the middle",
    ),
    by(
      "bulkheads/ends/past",
      "documents are counted by their state wherever they move, by many transactions at once, and when they are removed",
    ),
  ),
  row(
    "C-15",
    "an actor ends while its handler waits",
    by("unit/actors/system", "a retired actor ends its running handler before a successor begins"),
  ),
  row(
    "C-16",
    "a flood of messages for one actor",
    by(
      "unit/actors/system",
      "a flood of a million commands to one actor is refused beyond its mailbox, and leaves nothing in memory",
    ),
  ),
  partly(
    "the actors alone, whose handler answers at once, and not 200,000 mailboxes that send and receive",
    row(
      "C-17",
      "very many participants at work in one process",
      by(
        "faults/loads/participants",
        "all participants that one process may hold are answered, each by its own actor, and go when they are idle (SEED=${SEED})",
      ),
      by(
        "unit/actors/system",
        "an actor without idle time is gone when its last command has ended",
        "idle actors go a few in a turn of the event loop, and one that is asked meanwhile stays",
      ),
    ),
  ),
  row(
    "C-18",
    "one event is confirmed often, by strangers, or under no id",
    by(
      "contract/events/events",
      "an event of another firm is as unknown as none, and stays where it is",
      "an event that two subscriptions have is shown once and confirmed once",
    ),
    by("contract/documents/documents-handling", "a thousand marks of one state at once are one row"),
  ),
  row(
    "C-19",
    "a consent is accepted twice at once, or when its key has ended",
    by(
      "integration/identity/partner-races",
      "twenty who accept one offer at once make one consent, one entry, and access on every node",
      "an acceptance and the deletion of the issuing key have one outcome: accepted before it, or not at all",
    ),
    by("contract/identity/consents", "an invitation whose key has lost a scope since cannot be accepted"),
  ),
  row(
    "C-20",
    "batches of many writers overlap in every name",
    by(
      "integration/documents/documents",
      "batches of many senders that overlap in every key finish without a deadlock, each item with its own answer",
      "one poison item fails alone: its neighbours are accepted",
    ),
    by(
      "integration/documents/doors",
      "batches that mix doors and tenants and overlap in every name finish without a deadlock",
    ),
  ),
  row(
    "C-21",
    "the loser of a race waits for a winner that commits, aborts or hangs",
    by(
      "contract/sapi/sapi",
      "SAPI-PROC-002: idempotency key still in flight; one of many wins, the others are told or get its answer",
    ),
    by(
      "integration/documents/documents",
      "who waits for a rival with the same key and %s wins when the rival's connection dies before it commits",
    ),
    by(
      "integration/database/hanging-database",
      "a send that was told 503 because the database hangs may be accepted all the same, and its repeat tells so: one document, its reply",
    ),
  ),
];
