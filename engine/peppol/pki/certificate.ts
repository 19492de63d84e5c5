/** What the trust decision needs to know of a certificate. Facts only; whether it is trusted is decided in trust.ts. */
import { createHash, X509Certificate } from "node:crypto";

import { BoundedMap } from "../../base/bounded.js";
import type { Instant } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import {
  bitsOf,
  contentOf,
  contextTag,
  DerReader,
  integerOf,
  members,
  oidOf,
  readDer,
  readOrUndefined,
  signatureHashOf,
  TAG,
  timeOf,
  wholeOf,
} from "./der.js";
import type { Der } from "./der.js";

/** The key usages of X.509 in the order of their bits. @source RFC 5280 section 4.2.1.3 */
export const KEY_USAGES = [
  "digitalSignature",
  "nonRepudiation",
  "keyEncipherment",
  "dataEncipherment",
  "keyAgreement",
  "keyCertSign",
  "cRLSign",
] as const;
/** What a key may be used for. */
export type KeyUsage = (typeof KEY_USAGES)[number];

/** The extended key usage of responders that an authority has appointed. @source RFC 6960 section 4.2.2.2 */
export const OCSP_SIGNING = "1.3.6.1.5.5.7.3.9";

/** What we read of a certificate; reading it proves nothing. */
export interface Certificate {
  readonly der: Buffer;
  readonly x509: X509Certificate;
  /** SHA-256 of the DER, hex. */
  readonly fingerprint: string;
  /** Content octets of the serial number, hex. */
  readonly serial: string;
  /** DER of the names. */
  readonly issuerName: Buffer;
  readonly subjectName: Buffer;
  /** The key as OCSP hashes it: the octets of the subjectPublicKey. */
  readonly keyBits: Buffer;
  /** The one common name; undefined when there is none or several. */
  readonly commonName: string | undefined;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
  /** Bits of the RSA modulus; undefined for other keys. */
  readonly rsaBits: number | undefined;
  /** RSA with SHA-2; undefined for anything else, which is not believed. */
  readonly signatureHash: string | undefined;
  readonly isCa: boolean;
  /** Undefined when the extension is absent, which allows every use. */
  readonly keyUsage: ReadonlySet<KeyUsage> | undefined;
  readonly extendedKeyUsage: readonly string[];
  readonly ocspUrls: readonly string[];
  readonly crlUrls: readonly string[];
  /** It has a critical extension that we do not understand. */
  readonly hasUnknownCritical: boolean;
}

const cache = new BoundedMap<string, Certificate | undefined>(LIMITS.certificate_cache_entries);

/**
 * Reads a certificate; undefined when the bytes are not exactly one. Remembered: a peer comes back with the same one.
 */
export function readCertificate(bytes: Uint8Array): Certificate | undefined {
  if (bytes.length > LIMITS.certificate_bytes_max) return undefined;
  const der = Buffer.from(bytes);
  const key = der.toString("latin1");
  if (cache.has(key)) return cache.get(key);
  return cache.keep(
    key,
    readOrUndefined(() => parse(der)),
  );
}

/** Reads a PEM text that may hold several certificates; undefined when one of them is none. */
export function readPemCertificates(text: string): Certificate[] | undefined {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const certificates = blocks.flatMap(
    (block) => readCertificate(Buffer.from(block.replace(/-----[A-Z ]+-----|\s/g, ""), "base64")) ?? [],
  );
  return certificates.length === blocks.length ? certificates : undefined;
}

/** A certificate as PEM. */
export const pemOf = (der: Uint8Array): string =>
  `-----BEGIN CERTIFICATE-----\n${(
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? []
  ).join("\n")}\n-----END CERTIFICATE-----\n`;

function parse(der: Buffer): Certificate | undefined {
  const outer = new DerReader(readDer(der, TAG.sequence));
  const tbs = new DerReader(outer.next(TAG.sequence));
  const algorithm = outer.next(TAG.sequence);
  outer.next(TAG.bitString);
  outer.finish();
  tbs.optional(contextTag(0));
  const serial = integerOf(tbs.next(TAG.integer));
  // The algorithm outside the signed part must be the one inside it: otherwise somebody has changed what the signature
  // means.
  if (!wholeOf(tbs.next(TAG.sequence)).equals(wholeOf(algorithm))) return undefined;
  const issuer = tbs.next(TAG.sequence);
  const [notBefore, notAfter] = [...members(tbs.next(TAG.sequence))].map(timeOf);
  const subject = tbs.next(TAG.sequence);
  const publicKey = new DerReader(tbs.next(TAG.sequence));
  publicKey.next(TAG.sequence);
  const keyBits = bitsOf(publicKey.next(TAG.bitString));
  if (notBefore === undefined || notAfter === undefined) return undefined;
  const extensions = readExtensions(tbs);
  const x509 = openX509(der);
  if (x509 === undefined || extensions === undefined) return undefined;
  const key = rsaBitsOf(x509);
  return {
    der,
    x509,
    serial,
    keyBits,
    notBefore,
    notAfter,
    ...extensions,
    ...key,
    fingerprint: createHash("sha256").update(der).digest("hex"),
    issuerName: wholeOf(issuer),
    subjectName: wholeOf(subject),
    commonName: commonNameOf(subject),
    signatureHash: signatureHashOf(algorithm),
  };
}

function openX509(der: Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(der);
  } catch {
    return undefined;
  }
}

