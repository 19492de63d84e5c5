/** One attempt to deliver a document that this node has under lease: transmit, decide, write. */
import type { Clock, Instant } from "../../base/clock.js";
import { newId, randomUnit } from "../../base/ids.js";
import type { ParticipantId } from "../../base/ids.js";
import { isAttemptable, outboundMove } from "../../lifecycle/document.js";
import type { EventKind, OutboundState, OutboundTrigger, TimelineKind } from "../../lifecycle/document.js";
import { LIMITS } from "../../base/limits.js";
import { freeOctets } from "../../base/memory/release.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import type { Metrics } from "../../base/metrics.js";
import { OUTCOMES } from "../../peppol/transport.js";
import type { Outcome, Transport } from "../../peppol/transport.js";
import { addOvertaken, endAttempt, putOffAttempt, readStanding, wasCut } from "../../storage/documents/attempts.js";
import type { AttemptEnd, PlanUse, TakenAttempt } from "../../storage/documents/attempts.js";
import type { NewEvent } from "../../storage/documents/documents.js";
import type { OutboxRow } from "../../storage/outbox.js";
import { openPayload } from "../../storage/payloads/payloads.js";
import type { Sealer } from "../../storage/sealer.js";
import { untilBack } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { countryOfSender } from "../declared.js";
import { TRANSPORT_PROFILE } from "../provider.js";
import type { Provider } from "../provider.js";
import { countFenced } from "../fencing.js";
import { attemptInTime } from "./attempt-time.js";
import type { Held } from "./leases.js";

export interface DispatchPorts {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly provider: Provider;
  /** From 0 to 1, for the jitter of the plan. @default a random number */
  readonly random?: () => number;
  /** Waits between attempts, in milliseconds. @default LIMITS.retry_plan_ms */
  readonly plan?: readonly number[];
  /** The plan of a receiver that has one of its own. @default none has */
  readonly planOf?: (receiver: ParticipantId) => readonly number[] | undefined;
  /** Names this process in leases. */
  readonly owner: string;
  /** Publishes an outbox row that was committed. */
  readonly announce: (row: OutboxRow) => void;
  /** Outbox rows that were published and can go with the next write; each is answered once. @default none */
  readonly published?: () => readonly string[];
}

/** When to try again after attempt `number`; undefined when the plan is used up. @source spec/rulings.md, section 5 */
export function nextAttemptAt(
  plan: readonly number[],
  number: number,
  now: Instant,
  random: () => number,
): Instant | undefined {
  const wait = plan[number - 1];
  return wait === undefined ? undefined : now + Math.round(wait * (1 + LIMITS.retry_jitter_share * (2 * random() - 1)));
}

/** What one attempt's outcome does: the moves to write, in order. The first also ends the attempt. */
interface Decision {
  readonly moves: readonly {
    readonly to: OutboundState;
    readonly trigger: OutboundTrigger | undefined;
    readonly emits: readonly EventKind[];
  }[];
  readonly nextAttemptAt: Instant | undefined;
}

/**
 * Decides without I/O. A trigger that the state does not know leaves the state alone: a receipt may come twice.
 * @param mayHaveArrived  an attempt before this one was cut: a document that nobody has confirmed ends as one that was
 *   transmitted
 */
export function decideAttempt(
  state: OutboundState,
  outcome: Outcome,
  next: Instant | undefined,
  mayHaveArrived = false,
): Decision {
  const { trigger, retryable } = OUTCOMES[outcome.kind];
  const move = trigger === undefined ? undefined : outboundMove(state, trigger);
  const first = { to: move?.to ?? state, trigger: move === undefined ? undefined : trigger, emits: move?.emits ?? [] };
  let end: OutboundState = first.to;
  const moves: Decision["moves"][number][] = [first];
  for (const then of retryable && next === undefined ? endings(mayHaveArrived) : []) {
    const further = outboundMove(end, then);
    if (further === undefined) continue;
    moves.push({ to: further.to, trigger: then, emits: further.emits });
    end = further.to;
  }
  return { moves, nextAttemptAt: retryable && isAttemptable(end) ? next : undefined };
}

/** What follows the outcome of the last attempt of a plan. */
const endings = (mayHaveArrived: boolean): readonly OutboundTrigger[] =>
  mayHaveArrived ? ["transmitted", "attempts_exhausted"] : ["attempts_exhausted"];

/** COUNTRY_C1: the country of the party that sends. @source spec/rulings.md, section 14 */
function countryOf({ documentTypeId, facts }: Pick<TakenAttempt, "documentTypeId" | "facts">): string {
  const country = countryOfSender(documentTypeId, (facts ?? {}) as Parameters<typeof countryOfSender>[1]);
  return typeof country === "string" && /^[A-Z0-9]{2}$/.test(country) ? country : LIMITS.home_country;
}

