/**
 * The documents of a service metadata publisher: those of others are verified and read in a worker, those of our own
 * participants are written here.
 * @source design/as4.md section 10; Peppol SMP 1.4.0
 */
import { escapeAttribute, escapeText } from "../../../validators/xml/c14n.js";
import { attributeOf, childrenNamed, onlyChild, parseXml, textOf } from "../../../validators/xml/tree.js";
import type { EnvelopedReason, XmlElement } from "../../../validators/wss/protocol.js";
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import { PARTICIPANT_SCHEME } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { As4Crypto } from "../as4/messages.js";
import { DOCUMENT_TYPE_SCHEME, PROCESS_SCHEME } from "../envelope/identifiers.js";

/** The namespace of the documents that an SMP publishes. */
export const SMP_NS = "http://busdox.org/serviceMetadata/publishing/1.0/";
/** The namespace of the identifiers in them. */
export const IDS_NS = "http://busdox.org/transport/identifiers/1.0/";
const WSA_NS = "http://www.w3.org/2005/08/addressing";

/** @source design/as4.md section 1 */
export const AS4_TRANSPORT_PROFILE = "peppol-transport-as4-v2_0";

/** One endpoint as the metadata write it: nothing of it is checked yet. */
export interface PublishedEndpoint {
  readonly transportProfile: string;
  readonly url: string;
  /** DER; undefined when it is not base64. */
  readonly certificate: Uint8Array | undefined;
  readonly activation: Instant | undefined;
  readonly expiration: Instant | undefined;
  /** What it says cannot be read: whether it could be used is not known, and others are not worse for it. */
  readonly isMalformed?: true;
}

interface PublishedProcess {
  readonly process: string;
  readonly scheme: string;
  readonly endpoints: readonly PublishedEndpoint[];
}

/** What signed metadata say: either where to look instead, or the processes and endpoints of a document type. */
export type ServiceMetadata =
  | { readonly kind: "redirect"; readonly href: string; readonly certificateUid: string }
  | {
      readonly kind: "information";
      readonly participant: string;
      readonly participantScheme: string;
      readonly documentType: string;
      readonly documentTypeScheme: string;
      readonly processes: readonly PublishedProcess[];
    };

/** Signed metadata of whose mathematics nothing is wrong; whether the signer is trusted is the PKI's question. */
interface VerifiedMetadata {
  readonly kind: "verified";
  /** DER. */
  readonly signer: Uint8Array;
  /** Undefined when the document has not the form of metadata. */
  readonly metadata: ServiceMetadata | undefined;
}

/**
 * What an SMP has answered, read by a worker: up to LIMITS.smp_answer_bytes_max of XML, of which the values come back.
 * @throws JobQuarantined where the same answer has killed workers before
 */
export interface SmpReader {
  metadata(
    document: Uint8Array,
  ): Promise<VerifiedMetadata | { readonly kind: "refused"; readonly reason: EnvelopedReason }>;
  /** See readServiceGroup. */
  group(bytes: Uint8Array, participant: string): Promise<string[] | undefined>;
}

/** Makes a reader that reads where it is called, with such cryptography. */
export const smpReader = (crypto: As4Crypto): SmpReader => ({
  metadata: async (document) => {
    const verified = await crypto("enveloped.verify", { document });
    return verified.kind === "refused"
      ? verified
      : { kind: "verified", signer: verified.signer, metadata: readServiceMetadata(verified.root) };
  },
  group: (bytes, participant) => Promise.resolve(readServiceGroup(bytes, participant)),
});

/** Reads a SignedServiceMetadata root. @returns undefined when it has not that form */
export function readServiceMetadata(root: XmlElement): ServiceMetadata | undefined {
  if (root.ns !== SMP_NS || root.local !== "SignedServiceMetadata") return undefined;
  const metadata = onlyChild(root, SMP_NS, "ServiceMetadata");
  if (metadata === undefined) return undefined;
  const information = onlyChild(metadata, SMP_NS, "ServiceInformation");
  const redirect = onlyChild(metadata, SMP_NS, "Redirect");
  if ((information === undefined) === (redirect === undefined)) return undefined;
  return information === undefined ? readRedirect(redirect) : readInformation(information);
}

function readRedirect(redirect: XmlElement | undefined): ServiceMetadata | undefined {
  const href = redirect && attributeOf(redirect, "href")?.trim();
  const certificateUid = redirect && valueBelow(redirect, SMP_NS, "CertificateUID")?.value;
  return href === undefined || href === "" || certificateUid === undefined || certificateUid === ""
    ? undefined
    : { kind: "redirect", href, certificateUid };
}

