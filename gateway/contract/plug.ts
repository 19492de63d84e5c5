/** Joins a routes file to the engine: which rows it makes, and what of the engine they work with. */
import type { Route } from "./route.js";

/** One routes file with the way its ports are made. `Parts` is what the running engine offers for that. */
export interface Plug<Parts> {
  /** The rows, ready to answer requests. */
  rows(parts: Parts): readonly Route[];
  /**
   * The same rows for those who only read them, such as the OpenAPI writer; calling a handler of theirs throws an
   * Error.
   */
  described(): readonly Route[];
}

/** Stands in for any port. It has every member that a row may name, and each of them throws when it is called. */
const unplugged: unknown = new Proxy(() => undefined, {
  get: () => unplugged,
  apply: () => {
    throw new Error("This row only describes its operation: no engine is plugged in.");
  },
});

/**
 * Plugs a routes file in.
 * @param routes makes the rows from their ports; it must not call a port, only its handlers may
 * @param portsOf makes the ports from the parts of a running engine
 */
export const plug = <Parts, Ports>(
  routes: (ports: Ports) => readonly Route[],
  portsOf: (parts: Parts) => NoInfer<Ports>,
): Plug<Parts> => ({
  rows: (parts) => routes(portsOf(parts)),
  described: () => routes(unplugged as Ports),
});
