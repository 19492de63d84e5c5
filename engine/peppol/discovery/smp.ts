/**
 * Finds where and for whom to encrypt a document: the signed metadata of its recipient, believed only after every
 * check.
 *
 * Signature by an SMP of the network, the participant and document type that were asked for, process, transport
 * profile, dates, an address on the open network, and an access point's certificate. What fails first is the routing
 * status.
 * @source design/as4.md section 10; spec/rulings.md, section 13 (routingStatus); design/reliability.md, S-08
 */
import { JobQuarantined, PoolBusy } from "../../../validators/pool.js";
import type { Clock, Instant } from "../../base/clock.js";
import { PARTICIPANT_SCHEME, participantKey } from "../../base/ids.js";
import type { ParticipantId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import { DOCUMENT_TYPE_SCHEME, PROCESS_SCHEME, WILDCARD_SCHEME } from "../envelope/identifiers.js";
import { parseOutboundUrl } from "../network/outbound-address.js";
import type { OutboundPolicy, OutboundUrl } from "../network/outbound-address.js";
import type { Pki, RevocationAnswer, TrustFault } from "../pki/pki.js";
import { readCertificate } from "../pki/certificate.js";
import { BUSY, NOT_ALLOWED, remembering } from "./remembering.js";
import type { MayAsk } from "./remembering.js";
import { failureRemembered_ms, FAULT, NO_WORKER } from "./routing.js";
import type { RoutingFailure } from "./routing.js";
import { AS4_TRANSPORT_PROFILE } from "./smp-document.js";
import type { PublishedEndpoint, ServiceMetadata, SmpReader } from "./smp-document.js";
import type { GroupResult, MetadataKey, MetadataResult, MetadataSource } from "./smp-source.js";
import { matchDocumentType, mayMatchWildcard } from "./wildcards.js";

/** Who is to receive what, in which process. */
export interface SmpQuestion {
  readonly participant: ParticipantId;
  /** Without scheme. */
  readonly documentType: string;
  /** @default busdox-docid-qns */
  readonly documentTypeScheme?: string;
  /** Without scheme. @default any: the first process with a usable endpoint */
  readonly process?: string;
  /** @default cenbii-procid-ubl */
  readonly processScheme?: string;
}

/** What the answer rests on; evidence of an exchange. Absent in the static form. */
interface SmpEvidence {
  readonly url: string;
  /** DNS name that led there. */
  readonly dnsName?: string;
  /** The signed document, exact bytes. */
  readonly document: Buffer;
  /** DER of its signer. */
  readonly signer: Buffer;
  /** DER of the signer's issuers up to the root. */
  readonly issuers: readonly Buffer[];
  readonly fetchedAt: Instant;
}

interface SmpEndpoint {
  readonly url: string;
  /** The checked URL: what `guardedLookup` of outbound-address.ts needs for the connection. */
  readonly target: OutboundUrl;
  /** DER of the receiving access point's certificate: what is encrypted to, and who must sign the receipt. */
  readonly certificate: Buffer;
  /** DER of its issuers. */
  readonly chain: readonly Buffer[];
  readonly revocation: RevocationAnswer;
  /** PartyId of the receiving access point. */
  readonly seat: string;
  readonly process: string;
  readonly processScheme: string;
  readonly transportProfile: string;
}

/** Where a document goes, or why there is no such place. */
export type SmpAnswer =
  | { readonly status: "ready"; readonly endpoint: SmpEndpoint; readonly evidence?: SmpEvidence }
  /** `reason`: short, from closed sets; for logs and attempts. */
  | { readonly status: RoutingFailure; readonly reason: string; readonly evidence?: SmpEvidence };

/**
 * The look-up as the rest of the engine uses it, whether it asks the network or our own SMP (createSmpLookup) or a file
 * (createStaticLookup).
 */
export interface SmpLookup {
  /** Never throws. @param options.fresh asks again whatever is remembered: after a connection or a receipt failed */
  lookup(question: SmpQuestion, options?: { readonly fresh?: boolean; readonly mayAsk?: MayAsk }): Promise<SmpAnswer>;
  /** The document types of a participant with their schemes: an unsigned hint. Never throws. */
  documentTypes(participant: ParticipantId, options?: { readonly mayAsk?: MayAsk }): Promise<GroupResult>;
  /** Forgets what is known of a participant: its registration has changed. */
  forget(participant: string): void;
}

interface SmpLookupOptions {
  readonly source: MetadataSource;
  readonly reader: SmpReader;
  readonly pki: Pki;
  readonly policy: OutboundPolicy;
  readonly clock: Clock;
  readonly log: Log;
  /** How long an answer is believed. @default LIMITS.smp_cache_ms; LIMITS.recipient_cache_ms for the embedded form */
  readonly cache_ms?: number;
}

type Information = Extract<ServiceMetadata, { readonly kind: "information" }>;

/** What is remembered: verified information, or why there is none. */
type Found =
  | { readonly kind: "information"; readonly information: Information; readonly evidence: SmpEvidence }
  | { readonly kind: "none"; readonly status: RoutingFailure; readonly reason: string };

/** Makes the look-up over a source of metadata. Every answer is verified, and remembered for a bounded time. */
export function createSmpLookup(options: SmpLookupOptions): SmpLookup {
  const { source, pki, policy, clock, log } = options;
  const positive_ms = options.cache_ms ?? LIMITS.smp_cache_ms;
  const negative_ms = Math.min(positive_ms, LIMITS.smp_cache_negative_ms);

  const find = async (key: MetadataKey): Promise<Found> => {
    try {
      return await findMetadata(options, key);
    } catch (error) {
      log.error("smp.lookup_failed", errorFields(error));
      return none("lookup_failed", reasonOf(error));
    }
  };
  const findGroup = async (participant: string): Promise<GroupResult> => {
    try {
      return await source.group(participant);
    } catch (error) {
      log.error("smp.lookup_failed", errorFields(error));
      return { kind: "failed", reason: reasonOf(error) };
    }
  };
  const metadata = remembering<MetadataKey, Found>({
    clock,
    nameOf: (key) => `${key.participant} ${key.documentTypeScheme}::${key.documentType}`,
    ask: find,
    lifetimeOf: (found) => {
      if (found.kind === "information") return positive_ms;
      return isFailure(found) ? failureRemembered_ms(found.reason) : negative_ms;
    },
    isFailure,
    refused: (reason) => none("lookup_failed", reason),
  });
  const groups = remembering<string, GroupResult>({
    clock,
    nameOf: (participant) => `${participant} `,
    ask: findGroup,
    lifetimeOf: (group) => {
      if (group.kind === "failed") return failureRemembered_ms(group.reason);
      return group.kind === "types" ? positive_ms : negative_ms;
    },
    isFailure: ({ kind }) => kind === "failed",
    refused: (reason) => ({ kind: "failed", reason }),
  });

  /**
   * What is published under the more general type by which the participant takes that of the question.
   * @returns undefined where it has published none
   */
  async function byWildcard(key: MetadataKey, fresh: boolean, mayAsk?: MayAsk): Promise<Found | undefined> {
    if (key.documentTypeScheme !== DOCUMENT_TYPE_SCHEME || !mayMatchWildcard(key.documentType)) return undefined;
    const group = await groups.get(key.participant, fresh, mayAsk);
    // A list that could not be had says nothing of what is in it.
    if (group.kind === "failed") return none("lookup_failed", group.reason);
    const match = group.kind === "types" ? matchDocumentType(group.documentTypes, key.documentType) : undefined;
    if (match?.scheme !== WILDCARD_SCHEME) return undefined;
    const wildcard = { ...key, documentType: match.value, documentTypeScheme: match.scheme };
    return metadata.get(wildcard, fresh, mayAsk);
  }

  async function answerTo(
    question: SmpQuestion,
    key: MetadataKey,
    fresh: boolean,
    mayAsk?: MayAsk,
  ): Promise<SmpAnswer> {
    let found = await metadata.get(key, fresh, mayAsk);
    if (found.kind === "none" && found.status === "document_type_not_supported")
      found = (await byWildcard(key, fresh, mayAsk)) ?? found;
    if (found.kind === "none") return { status: found.status, reason: found.reason };
    const endpoint = await chooseEndpoint(found.information, question, { pki, policy, now: clock.now() });
    return "status" in endpoint
      ? { ...endpoint, evidence: found.evidence }
      : { status: "ready", endpoint, evidence: found.evidence };
  }

  /** Metadata without a usable endpoint say "not there", which is not believed as long as an endpoint is. */
  const isOutdated = (answer: SmpAnswer): boolean =>
    answer.status !== "ready" &&
    (answer.status !== "lookup_failed" || answer.reason === MALFORMED) &&
    answer.evidence !== undefined &&
    clock.now() - answer.evidence.fetchedAt >= negative_ms;

  return {
    lookup: async (question, { fresh = false, mayAsk } = {}) => {
      const key = {
        participant: participantKey(question.participant),
        documentType: question.documentType,
        documentTypeScheme: question.documentTypeScheme ?? DOCUMENT_TYPE_SCHEME,
      };
      if (fresh) source.forget(key.participant);
      const known = await answerTo(question, key, fresh, mayAsk);
      if (!isOutdated(known)) return known;
      const renewed = await answerTo(question, key, true, mayAsk);
      return renewed.status === "lookup_failed" && isUnasked(renewed.reason) ? known : renewed;
    },
    documentTypes: async (participant, { mayAsk } = {}) => groups.get(participantKey(participant), false, mayAsk),
    forget: (participant) => {
      const key = participant.toLowerCase();
      for (const answers of [metadata, groups]) answers.forget(`${key} `);
      source.forget(key);
    },
  };
}

/** Whether nobody was asked, so that what is remembered is the best that is known. */
const isUnasked = (reason: string): boolean => reason === BUSY || reason === NOT_ALLOWED;

/** Why a look-up has thrown. An answer that kills workers is an answer of the network; whatever else throws is ours. */
function reasonOf(error: unknown): string {
  if (error instanceof JobQuarantined) return "quarantined";
  return error instanceof PoolBusy ? NO_WORKER : FAULT;
}

const none = (status: RoutingFailure, reason: string): Found => ({ kind: "none", status, reason });
const isFailure = (found: Found): boolean => found.kind === "none" && found.status === "lookup_failed";

/** Fetches and verifies, following at most one redirect. */
async function findMetadata(options: SmpLookupOptions, key: MetadataKey): Promise<Found> {
  const first = await verified(options, await options.source.metadata(key));
  if (first.kind === "none") return first;
  if (first.metadata.kind === "information") return informationOf(first.metadata, first.evidence, key);
  const target = await verified(options, await options.source.redirected(first.metadata.href));
  if (target.kind === "none") return target;
  if (target.metadata.kind === "redirect") return none("lookup_failed", "second_redirect");
  if (!isNamedBy(target.evidence.signer, first.metadata.certificateUid))
    return none("lookup_failed", "redirect_certificate");
  return informationOf(target.metadata, target.evidence, key);
}

/** The reason where an SMP has signed what is not of the form of metadata. */
const MALFORMED = "malformed_metadata";

type Verified =
  | Extract<Found, { readonly kind: "none" }>
  | { readonly kind: "verified"; readonly metadata: ServiceMetadata; readonly evidence: SmpEvidence };

async function verified({ reader, pki, clock }: SmpLookupOptions, result: MetadataResult): Promise<Verified> {
  const failed = (reason: string): Verified => ({ kind: "none", status: "lookup_failed", reason });
  if (result.kind === "no_participant") return { kind: "none", status: "participant_not_found", reason: result.reason };
  if (result.kind === "no_document")
    return { kind: "none", status: "document_type_not_supported", reason: "not_published" };
  if (result.kind === "failed") return failed(result.reason);
  const signature = await reader.metadata(result.bytes);
  if (signature.kind === "refused") return failed(`signature_${signature.reason}`);
  const trust = await pki.check(signature.signer, { usage: "smp" });
  if (trust.kind === "refused") return failed(`signer_${trust.reason}`);
  const { metadata } = signature;
  if (metadata === undefined) return failed(MALFORMED);
  const { bytes: document, url, dnsName } = result;
  const evidence = {
    url,
    document,
    signer: Buffer.from(signature.signer),
    issuers: trust.chain,
    fetchedAt: clock.now(),
    ...(dnsName === undefined ? {} : { dnsName }),
  };
  return { kind: "verified", metadata, evidence };
}

/**
 * Refuses metadata that speak of another participant or document type than was asked for.
 * @source design/as4.md section 10 (peppol-commons #73)
 */
function informationOf(information: Information, evidence: SmpEvidence, key: MetadataKey): Found {
  const isParticipant =
    information.participantScheme === PARTICIPANT_SCHEME && information.participant.toLowerCase() === key.participant;
  const isType =
    information.documentTypeScheme === key.documentTypeScheme && information.documentType === key.documentType;
  if (!isParticipant) return none("lookup_failed", "other_participant");
  return isType ? { kind: "information", information, evidence } : none("lookup_failed", "other_document_type");
}

/** A redirect names the signer by its common name or its whole subject, in any order and spelling of the parts. */
function isNamedBy(signer: Buffer, certificateUid: string): boolean {
  const certificate = readCertificate(signer);
  if (certificate === undefined) return false;
  const parts = (name: string): string =>
    name
      .split(/[\n,]/)
      .map((part) => part.trim().replace(/\s*=\s*/, "="))
      .filter((part) => part !== "")
      .sort()
      .join("\n")
      .toLowerCase();
  const uid = certificateUid.trim();
  return (
    uid === certificate.commonName ||
    parts(uid) === parts(certificate.x509.subject) ||
    uid === `CN=${certificate.commonName ?? ""}`
  );
}

type Failed = Exclude<SmpAnswer, { readonly status: "ready" }>;
type Chosen = SmpEndpoint | Failed;

interface Judges {
  readonly pki: Pki;
  readonly policy: OutboundPolicy;
  readonly now: Instant;
}

/**
 * What can be wrong with an endpoint, in the order in which it is told of several: what may pass by itself, then what
 * the receiver renews, then what stands, for which a document would be refused that another endpoint may soon take.
 */
const ENDPOINT_FAULTS = [
  "lookup_failed",
  "certificate_expired",
  "certificate_invalid",
  "endpoint_not_found",
] as const satisfies readonly Failed["status"][];
type EndpointFault = Failed & { readonly status: (typeof ENDPOINT_FAULTS)[number] };

/** Of an endpoint that cannot be read nobody knows whether it could be used. */
const UNREADABLE: EndpointFault = { status: "lookup_failed", reason: MALFORMED };

/** Chooses the first endpoint that can be used; where there is none, says what is wrong by ENDPOINT_FAULTS. */
async function chooseEndpoint(information: Information, question: SmpQuestion, judges: Judges): Promise<Chosen> {
  const wanted = information.processes.filter(
    ({ process, scheme }) =>
      question.process === undefined ||
      (process === question.process &&
        (scheme === "" ? PROCESS_SCHEME : scheme) === (question.processScheme ?? PROCESS_SCHEME)),
  );
  if (wanted.length === 0) return { status: "process_not_supported", reason: "not_published" };
  const offers = wanted.flatMap(({ process, scheme, endpoints }) =>
    endpoints
      .filter(({ transportProfile }) => transportProfile === AS4_TRANSPORT_PROFILE)
      .map((endpoint) => ({ process, scheme, endpoint })),
  );
  if (offers.length === 0) return { status: "endpoint_not_found", reason: "no_as4" };
  const active = offers.filter(
    ({ endpoint: { activation, expiration } }) =>
      (activation ?? judges.now) <= judges.now && judges.now < (expiration ?? Infinity),
  );
  if (active.length === 0) return { status: "endpoint_not_found", reason: "not_active" };
  // Bounded by the endpoints of one document of metadata.
  const faults: EndpointFault[] = [];
  for (const { process, scheme, endpoint } of active) {
    const judged = endpoint.isMalformed === true ? UNREADABLE : await judgeEndpoint(endpoint, judges);
    if (!("status" in judged))
      return {
        ...judged,
        process,
        processScheme: scheme === "" ? PROCESS_SCHEME : scheme,
        transportProfile: endpoint.transportProfile,
      };
    faults.push(judged);
  }
  const [told] = ENDPOINT_FAULTS.flatMap((status) => faults.filter((fault) => fault.status === status));
  return told ?? { status: "endpoint_not_found", reason: "not_active" };
}

/** The routing status of a certificate's fault; every fault that is not listed means certificate_invalid. */
const CERTIFICATE_STATUS: Partial<Record<TrustFault, EndpointFault["status"]>> = {
  expired: "certificate_expired",
  revocation_unknown: "lookup_failed",
};

/** Checks address and certificate of one endpoint. */
export async function judgeEndpoint(
  endpoint: Pick<PublishedEndpoint, "url" | "certificate">,
  { pki, policy, now }: Judges,
): Promise<Pick<SmpEndpoint, "url" | "target" | "certificate" | "chain" | "revocation" | "seat"> | EndpointFault> {
  const target = parseOutboundUrl(endpoint.url, "as4", policy);
  if (target.kind === "refused") return { status: "endpoint_not_found", reason: `address_${target.fault}` };
  if (endpoint.certificate === undefined) return { status: "certificate_invalid", reason: "certificate_malformed" };
  const verdict = await pki.check(endpoint.certificate, { usage: "ap", at: now });
  if (verdict.kind === "refused")
    return {
      status: CERTIFICATE_STATUS[verdict.reason] ?? "certificate_invalid",
      reason: `certificate_${verdict.reason}`,
    };
  const { certificate, chain, revocation, seat } = verdict;
  return { url: target.url.href, target, certificate: certificate.der, chain, revocation, seat };
}
