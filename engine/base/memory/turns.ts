/**
 * Turns of the event loop for work on many octets. One slice of such work is done in a turn, whosever it is: between
 * any two of them the loop looks after sockets, timers and small requests. Were each to wait for a turn of its own,
 * twenty large documents would do their slices one behind the other in the same turn.
 *
 * While small requests come, slices give way to them: behind each the loop is free for some times as long as it took.
 * A request is answered in several turns, and with a slice in each of them it would wait for as many slices.
 */
import { systemClock } from "../clock.js";
import { LIMITS } from "../limits.js";

/** Who waits: large bodies that are being read, which anybody can send, and work on what was taken in. */
type Line = "reading" | "working";

/** The event loop as turns need it. */
interface Loop {
  readonly monotonic: () => number;
  /** Calls in a later turn. */
  readonly soon: (act: () => void) => unknown;
  /** Calls when so many milliseconds have passed. */
  readonly later: (act: () => void, ms: number) => unknown;
}

interface Turns {
  /**
   * Resolves in a turn of the loop in which nobody else works on a slice; those who came before in its line go first.
   * The lines have every other turn, so that however many send large bodies, what was taken in is half as fast at
   * worst.
   */
  readonly ownTurn: (line?: Line) => Promise<void>;
  /** A small request has come: for a moment slices give way. */
  readonly smallRequest: () => void;
}

/** Makes the turns of one event loop. */
export function createTurns({ monotonic, soon, later }: Loop): Turns {
  // Bounded by the connections that are open.
  const reading: (() => void)[] = [];
  // Bounded by the work under way: each waits for one turn, and holds room for its octets meanwhile.
  const working: (() => void)[] = [];
  const waiting = { reading, working } as const satisfies Record<Line, (() => void)[]>;
  let last: Line = "reading";
  /** A slice is being worked on, or the turn of the next is arranged. */
  let isArranged = false;
  let smallUntil = -Infinity;
  /** When those to whom slices give way have had their time. */
  let freeAt = -Infinity;

  function arrange(): void {
    isArranged = reading.length + working.length > 0;
    if (!isArranged) return;
    const now = monotonic();
    const wait_ms = now < smallUntil ? freeAt - now : 0;
    if (wait_ms < LIMITS.slices_give_way_ms_min) soon(next);
    else later(next, wait_ms);
  }

  function next(): void {
    const other = last === "reading" ? "working" : "reading";
    if (waiting[other].length > 0) last = other;
    const resolve = waiting[last].shift();
    const begun = monotonic();
    const end = (): void => {
      const now = monotonic();
      const took_ms = now - begun;
      freeAt = now < smallUntil ? Math.max(freeAt + took_ms, now) + took_ms * LIMITS.slice_gives_way : now;
      arrange();
    };
    resolve?.();
    // Whoever waited for the turn works in the first microtask; what begins to wait then is in a later turn than this.
    queueMicrotask(() => {
      queueMicrotask(end);
    });
  }

  return {
    ownTurn: (line = "working") =>
      new Promise((resolve) => {
        waiting[line].push(resolve);
        if (!isArranged) arrange();
      }),
    smallRequest: () => {
      smallUntil = monotonic() + LIMITS.slices_give_way_ms;
    },
  };
}

export const { ownTurn, smallRequest } = createTurns({
  monotonic: () => systemClock.monotonic(),
  soon: setImmediate,
  later: setTimeout,
});
