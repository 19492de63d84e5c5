/**
 * Whom we trust: the authorities of a folder, and the way from a certificate to one of them.
 *
 * A certificate is trusted for one use: access points by the AP authority, SMPs by the SMP authority. Both lead to the
 * same roots, which is why the use is part of the question.
 * @source design/as4.md sections 10, 13, 18 step 6
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import type { Instant } from "../../base/clock.js";
import { ConfigError } from "../../base/config.js";
import { LIMITS } from "../../base/limits.js";
import { SEAT_ID } from "../as4/user-message.js";
import { readCertificate, readPemCertificates } from "./certificate.js";
import type { Certificate, KeyUsage } from "./certificate.js";

/** What a certificate of the network is for: an access point or an SMP. Each has an authority of its own. */
export const USAGES = ["ap", "smp"] as const;
/** What a certificate of the network is for. */
export type Usage = (typeof USAGES)[number];

/** Authorities by use, and the roots they lead to. */
export interface TrustStore {
  readonly issuers: Readonly<Record<Usage, readonly Certificate[]>>;
  readonly roots: readonly Certificate[];
}

/** Why a certificate is not trusted, in order of precedence. */
export const TRUST_FAULTS = [
  "malformed",
  "key_too_small",
  "wrong_ca",
  "unknown_issuer",
  "signature",
  "chain",
  "critical_extension",
  "not_an_end_entity",
  "key_usage",
  "seat_id",
  "name_mismatch",
  "not_yet_valid",
  "expired",
  "revoked",
  "revocation_unknown",
] as const;
/** Why a certificate is not trusted. */
export type TrustFault = (typeof TRUST_FAULTS)[number];

/** A certificate, then its issuers up to the root. */
export type Path = readonly [Certificate, ...Certificate[]];

interface UsageRow {
  /** Words of the subject by which an authority of the network is known. */
  readonly words: RegExp;
  /** The key usages that a leaf's certificate must allow, where it has that extension. */
  readonly keyUsage: readonly KeyUsage[];
}

const USAGE_ROWS: Readonly<Record<Usage, UsageRow>> = {
  ap: { words: /ACCESS[ _]?POINT|\bAP\b/i, keyUsage: ["digitalSignature", "keyEncipherment"] },
  smp: { words: /SERVICE METADATA PUBLISHER|\bSMP\b/i, keyUsage: ["digitalSignature"] },
};

/** Sorts authorities into a store. A self-signed one of a use is its own root. */
export function makeTrustStore(
  certificates: readonly { readonly certificate: Certificate; readonly usage?: Usage }[],
): TrustStore {
  const issuers: Record<Usage, Certificate[]> = { ap: [], smp: [] };
  const roots: Certificate[] = [];
  for (const { certificate, usage } of certificates) {
    const isRoot = certificate.subjectName.equals(certificate.issuerName);
    const use = usage ?? (isRoot ? undefined : usageByName(certificate));
    if (isRoot) roots.push(certificate);
    if (use !== undefined) issuers[use].push(certificate);
  }
  return { issuers, roots };
}

/** The use whose words stand in an authority's name. */
export const usageByName = ({ commonName }: Certificate): Usage | undefined =>
  USAGES.find((name) => USAGE_ROWS[name].words.test(commonName ?? ""));

/**
 * Reads a folder of PEM files: roots, and authorities that are known by the words of their names or by lying in the
 * subfolders `ap` and `smp`.
 * @throws ConfigError when a file cannot be used, an authority of a use or its root is missing, or test and production
 * mix
 */
export function loadTrustStore(folder: string): TrustStore {
  const places: readonly (readonly [string, Usage | undefined])[] = [
    [folder, undefined],
    [join(folder, "ap"), "ap"],
    [join(folder, "smp"), "smp"],
  ];
  const found = places.flatMap(([place, usage]) =>
    pemFiles(place, usage === undefined).flatMap((path) => {
      const certificates = readPemCertificates(readFileSync(path, "utf8"));
      if (certificates === undefined || certificates.length === 0)
        throw new ConfigError([`${path} of PEPPOL_TRUST_DIR holds no certificates in PEM form.`]);
      return certificates.map((certificate) => ({ certificate, ...(usage === undefined ? {} : { usage }) }));
    }),
  );
  const store = makeTrustStore(found);
  const sentences = [
    ...USAGES.filter((usage) => store.issuers[usage].length === 0).map(
      (usage) =>
        `PEPPOL_TRUST_DIR has no ${usage.toUpperCase()} certification authority; one whose name does not say so, or that is its own root, lies in the subfolder ${usage}.`,
    ),
    ...USAGES.flatMap((usage) => store.issuers[usage])
      .filter((issuer) => climb([issuer], store).next().done === true)
      .map((issuer) => `PEPPOL_TRUST_DIR lacks the root of ${issuer.commonName ?? "an authority"}.`),
    ...mixedSentences(found.map(({ certificate }) => certificate)),
  ];
  if (sentences.length > 0) throw new ConfigError(sentences);
  return store;
}

function pemFiles(folder: string, mustExist: boolean): string[] {
  let names: string[];
  try {
    names = readdirSync(folder)
      .filter((name) => /\.(?:pem|crt|cer)$/i.test(name))
      .sort();
  } catch {
    if (!mustExist) return [];
    throw new ConfigError(["PEPPOL_TRUST_DIR must be a folder that can be read."]);
  }
  if (names.length > LIMITS.trust_files_max)
    throw new ConfigError([`PEPPOL_TRUST_DIR has more than ${LIMITS.trust_files_max} files.`]);
  return names.map((name) => join(folder, name)).filter((path) => statSync(path).isFile());
}

