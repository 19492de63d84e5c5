/** What requests and stream messages work with: identity, workers, actors, the access point, dispatch. */
import { boxKind, boxThroughActors } from "../../actors/box.js";
import type { BoxKind } from "../../actors/box.js";
import { startBoxDispatcher } from "../../actors/box-dispatcher.js";
import type { BoxDispatcher } from "../../actors/box-dispatcher.js";
import { consumeDispatch } from "../../actors/consumers.js";
import { documentKind } from "../../actors/document.js";
import type { DocumentKind } from "../../actors/document.js";
import { startDispatcher } from "../../actors/dispatcher.js";
import type { Dispatcher } from "../../actors/dispatcher.js";
import { messageKind } from "../../actors/message.js";
import type { MessageKind } from "../../actors/message.js";
import { participantKind } from "../../actors/participant.js";
import type { ParticipantKind } from "../../actors/participant.js";
import { partnerKind, partnersThroughActors } from "../../actors/partner.js";
import type { Partners } from "../../actors/partner.js";
import { registrationKind, registrationsThroughActors } from "../../actors/registration.js";
import type { Registrations } from "../../actors/registration.js";
import { startStatusWork } from "../../actors/status-work.js";
import type { StatusWork } from "../../actors/status-work.js";
import { startActors } from "../../actors/system.js";
import type { ActorSystem } from "../../actors/system.js";
import { ConfigError } from "../../engine/base/config.js";
import { errorFields, oncePerSecond } from "../../engine/base/log.js";
import { createCursors } from "../../engine/base/cursors.js";
import type { As4Crypto } from "../../engine/peppol/as4/messages.js";
import type { ReceiverCapacity } from "../../engine/documents/delivery/claims.js";
import type { Reserve } from "../../engine/documents/delivery/first-attempt.js";
import { as4Workers, smpWorkers } from "../../engine/documents/inbound/arrival-workers.js";
import { EXCHANGE_KINDS } from "../../engine/documents/inbound/exchange-kinds.js";
import { createInbound } from "../../engine/documents/inbound/receive.js";
import type { InboundPorts } from "../../engine/documents/inbound/receive.js";
import { startSweeps } from "../../engine/documents/retention.js";
import { createInbox } from "../../engine/documents/inbound/inbox.js";
import { provider } from "../../engine/documents/provider.js";
import type { DueStatusWork, Provider } from "../../engine/documents/provider.js";
import { createValidators } from "../../engine/documents/accept/validators.js";
import type { DocumentWorkers } from "../../engine/documents/accept/validators.js";
import { createAnnouncer } from "../../engine/events/announcer.js";
import { startRelay } from "../../engine/events/outbox.js";
import type { Relay } from "../../engine/events/outbox.js";
import type { Deliverer } from "../../engine/events/webhooks/deliverer.js";
import type { Streams } from "../../engine/events/streams.js";
import { createIdentity } from "../../engine/identity/identity.js";
import type { Identity } from "../../engine/identity/identity.js";
import { createPulse } from "../../engine/identity/nodes/pulse.js";
import { participantKey } from "../../engine/base/ids.js";
import type { DocumentId, ReceivedDocumentId } from "../../engine/base/ids.js";
import { LIMITS } from "../../engine/base/limits.js";
import { budget } from "../../engine/base/memory/budgets.js";
import { ownTurn } from "../../engine/base/memory/turns.js";
import type { As4Jobs } from "../../engine/peppol/as4/jobs.js";
import { openAccessPoint } from "../../engine/peppol/access-point.js";
import type { AccessPoint, AccessPointOptions } from "../../engine/peppol/access-point.js";
import type { Expiry } from "../../engine/peppol/pki/own-keys.js";
import { startMeter } from "../../engine/billing/meter.js";
import { createLoopback } from "../../engine/peppol/loopback.js";
import { createRecipients } from "../../engine/peppol/discovery/acceptance.js";
import type { Recipients } from "../../engine/peppol/discovery/acceptance.js";
import type { Receive, Transport } from "../../engine/peppol/transport.js";
import type { ConnectedPeers, ScriptedPeers } from "../../engine/sandbox/sandbox.js";
import type { DispatchPorts } from "../../engine/documents/delivery/dispatch.js";
import { releaseLeases } from "../../engine/storage/documents/attempts.js";
import { createEvidenceArchive } from "../../engine/storage/evidence/archive.js";
import type { EvidenceArchive } from "../../engine/storage/evidence/archive.js";
import { createEvidenceCounts } from "../../engine/storage/evidence/counted.js";
import { openEvidenceStore } from "../../engine/storage/evidence/stores.js";
import { findOwnParticipant } from "../../engine/storage/documents/received.js";
import { isReceipted, releaseServiceLeases } from "../../engine/storage/documents/service-messages.js";
import { openCounting } from "../../engine/storage/reporting.js";
import { hasMovedPayloads } from "../../engine/storage/payloads/move.js";
import { openPayloadStore, usePayloadStore } from "../../engine/storage/payloads/payload-store.js";
import type { PayloadStore } from "../../engine/storage/payloads/payload-store.js";
import { useFactsSealer } from "../../engine/storage/keyring/facts.js";
import type { OnUnopened } from "../../engine/storage/keyring/facts.js";
import { findPayloadBytes } from "../../engine/storage/payloads/find.js";
import type { Sealer } from "../../engine/storage/sealer.js";
import { openSql, orTemporary } from "../../engine/storage/sql.js";
import type { Sql } from "../../engine/storage/sql.js";
import { createPool, workerEntry } from "../../validators/pool.js";
import type { ValidatorPool } from "../../validators/pool.js";
import type { Lane } from "../../validators/protocol.js";
import { keepQuarantined, nodeName, openKeys } from "./data-dir.js";
import { createRateLimiter } from "../request/rate-limit.js";
import type { RateLimiter } from "../request/rate-limit.js";
import type { Route } from "../contract/route.js";
import { VERSION } from "./console/version.js";
import type { Base, Database } from "./infrastructure.js";
import { startLookups } from "./lookup.js";
import { publicRows } from "./operations.js";
import { startWhiteLabel } from "./white-label.js";
import type { WhiteLabel } from "./white-label.js";
import { scriptedPeersOf } from "./sandbox.js";
import { tracedPool } from "./tracing/tracing.js";
import { startPeople } from "./people.js";
import type { PeopleParts } from "./people.js";
import { watchPacks, whyPacksAreRefused } from "./rule-packs.js";
import { alsoTelling, startWebhooks } from "./webhooks.js";
import type { WebhookParts } from "./webhooks.js";

