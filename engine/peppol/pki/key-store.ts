/**
 * Reads PKCS#12 key stores. Private keys become KeyObjects here, and stay that. @source RFC 7292; design/as4.md section
 * 16
 */
import { createPrivateKey } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { readFile } from "node:fs/promises";
import * as pkijs from "pkijs";

import { ConfigError } from "../../base/config.js";
import { LIMITS } from "../../base/limits.js";
import { readCertificate } from "./certificate.js";

/** Keys with the certificates that belong to them. */
export interface LoadedKey {
  readonly privateKey: KeyObject;
  /** DER. */
  readonly certificate: Buffer;
}

/** Every reason why a key store cannot be used; each has its own sentence for the operator. */
export const KEY_STORE_FAULTS = ["malformed", "password", "legacy", "no_key", "no_certificate"] as const;
type KeyStoreFault = (typeof KEY_STORE_FAULTS)[number];

/** What the operator is told. */
const SENTENCES: Readonly<Record<KeyStoreFault, string>> = {
  malformed: "AS4_KEYSTORE is not a PKCS#12 file that can be read.",
  password: "AS4_KEYSTORE_PASSWORD does not open AS4_KEYSTORE.",
  legacy:
    "AS4_KEYSTORE is encrypted with a legacy algorithm (RC2 or triple DES). Convert it: openssl pkcs12 -legacy -in old.p12 -nodes -out keys.pem, " +
    "then openssl pkcs12 -export -in keys.pem -out new.p12, and delete keys.pem.",
  no_key: "AS4_KEYSTORE holds no private key of RSA.",
  no_certificate: "AS4_KEYSTORE holds no certificate that belongs to its private key.",
};

/**
 * Reads a key store file.
 * @throws ConfigError with a sentence that says what to do
 */
export async function loadKeyStore(path: string, password: string): Promise<readonly LoadedKey[]> {
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch {
    throw new ConfigError(["AS4_KEYSTORE names a file that cannot be read."]);
  }
  const keys = await readKeyStore(bytes, password);
  if (typeof keys === "string") throw new ConfigError([SENTENCES[keys]]);
  return keys;
}

/** Reads the bytes of a key store: every RSA key that has a certificate. */
export async function readKeyStore(bytes: Uint8Array, password: string): Promise<readonly LoadedKey[] | KeyStoreFault> {
  if (bytes.length > LIMITS.keystore_bytes_max) return "malformed";
  const secret = new Uint8Array(Buffer.from(password, "utf8")).buffer;
  const bags = await openBags(bytes, secret);
  if (typeof bags === "string") return bags;
  const keys = bags.keys.flatMap((pkcs8) => rsaKey(pkcs8) ?? []);
  if (keys.length === 0) return "no_key";
  const certificates = bags.certificates.flatMap((der) => readCertificate(der) ?? []);
  const loaded = keys.flatMap((privateKey) =>
    certificates
      .filter((certificate) => !certificate.isCa && certificate.x509.checkPrivateKey(privateKey))
      .map((certificate) => ({ privateKey, certificate: certificate.der })),
  );
  return loaded.length === 0 ? "no_certificate" : loaded;
}

interface Bags {
  /** PKCS#8. */
  readonly keys: readonly Buffer[];
  readonly certificates: readonly Buffer[];
}

/** Encryption by password of PKCS#12 itself and of PKCS#5 version 1: RC4, RC2, DES and triple DES. */
const LEGACY = /1\.2\.840\.113549\.1\.(?:12\.1|5)\.(?:1|3|4|5|6|10|11)(?!\d)/;

async function openBags(bytes: Uint8Array, password: ArrayBuffer): Promise<Bags | KeyStoreFault> {
  let pfx: pkijs.PFX;
  try {
    pfx = pkijs.PFX.fromBER(bytes);
  } catch {
    return "malformed";
  }
  try {
    await pfx.parseInternalValues({ password, checkIntegrity: true });
  } catch (error) {
    return error instanceof Error && error.message.includes("ntegrity") ? "password" : "malformed";
  }
  const safe = pfx.parsedValue?.authenticatedSafe;
  if (safe === undefined) return "malformed";
  try {
    await safe.parseInternalValues({ safeContents: safe.safeContents.map(() => ({ password })) });
    return await bagsOf(safe, password);
  } catch (error) {
    return error instanceof Error && LEGACY.test(error.message) ? "legacy" : "malformed";
  }
}

async function bagsOf(safe: pkijs.AuthenticatedSafe, password: ArrayBuffer): Promise<Bags> {
  const keys: Buffer[] = [];
  const certificates: Buffer[] = [];
  const contents =
    (safe.parsedValue as { readonly safeContents?: readonly { readonly value: pkijs.SafeContents }[] } | undefined)
      ?.safeContents ?? [];
  for (const { bagValue } of contents.flatMap(({ value }) => value.safeBags)) {
    if (bagValue instanceof pkijs.PKCS8ShroudedKeyBag) {
      // The method is not part of pkijs's published types, though its documentation names it.
      const shrouded = bagValue as pkijs.PKCS8ShroudedKeyBag & {
        parseInternalValues(options: { readonly password: ArrayBuffer }): Promise<void>;
      };
      await shrouded.parseInternalValues({ password });
      if (bagValue.parsedValue !== undefined) keys.push(Buffer.from(bagValue.parsedValue.toSchema().toBER()));
    } else if (bagValue instanceof pkijs.PrivateKeyInfo) {
      keys.push(Buffer.from(bagValue.toSchema().toBER()));
    } else if (bagValue instanceof pkijs.CertBag && "valueBlock" in bagValue.certValue) {
      certificates.push(
        Buffer.from(
          (bagValue.certValue as { readonly valueBlock: { readonly valueHexView: Uint8Array } }).valueBlock
            .valueHexView,
        ),
      );
    }
  }
  return { keys, certificates };
}

function rsaKey(pkcs8: Buffer): KeyObject | undefined {
  try {
    const key = createPrivateKey({ key: pkcs8, format: "der", type: "pkcs8" });
    return key.asymmetricKeyType === "rsa" ? key : undefined;
  } catch {
    return undefined;
  } finally {
    pkcs8.fill(0);
  }
}
