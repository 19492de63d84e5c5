/** Octets of the payloads that a node holds for its attempts: what is taken of them, and what is left. */
import { LIMITS } from "../../engine/base/limits.js";
import { budget } from "../../engine/base/memory/budgets.js";

/** What the attempts of one node may hold of payloads. */
export class AttemptOctets {
  #bytes = 0;
  /** How many went although they had more octets than were left. */
  #beyond = 0;

  /**
   * Octets of payloads that may still be taken, and whether one may go although it has more: as many as a payload has
   * at the most are kept for one at a time, so that no large one waits for as long as there are small ones.
   */
  room(): { readonly bytes: number; readonly one: boolean } {
    const shared = budget("attempt_bytes_max") - LIMITS.payload_bytes_max;
    return { bytes: Math.max(0, shared - this.#bytes), one: this.#beyond === 0 };
  }

  /** @returns gives the octets back; safe to repeat */
  hold(bytes: number): () => void {
    const isBeyond = bytes > this.room().bytes;
    const add = (sign: 1 | -1): void => {
      if (isBeyond) this.#beyond += sign;
      else this.#bytes += sign * bytes;
    };
    add(1);
    let isBack = false;
    return () => {
      if (isBack) return;
      isBack = true;
      add(-1);
    };
  }
}
