/** The actors of a command that changes something: it is one more node. */
import { startActors } from "../../../actors/system.js";
import type { ActorSystem } from "../../../actors/system.js";
import { systemClock } from "../../../engine/base/clock.js";
import { silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";

/** Runs `use` with actors in this process. */
export async function withActors<T>(use: (actors: ActorSystem) => Promise<T>, log = silentLog): Promise<T> {
  const actors = startActors({ log, metrics: createMetrics(), monotonic: () => systemClock.monotonic() });
  try {
    return await use(actors);
  } finally {
    await actors.stop();
  }
}
