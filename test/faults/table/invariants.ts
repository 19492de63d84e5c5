/** What must hold after every fault: I1 to I10. @source design/reliability.md, section 1 */
import { by, row } from "./row.js";
import type { FaultRow } from "./row.js";

const ORACLE = by(
  "integration/access-points/as4-two-engines",
  "after twenty exchanges each way at once all invariants hold, and the evidence of both sides is whole",
);

/** The oracle judges all of them together, after each kill; the second test is of the one alone. */
export const INVARIANT_ROWS: readonly FaultRow[] = [
  row(
    "I1",
    "what was answered 202 is one document with the same bytes",
    ORACLE,
    by("integration/delivery/crash", "every 202 that a client saw is one document, delivered once"),
  ),
  row(
    "I2",
    "a document has one MessageId and one InstanceIdentifier for ever",
    ORACLE,
    by(
      "integration/statuses/mls-sending",
      "attempts at a message keep its ids; it follows the plan and ends like a document",
    ),
  ),
  row(
    "I3",
    "what has not ended is due, or held by a person",
    ORACLE,
    by("unit/engine/documents/lifecycle", "every outcome leaves the document final or due again"),
  ),
  row(
    "I4",
    "history is only added to, and follows the table",
    ORACLE,
    by("unit/engine/documents/lifecycle", "every other pair of state and trigger is refused"),
  ),
  row(
    "I5",
    "the same request has the same answer for ever",
    ORACLE,
    by(
      "contract/sapi/sapi",
      "1. the same Idempotency-Key and body returns the stored response, byte for byte, also later and over JSON that only looks different",
    ),
  ),
  row(
    "I6",
    "an end has evidence and is told, each event once",
    ORACLE,
    by(
      "integration/documents/documents",
      "attempts that end together are told by one row of the outbox, each of their events once and in order",
    ),
  ),
  row(
    "I7",
    "what is counted is what was delivered",
    ORACLE,
    by("integration/billing/meter", "the figures equal an independent recount, also over the turns of summer time"),
  ),
  row(
    "I8",
    "nobody reaches another tenant's rows",
    ORACLE,
    by(
      "contract/identity/authorization",
      "an id in a path that is somebody else's and one that never was are answered with the same words",
    ),
  ),
  row(
    "I9",
    "no secret is in a place that others read",
    ORACLE,
    by("contract/identity/partner-keys", "the secret of a new key stands nowhere but in its answer"),
  ),
  row(
    "I10",
    "processes live, keep their size, and handle every rejection",
    ORACLE,
    by(
      "integration/validation/validation-hostile",
      "memory is flat: the same hostile documents again leave no more behind",
    ),
  ),
];
