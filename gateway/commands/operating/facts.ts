/** Gathers what `kurier doctor` judges. It changes nothing: what cannot be found out is told as a fault. */
import { statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";

import { z } from "zod";

import { DAY_MS, systemClock } from "../../../engine/base/clock.js";
import { ConfigError, loadConfig } from "../../../engine/base/config.js";
import type { Config } from "../../../engine/base/config.js";
import { errorCode } from "../../../engine/base/errors.js";
import { silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { openJetStream } from "../../../engine/events/streams-jetstream.js";
import { openOwnPki } from "../../../engine/peppol/pki/setup.js";
import { FirmKeyFailure } from "../../../engine/storage/keyring/firm-key-files.js";
import { checkFirmKeys } from "../../../engine/storage/keyring/firm-keys.js";
import { checkKeyring, MasterKeyError } from "../../../engine/storage/keyring/keyring.js";
import { hasEvidence } from "../../../engine/storage/evidence/evidence.js";
import { seemsEmpty } from "../../../engine/storage/evidence/place.js";
import { evidenceFolder } from "../../../engine/storage/evidence/stores.js";
import { hasMovedPayloads } from "../../../engine/storage/payloads/move.js";
import { payloadFolder } from "../../../engine/storage/payloads/payload-store.js";
import { migrationStatus } from "../../../engine/storage/migrate.js";
import { readOutboxStatus } from "../../../engine/storage/outbox.js";
import { losesStatements } from "../../../engine/storage/pooler.js";
import { readServerFacts } from "../../../engine/storage/operators/server.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { DatabaseError } from "../../../engine/storage/unusable.js";
import { EmbeddedError, runningNatsServer } from "../../../engine/embedded/embedded.js";
import { withDatabase } from "../database.js";
import { call } from "../demo/calls.js";
import type { Installation } from "./checks.js";

/** The message of a fault of somebody else; anything that is a bug goes on. */
function faultOf(error: unknown): string {
  if (error instanceof Error) {
    const cause: unknown = error.cause;
    return cause instanceof Error ? `${error.message} (${cause.message})` : error.message;
  }
  throw error;
}

async function pkiOf(config: Config): Promise<Installation["pki"]> {
  try {
    if (config.AS4_KEYSTORE === undefined)
      return { fault: undefined, hasKeystore: false, authorities: 0, endsInDays: 0 };
    const { keys } = await openOwnPki({ config, dataDir: config.DATA_DIR, clock: systemClock, log: silentLog });
    const expiries = keys.expiries().filter(({ isInUse }) => isInUse);
    const ends = expiries.filter(({ usage }) => usage === "ap").map(({ notAfter }) => notAfter);
    return {
      fault: undefined,
      hasKeystore: true,
      authorities: expiries.filter(({ usage }) => usage === "ap_ca" || usage === "smp_ca" || usage === "root").length,
      endsInDays: Math.floor((Math.min(...ends) - systemClock.now()) / DAY_MS),
    };
  } catch (error) {
    if (error instanceof ConfigError) return { fault: error.message };
    throw error;
  }
}

async function reachedOf(publicUrl: string | undefined): Promise<Installation["reached"]> {
  if (publicUrl === undefined) return { fault: "it is not set" };
  try {
    return { fault: undefined, status: (await call("GET", `${publicUrl}/.well-known/jwks.json`, {})).status };
  } catch (error) {
    return { fault: faultOf(error) };
  }
}

async function databaseOf(config: Config): Promise<Installation["database"]> {
  const { MASTER_KEY: key, MASTER_KEY_PREVIOUS: earlier } = config;
  try {
    return await withDatabase(
      config,
      async ({ sql, url }) => {
        const begun = systemClock.now();
        const { now, ...server } = await readServerFacts(sql);
        const middle = (begun + systemClock.now()) / 2;
        const status = await migrationStatus({ url });
        const migrations = status.flatMap(({ name, state }) =>
          state === "pending" || state === "changed" ? [name] : [],
        );
        const keyringFault =
          key === undefined || migrations.length > 0
            ? undefined
            : await checkKeyring(sql, [key, ...earlier])
                .then(() => checkFirmKeys(sql, config.FIRM_KEYS))
                .then(
                  () => undefined,
                  (error: unknown) => {
                    if (error instanceof MasterKeyError || error instanceof FirmKeyFailure) return error.message;
                    throw error;
                  },
                );
        const isLosing = await losesStatements(sql, url);
        const wakeUpAge_s = migrations.length > 0 ? undefined : (await readOutboxStatus(sql)).oldestAge_s;
        const filled = migrations.length > 0 ? undefined : await filledIn(sql);
        return {
          fault: undefined,
          ...server,
          losesStatements: isLosing,
          clockSkew_ms: now.getTime() - middle,
          migrations,
          keyringFault,
          wakeUpAge_s,
          filled,
        };
      },
      { migrated: false },
    );
  } catch (error) {
    if (error instanceof DatabaseError || error instanceof EmbeddedError) return { fault: error.message };
    throw error;
  }
}

type FolderFacts = Installation["folders"][number];

/** The stores in which something lies by what the database says. */
async function filledIn(sql: Sql): Promise<readonly FolderFacts["name"][]> {
  const stores = [
    ["EVIDENCE_STORE", await hasEvidence(sql)],
    ["PAYLOAD_STORE", await hasMovedPayloads(sql)],
  ] as const;
  return stores.flatMap(([name, isFilled]) => (isFilled ? [name] : []));
}

/** What is left on the disk of a folder, or on that on which it would be made. */
async function roomOf(path: string): Promise<FolderFacts["room"]> {
  try {
    const { bavail, bsize, blocks } = await statfs(path);
    return { fault: undefined, bytes: bavail * bsize, share: bavail / Math.max(1, blocks) };
  } catch (error) {
    const above = dirname(path);
    if (errorCode(error) === "ENOENT" && above !== path) return roomOf(above);
    return { fault: errorCode(error) ?? faultOf(error) };
  }
}

/** DATA_DIR, and the stores that are folders. */
function foldersOf(config: Config): Promise<Installation["folders"]> {
  const paths = {
    DATA_DIR: resolve(config.DATA_DIR),
    EVIDENCE_STORE: evidenceFolder(config.EVIDENCE_STORE, config.DATA_DIR),
    PAYLOAD_STORE: config.PAYLOAD_STORE === undefined ? undefined : payloadFolder(config.PAYLOAD_STORE),
  };
  const named = (["DATA_DIR", "EVIDENCE_STORE", "PAYLOAD_STORE"] as const).flatMap((name) => {
    const path = paths[name];
    return path === undefined ? [] : [{ name, path: resolve(path) }];
  });
  return Promise.all(
    named.map(async ({ name, path }) => ({ name, room: await roomOf(path), isEmpty: seemsEmpty(path) })),
  );
}

/** @param monitor  address of a server's monitoring, which alone tells how it writes */
async function natsOf(config: Config, monitor: string | undefined): Promise<Installation["nats"]> {
  const { NATS_URL: url } = config;
  if (url === undefined && runningNatsServer(config.DATA_DIR) !== undefined) return "embedded";
  if (url === undefined || url === "embedded") return "postgres";
  const told = monitor === undefined ? { isSynchronous: undefined } : await syncAt(monitor);
  const streams = openJetStream({ url, log: silentLog, metrics: createMetrics(), clock: systemClock });
  try {
    const faults = await streams.faults();
    const fault = `NATS answers, but ${faults.join("; ")}.`;
    return { fault: faults.length === 0 ? undefined : fault, ...told };
  } catch (error) {
    return { fault: `NATS does not answer: ${faultOf(error)}.`, ...told };
  } finally {
    await streams.close();
  }
}

const MONITORING = z.object({ config: z.object({ sync_always: z.boolean().optional() }) });

/** Whether a server syncs each write, or why it does not say. */
async function syncAt(
  monitor: string,
): Promise<{ readonly isSynchronous: boolean | undefined; readonly monitorFault?: string }> {
  try {
    const { status, json } = await call("GET", `${monitor}/jsz?config=1`, {});
    const answer = MONITORING.safeParse(json);
    return answer.success
      ? { isSynchronous: answer.data.config.sync_always === true }
      : { isSynchronous: undefined, monitorFault: `it answers ${status}, and nothing of JetStream` };
  } catch (error) {
    return { isSynchronous: undefined, monitorFault: faultOf(error) };
  }
}

/** What is known where the configuration itself cannot be used. */
const UNKNOWN: Omit<Installation, "configFaults"> = {
  environment: "production",
  adminHost: "127.0.0.1",
  adminPublished: undefined,
  adminToken: undefined,
  publicUrl: undefined,
  trustedProxies: 0,
  revocation: "hard",
  isMasterKeyGiven: true,
  pki: { fault: "" },
  reached: { fault: "" },
  database: { fault: "" },
  isDatabaseGiven: true,
  nats: "postgres",
  mail: "server",
  folders: [],
};

function configOf(environment: NodeJS.ProcessEnv | undefined): Config | readonly string[] {
  try {
    return environment === undefined ? loadConfig() : loadConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.sentences;
    throw error;
  }
}

/** @param environment  @default that of the process */
export async function gatherInstallation(options: {
  readonly environment?: NodeJS.ProcessEnv;
  readonly natsMonitor: string | undefined;
  readonly adminPublished?: string | undefined;
}): Promise<Installation> {
  const config = configOf(options.environment);
  if (!("DATA_DIR" in config)) return { ...UNKNOWN, configFaults: config };
  const [pki, reached, database, nats, folders] = await Promise.all([
    pkiOf(config),
    reachedOf(config.PUBLIC_URL),
    databaseOf(config),
    natsOf(config, options.natsMonitor),
    foldersOf(config),
  ]);
  return {
    configFaults: [],
    environment: config.ENVIRONMENT,
    adminHost: config.ADMIN_HOST,
    adminPublished: options.adminPublished,
    adminToken: config.ADMIN_TOKEN,
    publicUrl: config.PUBLIC_URL,
    trustedProxies: config.TRUSTED_PROXIES.length,
    revocation: config.REVOCATION,
    isMasterKeyGiven: config.MASTER_KEY !== undefined,
    pki,
    reached,
    database,
    isDatabaseGiven: config.DATABASE_URL !== undefined,
    nats,
    mail: config.SMTP_URL === undefined ? undefined : config.SMTP_URL.startsWith("file:") ? "folder" : "server",
    folders,
  };
}