/** What runs, as the listeners and the operators need it. */
export interface Work extends PeopleParts {
  readonly sql: Sql;
  /** Id of the master key that this node seals with. */
  readonly masterKeyId: string;
  readonly identity: Identity;
  readonly streams: Streams;
  readonly actors: ActorSystem;
  readonly pool: ValidatorPool;
  readonly limiter: RateLimiter;
  readonly rows: readonly Route[];
  readonly whiteLabel: WhiteLabel;
  /** Undefined where participants are not registered in the network. */
  readonly registrations: Registrations | undefined;
  /** Participants with a fate; undefined where there are none. */
  readonly peers: ConnectedPeers | undefined;
  /** Certificates of ours and of the authorities that we trust; none without an access point. */
  expiries(): readonly Expiry[];
  /** Octets of a document's payload; 0 where there is none. @throws Refusal TEMPORARY */
  documentBytes(id: string): Promise<number>;
  /** Shows a held document to its firm; answers whether it was held. */
  release(id: ReceivedDocumentId): Promise<boolean>;
  /** Tries a document now that waits for its next attempt; answers whether it waited. */
  hasten(id: DocumentId): Promise<boolean>;
  /** Ends what an integrator may do for a firm; answers whether there was anything to end. */
  readonly withdraw: Partners["revokeConsent"];
  readonly webhooks: WebhookParts;
  readonly sealer: Sealer;
  readonly validators: DocumentWorkers;
  /** Begins to send what is due. Our own /as4 must be open by then: the sandbox's documents go there. */
  dispatch(): Promise<void>;
}

interface WorkOptions {
  /** A process with the role `gateway` serves requests but sends nothing. */
  readonly role: "all" | "gateway" | "worker";
  /** `loopback` hands documents over without a network. */
  readonly transport: "as4" | "loopback";
  readonly publicUrl: string;
}

