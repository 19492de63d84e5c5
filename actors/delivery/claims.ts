/** Claims what is due for the places that are free: what the last look found is claimed before there is another one. */
import { createAgenda, restAfter } from "../../engine/documents/delivery/agenda.js";
import type { Answers } from "../../engine/documents/delivery/answers.js";
import type { Places, ReceiverCapacity } from "../../engine/documents/delivery/claims.js";
import { boundsFor, claim, FROM_THE_START, look } from "../../engine/documents/delivery/due.js";
import type { Look } from "../../engine/documents/delivery/due.js";
import type { Clock } from "../../engine/base/clock.js";
import { participantKey } from "../../engine/base/ids.js";
import { LIMITS } from "../../engine/base/limits.js";
import type { Sql } from "../../engine/storage/sql.js";
import type { Giver } from "./giving.js";
import type { AttemptOctets } from "./octets.js";

interface ClaimPorts {
  readonly sql: Sql;
  readonly clock: Pick<Clock, "monotonic">;
  readonly owner: string;
  readonly capacityOf: (receiver: string) => ReceiverCapacity;
}

interface ClaimParts {
  readonly places: Places;
  readonly octets: Pick<AttemptOctets, "room">;
  readonly answers: Pick<Answers, "inTime">;
  readonly giver: Pick<Giver, "giveAll">;
}

/** One turn of the claims after another. */
export class Claims {
  readonly #ports: ClaimPorts;
  readonly #parts: ClaimParts;
  readonly #agenda = createAgenda();
  #last: Pick<Look, "cursor" | "more"> = { cursor: FROM_THE_START, more: false };
  /** Whether somebody has said that there is work since the last look began. */
  #told = true;
  #waitedBefore = false;
  /** Whether there may be more documents of the lanes that the last look found than it counted. */
  #cut = false;
  /** Whether a claim left documents that were too large for the octets that were free. */
  #left = false;
  /** Looks since something was claimed or a place became free. */
  #empty = 0;
  /** Monotonic times: there is no look before the one, and one at the latest at the other. */
  #restUntil = 0;
  #lookBy = 0;

  constructor(ports: ClaimPorts, parts: ClaimParts) {
    this.#ports = ports;
    this.#parts = parts;
  }

  /**
   * Whether documents may wait to be claimed: what was told or found and is not claimed yet, and, while a look is under
   * way, whatever there was before it.
   */
  waits(): boolean {
    return this.#told || this.#waitedBefore || this.#isElsewhere() || this.#cut || !this.#agenda.isEmpty();
  }

  /** There is work that no look has seen. */
  tell(): void {
    this.#told = true;
  }

  /** What was passed over for want of a place may go now. */
  placeFreed(): void {
    this.#empty = 0;
  }

  /** @returns how long to wait for the next turn, in milliseconds, unless somebody pokes */
  async turn(): Promise<number> {
    const { clock, capacityOf } = this.#ports;
    const { places, octets, answers, giver } = this.#parts;
    const room = octets.room();
    if (places.free() === 0 || (room.bytes === 0 && !room.one)) return LIMITS.due_poll_ms;
    let shares = this.#agenda.shares(places, capacityOf);
    if (this.#wantsLook(shares.length) && clock.monotonic() >= this.#restUntil) {
      await this.#look();
      shares = this.#agenda.shares(places, capacityOf);
    }
    if (shares.length === 0)
      return Math.max(1, (this.#wantsLook(0) ? this.#restUntil : this.#lookBy) - clock.monotonic());
    const taken = await answers.inTime(() => claim(this.#ports, shares, room));
    this.#agenda.served(
      shares,
      taken.map(({ firmId, receiver }) => ({ firmId, receiver: participantKey(receiver) })),
    );
    giver.giveAll(taken);
    if (taken.length > 0) this.#empty = 0;
    // Documents that were too large for the octets that are left are still due.
    if (taken.length < shares.reduce((sum, { count }) => sum + count, 0)) [this.#cut, this.#left] = [true, true];
    return 0;
  }

  /**
   * Whether a look may find what no claim of the agenda gets.
   *
   * @param claimable  documents of the agenda for which there are places. Those for receivers without one may stand
   *   there for hours, and nobody waits for them
   */
  #wantsLook(claimable: number): boolean {
    const beyond = claimable === 0 && (this.#left || this.#agenda.hasEndedShort());
    return this.#told || this.#isElsewhere() || beyond || this.#ports.clock.monotonic() >= this.#lookBy;
  }

  /** Whether there may be documents of firms or receivers that the last look did not come to. */
  #isElsewhere(): boolean {
    return this.#last.more && this.#empty < LIMITS.lane_looks_max;
  }

  async #look(): Promise<void> {
    const { sql, clock } = this.#ports;
    const [begun, bounds] = [clock.monotonic(), boundsFor(this.#parts.places.free(), this.#empty)];
    this.#waitedBefore = this.waits();
    this.#told = false;
    try {
      const found = await look(sql, this.#last.cursor, bounds);
      this.#last = found;
      this.#cut = found.firms.some(({ lanes }) => lanes.some(({ ready }) => ready >= bounds.ready));
      this.#left = false;
      this.#agenda.renew(found.firms, bounds.ready);
      this.#empty += 1;
    } catch (error) {
      this.#told = true;
      throw error;
    } finally {
      this.#waitedBefore = false;
      const ended = clock.monotonic();
      this.#restUntil = ended + restAfter(ended - begun);
      this.#lookBy = ended + LIMITS.due_poll_ms;
    }
  }
}
