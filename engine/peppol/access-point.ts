/** Our access point put together: keys, trust, look-up, the way out, the way in, and the metadata that we publish. */
import type { Clock } from "../base/clock.js";
import { ConfigError } from "../base/config.js";
import type { Config } from "../base/config.js";
import { LIMITS } from "../base/limits.js";
import { oncePerSecond } from "../base/log.js";
import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import type { EvidenceArchive } from "../storage/evidence/archive.js";
import { findRegistration } from "../storage/registrations.js";
import type { Sealer } from "../storage/sealer.js";
import type { Sql } from "../storage/sql.js";
import type { As4Jobs } from "./as4/jobs.js";
import type { As4Crypto } from "./as4/messages.js";
import { createAs4Receiver } from "./as4/receive.js";
import type { As4Receiver } from "./as4/receive.js";
import { createAs4Transport } from "./as4/send.js";
import { peerTrust, smpEndpoints } from "./as4/trust.js";
import { createHttpClient } from "./network/http.js";
import type { Http } from "./network/http.js";
import type { OutboundPolicy } from "./network/outbound-address.js";
import { authoritiesOf } from "./pki/paths.js";
import { createPki } from "./pki/pki.js";
import type { Pki } from "./pki/pki.js";
import type { OwnKeys } from "./pki/own-keys.js";
import { createRevocation } from "./pki/revocation.js";
import { openOwnPki } from "./pki/setup.js";
import { providerOfSeat } from "./seats.js";
import { publishedParticipants } from "./discovery/published.js";
import { createReceivers } from "./as4/send-gate.js";
import type { Receivers } from "./as4/send-gate.js";
import type { Recipients } from "./discovery/acceptance.js";
import type { NetworkRegistrationPorts } from "./discovery/registrations.js";
import { openRegistrationPorts, openSml } from "./discovery/registrations-setup.js";
import { createSmpLookup } from "./discovery/smp.js";
import type { SmpLookup } from "./discovery/smp.js";
import type { SmpReader } from "./discovery/smp-document.js";
import { createSmpRecipients } from "./discovery/smp-recipients.js";
import { createSmpServer } from "./discovery/smp-server.js";
import type { PublishedParticipant, SmpServer } from "./discovery/smp-server.js";
import { createEmbeddedSource, createNetworkSource } from "./discovery/smp-source.js";
import { createStaticLookup, loadStaticRoutes } from "./discovery/smp-static.js";
import type { Receive, Transport } from "./transport.js";

