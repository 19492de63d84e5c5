/** What a node says of itself with each beat: what runs there, and what it does a second. */
import { isoInstant } from "../../base/clock.js";
import type { Clock } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import type { Metrics, Pulse } from "../../base/metrics.js";

/** What operators are told of a process. */
export interface NodeFacts {
  /** Names the process in leases. */
  readonly name: string;
  readonly version: string;
  readonly role: string;
  readonly startedAt: string;
  /** Over LIMITS.pulse_window_ms. */
  readonly perSecond: Readonly<Record<Pulse, number>>;
}

interface Sample {
  readonly at_ms: number;
  readonly totals: Readonly<Record<Pulse, number>>;
}

/** @returns what this node says of itself now; asked with each beat */
export function createPulse(
  { metrics, clock }: { readonly metrics: Pick<Metrics, "totals">; readonly clock: Clock },
  self: Pick<NodeFacts, "name" | "version" | "role">,
): () => Promise<NodeFacts> {
  const startedAt = isoInstant(clock.now());
  // Bounded by the beats of LIMITS.pulse_window_ms.
  const samples: Sample[] = [];
  return async () => {
    const last: Sample = { totals: await metrics.totals(), at_ms: clock.monotonic() };
    samples.push(last);
    while (samples.length > 2 && last.at_ms - (samples[0] ?? last).at_ms > LIMITS.pulse_window_ms) samples.shift();
    const first = samples[0] ?? last;
    const seconds = Math.max((last.at_ms - first.at_ms) / 1_000, 1);
    const paces = Object.entries(last.totals).map(([pulse, total]) => [
      pulse,
      Math.max(0, total - first.totals[pulse as Pulse]) / seconds,
    ]);
    return { ...self, startedAt, perSecond: Object.fromEntries(paces) as Record<Pulse, number> };
  };
}
