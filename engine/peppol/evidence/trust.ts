/**
 * Whom an exchange was with, judged again as of its day: the certificates of both sides by the issuers, the revocation
 * answer and the metadata that are kept beside the message. Nobody is asked anything.
 *
 * Trust ends in a root. By default it is the one that is kept in the record, and the result names it; an auditor who
 * has roots of his own names their folder, and then only those count. Of our own certificate nothing but its name and
 * time are judged: that it was ours is what the record says.
 * @source design/as4.md sections 8, 10, 13, 15
 */
import type { Instant } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import type { ReadEvidence } from "../../storage/evidence/record.js";
import type { As4Crypto } from "../as4/messages.js";
import type { UserMessage } from "../as4/user-message.js";
import { readCertificate } from "../pki/certificate.js";
import type { Certificate } from "../pki/certificate.js";
import { readCrl, statusInList } from "../pki/crl.js";
import type { Crl } from "../pki/crl.js";
import { members, readDer, readOrUndefined, TAG, wholeOf } from "../pki/der.js";
import { sequence } from "../pki/der-writer.js";
import { readOcspAnswer } from "../pki/ocsp.js";
import { findPath, makeTrustStore, timeFault, usageByName } from "../pki/trust.js";
import type { Path, TrustStore, Usage } from "../pki/trust.js";
import { AS4_TRANSPORT_PROFILE, readServiceMetadata } from "../discovery/smp-document.js";

/** What can be wrong with the trust of an exchange. */
export const TRUST_AUDIT_FAULTS = [
  /** PartyId of the signed header and the names in the certificates differ. */
  "party_name",
  /** The message was encrypted to another certificate than is kept. */
  "recipient",
  /** A certificate does not lead to a root. */
  "trust_chain",
  /** A certificate was not valid at the time of the exchange. */
  "trust_time",
  /** The kept revocation answer is not the authority's, not about this certificate, or not of that day. */
  "revocation_answer",
  /** The answer, or its absence, did not allow the exchange. */
  "revocation_status",
  /** The kept metadata is not signed by an SMP of the network. */
  "smp_signature",
  /** The metadata does not name this participant, document, address and certificate. */
  "smp_names",
] as const;
type TrustAuditFault = (typeof TRUST_AUDIT_FAULTS)[number];

interface TrustFault {
  readonly fault: TrustAuditFault;
  /** The fault in a sentence of ours. */
  readonly detail: string;
}

/** One exchange whose signature holds. */
interface AuditedExchange extends ReadEvidence {
  readonly message: UserMessage;
  /** DER of the signer of the message. */
  readonly signer: Uint8Array;
  /** DER of the certificate that its key was encrypted to. */
  readonly recipient: Uint8Array | undefined;
  /**
   * What the authority said, wherever it is kept. `missing`: it should be there, which is a fault of its own, or its
   * retention is over.
   */
  readonly revocationAnswer: Buffer | "missing" | undefined;
  /** Whether its outcome rests on a receipt. */
  readonly receipted: boolean;
}

/** A root that exchanges led to. */
export interface AuditedRoot {
  readonly name: string;
  /** SHA-256 of the certificate, hex. */
  readonly fingerprint: string;
  /** Certificates that led to it. */
  readonly uses: number;
}

/** Judges kept exchanges one by one, and collects the roots that they lead to. */
export interface TrustAudit {
  faults(exchange: AuditedExchange): Promise<TrustFault[]>;
  roots(): readonly AuditedRoot[];
}

/**
 * Makes the judge of kept exchanges.
 * @param trust authorities of the auditor; their roots alone count. @default the roots that are kept
 */
