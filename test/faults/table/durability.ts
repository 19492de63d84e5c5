/** Crashes and what outlives them: F-01 to F-19. @source design/reliability.md, section 3.1 */
import { by, partly, row } from "./row.js";
import type { FaultRow } from "./row.js";

export const DURABILITY: readonly FaultRow[] = [
  row(
    "F-01",
    "SIGKILL at each step of a send, from the request to the receipt",
    by(
      "integration/access-points/as4-two-engines-killed",
      "everything arrives once when the sending access point is killed: %s",
      "everything arrives once when the receiving access point is killed: %s",
    ),
    by(
      "integration/delivery/crash",
      "a document accepted before the engine was killed is delivered, once, after the next start",
      "every 202 that a client saw is one document, delivered once",
    ),
    by(
      "integration/delivery/outbox",
      "killed between publish and delete, the rows are published again by the next relay: at least once, none lost",
    ),
  ),
  row(
    "F-02",
    "SIGKILL at random moments under load, many times",
    by(
      "integration/access-points/as4-two-engines-random",
      "whoever is killed in the middle of whatever: all invariants hold (SEED=${SEED})",
    ),
    by(
      "faults/deaths/kills",
      "whatever is killed in a backlog, every 202 is one document that is delivered once; streams: %s (SEED=${SEED})",
    ),
    by(
      "faults/mixed/mixed",
      "whatever is killed while everything is done at once, nothing accepted is lost or doubled, and nobody is told what is not so (SEED=${SEED})",
    ),
  ),
  row(
    "F-03",
    "the connection is lost while the commit of an acceptance is under way",
    by(
      "integration/database/lost-connections",
      "an acceptance whose connection is lost at its %s, %s, is one document, and its client is told so",
    ),
    by(
      "integration/documents/doors",
      "a statement that is made again because its answer was lost finds its own document, also without any name",
    ),
    by(
      "unit/storage/batched",
      "a call whose connection was lost is made once more: what was written is found by the repeat",
    ),
    by(
      "integration/database/hanging-database",
      "a send that was told 503 because the database hangs may be accepted all the same, and its repeat tells so: one document, its reply",
    ),
  ),
  row(
    "F-04",
    "Postgres crashes and comes back under load",
    by(
      "faults/servers/standby",
      "a standby that takes over under load has everything that was acknowledged, where it is waited for; with %s",
    ),
    by(
      "contract/sapi/sapi-temporary",
      "TEMPORARY: temporary unavailability; repeat with the same Idempotency-Key: nothing was written, the repeat is accepted, without a restart",
    ),
    by(
      "integration/delivery/outbox",
      "Postgres is killed twice under load: everything that was committed is handled once it is back",
    ),
    by(
      "integration/database/embedded-postgres",
      "the embedded Postgres comes back by itself, with its data and at the same address, when its process is killed",
    ),
    by(
      "integration/access-points/arrivals",
      "a document that arrives while Postgres is started again, %s, is stored once when it is back",
    ),
    by(
      "integration/delivery/cut-attempts",
      "%s that comes while Postgres is started again is written when it is back, and nothing was cut",
    ),
  ),
  row(
    "F-05",
    "single backends of Postgres are ended",
    by(
      "integration/database/lost-connections",
      "backends of Postgres that are ended at random under load mix up no request, lose none and end no process (SEED=${SEED})",
    ),
    by(
      "integration/database/sql",
      "a backend that dies as soon as a connection stands rejects our statement and nothing else",
      "the answers behind a statement that %s are whole",
    ),
    by(
      "integration/identity/identity-tokens",
      "while Postgres is away a token whose key was not read yet is never called invalid: 503, each time",
    ),
    by(
      "faults/deaths/kills",
      "whatever is killed in a backlog, every 202 is one document that is delivered once; streams: %s (SEED=${SEED})",
    ),
  ),
  partly(
    "reads are not served meanwhile, but answered 503 like sends: a Postgres without room for its log is down",
    row(
      "F-06",
      "the disk is full",
      by(
        "integration/database/disk-full",
        "on a full disk sends and reads are answered 503 and nothing worse; with room again each is accepted under its key and delivered once, by the same process",
      ),
      by(
        "integration/access-points/as4-deferral",
        "a document whose evidence we cannot store is transmitted, uses nothing of the plan, never ends, and is delivered once its evidence is stored",
      ),
      by(
        "bulkheads/starts/standard-output",
        "an engine whose log lies on a full disk starts, serves, and drains when it is told to",
        "lines go on where a full disk has cut them, in their order, once there is room again",
      ),
    ),
  ),
  row(
    "F-07",
    "the database is slow, hangs, or has no connection left",
    by(
      "integration/database/hanging-database",
      "who waits for a database that hangs is told 503 TEMPORARY, at the latest after the time of the limit, and who reads later is answered",
      "every operation that needs it answers 503 with Retry-After after one wait, and a send that was told so is told the truth when it is repeated with the same key: one document, one reply",
    ),
    by(
      "faults/servers/slow-database",
      "the event loop has no turn of 50 ms while the database is slow, hangs, holds a lock or has no connection left, and every client is answered",
    ),
    by("unit/storage/batched", "more than may wait are refused for now, and nothing of them is done"),
  ),
  row(
    "F-08",
    "NATS is away at the start, is killed, loses its store, has no room",
    by(
      "faults/servers/streams-full",
      "while the disk of the JetStream server is full documents are accepted and delivered, what it cannot take waits in the outbox, and wake-ups travel again once there is room",
    ),
    by(
      "integration/delivery/many-machines",
      "many machines under load lose nothing, double nothing, and all invariants hold when %s",
    ),
    by(
      "integration/delivery/streams",
      "the engine starts while NATS is away and works once it comes",
      "a broker that goes and comes back in the middle loses nothing",
      "after the whole store was deleted, streams and consumers are there again without a restart of the engine",
    ),
    by(
      "integration/delivery/crash",
      "a document accepted before everything was killed is delivered, once, also when the streams' directory is gone",
    ),
    by(
      "integration/delivery/outbox",
      "a broker that is away delays the rows of its stream, holds up no other stream, and gets all when it is back",
    ),
  ),
  row(
    "F-09",
    "a wake-up comes twice, late, or while another node works on it",
    by("integration/documents/documents", "one of many nodes that wake for one document makes the attempt"),
    by("integration/delivery/streams", "a message whose handler never ends goes to somebody else after the ack wait"),
    by(
      "integration/delivery/claims",
      "a lease that nobody works on in a living process is found and freed; one that it works on, or has just taken, is not",
    ),
  ),
  row(
    "F-10",
    "a stream gives a message up",
    by(
      "integration/delivery/streams",
      "a message is given up after LIMITS.stream_deliveries_max deliveries, and counted",
    ),
    by(
      "integration/delivery/dispatcher",
      "a document that no stream and no door has told of is delivered, one left by a dead process and one that comes later",
    ),
  ),
  row(
    "F-11",
    "an earlier position commits later than the reader has read",
    by("integration/webhooks/feed", "an event that commits after a later one is read after neither is missing"),
    by(
      "integration/documents/document-pulls",
      "%s are pulled in the order in which they were committed: a late one is behind the reader never",
    ),
    by("integration/delivery/outbox", "a row that commits late is not skipped"),
    by("integration/billing/meter", "what is not committed yet is counted later, and nothing behind it is lost"),
  ),
  row(
    "F-12",
    "the engine dies between a webhook's 200 and its record",
    by(
      "integration/webhooks/webhooks-killed",
      "${KILLS} kills of the engine and of its database lose no event, and ids tell apart what comes twice",
    ),
    by(
      "faults/deaths/webhooks",
      "webhooks: ${KILLS} kills of the engine and of its database lose no event",
      "webhooks: every pair of statements about the same deliveries, in every order of their locks, loses nothing",
    ),
    by(
      "integration/webhooks/webhooks-interleaved",
      "two statements about the same deliveries lose nothing, whichever is first and wherever it waits (SEED=${SEED})",
    ),
  ),
  partly(
    "the long form needs root and a loop device; the cache of the disk itself is not emptied, and only ext4 is asked",
    row(
      "F-13",
      "the power fails",
      by(
        "faults/power/power-loss",
        "when the power fails under load, every 202 is one document that is delivered once, and the evidence is whole; streams: %s (SEED=${SEED})",
        "where commits are not waited for, the same losses lose documents that clients were told are accepted (SEED=${SEED})",
        "whenever the power fails during the first start, the next one makes a whole engine, and one that was ready keeps its keys (SEED=${SEED})",
      ),
      by(
        "unit/engine/base/durable",
        "a small file has its name only once its bytes are on the disk, and is there only once the disk knows its name",
        "the keys and certificates of the sandbox have their folder only once all of them are on the disk",
      ),
      by(
        "integration/evidence/evidence-store",
        "an object has its name only once its bytes are on the disk, and is stored only once the disk knows its name and every new folder's",
      ),
    ),
  ),
  row(
    "F-14",
    "SIGTERM with requests and deliveries under way",
    by(
      "integration/delivery/many-machines",
      "many machines under load lose nothing, double nothing, and all invariants hold when %s",
    ),
    by(
      "contract/http/http",
      "a drain lets 100 requests under way finish, closes their connections, and takes no new ones",
    ),
    by(
      "bulkheads/starts/starting",
      "npm start, ended by SIGTERM alone, drains and leaves neither the engine nor its children",
    ),
    by(
      "integration/delivery/streams",
      "stop waits for the handlers under way, takes nothing more, and leaves the rest to the others at once",
    ),
    by("contract/http/http", "a drain that meets a handler without end stops all the same, and says so"),
  ),
  row(
    "F-15",
    "two releases on one database",
    by(
      "faults/suites/releases",
      "a release and an earlier one, %s, serve one database side by side, whose schema changes under the earlier, and the earlier alone again: what either takes arrives once, is told once and is read through both",
    ),
    by(
      "faults/suites/releases-suites",
      "the contract and integration tests of the release before pass on a database that this release has migrated",
    ),
    by("integration/database/migrate", "an older release runs on a database that a newer one has migrated"),
    by(
      "integration/webhooks/webhooks-leases",
      "a node of the release before settles what it has sent, and frees the event of the document that waits behind it",
    ),
    by(
      "integration/operators/operators",
      "a node stays ready when a newer release has migrated the database further, and is not when a migration of its own is missing",
    ),
    by(
      "bulkheads/starts/releases",
      "a migration that does not get its table lets those behind it through, and is applied once it is free",
    ),
  ),
  row(
    "F-16",
    "a restore to a moment: documents that were possibly sent are sent again",
    by(
      "faults/servers/restore",
      "a database that is destroyed under load and restored to a moment has every document of before it, and sends those that may have been sent under their old MessageId only",
    ),
    by("integration/delivery/handover", "a document %s when the peer has its MessageId"),
    by(
      "unit/peppol/as4-transport",
      "a repeat of the same MessageId is handed over once: the peer stores one document and receipts both",
    ),
  ),
  row(
    "F-17",
    "a node stands still, another takes over, the first goes on",
    by(
      "integration/delivery/many-machines",
      "many machines under load lose nothing, double nothing, and all invariants hold when %s",
    ),
    by(
      "integration/delivery/claims",
      "a process that says nothing for four seconds is dead: its leases are free, and what it writes late is refused",
    ),
    by("integration/box/box", "one that wakes up after its item was cancelled makes no document of it"),
    by(
      "integration/statuses/mls-sending",
      "a message whose node died in mid-attempt is sent again under the same ids, and the late end of the first attempt is refused",
    ),
  ),
  row(
    "F-18",
    "a process runs out of memory, or is killed for it",
    by(
      "bulkheads/bytes/heap",
      "sixteen invoices of 10 MB at once with 160 MB of heap are each accepted or told to come again, and the engine lives",
    ),
    by(
      "integration/webhooks/two-nodes-events",
      "killed while items fall due, a node leaves nothing behind that the other one does not send once and tell in order",
    ),
    by(
      "faults/loads/memory",
      "100 invoices of 10 MB at once are accepted or told to come again, and all that were accepted arrive",
      "96 invoices of 20 MB are delivered within a bound of memory",
      "200 readers of one document of 20 MB are all served within a bound of memory",
    ),
  ),
  row(
    "F-19",
    "a stored payload or record has lost a bit",
    by(
      "integration/delivery/damage",
      "a received document of which a bit has flipped, or whose bytes are another document's, is not given out; the one beside it is",
      "an envelope of which a bit has flipped in the archive, or whose file is gone, is not given out",
    ),
    by("integration/evidence/evidence-verify", "one flipped bit in any object is found"),
  ),
];
