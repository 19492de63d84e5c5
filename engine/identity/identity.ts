/**
 * Identity of one node: believes tokens, decides contexts, makes and ends tokens, and keeps what it remembers true.
 *
 * Whatever a node remembers may be used only while announcements of changes arrive; without them every request asks
 * Postgres.
 */
import { randomUUID } from "node:crypto";

import type { Clock, Instant } from "../base/clock.js";
import type { FirmId, IntegratorId, KeyId, ParticipantId } from "../base/ids.js";
import { LIMITS } from "../base/limits.js";
import { errorFields } from "../base/log.js";
import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import { every } from "../base/waiting/every.js";
import { findBindingByCustomerRef } from "../storage/identity/bindings.js";
import type { Channel, ChannelOptions } from "../storage/channel.js";
import type { Sealer } from "../storage/sealer.js";
import { orTemporary } from "../storage/sql.js";
import type { Sql } from "../storage/sql.js";
import type { Actor } from "./audit.js";
import { createAuthenticator } from "./authenticator.js";
import type { Caller, CustomerContext, FirmContext, ParticipantContext } from "./caller.js";
import { createChanges } from "./nodes/changes.js";
import type { ChangeKind, Changes } from "./nodes/changes.js";
import { customerContext, firmContext, participantContext } from "./contexts.js";
import { pruneIdentity } from "./maintenance.js";
import { createMemory } from "./nodes/memory.js";
import { createPeers } from "./nodes/peers.js";
import type { Peers } from "./nodes/peers.js";
import type { NodeFacts } from "./nodes/pulse.js";
import { partnerOperations } from "./partners/operations.js";
import type { PartnerOperations } from "./partners/operations.js";
import { holderOf } from "./tokens/credentials.js";
import type { ClientCredentials } from "./tokens/credentials.js";
import { createRevocations } from "./tokens/revocations.js";
import type { SecretEnvironment } from "./tokens/secrets.js";
import { createSigningKeys } from "./tokens/signing-keys.js";
import type { PublicJwk } from "./tokens/signing-keys.js";
import { issueTokens, renewTokens, revokeToken } from "./tokens/tokens.js";
import type { RenewRequest, TokenWorkPorts, TokenPair, TokenRequest } from "./tokens/tokens.js";

interface IdentityOptions {
  readonly sql: Sql;
  /**
   * A small pool of its own for whatever anybody can cause without a token: logins, renewals, guesses. However many
   * come, everybody else's statements find a connection. @default sql
   */
  readonly loginSql?: Sql;
  /** Of the same database: announcements need a connection of their own. */
  readonly databaseUrl: string;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly environment: SecretEnvironment;
  /** Issuer and audience of access tokens; the same on every node. */
  readonly publicUrl: string;
  /** Whether integrators may make keys for single firms. @default in the sandbox they may */
  readonly firmKeyIssuance?: boolean;
  /** How announcements are heard; tests pass one that they can cut. @default openChannel */
  readonly openChannel?: (options: ChannelOptions) => Channel;
  /** What this node says of itself to operators. @default nothing */
  readonly facts?: () => Promise<NodeFacts>;
}

/** Who is calling and on whose behalf, as the gateway and the actors ask it. */
export interface Identity extends PartnerOperations {
  /** Publishes the first signing key, starts to listen. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** At once when everything is known. @throws Refusal TOKEN_INVALID, TEMPORARY */
  authenticate(token: string, receivedAt: Instant): Caller | Promise<Caller>;
  /**
   * @param servesSapi  whether a consent to SAPI alone is enough
   * @throws Refusal FIRM_CONTEXT_FORBIDDEN, FIRM_CONTEXT_REQUIRED, FIRM_FORBIDDEN
   */
  firmContext(caller: Caller, firmId: FirmId | undefined, servesSapi?: boolean): FirmContext | Promise<FirmContext>;
  /** @throws Refusal NOT_FOUND, FIRM_FORBIDDEN */
  customerContext(caller: Caller, customerRef: string): Promise<CustomerContext>;
  /** @throws Refusal PARTICIPANT_FORBIDDEN */
  participantContext(caller: Caller, participantId: ParticipantId): ParticipantContext | Promise<ParticipantContext>;
  /** The key whose secret this is; undefined where it is nobody's. Counts nothing. @throws Refusal TEMPORARY */
  holderOf(credentials: ClientCredentials): Promise<KeyId | undefined>;
  /** @throws Refusal CREDENTIALS_INVALID, CREDENTIALS_LOCKED, IP_NOT_ALLOWED, SCOPE_NOT_ALLOWED */
  issueTokens(request: TokenRequest): Promise<TokenPair>;
  /** @throws Refusal REFRESH_TOKEN_INVALID, IP_NOT_ALLOWED */
  renewTokens(request: RenewRequest): Promise<TokenPair>;
  /** Ends any token; on return every node that is alive refuses it. @param actor  @default whoever holds the token */
  revokeToken(token: string, receivedAt: Instant, actor?: Actor): Promise<void>;
  /** Public keys of access tokens, as /.well-known/jwks.json shows them. */
  jwks(): { readonly keys: readonly PublicJwk[] };
  readonly peers: Peers;
  /** Publishes the next signing key when it is time and deletes what has expired. Runs by itself; safe to repeat. */
  maintain(): Promise<void>;
  /** Whether what this node remembers is in use at present. */
  isFresh(): boolean;
  /** Asks for a new proof that announcements arrive. Runs by itself every LIMITS.change_probe_ms. */
  probe(): Promise<void>;
  /** Resolves when every other node knows of all changes committed before the call; see Changes. */
  settled(): Promise<void>;
}

