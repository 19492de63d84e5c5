/**
 * Sends the access point's own messages over the port that documents travel on: same attempts, same plan, same
 * lifecycle, no customer's document. MessageId and InstanceIdentifier are fixed with the row, so a repeat is the same
 * message.
 */
import type { Clock } from "../../base/clock.js";
import { participantKey, randomUnit } from "../../base/ids.js";
import type { DocumentId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { isAttemptable } from "../../lifecycle/document.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import type { Metrics } from "../../base/metrics.js";
import { tracedAttempt } from "../../base/tracing/tracing.js";
import type { Outcome, Transport } from "../../peppol/transport.js";
import { openPayload } from "../../storage/payloads/payloads.js";
import type { Sealer } from "../../storage/sealer.js";
import { untilBack } from "../../storage/sql.js";
import {
  endServiceAttempt,
  readMessageStanding,
  takeServiceMessages,
  wasMessageCut,
} from "../../storage/documents/service-messages.js";
import type { ServiceAttemptEnd, TakenMessage } from "../../storage/documents/service-messages.js";
import type { Json, Sql } from "../../storage/sql.js";
import { exchangeJson } from "../../storage/documents/exchanges.js";
import { decideAttempt, deferredUntil, waitAfter } from "./dispatch.js";
import { attemptInTime } from "./attempt-time.js";
import { TRANSPORT_PROFILE } from "../provider.js";
import type { Provider } from "../provider.js";
import { countFenced } from "../fencing.js";

export interface ServiceDispatchPorts {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly provider: Provider;
  /**
   * Whether the exchange of a received message is in the evidence, which its receipt follows. @default always: who
   * hands over without a network gives no receipts
   */
  readonly isReceipted?: (receivedId: string) => Promise<boolean>;
  /** Names this node in leases. */
  readonly owner: string;
  /** @default a random number */
  readonly random?: () => number;
  /** @default LIMITS.retry_plan_ms */
  readonly plan?: readonly number[];
}

/** The part of a message's age that it waits again: 60 looks in two days. */
const WAIT_GROWTH = 4;

/**
 * A status is not sent before the receipt of what it is about. A rejection that overtakes it ends the document at its
 * sender, who then repeats nothing; and after a crash in between we should never have the message that we rejected.
 */
const isTooSoon = async ({ isReceipted }: ServiceDispatchPorts, { kind, about }: TakenMessage): Promise<boolean> =>
  kind === "mls" && about !== undefined && isReceipted !== undefined && !(await isReceipted(about));

const transmit = (ports: ServiceDispatchPorts, taken: TakenMessage): Promise<Outcome> =>
  attemptInTime(
    async (signal) => {
      // Seldom, and then for a moment; a sender that never repeats is waited for in ever longer steps, until the plan's
      // whole time is over.
      if (await isTooSoon(ports, taken))
        return {
          kind: "deferred",
          code: "NOT_RECEIPTED",
          retryAfter_ms: Math.max(LIMITS.receiver_retry_min_ms, (ports.clock.now() - taken.createdAt) / WAIT_GROWTH),
        };
      const exchange = {
        // No row of `document` has this id: whoever keeps evidence by it keeps that of a service message.
        documentId: taken.id as DocumentId,
        firmId: taken.firmId,
        attempt: taken.attempt,
        answers: taken.answers,
        sender: taken.sender,
        receiver: taken.receiver,
        documentTypeId: taken.documentTypeId,
        processId: taken.processId,
        as4MessageId: taken.as4MessageId,
        sbdhInstanceId: taken.sbdhInstanceId,
        createdAt: taken.createdAt,
        countryC1: ports.provider.country,
        payload: await openPayload(ports.sealer, taken.id, taken.payloadKeyId, taken.payloadSealed),
      };
      return tracedAttempt({ messageId: taken.as4MessageId, attempt: taken.attempt }, () =>
        ports.transport.deliver(exchange, signal),
      );
    },
    (error) => {
      ports.log.error("statuses.message_failed", errorFields(error));
    },
  );

function exchangeOf(ports: ServiceDispatchPorts, taken: TakenMessage, outcome: Outcome, now: number): Json {
  if (taken.kind === "report") return null;
  return exchangeJson({
    id: taken.id,
    direction: "outgoing",
    kind: taken.kind,
    firmId: taken.kind === "mls" ? undefined : taken.firmId,
    c2Seat: ports.provider.seat,
    c3Seat: outcome.peerSeat ?? ports.provider.seat,
    documentTypeId: taken.documentTypeId,
    processId: taken.processId,
    transportProfile: TRANSPORT_PROFILE,
    c1Country: ports.provider.country,
    c4Country: undefined,
    endUser: participantKey(taken.sender),
    exchangedAt: now,
  });
}

/** What an attempt that ended so uses of the message's plan, and how long the message waits for the next. */
function planOf(ports: ServiceDispatchPorts, taken: TakenMessage, outcome: Outcome): ReturnType<typeof waitAfter> {
  const plan = ports.plan ?? LIMITS.retry_plan_ms;
  const now = ports.clock.now();
  const later = deferredUntil(plan, taken.createdAt, now, outcome);
  return later === undefined
    ? waitAfter(plan, taken, outcome, ports.random ?? randomUnit)
    : { uses: "nothing", wait_ms: later - now };
}

function endOf(
  ports: ServiceDispatchPorts,
  taken: TakenMessage,
  outcome: Outcome,
  mayHaveArrived = false,
): ServiceAttemptEnd {
  const now = ports.clock.now();
  const { uses, wait_ms } = planOf(ports, taken, outcome);
  const decision = decideAttempt(taken.status, outcome, wait_ms, mayHaveArrived);
  return {
    id: taken.id,
    version: taken.version,
    status: decision.moves.at(-1)?.to ?? taken.status,
    now,
    wait_ms: decision.nextAttemptAt,
    uses,
    attempt: { number: taken.attempt, outcome: outcome.kind, code: outcome.code, detail: outcome.detail },
    exchange: exchangeOf(ports, taken, outcome, now),
  };
}

/**
 * Makes one attempt at a message of ours and writes its end. Runs in the turn of the message's actor, under its lease.
 */
export async function attemptMessage(ports: ServiceDispatchPorts, taken: TakenMessage): Promise<void> {
  const outcome = await transmit(ports, taken);
  ports.metrics.count("service_messages_total", { kind: taken.kind, result: outcome.kind });
  const end = endOf(ports, taken, outcome);
  // What may have arrived has not surely failed: an answer that has is given again, and sent a second time.
  const isCut =
    end.status === "send_failed" && (await untilBack(ports.clock, () => wasMessageCut(ports.sql, taken.id)));
  const isWritten = await write(ports, taken, isCut ? endOf(ports, taken, outcome, true) : end);
  if (!isWritten && outcome.kind === "receipt") await writeLate(ports, taken, outcome);
}

/** @returns false when another node has decided since */
async function write(ports: ServiceDispatchPorts, taken: TakenMessage, end: ServiceAttemptEnd): Promise<boolean> {
  // As the end of a document's attempt does, it waits for a Postgres that is started anew.
  const ended = await untilBack(ports.clock, () => endServiceAttempt(ports.sql, end));
  if (ended === undefined) {
    countFenced(ports.metrics, "service_message");
    return false;
  }
  if (end.uses === "fault" && taken.faults + 1 >= LIMITS.fault_alarm_after)
    ports.log.error("dispatch.faults_repeated", { documentId: taken.id, count: taken.faults + 1 });
  if (end.status === "delivered" && ended.receivedAt !== undefined)
    ports.metrics.observe("mls_sent_duration_seconds", {}, Math.max(0, end.now - ended.receivedAt) / 1000);
  return true;
}

/** A receipt proves the delivery whoever has the message meanwhile, as it does for a document. */
async function writeLate(ports: ServiceDispatchPorts, taken: TakenMessage, outcome: Outcome): Promise<void> {
  for (let tries = 0; tries < LIMITS.stale_version_retries; tries += 1) {
    const standing = await untilBack(ports.clock, () => readMessageStanding(ports.sql, taken.id));
    if (standing === undefined || !isAttemptable(standing.status)) return;
    if (!(await write(ports, taken, endOf(ports, { ...taken, ...standing }, outcome)))) continue;
    ports.log.info("dispatch.receipt_late", { documentId: taken.id, attempt: taken.attempt });
    return;
  }
}

/**
 * Leases messages whose attempt is due to this node, as far as it has places. A lease that ends with its node is taken
 * again.
 * @param underWay  those that the node is at. @default none
 */
export async function leaseMessages(
  { sql, owner }: Pick<ServiceDispatchPorts, "sql" | "owner">,
  underWay: readonly TakenMessage[] = [],
): Promise<readonly TakenMessage[]> {
  const limit = LIMITS.service_messages_concurrent - underWay.length;
  if (limit <= 0) return [];
  const receivers = underWay.map(({ receiver }) => receiver);
  return takeServiceMessages(sql, { owner, lease_ms: LIMITS.status_lease_ms, limit, underWay: receivers });
}