export function createTrustAudit({
  crypto,
  trust,
}: {
  readonly crypto: As4Crypto;
  readonly trust?: TrustStore;
}): TrustAudit {
  // Bounded by LIMITS.audit_roots_max.
  const roots = new Map<string, AuditedRoot>();
  const judge: Judge = {
    crypto,
    list: rememberedList(),
    path: (der, usage, issuers, at) => {
      const path = findPath(der, usage, keptStore(issuers, usage, trust), at);
      const root = typeof path === "string" ? undefined : path.at(-1);
      if (root !== undefined && (roots.has(root.fingerprint) || roots.size < LIMITS.audit_roots_max))
        roots.set(root.fingerprint, {
          name: root.commonName ?? "",
          fingerprint: root.fingerprint,
          uses: (roots.get(root.fingerprint)?.uses ?? 0) + 1,
        });
      return path;
    },
  };
  return {
    faults: async (exchange) => [
      ...nameFaults(exchange),
      ...timeFaults(exchange),
      ...peerFaults(judge, exchange),
      ...receiptFaults(judge, exchange),
      ...(await metadataFaults(judge, exchange)),
    ],
    roots: () => [...roots.values()],
  };
}

interface Judge {
  readonly crypto: As4Crypto;
  path(der: Uint8Array, usage: Usage, issuers: Uint8Array | undefined, at: Instant): ReturnType<typeof findPath>;
  list(bytes: Buffer, issuer: Certificate, at: Instant): ReturnType<typeof readCrl>;
}

/** Certificates that lie one behind the other; undefined when they do not. */
const certificatesIn = (bytes: Uint8Array): Certificate[] | undefined =>
  readOrUndefined(() => {
    const all = [...members(readDer(sequence(bytes), TAG.sequence))].map((node) => readCertificate(wholeOf(node)));
    const read = all.filter((certificate) => certificate !== undefined);
    return read.length === all.length ? read : undefined;
  });

/**
 * A trust store of what is kept. The use of an authority whose name does not tell it is that of the path it was kept
 * for.
 */
function keptStore(issuers: Uint8Array | undefined, usage: Usage, trust: TrustStore | undefined): TrustStore {
  const kept = makeTrustStore(
    (certificatesIn(issuers ?? Buffer.alloc(0)) ?? []).map((certificate, i) => {
      const isRoot = certificate.subjectName.equals(certificate.issuerName);
      return { certificate, ...(usageByName(certificate) !== undefined || (isRoot && i > 0) ? {} : { usage }) };
    }),
  );
  if (trust === undefined) return kept;
  return {
    roots: trust.roots,
    issuers: { ap: [...kept.issuers.ap, ...trust.issuers.ap], smp: [...kept.issuers.smp, ...trust.issuers.smp] },
  };
}

/** The access point at the other end. */
const peerOf = ({ manifest, signer, recipient }: AuditedExchange): Uint8Array | undefined =>
  manifest.direction === "inbound" ? signer : recipient;

const nameOf = (der: Uint8Array | undefined): string | undefined =>
  der === undefined ? undefined : readCertificate(der)?.commonName;

/** @source design/as4.md section 8: PartyId is the common name of the certificate */
function nameFaults(exchange: AuditedExchange): TrustFault[] {
  const { message, signer, recipient, manifest, parts } = exchange;
  // Bounded by the checks below.
  const faults: TrustFault[] = [];
  if (nameOf(signer) !== message.fromParty)
    faults.push({
      fault: "party_name",
      detail: "The message names another sender than the certificate of its signature.",
    });
  if (nameOf(recipient) !== message.toParty)
    faults.push({
      fault: "party_name",
      detail: "The message names another receiver than the certificate that it was encrypted to.",
    });
  const kept = parts.get("recipient");
  const isKept =
    manifest.direction === "inbound"
      ? kept === undefined
      : kept !== undefined && recipient !== undefined && kept.equals(recipient);
  if (!isKept)
    faults.push({ fault: "recipient", detail: "The message was encrypted to another certificate than is kept." });
  return faults;
}

