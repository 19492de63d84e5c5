/** How far the streams are behind, as operators see it: a broker that is away hides nothing of what Postgres knows. */
import { LIMITS } from "../base/limits.js";
import { errorFields } from "../base/log.js";
import type { Log } from "../base/log.js";
import { STREAM_NAMES } from "./streams.js";
import type { StreamName, Streams } from "./streams.js";
import { within } from "../base/waiting/wake.js";

/** A stream as StreamStatus tells of it, or null for what its broker does not tell. */
interface StreamLag {
  readonly stream: StreamName;
  readonly pending: number | null;
  readonly oldestAge_s: number | null;
}

/** Asks how far the streams are behind. Never rejects. */
export type Lags = () => Promise<readonly StreamLag[]>;

const UNKNOWN: readonly StreamLag[] = STREAM_NAMES.map((stream) => ({ stream, pending: null, oldestAge_s: null }));

/**
 * Asks the broker, for LIMITS.metrics_timeout_ms; who asks meanwhile gets the same answer, and while a broker is silent
 * everybody is told at once that nobody knows.
 */
export function createLags(ports: { readonly streams: Pick<Streams, "status">; readonly log: Log }): Lags {
  let asked: Promise<readonly StreamLag[]> | undefined;
  const ask = async (): Promise<readonly StreamLag[]> => {
    try {
      return await ports.streams.status();
    } catch (error) {
      ports.log.warn("relay.lag_unknown", { component: "streams", ...errorFields(error) });
      return UNKNOWN;
    } finally {
      asked = undefined;
    }
  };
  return () => (asked ??= within(ask(), LIMITS.metrics_timeout_ms, UNKNOWN));
}
