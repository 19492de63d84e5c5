/** The RSA of AS4 messages and nothing else: what bounds every exchange from above. */
import {
  constants,
  createPrivateKey,
  privateDecrypt,
  publicEncrypt,
  randomBytes,
  sign,
  verify,
  X509Certificate,
} from "node:crypto";
import { existsSync } from "node:fs";

import { systemClock } from "../engine/base/clock.js";
import { loadDevelopmentKeys } from "../engine/peppol/pki/development.js";
import { wrapPrivateKey } from "../validators/wss/keys.js";
import type { BenchOptions } from "./runner.js";

/** The key of an access point, RSA-2048. */
export interface AccessPointKey {
  /** DER. */
  readonly certificate: Buffer;
  readonly key: ReturnType<typeof wrapPrivateKey>;
  readonly pem: string;
}

/** The access point's key of a development PKI. */
export async function accessPointKey(folder: string): Promise<AccessPointKey> {
  const [leaf] = existsSync(folder) ? await loadDevelopmentKeys(folder) : [];
  if (leaf === undefined) throw new Error("the development PKI has no access point key");
  return {
    certificate: Buffer.from(leaf.certificate),
    key: wrapPrivateKey(leaf.privateKey),
    pem: leaf.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** How long RSA alone runs each time. */
const LIMIT_S = { tiny: 0.1, full: 3 };

/** Runs a step for so long and says how many a second. */
export async function rate(seconds: number, step: () => Promise<unknown> | void): Promise<number> {
  const start = systemClock.monotonic();
  let count = 0;
  while (systemClock.monotonic() - start < seconds * 1_000) {
    await step();
    count += 1;
  }
  return count / ((systemClock.monotonic() - start) / 1_000);
}

/**
 * Exchanges a second that one core could make if an exchange were its RSA operations alone.
 * `inbound`: decrypt the key, verify the signature, sign the receipt. `exchange`: the sender's side too, signing the
 * message, encrypting the key, verifying the receipt.
 */
function rsaLimit(seconds: number, own: AccessPointKey, side: "inbound" | "exchange"): Promise<number> {
  const key = createPrivateKey(own.pem);
  const { publicKey } = new X509Certificate(own.certificate);
  const octets = randomBytes(1_024);
  const padding = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha256" };
  const contentKey = randomBytes(16);
  const wrapped = publicEncrypt({ key: publicKey, ...padding }, contentKey);
  const signature = sign("sha256", octets, key);
  const signs = (): void => {
    sign("sha256", octets, key);
  };
  const verifies = (): void => {
    if (!verify("sha256", octets, publicKey, signature)) throw new Error("the signature does not hold");
  };
  const decrypts = (): void => {
    privateDecrypt({ key, ...padding }, wrapped);
  };
  const encrypts = (): void => {
    publicEncrypt({ key: publicKey, ...padding }, contentKey);
  };
  const steps = {
    inbound: [decrypts, verifies, signs],
    exchange: [signs, encrypts, decrypts, verifies, signs, verifies],
  }[side];
  return rate(seconds, () => {
    for (const step of steps) step();
  });
}

/**
 * The limit as it was beside a step: measured right before it and right after it, because what a processor of a shared
 * host makes of RSA changes by a third within minutes.
 * @returns what the step came to, and the mean of the two
 */
export async function besideRsaLimit<T>(
  { tiny }: Pick<BenchOptions, "tiny">,
  own: AccessPointKey,
  side: "inbound" | "exchange",
  step: () => Promise<T>,
): Promise<{ readonly result: T; readonly limit: number }> {
  const measured = (): Promise<number> => rsaLimit(tiny ? LIMIT_S.tiny : LIMIT_S.full, own, side);
  const before = await measured();
  const result = await step();
  return { result, limit: (before + (await measured())) / 2 };
}