/** Checks the certificates of both sides at the time when the message left or arrived. */
function timeFaults({ manifest, signer, recipient }: AuditedExchange): TrustFault[] {
  return [signer, ...(recipient === undefined ? [] : [recipient])].flatMap((der): TrustFault[] => {
    const certificate = readCertificate(der);
    const fault = certificate === undefined ? "unreadable" : timeFault([certificate], manifest.requestAt);
    return fault === undefined
      ? []
      : [
          {
            fault: "trust_time",
            detail: `The certificate of ${certificate?.commonName ?? "an access point"} was ${fault} when the message was exchanged.`,
          },
        ];
  });
}

const unchained = (who: string, why: string): TrustFault => ({
  fault: "trust_chain",
  detail: `The certificate of ${who} does not lead to a root (${why}).`,
});

/** Chain and revocation of the other access point. */
function peerFaults(judge: Judge, exchange: AuditedExchange): TrustFault[] {
  const { manifest, parts } = exchange;
  const peer = peerOf(exchange);
  const path = peer === undefined ? "malformed" : judge.path(peer, "ap", parts.get("issuers"), manifest.requestAt);
  if (typeof path === "string") return [unchained("the other access point", path)];
  const [, ...issuers] = path;
  const ended = issuers[0] === undefined ? undefined : timeFault([issuers[0], ...issuers.slice(1)], manifest.requestAt);
  const time: TrustFault[] =
    ended === undefined
      ? []
      : [
          {
            fault: "trust_time",
            detail: `An authority of ${path[0].commonName ?? "the other access point"} was ${ended} when the message was exchanged.`,
          },
        ];
  return [...time, ...revocationFaults(judge, exchange, path)];
}

function revocationFaults(judge: Judge, { manifest, revocationAnswer }: AuditedExchange, path: Path): TrustFault[] {
  const [leaf, issuer] = path;
  const { revocation, revocationPolicy: policy, requestAt } = manifest;
  if (revocationAnswer === "missing") return [];
  if (revocationAnswer === undefined) {
    // Nobody was asked because the policy is off, or because the certificate names no service.
    const silent =
      revocation === "not_checked" &&
      (policy === "off" || (policy === "soft" && leaf.ocspUrls.length + leaf.crlUrls.length === 0));
    if (silent || (revocation === "unknown" && policy === "soft")) return [];
    return [
      revocation === "good"
        ? { fault: "revocation_answer", detail: "The answer that the certificate was good is not kept." }
        : {
            fault: "revocation_status",
            detail: `The certificate was believed without an answer (${revocation ?? "nothing is said"}) against the policy ${policy ?? "that is not kept"}.`,
          },
    ];
  }
  const status = issuer === undefined ? "signature" : statusIn(judge, revocationAnswer, { leaf, issuer }, requestAt);
  if (status !== "good" && status !== "revoked" && status !== "unknown")
    return [{ fault: "revocation_answer", detail: `The revocation answer that is kept proves nothing (${status}).` }];
  const allowed = status === revocation && (status === "good" || (status === "unknown" && policy === "soft"));
  return allowed
    ? []
    : [
        {
          fault: "revocation_status",
          detail: `The authority said ${status}; the exchange was made as if it were ${revocation ?? "not asked"}.`,
        },
      ];
}

/** What a proven answer says; otherwise why it proves nothing. */
function statusIn(
  judge: Judge,
  answer: Buffer,
  { leaf, issuer }: { readonly leaf: Certificate; readonly issuer: Certificate },
  at: Instant,
): string {
  const ocsp = readOcspAnswer(answer, leaf, issuer, at);
  if (typeof ocsp !== "string") return ocsp.status;
  const crl = ocsp === "malformed" ? judge.list(answer, issuer, at) : ocsp;
  return typeof crl === "string" ? crl : statusInList(crl, leaf);
}

/** Reads lists and remembers the last: thousands of records refer to one of megabytes. */
function rememberedList(): Judge["list"] {
  let last: { readonly bytes: Buffer; readonly issuer: string; readonly list: Crl } | undefined;
  return (bytes, issuer, at) => {
    const skew = LIMITS.revocation_clock_skew_ms;
    if (
      last?.bytes === bytes &&
      last.issuer === issuer.fingerprint &&
      last.list.thisUpdate <= at + skew &&
      last.list.until + skew >= at
    )
      return last.list;
    const list = readCrl(bytes, issuer, at);
    if (typeof list !== "string") last = { bytes, issuer: issuer.fingerprint, list };
    return list;
  };
}

