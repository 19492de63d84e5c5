/**
 * Statements that answer many calls at once: while a statement is under way, calls gather; when it ends, the next one
 * takes as many as there are. Calls of one turn of the event loop gather too, since what comes back from a thread or a
 * disk comes for many at once; one that comes alone is a statement when its turn ends. On purpose only those wait
 * longer that say that they have time, and calls of a kind with a pace when one of their kind has just begun.
 *
 * It pays with what is under way: measured from the API to the receipt, Postgres spends 2.2 ms on a document with 48
 * attempts at once and 1.5 to 2.0 ms with 96.
 */
import { setTimeout as pause } from "node:timers/promises";

import { systemClock } from "../base/clock.js";
import { temporary } from "../base/errors.js";
import { LIMITS } from "../base/limits.js";
import { openSpan, withinSpan } from "../base/tracing/tracing.js";
import type { OpenSpan } from "../base/tracing/tracing.js";
import { isUnknownOutcome } from "./sql.js";
import type { Sql } from "./sql.js";

interface BatchOptions<I> {
  /** Calls that one statement answers at most. */
  readonly max: number;
  /** Calls with the same key never share a statement. @default any may */
  readonly key?: (item: I) => string;
  /**
   * Octets of a call that the statement carries or brings back; together at most LIMITS.statement_bytes_max, but one
   * call always goes.
   */
  readonly bytes?: (item: I) => number;
  /** Calls that may wait. @default LIMITS.statement_waiting_max */
  readonly waitingMax?: number;
  /** Concurrent statements, beside one for a call of many octets. @default 2: one commits while the next is made */
  readonly slots?: number;
  /**
   * Least time from the beginning of one statement to that of the next, unless as many calls wait as fill it. What
   * comes seldom never waits for it. @default none
   */
  readonly pace_ms?: number;
  /** How long calls wait for others while none of them is in a hurry. @default nobody waits */
  readonly gathering?: { readonly time_ms: number; readonly hasTime: (item: I) => boolean };
}

/** Concurrent statements of one kind: one commits while the next is made. */
const SLOTS = 2;
/**
 * Those that append to the chain of evidence hold its head until they have committed, so that a second one would only
 * wait in Postgres, while calls that gather here share its commit: 199 and 207 documents a second delivered with two
 * places, 230 and 252 with one, in turns on a quiet machine.
 */
export const CHAIN_SLOTS = 1;

/**
 * What calls carry: one that is longer than a slice is a statement alone, and has a place of its own, so that no small
 * one waits until it is written.
 */
type Load = "small" | "large";

interface Waiting<I, O> {
  readonly item: I;
  readonly resolve: (answer: O) => void;
  readonly reject: (error: unknown) => void;
  /** Of the trace that the call is part of; the statement itself is part of that of its first call. */
  readonly span: OpenSpan | undefined;
}

/** The answer, whose span ends with it. */
async function endingWith<O>(span: OpenSpan, answer: Promise<O>): Promise<O> {
  try {
    const found = await answer;
    span.end();
    return found;
  } catch (error) {
    span.end(error);
    throw error;
  }
}

class Batches<I, O> {
  readonly #run: (items: readonly I[]) => Promise<readonly O[]>;
  readonly #options: BatchOptions<I>;
  readonly #slots: Readonly<Record<Load, number>>;
  readonly #busy: Record<Load, number> = { small: 0, large: 0 };
  #waiting: Waiting<I, O>[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** The end of the turn in which the first of those that wait has come. */
  #turn: NodeJS.Immediate | undefined;
  /** Until when the next statement waits for more calls, by the clock of `performance`. */
  #pacedUntil = 0;

  constructor(run: (items: readonly I[]) => Promise<readonly O[]>, options: BatchOptions<I>) {
    this.#run = run;
    this.#options = options;
    this.#slots = { small: options.slots ?? SLOTS, large: options.bytes === undefined ? 0 : 1 };
  }

  #loadOf(item: I): Load {
    return (this.#options.bytes?.(item) ?? 0) > LIMITS.payload_slice_bytes ? "large" : "small";
  }

  call(item: I): Promise<O> {
    const span = openSpan("shared statement");
    const answer = new Promise<O>((resolve, reject) => {
      if (this.#waiting.length >= (this.#options.waitingMax ?? LIMITS.statement_waiting_max)) {
        reject(temporary());
        return;
      }
      this.#waiting.push({ item, resolve, reject, span });
      this.#pump();
    });
    return span === undefined ? answer : endingWith(span, answer);
  }