/** The seat that stands in evidence and reports when there is no access point. */
const LOOPBACK_SEAT = "PSK000000";

/** Threads, and what is asked of them. */
interface Workers {
  readonly pool: ValidatorPool;
  readonly validators: DocumentWorkers;
  readonly jobs: As4Jobs;
}

async function startWorkers({ config, clock, log, metrics, stack, dataDir }: Base, sealer: Sealer): Promise<Workers> {
  const refusal = config.RULES_DIR === undefined ? undefined : await whyPacksAreRefused(config.RULES_DIR);
  if (refusal !== undefined) throw new ConfigError([refusal]);
  const judged = (lane: Lane, time_ms: number): void => {
    metrics.observe("validation_duration_seconds", { lane }, time_ms / 1_000);
  };
  const workers = createPool({
    threads: { small: config.VALIDATOR_THREADS, large: 1 },
    abreast: EXCHANGE_KINDS,
    queueMax: LIMITS.validator_queue_max,
    queueBytesMax: budget("validator_queue_bytes_max"),
    keyShare: LIMITS.validator_key_share,
    niceness: { small: 0, large: LIMITS.validator_large_niceness },
    ownWaitingMax: LIMITS.validator_own_waiting_max,
    jobTimeoutMs: LIMITS.validator_document_timeout_ms,
    preload: ["validate"],
    turn: ownTurn,
    workerFile: workerEntry("gateway/start/worker.js"),
    onDone: ({ kind, lane, time_ms }) => {
      if (kind === "validate") judged(lane, time_ms);
    },
    onQuarantine: (job) => {
      log.error("validator.quarantined", { code: job.sha256, outcome: job.reason });
      keepQuarantined(dataDir, sealer, job);
    },
  });
  const pool = tracedPool(workers);
  stack.add(() => pool.stop());
  const rulesDir = config.RULES_DIR;
  if (rulesDir !== undefined) stack.add(watchPacks(rulesDir, log));
  return {
    pool,
    validators: createValidators(pool, metrics, rulesDir),
    jobs: as4Workers({
      pool,
      clock,
      metrics,
      rulesDir,
      onJudged: (took_ms) => {
        judged("small", took_ms);
      },
    }),
  };
}

/** What the actors, the stream consumers and the rows are all made of. */
interface Ground {
  readonly base: Base;
  readonly sql: Sql;
  readonly streams: Streams;
  readonly sealer: Sealer;
  readonly validators: DocumentWorkers;
  readonly relay: Relay;
  readonly actors: ActorSystem;
  readonly node: string;
}

/** The name under which this process takes leases. */
const ownerOf = (node: string): string => `${node}/${process.pid}`;

/** Where months are counted; see openCounting. */
function startCounting({ stack }: Base, { url }: Database): Sql {
  const countSql = openCounting(url);
  stack.add(() => countSql.end({ timeout: LIMITS.child_stop_timeout_ms / 1000 }));
  return countSql;
}

/** The kinds of actor that own documents and messages. */
interface Peers {
  readonly document: DocumentKind;
  readonly participant: ParticipantKind;
  readonly message: MessageKind;
  /** The inbound path through them. */
  readonly arrive: Receive;
  /** What is known of those to whom documents go. */
  readonly recipients: Recipients;
}

