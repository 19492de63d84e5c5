/**
 * What the messages of a batch have unpacked and still hold. Each takes its step beside the others, and one of 20 KB
 * may hold 21 MB: beyond a bound the next is opened once another is packed again. Runs in worker threads alone.
 */

/** Counts what messages unpack. One a thread. */
export class Unpacked {
  #held = 0;
  // Bounded by the jobs of a batch.
  readonly #waiting: (() => void)[] = [];

  /** Octets that are held now. */
  get held(): number {
    return this.#held;
  }

  /**
   * Does the work of one message, at once while others hold no more than `octetsMax`.
   * @param work  says what it has unpacked before its first await, or others do not know of it when they begin
   */
  async within<T>(octetsMax: number, work: (unpacked: (octets: number) => void) => Promise<T>): Promise<T> {
    while (this.#held > octetsMax) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    let own = 0;
    try {
      return await work((octets) => {
        own += octets;
        this.#held += octets;
      });
    } finally {
      this.#held -= own;
      // Each asks again whether there is room, and says what it unpacks before the next of them does.
      for (const wake of this.#waiting.splice(0)) wake();
    }
  }
}
