/** A queue that takes turns between keys, so that one sender with a thousand documents delays nobody else's. */

export class FairQueue<T> {
  /** Keys with items, the one whose turn it is first. A key that was served goes to the end. */
  // Bounded by who fills it: the pool refuses a job when its queue is full.
  readonly #byKey = new Map<string, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(key: string, item: T): void {
    const items = this.#byKey.get(key);
    if (items === undefined) this.#byKey.set(key, [item]);
    else items.push(item);
    this.#size++;
  }

  /** The oldest item of the key whose turn it is. */
  take(): T | undefined {
    for (const [key, items] of this.#byKey) {
      const item = items.shift();
      this.#byKey.delete(key);
      if (items.length > 0) this.#byKey.set(key, items);
      if (item === undefined) continue;
      this.#size--;
      return item;
    }
    return undefined;
  }
}