/** The actors around a transport and an inbound path. */
function startPeers(
  { base: { clock, log, metrics, config }, sql, sealer, validators, relay, actors, node }: Ground,
  parts: {
    readonly transport: Transport;
    readonly accessPoint: AccessPoint | undefined;
    readonly provider: Provider;
    readonly countSql: Sql;
    readonly wakeStatuses: (due: DueStatusWork) => void;
    readonly wakeDispatcher: () => void;
    readonly reserve: Reserve;
    readonly planOf: NonNullable<DispatchPorts["planOf"]>;
  },
): Peers {
  const { transport, accessPoint, provider: self, countSql, wakeStatuses, wakeDispatcher, reserve, planOf } = parts;
  const recipients =
    accessPoint?.recipients ??
    createRecipients(async (participant) => {
      const own = await findOwnParticipant(sql, participant);
      return own?.capabilities;
    }, clock);
  const shared = {
    sql,
    sealer,
    clock,
    metrics,
    log,
    validators,
    provider: self,
    owner: ownerOf(node),
    poke: () => {
      relay.poke();
    },
    announce: relay.take,
    published: relay.published,
  };
  const document = documentKind({
    send: {
      ...shared,
      recipients,
      reserve,
      poke: wakeDispatcher,
    },
    dispatch: { ...shared, transport, planOf },
    statuses: shared,
    duties: shared,
    respond: {
      ...shared,
      poke: () => {
        wakeStatuses("messages");
      },
    },
  });
  const inbound: InboundPorts = { ...shared, poke: wakeStatuses };
  const participant = participantKind({ actors, document, inbound });
  return {
    document,
    participant,
    recipients,
    arrive: createInbound(inbound, (arrival) =>
      actors.ask(participant, participantKey(arrival.exchange.receiver), "Receive", arrival),
    ),
    message: messageKind({
      ...shared,
      countSql,
      transport,
      environment: config.ENVIRONMENT,
      ...(accessPoint === undefined ? {} : { isReceipted: (id: string) => isReceipted(sql, id) }),
    }),
  };
}

interface DispatchParts extends Pick<Peers, "document" | "message"> {
  readonly box: BoxKind;
  readonly self: Provider;
  readonly capacityOf: (receiver: string) => ReceiverCapacity;
}

/** Inside the process nobody is slow, and nobody is overrun. */
const loopbackCapacity = (receiver: string): ReceiverCapacity => ({
  key: receiver,
  places: LIMITS.attempts_per_receiver_max,
  typical_ms: LIMITS.receiver_quick_ms,
});

/** Frees what the last process on this DATA_DIR held, and starts to make what is due. */
async function startDispatch(
  { base: { clock, log, metrics, stack }, sql, streams, sealer, validators, actors, node }: Ground,
  { document, message, box, self, capacityOf }: DispatchParts,
): Promise<{ readonly statuses: StatusWork; readonly dispatcher: Dispatcher; readonly box: BoxDispatcher }> {
  const freed = await releaseLeases(sql, node);
  await releaseServiceLeases(sql, node);
  if (freed > 0) log.info("dispatch.leases_freed", { count: freed });
  const dispatcher = await startDispatcher({
    sql,
    actors,
    document,
    clock,
    log,
    metrics,
    owner: ownerOf(node),
    capacityOf,
  });
  stack.add(() => dispatcher.stop());
  const consumer = await consumeDispatch(streams, dispatcher);
  stack.add(() => consumer.stop());
  const statuses = startStatusWork({
    sql,
    sealer,
    clock,
    log,
    validators,
    provider: self,
    owner: ownerOf(node),
    actors,
    document,
    message,
  });
  stack.add(() => statuses.stop());
  const boxes = startBoxDispatcher({ sql, actors, box, clock, log, metrics, owner: ownerOf(node), node });
  stack.add(() => boxes.stop());
  return { statuses, dispatcher, box: boxes };
}

interface IdentityParts extends Pick<WorkOptions, "role" | "publicUrl"> {
  readonly database: Database;
  readonly sealer: Sealer;
}

/** Identity of this node, listening to what the others announce. */
async function startIdentity(
  { config, clock, log, metrics, stack, dataDir }: Base,
  { database, sealer, publicUrl, role }: IdentityParts,
): Promise<Identity> {
  const issuance = config.FIRM_KEY_ISSUANCE;
  const loginSql = openSql({ url: database.url, name: "kurier-logins", connections: LIMITS.db_login_connections });
  stack.add(() => loginSql.end({ timeout: LIMITS.child_stop_timeout_ms / 1000 }));
  const identity = createIdentity({
    sql: database.sql,
    loginSql,
    databaseUrl: database.url,
    sealer,
    clock,
    log,
    metrics,
    environment: config.ENVIRONMENT,
    publicUrl,
    facts: createPulse({ metrics, clock }, { name: ownerOf(await nodeName(dataDir)), version: VERSION, role }),
    ...(issuance === undefined ? {} : { firmKeyIssuance: issuance === "enabled" }),
  });
  await identity.start();
  stack.add(() => identity.stop());
  return identity;
}