/** A receipt may be signed with a renewed certificate of the same seat. Inbound it is our own. */
function receiptFaults(judge: Judge, exchange: AuditedExchange): TrustFault[] {
  const { manifest, parts, recipient, receipted } = exchange;
  const signer = parts.get("answer-signer");
  if (
    manifest.direction === "inbound" ||
    !receipted ||
    signer === undefined ||
    (recipient !== undefined && signer.equals(recipient))
  )
    return [];
  const at = manifest.answerAt ?? manifest.requestAt;
  const path = judge.path(signer, "ap", parts.get("issuers"), at);
  if (typeof path === "string") return [unchained("the receipt's signer", path)];
  // Bounded by the checks below.
  const faults: TrustFault[] = [];
  if (path[0].commonName !== nameOf(recipient))
    faults.push({
      fault: "party_name",
      detail: "The receipt is signed by another access point than the message was sent to.",
    });
  const fault = timeFault(path, at);
  if (fault !== undefined)
    faults.push({
      fault: "trust_time",
      detail: `The certificate of the receipt's signer was ${fault} when it was signed.`,
    });
  return faults;
}

/**
 * Checks that the SMP's answer is signed by an SMP of the network, and names what was sent, where, and to whose key.
 */
async function metadataFaults(judge: Judge, { manifest, parts, recipient }: AuditedExchange): Promise<TrustFault[]> {
  const document = parts.get("smp");
  if (document === undefined && manifest.smp === undefined) return [];
  const refused = (why: string): TrustFault[] => [
    { fault: "smp_signature", detail: `The SMP's answer is not believed (${why}).` },
  ];
  if (document === undefined || manifest.smp === undefined) return refused("incomplete");
  const signature = await judge.crypto("enveloped.verify", { document });
  if (signature.kind === "refused") return refused(signature.reason);
  const path = judge.path(signature.signer, "smp", parts.get("smp-issuers"), manifest.smp.fetchedAt);
  const fault = typeof path === "string" ? path : timeFault(path, manifest.smp.fetchedAt);
  if (fault !== undefined) return refused(fault);
  if (Math.abs(manifest.requestAt - manifest.smp.fetchedAt) > METADATA_AGE_MAX_MS) return refused("of another time");
  const metadata = readServiceMetadata(signature.root);
  const isAsked =
    metadata?.kind === "information" &&
    metadata.participant.toLowerCase() === manifest.receiver.toLowerCase() &&
    metadata.documentType === manifest.documentTypeId;
  if (!isAsked)
    return [{ fault: "smp_names", detail: "The SMP's answer is about another participant or document type." }];
  const endpoints = metadata.processes
    .filter(({ process }) => process === manifest.processId)
    .flatMap((process) => process.endpoints);
  const named = endpoints.some(
    ({ transportProfile, url, certificate }) =>
      transportProfile === AS4_TRANSPORT_PROFILE &&
      URL.canParse(url) &&
      new URL(url).href === manifest.requestUrl &&
      recipient !== undefined &&
      certificate !== undefined &&
      Buffer.compare(certificate, recipient) === 0,
  );
  return named
    ? []
    : [
        {
          fault: "smp_names",
          detail: "The SMP's answer names another address or certificate than the message was sent to.",
        },
      ];
}

/**
 * How old metadata may be when they are used: as long as an answer is remembered, as long as an attempt may take, and
 * as far as a clock may be set in between.
 */
const METADATA_AGE_MAX_MS =
  Math.max(LIMITS.smp_cache_ms, LIMITS.recipient_cache_ms) + LIMITS.attempt_timeout_ms + LIMITS.clock_step_ms;
