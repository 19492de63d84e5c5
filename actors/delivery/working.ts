/** What a node works on: its attempts under lease, one for a document, and what was set aside for those to come. */
import type { TakenAttempt } from "../../engine/documents/delivery/due.js";
import type { DocumentId } from "../../engine/base/ids.js";
import { LeasedAttempt } from "./attempt.js";
import type { EndedAttempt } from "./attempt.js";
import type { AttemptOctets } from "./octets.js";

/** The attempts of a node under lease. */
export class Working {
  readonly #octets: Pick<AttemptOctets, "hold">;
  readonly #onEnd: (ended: EndedAttempt) => void;
  /** Bounded by the places; last attempts, which wait for no place, by the octets. */
  readonly #attempts = new Map<DocumentId, LeasedAttempt>();
  /** Octets were set aside so many times for attempts that may still come. */
  #aside = 0;
  /** Who waits until nothing is under way. Bounded by the steps of a stop. */
  readonly #waiting: (() => void)[] = [];

  constructor(octets: Pick<AttemptOctets, "hold">, onEnd: (ended: EndedAttempt) => void) {
    this.#octets = octets;
    this.#onEnd = onEnd;
  }

  /** Whether an attempt at the document is under lease here. */
  isAt(id: DocumentId): boolean {
    return this.#attempts.has(id);
  }

  /** Sets octets aside for an attempt that may come. @returns gives them back; safe to repeat */
  setAside(bytes: number): () => void {
    const giveBack = this.#octets.hold(bytes);
    this.#aside += 1;
    let isBack = false;
    return () => {
      if (isBack) return;
      isBack = true;
      giveBack();
      this.#aside -= 1;
      this.#wakeWaiting();
    };
  }

  /**
   * @param giveBack  gives its place back when it is over
   * @returns the attempt as its actor gets it; undefined while one at the same document is under way, which has
   *   outlived its lease: a second one beside it would send the document twice
   */
  add(taken: TakenAttempt, giveBack: () => void): LeasedAttempt | undefined {
    const before = this.#attempts.get(taken.id);
    if (before?.isUnderWay() === true) {
      before.takeAgain();
      giveBack();
      return undefined;
    }
    const giveOctetsBack = this.#octets.hold(taken.payloadBytes);
    const attempt = new LeasedAttempt(taken, (ended) => {
      if (this.#attempts.get(taken.id) === attempt) this.#attempts.delete(taken.id);
      giveOctetsBack();
      giveBack();
      this.#onEnd(ended);
      this.#wakeWaiting();
    });
    this.#attempts.set(taken.id, attempt);
    // One whose lease ended before it began is never made.
    before?.end();
    return attempt;
  }

  /** Resolves when nothing is under way, nor may come under way by what was set aside. */
  async whenIdle(): Promise<void> {
    // What was set aside is given back in the same turn in which its attempt is added.
    while (this.#attempts.size + this.#aside > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #wakeWaiting(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
