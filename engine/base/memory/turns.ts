/**
 * Turns of the event loop for work on many octets. One slice of such work is done in a turn, whosever it is: between
 * any two of them the loop looks after sockets, timers and small requests. Were each to wait for a turn of its own,
 * twenty large documents would do their slices one behind the other in the same turn.
 */

/** Who waits: large bodies that are being read, which anybody can send, and work on what was taken in. */
type Line = "reading" | "working";

// Bounded by the connections that are open.
const reading: (() => void)[] = [];
// Bounded by the work under way: each waits for one turn, and holds room for its octets meanwhile.
const working: (() => void)[] = [];
const waiting = { reading, working } as const satisfies Record<Line, (() => void)[]>;
let last: Line = "reading";

/**
 * Resolves in a turn of the loop in which nobody else works on a slice; those who came before in its line go first. The
 * lines have every other turn, so that however many send large bodies, what was taken in is half as fast at worst.
 */
export function ownTurn(line: Line = "working"): Promise<void> {
  return new Promise((resolve) => {
    waiting[line].push(resolve);
    if (reading.length + working.length === 1) setImmediate(next);
  });
}

function next(): void {
  const other = last === "reading" ? "working" : "reading";
  if (waiting[other].length > 0) last = other;
  const resolve = waiting[last].shift();
  // What begins to wait now is behind the others, and in a later turn than this.
  if (reading.length + working.length > 0) setImmediate(next);
  resolve?.();
}