/** The trimmed text of the only child of a name, with its scheme. */
function valueBelow(
  element: XmlElement,
  ns: string,
  local: string,
): { readonly value: string; readonly scheme: string } | undefined {
  const child = onlyChild(element, ns, local);
  const value = child === undefined ? undefined : textOf(child)?.trim();
  return child === undefined || value === undefined
    ? undefined
    : { value, scheme: attributeOf(child, "scheme")?.trim() ?? "" };
}

function readInformation(information: XmlElement): ServiceMetadata | undefined {
  const participant = valueBelow(information, IDS_NS, "ParticipantIdentifier");
  const documentType = valueBelow(information, IDS_NS, "DocumentIdentifier");
  const list = onlyChild(information, SMP_NS, "ProcessList");
  const elements = list === undefined ? [] : childrenNamed(list, SMP_NS, "Process");
  if (participant === undefined || documentType === undefined || elements.length > LIMITS.smp_processes_max)
    return undefined;
  const processes = elements.map(readProcess);
  const endpoints = processes.reduce((count, process) => count + (process?.endpoints.length ?? 0), 0);
  const read = processes.filter((process) => process !== undefined);
  if (read.length !== processes.length || endpoints > LIMITS.smp_endpoints_max) return undefined;
  return {
    kind: "information",
    participant: participant.value,
    participantScheme: participant.scheme,
    documentType: documentType.value,
    documentTypeScheme: documentType.scheme,
    processes: read,
  };
}

function readProcess(element: XmlElement): PublishedProcess | undefined {
  const id = valueBelow(element, IDS_NS, "ProcessIdentifier");
  const list = onlyChild(element, SMP_NS, "ServiceEndpointList");
  const endpoints = (list === undefined ? [] : childrenNamed(list, SMP_NS, "Endpoint")).map(readEndpoint);
  return id === undefined ? undefined : { process: id.value, scheme: id.scheme, endpoints };
}

function readEndpoint(element: XmlElement): PublishedEndpoint {
  const transportProfile = attributeOf(element, "transportProfile")?.trim() ?? "";
  const reference = onlyChild(element, WSA_NS, "EndpointReference");
  const url = reference && valueBelow(reference, WSA_NS, "Address")?.value;
  const certificate = valueBelow(element, SMP_NS, "Certificate")?.value;
  const activation = instantBelow(element, "ServiceActivationDate");
  const expiration = instantBelow(element, "ServiceExpirationDate");
  if (url === undefined || certificate === undefined || activation === "malformed" || expiration === "malformed")
    return { ...NOTHING_READ, transportProfile };
  return { transportProfile, url, certificate: certificateDer(certificate), activation, expiration };
}

const NOTHING_READ = {
  url: "",
  certificate: undefined,
  activation: undefined,
  expiration: undefined,
  isMalformed: true,
} as const;

/** A date without a zone is read as UTC: the mistake is a few hours where services and certificates last for years. */
const DATE_TIME = /^(\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:\d\d)?$/;

function instantBelow(element: XmlElement, local: string): Instant | undefined | "malformed" {
  const text = childrenNamed(element, SMP_NS, local).length === 0 ? "" : valueBelow(element, SMP_NS, local)?.value;
  if (text === "") return undefined;
  const [, date, zone = "Z"] = DATE_TIME.exec(text ?? "") ?? [];
  const instant =
    date === undefined
      ? Number.NaN
      : Date.parse(`${date.includes("T") ? date.replace(/(\.\d{3})\d+/, "$1") : `${date}T00:00:00`}${zone}`);
  return Number.isNaN(instant) ? "malformed" : instant;
}

/** Base64, with white space and with the lines of PEM when somebody left them in. */
function certificateDer(text: string): Buffer | undefined {
  const compact = text.replace(/-----(?:BEGIN|END) CERTIFICATE-----/g, "").replace(/[ \t\r\n]+/g, "");
  return /^[A-Za-z0-9+/]+={0,2}$/.test(compact) ? Buffer.from(compact, "base64") : undefined;
}

/**
 * Reads a service group, which is not signed: a hint of what a participant takes, nothing to send by. @returns
 * qualified document types, or undefined when it is not this participant's group
 */
