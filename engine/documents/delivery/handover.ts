/**
 * Two answers of which the attempts before decide what they are worth.
 *
 * "I have this MessageId already": phase4 notes a MessageId once signature and decryption are done, before it looks at
 * the document: after an attempt that it refused there, it calls the next ones duplicates. Such an answer proves no
 * delivery. By default phase4 forgets the id after ten minutes, so that a later attempt of the plan is judged anew.
 *
 * "I do not serve this recipient": it may have moved since it was looked up, so that this ends a document only where it
 * was said before, and the recipient has been looked up since.
 * @source measured with phase4 4.4.1 and 4.5.4, test/interop
 */
import type { Clock } from "../../base/clock.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import { NOT_SERVICED, UNPROVEN } from "../../peppol/as4/ebms-errors.js";
import { UNJUDGED } from "../../peppol/as4/outcomes.js";
import type { Outcome, Transport } from "../../peppol/transport.js";
import { earlierRefusals } from "../../storage/documents/attempts.js";
import type { EarlierRefusal } from "../../storage/documents/attempts.js";
import { untilBack } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";

/** What a handover is judged with. */
export interface HandoverPorts {
  readonly sql: Sql;
  readonly log: Log;
  readonly clock: Pick<Clock, "monotonic">;
}

/**
 * A transport that believes a handover only when the peer has refused no earlier attempt, and NOT_SERVICED only when it
 * is said again behind a fresh look-up.
 *
 * Safe is the error that says too little: a document that is not called delivered is looked after, one that is called
 * delivered and was not is lost.
 */
export function doubtHandover(transport: Transport, { sql, log, clock }: HandoverPorts): Transport {
  return {
    deliver: async (exchange, signal) => {
      const outcome = await transport.deliver(exchange, signal);
      const isFinallyUnserved = outcome.kind === "peer_refused" && isUnserved(outcome);
      if (outcome.kind !== "already_handed_over" && !isFinallyUnserved) return outcome;
      try {
        const refusals = await untilBack(clock, () => earlierRefusals(sql, exchange.documentId));
        return isFinallyUnserved ? judgeUnserved(outcome, refusals) : judgeHandover(outcome, refusals);
      } catch (error) {
        log.error("dispatch.attempts_unreadable", {
          documentId: exchange.documentId,
          ...errorFields(error),
        });
        // Who says so has it: a document that stayed queued could be cancelled and sent a second time.
        return isFinallyUnserved ? unservedForNow(outcome) : { ...UNJUDGED, ...saidWith(outcome) };
      }
    },
  };
}

/** What a handover is worth. @param refusals  the earlier attempts that were refused, the latest first */
export function judgeHandover(outcome: Outcome, refusals: readonly EarlierRefusal[]): Outcome {
  const seat = saidWith(outcome);
  const [latest] = refusals;
  // A recipient that has moved is served elsewhere, where what was sent or refused since makes duplicates, too.
  const unserved =
    latest !== undefined &&
    isUnserved(latest) &&
    !latest.code.endsWith(UNPROVEN) &&
    !latest.mayHaveArrived &&
    outcome.isRepeated === undefined &&
    isLookedUpSince(latest, outcome)
      ? latest
      : undefined;
  if (unserved !== undefined)
    return {
      kind: "peer_refused",
      ...seat,
      code: unserved.code,
      detail: "The receiving access point does not serve this recipient.",
    };
  if (refusals.length === 0) return outcome;
  return {
    kind: "unconfirmed",
    ...seat,
    ...(outcome.code === undefined ? {} : { code: outcome.code }),
    detail: "The receiving access point has answered the message with an error before, and calls it a duplicate now.",
  };
}

/** What NOT_SERVICED is worth by which a document would end. @param refusals  the earlier attempts that were refused */
const judgeUnserved = (outcome: Outcome, refusals: readonly EarlierRefusal[]): Outcome =>
  refusals.some((refusal) => isUnserved(refusal) && isLookedUpSince(refusal, outcome))
    ? outcome
    : unservedForNow(outcome);

const unservedForNow = (outcome: Outcome): Outcome => ({
  ...outcome,
  kind: "peer_busy",
  detail: "The receiving access point does not serve this recipient, which is looked up anew.",
});

const isUnserved = ({ code }: Pick<Outcome, "code">): boolean => code?.includes(NOT_SERVICED) === true;

/** Whether a recipient that had moved would be found where it is now; routes of the operator are always new. */
const isLookedUpSince = ({ answeredAt }: EarlierRefusal, { lookedUpAt = Infinity }: Outcome): boolean =>
  lookedUpAt >= answeredAt;

/** Who has said it, and the record of it. */
const saidWith = ({ peerSeat, evidence }: Outcome): Pick<Outcome, "peerSeat" | "evidence"> => ({
  ...(peerSeat === undefined ? {} : { peerSeat }),
  ...(evidence === undefined ? {} : { evidence }),
});
