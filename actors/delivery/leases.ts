/**
 * The leases of a node and of the dead: it says that it is alive, frees what dead processes held, renews its own that
 * somebody works on and frees those that nobody does.
 */
import { beat, freeDead, tendLeases } from "../../engine/documents/delivery/due.js";
import type { Clock } from "../../engine/base/clock.js";
import { LIMITS } from "../../engine/base/limits.js";
import type { Log } from "../../engine/base/log.js";
import type { Sql } from "../../engine/storage/sql.js";
import type { Loop } from "../../engine/base/waiting/wake.js";
import type { Doubt } from "./doubt.js";
import { startLoop } from "./loop.js";
import type { Working } from "./working.js";

/** What keeping leases needs. */
export interface LeasePorts {
  readonly sql: Sql;
  /** For the signs of life alone: behind other statements they would come too late. */
  readonly beatSql: Sql;
  readonly clock: Pick<Clock, "monotonic">;
  readonly log: Log;
  /** Names this process in leases. */
  readonly owner: string;
}

interface LeaseParts {
  readonly working: Pick<Working, "isAt">;
  readonly doubt: Pick<Doubt, "wait_ms">;
  /** Documents are due again. */
  readonly onFreed: () => void;
}

/** Keeps leases until it is stopped. A poke: there may be some that nobody works on. */
export function keepLeases(ports: LeasePorts, { working, doubt, onFreed }: LeaseParts): Loop {
  const tell = (component: string, count: number): void => {
    if (count === 0) return;
    ports.log.warn("dispatch.leases_freed", { component, count });
    onFreed();
  };
  const stopBeats = startBeats(ports, tell);
  const own = startLoop(ports, "leases", async () => {
    const begun = ports.clock.monotonic();
    tell("nobody", await tendLeases(ports, (id) => working.isAt(id)));
    return doubt.wait_ms(begun);
  });
  return {
    poke: own.poke,
    stop: async () => {
      await Promise.all([own.stop(), stopBeats()]);
    },
  };
}

/** Says that this process is alive. @returns whether there are dead ones, as far as it may judge */
export const sayAlive = ({ beatSql, owner }: Pick<LeasePorts, "beatSql" | "owner">): Promise<boolean> =>
  beat({ sql: beatSql, owner });

/** Says it again and again, and frees what the dead held, without the one waiting for the other. */
function startBeats(ports: LeasePorts, tell: (component: string, freed: number) => void): () => Promise<void> {
  const { clock } = ports;
  const freeing = startLoop(ports, "the dead", async () => {
    tell("dead process", await freeDead(ports));
    return LIMITS.lease_look_ms;
  });
  const beats = startLoop(ports, "beat", async () => {
    const begun = clock.monotonic();
    if (await sayAlive(ports)) freeing.poke();
    return Math.max(1, LIMITS.dispatcher_beat_ms - (clock.monotonic() - begun));
  });
  return async () => {
    await Promise.all([freeing.stop(), beats.stop()]);
  };
}
