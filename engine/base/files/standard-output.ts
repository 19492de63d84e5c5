/**
 * Standard output as the log writes to it: a full disk, a reader that is gone and one that stands still hold up nothing
 * and end nothing. What cannot be written waits, within a bound; beyond it lines are lost, and counted.
 */
import { write, writeSync } from "node:fs";

import { LIMITS } from "../limits.js";

type Written = (error: Error | null, octets: number) => void;

/** Where lines go, and the wait before what was not taken is offered again. */
export interface LinesTo {
  readonly write: (octets: Buffer, written: Written) => void;
  /** @throws what the system says */
  readonly writeNow: (octets: Buffer) => number;
  readonly later: (then: () => void) => void;
}

/** Lines on their way to one place, in their order. */
export class WaitingLines {
  readonly #to: LinesTo;
  /** Bounded by LIMITS.log_waiting_chars_max. */
  #waiting: string[] = [];
  #chars = 0;
  /** What is being written: after a part of a line comes the rest of it. */
  #octets: Buffer = Buffer.alloc(0);
  #isWriting = false;
  /** The last try failed. */
  #isRefused = false;
  #lost = 0;

  constructor(to: LinesTo) {
    this.#to = to;
  }

  /** Writes lines, or counts them as lost. Never waits, never throws. */
  readonly write = (line: string): void => {
    if (this.#chars + line.length > LIMITS.log_waiting_chars_max) {
      this.#lost += 1;
      return;
    }
    this.#waiting.push(line);
    this.#chars += line.length;
    if (!this.#isWriting && !this.#isRefused) this.#begin();
  };

  /**
   * How many were lost since it was last asked; none are told while nothing can be written, or so much waits that the
   * line which tells it might be lost as well.
   */
  takeLost(): number {
    if (this.#isRefused || this.#chars > LIMITS.log_waiting_chars_max / 2) return 0;
    const lost = this.#lost;
    this.#lost = 0;
    return lost;
  }

  /** What still waits when the process ends is offered once more; what is being written ends beside it. */
  flush(): void {
    try {
      if (!this.#isWriting) this.#writeAllNow(this.#octets);
      this.#writeAllNow(Buffer.from(this.#waiting.join("")));
    } catch {
      // Nobody is left to be told.
    }
  }

  #writeAllNow(octets: Buffer): void {
    for (let left = octets; left.length > 0;) left = left.subarray(this.#to.writeNow(left));
  }

  /** Lines that wait are next when nothing is left of those before them. */
  #take(): void {
    if (this.#octets.length > 0) return;
    this.#octets = Buffer.from(this.#waiting.join(""));
    this.#waiting = [];
    this.#chars = 0;
  }

  #begin(): void {
    this.#take();
    if (this.#octets.length === 0) return;
    this.#isWriting = true;
    this.#to.write(this.#octets, (error, octets) => {
      this.#isWriting = false;
      this.#isRefused = error !== null;
      if (error === null) {
        this.#octets = this.#octets.subarray(octets);
        this.#begin();
        return;
      }
      this.#to.later(() => {
        if (!this.#isWriting) this.#begin();
      });
    });
  }
}

const STANDARD_OUTPUT = 1;

/** The one of this process. */
export const standardOutput = new WaitingLines({
  write: (octets, written) => {
    write(STANDARD_OUTPUT, octets, written);
  },
  writeNow: (octets) => writeSync(STANDARD_OUTPUT, octets),
  // A process that has nothing else to do does not stay for its lines.
  later: (then) => void setTimeout(then, LIMITS.log_again_ms).unref(),
});

process.once("exit", () => {
  standardOutput.flush();
});