/** The payload of an attempt that was claimed; as it is stored nobody reads it any more. */
async function opened({ sealer }: DispatchPorts, taken: TakenAttempt): Promise<Buffer> {
  const payload = await openPayload(sealer, taken.id, taken.payloadKeyId, taken.payloadSealed);
  freeOctets(taken.payloadSealed);
  return payload;
}

const transmit = (ports: DispatchPorts, taken: TakenAttempt): Promise<Outcome> =>
  attemptInTime(
    async (signal) => {
      const payload = taken.payload ?? (await opened(ports, taken));
      const exchange = {
        documentId: taken.id,
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
        countryC1: countryOf(taken),
        payload,
      };
      return ports.transport.deliver(exchange, signal);
    },
    (error) => {
      const { id: documentId, attempt } = taken;
      ports.log.error("dispatch.attempt_failed", { documentId, attempt, ...errorFields(error) });
    },
  );

const describe = (outcome: Outcome): string =>
  [outcome.kind, outcome.code].filter((part) => part !== undefined).join(" ");

function eventOf({ clock }: DispatchPorts, kind: TimelineKind, outcome: Outcome, { attempt }: TakenAttempt): NewEvent {
  return {
    id: newId(clock),
    kind,
    meta: { attempt, outcome: outcome.kind, ...(outcome.code === undefined ? {} : { code: outcome.code }) },
    ...(outcome.detail === undefined ? {} : { detail: outcome.detail }),
  };
}

/** What the timeline says of the moves of an attempt; one that moves nothing leaves a mark. */
const kindsOf = (moves: readonly { readonly emits: readonly EventKind[] }[]): readonly TimelineKind[] =>
  moves.flatMap(({ emits }, index): readonly TimelineKind[] =>
    index === 0 && emits.length === 0 ? ["document.attempt_failed"] : emits,
  );

/**
 * When a deferred document is due again; undefined when it is older than the whole plan and its receiver has been down
 * for long. One for which only a place or a worker of ours was wanting waits at any age, and so does one whose receiver
 * has just gone down: nobody has asked that receiver on its behalf yet.
 */
export function deferredUntil(
  plan: readonly number[],
  createdAt: Instant,
  now: Instant,
  { kind, retryAfter_ms = LIMITS.receiver_retry_min_ms, keepsPlace = false, mayBeBack = false }: Outcome,
): Instant | undefined {
  if (kind !== "deferred") return undefined;
  const whole = plan.reduce((sum, wait) => sum + wait, 0) * (1 + LIMITS.retry_jitter_share);
  return keepsPlace || mayBeBack || now < createdAt + whole ? now + retryAfter_ms : undefined;
}

/** What an attempt that ended so uses, and how long the document waits for the next; undefined when there is none. */
export function waitAfter(
  plan: readonly number[],
  { answers, faults }: Pick<TakenAttempt, "answers" | "faults">,
  { kind, isOurs = kind === "internal", isLast = false }: Pick<Outcome, "kind" | "isOurs" | "isLast">,
  random: () => number,
): { readonly uses: PlanUse; readonly wait_ms: number | undefined } {
  // A document whose receiver is down when it is older than the plan lasts has no more time.
  if (kind === "deferred") return { uses: "nothing", wait_ms: undefined };
  if (!isOurs) return { uses: "answer", wait_ms: nextAttemptAt(plan, answers + 1, 0, random) };
  // Whatever fails on our side is for us to repair: it never ends a document that can be opened.
  const wait_ms = Math.min(LIMITS.fault_wait_first_ms * 2 ** Math.min(faults, 30), LIMITS.fault_wait_max_ms);
  return { uses: "fault", wait_ms: isLast ? undefined : wait_ms };
}

/** The exchange that an outcome proves, for the reports: recorded with the move that it makes, or not at all. */
function exchangeOf(ports: DispatchPorts, taken: TakenAttempt, outcome: Outcome): AttemptEnd["exchange"] {
  if (outcome.kind !== "receipt" && outcome.kind !== "already_handed_over") return undefined;
  return {
    c2Seat: ports.provider.seat,
    c3Seat: outcome.peerSeat ?? ports.provider.seat,
    transportProfile: TRANSPORT_PROFILE,
    c1Country: countryOf(taken),
  };
}

const planFor = ({ plan, planOf }: DispatchPorts, { receiver }: TakenAttempt): readonly number[] =>
  planOf?.(receiver) ?? plan ?? LIMITS.retry_plan_ms;

/** What a document that was never confirmed says of itself where an attempt was cut. */
const MAY_HAVE_ARRIVED = "An attempt before the last was cut short, so that the document may have arrived.";

function reasonOf(status: OutboundState, outcome: Outcome, mayHaveArrived: boolean): string | undefined {
  if (isAttemptable(status) || status === "delivered") return undefined;
  const reason = outcome.detail ?? describe(outcome);
  return mayHaveArrived && status === "delivery_failed" ? `${reason} ${MAY_HAVE_ARRIVED}` : reason;
}

