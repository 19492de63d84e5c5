/** The world outside and the clock: S-01 to S-10, K-01 to K-08, L-01 to L-07. @source design/reliability.md, sections 3.6, 3.8 and 3.10 */
import { by, partly, row } from "./row.js";
import type { FaultRow } from "./row.js";

export const OUTBOUND: readonly FaultRow[] = [
  row(
    "S-01",
    "an address inside the operator's network",
    by(
      "unit/peppol/outbound-address",
      "%s is no address of the open network",
      "a URL in production is judged by its use, %s: %s",
    ),
    by("contract/events/webhooks", "%s is refused, and the refusal names url"),
  ),
  row(
    "S-02",
    "a name that leads elsewhere when it is called",
    by("integration/webhooks/webhooks", "a name that leads to a private address when it is called is not connected to"),
    by("unit/peppol/outbound-address", "a name with the addresses %j is refused, also when only one of them is bad"),
  ),
  row(
    "S-03",
    "redirects",
    by("unit/peppol/http-client", "a redirect is an answer like any other: it is not followed"),
    by("unit/peppol/as4-transport", "a redirect is not followed"),
    by("integration/peppol/peppol-http", "a redirect is an answer, not a journey"),
  ),
  row(
    "S-04",
    "receivers that never end",
    by(
      "integration/peppol/peppol-http",
      "silence, drops of one byte and endless headers run into the limits",
      "a body larger than asked for ends the call, announced or not",
    ),
    by("integration/webhooks/webhooks", "a receiver that hangs has four calls at once and delays nobody else"),
  ),
  row(
    "S-05",
    "what a receiver's status means",
    by(
      "integration/webhooks/webhooks",
      "after %i the event is sent again with its id and a fresh signature",
      "Retry-After in %s is honoured, up to a day",
      "410 switches the subscription off; what still waited is a dead letter, and the audit tells why",
    ),
  ),
  row(
    "S-06",
    "an endpoint that is dead for days",
    by(
      "faults/loads/dead-endpoint",
      "an endpoint that is dead for a week of ${EVENTS} events is switched off after five days, costs nobody else anything, and what it missed can be sent again",
    ),
    by(
      "integration/webhooks/webhooks",
      "ten attempts are made over about 44 hours, and then the event is a dead letter",
      "an endpoint that fails again and again rests, and one call tells whether it is back",
    ),
    by(
      "integration/webhooks/webhooks-switched-off",
      "what waits at a subscription that is switched off with thousands waiting is sent no more, and all of it is a dead letter",
    ),
    by(
      "integration/connector/connector-webhook-nodes",
      "a webhook that has failed for days is switched off, but tests that were meant to fail are no failure",
    ),
  ),
  row(
    "S-07",
    "an event that was changed on its way",
    by(
      "integration/webhooks/webhooks",
      "the signature is verified by code that knows nothing but the documentation",
      "the checks that the guide prints, each in its language, and openssl tell a call from one that was changed",
    ),
  ),
  row(
    "S-08",
    "DNS and SMP that fail or lie",
    by(
      "integration/peppol/smp",
      "a recipient is not found: %s",
      "a recipient is not found when DNS or its SMP stay silent, after the timeout",
      "a damaged answer is never believed, and never crashes",
    ),
    by(
      "integration/delivery/smp-delivery",
      "a peer that moved, and then changed its key, while its old metadata are remembered: the attempt after each failure looks it up anew",
    ),
  ),
  row(
    "S-09",
    "an access point that answers oddly",
    by(
      "unit/peppol/as4-transport",
      "an answer that is %s is not believed, and the document stays due under the same MessageId",
      "a reset after the upload leaves the document due",
    ),
    by(
      "integration/delivery/cut-attempts",
      "a document whose plan is used up after an attempt that was cut ends as one that was transmitted, and says why",
      "a receipt that comes to a node taken for dead delivers the document, while %s",
    ),
    by(
      "integration/statuses/mls",
      "a document that is %s (%j) and gets MLS %s goes the way of the table, with its events",
    ),
    by(
      "simulation/lives",
      "${SEEDS} documents end as the rulings say, whatever dies, stands still, is lost or comes twice (SEED=${FIRST_SEED})",
    ),
    by(
      "simulation/truth",
      "status, answer, timeline, country, evidence and statistics of what we sent are those of the rulings, whoever says what in whatever order",
    ),
  ),
  row(
    "S-10",
    "a slow receiver beside others",
    by(
      "simulation/delivery",
      "a quick receiver gets 80 % of what it takes within 5 s of any disturbance, and a slow one never more than it takes",
    ),
    by(
      "integration/delivery/hostile-receivers",
      "a receiver that answers after fifty-nine seconds has its documents once, no more of them at a time than it has shown to take, and a quick one beside it does not wait",
    ),
  ),
];

