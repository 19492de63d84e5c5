/**
 * The places that a queue has for the engine's own jobs, and the line of those who found none. Own work is never turned
 * away while the queue is full: whoever asks waits, and holds meanwhile what its own caller gave it a place for.
 */

interface Bounds {
  /** Own jobs in the queue, and their octets. One job of any size may be in it. */
  readonly jobs: number;
  readonly bytes: number;
  /** Jobs in front of the queue. */
  readonly line: number;
}

/** Own jobs in front of a queue and in it. */
export class OwnLine<T extends { readonly size: number }> {
  readonly #bounds: Bounds;
  /** Puts a job into the queue. */
  readonly #enter: (job: T) => void;
  // Bounded by #bounds.line.
  readonly #line: T[] = [];
  #jobs = 0;
  #bytes = 0;

  constructor(bounds: Bounds, enter: (job: T) => void) {
    this.#bounds = bounds;
    this.#enter = enter;
  }

  /** Jobs in front of the queue. */
  get waiting(): number {
    return this.#line.length;
  }

  /** Whether one more may come. More come only when callers have more under way than was said. */
  get isOpen(): boolean {
    return this.#line.length < this.#bounds.line;
  }

  /** The job goes into the queue at once, or once those before it have left a place. */
  come(job: T): void {
    this.#line.push(job);
    this.#letIn();
  }

  /** A job that a lost worker has given back to the queue: it does not wait again. */
  comeBack({ size }: T): void {
    this.#jobs += 1;
    this.#bytes += size;
  }

  /** A worker has taken the job. */
  leave({ size }: T): void {
    this.#jobs -= 1;
    this.#bytes -= size;
    this.#letIn();
  }

  #hasPlace({ size }: T): boolean {
    const { jobs, bytes } = this.#bounds;
    return this.#jobs === 0 || (this.#jobs < jobs && this.#bytes + size <= bytes);
  }

  #letIn(): void {
    for (let next = this.#line[0]; next !== undefined && this.#hasPlace(next); next = this.#line[0]) {
      this.#line.shift();
      this.comeBack(next);
      this.#enter(next);
    }
  }
}