function endOf(ports: DispatchPorts, taken: TakenAttempt, outcome: Outcome, mayHaveArrived = false): AttemptEnd {
  const { uses, wait_ms } = waitAfter(planFor(ports, taken), taken, outcome, ports.random ?? randomUnit);
  const decision = decideAttempt(taken.status, outcome, wait_ms, mayHaveArrived);
  const status = decision.moves.at(-1)?.to ?? taken.status;
  return {
    id: taken.id,
    version: taken.version,
    owner: ports.owner,
    status,
    now: ports.clock.now(),
    wait_ms: decision.nextAttemptAt,
    uses,
    moves: decision.moves.flatMap(({ to, trigger }) =>
      trigger === undefined ? [] : [{ status: to, trigger, detail: describe(outcome) }],
    ),
    events: kindsOf(decision.moves).map((kind) => eventOf(ports, kind, outcome, taken)),
    attempt: {
      number: taken.attempt,
      outcome: outcome.kind,
      code: outcome.code,
      retryable: OUTCOMES[outcome.kind].retryable,
      detail: outcome.detail,
      // What was refused before it was sent was transmitted to nobody.
      seat: OUTCOMES[outcome.kind].trigger === undefined ? undefined : outcome.peerSeat,
    },
    reason: reasonOf(status, outcome, mayHaveArrived),
    exchange: exchangeOf(ports, taken, outcome),
    evidence: outcome.evidence,
  };
}

async function record(ports: DispatchPorts, taken: TakenAttempt, outcome: Outcome): Promise<void> {
  const now = ports.clock.now();
  const later = deferredUntil(planFor(ports, taken), taken.createdAt, now, outcome);
  if (later !== undefined) {
    const { id, version, attempt } = taken;
    const { keepsPlace = false } = outcome;
    const wait_ms = keepsPlace ? Math.min(later - now, LIMITS.place_rest_max_ms) : later - now;
    const notMade = { id, version, number: attempt, wait_ms, keepsPlace };
    if (!(await untilBack(ports.clock, () => putOffAttempt(ports.sql, notMade)))) countFenced(ports.metrics, "attempt");
    return;
  }
  const end = endOf(ports, taken, outcome);
  const isCut = end.status === "send_failed" && (await untilBack(ports.clock, () => wasCut(ports.sql, taken.id)));
  const isWritten = await write(ports, taken, isCut ? endOf(ports, taken, outcome, true) : end);
  if (isWritten || (outcome.kind === "receipt" && (await writeLate(ports, taken, outcome)))) return;
  await untilBack(ports.clock, () => addOvertaken(ports.sql, end));
}

/** @returns false when another node has decided since */
async function write(ports: DispatchPorts, taken: TakenAttempt, end: AttemptEnd): Promise<boolean> {
  // What the network has answered is not asked again because Postgres is started anew: its end waits for that.
  const whole: AttemptEnd = { ...end, published: ports.published?.() };
  const written = await untilBack(ports.clock, () => endAttempt(ports.sql, whole));
  if (written === undefined) {
    countFenced(ports.metrics, "attempt");
    return false;
  }
  if (end.status === "delivered")
    ports.metrics.observe("dispatch_duration_seconds", {}, (end.now - taken.createdAt) / 1000);
  if (end.uses === "fault" && taken.faults + 1 >= LIMITS.fault_alarm_after)
    ports.log.error("dispatch.faults_repeated", {
      documentId: taken.id,
      count: taken.faults + 1,
    });
  if (written.announced !== undefined) ports.announce(written.announced);
  return true;
}

/**
 * A receipt proves the delivery whoever has the document meanwhile: it is written on what that has made of it. The end
 * of another attempt that is under way finds the document delivered and moves nothing.
 * @returns whether it was written; a document that has ended stays as it ended, and operators are told
 */
async function writeLate(ports: DispatchPorts, taken: TakenAttempt, outcome: Outcome): Promise<boolean> {
  // Its evidence has its place in the chain by the end that came too late.
  const { evidence: _, ...proof } = outcome;
  for (let tries = 0; tries < LIMITS.stale_version_retries; tries += 1) {
    const standing = await untilBack(ports.clock, () => readStanding(ports.sql, taken.id));
    if (standing === undefined) return false;
    if (!isAttemptable(standing.status)) {
      if (standing.status !== "delivered")
        ports.log.warn("dispatch.receipt_after_end", { documentId: taken.id, attempt: taken.attempt });
      return false;
    }
    if (!(await write(ports, taken, endOf(ports, { ...taken, ...standing }, proof)))) continue;
    ports.log.info("dispatch.receipt_late", { documentId: taken.id, attempt: taken.attempt });
    return true;
  }
  return false;
}

/** An attempt that this node has under lease, as its actor gets it. */
export type ClaimedAttempt = Held<TakenAttempt>;

/** Makes the attempt that this node has leased, and writes its end. */
export async function attemptDocument(ports: DispatchPorts, taken: TakenAttempt): Promise<void> {
  const outcome = await transmit(ports, taken);
  ports.metrics.count("dispatch_attempts_total", { result: outcome.kind });
  await record(ports, taken, outcome);
}
