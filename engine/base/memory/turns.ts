/**
 * Turns of the event loop for work on many octets. One slice of such work is done in a turn, whosever it is: between
 * any two of them the loop looks after sockets, timers and small requests. Were each to wait for a turn of its own,
 * twenty large documents would do their slices one behind the other in the same turn.
 */

// Bounded by the work under way: each waits for one turn, and holds room for its octets meanwhile.
const waiting: (() => void)[] = [];

/** Resolves in a turn of the loop in which nobody else works on a slice; those who came before go first. */
export function ownTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(next);
  });
}

function next(): void {
  const resolve = waiting.shift();
  // What begins to wait now is behind the others, and in a later turn than this.
  if (waiting.length > 0) setImmediate(next);
  resolve?.();
}
