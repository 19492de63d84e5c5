/** The only composition root: starts every part in order, and stops them in the opposite one. */
import { createServer } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";

import { startActors, type ActorSystem } from "../actors/system.js";
import { documentKind } from "../actors/document.js";
import { consumeDispatch, watchRetries } from "../actors/consumers.js";
import { credentialKind, tokensThroughActors } from "../actors/credential.js";
import { type ParticipantKind, participantKind } from "../actors/participant.js";
import { parseCidr } from "../engine/addresses.js";
import { assertTimeZoneData, bratislavaDay, type Clock, systemClock } from "../engine/clock.js";
import { type Config, ConfigError } from "../engine/config.js";
import { createCursors } from "../engine/cursors.js";
import { createDueDocuments } from "../engine/documents/due.js";
import { createInbox } from "../engine/documents/inbox.js";
import { readDocument, readDocumentEvents, statusRecord } from "../engine/documents/lifecycle-reads.js";
import { readDocumentEnvelope, readDocumentEvidence } from "../engine/documents/evidence.js";
import { receiveDocument } from "../engine/documents/receive.js";
import { sampleInvoice } from "../engine/documents/sample-invoice.js";
import { createValidators } from "../engine/documents/validators.js";
import { Refusal } from "../engine/errors.js";
import { claimDataDir, findNatsServer, startEmbeddedPostgres, startNatsServer } from "../engine/embedded.js";
import { startRelay } from "../engine/events/outbox.js";
import { startReconciler } from "../engine/events/reconciler.js";
import { openJetStream } from "../engine/events/streams-jetstream.js";
import { openPostgresStreams } from "../engine/events/streams-postgres.js";
import type { Streams } from "../engine/events/streams.js";
import { createIdentity, type Identity } from "../engine/identity/identity.js";
import { DEMO_FIRMS, ensureSandbox, type Sandbox } from "../engine/identity/sandbox.js";
import { newId, participantKey } from "../engine/ids.js";
import { LIMIT_RELATIONS, LIMITS } from "../engine/limits.js";
import { createLog, errorFields, type Log } from "../engine/log.js";
import { createMetrics, type Metrics } from "../engine/metrics.js";
import { openAccessPoint } from "../engine/peppol/access-point.js";
import { createLoopback } from "../engine/peppol/loopback.js";
import { createRecipients } from "../engine/peppol/recipients.js";
import type { InboundExchange, InboundOutcome } from "../engine/peppol/transport.js";
import { createAcceptBatches } from "../engine/storage/accept-batches.js";
import { censusOfDocuments, releaseLeases } from "../engine/storage/documents.js";
import { createEvidenceArchive } from "../engine/storage/evidence-archive.js";
import { openEvidenceStore } from "../engine/storage/evidence-stores.js";
import { migrate, migrationStatus } from "../engine/storage/migrate.js";
import { findOperatorDocument, listFirms, listIntegrators, listOperatorDocuments } from "../engine/storage/operations.js";
import { findOwnParticipant } from "../engine/storage/received.js";
import { createSealer, type Sealer } from "../engine/storage/sealer.js";
import { openSql, orTemporary, type Sql } from "../engine/storage/sql.js";
import { createPool, type ValidatorPool } from "../validators/pool.js";
import { createAuthPorts } from "./auth.js";
import { makeFirm, makeIntegrator } from "./commands/identity.js";
import { whyPacksAreRefused } from "./commands/rules.js";
import { keepQuarantined, masterKey, nodeName } from "./data-dir.js";
import { createPipeline, type PipelinePorts } from "./pipeline.js";
import { createRateLimiter, type RateLimiter } from "./rate-limit.js";
import { publicRoutes } from "./rows.js";
import type { Route } from "./route.js";
import { adminRoutes } from "./routes/admin.js";
import { operationsRoutes } from "./routes/operations.js";
import { startServer, type RunningServer, type ServerForm } from "./server.js";

