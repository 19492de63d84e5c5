/** What every part stands on: the order of stopping, the database, the streams, the listeners. */
import { parseCidr } from "../../engine/base/addresses.js";
import { systemClock } from "../../engine/base/clock.js";
import type { Clock } from "../../engine/base/clock.js";
import { migratesAtStart } from "../../engine/base/config.js";
import type { Config } from "../../engine/base/config.js";
import {
  findNatsServer,
  keepLogFiles,
  startEmbeddedPostgres,
  startNatsServer,
} from "../../engine/embedded/embedded.js";
import { countDropsFromNone } from "../../engine/events/delivery.js";
import { openJetStream } from "../../engine/events/streams-jetstream.js";
import { openPostgresStreams } from "../../engine/events/streams-postgres.js";
import { within } from "../../engine/base/waiting/wake.js";
import type { Streams } from "../../engine/events/streams.js";
import { LIMITS } from "../../engine/base/limits.js";
import { connectionsMax } from "../../engine/base/files/open-files.js";
import { errorFields } from "../../engine/base/log.js";
import type { Log } from "../../engine/base/log.js";
import type { Metrics } from "../../engine/base/metrics.js";
import { migrate, requireMigrated } from "../../engine/storage/migrate.js";
import { openLogFiles } from "../../engine/storage/log-files.js";
import { openSql } from "../../engine/storage/sql.js";
import type { Sql } from "../../engine/storage/sql.js";
import { createPipeline } from "../request/pipeline.js";
import type { PipelinePorts } from "../request/ports.js";
import type { Route } from "../contract/route.js";
import { listenErrorOf } from "../http/claim-port.js";
import type { ListenPlace } from "../http/claim-port.js";
import type { ServerLimits } from "../http/load.js";
import { startServer } from "../http/server.js";
import type { ServerForm } from "../http/listener.js";
import type { RunningServer } from "../http/server.js";

/**
 * Remembers how each part is stopped, and stops the parts in the opposite order of their start. One that hangs, as a
 * loop does whose database is silent, has half of the time that is left: those behind it are stopped as well.
 */
export class Stack {
  readonly #stop_ms: number;
  // Bounded by the parts that startEngine starts.
  readonly #parts: { readonly name: string; readonly end: () => Promise<void> | void }[] = [];
  #ended: Promise<void> | undefined;

  /** @param stop_ms  how long all parts may take together */
  constructor(stop_ms: number = LIMITS.stop_timeout_ms) {
    this.#stop_ms = stop_ms;
  }

  /** @param name  what the log calls a part that does not stop as it should */
  add(name: string, end: () => Promise<void> | void): void {
    this.#parts.push({ name, end });
  }

  unwind(log: Log): Promise<void> {
    return (this.#ended ??= this.#unwind(log));
  }

  async #unwind(log: Log): Promise<void> {
    const until = systemClock.monotonic() + this.#stop_ms;
    for (const { name, end } of this.#parts.toReversed()) {
      const left_ms = Math.max(0, until - systemClock.monotonic());
      const ending = (async () => {
        await end();
        return "ended";
      })().catch((error: unknown) => {
        log.warn("engine.stop_failed", { component: name, ...errorFields(error) });
        return "ended";
      });
      if ((await within(ending, left_ms / 2, "late")) === "late") log.error("engine.stop_late", { component: name });
    }
  }
}

/** What exists before any part is started. */
export interface Base {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly stack: Stack;
  readonly dataDir: string;
}

export interface Database {
  readonly url: string;
  readonly sql: Sql;
}

/** The configured database or the embedded one, with a schema that is up to date. */
export async function startDatabase({ config, log, clock, stack, dataDir }: Base): Promise<Database> {
  let url = config.DATABASE_URL;
  if (url === undefined) {
    const embedded = await startEmbeddedPostgres({ dataDir, log });
    stack.add("embedded Postgres", () => embedded.stop());
    url = embedded.url;
    const { directory } = embedded;
    stack.add("files of Postgres' log", keepLogFiles({ directory, connect: () => openLogFiles(embedded.url) }, log));
  }
  await (migratesAtStart(config) ? migrate({ url, clock }) : requireMigrated({ url }));
  const sql = openSql({ url, name: "kurier" });
  stack.add("connections to the database", () => sql.end({ timeout: LIMITS.child_stop_timeout_ms / 1000 }));
  return { url, sql };
}

/** JetStream where there is a server for it, Postgres otherwise. */
export async function startStreams(
  base: Base,
  database: Database,
): Promise<{ readonly streams: Streams; readonly form: "jetstream" | "postgres" }> {
  const { config, log, metrics, clock, stack, dataDir } = base;
  const program = config.NATS_URL === undefined ? findNatsServer() : undefined;
  let url = config.NATS_URL === "embedded" ? undefined : config.NATS_URL;
  if (program !== undefined) {
    const nats = await startNatsServer({ dataDir, program, log });
    stack.add("nats-server", () => nats.stop());
    url = nats.url;
  }
  countDropsFromNone(metrics);
  const streams =
    url === undefined
      ? openPostgresStreams({ ...database, log, metrics })
      : openJetStream({ url, log, metrics, clock });
  stack.add("streams", () => streams.close());
  return { streams, form: url === undefined ? "postgres" : "jetstream" };
}

/**
 * Starts one listener. Its address was looked at by `claimPort`, some time ago.
 * @throws ListenError when somebody has taken it meanwhile
 */
export async function listen(
  base: Base,
  where: ListenPlace & {
    readonly form: ServerForm | undefined;
    /** Of the files that this process may have open, so many may be connections of clients. */
    readonly connections_share: number;
  },
  rows: readonly Route[],
  ports: PipelinePorts,
): Promise<RunningServer> {
  const { config, clock, stack } = base;
  const trustedProxies = config.TRUSTED_PROXIES.flatMap((text) => parseCidr(text) ?? []);
  const form = where.form ?? config.HTTP_SERVER;
  const server = await startServer({
    host: where.host,
    port: where.port,
    ...(form === undefined ? {} : { form }),
    takesChunks: config.CHUNKED_REQUESTS === "accept",
    proxies: trustedProxies,
    limits: connectionLimits(where.connections_share),
    monotonic: () => clock.monotonic(),
    onRequest: createPipeline({ rows, ports, trustedProxies }),
  }).catch((error: unknown) => {
    throw listenErrorOf(error, where);
  });
  stack.add(where.prefix === "" ? "listener" : "operators' listener", async () => {
    await server.drain();
  });
  return server;
}

/** Of few connections one address has no more than its share. */
function connectionLimits(share: number): Pick<ServerLimits, "connections_max" | "connections_per_address_max"> {
  const max = connectionsMax(share);
  return {
    connections_max: max,
    connections_per_address_max: Math.min(LIMITS.connections_per_address_max, Math.ceil(max * LIMITS.share_holder)),
  };
}