/** Whoever shows a token and says nothing more of himself. */
const SOMEBODY: Actor = { type: "api_key", id: null, address: null, userAgent: null };

/** Puts the parts of identity together for one node; nothing is asked or announced before `start`. */
export function createIdentity(options: IdentityOptions): Identity {
  const { sql, clock, log, environment } = options;
  const nodeId = randomUUID();
  const audience = { publicUrl: options.publicUrl, environment };
  const isFresh = (): boolean => changes.isFresh();
  const memory = createMemory({ sql, clock, isFresh });
  const revocations = createRevocations({ sql, clock, isFresh });
  const signingKeys = createSigningKeys({ sql, sealer: options.sealer, clock, log, isFresh });
  const peers = createPeers({ sql, nodeId, log, facts: options.facts });
  const authenticator = createAuthenticator({ audience, signingKeys, keys: memory.keys, revocations });
  const background = (component: string, work: Promise<unknown>): void => {
    work.catch((error: unknown) => {
      log.warn("identity.background_failed", { component, ...errorFields(error) });
    });
  };
  const readSigningKeys = (): void => {
    // One that was retired has a successor before anybody needs it, which the others hear of.
    background(
      "signing_keys",
      signingKeys.reload().then(() => (signingKeys.isCovered() ? undefined : signingKeys.ensure())),
    );
  };
  /** What is dropped when a change is announced. */
  const onChange: Readonly<Record<ChangeKind, (id: string) => void>> = {
    key: (id) => {
      memory.keys.drop(id);
    },
    // Keys carry their integrator's facts; integrators change so seldom that all keys may go.
    integrator: () => {
      memory.keys.clear();
    },
    binding: (id) => {
      memory.bindings.drop(id);
    },
    participant: (key) => {
      memory.participants.drop(key);
    },
    token: (id) => {
      revocations.announced(id);
    },
    signing_key: readSigningKeys,
  };
  const changes = createChanges({
    sql,
    url: options.databaseUrl,
    clock,
    nodeId,
    log,
    otherNodes: () => peers.others(),
    onNode: (id, event) => {
      peers.noticed(id, event);
    },
    onChange: (kind, id) => {
      onChange[kind](id);
    },
    onGap: () => {
      memory.clear();
      revocations.forget();
      readSigningKeys();
    },
    onProof: () => {
      background("revocations", revocations.maintain());
    },
    ...(options.openChannel === undefined ? {} : { open: options.openChannel }),
  });
  const maintain = (): Promise<void> => signingKeys.ensure().then(() => pruneIdentity(sql, clock));
  const contexts = {
    environment,
    participants: memory.participants,
    bindings: memory.bindings,
    findCustomer: (integratorId: IntegratorId, customerRef: string) =>
      orTemporary(findBindingByCustomerRef(sql, integratorId, customerRef)),
  };
  let stopUpkeep = (): void => undefined;
  return {
    ...tokenOperations(
      { sql: options.loginSql ?? sql, clock, metrics: options.metrics, audience, signingKeys, revocations },
      changes,
    ),
    ...partnerOperations({
      ports: {
        sql,
        clock,
        environment,
        publicUrl: options.publicUrl,
        firmKeyIssuance: options.firmKeyIssuance ?? environment === "sandbox",
      },
      memory,
      changes,
    }),
    start: async () => {
      await signingKeys.ensure();
      await changes.start();
      await peers.start();
      await changes.greet();
      stopUpkeep = every(LIMITS.identity_prune_interval_ms, () => {
        background("maintenance", maintain());
      });
    },
    stop: async () => {
      stopUpkeep();
      await peers.stop();
      await changes.stop();
    },
    authenticate: authenticator.authenticate,
    firmContext: (caller, firmId, servesSapi) => firmContext(contexts, caller, firmId, servesSapi),
    customerContext: (caller, customerRef) => customerContext(contexts, caller, customerRef),
    participantContext: (caller, participantId) => participantContext(contexts, caller, participantId),
    jwks: signingKeys.jwks,
    peers,
    maintain,
    isFresh,
    probe: changes.probe,
    settled: changes.settled,
  };
}

type TokenOperations = Pick<Identity, "holderOf" | "issueTokens" | "renewTokens" | "revokeToken">;

/** The operations on tokens; one that takes something away is answered when every node knows. */
const tokenOperations = (ports: TokenWorkPorts, changes: Changes): TokenOperations => ({
  holderOf: (credentials) => holderOf({ sql: ports.sql, environment: ports.audience.environment }, credentials),
  issueTokens: (request) => issueTokens(ports, request),
  renewTokens: (request) => renewTokens(ports, request),
  revokeToken: async (token, receivedAt, actor = SOMEBODY) => {
    if (await revokeToken(ports, token, receivedAt, actor)) await changes.settled();
  },
});