/** A running engine. */
export interface Engine {
  readonly publicUrl: string;
  readonly adminUrl: string;
  /** Undefined in production. */
  readonly sandbox: Sandbox | undefined;
  readonly streams: "jetstream" | "postgres";
  readonly server: ServerForm;
  /** Drains: readiness first, then requests, then work under way, then the children. Safe to repeat. */
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
  /** Form of the HTTP server. @default what fits the platform */
  readonly serverForm?: ServerForm;
  /** How documents travel; `loopback` hands them over inside the process and is for tests. @default as4 */
  readonly transport?: "as4" | "loopback";
}

/** What is stopped last was started first. */
class Stack {
  // Bounded by the parts that startEngine starts.
  private readonly ends: (() => Promise<void> | void)[] = [];
  private ended: Promise<void> | undefined;

  add(end: () => Promise<void> | void): void { this.ends.push(end); }

  unwind(log: Log): Promise<void> {
    return (this.ended ??= (async () => {
      for (const end of this.ends.toReversed()) {
        try {
          await end();
        } catch {
          log.warn("a part did not stop cleanly");
        }
      }
    })());
  }
}

interface Base {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly stack: Stack;
  readonly dataDir: string;
}

async function startDatabase({ config, log, clock, stack, dataDir }: Base): Promise<{ readonly url: string; readonly sql: Sql }> {
  let url = config.DATABASE_URL;
  if (url === undefined) {
    const embedded = await startEmbeddedPostgres({ dataDir, log });
    stack.add(() => embedded.stop());
    url = embedded.url;
  }
  await migrate({ url, clock });
  const sql = openSql({ url, name: "kurier" });
  stack.add(() => sql.end({ timeout: LIMITS.child_stop_timeout_ms / 1000 }));
  return { url, sql };
}

async function startStreams(base: Base, database: { readonly url: string; readonly sql: Sql }): Promise<{ readonly streams: Streams; readonly form: Engine["streams"] }> {
  const { config, log, metrics, clock, stack, dataDir } = base;
  const program = config.NATS_URL === undefined ? findNatsServer() : undefined;
  let url = config.NATS_URL === "embedded" ? undefined : config.NATS_URL;
  if (program !== undefined) {
    const nats = await startNatsServer({ dataDir, program, log });
    stack.add(() => nats.stop());
    url = nats.url;
  }
  const streams = url === undefined ? openPostgresStreams({ ...database, log, metrics }) : openJetStream({ url, log, metrics, clock });
  stack.add(() => streams.close());
  return { streams, form: url === undefined ? "postgres" : "jetstream" };
}

/** Everything that requests and stream messages work with. */
interface Parts {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly identity: Identity;
  readonly streams: Streams;
  readonly actors: ActorSystem;
  readonly pool: ValidatorPool;
  readonly limiter: RateLimiter;
  readonly rows: readonly Route[];
}

