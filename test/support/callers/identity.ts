/** Nodes of an engine's identity on a test database, and the tenants that most tests of it need. */
import { randomBytes } from "node:crypto";

import type { Clock } from "../../../engine/base/clock.js";
import type { Caller } from "../../../engine/identity/caller.js";
import { bindFirm, createFirm, createIntegrator, registerParticipant } from "../../../engine/identity/firms.js";
import { createIdentity } from "../../../engine/identity/identity.js";
import type { Identity } from "../../../engine/identity/identity.js";
import { createKey } from "../../../engine/identity/keys.js";
import type { CreatedKey, NewKey } from "../../../engine/identity/keys.js";
import { FIRM_KEY_SCOPES } from "../../../engine/identity/scopes.js";
import type { TokenPair } from "../../../engine/identity/tokens/tokens.js";
import { parseParticipantId } from "../../../engine/base/ids.js";
import type { FirmId, IntegratorId, ParticipantId } from "../../../engine/base/ids.js";
import { silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { SCOPES } from "../../../engine/base/scopes.js";
import type { Scope } from "../../../engine/base/scopes.js";
import { openChannel } from "../../../engine/storage/channel.js";
import type { Channel, ChannelOptions } from "../../../engine/storage/channel.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import type { Sealer } from "../../../engine/storage/sealer.js";
import type { Sql } from "../../../engine/storage/sql.js";
import type { TestDatabase } from "../database/postgres.js";

export const PUBLIC_URL = "http://127.0.0.1:8080";
export const ADDRESS = "192.0.2.7";
const master = randomBytes(32);

export interface NodeOptions {
  readonly clock: Clock;
  readonly environment?: "sandbox" | "production";
  readonly publicUrl?: string;
  readonly sealer?: Sealer;
  readonly openChannel?: (options: ChannelOptions) => Channel;
  /** Whether integrators may make keys for single firms. @default only in the sandbox */
  readonly firmKeyIssuance?: boolean;
  /** @default a pool of its own */
  readonly sql?: Sql;
  /** @default the same */
  readonly loginSql?: Sql;
}

/** One more node on the database, started; with its own pool, as a process of its own would have. */
export async function startNode(db: TestDatabase, options: NodeOptions): Promise<Identity> {
  const identity = createIdentity({
    sql: options.sql ?? db.another("identity"),
    databaseUrl: db.url,
    sealer: options.sealer ?? createSealer([master]),
    clock: options.clock,
    log: silentLog,
    metrics: createMetrics(),
    environment: options.environment ?? "sandbox",
    publicUrl: options.publicUrl ?? PUBLIC_URL,
    ...(options.firmKeyIssuance === undefined ? {} : { firmKeyIssuance: options.firmKeyIssuance }),
    ...(options.loginSql === undefined ? {} : { loginSql: options.loginSql }),
    ...(options.openChannel === undefined ? {} : { openChannel: options.openChannel }),
  });
  await identity.start();
  return identity;
}

export const participantId = (text: string): ParticipantId => {
  const parsed = parseParticipantId(text);
  if (parsed === undefined) throw new Error(`not a participant id: ${text}`);
  return parsed;
};

let participants = 0;
/** A participant that no other test of this file uses. */
export const newParticipantId = (): ParticipantId =>
  participantId(`0245:20${String(20_000_000 + (participants += 1))}`);

/** A key that must come into being. */
export async function makeKey(
  db: TestDatabase,
  clock: Clock,
  key: NewKey,
  environment: "sandbox" | "production" = "sandbox",
): Promise<CreatedKey> {
  const created = await createKey({ sql: db.sql, clock, environment }, key);
  if (typeof created === "string") throw new Error(`no key: ${created}`);
  return created;
}

export interface TestFirm {
  readonly firmId: FirmId;
  readonly participantId: ParticipantId;
  readonly key: CreatedKey;
}

/** A firm with a participant and a firm key. */
export async function makeFirm(
  db: TestDatabase,
  clock: Clock,
  key: Partial<Omit<NewKey, "owner">> = {},
): Promise<TestFirm> {
  const ports = { sql: db.sql, clock };
  const firmId = await createFirm(ports, { name: "Test firm", sandbox: true });
  const id = newParticipantId();
  await registerParticipant(ports, firmId, id);
  return {
    firmId,
    participantId: id,
    key: await makeKey(db, clock, { scopes: FIRM_KEY_SCOPES, ...key, owner: { firmId } }),
  };
}

export interface TestIntegrator {
  readonly integratorId: IntegratorId;
  readonly key: CreatedKey;
}

/** An integrator with a central key of every scope. */
export async function makeIntegrator(
  db: TestDatabase,
  clock: Clock,
  productionAuthorized = true,
): Promise<TestIntegrator> {
  const integratorId = await createIntegrator(
    { sql: db.sql, clock },
    { name: "Test integrator", productionAuthorized },
  );
  return { integratorId, key: await makeKey(db, clock, { owner: { integratorId }, scopes: SCOPES }) };
}

/** An active binding through every interface. */
export const bind = (
  db: TestDatabase,
  clock: Clock,
  integratorId: IntegratorId,
  firmId: FirmId,
  scopes: readonly Scope[] = SCOPES,
): Promise<void> =>
  bindFirm({ sql: db.sql, clock }, { integratorId, firmId, scopes, interfaces: ["enterprise", "sapi", "connector"] });

/** A token pair for a key's secret, through the SAPI door. */
export const login = (node: Identity, key: CreatedKey, clock: Clock, scope?: string): Promise<TokenPair> =>
  node.issueTokens({
    clientId: key.id,
    clientSecret: key.secret,
    scope,
    door: "sapi",
    address: ADDRESS,
    receivedAt: clock.now(),
  });

export const callerOf = async (node: Identity, token: string, clock: Clock): Promise<Caller> =>
  node.authenticate(token, clock.now());

/** The name of the refusal that `work` ends with; "none" when it succeeds. */
export async function refusalOf(work: () => unknown): Promise<string> {
  try {
    await work();
    return "none";
  } catch (error) {
    if (error instanceof Error && "reason" in error && typeof error.reason === "string") return error.reason;
    throw error;
  }
}

/** A channel that a test can cut and mend; while it is cut nothing is heard and the node knows. */
export interface CutChannel {
  readonly open: (options: ChannelOptions) => Channel;
  cut(): void;
  mend(): void;
}

export function cutChannel(): CutChannel {
  let isCut = false;
  let handlers: ChannelOptions | undefined;
  return {
    open: (options) => {
      handlers = options;
      return openChannel({
        ...options,
        onMessage: (payload) => {
          if (!isCut) options.onMessage(payload);
        },
        onUp: () => {
          if (!isCut) options.onUp();
        },
        onDown: () => {
          if (!isCut) options.onDown();
        },
      });
    },
    cut: () => {
      isCut = true;
      handlers?.onDown();
    },
    mend: () => {
      isCut = false;
      handlers?.onUp();
    },
  };
}