function rsaBitsOf(x509: X509Certificate): { readonly rsaBits: number | undefined } {
  try {
    const { publicKey } = x509;
    return {
      rsaBits: publicKey.asymmetricKeyType === "rsa" ? publicKey.asymmetricKeyDetails?.modulusLength : undefined,
    };
  } catch {
    return { rsaBits: undefined };
  }
}

const COMMON_NAME = "2.5.4.3";
const TEXT_TAGS: ReadonlySet<number> = new Set([TAG.utf8, TAG.printable, TAG.ia5]);

function commonNameOf(name: Der): string | undefined {
  const names: string[] = [];
  for (const rdn of members(name)) {
    for (const attribute of members(rdn, TAG.set)) {
      const reader = new DerReader(attribute, TAG.sequence);
      if (oidOf(reader.next(TAG.oid)) !== COMMON_NAME) continue;
      const value = reader.next();
      names.push(TEXT_TAGS.has(value.tag) ? contentOf(value).toString("utf8") : "");
    }
  }
  return names.length === 1 && names[0] !== "" ? names[0] : undefined;
}

type Extensions = Pick<
  Certificate,
  "isCa" | "keyUsage" | "extendedKeyUsage" | "ocspUrls" | "crlUrls" | "hasUnknownCritical"
>;
type Drafted = { -readonly [K in keyof Extensions]: Extensions[K] };

/** What each extension that we understand contributes. */
const EXTENSIONS: Readonly<Record<string, (value: Der, draft: Drafted) => void>> = {
  "2.5.29.14": () => undefined,
  "2.5.29.15": (value, draft) => {
    draft.keyUsage = keyUsageOf(value);
  },
  "2.5.29.17": () => undefined,
  "2.5.29.19": (value, draft) => {
    const flag = new DerReader(value, TAG.sequence).optional(TAG.boolean);
    draft.isCa = flag !== undefined && contentOf(flag)[0] === 0xff;
  },
  "2.5.29.31": (value, draft) => {
    draft.crlUrls = crlUrlsOf(value);
  },
  "2.5.29.32": () => undefined,
  "2.5.29.35": () => undefined,
  "2.5.29.37": (value, draft) => {
    draft.extendedKeyUsage = [...members(value)].map(oidOf);
  },
  "1.3.6.1.5.5.7.1.1": (value, draft) => {
    draft.ocspUrls = ocspUrlsOf(value);
  },
};

function readExtensions(tbs: DerReader): Extensions | undefined {
  const draft: Drafted = {
    isCa: false,
    keyUsage: undefined,
    extendedKeyUsage: [],
    ocspUrls: [],
    crlUrls: [],
    hasUnknownCritical: false,
  };
  tbs.optional(contextTag(1, false));
  tbs.optional(contextTag(2, false));
  const wrapper = tbs.optional(contextTag(3));
  tbs.finish();
  if (wrapper === undefined) return draft;
  const list = new DerReader(wrapper);
  const seen = new Set<string>();
  for (const extension of members(list.next(TAG.sequence))) {
    const reader = new DerReader(extension, TAG.sequence);
    const id = oidOf(reader.next(TAG.oid));
    const critical = reader.optional(TAG.boolean);
    const value = contentOf(reader.next(TAG.octetString));
    if (seen.has(id)) return undefined;
    seen.add(id);
    const understand = EXTENSIONS[id];
    if (understand !== undefined) understand(readDer(value, value[0] ?? 0), draft);
    else if (critical !== undefined && contentOf(critical)[0] !== 0) draft.hasUnknownCritical = true;
  }
  return draft;
}

function keyUsageOf(value: Der): ReadonlySet<KeyUsage> {
  const bits = contentOf(value);
  return new Set(KEY_USAGES.filter((_, i) => ((bits[1 + (i >> 3)] ?? 0) & (0x80 >> (i & 7))) !== 0));
}

const URI_TAG = contextTag(6, false);
const OCSP_ACCESS = "1.3.6.1.5.5.7.48.1";

function ocspUrlsOf(value: Der): string[] {
  // Bounded by the size of the certificate.
  const urls: string[] = [];
  for (const description of members(value)) {
    const reader = new DerReader(description, TAG.sequence);
    const method = oidOf(reader.next(TAG.oid));
    const location = reader.next();
    if (method === OCSP_ACCESS && location.tag === URI_TAG) urls.push(contentOf(location).toString("latin1"));
  }
  return urls.slice(0, LIMITS.certificate_urls_max);
}

/**
 * Full names of distribution points; a list that holds only some reasons or that somebody else issues is passed over.
 */
function crlUrlsOf(value: Der): string[] {
  // Bounded by the size of the certificate.
  const urls: string[] = [];
  for (const point of members(value)) {
    const reader = new DerReader(point, TAG.sequence);
    const name = reader.optional(contextTag(0));
    if (name === undefined || !reader.done) continue;
    urls.push(...fullNamesOf(name));
  }
  return urls.slice(0, LIMITS.certificate_urls_max);
}

/** The URIs among the full names of a distribution point; none where its name is relative. */
export function fullNamesOf(name: Der): string[] {
  const full = new DerReader(name).optional(contextTag(0));
  if (full === undefined) return [];
  return [...members(full, contextTag(0))]
    .filter(({ tag }) => tag === URI_TAG)
    .map((location) => contentOf(location).toString("latin1"));
}
