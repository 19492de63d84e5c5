/** Where the listeners of an engine are reached, as its configuration says. */
import type { Config } from "../../engine/base/config.js";

/** Who listens on every address is reached on that of the machine itself; an address of IPv6 stands in brackets. */
const reachedAt = (host: string): string =>
  host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;

/** The base of links that leave the engine. */
export const publicUrlOf = ({ PUBLIC_URL, HOST, PORT }: Pick<Config, "PUBLIC_URL" | "HOST" | "PORT">): string =>
  PUBLIC_URL ?? `http://${reachedAt(HOST)}:${PORT}`;

/** The operators' listener. */
export const adminUrlOf = ({ ADMIN_HOST, ADMIN_PORT }: Pick<Config, "ADMIN_HOST" | "ADMIN_PORT">): string =>
  `http://${reachedAt(ADMIN_HOST)}:${ADMIN_PORT}`;
