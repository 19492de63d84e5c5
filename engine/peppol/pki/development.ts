/**
 * A PKI of our own for the sandbox: root, AP and SMP authorities, and one leaf of each for us, as files of one folder.
 *
 * `trust/` is what another engine needs as PEPPOL_TRUST_DIR; `ca/` holds the authorities' keys, by which it can be
 * given leaves of its own. Private keys are readable by their owner alone.
 */
import { createPrivateKey, createPublicKey } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { cp, link, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { DAY_MS } from "../../base/clock.js";
import type { Clock, Instant } from "../../base/clock.js";
import { ConfigError } from "../../base/config.js";
import { renameSynced, replaceFile, syncPath, syncTree, writeDraft } from "../../base/files/durable.js";
import { LIMITS } from "../../base/limits.js";
import { pemOf, readPemCertificates } from "./certificate.js";
import type { Certificate } from "./certificate.js";
import { issueCertificate, newKeyPair } from "./issue.js";
import type { SubjectName } from "./issue.js";
import type { LoadedKey } from "./key-store.js";
import { USAGES } from "./trust.js";
import type { Usage } from "./trust.js";

/** The seat of the sandbox's own access point. */
export const DEVELOPMENT_SEAT = "PSK000001";

interface DevelopmentOptions {
  /** DATA_DIR/pki. */
  readonly folder: string;
  readonly clock: Clock;
  /** Seat id of the leaves. @default PSK000001 */
  readonly seat?: string;
  /** Folder of another development PKI whose authorities issue the leaves. @default authorities of its own */
  readonly from?: string;
  /** Makes a new one where there is one; the old folder stays as `.old` until the next time. @default false */
  readonly isNew?: boolean;
}

/** Where the authorities of the development PKI lie. @param folder of the development PKI */
export const trustFolder = (folder: string): string => join(folder, "trust");

const AUTHORITY_SUBJECT: Readonly<Record<Usage | "root", SubjectName>> = {
  root: { C: "SK", O: "Kurier Development", CN: "Kurier Development Root CA" },
  ap: { C: "SK", O: "Kurier Development", CN: "Kurier Development ACCESS POINT CA" },
  smp: { C: "SK", O: "Kurier Development", CN: "Kurier Development SERVICE METADATA PUBLISHER CA" },
};

/**
 * Makes the PKI when there is none, and renews its leaves when they are about to end.
 * @returns what was done
 * @throws ConfigError when the folder is damaged, or its authorities are of another engine and its leaves have ended
 */
export async function ensureDevelopmentPki(options: DevelopmentOptions): Promise<"created" | "renewed" | "kept"> {
  const { folder, clock } = options;
  if (options.isNew === true || !existsSync(folder)) {
    await create(options);
    return "created";
  }
  const leaves = await Promise.all(USAGES.map((usage) => readLeaf(folder, usage)));
  const ends = Math.min(...leaves.map(({ notAfter }) => notAfter));
  if (ends - clock.now() > LIMITS.certificate_expiry_notice_ms) return "kept";
  if (!existsSync(join(folder, "ca"))) {
    if (ends >= clock.now()) return "kept";
    throw new ConfigError([
      "The development certificates have ended; remove DATA_DIR/pki and run kurier pki init --ca again.",
    ]);
  }
  const seat = leaves[0]?.commonName ?? DEVELOPMENT_SEAT;
  for (const usage of USAGES) await issueLeaf({ authorities: folder, folder }, usage, seat, clock);
  return "renewed";
}

/** The keys of the folder's leaves. @throws ConfigError when they cannot be read */
export async function loadDevelopmentKeys(folder: string): Promise<readonly LoadedKey[]> {
  return Promise.all(
    USAGES.map(async (usage) => {
      const certificate = await readLeaf(folder, usage);
      return { certificate: certificate.der, privateKey: await readKey(leafPath(folder, usage)) };
    }),
  );
}

/** Makes everything in a temporary folder that is renamed at the end, so that nobody ever sees half a PKI. */
async function create(options: DevelopmentOptions): Promise<void> {
  const { folder, isNew = false } = options;
  const draft = `${draftsOf(folder)}${process.pid}`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { recursive: true, mode: 0o700 });
  try {
    await removeDeadDrafts(folder, draft);
    await fill(draft, options);
    if (isNew) await setAside(folder);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
  try {
    await renameSynced(draft, folder);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    // Another process was faster: its PKI is as good.
    if (!existsSync(folder)) throw error;
  }
}

async function fill(draft: string, { clock, from, seat = DEVELOPMENT_SEAT }: DevelopmentOptions): Promise<void> {
  if (from === undefined) await makeAuthorities(draft, clock);
  else await takeTrust(from, draft);
  for (const usage of USAGES) await issueLeaf({ authorities: from ?? draft, folder: draft }, usage, seat, clock);
  // Authorities whose keys are empty after a power loss could issue nothing, and nobody could be told from whom.
  await syncTree(draft);
}

/** Just before a new one takes its place: whoever breaks off while that is made keeps the old one. */
async function setAside(folder: string): Promise<void> {
  await rm(`${folder}.old`, { recursive: true, force: true });
  if (existsSync(folder)) await rename(folder, `${folder}.old`);
}

/** A word, and no number alone: `pki.20261128` is the copy that somebody made of his keys on a day. */
const draftsOf = (folder: string): string => `${folder}.draft-`;

/** Takes away the keys that processes that were killed have left. */
async function removeDeadDrafts(folder: string, draft: string): Promise<void> {
  const now = statSync(draft).mtimeMs;
  for (const name of await readdir(dirname(folder))) {
    if (!name.startsWith(basename(draftsOf(folder)))) continue;
    const path = join(dirname(folder), name);
    const madeAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now;
    if (now - madeAt > LIMITS.development_draft_dead_ms) await rm(path, { recursive: true, force: true });
  }
}

async function makeAuthorities(folder: string, clock: Clock): Promise<void> {
  await mkdir(trustFolder(folder));
  await mkdir(join(folder, "ca"), { mode: 0o700 });
  const life = {
    notBefore: clock.now() - LIMITS.development_begin_before_ms,
    notAfter: clock.now() + LIMITS.development_authority_days * DAY_MS,
  };
  const ca = { ...life, isCa: true, keyUsage: ["keyCertSign", "cRLSign"] } as const;
  const root = await newKeyPair();
  const issuer = { subject: AUTHORITY_SUBJECT.root, publicKey: root.publicKey };
  await write(folder, "root", issueCertificate({ ...issuer, key: root.privateKey, ...ca }), root.privateKey);
  for (const usage of USAGES) {
    const keys = await newKeyPair();
    await write(
      folder,
      usage,
      issueCertificate({
        subject: AUTHORITY_SUBJECT[usage],
        publicKey: keys.publicKey,
        issuer,
        key: root.privateKey,
        ...ca,
      }),
      keys.privateKey,
    );
  }
}

async function write(folder: string, name: Usage | "root", certificate: Buffer, key: KeyObject): Promise<void> {
  const file = name === "root" ? "root.pem" : `${name}-ca.pem`;
  await writeDraft(join(trustFolder(folder), file), pemOf(certificate), 0o666);
  await writeDraft(join(folder, "ca", `${name}.key`), privatePem(key), 0o600);
}

/** Whether a folder is a development PKI that has the keys of its authorities. */
export const hasAuthorities = (folder: string): boolean =>
  existsSync(trustFolder(folder)) && existsSync(join(folder, "ca"));

async function takeTrust(from: string, folder: string): Promise<void> {
  if (!hasAuthorities(from))
    throw new ConfigError([`${from} is no folder of a development PKI with its authorities' keys.`]);
  await cp(trustFolder(from), trustFolder(folder), { recursive: true });
}

/** A key of another access point, with a certificate that is good and one that has ended. */
interface PeerLeaves {
  readonly privateKey: KeyObject;
  readonly valid: Certificate;
  readonly expired: Certificate;
}

const PEER_FILE = "peer.pem";

/**
 * Makes another access point's key beside ours when there is none, or its good certificate is about to end.
 * @param folder of a development PKI that has its authorities' keys
 * @throws ConfigError when the folder is damaged
 */
export async function ensurePeerLeaves(folder: string, seat: string, clock: Clock): Promise<PeerLeaves> {
  const known = await readPeer(folder);
  if (known !== undefined && known.valid.notAfter - clock.now() > LIMITS.certificate_expiry_notice_ms) return known;
  const { privateKey, publicKey } = await newKeyPair();
  const now = clock.now();
  const life = LIMITS.development_leaf_days * DAY_MS;
  const [valid, expired] = await Promise.all(
    [now, now - life - DAY_MS].map((from) =>
      certify(folder, {
        usage: "ap",
        seat,
        publicKey,
        notBefore: from - LIMITS.development_begin_before_ms,
        notAfter: from + life,
      }),
    ),
  );
  if (valid === undefined || expired === undefined) throw damaged();
  const draft = join(folder, `${PEER_FILE}.${process.pid}`);
  await writeFile(draft, pemOf(valid) + pemOf(expired) + privatePem(privateKey), { mode: 0o600, flush: true });
  // Whoever comes second keeps to the key of the first: processes that share a folder speak for one access point.
  if (known !== undefined) await rename(draft, join(folder, PEER_FILE));
  else
    await link(draft, join(folder, PEER_FILE)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  await rm(draft, { force: true });
  // Also where another was first: partners keep to this key once they have met it.
  await syncPath(folder);
  const made = await readPeer(folder);
  if (made === undefined) throw damaged();
  return made;
}

/** @returns undefined where there is none */
async function readPeer(folder: string): Promise<PeerLeaves | undefined> {
  const path = join(folder, PEER_FILE);
  if (!existsSync(path)) return undefined;
  const [valid, expired] = readPemCertificates(await readFile(path, "utf8")) ?? [];
  if (valid === undefined || expired === undefined) throw damaged();
  return { privateKey: await readKey(path), valid, expired };
}

async function issueLeaf(
  { authorities, folder }: { readonly authorities: string; readonly folder: string },
  usage: Usage,
  seat: string,
  clock: Clock,
): Promise<void> {
  const { privateKey, publicKey } = await newKeyPair();
  const certificate = await certify(authorities, {
    usage,
    seat,
    publicKey,
    notBefore: clock.now() - LIMITS.development_begin_before_ms,
    notAfter: clock.now() + LIMITS.development_leaf_days * DAY_MS,
  });
  // Key and certificate are one file, replaced whole: they never belong to two different pairs.
  const path = leafPath(folder, usage);
  await replaceFile(path, pemOf(certificate) + privatePem(privateKey), `${path}.new`);
}

interface NewLeaf {
  readonly usage: Usage;
  readonly seat: string;
  readonly publicKey: KeyObject;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
}

/** A certificate of an authority in `authorities`, which does not outlive it. */
async function certify(authorities: string, { usage, seat, publicKey, notBefore, notAfter }: NewLeaf): Promise<Buffer> {
  const [authority] =
    readPemCertificates(await readFile(join(trustFolder(authorities), `${usage}-ca.pem`), "utf8")) ?? [];
  if (authority === undefined) throw damaged();
  const key = await readKey(join(authorities, "ca", `${usage}.key`));
  return issueCertificate({
    subject: { C: "SK", O: "Kurier Development", OU: `PEPPOL TEST ${usage.toUpperCase()}`, CN: seat },
    publicKey,
    issuer: { subject: AUTHORITY_SUBJECT[usage], publicKey: createPublicKey(key) },
    key,
    notBefore,
    notAfter: Math.min(notAfter, authority.notAfter),
    keyUsage: usage === "ap" ? ["digitalSignature", "keyEncipherment"] : ["digitalSignature"],
  });
}

const leafPath = (folder: string, usage: Usage): string => join(folder, `${usage}.pem`);

const privatePem = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" }).toString();

async function readKey(path: string): Promise<KeyObject> {
  try {
    return createPrivateKey(await readFile(path, "utf8"));
  } catch {
    throw damaged();
  }
}

async function readLeaf(folder: string, usage: Usage): Promise<Certificate> {
  let text = "";
  try {
    text = await readFile(leafPath(folder, usage), "utf8");
  } catch {
    throw damaged();
  }
  const [certificate] = readPemCertificates(text) ?? [];
  if (certificate === undefined) throw damaged();
  return certificate;
}

const damaged = (): ConfigError =>
  new ConfigError(["The development PKI in DATA_DIR/pki is damaged; remove the folder, and it is made anew."]);
