/**
 * A world of one document in virtual time: nodes that claim, attempt, die and stand still, an access point that loses
 * answers and repeats them, statuses that come early, late and twice. Real are the decisions: what an outcome moves, what
 * of the plan it uses, when the next attempt is due, what a handover is worth, and the table of the lifecycle. A model
 * takes the place of Postgres: one row with a version and a lease, which is all that the statements of
 * engine/storage/documents/attempts.ts promise about it.
 */
import { LIMITS } from "../../../engine/base/limits.js";
import { decideAttempt, deferredUntil, waitAfter } from "../../../engine/documents/delivery/dispatch.js";
import { judgeHandover } from "../../../engine/documents/delivery/handover.js";
import { isAttemptable, outboundMove } from "../../../engine/lifecycle/document.js";
import type { EventKind, OutboundState, OutboundTrigger } from "../../../engine/lifecycle/document.js";
import type { AttemptOutcome } from "../../../engine/lifecycle/attempt.js";
import type { Outcome } from "../../../engine/peppol/transport.js";
import type { EarlierRefusal } from "../../../engine/storage/documents/attempts.js";
import type { Random } from "../random.js";

/** How a node works. */
interface Node {
  readonly name: string;
  /** Counts its lives: what an earlier life began does nothing any more. */
  life: number;
  /** It stands still until then, and does not know. */
  frozenUntil: number;
  /** Since when nobody heard of it; undefined while it gives signs of life. */
  silentSince: number | undefined;
}

interface Row {
  status: OutboundState;
  version: number;
  nextAt: number | undefined;
  owner: string | undefined;
  leaseUntil: number;
  attempts: number;
  answers: number;
  faults: number;
  /** An attempt was taken over from another node: nobody knows whether it was transmitted. */
  isCut: boolean;
}

/** One line of the document's history. */
interface Line {
  readonly from: OutboundState;
  readonly to: OutboundState;
  readonly trigger: OutboundTrigger;
  readonly at: number;
}

/** What a seed has led to. */
export interface Life {
  readonly status: OutboundState;
  readonly history: readonly Line[];
  readonly events: readonly EventKind[];
  /** Outcomes of attempts that were written, in order. */
  readonly written: readonly AttemptOutcome[];
  readonly answers: number;
  /** Documents that the receiver has, by MessageId. */
  readonly received: ReadonlyMap<string, number>;
  readonly messageIds: ReadonlySet<string>;
  /** Ends of attempts that came after another node had taken over. */
  readonly fenced: number;
  readonly deaths: number;
  readonly ended: boolean;
}

/** Outcomes that no attempt has used the plan with. */
const PLANLESS: ReadonlySet<AttemptOutcome> = new Set(["internal", "deferred"]);
/** Each node looks for what is due so often. */
const LOOK_MS = 1_000;
/** A node that is silent for so long is dead to the others. */
const DEAD_MS = 4_000;
const STATUSES = ["mls_ap", "mls_ab", "mls_re"] as const;
/** Everything that goes wrong does so in the first days; afterwards the plan has its way. */
const DISTURBED_MS = 3 * 86_400_000;
const STEPS_MAX = 4_000;

/** What an access point may make of one attempt, and how often. */
const ANSWERS: readonly (readonly [AttemptOutcome | "taken" | "taken_and_silent", number])[] = [
  ["taken", 30],
  ["taken_and_silent", 14],
  ["transport_failed", 20],
  ["peer_busy", 10],
  ["lookup_failed", 6],
  ["certificate_rejected", 3],
  ["recipient_unregistered", 3],
  ["peer_refused", 2],
  ["internal", 6],
  ["deferred", 6],
];
const WEIGHT = ANSWERS.reduce((sum, [, weight]) => sum + weight, 0);

