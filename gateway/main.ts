/** Starts every part of the engine in order and stops them in the opposite order. Nothing else puts parts together. */
import { setTimeout as delay } from "node:timers/promises";

import { parseCidr } from "../engine/base/addresses.js";
import { systemClock, timeZoneFault } from "../engine/base/clock.js";
import type { Clock } from "../engine/base/clock.js";
import { ConfigError, misspeltNames } from "../engine/base/config.js";
import type { Config } from "../engine/base/config.js";
import { claimDataDir, EmbeddedError, pathErrorOf } from "../engine/embedded/embedded.js";
import { ensureSandbox } from "../engine/identity/sandbox.js";
import type { Sandbox } from "../engine/identity/sandbox.js";
import { LIMITS } from "../engine/base/limits.js";
import { LIMIT_RELATIONS } from "../engine/base/limits/relations.js";
import { createLog } from "../engine/base/log.js";
import { createMetrics } from "../engine/base/metrics.js";
import { dnsServersOf } from "../engine/peppol/discovery/registrations-setup.js";
import { createReadiness } from "../engine/storage/readiness.js";
import { databaseErrorOf } from "../engine/storage/unusable.js";
import type { NoWorker } from "../validators/pool.js";
import { orErased } from "../engine/documents/accept/doors.js";
import { createAuthPorts } from "./request/auth.js";
import type { PipelinePorts } from "./request/ports.js";
import { claimPort } from "./http/claim-port.js";
import type { ServerForm } from "./http/listener.js";
import { createLags } from "../engine/events/lags.js";
import { uwsAvailable } from "./http/server-uws.js";
import { adminUrlOf, publicUrlOf } from "./start/addresses.js";
import { consoleRows } from "./start/console/console.js";
import { listen, Stack, startDatabase, startStreams } from "./start/infrastructure.js";
import type { Base } from "./start/infrastructure.js";
import { adminRows, observe } from "./start/operators.js";
import { startTraces } from "./start/tracing/tracing.js";
import { keylessTold } from "./start/work/keeping.js";
import { startWork } from "./start/work/work.js";

/** A running engine. */
export interface Engine {
  readonly publicUrl: string;
  readonly adminUrl: string;
  /** Undefined in production. */
  readonly sandbox: Sandbox | undefined;
  readonly streams: "jetstream" | "postgres";
  readonly server: ServerForm;
  /**
   * Resolves once a thread has had a job. They start while all else does, and nobody waits for them: what is sent
   * before lies in their queue. With a sentence for the operator where none can be started.
   */
  readonly threadsWork: Promise<NoWorker | undefined>;
  /** Resolves, with a sentence for the operator, when another engine has taken DATA_DIR: this one has to end. */
  readonly dataDirLost: Promise<EmbeddedError>;
  /** Says that it is not ready, lets requests and work finish, then stops the child processes. Safe to repeat. */
  stop(): Promise<void>;
}

export const ROLES = ["all", "gateway", "worker"] as const;
export type Role = (typeof ROLES)[number];

export interface EngineOptions {
  /** `gateway` serves requests, `worker` dispatches; both validate. @default all */
  readonly role?: Role;
  readonly clock?: Clock;
  /** Where log lines go. @default standard output */
  readonly logTo?: { write(line: string): void };
  /** Form of the HTTP server. @default HTTP_SERVER, else what fits the platform */
  readonly serverForm?: ServerForm;
  /**
   * How long the engine says that it is not ready before it stops to take requests, in milliseconds.
   * @default LIMITS.drain_readiness_ms in production, 0 in the sandbox
   */
  readonly drainReadiness_ms?: number;
  /** How documents travel; `loopback` hands them over inside the process and is for tests. @default as4 */
  readonly transport?: "as4" | "loopback";
}

const LOST =
  "Another engine has taken DATA_DIR, because this one could not touch its lock for some seconds, as while it was frozen: it ends, and may be started again.";

const NO_UWS =
  "HTTP_SERVER must not be uws here: no uWebSockets.js binary loads (Linux on x64, Node.js 20 or 22 with glibc 2.27, 24 or 26 with glibc 2.38, or newer); leave it out to have the form that fits.";

/** Checks what must be true of the build and the machine before anything starts. */
function checkMachine(config: Config): void {
  if (config.HTTP_SERVER === "uws" && !uwsAvailable()) throw new ConfigError([NO_UWS]);
  const unsure = timeZoneFault();
  if (unsure !== undefined) throw new ConfigError([unsure]);
  const broken = LIMIT_RELATIONS.find((relation) => !relation.holds);
  if (broken !== undefined) throw new Error(`limits.ts contradicts itself: ${broken.because}`);
  const wrong = config.TRUSTED_PROXIES.filter((text) => parseCidr(text) === undefined);
  if (wrong.length > 0)
    throw new ConfigError(["TRUSTED_PROXIES must be a comma-separated list of addresses or CIDRs."]);
  // Also where nothing asks them: whoever gives servers means them to be asked.
  dnsServersOf(config);
}

