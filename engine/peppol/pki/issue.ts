/**
 * Makes certificates: for the development PKI and for tests. An access point of the network gets its own from
 * OpenPeppol.
 */
import { createHash, generateKeyPair, randomBytes, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { promisify } from "node:util";

import type { Instant } from "../../base/clock.js";
import { KEY_USAGES } from "./certificate.js";
import type { KeyUsage } from "./certificate.js";
import { contextTag, TAG } from "./der.js";
import { bitString, der, integer, octetString, oid, RSA_SHA256, sequence, time, TRUE } from "./der-writer.js";

const RSA_BITS = 2_048;

/** A private key with its public key. */
export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** A fresh RSA key, made outside the event loop. */
export const newKeyPair = (bits = RSA_BITS): Promise<KeyPair> =>
  promisify(generateKeyPair)("rsa", { modulusLength: bits });

/** Parts of a name in the order in which they are written. */
export interface SubjectName {
  readonly C?: string;
  readonly O?: string;
  readonly OU?: string;
  readonly CN: string;
}

/** What a certificate is made of. */
export interface NewCertificate {
  readonly subject: SubjectName;
  readonly publicKey: KeyObject;
  /** Left out for a self-signed one, which `key` then signs. */
  readonly issuer?: { readonly subject: SubjectName; readonly publicKey: KeyObject };
  /** Private key of the issuer. */
  readonly key: KeyObject;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
  /** @default false */
  readonly isCa?: boolean;
  readonly keyUsage?: readonly KeyUsage[];
  /** Object identifiers. */
  readonly extendedKeyUsage?: readonly string[];
  readonly ocspUrl?: string;
  readonly crlUrl?: string;
  /** @default random, 128 bits */
  readonly serial?: Buffer;
  /** Object identifier of an empty critical extension; for tests of certificates that nobody understands. */
  readonly criticalExtension?: string;
}

/** The DER of one certificate, signed with RSA and SHA-256. @source RFC 5280, section 4.1 */
export function issueCertificate(wanted: NewCertificate): Buffer {
  const issuer = wanted.issuer ?? wanted;
  const tbs = sequence(
    der(contextTag(0), integer(Buffer.from([2]))),
    integer(wanted.serial ?? newSerial()),
    RSA_SHA256,
    nameDer(issuer.subject),
    sequence(time(wanted.notBefore), time(wanted.notAfter)),
    nameDer(wanted.subject),
    spki(wanted.publicKey),
    der(contextTag(3), sequence(...extensionsOf(wanted, issuer.publicKey))),
  );
  return sequence(tbs, RSA_SHA256, bitString(sign("sha256", tbs, wanted.key)));
}

/** Positive, and never with a leading zero octet. */
function newSerial(): Buffer {
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  return serial;
}

const spki = (key: KeyObject): Buffer => key.export({ type: "spki", format: "der" });

const NAME_PARTS = [
  ["C", "2.5.4.6", TAG.printable],
  ["O", "2.5.4.10", TAG.utf8],
  ["OU", "2.5.4.11", TAG.utf8],
  ["CN", "2.5.4.3", TAG.utf8],
] as const;

/** The DER of a name. */
export const nameDer = (name: SubjectName): Buffer =>
  sequence(
    ...NAME_PARTS.flatMap(([part, id, tag]) => {
      const text = name[part];
      return text === undefined ? [] : [der(TAG.set, sequence(oid(id), der(tag, Buffer.from(text))))];
    }),
  );

const keyId = (key: KeyObject): Buffer => createHash("sha256").update(spki(key)).digest().subarray(0, 20);

const extension = (id: string, value: Uint8Array, critical = false): Buffer =>
  sequence(oid(id), ...(critical ? [TRUE] : []), octetString(value));

const uri = (url: string): Buffer => der(contextTag(6, false), Buffer.from(url, "latin1"));

function extensionsOf(wanted: NewCertificate, issuerKey: KeyObject): Buffer[] {
  const { keyUsage, extendedKeyUsage, ocspUrl, crlUrl, criticalExtension } = wanted;
  return [
    extension("2.5.29.19", sequence(...(wanted.isCa === true ? [TRUE] : [])), true),
    ...(keyUsage === undefined ? [] : [extension("2.5.29.15", usageBits(keyUsage), true)]),
    ...(extendedKeyUsage === undefined ? [] : [extension("2.5.29.37", sequence(...extendedKeyUsage.map(oid)))]),
    extension("2.5.29.14", octetString(keyId(wanted.publicKey))),
    extension("2.5.29.35", sequence(der(contextTag(0, false), keyId(issuerKey)))),
    ...(ocspUrl === undefined
      ? []
      : [extension("1.3.6.1.5.5.7.1.1", sequence(sequence(oid("1.3.6.1.5.5.7.48.1"), uri(ocspUrl))))]),
    ...(crlUrl === undefined
      ? []
      : [extension("2.5.29.31", sequence(sequence(der(contextTag(0), der(contextTag(0), uri(crlUrl))))))]),
    ...(criticalExtension === undefined ? [] : [extension(criticalExtension, sequence(), true)]),
  ];
}

/** A named bit list without trailing zeros, as DER wants it. */
function usageBits(usages: readonly KeyUsage[]): Buffer {
  const octet = KEY_USAGES.reduce((bits, usage, i) => (usages.includes(usage) ? bits | (0x80 >> i) : bits), 0);
  const unused = octet === 0 ? 0 : Math.log2(octet & -octet);
  return bitString(octet === 0 ? Buffer.alloc(0) : Buffer.from([octet]), unused);
}