export class LifeWorld {
  now = 0;
  readonly #random: Random;
  readonly #plan: readonly number[] = LIMITS.retry_plan_ms;
  readonly #nodes: readonly Node[];
  readonly #row: Row = {
    status: "queued",
    version: 1,
    nextAt: 0,
    owner: undefined,
    leaseUntil: 0,
    attempts: 0,
    answers: 0,
    faults: 0,
    isCut: false,
  };
  readonly #messageId: string;
  readonly #history: Line[] = [];
  readonly #events: EventKind[] = [];
  readonly #written: AttemptOutcome[] = [];
  readonly #refusals: EarlierRefusal[] = [];
  readonly #received = new Map<string, number>();
  readonly #messageIds = new Set<string>();
  /** What happens later, in no order. */
  readonly #pending: { readonly at: number; readonly run: () => void }[] = [];
  #fenced = 0;
  #deaths = 0;
  /** A receiver that is dead for good takes nothing. */
  readonly #deaf: boolean;

  constructor(random: Random) {
    this.#random = random;
    this.#messageId = `message-${random.int(1_000_000)}`;
    this.#nodes = Array.from({ length: 1 + random.int(3) }, (_, index) => ({
      name: `node-${index}`,
      life: 1,
      frozenUntil: 0,
      silentSince: undefined,
    }));
    this.#deaf = random.int(12) === 0;
    for (const node of this.#nodes) this.#look(node, random.int(LOOK_MS));
    for (let n = random.int(9); n > 0; n -= 1) this.#disturb(random.int(DISTURBED_MS));
    // Most disturbances belong to the first minute, when something happens.
    for (let n = random.int(5); n > 0; n -= 1) this.#disturb(random.int(60_000));
  }

  /** Lives until nothing happens any more. */
  live(): Life {
    let steps = 0;
    for (; steps < STEPS_MAX && this.#pending.length > 0 && !this.#isOver(); steps += 1) {
      let first = 0;
      for (let i = 1; i < this.#pending.length; i += 1)
        if ((this.#pending[i]?.at ?? 0) < (this.#pending[first]?.at ?? 0)) first = i;
      const [next] = this.#pending.splice(first, 1);
      if (next === undefined) break;
      this.now = Math.max(this.now, next.at);
      next.run();
    }
    return {
      status: this.#row.status,
      history: this.#history,
      events: this.#events,
      written: this.#written,
      answers: this.#row.answers,
      received: this.#received,
      messageIds: this.#messageIds,
      fenced: this.#fenced,
      deaths: this.#deaths,
      ended: steps < STEPS_MAX && this.#isOver(),
    };
  }

  /** At its end, and no status on its way. */
  #isOver(): boolean {
    return !isAttemptable(this.#row.status) && this.#statusesUnderWay === 0 && this.#attemptsUnderWay === 0;
  }
  #statusesUnderWay = 0;
  #attemptsUnderWay = 0;

  #at(at: number, run: () => void): void {
    this.#pending.push({ at, run });
  }

  /** A node dies and starts again, or stands still for longer or shorter than others wait. */
  #disturb(at: number): void {
    const node = this.#random.pick(this.#nodes);
    if (this.#random.int(2) === 0) {
      this.#at(at, () => {
        node.life += 1;
        this.#deaths += 1;
        node.silentSince = this.now;
        const back = this.now + this.#random.int(20_000);
        this.#look(node, back);
      });
    } else {
      this.#at(at, () => {
        node.frozenUntil = this.now + this.#random.int(120_000);
        node.silentSince = this.now;
      });
    }
  }

  /** A node looks whether the document is due, as long as this life of it lasts. */
  #look(node: Node, at: number): void {
    const life = node.life;
    this.#at(at, () => {
      if (node.life !== life) return;
      if (this.now < node.frozenUntil) {
        this.#look(node, node.frozenUntil);
        return;
      }
      node.silentSince = undefined;
      this.#claim(node);
      // Nothing happens before the document is due: a look at each second would find nothing.
      const due = this.#row.nextAt ?? Infinity;
      const wait = Math.max(LOOK_MS, Math.min(due - this.now, 3_600_000));
      if (isAttemptable(this.#row.status)) this.#look(node, this.now + wait);
    });
  }

  #isDead(name: string): boolean {
    const node = this.#nodes.find((one) => one.name === name.split("/")[0]);
    const isOldLife = node !== undefined && name !== `${node.name}/${node.life}`;
    return isOldLife || (node?.silentSince !== undefined && this.now - node.silentSince > DEAD_MS);
  }

  /** The promise of the claim: due, open, and leased by nobody who lives. */
  #claim(node: Node): void {
    const row = this.#row;
    const free = row.owner === undefined || row.leaseUntil < this.now || this.#isDead(row.owner);
    if (!isAttemptable(row.status) || row.nextAt === undefined || row.nextAt > this.now || !free) return;
    row.attempts += 1;
    row.version += 1;
    row.isCut ||= row.owner !== undefined;
    row.owner = `${node.name}/${node.life}`;
    row.leaseUntil = this.now + LIMITS.attempt_lease_ms;
    this.#attempt(node, { status: row.status, version: row.version, answers: row.answers, faults: row.faults });
  }

  /** Transmits and waits for the answer; a node that dies meanwhile never hears it. */
  #attempt(node: Node, taken: Pick<Row, "status" | "version" | "answers" | "faults">): void {
    const life = node.life;
    const lives = (): boolean => node.life === life;
    this.#attemptsUnderWay += 1;
    const over = (): void => {
      this.#attemptsUnderWay -= 1;
    };
    this.#at(this.now + this.#random.int(3_000), () => {
      if (!lives()) {
        over();
        return;
      }
      const outcome = this.#transmit();
      const record = (): void => {
        if (!lives()) over();
        else if (this.now < node.frozenUntil) this.#at(node.frozenUntil, record);
        else {
          over();
          this.#record(taken, outcome);
        }
      };
      this.#at(this.now + this.#random.int(60_000), record);
    });
  }

  /** What the access point makes of one message: it has each id once, whatever it answers. */
  #transmit(): Outcome {
    this.#messageIds.add(this.#messageId);
    let weight = this.#random.int(WEIGHT);
    const [kind] = ANSWERS.find(([, own]) => (weight -= own) < 0) ?? ["internal" as const, 0];
    if (this.#deaf && !PLANLESS.has(kind as AttemptOutcome)) return { kind: "transport_failed" };
    if (kind !== "taken" && kind !== "taken_and_silent") {
      if (kind === "peer_busy") this.#refusals.push({ code: "EBMS:0202", answeredAt: this.now, mayHaveArrived: false });
      return kind === "deferred" ? { kind, retryAfter_ms: 1_000 + this.#random.int(60_000) } : { kind };
    }
    const isRepeat = this.#received.has(this.#messageId);
    if (!isRepeat) {
      this.#received.set(this.#messageId, 1);
      this.#statuses();
    }
    if (kind === "taken_and_silent") return { kind: "unconfirmed" };
    return isRepeat && this.#random.int(2) === 0
      ? judgeHandover({ kind: "already_handed_over" }, this.#refusals)
      : { kind: "receipt" };
  }

  /** What its receiver says of it: nothing, once or twice, in any order. */
  #statuses(): void {
    for (let n = this.#random.int(3); n > 0; n -= 1) {
      const trigger = this.#random.pick(STATUSES);
      this.#statusesUnderWay += 1;
      this.#at(this.now + this.#random.int(1_500_000), () => {
        this.#status(trigger, 60);
      });
    }
  }

  /** A status waits while an attempt is under way or no receipt has come, and is given up in the end. */
  #status(trigger: OutboundTrigger, patience: number): void {
    const row = this.#row;
    const isBusy = row.owner !== undefined && row.leaseUntil > this.now && !this.#isDead(row.owner);
    if (isAttemptable(row.status) && (isBusy || outboundMove(row.status, trigger) === undefined) && patience > 0) {
      this.#at(this.now + 60_000, () => {
        this.#status(trigger, patience - 1);
      });
      return;
    }
    this.#statusesUnderWay -= 1;
    const move = isBusy ? undefined : outboundMove(row.status, trigger);
    if (move === undefined || this.#history.some((line) => line.trigger.startsWith("mls_"))) return;
    row.version += 1;
    this.#write(move.to, trigger, move.emits);
    if (!isAttemptable(row.status)) [row.nextAt, row.owner] = [undefined, undefined];
  }

  #write(to: OutboundState, trigger: OutboundTrigger, emits: readonly EventKind[]): void {
    this.#history.push({ from: this.#row.status, to, trigger, at: this.now });
    this.#row.status = to;
    this.#events.push(...emits);
  }

  /**
   * The promise of the end of an attempt: everything, or nothing when the version is another. A receipt is written on the
   * version that there is, while the document is open.
   */
  #record(taken: Pick<Row, "status" | "version" | "answers" | "faults">, outcome: Outcome): void {
    const row = this.#row;
    if (row.version !== taken.version) {
      this.#fenced += 1;
      if (outcome.kind === "receipt" && isAttemptable(row.status)) this.#record({ ...row }, outcome);
      return;
    }
    const later = deferredUntil(this.#plan, 0, this.now, outcome);
    if (later !== undefined) {
      Object.assign(row, { version: row.version + 1, nextAt: later, owner: undefined, attempts: row.attempts - 1 });
      return;
    }
    const { uses, wait_ms } = waitAfter(this.#plan, taken, outcome, () => this.#random.next());
    const decision = decideAttempt(taken.status, outcome, wait_ms, row.isCut);
    for (const { to, trigger, emits } of decision.moves) if (trigger !== undefined) this.#write(to, trigger, emits);
    row.version += 1;
    row.owner = undefined;
    row.nextAt = decision.nextAttemptAt === undefined ? undefined : this.now + decision.nextAttemptAt;
    if (uses === "answer") row.answers += 1;
    row.faults = uses === "fault" ? row.faults + 1 : 0;
    this.#written.push(outcome.kind);
  }
}