async function startWork(base: Base, options: EngineOptions, database: { readonly url: string; readonly sql: Sql }, streams: Streams, publicUrl: string): Promise<Parts> {
  const role = options.role ?? "all";
  const { config, clock, log, metrics, stack, dataDir } = base;
  const { sql } = database;
  const key = masterKey(config, dataDir);
  const sealer = createSealer([key]);
  const cursors = createCursors(key);

  const identity = createIdentity({ sql, databaseUrl: database.url, sealer, clock, log, metrics, environment: config.ENVIRONMENT, publicUrl });
  await identity.start();
  stack.add(() => identity.stop());

  const refusal = config.RULES_DIR === undefined ? undefined : await whyPacksAreRefused(config.RULES_DIR);
  if (refusal !== undefined) throw new ConfigError([refusal]);
  const pool = createPool({
    threads: { small: config.VALIDATOR_THREADS, large: 1 }, queueMax: LIMITS.validator_queue_max, queueBytesMax: LIMITS.validator_queue_bytes_max,
    jobTimeoutMs: LIMITS.validator_document_timeout_ms, preload: ["validate"],
    onDone: ({ kind, lane, time_ms }) => { if (kind === "validate") metrics.observe("validation_duration_seconds", { lane }, time_ms / 1_000); },
    onQuarantine: (job) => {
      log.error("a document killed two workers and is in quarantine", { code: job.sha256, outcome: job.reason });
      keepQuarantined(dataDir, sealer, job);
    },
  });
  stack.add(() => pool.stop());

  const validators = createValidators(pool, metrics, config.RULES_DIR);

  const relay = startRelay({ sql, streams, log, metrics });
  stack.add(() => relay.stop());

  const actors = startActors({ log, metrics, monotonic: () => clock.monotonic() });
  const inbox = createInbox({ sql, sealer, cursors, clock });
  /** The inbound path, one turn of the receiving participant at a time. */
  const receive = (exchange: InboundExchange): Promise<InboundOutcome> => actors.ask(participant, participantKey(exchange.receiver), "Receive", exchange);
  const archive = createEvidenceArchive({ sql, store: openEvidenceStore(config.EVIDENCE_STORE, dataDir, clock), sealer, clock });
  stack.add(() => archive.stop());
  const accessPoint = options.transport === "loopback" ? undefined : await openAccessPoint({
    config, dataDir, publicUrl, sql, crypto: (kind, input) => pool.run(kind, input, { fairnessKey: "as4" }), archive, receive, clock, log, metrics,
  });
  stack.add(() => { accessPoint?.stop(); });
  const recipients = accessPoint?.recipients ?? createRecipients(async (participant) => {
    const own = await findOwnParticipant(sql, participant);
    return own?.capabilities.map((capability) => capability.documentTypeId);
  }, clock);
  const node = nodeName(dataDir);
  const document = documentKind({
    send: { sql, batches: createAcceptBatches(sql), validators, recipients, sealer, clock, metrics, poke: () => { relay.poke(); } },
    dispatch: { sql, sealer, transport: accessPoint?.transport ?? createLoopback(receive), clock, metrics, log, owner: `${node}/${process.pid}`, poke: () => { relay.poke(); } },
  });
  const participant: ParticipantKind = participantKind({ actors, document, inbox, receive: (exchange) => receiveDocument({ sql, sealer, clock, metrics }, exchange), clock });

  if (role !== "gateway") await startDispatch(base, { sql, streams, actors, document, node });
  stack.add(() => actors.stop());

  const rows = publicRoutes({
    tokens: { ...tokensThroughActors(actors, credentialKind(identity)), jwks: identity.jwks },
    sapi: {
      send: (request) => actors.ask(participant, participantKey(request.sender), "ClaimSend", request),
      inbox: { ...inbox, acknowledge: (owner, id) => actors.ask(participant, participantKey(owner), "Acknowledge", { participant: owner, id }) },
    },
    validation: validators,
    documents: {
      status: async (firmId, id) => {
        const record = await readDocument(sql, firmId, id);
        return { ...statusRecord(record), externalId: record.erpDocumentId, processId: record.processId };
      },
      events: (firmId, id, page) => readDocumentEvents({ sql, cursors }, firmId, id, page),
    },
    evidence: {
      evidence: (firmId, id) => readDocumentEvidence({ sql, archive, log }, firmId, id),
      envelope: (firmId, id) => readDocumentEnvelope({ sql, archive, log }, firmId, id),
    },
  }, accessPoint === undefined ? undefined : { as4: { receive: accessPoint.receiver }, smp: accessPoint.smpServer });
  const limiter = createRateLimiter({ clock, peers: identity.peers });
  const sweeper = setInterval(() => { limiter.sweep(); }, LIMITS.rate_window_ms);
  sweeper.unref();
  stack.add(() => { clearInterval(sweeper); });
  return { sql, sealer, identity, streams, actors, pool, limiter, rows };
}

async function startDispatch(
  { clock, log, metrics, stack }: Base,
  parts: { readonly sql: Sql; readonly streams: Streams; readonly actors: ActorSystem; readonly document: ReturnType<typeof documentKind>; readonly node: string },
): Promise<void> {
  const { sql, streams, actors, document, node } = parts;
  const freed = await releaseLeases(sql, node);
  if (freed > 0) log.info("leases of the last process are free again", { count: freed });
  const due = createDueDocuments({ sql, clock });
  const reconciler = startReconciler({ sources: [{ kind: "dispatch", stream: "dispatch", findWork: (limit, grace_ms) => due.forgotten(limit, grace_ms) }], streams, log, metrics });
  stack.add(() => reconciler.stop());
  const retries = watchRetries({ actors, document, streams, clock, log, due });
  stack.add(() => retries.stop());
  const consumer = await consumeDispatch({ actors, document, streams, clock, log });
  stack.add(() => consumer.stop());
}

