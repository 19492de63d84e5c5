/**
 * Whether leases may be left that nobody works on: a claim whose answer was lost with its connection, an end that could
 * not be written. They can be told from those of a claim on its way only by their age, so that the doubt lasts as long.
 */
import type { Clock } from "../../engine/base/clock.js";
import { LIMITS } from "../../engine/base/limits.js";

/** The doubt of one node about its leases. */
export class Doubt {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #onDoubt: () => void;
  /** A look that begins then or later finds what there was when the doubt was raised. */
  #until = -Infinity;

  /** @param onDoubt  there is one, and there was none */
  constructor(clock: Pick<Clock, "monotonic">, onDoubt: () => void) {
    this.#clock = clock;
    this.#onDoubt = onDoubt;
  }

  raise(): void {
    const now = this.#clock.monotonic();
    const isNew = now >= this.#until;
    this.#until = now + LIMITS.lease_young_ms + LIMITS.lease_look_soon_ms;
    if (isNew) this.#onDoubt();
  }

  /** @param begun  when the look began that is over now, in monotonic time. @returns how long to wait for the next */
  wait_ms(begun: number): number {
    return begun < this.#until ? LIMITS.lease_look_soon_ms : LIMITS.lease_look_ms;
  }
}
