/**
 * What the requests of a listener share, divided by what they are for: other access points, whoever logs in, callers of
 * the API and the public each have a part of their own, and within it one holder has half: of octets the key that is
 * believed, and until one is the address. Strangers fill their own part and leave that of callers alone, and of a
 * thousand callers behind one address each has what it had alone.
 */
import { LIMITS } from "../../engine/base/limits.js";

interface Share {
  /** Of the octets of bodies that are held, and of the requests under way. All shares together are 1. */
  readonly octets: number;
  readonly requests: number;
}

/** What a request is for. @source spec/rulings.md, section 13 names what the public may call */
export const SHARES = {
  /** Messages and questions of other access points, which nobody has judged yet. */
  network: { octets: LIMITS.share_network, requests: LIMITS.share_network },
  /** Logins and renewals. */
  token: { octets: LIMITS.share_token, requests: LIMITS.share_token },
  /** Whatever needs a credential. All others together leave it the rest of the requests, so that it has no bound. */
  api: { octets: LIMITS.share_api, requests: 1 },
  /** Pages, forms and validation for everybody. */
  public: { octets: LIMITS.share_public, requests: LIMITS.share_public },
} as const satisfies Record<string, Share>;
/** The part of a listener that a request uses. */
export type ShareName = keyof typeof SHARES;

/** Whose request it is, as far as the server can tell by now. */
export interface Sharer {
  readonly share: ShareName;
  /** Addresses that are counted together. */
  readonly addressGroup: string;
  /** The key, once it is believed; until then, and where no key is shown, the same as the addresses. */
  readonly holder: string;
}

/** How much of one thing is held, by share and by holder; what is given back completely is forgotten. */
class Held {
  /** By all together. */
  all = 0;
  // Bounded by the shares, and by the keys and addresses of requests under way.
  readonly #byHolder = new Map<string, number>();

  of(holder: string): number {
    return this.#byHolder.get(holder) ?? 0;
  }

  /** For a share and for one who has it. */
  add(share: ShareName, holder: string, amount: number): void {
    this.all += amount;
    this.#add(share, amount);
    this.#add(holder, amount);
  }

  move(from: string, to: string, amount: number): void {
    this.#add(from, -amount);
    this.#add(to, amount);
  }

  #add(holder: string, amount: number): void {
    const held = this.of(holder) + amount;
    if (held > 0) this.#byHolder.set(holder, held);
    else this.#byHolder.delete(holder);
  }
}

const holderOf = ({ share, holder }: Sharer): string => `${share} ${holder}`;
const addressOf = ({ share, addressGroup }: Sharer): string => `${share} ${addressGroup}`;

/** The octets of one body, counted for its share and for whoever has it. */
export class BodyOctets {
  readonly #held: Held;
  readonly #sharer: Sharer;
  #holder: string;
  #bytes = 0;

  constructor(held: Held, sharer: Sharer) {
    this.#held = held;
    this.#sharer = sharer;
    this.#holder = holderOf(sharer);
  }

  /**
   * Counts what is held for whoever has it by now: what came before its key was believed was the address's.
   * @returns whether he may hold it
   */
  follow(octetsMax: number): boolean {
    const holder = holderOf(this.#sharer);
    if (holder !== this.#holder && this.#bytes > 0) this.#held.move(this.#holder, holder, this.#bytes);
    this.#holder = holder;
    return this.#fits(holder, 0, this.#part(octetsMax) * LIMITS.share_holder);
  }

  /**
   * Takes room for a piece. A body that is alone in its share may fill it to the last.
   * @param octetsMax  of all bodies together
   * @returns whether there was room; without room nothing more is held
   */
  take(bytes: number, octetsMax: number): boolean {
    const { share } = this.#sharer;
    const part = this.#part(octetsMax);
    this.follow(octetsMax);
    if (this.#held.all + bytes > octetsMax || !this.#fits(share, bytes, part)) return false;
    if (!this.#fits(this.#holder, bytes, part * LIMITS.share_holder)) return false;
    this.#held.add(share, this.#holder, bytes);
    this.#bytes += bytes;
    return true;
  }

  #part(octetsMax: number): number {
    return octetsMax * SHARES[this.#sharer.share].octets;
  }

  #fits(holder: string, more: number, max: number): boolean {
    const held = this.#held.of(holder);
    return held === this.#bytes || held + more <= max;
  }

  giveBack(): void {
    if (this.#bytes > 0) this.#held.add(this.#sharer.share, this.#holder, -this.#bytes);
    this.#bytes = 0;
  }
}

/** The octets of bodies that are held. */
export class BodyShares {
  readonly #held = new Held();

  /** Octets held of all bodies together. */
  get octets(): number {
    return this.#held.all;
  }

  /** A body of which nothing is held yet. */
  open(sharer: Sharer): BodyOctets {
    return new BodyOctets(this.#held, sharer);
  }
}

/** Whether a request was counted for its share and its address, and whether it is one too many for either. */
export type Entry = "uncounted" | "counted" | "too_many";

/**
 * The requests under way. They are counted when they come in, before anybody is believed, and so by address.
 */
export class RequestShares {
  readonly #requests = new Held();

  /**
   * Takes one that has come in.
   * @param inFlight  requests under way on the listener, this one included
   * @param requestsMax  of all requests together
   */
  enter(sharer: Sharer, inFlight: number, requestsMax: number): Entry {
    // While there is room for everybody callers are not counted: it would cost each of a thousand calls a microsecond.
    if (sharer.share === "api" && inFlight <= requestsMax * LIMITS.share_uncounted) return "uncounted";
    const part = Math.max(LIMITS.share_requests_min, requestsMax * SHARES[sharer.share].requests);
    const most = Math.max(LIMITS.share_requests_min, part * LIMITS.share_holder);
    this.#count(sharer, 1);
    const isTooMany = this.#requests.of(sharer.share) > part || this.#requests.of(addressOf(sharer)) > most;
    return isTooMany ? "too_many" : "counted";
  }

  leave(sharer: Sharer, entry: Entry): void {
    if (entry !== "uncounted") this.#count(sharer, -1);
  }

  #count(sharer: Sharer, by: number): void {
    this.#requests.add(sharer.share, addressOf(sharer), by);
  }
}