function observe({ metrics, clock, stack, log }: Base, { sql, actors, pool }: Parts): void {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  // Bounded by RESTART_REASONS.
  const restarts = new Map<string, number>();
  stack.add(() => { delay.disable(); });
  metrics.beforeExposition(async () => {
    metrics.set("event_loop_delay_seconds", {}, delay.percentile(99) / 1e9);
    delay.reset();
    for (const [kind, count] of actors.census()) metrics.set("actors_active", { kind }, count);
    for (const [lane, { queueDepth, busyThreads, threads }] of Object.entries(pool.stats().lanes)) {
      metrics.set("worker_queue_depth", { lane }, queueDepth);
      metrics.set("worker_pool_utilisation_ratio", { lane }, threads === 0 ? 0 : busyThreads / threads);
    }
    for (const [reason, count] of Object.entries(pool.stats().restarts)) {
      metrics.count("worker_restarts_total", { reason }, count - (restarts.get(reason) ?? 0));
      restarts.set(reason, count);
    }
    try {
      const census = await censusOfDocuments(sql, clock.now());
      for (const [state, count] of census.states) metrics.set("documents_state", { state }, count);
      metrics.set("oldest_due_dispatch_seconds", {}, census.oldestDue_s);
    } catch (error) {
      // Without a database the gauges keep their last value; /readyz tells that it is away.
      log.warn("the census of documents could not be taken", errorFields(error));
    }
  });
}

function adminRows(base: Base, parts: Parts, sandbox: Sandbox | undefined, isReady: () => Promise<boolean>): readonly Route[] {
  const { config, clock, metrics } = base;
  const { sql } = parts;
  const LISTED_MAX = 200;
  return [
    ...operationsRoutes({ metrics, ready: isReady }),
    ...adminRoutes({
      listFirms: () => orTemporary(listFirms(sql, LISTED_MAX)),
      createFirm: async (firm) => {
        const made = await orTemporary(makeFirm({ sql, environment: config.ENVIRONMENT }, firm));
        if (typeof made === "string") throw new Refusal("REQUEST_INVALID", [{ field: "participantId", message: "Belongs to another firm already." }]);
        return made;
      },
      listIntegrators: () => orTemporary(listIntegrators(sql, LISTED_MAX)),
      createIntegrator: (integrator) => orTemporary(makeIntegrator({ sql, environment: config.ENVIRONMENT }, integrator)),
      listDocuments: (query) => orTemporary(listOperatorDocuments(sql, query)),
      findDocument: (id) => orTemporary(findOperatorDocument(sql, id)),
      streams: () => parts.streams.status(),
      oldestDue_s: async () => (await orTemporary(censusOfDocuments(sql, clock.now()))).oldestDue_s,
      sampleInvoice: (lines) => sandbox === undefined ? undefined : sampleInvoice({
        sender: DEMO_FIRMS.sender.participantId, receiver: DEMO_FIRMS.receiver.participantId, senderName: DEMO_FIRMS.sender.name,
        receiverName: DEMO_FIRMS.receiver.name, number: `F-${newId(clock)}`, issueDate: bratislavaDay(clock.now()), lines,
      }),
    }),
  ];
}

async function listen(base: Base, options: EngineOptions, where: { readonly host: string; readonly port: number }, rows: readonly Route[], ports: PipelinePorts): Promise<RunningServer> {
  const { config, clock, stack } = base;
  const trustedProxies = config.TRUSTED_PROXIES.flatMap((text) => parseCidr(text) ?? []);
  try {
    const server = await startServer({
      ...where, ...(options.serverForm === undefined ? {} : { form: options.serverForm }), monotonic: () => clock.monotonic(),
      onRequest: createPipeline({ rows, ports, trustedProxies }),
    });
    stack.add(async () => { await server.drain(); });
    return server;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EADDRINUSE") throw new ConfigError([`Port ${where.port} on ${where.host} is taken; choose another PORT or ADMIN_PORT.`]);
    throw error;
  }
}

