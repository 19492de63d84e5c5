/** Small files of DATA_DIR that belong to the engine as a whole: the sandbox's master key and the node's name. */
import { randomBytes, randomInt, randomUUID } from "node:crypto";
import { existsSync, lstatSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

import { errorCode } from "../../engine/base/errors.js";
import { systemClock } from "../../engine/base/clock.js";
import type { Clock, Instant } from "../../engine/base/clock.js";
import { ConfigError } from "../../engine/base/config.js";
import type { Config } from "../../engine/base/config.js";
import { makeFile, makeFolderNow, replaceFile, replaceFileNow } from "../../engine/base/files/durable.js";
import { LIMITS } from "../../engine/base/limits.js";
import { pathErrorOf } from "../../engine/embedded/embedded.js";
import { joinFirmKeys } from "../../engine/storage/keyring/firm-keys.js";
import { openKeyring } from "../../engine/storage/keyring/keyring.js";
import type { Keyring } from "../../engine/storage/keyring/keyring.js";
import type { Sql } from "../../engine/storage/sql.js";
import type { Sealer } from "../../engine/storage/sealer.js";
import type { QuarantinedJob } from "../../validators/pool.js";

const MASTER_KEY_BYTES = 32;
/** Numbers of drafts: processes of two containers may have one process id. */
const DRAFTS = 2 ** 47;

/**
 * Reads a file of DATA_DIR. A missing one is on the disk with its name before anything is made by it, and so is
 * DATA_DIR, for `kurier migrate` may come before the first engine. Commands that come together find one text: what one
 * of them had sealed with a key that is in no file would be lost with it.
 */
async function readOrCreate(path: string, make: () => string): Promise<string> {
  try {
    if (existsSync(path)) return readFileSync(path, "utf8").trim();
    makeFolderNow(dirname(path));
    await makeFile(path, `${make()}\n`, draftOf(path));
    return readFileSync(path, "utf8").trim();
  } catch (error) {
    // The system does not say which file is a folder. Containers make one of a file that is not there.
    throw isFolder(error) ? (pathErrorOf(error, path) ?? error) : error;
  }
}

const isFolder = (error: unknown): boolean => errorCode(error) === "EISDIR";
const draftOf = (path: string): string => `${path}.${randomInt(DRAFTS)}`;

/**
 * The key that encrypts payloads: the configured one, or the sandbox's own.
 * @throws ConfigError when the sandbox's key file is damaged: a new key could not read what is stored
 */
async function masterKey(config: Config, dataDir: string): Promise<Buffer> {
  if (config.MASTER_KEY !== undefined) return config.MASTER_KEY;
  const key = Buffer.from(
    await readOrCreate(join(dataDir, "master.key"), () => randomBytes(MASTER_KEY_BYTES).toString("base64")),
    "base64",
  );
  if (key.length !== MASTER_KEY_BYTES)
    throw new ConfigError(["master.key in DATA_DIR is damaged; restore it, or set MASTER_KEY."]);
  return key;
}

/**
 * Every configured master key, the one that seals first.
 * @throws ConfigError as `masterKey` does
 */
const masterKeys = async (config: Config, dataDir: string): Promise<readonly [Buffer, ...Buffer[]]> => [
  await masterKey(config, dataDir),
  ...config.MASTER_KEY_PREVIOUS,
];

interface KeyOptions {
  /** @default config.DATA_DIR */
  readonly dataDir?: string;
  /** @default systemClock */
  readonly clock?: Clock;
}

/**
 * The master keys of an installation, for what needs nothing that belongs to firms: evidence, registrations.
 * @throws ConfigError, MasterKeyError: each in one sentence for the operator
 */
export const openMasterKeys = async (
  sql: Sql,
  config: Config,
  { dataDir = config.DATA_DIR, clock = systemClock }: KeyOptions = {},
): Promise<Keyring> => openKeyring(sql, await masterKeys(config, dataDir), clock);

/**
 * The keys of an installation as the configuration gives them: master keys, and those of firms where they have some.
 * @throws ConfigError, MasterKeyError, FirmKeyFailure: each in one sentence for the operator
 */
export async function openKeys(sql: Sql, config: Config, options: KeyOptions = {}): Promise<Keyring> {
  const { FIRM_KEYS: text, FIRM_KEYS_USE: use = "seal" } = config;
  const { clock = systemClock } = options;
  return joinFirmKeys(sql, await openMasterKeys(sql, config, options), { text, use, clock });
}

const NODE_NAME = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The node's name in leases. It outlives the process, so that the next one on this DATA_DIR knows which leases are
 * nobody's. A damaged one is replaced: nodes whose files a loss of power has emptied would all have the name of nobody,
 * and take each other's work for that of a dead predecessor.
 */
export async function nodeName(dataDir: string): Promise<string> {
  const path = join(dataDir, "node.id");
  const name = await readOrCreate(path, randomUUID);
  if (NODE_NAME.test(name)) return name;
  const another = randomUUID();
  await replaceFile(path, `${another}\n`, draftOf(path));
  return another;
}

const quarantineOf = (dataDir: string): string => join(dataDir, "quarantine");
/** A document in quarantine, or the draft of one that a process has left which was killed. */
const QUARANTINED = /^[0-9a-f]{64}\.[0-9a-f]{16}\.sealed(?:\.\d+)?$/;

/**
 * Removes documents from quarantine whose time is over. They are named by no firm, so that an erasure does not find
 * them: this is what ends those of a firm that was erased, too.
 */
export function endQuarantined(dataDir: string, now: Instant): void {
  const folder = quarantineOf(dataDir);
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (!QUARANTINED.test(name)) continue;
    // What is none, though it has such a name, would end the look each time, and all behind it would stay.
    const found = lstatSync(path);
    if (found.isFile() && found.mtimeMs < now - LIMITS.quarantine_kept_ms) rmSync(path);
  }
}

/**
 * Keeps the bytes of a document that killed two workers, sealed, for the operator; the oldest are not replaced. They
 * outlive a power loss, for the process forgets which documents they were.
 */
export function keepQuarantined(dataDir: string, sealer: Sealer, job: QuarantinedJob): void {
  const { bytes } = job.input as { readonly bytes?: unknown };
  const folder = quarantineOf(dataDir);
  makeFolderNow(folder);
  if (!(bytes instanceof Uint8Array) || readdirSync(folder).length >= LIMITS.quarantine_files_max) return;
  const path = join(folder, `${job.sha256}.${sealer.keyId}.sealed`);
  replaceFileNow(path, sealer.seal(bytes, job.sha256), `${path}.${process.pid}`);
}
