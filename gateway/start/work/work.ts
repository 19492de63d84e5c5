/** What requests and stream messages work with: identity, workers, actors, the access point, dispatch. */
import { boxKind, boxThroughActors } from "../../../actors/box.js";
import { partnerKind, partnersThroughActors } from "../../../actors/partner.js";
import type { Partners } from "../../../actors/partner.js";
import { registrationKind, registrationsThroughActors } from "../../../actors/registration.js";
import type { Registrations } from "../../../actors/registration.js";
import { startActors } from "../../../actors/system.js";
import type { ActorSystem } from "../../../actors/system.js";
import { createCursors } from "../../../engine/base/cursors.js";
import { startSweeps } from "../../../engine/documents/retention.js";
import { createInbox } from "../../../engine/documents/inbound/inbox.js";
import { provider } from "../../../engine/documents/provider.js";
import type { DocumentWorkers } from "../../../engine/documents/accept/validators.js";
import { createAnnouncer } from "../../../engine/events/announcer.js";
import { startRelay } from "../../../engine/events/outbox.js";
import type { Deliverer } from "../../../engine/events/webhooks/deliverer.js";
import type { Streams } from "../../../engine/events/streams.js";
import type { Identity } from "../../../engine/identity/identity.js";
import type { DocumentId, FirmId, ReceivedDocumentId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import type { Expiry } from "../../../engine/peppol/pki/own-keys.js";
import { startMeter } from "../../../engine/billing/meter.js";
import { createLoopback } from "../../../engine/peppol/loopback.js";
import type { Receive } from "../../../engine/peppol/transport.js";
import type { ConnectedPeers } from "../../../engine/sandbox/sandbox.js";
import { useFactsSealer } from "../../../engine/storage/keyring/facts.js";
import { findPayloadBytes } from "../../../engine/storage/payloads/find.js";
import type { Sealer } from "../../../engine/storage/sealer.js";
import { orTemporary } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import type { NoWorker, ValidatorPool } from "../../../validators/pool.js";
import { nodeName, openKeys } from "../data-dir.js";
import type { RateLimiter } from "../../request/rate-limit.js";
import type { Route } from "../../contract/route.js";
import type { Base, Database } from "../infrastructure.js";
import { startLookups } from "../lookup.js";
import { publicRows } from "../operations.js";
import { startWhiteLabel } from "../white-label.js";
import type { WhiteLabel } from "../white-label.js";
import { startPeople } from "../people.js";
import type { PeopleParts } from "../people.js";
import { alsoTelling, startWebhooks } from "../webhooks.js";
import type { WebhookParts } from "../webhooks.js";
import { startWorkers } from "./threads.js";
import type { Ground } from "./ground.js";
import { leaseOwnerOf } from "./ground.js";
import { startCounting, startArchive, startPayloadStore, unopenedTold } from "./keeping.js";
import { startOwners } from "./owners.js";
import { startDispatch, loopbackCapacity } from "./dispatch.js";
import { startIdentity, startLimiter } from "./identity.js";
import { startNetwork, LOOPBACK_SEAT } from "./network.js";
import type { WorkOptions } from "./network.js";

/** What runs, as the listeners and the operators need it. */
export interface Work extends PeopleParts {
  readonly sql: Sql;
  /** Id of the master key that this node seals with. */
  readonly masterKeyId: string;
  readonly identity: Identity;
  readonly streams: Streams;
  readonly actors: ActorSystem;
  readonly pool: ValidatorPool;
  /** Resolves once a thread has had a job, or with the reason why none can. */
  threadsWork(): Promise<NoWorker | undefined>;
  readonly limiter: RateLimiter;
  readonly rows: readonly Route[];
  readonly whiteLabel: WhiteLabel;
  /** Undefined where participants are not registered in the network. */
  readonly registrations: Registrations | undefined;
  /** Participants with a fate; undefined where there are none. */
  readonly peers: ConnectedPeers | undefined;
  /** Certificates of ours and of the authorities that we trust; none without an access point. */
  expiries(): readonly Expiry[];
  /** As the pipeline's port. @throws Refusal TEMPORARY */
  documentBytes(id: string, firmId: FirmId | undefined): Promise<number>;
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
  const { pool, validators, jobs, threadsWork } = await startWorkers(base, sealer);
  let deliverer: Deliverer | undefined;
  const relay = alsoTelling(startRelay({ sql, streams, log, metrics }), () => deliverer?.poke());
  stack.add("outbox", () => relay.stop());
  const actors = startActors({ log, metrics, monotonic: () => clock.monotonic() });
  const ground: Ground = { base, sql, streams, sealer, validators, relay, actors, node: await nodeName(dataDir) };

  const inbox = createInbox({ sql, sealer, cursors, clock });
  /** The inbound path: what takes time first, then one turn of the receiving participant at a time. */
  const receive: Receive = (exchange, prove) => arrive(exchange, prove);
  const archive = await startArchive(base, sql, sealer);
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
  const { document, participant, message, arrive, recipients } = startOwners(ground, {
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
  let stopBeats = (): Promise<void> => Promise.resolve();
  // Others take a process that they do not hear for dead, and do again what its actors are still doing.
  stack.add("beats", () => stopBeats());
  stack.add("actors", () => actors.stop());
  const boxes = boxKind({
    ...{ sql, sealer, clock, log, validators, actors, document, owner: leaseOwnerOf(ground.node) },
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
  const webhooks = startWebhooks(base, { ...ground, cursors, publicUrl, owner: leaseOwnerOf(ground.node) });
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
    ...{ identity, streams, actors, pool, threadsWork, limiter, rows },
    ...people,
    registrations,
    whiteLabel,
    peers,
    expiries: () => accessPoint?.keys.expiries() ?? [],
    documentBytes: async (id, firmId) => (await orTemporary(findPayloadBytes(sql, { id, firmId }))) ?? 0,
    release: (id) => actors.ask(document, id, "Release", null),
    hasten: async (id) => (await actors.ask(document, id, "Hasten", null)) && wakeDispatcher(),
    ...{ withdraw: partners.revokeConsent, webhooks: webhooks.rows, sealer, validators },
    dispatch: async () => {
      const capacityOf = accessPoint?.capacityOf ?? loopbackCapacity;
      // While the listener is still there and nothing more is sent to them.
      if (peers !== undefined) stack.add("answers of the sandbox", () => peers.settle());
      if (options.role === "gateway") return;
      const meter = startMeter({ sql, clock, log });
      stack.add("meter", () => meter.stop());
      stack.add("sweeps", startSweeps({ sql, clock, log, payloads }));
      const afterActors = (stop: () => Promise<void>): void => {
        stopBeats = stop;
      };
      work = await startDispatch(ground, {
        databaseUrl: database.url,
        ...{ document, message, box: boxes, self, capacityOf, afterActors },
      });
      deliverer = await webhooks.deliver();
    },
  };
}
