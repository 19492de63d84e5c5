/** Gathers what `kurier doctor` judges. It changes nothing: what cannot be found out is told as a fault. */
import { statfs } from "node:fs/promises";

import { z } from "zod";

import { DAY_MS, systemClock } from "../../../engine/base/clock.js";
import { ConfigError, loadConfig } from "../../../engine/base/config.js";
import type { Config } from "../../../engine/base/config.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { openJetStream } from "../../../engine/events/streams-jetstream.js";
import { openOwnPki } from "../../../engine/peppol/pki/setup.js";
import { FirmKeyFailure } from "../../../engine/storage/keyring/firm-key-files.js";
import { checkFirmKeys } from "../../../engine/storage/keyring/firm-keys.js";
import { checkKeyring, MasterKeyError } from "../../../engine/storage/keyring/keyring.js";
import { migrationStatus } from "../../../engine/storage/migrate.js";
import { readOutboxStatus } from "../../../engine/storage/outbox.js";
import { losesStatements } from "../../../engine/storage/pooler.js";
import { readServerFacts } from "../../../engine/storage/operators/server.js";
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
        return {
          fault: undefined,
          ...server,
          losesStatements: isLosing,
          clockSkew_ms: now.getTime() - middle,
          migrations,
          keyringFault,
          wakeUpAge_s,
        };
      },
      { migrated: false },
    );
  } catch (error) {
    if (error instanceof DatabaseError || error instanceof EmbeddedError) return { fault: error.message };
    throw error;
  }
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
  disk: { freeBytes: LIMITS.doctor_disk_bytes_min, freeShare: 1 },
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
}): Promise<Installation> {
  const config = configOf(options.environment);
  if (!("DATA_DIR" in config)) return { ...UNKNOWN, configFaults: config };
  const [pki, reached, database, nats, disk] = await Promise.all([
    pkiOf(config),
    reachedOf(config.PUBLIC_URL),
    databaseOf(config),
    natsOf(config, options.natsMonitor),
    statfs(config.DATA_DIR).catch(() => statfs(".")),
  ]);
  return {
    configFaults: [],
    environment: config.ENVIRONMENT,
    adminHost: config.ADMIN_HOST,
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
    disk: { freeBytes: disk.bavail * disk.bsize, freeShare: disk.bavail / Math.max(1, disk.blocks) },
  };
}
