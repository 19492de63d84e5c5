/**
 * How many connections each address has open to a listener, and which are one too many. A form that does not know who
 * has gone counts those that came, and asks the system before it turns somebody away, as often as it has time for that.
 */
import { addressGroup, inCidr } from "../../engine/base/addresses.js";
import type { Address, Cidr } from "../../engine/base/addresses.js";
import { LIMITS } from "../../engine/base/limits.js";

interface ConnectionOptions {
  /** Of one address. */
  readonly max: number;
  /** Networks whose addresses are not bounded: proxies, through which many come. */
  readonly proxies: readonly Cidr[];
  readonly monotonic: () => number;
  /** Asks the system. Undefined where it does not tell: then nobody is turned away. @default who has gone is known */
  readonly recount?: () => ReadonlyMap<string, number> | undefined;
}

/** The connections of one listener. */
export class Connections {
  readonly #options: ConnectionOptions;
  /** By group of addresses: how many are open at most. */
  // Bounded by the open connections, and by as many that have come since the system was asked.
  #atMost = new Map<string, number>();
  #open = 0;
  #nextCountAt = Number.NEGATIVE_INFINITY;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  get open(): number {
    return this.#open;
  }

  /** Counts a connection that has come. @returns whether it may stay; else it must be closed, and counts as gone */
  opened(peer: Address): boolean {
    this.#open++;
    const { max, proxies } = this.#options;
    // A peer that has gone already has no address.
    if (peer.length === 0 || proxies.some((network) => inCidr(peer, network))) return true;
    const group = addressGroup(peer);
    // Nobody holds more than are open in all: while those are few, nobody is doubtful, however many have come.
    const came = Math.min((this.#atMost.get(group) ?? 0) + 1, this.#open);
    const isDoubtful = came > max || this.#atMost.size > 2 * this.#open + max;
    const open = isDoubtful && this.#recount() ? (this.#atMost.get(group) ?? 1) : came;
    if (open > max) return false;
    this.#atMost.set(group, open);
    return true;
  }

  /** Counts a connection that has gone. @param peer  whose it was, where that is known */
  closed(peer?: Address): void {
    this.#open--;
    if (this.#open === 0) this.#atMost.clear();
    if (peer === undefined || peer.length === 0) return;
    const group = addressGroup(peer);
    const left = (this.#atMost.get(group) ?? 0) - 1;
    if (left > 0) this.#atMost.set(group, left);
    else this.#atMost.delete(group);
  }

  /** @returns whether `#atMost` is exact now */
  #recount(): boolean {
    const { monotonic, recount } = this.#options;
    const begun = monotonic();
    if (recount === undefined || begun < this.#nextCountAt) return false;
    const counted = recount();
    // Where the system does not tell, nobody is turned away on a guess.
    this.#atMost = new Map(counted);
    const ended = monotonic();
    // The system's list also has what ended a minute ago, which one address can make as long as it likes.
    this.#nextCountAt = Math.max(
      begun + LIMITS.connections_recount_ms,
      ended + (ended - begun) * LIMITS.connections_recount_gives_way,
    );
    return true;
  }
}
