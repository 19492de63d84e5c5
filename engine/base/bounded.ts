/** A map with a bound: the one container for what is remembered between requests. */

/**
 * A map of at most `entries_max` entries. When one more is set, the oldest leaves: the one that was set or used longest
 * ago.
 */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #entries_max: number;

  /** @param entries_max at least 1 */
  constructor(entries_max: number) {
    super();
    this.#entries_max = entries_max;
  }

  /** Puts an entry at the young end. */
  override set(key: K, value: V): this {
    this.delete(key);
    if (this.size >= this.#entries_max) this.#forgetOldest();
    return super.set(key, value);
  }

  /** Sets an entry, and gives its value back, so that a caller can keep and return it at once. */
  keep(key: K, value: V): V {
    this.set(key, value);
    return value;
  }

  /** Gets a value and makes its entry the youngest, so that it stays longest; 0.1 µs slower than `get`. */
  use(key: K): V | undefined {
    const value = this.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  /** Drops entries from the oldest on, as long as they satisfy the claim. */
  dropWhile(claim: (value: V) => boolean): void {
    for (const [key, value] of this) {
      if (!claim(value)) return;
      this.delete(key);
    }
  }

  #forgetOldest(): void {
    const oldest = this.keys().next();
    if (oldest.done !== true) this.delete(oldest.value);
  }
}