/** The rates of this node and its share of those of all. */
function startLimiter({ clock, stack }: Base, identity: Identity): RateLimiter {
  const limiter = createRateLimiter({ clock, peers: identity.peers });
  const sweeper = setInterval(() => {
    limiter.sweep();
  }, LIMITS.rate_window_ms);
  sweeper.unref();
  stack.add(() => {
    clearInterval(sweeper);
  });
  return limiter;
}

/** The evidence of this node, which is written to its end before the database is left. */
function startArchive({ config, clock, metrics, stack, dataDir }: Base, sql: Sql, sealer: Sealer): EvidenceArchive {
  const store = openEvidenceStore(config.EVIDENCE_STORE, dataDir, clock);
  const counts = createEvidenceCounts({ metrics, clock });
  const archive = createEvidenceArchive({ sql, store, sealer, clock, counts });
  stack.add(() => archive.stop());
  return archive;
}

/** Where payloads go that are old. @throws ConfigError when some have gone and nobody says where */
async function startPayloadStore({ config, clock }: Base, sql: Sql): Promise<PayloadStore | undefined> {
  if (config.PAYLOAD_STORE === undefined) {
    if (await hasMovedPayloads(sql))
      throw new ConfigError(["PAYLOAD_STORE is missing: payloads of this database are in one."]);
    return undefined;
  }
  const store = openPayloadStore(config.PAYLOAD_STORE, clock);
  usePayloadStore(sql, store);
  return store;
}

/** What operators hear of sealed values that do not open, however often lists show their rows. */
function unopenedTold({ log, clock, metrics }: Base): OnUnopened {
  const sampled = { log: oncePerSecond(log, clock) };
  return (documentId, error) => {
    metrics.count("sealed_unopened_total", {});
    sampled.log.error("storage.value_unopened", { documentId, ...errorFields(error) });
  };
}

type NetworkParts = Workers & Pick<AccessPointOptions, "sql" | "sealer" | "archive" | "receive">;

/** What documents leave this process by; undefined is what is not there. */
interface Network {
  readonly accessPoint: AccessPoint | undefined;
  readonly scripted: ScriptedPeers | undefined;
  readonly peers: ConnectedPeers | undefined;
}

/** Other access points, and those that a sandbox plays; none of them where documents never leave this process. */
async function startNetwork(base: Base, { transport, publicUrl }: WorkOptions, parts: NetworkParts): Promise<Network> {
  const { config, clock, log, metrics, stack, dataDir } = base;
  if (transport === "loopback") return { accessPoint: undefined, scripted: undefined, peers: undefined };
  const { validators, pool, jobs, ...rest } = parts;
  // Signatures of ours and of what we looked up: as many as there are attempts, look-ups and answers under way.
  const crypto: As4Crypto = (kind, input) => pool.run(kind, input, { fairnessKey: "as4", own: true });
  const network = { publicUrl, crypto, jobs, reader: smpWorkers(pool) };
  const scripted = scriptedPeersOf(base, { ...network, validators });
  const accessPoint = await openAccessPoint({
    ...{ config, dataDir, clock, log, metrics, ...rest, ...network },
    ...(scripted === undefined ? {} : { others: scripted.find }),
  });
  const peers = scripted?.connect(accessPoint);
  stack.add(() => {
    peers?.stop();
    accessPoint.stop();
  });
  return { accessPoint, scripted, peers };
}

