/**
 * A bounded cache in front of Postgres that may be believed only while announcements of changes arrive.
 *
 * An answer is kept for a short time and dropped at once when its change is announced. An answer that was under way
 * when its key was announced is given to those who asked before, and not kept. While announcements cannot be trusted
 * every question is a statement of its own: an older statement's answer might be from before the change that the asker
 * knows of.
 */
import { BoundedMap } from "../../base/bounded.js";
import type { Clock } from "../../base/clock.js";

interface CacheOptions<V> {
  readonly entries_max: number;
  readonly ttl_ms: number;
  readonly clock: Clock;
  /** Whether announcements arrive at present. */
  isFresh(): boolean;
  /** Asks Postgres; undefined when there is no such thing, which is never kept. */
  load(key: string): Promise<V | undefined>;
}

/** What a node remembers of rows that change rarely. */
export interface Cache<V> {
  /** The value, at once when it is known. */
  get(key: string): V | undefined | Promise<V | undefined>;
  drop(key: string): void;
  clear(): void;
  readonly size: number;
}

interface Entry<V> {
  readonly value: V;
  /** Monotonic. */
  readonly until: number;
}

/** Makes a cache over a statement. It holds at most as many entries as its options say. */
export function createCache<V>(options: CacheOptions<V>): Cache<V> {
  const entries = new BoundedMap<string, Entry<V>>(options.entries_max);
  // Bounded by the requests under way on this node.
  const underWay = new Map<string, Promise<V | undefined>>();

  const keep = (key: string, value: V): void => {
    entries.set(key, { value, until: options.clock.monotonic() + options.ttl_ms });
  };
  const load = async (key: string): Promise<V | undefined> => {
    const mine = options.load(key).then(
      (value) => {
        if (underWay.get(key) === mine) {
          underWay.delete(key);
          if (value !== undefined && options.isFresh()) keep(key, value);
        }
        return value;
      },
      (error: unknown) => {
        if (underWay.get(key) === mine) underWay.delete(key);
        throw error;
      },
    );
    underWay.set(key, mine);
    return mine;
  };

  return {
    get: (key) => {
      if (!options.isFresh()) return options.load(key);
      const entry = entries.get(key);
      if (entry !== undefined && options.clock.monotonic() < entry.until) return entry.value;
      return underWay.get(key) ?? load(key);
    },
    drop: (key) => {
      entries.delete(key);
      underWay.delete(key);
    },
    clear: () => {
      entries.clear();
      underWay.clear();
    },
    get size() {
      return entries.size;
    },
  };
}
