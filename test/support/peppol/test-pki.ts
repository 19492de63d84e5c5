/** A private PKI made in the test: root, AP and SMP authorities, leaves of every kind, an OCSP responder and a CRL server. */
import { randomBytes, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { createServer } from "node:http";
import type { Server } from "node:http";

import { contextTag, TAG } from "../../../engine/peppol/pki/der.js";
import {
  bitString,
  der,
  generalizedTime,
  integer,
  octetString,
  oid,
  RSA_SHA256,
  sequence,
  time,
} from "../../../engine/peppol/pki/der-writer.js";
import { OCSP_SIGNING, readCertificate } from "../../../engine/peppol/pki/certificate.js";
import type { Certificate } from "../../../engine/peppol/pki/certificate.js";
import { issueCertificate, nameDer, newKeyPair } from "../../../engine/peppol/pki/issue.js";
import type { KeyPair, NewCertificate, SubjectName } from "../../../engine/peppol/pki/issue.js";
import { makeTrustStore } from "../../../engine/peppol/pki/trust.js";
import type { TrustStore } from "../../../engine/peppol/pki/trust.js";
import { wrapPrivateKey } from "../../../validators/wss/keys.js";
import type { OwnKey } from "../../../validators/wss/protocol.js";
import { listening } from "../network/listening.js";

export const PKI_START = Date.parse("2026-01-01T00:00:00Z");
export const PKI_END = Date.parse("2036-01-01T00:00:00Z");

export interface Authority extends KeyPair {
  readonly subject: SubjectName;
  readonly certificate: Buffer;
}

export interface Leaf extends OwnKey {
  readonly seat: string;
  readonly certificate: Buffer;
  readonly privateKey: KeyObject;
}

export interface TestPki {
  readonly root: Authority;
  readonly ap: Authority;
  readonly smp: Authority;
  readonly store: TrustStore;
  /** A leaf with a key pair of a small stock: making one costs 100 ms. */
  leaf(usage: "ap" | "smp", seat: string, changes?: Partial<NewCertificate>): Leaf;
}

export function parsed(der: Uint8Array): Certificate {
  const certificate = readCertificate(der);
  if (certificate === undefined) throw new Error("not a certificate");
  return certificate;
}

export async function makeTestPki(name = "TEST"): Promise<TestPki> {
  const [rootKey, apKey, smpKey, first, second] = await Promise.all([
    newKeyPair(),
    newKeyPair(),
    newKeyPair(),
    newKeyPair(),
    newKeyPair(),
  ]);
  const life = { notBefore: PKI_START, notAfter: PKI_END } as const;
  const ca = { isCa: true, keyUsage: ["keyCertSign", "cRLSign"] } as const;
  const rootSubject = { C: "SK", O: "Kurier", CN: `${name} Root CA` };
  const root: Authority = {
    ...rootKey,
    subject: rootSubject,
    certificate: issueCertificate({
      subject: rootSubject,
      publicKey: rootKey.publicKey,
      key: rootKey.privateKey,
      ...life,
      ...ca,
    }),
  };
  const authority = (keys: KeyPair, CN: string): Authority => {
    const subject = { C: "SK", O: "Kurier", CN };
    return {
      ...keys,
      subject,
      certificate: issueCertificate({
        subject,
        publicKey: keys.publicKey,
        issuer: root,
        key: root.privateKey,
        ...life,
        ...ca,
      }),
    };
  };
  const ap = authority(apKey, `${name} ACCESS POINT CA`);
  const smp = authority(smpKey, `${name} SERVICE METADATA PUBLISHER CA`);
  let used = 0;
  return {
    root,
    ap,
    smp,
    store: makeTrustStore([root, ap, smp].map(({ certificate }) => ({ certificate: parsed(certificate) }))),
    leaf: (usage, seat, changes = {}) => {
      const keys = (used += 1) % 2 === 0 ? first : second;
      const issuer = usage === "ap" ? ap : smp;
      const certificate = issueCertificate({
        subject: { C: "SK", O: "Kurier", OU: `PEPPOL TEST ${usage.toUpperCase()}`, CN: seat },
        publicKey: keys.publicKey,
        issuer,
        key: issuer.privateKey,
        notBefore: PKI_START,
        notAfter: Date.parse("2028-01-01T00:00:00Z"),
        keyUsage: ["digitalSignature", "keyEncipherment"],
        ...changes,
      });
      return { seat, certificate, privateKey: keys.privateKey, key: wrapPrivateKey(keys.privateKey) };
    },
  };
}

/** The DER of a revocation list. */
export function makeCrl(
  issuer: Authority,
  revoked: readonly string[],
  thisUpdate: number,
  nextUpdate: number,
  extension?: Buffer,
): Buffer {
  const entries = revoked.map((serial) => sequence(integer(Buffer.from(serial, "hex")), time(thisUpdate)));
  const tbs = sequence(
    integer(Buffer.from([1])),
    RSA_SHA256,
    nameDer(issuer.subject),
    time(thisUpdate),
    time(nextUpdate),
    ...(entries.length === 0 ? [] : [sequence(...entries)]),
    ...(extension === undefined ? [] : [der(contextTag(0), sequence(extension))]),
  );
  return sequence(tbs, RSA_SHA256, bitString(sign("sha256", tbs, issuer.privateKey)));
}

export interface OcspReply {
  readonly status: "good" | "revoked" | "unknown";
  readonly thisUpdate: number;
  readonly nextUpdate?: number;
  /** Signs instead of the issuer; its certificate is attached. */
  readonly responder?: { readonly certificate: Buffer; readonly privateKey: KeyObject };
}

/** The DER of an OCSP answer about the CertID that a question holds. */
export function makeOcspAnswer(issuer: Authority, certId: Uint8Array, reply: OcspReply): Buffer {
  const status = {
    good: der(contextTag(0, false)),
    revoked: der(contextTag(1), generalizedTime(reply.thisUpdate)),
    unknown: der(contextTag(2, false)),
  }[reply.status];
  const next = reply.nextUpdate === undefined ? [] : [der(contextTag(0), generalizedTime(reply.nextUpdate))];
  const data = sequence(
    der(contextTag(1), nameDer(issuer.subject)),
    generalizedTime(reply.thisUpdate),
    sequence(sequence(certId, status, generalizedTime(reply.thisUpdate), ...next)),
  );
  const signature = sign("sha256", data, reply.responder?.privateKey ?? issuer.privateKey);
  const attached = reply.responder === undefined ? [] : [der(contextTag(0), sequence(reply.responder.certificate))];
  const basic = sequence(data, RSA_SHA256, bitString(signature), ...attached);
  return sequence(
    der(TAG.enumerated, Buffer.from([0])),
    der(contextTag(0), sequence(oid("1.3.6.1.5.5.7.48.1.1"), octetString(basic))),
  );
}

/** The CertID inside a question that we have made: past three wrappers of the same length. */
export const certIdIn = (question: Buffer): Buffer => {
  let at = question;
  for (let depth = 0; depth < 4; depth += 1) at = at.subarray((at[1] ?? 0) < 0x80 ? 2 : 2 + ((at[1] ?? 0) & 0x7f));
  return at;
};

/** A responder that the issuer appoints. */
export async function makeResponder(
  issuer: Authority,
  changes: Partial<NewCertificate> = {},
): Promise<{ readonly certificate: Buffer; readonly privateKey: KeyObject }> {
  const { privateKey, publicKey } = await newKeyPair();
  const certificate = issueCertificate({
    subject: { CN: `Responder ${randomBytes(2).toString("hex")}` },
    publicKey,
    issuer,
    key: issuer.privateKey,
    notBefore: PKI_START,
    notAfter: PKI_END,
    extendedKeyUsage: [OCSP_SIGNING],
    ...changes,
  });
  return { certificate, privateKey };
}

export type Answering = (question: Buffer) => { readonly status?: number; readonly body: Buffer } | undefined;

export interface RevocationServer {
  readonly url: string;
  readonly asked: { ocsp: number; crl: number };
  /** Undefined leaves the question without an answer. */
  ocsp: Answering;
  crl: () => { readonly status?: number; readonly body: Buffer } | undefined;
  close(): Promise<void>;
}

/** An HTTP server with /ocsp and /crl. */
export async function startRevocationServer(): Promise<RevocationServer> {
  const asked = { ocsp: 0, crl: 0 };
  const state: { ocsp: Answering; crl: RevocationServer["crl"] } = { ocsp: () => undefined, crl: () => undefined };
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const isOcsp = request.url === "/ocsp";
      asked[isOcsp ? "ocsp" : "crl"] += 1;
      const answer = isOcsp ? state.ocsp(Buffer.concat(chunks)) : state.crl();
      if (answer !== undefined) response.writeHead(answer.status ?? 200).end(answer.body);
    });
  });
  const { origin, close } = await listening(server);
  return Object.assign(state, {
    url: origin,
    asked,
    close,
  });
}
