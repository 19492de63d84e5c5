/**
 * The HTTP server: one interface, two forms. `uws` is uWebSockets.js and the default; `node` is node:http, for
 * platforms without a uWebSockets.js binary. Both pass the same contract suite.
 */
import { LIMITS } from "../../engine/base/limits.js";
import { budgets } from "../../engine/base/memory/budgets.js";
import { every } from "../../engine/base/waiting/every.js";
import { Load } from "./load.js";
import type { ServerLimits } from "./load.js";
import type { ServerForm, ServerOptions } from "./listener.js";
import { listenNode } from "./server-node.js";
import { listenUws, uwsAvailable } from "./server-uws.js";

export interface RunningServer {
  readonly port: number;
  readonly form: ServerForm;
  /** Requests under way. */
  inFlight(): number;
  /**
   * Stops accepting, lets requests under way finish with `Connection: close`, then stops.
   * @returns whether all finished within the limit
   */
  drain(): Promise<boolean>;
  /** Ends everything at once. Safe to call again. */
  stop(): Promise<void>;
}

/** How often deadlines are looked at, as a share of the shortest of them. */
const SWEEPS_PER_DEADLINE = 4;

/** @throws Error with code EADDRINUSE when something else listens there */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const limits: ServerLimits = { ...LIMITS, ...budgets(), ...options.limits };
  const load = new Load(limits, options.monotonic, options.takesChunks ?? true);
  const form = options.form ?? (uwsAvailable() ? "uws" : "node");
  const listener = await (form === "uws" ? listenUws : listenNode)(options, load);
  const deadline_ms = Math.min(limits.request_idle_ms, limits.request_timeout_ms);
  const stopSweeps = every(Math.max(10, deadline_ms / SWEEPS_PER_DEADLINE), () => {
    load.sweep();
  });

  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> =>
    (stopped ??= (async () => {
      load.draining = true;
      stopSweeps();
      listener.stopAccepting();
      await listener.closeAll();
    })());
  return {
    port: listener.port,
    form,
    inFlight: () => load.inFlight,
    drain: async () => {
      load.beginDrain();
      listener.stopAccepting();
      const all = await load.drained();
      await stop();
      return all;
    },
    stop,
  };
}