/** What an access point is made of. */
export interface AccessPointOptions {
  readonly config: Config;
  readonly dataDir: string;
  /** Origin under which others reach us. */
  readonly publicUrl: string;
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly crypto: As4Crypto;
  /** Does what is proportional to a message, in workers. */
  readonly jobs: As4Jobs;
  /** Verifies and reads what an SMP answers, in workers. */
  readonly reader: SmpReader;
  readonly archive: EvidenceArchive;
  readonly receive: Receive;
  /** Participants of another access point for which our SMP answers too. @default none */
  readonly others?: (participantKey: string) => Promise<PublishedParticipant | undefined>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/**
 * The parts of our access point that the rest of the engine uses. `stop` ends its watch on keys and its connections.
 */
export interface AccessPoint {
  readonly transport: Transport;
  /** What there is room for at the access point of a participant, given in lower case. */
  readonly capacityOf: Receivers["capacityOf"];
  readonly receiver: As4Receiver;
  readonly smpServer: SmpServer;
  readonly lookup: SmpLookup;
  readonly recipients: Recipients;
  readonly pki: Pki;
  readonly keys: OwnKeys;
  /** What registering participants needs; undefined where this engine does not register them. */
  readonly registrations: NetworkRegistrationPorts | undefined;
  stop(): void;
}

/**
 * Opens our access point from the configuration.
 * @throws ConfigError with sentences for the operator
 */
export async function openAccessPoint(options: AccessPointOptions): Promise<AccessPoint> {
  const { config, dataDir, publicUrl, sql, sealer, crypto, jobs, archive, receive, clock, log, metrics } = options;
  const { store, keys } = await openOwnPki({ config, dataDir, clock, log });
  const policy: OutboundPolicy = {
    allowLoopback: config.ENVIRONMENT === "sandbox",
    ownOrigins: [new URL(publicUrl).origin],
  };
  const client = createHttpClient({ policy });
  const http = client.request;
  const pki = createPki({ store, mode: config.REVOCATION, revocation: createRevocation({ http, clock }), clock, log });
  const registrations = openRegistrationPorts({ config, sql, sealer, keys, clock });
  const ours = publishedParticipants(sql, keys, clock);
  const smpServer = createSmpServer({
    find: async (key) => (await options.others?.(key)) ?? (await ours(key)),
    crypto,
    keys,
    endpointUrl: `${publicUrl}/as4`,
    baseUrl: `${publicUrl}/smp`,
    log: oncePerSecond(log, clock),
  });
  const lookup = await openLookup(options, { pki, policy, http, smpServer });
  const own = { current: () => keys.ap(), all: () => keys.apKeys() };
  const trust = peerTrust(pki);
  const receivers = createReceivers({ clock });
  const watch = keys.watch();
  if (registrations !== undefined) await sayWhetherWeAreFound(sql, keys, log);
  metrics.beforeExposition(() => {
    metrics.set("receivers_down", {}, receivers.open());
    const ends = new Map<string, number>();
    for (const { usage, notAfter, isInUse } of keys.expiries())
      if (isInUse) ends.set(usage, Math.min(ends.get(usage) ?? Infinity, notAfter));
    for (const [usage, end] of ends) metrics.set("cert_expiry_timestamp_seconds", { usage }, end / 1000);
  });
  return {
    transport: createAs4Transport({
      endpoints: smpEndpoints(lookup, pki.mode),
      trust,
      own,
      crypto,
      jobs,
      http,
      receivers,
      evidence: archive,
      mlsType: config.MLS_TYPE,
      clock,
      log,
    }),
    capacityOf: (participant) => receivers.capacityOf(participant),
    receiver: createAs4Receiver({
      ...{ own, trust, crypto, jobs, receive, clock, metrics, log },
      authorities: authoritiesOf(store),
      evidence: archive,
    }),
    smpServer,
    lookup,
    recipients: createSmpRecipients(lookup),
    pki,
    keys,
    registrations,
    stop: () => {
      watch.stop();
      client.close();
    },
  };
}

/**
 * Warns where we are not registered as a provider: statuses about our documents could not reach us (MLS-2).
 * @source design/as4.md section 11
 */
async function sayWhetherWeAreFound(sql: Sql, keys: OwnKeys, log: Log): Promise<void> {
  const own = providerOfSeat(keys.ap().seat);
  const state = own === undefined ? undefined : (await findRegistration(sql, own))?.state;
  if (own !== undefined && state !== "registered")
    log.warn("provider.not_registered", {
      outcome: state ?? "unregistered",
    });
}

interface LookupParts {
  readonly pki: Pki;
  readonly policy: OutboundPolicy;
  readonly http: Http;
  readonly smpServer: SmpServer;
}

/**
 * Opens the look-up that SMP_MODE names.
 * @source design/interface.md, Environment
 */
async function openLookup(
  { config, reader, clock, log }: AccessPointOptions,
  { pki, policy, http, smpServer }: LookupParts,
): Promise<SmpLookup> {
  const common = { reader, pki, policy, clock, log };
  switch (config.SMP_MODE) {
    case "embedded":
      return createSmpLookup({
        ...common,
        source: createEmbeddedSource(smpServer),
        cache_ms: LIMITS.recipient_cache_ms,
      });
    case "static":
      if (config.SMP_ROUTES === undefined) throw new ConfigError(["SMP_ROUTES must be set when SMP_MODE is static."]);
      return createStaticLookup({ routes: await loadStaticRoutes(config.SMP_ROUTES), pki, clock });
    case "sml":
      return createSmpLookup({ ...common, source: createNetworkSource({ sml: openSml(config, clock), http, reader }) });
  }
}