/** Production and test roots never mix. @source design/as4.md section 13 */
function mixedSentences(certificates: readonly Certificate[]): string[] {
  const network = certificates.filter(({ commonName }) => /^PEPPOL .*CA - G\d+$/i.test(commonName ?? ""));
  const tests = network.filter(({ commonName }) => / TEST /i.test(commonName ?? ""));
  return tests.length > 0 && tests.length < network.length
    ? ["PEPPOL_TRUST_DIR mixes authorities of the test and the production network; keep one of them."]
    : [];
}

/** Follows the issuers of a path up to the roots of the store, each way for itself. */
function* climb(path: Path, store: TrustStore): Generator<Path> {
  const last = path.at(-1) ?? path[0];
  if (store.roots.some((root) => root.fingerprint === last.fingerprint)) {
    yield path;
    return;
  }
  if (path.length >= LIMITS.certificate_chain_max) return;
  const others = [...store.roots, ...USAGES.flatMap((usage) => store.issuers[usage])];
  for (const issuer of others)
    if (!path.includes(issuer) && signedBy(last, issuer)) yield* climb([...path, issuer], store);
}

/** Whether the issuer's name stands in the certificate and its key has signed it. */
export function signedBy(certificate: Certificate, issuer: Certificate): boolean {
  if (!certificate.issuerName.equals(issuer.subjectName)) return false;
  try {
    return certificate.x509.verify(issuer.x509.publicKey);
  } catch {
    return false;
  }
}

/** Ways from one certificate to roots: of an authority that was renewed with its key there are several. */
export type Paths = readonly [Path, ...Path[]];

/**
 * Finds the paths from a certificate to roots, through an authority of the use; decides everything that does not depend
 * on time.
 */
export function findPaths(der: Uint8Array, usage: Usage, store: TrustStore): Paths | TrustFault {
  const leaf = readCertificate(der);
  if (leaf === undefined) return "malformed";
  if (!isStrong(leaf)) return "key_too_small";
  const named = (use: Usage): Certificate[] =>
    store.issuers[use].filter((issuer) => leaf.issuerName.equals(issuer.subjectName));
  const candidates = named(usage);
  if (candidates.length === 0)
    return USAGES.some((other) => other !== usage && named(other).length > 0) ? "wrong_ca" : "unknown_issuer";
  const issuers = candidates.filter((candidate) => signedBy(leaf, candidate));
  if (issuers.length === 0) return "signature";
  // Bounded by LIMITS.certificate_paths_max.
  const sound: Path[] = [];
  let fault: TrustFault | undefined;
  let looked = 0;
  for (const issuer of issuers)
    for (const path of climb([leaf, issuer], store)) {
      if ((looked += 1) > LIMITS.certificate_paths_max) break;
      const found = pathFault(path, usage);
      if (found === undefined) sound.push(path);
      else fault ??= found;
    }
  const [first, ...others] = sound;
  return first === undefined ? (fault ?? "unknown_issuer") : [first, ...others];
}

/** The path that counts at a moment: one that is valid then, where there is one. */
export const pathAt = (paths: Paths, at: Instant): Path =>
  paths.find((path) => timeFault(path, at) === undefined) ?? paths[0];

/** The path from a certificate to a root that counts at a moment. */
export function findPath(der: Uint8Array, usage: Usage, store: TrustStore, at: Instant): Path | TrustFault {
  const paths = findPaths(der, usage, store);
  return typeof paths === "string" ? paths : pathAt(paths, at);
}

const isStrong = ({ rsaBits }: Certificate): boolean =>
  rsaBits !== undefined && rsaBits >= LIMITS.rsa_bits_min && rsaBits <= LIMITS.rsa_bits_max;

function pathFault(path: Path, usage: Usage): TrustFault | undefined {
  const [leaf, ...authorities] = path;
  const areAuthorities = authorities.every(
    (authority) => authority.isCa && isStrong(authority) && allows(authority, ["keyCertSign"]),
  );
  // A root's own signature is not looked at: the root is trusted for being in the folder.
  const areSigned = path.every((certificate, i) => i === path.length - 1 || certificate.signatureHash !== undefined);
  if (!areAuthorities || !areSigned) return "chain";
  if (path.some((certificate) => certificate.hasUnknownCritical)) return "critical_extension";
  if (leaf.isCa || leaf.keyUsage?.has("keyCertSign") === true) return "not_an_end_entity";
  if (!allows(leaf, USAGE_ROWS[usage].keyUsage)) return "key_usage";
  return SEAT_ID.test(leaf.commonName ?? "") ? undefined : "seat_id";
}

const allows = ({ keyUsage }: Certificate, wanted: readonly KeyUsage[]): boolean =>
  keyUsage === undefined || wanted.every((use) => keyUsage.has(use));

/** Whether every certificate of a path is valid at a moment; undefined when all are. */
export function timeFault(path: Path, at: Instant): "not_yet_valid" | "expired" | undefined {
  if (path.some(({ notAfter }) => notAfter < at)) return "expired";
  return path.some(({ notBefore }) => notBefore > at) ? "not_yet_valid" : undefined;
}