export function readServiceGroup(bytes: Uint8Array, participant: string): string[] | undefined {
  const tree = parseXml(bytes);
  if (tree.kind === "refused" || tree.root.ns !== SMP_NS || tree.root.local !== "ServiceGroup") return undefined;
  const id = valueBelow(tree.root, IDS_NS, "ParticipantIdentifier");
  const list = onlyChild(tree.root, SMP_NS, "ServiceMetadataReferenceCollection");
  if (id?.scheme !== PARTICIPANT_SCHEME || id.value.toLowerCase() !== participant.toLowerCase() || list === undefined)
    return undefined;
  const references = childrenNamed(list, SMP_NS, "ServiceMetadataReference").slice(0, LIMITS.smp_references_max);
  return references.flatMap((reference) => documentTypeIn(attributeOf(reference, "href") ?? "") ?? []);
}

function documentTypeIn(href: string): string | undefined {
  const segment = /\/services\/([^/?#]+)$/.exec(href.trim())?.[1];
  try {
    return segment === undefined ? undefined : decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** `scheme::value` in one path segment. */
export const pathSegment = (scheme: string, value: string): string => encodeURIComponent(`${scheme}::${value}`);

interface NewServiceMetadata {
  readonly participant: string;
  readonly documentType: string;
  readonly processes: readonly string[];
  readonly url: string;
  /** DER. */
  readonly certificate: Uint8Array;
  readonly activation: Instant;
  readonly expiration: Instant;
  readonly contact: string;
}

const NAMESPACES = `xmlns="${SMP_NS}" xmlns:id="${IDS_NS}" xmlns:wsa="${WSA_NS}"`;
const identifier = (name: string, scheme: string, value: string): string =>
  `<id:${name} scheme="${escapeAttribute(scheme)}">${escapeText(value)}</id:${name}>`;

/** The document that the signature is added to. */
export const serviceMetadataXml = (metadata: NewServiceMetadata): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<SignedServiceMetadata ${NAMESPACES}><ServiceMetadata>${serviceInformation(metadata)}</ServiceMetadata></SignedServiceMetadata>`;

/** The same without a place for a signature: what an SMP is given that signs for itself. */
export const unsignedServiceMetadataXml = (metadata: NewServiceMetadata): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<ServiceMetadata ${NAMESPACES}>${serviceInformation(metadata)}</ServiceMetadata>`;

function serviceInformation(metadata: NewServiceMetadata): string {
  const endpoint =
    `<Endpoint transportProfile="${AS4_TRANSPORT_PROFILE}"><wsa:EndpointReference><wsa:Address>${escapeText(metadata.url)}</wsa:Address></wsa:EndpointReference>` +
    "<RequireBusinessLevelSignature>false</RequireBusinessLevelSignature>" +
    `<ServiceActivationDate>${isoInstant(metadata.activation)}</ServiceActivationDate><ServiceExpirationDate>${isoInstant(metadata.expiration)}</ServiceExpirationDate>` +
    `<Certificate>${Buffer.from(metadata.certificate).toString("base64")}</Certificate><ServiceDescription>Peppol access point</ServiceDescription>` +
    `<TechnicalContactUrl>${escapeText(metadata.contact)}</TechnicalContactUrl></Endpoint>`;
  const processes = metadata.processes.map(
    (process) =>
      `<Process>${identifier("ProcessIdentifier", PROCESS_SCHEME, process)}<ServiceEndpointList>${endpoint}</ServiceEndpointList></Process>`,
  );
  return (
    "<ServiceInformation>" +
    identifier("ParticipantIdentifier", PARTICIPANT_SCHEME, metadata.participant) +
    identifier("DocumentIdentifier", DOCUMENT_TYPE_SCHEME, metadata.documentType) +
    `<ProcessList>${processes.join("")}</ProcessList></ServiceInformation>`
  );
}

/** The list of what a participant takes. @param base address of the SMP, without a slash at its end */
export function serviceGroupXml(participant: string, documentTypes: readonly string[], base: string): string {
  const references = documentTypes.map(
    (type) =>
      `<ServiceMetadataReference href="${escapeAttribute(`${base}/${pathSegment(PARTICIPANT_SCHEME, participant)}/services/${pathSegment(DOCUMENT_TYPE_SCHEME, type)}`)}"/>`,
  );
  return (
    `<?xml version="1.0" encoding="UTF-8"?>\n<ServiceGroup xmlns="${SMP_NS}" xmlns:id="${IDS_NS}">${identifier("ParticipantIdentifier", PARTICIPANT_SCHEME, participant)}` +
    `<ServiceMetadataReferenceCollection>${references.join("")}</ServiceMetadataReferenceCollection></ServiceGroup>`
  );
}
