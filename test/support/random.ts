/** Seeded random numbers for property tests. A failing test prints the seed; `SEED=…` repeats it. */

/** The seed of this run: `SEED` of the environment, otherwise the test's own default. */
export const seedFrom = (fallback: number): number => Number(process.env["SEED"] ?? fallback) >>> 0;

/** A generator of its own state, so that one case can be repeated without those before it. */
export class Random {
  #state: number;
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A float in [0, 1): mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** An integer in [0, below). */
  int(below: number): number {
    return Math.floor(this.next() * below);
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.int(items.length)];
    if (item === undefined) throw new RangeError("nothing to pick from");
    return item;
  }
}