/** Starts everything between the database and the listeners. @throws ConfigError with sentences for the operator */
export async function startWork(base: Base, options: WorkOptions, database: Database, streams: Streams): Promise<Work> {
  const { config, clock, log, metrics, stack, dataDir } = base;
  const { sql } = database;
  const { publicUrl } = options;
  const { sealer, keys } = await openKeys(sql, config, { dataDir, clock });
  useFactsSealer(sql, sealer, unopenedTold(base));
  const cursors = createCursors(keys[0], keys.slice(1));
  const payloads = await startPayloadStore(base, sql);

  const identity = await startIdentity(base, { database, sealer, publicUrl, role: options.role });
  const { pool, validators, jobs } = await startWorkers(base, sealer);
  let deliverer: Deliverer | undefined;
  const relay = alsoTelling(startRelay({ sql, streams, log, metrics }), () => deliverer?.poke());
  stack.add(() => relay.stop());
  const actors = startActors({ log, metrics, monotonic: () => clock.monotonic() });
  const ground: Ground = { base, sql, streams, sealer, validators, relay, actors, node: await nodeName(dataDir) };

  const inbox = createInbox({ sql, sealer, cursors, clock });
  /** The inbound path: what takes time first, then one turn of the receiving participant at a time. */
  const receive: Receive = (exchange, prove) => arrive(exchange, prove);
  const archive = startArchive(base, sql, sealer);
  const { accessPoint, scripted, peers } = await startNetwork(base, options, {
    ...{ sql, sealer, archive, receive, validators, pool, jobs },
  });

  const self = provider(accessPoint?.keys.ap().seat ?? LOOPBACK_SEAT, LIMITS.home_country);
  const announce = createAnnouncer({ streams, log });
  let work: Awaited<ReturnType<typeof startDispatch>> | undefined;
  // Whoever accepts a document attempts it, too, where it sends; a process that does not tells those that do.
  const wakeDispatcher = (): true => {
    (work?.dispatcher.poke ?? announce)();
    return true;
  };
  const { document, participant, message, arrive, recipients } = startPeers(ground, {
    transport: accessPoint?.transport ?? createLoopback(receive),
    accessPoint,
    provider: self,
    countSql: startCounting(base, database),
    wakeStatuses: (due) => {
      work?.statuses.poke(due);
    },
    wakeDispatcher,
    reserve: (receiver, payloadBytes) => work?.dispatcher.reserve(receiver, payloadBytes),
    planOf: (receiver) => scripted?.planOf(receiver),
  });
  stack.add(() => actors.stop());
  const boxes = boxKind({
    ...{ sql, sealer, clock, log, validators, actors, document, owner: ownerOf(ground.node) },
    poke: () => {
      work?.box.poke();
    },
    pokeDocuments: wakeDispatcher,
  });

  const limiter = startLimiter(base, identity);
  const people = startPeople(base, { sql, actors, identity, publicUrl });
  const partners = partnersThroughActors(actors, partnerKind(identity));
  const tenants = { identity, partners, environment: config.ENVIRONMENT, ...people };
  const box = boxThroughActors({ actors, clock }, boxes);
  const lookups = startLookups(base, { sql, accessPoint });
  const registering = accessPoint?.registrations;
  const registrations =
    registering === undefined ? undefined : registrationsThroughActors(actors, registrationKind(registering));
  const whiteLabel = startWhiteLabel(base, { sql, sealer, cursors, actors, registrations, accessPoint, publicUrl });
  const webhooks = startWebhooks(base, { ...ground, cursors, owner: ownerOf(ground.node) });
  const rows = publicRows(
    {
      ...{ clock, log, metrics, sql, sealer, cursors, inbox, validators, archive, actors, document, participant },
      ...{ ...tenants, recipients, lookups, webhooks: webhooks.rows, box, whiteLabel },
    },
    accessPoint,
    peers,
  );
  return {
    sql,
    masterKeyId: sealer.keyId,
    ...{ identity, streams, actors, pool, limiter, rows },
    ...people,
    registrations,
    whiteLabel,
    peers,
    expiries: () => accessPoint?.keys.expiries() ?? [],
    documentBytes: async (id) => (await orTemporary(findPayloadBytes(sql, id))) ?? 0,
    release: (id) => actors.ask(document, id, "Release", null),
    hasten: async (id) => (await actors.ask(document, id, "Hasten", null)) && wakeDispatcher(),
    ...{ withdraw: partners.revokeConsent, webhooks: webhooks.rows, sealer, validators },
    dispatch: async () => {
      const capacityOf = accessPoint?.capacityOf ?? loopbackCapacity;
      // While the listener is still there and nothing more is sent to them.
      if (peers !== undefined) stack.add(() => peers.settle());
      if (options.role === "gateway") return;
      const meter = startMeter({ sql, clock, log });
      stack.add(() => meter.stop());
      stack.add(startSweeps({ sql, clock, log, payloads }));
      work = await startDispatch(ground, { document, message, box: boxes, self, capacityOf });
      deliverer = await webhooks.deliver();
    },
  };
}
