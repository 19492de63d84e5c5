/** One attempt to deliver a document: lease, transmit, decide, write. Safe to call at any time for any document. */
import type { Clock, Instant } from "../../base/clock.js";
import { newId, randomUnit } from "../../base/ids.js";
import type { DocumentId } from "../../base/ids.js";
import { isAttemptable, outboundMove } from "../../lifecycle/document.js";
import type { EventKind, OutboundState, OutboundTrigger, TimelineKind } from "../../lifecycle/document.js";
import { LIMITS } from "../../base/limits.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import type { Metrics } from "../../base/metrics.js";
import { OUTCOMES } from "../../peppol/transport.js";
import type { Outcome, Transport } from "../../peppol/transport.js";
import { applyMove, deferAttempt, takeAttempt } from "../../storage/documents/documents.js";
import type { MoveRow, NewEvent, TakenAttempt } from "../../storage/documents/documents.js";
import { openPayload } from "../../storage/payloads/payloads.js";
import type { Sealer } from "../../storage/sealer.js";
import type { Sql } from "../../storage/sql.js";
import { countryOfSender } from "../declared.js";

export interface DispatchPorts {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Names this node in leases. */
  readonly owner: string;
  /** From 0 to 1, for the jitter of the plan. @default a random number */
  readonly random?: () => number;
  /** Waits between attempts, in milliseconds. @default LIMITS.retry_plan_ms */
  readonly plan?: readonly number[];
  /** Tells the relay that an outbox row was committed. */
  readonly poke: () => void;
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

/** Decides without I/O. A trigger that the state does not know leaves the state alone: a receipt may come twice. */
export function decideAttempt(state: OutboundState, outcome: Outcome, next: Instant | undefined): Decision {
  const { trigger, retryable } = OUTCOMES[outcome.kind];
  const move = trigger === undefined ? undefined : outboundMove(state, trigger);
  const first = { to: move?.to ?? state, trigger: move === undefined ? undefined : trigger, emits: move?.emits ?? [] };
  const exhausted = retryable && next === undefined ? outboundMove(first.to, "attempts_exhausted") : undefined;
  const end = exhausted?.to ?? first.to;
  return {
    moves:
      exhausted === undefined
        ? [first]
        : [first, { to: exhausted.to, trigger: "attempts_exhausted", emits: exhausted.emits }],
    nextAttemptAt: retryable && isAttemptable(end) ? next : undefined,
  };
}

/** COUNTRY_C1: the country of the party that sends. @source spec/rulings.md, section 14 */
function countryOf({ documentTypeId, facts }: Pick<TakenAttempt, "documentTypeId" | "facts">): string {
  const country = countryOfSender(documentTypeId, (facts ?? {}) as Parameters<typeof countryOfSender>[1]);
  return typeof country === "string" && /^[A-Z0-9]{2}$/.test(country) ? country : LIMITS.home_country;
}

async function transmit(ports: DispatchPorts, taken: TakenAttempt): Promise<Outcome> {
  const abort = new AbortController();
  const timer = setTimeout(() => {
    abort.abort();
  }, LIMITS.attempt_timeout_ms);
  try {
    const payload = await openPayload(ports.sealer, taken.id, taken.payloadKeyId, taken.payloadSealed);
    return await ports.transport.deliver(
      {
        documentId: taken.id,
        firmId: taken.firmId,
        attempt: taken.attempt,
        sender: taken.sender,
        receiver: taken.receiver,
        documentTypeId: taken.documentTypeId,
        processId: taken.processId,
        as4MessageId: taken.as4MessageId,
        sbdhInstanceId: taken.sbdhInstanceId,
        createdAt: taken.createdAt,
        countryC1: countryOf(taken),
        payload,
      },
      abort.signal,
    );
  } catch (error) {
    ports.log.error("dispatch.attempt_failed", {
      documentId: taken.id,
      attempt: taken.attempt,
      ...errorFields(error),
    });
    return { kind: "internal" };
  } finally {
    clearTimeout(timer);
  }
}

const describe = (outcome: Outcome): string =>
  [outcome.kind, outcome.code].filter((part) => part !== undefined).join(" ");

function eventsOf(
  ports: DispatchPorts,
  emits: readonly EventKind[],
  outcome: Outcome,
  taken: TakenAttempt,
  first: boolean,
): NewEvent[] {
  const kinds: readonly TimelineKind[] = first && emits.length === 0 ? ["document.attempt_failed"] : emits;
  return kinds.map((kind) => ({
    id: newId(ports.clock),
    kind,
    meta: {
      attempt: taken.attempt,
      outcome: outcome.kind,
      ...(outcome.code === undefined ? {} : { code: outcome.code }),
    },
    ...(outcome.detail === undefined ? {} : { detail: outcome.detail }),
  }));
}

/**
 * When a deferred document is due again; undefined when it was deferred for as long as the whole plan would have taken.
 */
export function deferredUntil(
  plan: readonly number[],
  createdAt: Instant,
  now: Instant,
  outcome: Outcome,
): Instant | undefined {
  const whole = plan.reduce((sum, wait) => sum + wait, 0) * (1 + LIMITS.retry_jitter_share);
  return outcome.kind === "deferred" && now < createdAt + whole
    ? now + (outcome.retryAfter_ms ?? LIMITS.receiver_retry_min_ms)
    : undefined;
}

async function record(ports: DispatchPorts, taken: TakenAttempt, outcome: Outcome): Promise<void> {
  const now = ports.clock.now();
  const plan = ports.plan ?? LIMITS.retry_plan_ms;
  const later = deferredUntil(plan, taken.createdAt, now, outcome);
  if (later !== undefined) {
    if (
      !(await deferAttempt(ports.sql, {
        id: taken.id,
        version: taken.version,
        number: taken.attempt,
        nextAttemptAt: later,
      }))
    )
      ports.metrics.count("fencing_rejections_total", { kind: "attempt" });
    return;
  }
  // A document that was deferred for longer than the plan lasts has used it up.
  const next =
    outcome.kind === "deferred" ? undefined : nextAttemptAt(plan, taken.attempt, now, ports.random ?? randomUnit);
  const decision = decideAttempt(taken.status, outcome, next);
  let { version } = taken;
  for (const [index, move] of decision.moves.entries()) {
    const last = index === decision.moves.length - 1;
    const row: MoveRow = {
      id: taken.id,
      version,
      status: move.to,
      trigger: move.trigger,
      detail: describe(outcome),
      now,
      // Between two moves of one decision the document is due at once, so that a crash in between is decided again.
      nextAttemptAt: last ? decision.nextAttemptAt : now,
      events: eventsOf(ports, move.emits, outcome, taken, index === 0),
      attempt:
        index === 0
          ? {
              number: taken.attempt,
              outcome: outcome.kind,
              code: outcome.code,
              retryable: OUTCOMES[outcome.kind].retryable,
              detail: outcome.detail,
            }
          : undefined,
      changes:
        isAttemptable(move.to) || move.to === "delivered" ? {} : { statusReason: outcome.detail ?? describe(outcome) },
    };
    const written = await applyMove(ports.sql, row);
    if (written === undefined) {
      ports.metrics.count("fencing_rejections_total", { kind: "attempt" });
      return;
    }
    version = written;
    if (move.to === "delivered") ports.metrics.observe("dispatch_duration_seconds", {}, (now - taken.createdAt) / 1000);
  }
  ports.poke();
}

/**
 * Makes the document's next attempt when it is due and no other node is at it.
 * @returns whether an attempt was made
 */
export async function dispatchDocument(ports: DispatchPorts, id: DocumentId): Promise<boolean> {
  const taken = await takeAttempt(ports.sql, {
    id,
    owner: ports.owner,
    now: ports.clock.now(),
    lease_ms: LIMITS.attempt_lease_ms,
  });
  if (taken === undefined) return false;
  const outcome = await transmit(ports, taken);
  ports.metrics.count("dispatch_attempts_total", { result: outcome.kind });
  await record(ports, taken, outcome);
  return true;
}
