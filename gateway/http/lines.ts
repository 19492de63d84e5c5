/**
 * Answers that take the event loop for as long as many others do: of one key few are made at once, and what more it
 * asks for waits in a line of its own, in the order of coming. Whoever asks with another key stands behind none of it.
 */
import { temporary } from "../../engine/base/errors.js";

/** Where an answer is made. */
export interface Place {
  /** Lets the next of the line in. Safe to repeat. */
  giveBack(): void;
}

interface Line {
  taken: number;
  /** In the order of coming. Bounded by the requests under way. */
  readonly waiting: Set<() => void>;
}

/** The lines of all keys that have a request under way. */
export class Lines {
  readonly #places: number;
  // Bounded by the keys and addresses of requests under way: a line in which nobody is goes.
  readonly #lines = new Map<string, Line>();

  /** @param places  that one holder has */
  constructor(places: number) {
    this.#places = places;
  }

  /** Holders that have or await a place. */
  get holders(): number {
    return this.#lines.size;
  }

  /**
   * Waits for a place behind those of the same holder who came before.
   * @param gone  aborted when nobody waits any more
   * @throws Refusal TEMPORARY when nobody waits any more
   */
  take(holder: string, gone: AbortSignal): Promise<Place> {
    if (gone.aborted) return Promise.reject(temporary());
    const line = this.#lineOf(holder);
    if (line.taken < this.#places) return Promise.resolve(this.#enter(holder, line));
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        gone.removeEventListener("abort", leave);
        resolve(this.#enter(holder, line));
      };
      const leave = (): void => {
        if (line.waiting.delete(enter)) reject(temporary());
      };
      line.waiting.add(enter);
      gone.addEventListener("abort", leave, { once: true });
    });
  }

  #lineOf(holder: string): Line {
    const known = this.#lines.get(holder);
    if (known !== undefined) return known;
    const line = { taken: 0, waiting: new Set<() => void>() };
    this.#lines.set(holder, line);
    return line;
  }

  #enter(holder: string, line: Line): Place {
    line.taken += 1;
    let isHeld = true;
    return {
      giveBack: () => {
        if (!isHeld) return;
        isHeld = false;
        line.taken -= 1;
        const [next] = line.waiting;
        if (next !== undefined) {
          line.waiting.delete(next);
          next();
        } else if (line.taken === 0) this.#lines.delete(holder);
      },
    };
  }
}
