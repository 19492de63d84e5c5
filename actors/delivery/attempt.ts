/** One attempt under lease, as the node that makes it knows it: it begins once at the most, and ends once. */
import type { ClaimedAttempt } from "../../engine/documents/delivery/dispatch.js";
import type { TakenAttempt } from "../../engine/documents/delivery/due.js";

/** What has ended. */
export interface EndedAttempt {
  /** Its document was taken again while it was under way. */
  readonly isTakenAgain: boolean;
}

/** An attempt, from its lease to its end. */
export class LeasedAttempt implements ClaimedAttempt {
  readonly taken: TakenAttempt;
  readonly #onEnd: (ended: EndedAttempt) => void;
  #state: "waits" | "under way" | "over" = "waits";
  #isTakenAgain = false;

  constructor(taken: TakenAttempt, onEnd: (ended: EndedAttempt) => void) {
    this.taken = taken;
    this.#onEnd = onEnd;
  }

  readonly start = (): boolean => {
    if (this.#state !== "waits") return false;
    this.#state = "under way";
    return true;
  };

  readonly end = (): void => {
    if (this.#state === "over") return;
    this.#state = "over";
    this.#onEnd({ isTakenAgain: this.#isTakenAgain });
  };

  isUnderWay(): boolean {
    return this.#state === "under way";
  }

  /** Its lease ran out while it was under way, and the document was taken again. */
  takeAgain(): void {
    this.#isTakenAgain = true;
  }
}