/**
 * Starts the engine and resolves when it is ready.
 * @throws ConfigError, DatabaseError, EmbeddedError, ListenError, MasterKeyError, MigrationError, PathError with
 * sentences for the operator; what had started is stopped again
 */
export async function startEngine(config: Config, options: EngineOptions = {}): Promise<Engine> {
  checkMachine(config);
  const clock = options.clock ?? systemClock;
  const log = createLog(config.LOG_LEVEL, options.logTo);
  const misspelt = misspeltNames().map(({ given, meant }) => `${given} (${meant}?)`);
  if (misspelt.length > 0) log.warn("config.name_misspelt", { component: misspelt.join(", ") });
  const stack = new Stack();
  const onWait = (): void => {
    log.info("engine.data_dir_waits");
  };
  const dataDir = await claimDataDir(config.DATA_DIR, { onWait });
  const dataDirLost = dataDir.lost.then(() => {
    log.error("engine.data_dir_lost");
    return new EmbeddedError(LOST, true);
  });
  stack.add("data directory", () => {
    dataDir.release();
  });
  const base: Base = { config, clock, log, metrics: createMetrics(), stack, dataDir: dataDir.path };
  try {
    return { ...(await startParts(base, options)), dataDirLost };
  } catch (error) {
    await stack.unwind(log);
    throw databaseErrorOf(error) ?? pathErrorOf(error) ?? error;
  }
}

async function startParts(given: Base, options: EngineOptions): Promise<Omit<Engine, "dataDirLost">> {
  const config: Config = {
    ...given.config,
    PORT: await claimPort({ host: given.config.HOST, port: given.config.PORT, prefix: "" }),
    ADMIN_PORT: await claimPort({ host: given.config.ADMIN_HOST, port: given.config.ADMIN_PORT, prefix: "ADMIN_" }),
  };
  const base: Base = { ...given, config };
  const { clock, log, metrics, stack, dataDir } = base;
  startTraces(base);
  const database = await startDatabase(base);
  const { streams, form } = await startStreams(base, database);
  const [publicUrl, adminUrl] = [publicUrlOf(config), adminUrlOf(config)];
  const work = { role: options.role ?? "all", transport: options.transport ?? "as4", publicUrl };
  const parts = await startWork(base, work, database, streams);
  const sandbox =
    config.ENVIRONMENT === "sandbox"
      ? await ensureSandbox({ sql: parts.sql, clock }, dataDir, { publicUrl, adminUrl, adminToken: config.ADMIN_TOKEN })
      : undefined;
  observe(base, parts);
  const adminToken = config.ADMIN_TOKEN ?? sandbox?.admin.token;
  if (adminToken === undefined) log.warn("admin.closed");

  // Who waits for it sends clients here, or stops the next engine: until the last part stands a start may still fail.
  let stage: "starting" | "serving" | "stopping" = "starting";
  const isServable = createReadiness(database.sql, clock);
  const isReady = async (): Promise<boolean> => stage === "serving" && isServable();
  const drainReadiness_ms =
    options.drainReadiness_ms ?? (config.ENVIRONMENT === "production" ? LIMITS.drain_readiness_ms : 0);
  const orKeyless = keylessTold(base, parts.sql);
  const ports: PipelinePorts = {
    ...createAuthPorts(parts.identity, adminToken),
    mayReceive: parts.mayReceive,
    documentBytes: parts.documentBytes,
    asRefusal: (error) => orKeyless(orErased(error)),
    admit: (row, key) => parts.limiter.admit(row, key),
    metrics,
    log,
    clock,
  };
  const lags = createLags({ streams: parts.streams, log });
  await listen(
    base,
    {
      host: config.ADMIN_HOST,
      port: config.ADMIN_PORT,
      prefix: "ADMIN_",
      form: options.serverForm,
      connections_share: LIMITS.admin_connections_share,
    },
    [
      ...adminRows(base, parts, { sandbox, isReady, lags }),
      ...consoleRows(base, parts, { adminToken, isAdminToken: ports.authenticateAdmin, lags }),
    ],
    ports,
  );
  const server = await listen(
    base,
    {
      host: config.HOST,
      port: config.PORT,
      prefix: "",
      form: options.serverForm,
      connections_share: LIMITS.connections_share,
    },
    parts.rows,
    ports,
  );
  metrics.beforeExposition(() => {
    metrics.set("http_requests_in_flight", {}, server.inFlight());
  });
  await parts.dispatch();
  stage = "serving";
  log.info("engine.ready", { host: config.HOST, port: server.port });
  return {
    publicUrl,
    adminUrl,
    sandbox,
    streams: form,
    server: server.form,
    threadsWork: parts.threadsWork(),
    stop: async () => {
      const isFirst = stage === "serving";
      stage = "stopping";
      if (isFirst) {
        log.info("engine.stopping");
        await delay(drainReadiness_ms);
      }
      await stack.unwind(log);
    },
  };
}
