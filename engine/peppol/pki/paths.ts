/**
 * Paths from certificates to the roots of a store, found once, and the store as plain data: a worker judges the
 * path of a sender before it uses a private key, inflates or parses what the sender has packed.
 */
import { createHash } from "node:crypto";

import { BoundedMap } from "../../base/bounded.js";
import type { Instant } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import { readCertificate } from "./certificate.js";
import type { Certificate } from "./certificate.js";
import { findPaths, pathAt, timeFault } from "./trust.js";
import type { Path, Paths, TrustFault, TrustStore, Usage } from "./trust.js";

/** What a certificate must be, and when. */
interface PathRequest {
  readonly usage: Usage;
  /** The seat that the certificate must belong to: PartyId of the message. @default any */
  readonly seat?: string;
  readonly at: Instant;
}

/** Judges everything of a certificate but its revocation. */
type JudgePath = (der: Uint8Array, request: PathRequest) => Path | TrustFault;

/**
 * Makes the judge of a store. Three RSA verifications are saved when a certificate comes again; those that lead nowhere
 * are remembered apart, so that strangers push no peer out.
 */
export function createPathJudge(store: TrustStore): JudgePath {
  const paths = new BoundedMap<string, Paths>(LIMITS.certificate_cache_entries);
  const faults = new BoundedMap<string, TrustFault>(LIMITS.certificate_faults_max);

  const pathsOf = (der: Uint8Array, usage: Usage): Paths | TrustFault => {
    if (der.length > LIMITS.certificate_bytes_max) return "malformed";
    const key = `${usage}${Buffer.from(der.buffer, der.byteOffset, der.byteLength).toString("latin1")}`;
    const known = paths.get(key) ?? faults.get(key);
    if (known !== undefined) return known;
    const found = findPaths(der, usage, store);
    return typeof found === "string" ? faults.keep(key, found) : paths.keep(key, found);
  };

  return (der, { usage, seat, at }) => {
    const found = pathsOf(der, usage);
    if (typeof found === "string") return found;
    const path = pathAt(found, at);
    if (seat !== undefined && path[0].commonName !== seat) return "name_mismatch";
    return timeFault(path, at) ?? path;
  };
}

/** A trust store on its way to a worker: certificates as DER. */
export interface Authorities {
  /** Of all of them, so that a worker reads them once. */
  readonly id: string;
  readonly issuers: Readonly<Record<Usage, readonly Uint8Array[]>>;
  readonly roots: readonly Uint8Array[];
}

const derOf = (certificates: readonly Certificate[]): readonly Uint8Array[] => certificates.map(({ der }) => der);

/** The authorities under which senders' certificates are issued. */
export function authoritiesOf({ issuers, roots }: TrustStore): Authorities {
  const ders = { issuers: { ap: derOf(issuers.ap), smp: derOf(issuers.smp) }, roots: derOf(roots) };
  const hash = createHash("sha256");
  for (const list of [ders.issuers.ap, ders.issuers.smp, ders.roots]) {
    hash.update(String(list.length));
    for (const der of list) hash.update(der);
  }
  return { id: hash.digest("hex"), ...ders };
}

const storeOf = ({ issuers, roots }: Authorities): TrustStore => {
  const read = (ders: readonly Uint8Array[]): readonly Certificate[] =>
    ders.flatMap((der) => readCertificate(der) ?? []);
  return { issuers: { ap: read(issuers.ap), smp: read(issuers.smp) }, roots: read(roots) };
};

const judges = new BoundedMap<string, JudgePath>(LIMITS.trust_stores_max);

/**
 * Judges a sender's certificate under authorities that came as data; revocation is not asked about.
 * @returns why it is not the certificate of an access point of our network now; undefined when it is
 */
export function senderFault(der: Uint8Array, authorities: Authorities, at: Instant): TrustFault | undefined {
  const { id } = authorities;
  const judge = judges.get(id) ?? judges.keep(id, createPathJudge(storeOf(authorities)));
  const path = judge(der, { usage: "ap", at });
  return typeof path === "string" ? path : undefined;
}
