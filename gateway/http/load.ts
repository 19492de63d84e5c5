/** What the requests of a listener share: limits, shares of what is scarce, and how many are under way. */
import { LIMITS } from "../../engine/base/limits.js";
import { createOctets } from "../../engine/base/memory/octets.js";
import type { Octets } from "../../engine/base/memory/octets.js";
import { smallRequest } from "../../engine/base/memory/turns.js";
import { within } from "../../engine/base/waiting/wake.js";
import { Lines } from "./lines.js";
import { BodyShares, RequestShares } from "./shares.js";

/** A request as its listener sees it: one that may miss a deadline. */
interface Waiting {
  /** Ends it when it has missed its deadline. @param now  by the listener's monotonic clock */
  checkDeadline(now: number): void;
  /** Gives up its turn to make a large or long answer where it waits for it: it is told to come again. */
  leaveTurn(): void;
}

export interface ServerLimits {
  readonly request_header_bytes_max: number;
  readonly request_headers_max: number;
  readonly request_body_bytes_per_s_min: number;
  readonly request_idle_ms: number;
  readonly request_timeout_ms: number;
  readonly connections_max: number;
  readonly requests_in_flight_max: number;
  readonly connections_per_address_max: number;
  readonly request_bodies_bytes_max: number;
  readonly response_bytes_per_s_min: number;
  readonly responses_bytes_max: number;
  readonly responses_waiting_max: number;
  readonly drain_timeout_ms: number;
  readonly long_answers_per_key: number;
}

/** What all requests of a listener share: the limits, what is under way, and whether it is shutting down. */
export class Load {
  readonly limits: ServerLimits;
  readonly monotonic: () => number;
  inFlight = 0;
  /** Short answers that wait for their client to take them. */
  #leaving = 0;
  readonly bodies = new BodyShares();
  readonly requests = new RequestShares();
  /** Whether bodies may come in chunks; otherwise a request with one is refused. */
  readonly takesChunks: boolean;
  /** Answers that are made or leave in pieces. */
  readonly responses: Octets;
  /** Answers that list much, while they are made. */
  readonly longAnswers: Lines;
  /** True once the listener shuts down: from then on every answer closes its connection. */
  draining = false;
  /** Requests whose body or answer is awaited, or whose answer leaves in pieces. Only these can miss a deadline. */
  // Bounded by the requests under way, of which there are LIMITS.requests_in_flight_max.
  readonly waiting = new Set<Waiting>();
  // Bounded by those who stop the server: one.
  readonly #idle: (() => void)[] = [];

  /** Called when a request has come that is not large: large work gives way to it. */
  readonly onSmall: () => void;

  constructor(limits: ServerLimits, monotonic: () => number, takesChunks: boolean, onSmall = smallRequest) {
    this.limits = limits;
    this.onSmall = onSmall;
    this.monotonic = monotonic;
    this.takesChunks = takesChunks;
    this.responses = createOctets(limits.responses_bytes_max, limits.responses_waiting_max, LIMITS.response_key_share);
    this.longAnswers = new Lines(limits.long_answers_per_key);
  }

  /** A request is answered shortly: from now on it waits for its client alone, and nobody waits for it. */
  isLeaving(): void {
    this.inFlight--;
    this.#leaving++;
  }

  leave(wasLeaving: boolean): void {
    if (wasLeaving) this.#leaving--;
    else this.inFlight--;
    if (this.#isIdle) for (const resolve of this.#idle.splice(0)) resolve();
  }

  get #isIdle(): boolean {
    return this.inFlight + this.#leaving === 0;
  }

  /**
   * From now on every answer closes its connection. Who waits for his turn to make a large or long answer is told to
   * come again, for those before him may take longer than the drain.
   */
  beginDrain(): void {
    this.draining = true;
    for (const request of this.waiting) request.leaveTurn();
  }

  /** Resolves when no request is under way, or when the drain's time is over. */
  async drained(): Promise<boolean> {
    if (this.#isIdle) return true;
    const done = new Promise<true>((resolve) => {
      this.#idle.push(() => {
        resolve(true);
      });
    });
    return within(done, this.limits.drain_timeout_ms, false);
  }

  /** Ends the requests that have missed their deadline. One timer calls this, so that no request needs its own. */
  sweep(): void {
    const now = this.monotonic();
    for (const request of this.waiting) request.checkDeadline(now);
  }
}
