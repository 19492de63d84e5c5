/**
 * A queue that takes turns between keys, so that one sender with a thousand documents delays nobody else's, and that
 * knows what each key holds, so that one sender cannot fill it.
 */

/** What waits under one key, in the order of its coming. */
class Line<T> {
  // Bounded by the pool, which refuses a job when its queue or the share of its key is full.
  readonly items: T[] = [];
  bytes = 0;
}

/** What a key, or all of them, have waiting. */
interface Held {
  readonly jobs: number;
  readonly bytes: number;
}

const NOTHING: Held = { jobs: 0, bytes: 0 };

export class FairQueue<T extends { readonly size: number }> {
  /** Keys with items, the one whose turn it is first. A key that was served goes to the end. */
  // Bounded by who fills it: the pool refuses a job when its queue is full.
  readonly #byKey = new Map<string, Line<T>>();
  #jobs = 0;
  #bytes = 0;

  /** What waits under all keys. */
  get held(): Held {
    return { jobs: this.#jobs, bytes: this.#bytes };
  }

  /** What waits under one key. */
  heldBy(key: string): Held {
    const line = this.#byKey.get(key);
    return line === undefined ? NOTHING : { jobs: line.items.length, bytes: line.bytes };
  }

  push(key: string, item: T): void {
    let line = this.#byKey.get(key);
    if (line === undefined) this.#byKey.set(key, (line = new Line<T>()));
    line.items.push(item);
    line.bytes += item.size;
    this.#jobs++;
    this.#bytes += item.size;
  }

  /** The oldest item of the key whose turn it is. */
  take(): T | undefined {
    for (const [key, line] of this.#byKey) {
      const item = line.items.shift();
      this.#byKey.delete(key);
      if (line.items.length > 0) this.#byKey.set(key, line);
      if (item === undefined) continue;
      line.bytes -= item.size;
      this.#jobs--;
      this.#bytes -= item.size;
      return item;
    }
    return undefined;
  }
}
