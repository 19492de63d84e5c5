/**
 * Answers that take the event loop for as long as many others do: of one key few are made at once, and what more it
 * asks for waits in a line of its own, in the order of coming. Whoever asks with another key stands behind none of it.
 */
import { temporary } from "../../engine/base/errors.js";

/** Where an answer is made. */
export interface LinePlace {
  /** Lets the next of the line in. Safe to repeat. */
  giveBack(): void;
}

/** Those of one holder who make an answer, and who wait until they may. */
class Line {
  readonly #places: number;
  #taken = 0;
  /** In the order of coming. */
  // Bounded by the requests under way.
  readonly #waiting = new Set<() => void>();

  constructor(places: number) {
    this.#places = places;
  }

  get isEmpty(): boolean {
    return this.#taken === 0;
  }

  /** @param enter  called when there is a place, which may be at once */
  come(enter: () => void): void {
    if (this.#taken === this.#places) this.#waiting.add(enter);
    else {
      this.#taken += 1;
      enter();
    }
  }

  /** @returns whether he has waited */
  leave(enter: () => void): boolean {
    return this.#waiting.delete(enter);
  }

  giveBack(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#taken -= 1;
    else {
      this.#waiting.delete(next);
      next();
    }
  }
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

  /** Holders that have a place. */
  get holders(): number {
    return this.#lines.size;
  }

  /**
   * Waits for a place behind those of the same holder who came before.
   * @param gone  aborted when nobody waits any more
   * @throws Refusal TEMPORARY when nobody waits any more
   */
  take(holder: string, gone: AbortSignal): Promise<LinePlace> {
    if (gone.aborted) return Promise.reject(temporary());
    const line = this.#lineOf(holder);
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        gone.removeEventListener("abort", leave);
        resolve(this.#placeIn(line, holder));
      };
      const leave = (): void => {
        if (line.leave(enter)) reject(temporary());
      };
      gone.addEventListener("abort", leave, { once: true });
      line.come(enter);
    });
  }

  #lineOf(holder: string): Line {
    const line = this.#lines.get(holder) ?? new Line(this.#places);
    this.#lines.set(holder, line);
    return line;
  }

  #placeIn(line: Line, holder: string): LinePlace {
    let isHeld = true;
    return {
      giveBack: () => {
        if (!isHeld) return;
        isHeld = false;
        line.giveBack();
        if (line.isEmpty) this.#lines.delete(holder);
      },
    };
  }
}
