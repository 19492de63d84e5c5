/**
 * Claims whose answers come in time. A lease that nobody works on is freed when it is LIMITS.lease_young_ms old, also
 * one whose claim is still waited for; what a claim brings later than LIMITS.db_answer_timeout_ms is therefore never
 * begun, for somebody else may be at it: it is given back, as far as it is still ours.
 */
import type { Clock } from "../../base/clock.js";
import { temporary } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";
import { putOffAttempt } from "../../storage/documents/attempts.js";
import type { TakenAttempt } from "../../storage/documents/attempts.js";
import { untilAnswered } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";

interface AnswerPorts {
  readonly sql: Sql;
  readonly clock: Pick<Clock, "monotonic">;
}

/** Of one process, the claims that were asked and are not answered. */
export class Answers {
  readonly #ports: AnswerPorts;
  readonly #onLost: () => void;
  #unanswered = 0;

  /** @param onLost  leases may be left that nobody works on */
  constructor(ports: AnswerPorts, onLost: () => void) {
    this.#ports = ports;
    this.#onLost = onLost;
  }

  /** Whether what was asked then, in monotonic time, may not be begun any more. */
  isLate(asked: number): boolean {
    return this.#ports.clock.monotonic() - asked > LIMITS.db_answer_timeout_ms;
  }

  /** Gives back what came too late to be begun, as far as it is still ours, as if it had not been taken. */
  async giveBack(taken: readonly Pick<TakenAttempt, "id" | "version" | "attempt">[]): Promise<void> {
    for (const { id, version, attempt } of taken)
      await putOffAttempt(this.#ports.sql, { id, version, number: attempt, wait_ms: 0, keepsPlace: true });
  }

  /**
   * What a claim has taken.
   *
   * @throws Refusal TEMPORARY when it is not answered in time, or when so many are not answered that none is asked
   */
  async inTime(claim: () => Promise<readonly TakenAttempt[]>): Promise<readonly TakenAttempt[]> {
    if (this.#unanswered >= LIMITS.claims_unanswered_max) throw temporary();
    const asked = this.#ports.clock.monotonic();
    let isLost = false;
    try {
      return await untilAnswered(this.#answer(claim, () => isLost || this.isLate(asked)));
    } catch (error) {
      isLost = true;
      this.#onLost();
      throw error;
    }
  }

  async #answer(
    claim: () => Promise<readonly TakenAttempt[]>,
    isLate: () => boolean,
  ): Promise<readonly TakenAttempt[]> {
    this.#unanswered += 1;
    try {
      const taken = await claim();
      if (!isLate()) return taken;
      // What cannot be given back is freed by the next look for leases that nobody works on.
      await this.giveBack(taken);
      throw temporary();
    } finally {
      this.#unanswered -= 1;
    }
  }
}
