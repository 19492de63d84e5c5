/** Durations, for metrics. The one place in validators/ that looks at a clock, and it is a clock without a date. */

/** Milliseconds since some moment in the past. */
function now(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1_000_000;
}

/** Measures how long one piece of work takes, and its parts by their names. */
export class StopWatch {
  readonly #start = now();
  elapsed_ms(): number {
    return now() - this.#start;
  }
}

/** Measures layers one after the other, when somebody wants to know. */
export class LayerClock {
  readonly #laps: Record<string, number> | undefined;
  #last: number;

  constructor(wanted: boolean) {
    this.#laps = wanted ? {} : undefined;
    this.#last = wanted ? now() : 0;
  }

  /** The time since the last lap belongs to `name`. */
  lap(name: string): void {
    if (this.#laps === undefined) return;
    const time = now();
    this.#laps[name] = (this.#laps[name] ?? 0) + time - this.#last;
    this.#last = time;
  }

  timings(): { readonly timings?: Readonly<Record<string, number>> } {
    return this.#laps === undefined ? {} : { timings: this.#laps };
  }
}