export const CLOCK: readonly FaultRow[] = [
  row("K-01", "the turn of a year", by("unit/engine/documents/send-checks", "handed over at %s with IssueDate %s: %s")),
  row(
    "K-02",
    "the days on which the clocks change",
    by("unit/engine/base/base", "%s is %s in Bratislava"),
    by(
      "unit/engine/accounts/statistics-period",
      "every day of a year with both clock changes begins at its midnight in Bratislava",
    ),
  ),
  row(
    "K-03",
    "a request around midnight",
    by(
      "simulation/truth",
      "what a caller declares and what its document says are held against each other as the rulings say, on any day",
    ),
    by(
      "integration/documents/doors",
      "the day of hand-off and the debit note are checked at SAPI, whose profile has these rules, and nowhere else",
    ),
  ),
  row(
    "K-04",
    "a time at which an item is to leave",
    by(
      "contract/events/box-operations",
      "POST /box/items/{itemId}/schedule: scheduledFor (required; date-time, future): 400 without, 422 in the past",
    ),
  ),
  row(
    "K-05",
    "the edge of a month that is billed",
    by("unit/billing/tariff", "the instant %s is of the month %s, which ends at %s"),
    by("integration/billing/meter", "the figures equal an independent recount, also over the turns of summer time"),
  ),
  row(
    "K-06",
    "clocks that differ or go wrong",
    by(
      "integration/access-points/as4-deferral",
      "waits are database time: a node whose clock is two minutes off neither hurries nor delays the next attempt",
      "a document that a node accepted whose clock is two minutes ahead is due at once",
    ),
    by("integration/documents/documents", "history never goes back in time, whatever the clock of the node says"),
    by(
      "integration/identity/revoked-clocks",
      "a revoked token stays so where the clock of its node goes an hour ahead and is set back",
    ),
  ),
  row(
    "K-07",
    "legal deadlines over months and years",
    by("unit/engine/documents/send-checks", "issued on %s for a supply of %s: %s"),
  ),
  row(
    "K-08",
    "a runtime without tables of time zones",
    by("bulkheads/starts/starting", "because of %s ends with %i and one sentence"),
  ),
];

export const LEAKS: readonly FaultRow[] = [
  partly(
    "a core dump of the engine has its secrets, as its memory must: dumps are switched off",
    row(
      "L-01",
      "marked secrets in every place",
      by(
        "integration/access-points/as4-two-engines",
        "after twenty exchanges each way at once all invariants hold, and the evidence of both sides is whole",
      ),
      by("contract/sapi/sapi", "no text of an invoice and no token reaches the log"),
      by(
        "faults/secrets/canaries",
        "neither a dump, nor files, nor the memory of Postgres and of nats-server hold a secret, and of documents a number that is asked for at the most",
      ),
    ),
  ),
  row(
    "L-02",
    "errors that carry what they were given",
    by("unit/actors/system", "a crash report names the actor, never the command or the error's text"),
    by("contract/http/http", "a handler that throws answers 500 with the request id and nothing of the error (%s)"),
    by("unit/engine/base/base", "the path of the machine is not in an error's place"),
  ),
  row(
    "L-03",
    "line breaks in a log",
    by("unit/engine/base/base", "a log line carries the fields of the list and nothing else, on one line"),
  ),
  row(
    "L-04",
    "a tenant's text as a label",
    by(
      "contract/http/http-operations",
      "metrics count requests by template, method and status, and never by what a client wrote",
    ),
    by("unit/observability", "no metric has more than three labels, and each name has a unit or counts something"),
  ),
  row(
    "L-05",
    "the operators' pages on the public port",
    by(
      "integration/operators/operators",
      "in production without ADMIN_TOKEN keeps /admin closed and says so in one line",
    ),
    by(
      "contract/pages/console",
      "the public listener has nothing of the operators', with their token or without: no figures, no health, no console, no heap",
    ),
  ),
  row(
    "L-06",
    "payloads at rest",
    by(
      "integration/delivery/damage",
      "at rest nobody reads a document without the master key: not in the archive, not in the database",
    ),
    by(
      "bulkheads/keys/master-keys",
      "the ring of master keys opens with the key that made it and with no other, which is told in one sentence without a key",
    ),
    by("unit/deployment", "systemd reads the unit without a word, and rates its exposure below 2"),
  ),
  partly(
    "known faults of packages are asked of the registry by the workflow of GitHub (`npm audit`), and by no test",
    row(
      "L-07",
      "packages of others",
      by(
        "unit/install",
        "only esbuild and the embedded Postgres have an install script in production, and npm is told to run none",
      ),
      by(
        "unit/deployment",
        "nothing that a package brings along has a licence that asks for more than its text, and one that does is named",
      ),
    ),
  ),
];
