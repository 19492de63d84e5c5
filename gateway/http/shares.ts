/**
 * What the requests of a listener share, divided by what they are for: other access points, whoever logs in, callers of
 * the API and the public each have a part of their own, and within it one address has half. Strangers fill their own
 * part and leave that of callers alone.
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

/** Whose request it is, as far as the server can tell before anybody has judged it. */
export interface Sharer {
  readonly share: ShareName;
  /** Addresses that are counted together. */
  readonly addressGroup: string;
}

/** How much of one thing is held, by share and by address; what is given back completely is forgotten. */
class Held {
  // Bounded by the shares, and by the addresses of requests under way.
  readonly #byHolder = new Map<string, number>();

  of(holder: string): number {
    return this.#byHolder.get(holder) ?? 0;
  }

  add(holder: string, amount: number): void {
    const held = this.of(holder) + amount;
    if (held > 0) this.#byHolder.set(holder, held);
    else this.#byHolder.delete(holder);
  }
}

const addressOf = ({ share, addressGroup }: Sharer): string => `${share} ${addressGroup}`;

/** The octets of bodies that are held. */
export class BodyShares {
  readonly #octets = new Held();
  #all = 0;

  /** Octets held of all bodies together. */
  get octets(): number {
    return this.#all;
  }

  /**
   * Takes room for a piece of a body.
   * @param own  octets that the same body holds already: a body that is alone in its share may fill it to the last
   * @param octetsMax  of all bodies together
   * @returns whether there was room; without room nothing is held
   */
  take(sharer: Sharer, bytes: number, own: number, octetsMax: number): boolean {
    const part = octetsMax * SHARES[sharer.share].octets;
    const address = addressOf(sharer);
    const fits = (holder: string, max: number): boolean => {
      const held = this.#octets.of(holder);
      return held === own || held + bytes <= max;
    };
    if (this.#all + bytes > octetsMax) return false;
    if (!fits(sharer.share, part) || !fits(address, part * LIMITS.share_address)) return false;
    this.#add(sharer, bytes);
    return true;
  }

  giveBack(sharer: Sharer, bytes: number): void {
    if (bytes > 0) this.#add(sharer, -bytes);
  }

  #add(sharer: Sharer, bytes: number): void {
    this.#all += bytes;
    this.#octets.add(sharer.share, bytes);
    this.#octets.add(addressOf(sharer), bytes);
  }
}

/** Whether a request was counted for its share and its address, and whether it is one too many for either. */
export type Entry = "uncounted" | "counted" | "too_many";

/** The requests under way. */
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
    const most = Math.max(LIMITS.share_requests_min, part * LIMITS.share_address);
    this.#count(sharer, 1);
    const isTooMany = this.#requests.of(sharer.share) > part || this.#requests.of(addressOf(sharer)) > most;
    return isTooMany ? "too_many" : "counted";
  }

  leave(sharer: Sharer, entry: Entry): void {
    if (entry !== "uncounted") this.#count(sharer, -1);
  }

  #count(sharer: Sharer, by: number): void {
    this.#requests.add(sharer.share, by);
    this.#requests.add(addressOf(sharer), by);
  }
}
