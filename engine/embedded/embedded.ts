/**
 * The zero-configuration default: one engine per data directory, with a Postgres and a JetStream server as its
 * children.
 */
export { EmbeddedError } from "./child.js";
export { PathError, pathErrorOf } from "./paths.js";
export { claimDataDir } from "./data-dir.js";
export { mustMakeLinks } from "./links.js";
export { keepLogFiles } from "./log-files.js";
export { hasEmbeddedPostgres, runningEmbeddedPostgres, startEmbeddedPostgres } from "./postgres.js";
export type { EmbeddedPostgres } from "./postgres.js";
export { findNatsServer, runningNatsServer, startNatsServer } from "./nats.js";
export type { EmbeddedNats } from "./nats.js";
