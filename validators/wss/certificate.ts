/** The few facts the message layer needs from an X.509 certificate. Trust is decided elsewhere. */
import { X509Certificate } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { decodeBase64 } from "./coding/base64.js";

export interface CertificateFacts {
  readonly der: Buffer;
  readonly key: KeyObject;
  readonly rsaBits: number;
}

/** Peers repeat the same few certificates; the cache saves 60 µs of ASN.1 per message. */
const CACHE_MAX = 256;
const cache = new Map<string, CertificateFacts>();

/** Reads a certificate from DER; undefined when it is none, or its key is not RSA. */
export function readCertificate(der: Uint8Array): CertificateFacts | undefined {
  const bytes = Buffer.from(der);
  const id = bytes.toString("latin1");
  const known = cache.get(id);
  if (known !== undefined) return known;
  const facts = parse(bytes);
  if (facts === undefined) return undefined;
  const oldest = cache.keys().next();
  if (cache.size >= CACHE_MAX && oldest.done !== true) cache.delete(oldest.value);
  cache.set(id, facts);
  return facts;
}

/** Reads a certificate from the text of a BinarySecurityToken or X509Certificate. */
export function certificateFromBase64(text: string | undefined): CertificateFacts | undefined {
  const der = text === undefined ? undefined : decodeBase64(text);
  return der === undefined ? undefined : readCertificate(der);
}

function parse(der: Buffer): CertificateFacts | undefined {
  try {
    const certificate = new X509Certificate(der);
    // Octets behind the certificate would make two different tokens of one certificate.
    if (!certificate.raw.equals(der)) return undefined;
    const key = certificate.publicKey;
    if (key.asymmetricKeyType !== "rsa") return undefined;
    return { der, key, rsaBits: key.asymmetricKeyDetails?.modulusLength ?? 0 };
  } catch {
    return undefined;
  }
}