  /** Takes the calls of the next statement for such a load; none where none waits. */
  #take(load: Load): Waiting<I, O>[] {
    const { key, bytes = () => 0 } = this.#options;
    const max = load === "large" ? 1 : this.#options.max;
    const keys = new Set<string>();
    const batch: Waiting<I, O>[] = [];
    const rest: Waiting<I, O>[] = [];
    let room: number = LIMITS.statement_bytes_max;
    for (const call of this.#waiting) {
      if (this.#loadOf(call.item) !== load) {
        rest.push(call);
        continue;
      }
      const own = key?.(call.item);
      const fits = batch.length === 0 || (batch.length < max && bytes(call.item) <= room);
      if (fits && (own === undefined || !keys.has(own))) {
        batch.push(call);
        room -= bytes(call.item);
      } else rest.push(call);
      if (own !== undefined) keys.add(own);
    }
    this.#waiting = rest;
    // Rows are locked in one order by everyone.
    return key === undefined ? batch : batch.sort((left, right) => (key(left.item) < key(right.item) ? -1 : 1));
  }

  /** How long the calls that wait go on waiting for others, in milliseconds. */
  #patience(): number {
    const { gathering, pace_ms, max } = this.#options;
    if (this.#waiting.length === 0 || this.#waiting.length >= max) return 0;
    if (gathering !== undefined && this.#waiting.every(({ item }) => gathering.hasTime(item))) return gathering.time_ms;
    return pace_ms === undefined ? 0 : this.#pacedUntil - systemClock.monotonic();
  }

  #pump(): void {
    const patience_ms = this.#patience();
    if (patience_ms > 0)
      this.#timer ??= setTimeout(() => {
        this.#send();
      }, patience_ms);
    else if (this.#waiting.length >= this.#options.max) this.#send();
    else
      this.#turn ??= setImmediate(() => {
        this.#send();
      });
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    clearImmediate(this.#turn);
    this.#turn = undefined;
    this.#sendOf("small");
    this.#sendOf("large");
  }

  #sendOf(load: Load): void {
    while (this.#busy[load] < this.#slots[load] && this.#waiting.length > 0) {
      const batch = this.#take(load);
      if (batch.length === 0) return;
      this.#busy[load] += 1;
      this.#pacedUntil = systemClock.monotonic() + (this.#options.pace_ms ?? 0);
      void this.#answer(batch).finally(() => {
        this.#busy[load] -= 1;
        this.#pump();
      });
    }
  }

  async #answer(batch: readonly Waiting<I, O>[], isRepeat = false): Promise<void> {
    try {
      const items = batch.map(({ item }) => item);
      const answers = await withinSpan(batch[0]?.span, () => this.#run(items));
      if (answers.length !== batch.length) throw new Error(`${batch.length} calls, ${answers.length} answers`);
      batch.forEach(({ resolve }, index) => {
        resolve(answers[index] as O);
      });
    } catch (error) {
      // One call can fail a whole statement, and must not fail its neighbours. Each runs alone, beside each other: when
      // it is Postgres that is away, all of them know it after one timeout.
      if (batch.length > 1) await Promise.all(batch.map((call) => this.#answer([call])));
      else if (isUnknownOutcome(error) && !isRepeat) {
        await pause(LIMITS.lost_connection_rest_ms);
        await this.#answer(batch, true);
      } else batch[0]?.reject(error);
    }
  }
}

/**
 * Makes a call of one item out of a statement for many.
 *
 * @param statement answers each item, in their order; all of it is written or nothing, and what was written although
 * its
 *   answer was lost is found by the repeat
 * @returns the call. It throws what the statement throws for the item alone, or Refusal TEMPORARY when too many wait
 */
export function batched<I, O>(
  statement: (sql: Sql, items: readonly I[]) => Promise<readonly O[]>,
  options: BatchOptions<I>,
): (sql: Sql, item: I) => Promise<O> {
  const batches = new WeakMap<Sql, Batches<I, O>>();
  return (sql, item) => {
    let own = batches.get(sql);
    if (own === undefined) {
      own = new Batches((items) => statement(sql, items), options);
      batches.set(sql, own);
    }
    return own.call(item);
  };
}

/** The answers to numbered items: rows name their item by `n`, from 1; an item without a row gets undefined. */
export function inOrder<I, R extends { readonly n: string }, O>(
  items: readonly I[],
  rows: readonly R[],
  answer: (row: R) => O,
): (O | undefined)[] {
  const byItem = new Map(rows.map((row) => [Number(row.n), row]));
  return items.map((_, index) => {
    const row = byItem.get(index + 1);
    return row === undefined ? undefined : answer(row);
  });
}