const urlHost = (host: string): string => (host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host);

/** Checks what must be true of the build and the machine before anything starts. */
function checkMachine(config: Config): void {
  assertTimeZoneData();
  const broken = LIMIT_RELATIONS.find((relation) => !relation.holds);
  if (broken !== undefined) throw new Error(`limits.ts contradicts itself: ${broken.because}`);
  const wrong = config.TRUSTED_PROXIES.filter((text) => parseCidr(text) === undefined);
  if (wrong.length > 0) throw new ConfigError(["TRUSTED_PROXIES must be a comma-separated list of addresses or CIDRs."]);
}

/**
 * Starts the engine and resolves when it is ready.
 * @throws ConfigError, EmbeddedError, MigrationError with sentences for the operator; what had started is stopped again
 */
export async function startEngine(config: Config, options: EngineOptions = {}): Promise<Engine> {
  checkMachine(config);
  const clock = options.clock ?? systemClock;
  const log = createLog(config.LOG_LEVEL, options.logTo);
  const stack = new Stack();
  const dataDir = claimDataDir(config.DATA_DIR);
  stack.add(() => { dataDir.release(); });
  const base: Base = { config, clock, log, metrics: createMetrics(), stack, dataDir: dataDir.path };
  try {
    return await startParts(base, options);
  } catch (error) {
    await stack.unwind(log);
    throw error;
  }
}

/** Port 0 asks for a free one; tokens name the public URL, so it must be known before anything listens. */
const portOf = (host: string, port: number): Promise<number> => port !== 0 ? Promise.resolve(port) : new Promise((resolve, reject) => {
  const probe = createServer();
  probe.once("error", reject);
  probe.listen(0, host, () => {
    const address = probe.address();
    probe.close(() => { resolve(typeof address === "object" && address !== null ? address.port : 0); });
  });
});

async function startParts(given: Base, options: EngineOptions): Promise<Engine> {
  const config: Config = { ...given.config, PORT: await portOf(given.config.HOST, given.config.PORT), ADMIN_PORT: await portOf(given.config.ADMIN_HOST, given.config.ADMIN_PORT) };
  const base: Base = { ...given, config };
  const { clock, log, metrics, stack, dataDir } = base;
  const database = await startDatabase(base);
  const { streams, form } = await startStreams(base, database);
  const publicUrl = config.PUBLIC_URL ?? `http://${urlHost(config.HOST)}:${config.PORT}`;
  const adminUrl = `http://${urlHost(config.ADMIN_HOST)}:${config.ADMIN_PORT}`;
  const parts = await startWork(base, options, database, streams, publicUrl);
  const sandbox = config.ENVIRONMENT === "sandbox" ? await ensureSandbox({ sql: parts.sql, clock }, dataDir, { publicUrl, adminUrl }) : undefined;
  observe(base, parts);

  let draining = false;
  const isReady = async (): Promise<boolean> => {
    if (draining) return false;
    try {
      return (await migrationStatus({ url: database.url })).every((row) => row.state === "applied");
    } catch {
      return false;
    }
  };
  const ports: PipelinePorts = { ...createAuthPorts(parts.identity, sandbox?.admin.token), admit: (row, key) => parts.limiter.admit(row, key), metrics, log, clock };
  await listen(base, options, { host: config.ADMIN_HOST, port: config.ADMIN_PORT }, adminRows(base, parts, sandbox, isReady), ports);
  const server = await listen(base, options, { host: config.HOST, port: config.PORT }, parts.rows, ports);
  metrics.beforeExposition(() => { metrics.set("http_requests_in_flight", {}, server.inFlight()); });
  log.info("ready", { host: config.HOST, port: server.port });
  return {
    publicUrl, adminUrl, sandbox, streams: form, server: server.form,
    stop: () => {
      draining = true;
      log.info("stopping");
      return stack.unwind(log);
    },
  };
}
