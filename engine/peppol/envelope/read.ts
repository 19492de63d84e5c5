/**
 * The standard business document: the header in which a payload travels, read strictly and written around exact bytes.
 *
 * Only the header is parsed here. The payload is what stands between the header and the end tag of the document, found
 * by offsets of that one parse; its inside is not read. The worker that judges the payload parses the slice as a
 * document of its own, and a slice that is one well-formed document between a checked start and a checked end leaves no
 * second reading of the whole. An event loop never walks 20 MB that way.
 * @source design/as4.md section 9 (Business Message Envelope 2.0.2)
 */
import { isUtf8 } from "node:buffer";

import {
  attributeOf,
  childElements,
  childrenNamed,
  onlyChild,
  parseXmlHead,
  textOf,
} from "../../../validators/xml/tree.js";
import type { XmlElement } from "../../../validators/xml/tree.js";
import { parseInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import { MLS_TYPES } from "../../base/config.js";
import type { MlsType } from "../../base/config.js";
import { PARTICIPANT_SCHEME, parseParticipantId } from "../../base/ids.js";
import type { ParticipantId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { DOCUMENT_TYPE_SCHEME, parseDocumentType, PROCESS_SCHEME } from "./identifiers.js";
import { findPayload } from "./payload.js";
import type { SbdPayload } from "./payload.js";

export type { SbdPayload } from "./payload.js";

/** The namespace of the standard business document and its header. */
export const SBDH_NS = "http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader";

/** The values of one header. Identifiers are without their schemes. */
interface Sbdh {
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  readonly documentType: string;
  readonly documentTypeScheme: string;
  readonly process: string;
  readonly processScheme: string;
  readonly instanceId: string;
  readonly createdAt: Instant;
  readonly standard: string;
  readonly typeVersion: string;
  readonly type: string;
  readonly countryC1: string;
  readonly mls: {
    readonly type: MlsType;
    /**
     * Where the status goes: `0242:` and the id of a service provider. Undefined: to the sending service provider
     * itself.
     */
    readonly to: string | undefined;
  };
  /** Scopes that the specification does not name, as they stand; reserved names included. */
  readonly otherScopes: readonly {
    readonly type: string;
    readonly value: string;
    readonly identifier: string | undefined;
  }[];
}

/** Refusals in order of precedence: the first that applies is the answer. */
export const SBDH_FAULTS = [
  "not_xml",
  "header_missing",
  "header_version",
  "senders",
  "receivers",
  "sender_authority",
  "sender_value",
  "receiver_authority",
  "receiver_value",
  "identification_missing",
  "standard_missing",
  "type_version_missing",
  "type_missing",
  "instance_identifier",
  "multiple_type",
  "creation_date",
  "scopes_missing",
  "scopes_too_many",
  "scope_malformed",
  "scope_twice",
  "document_type",
  "process",
  "country_c1",
  "mls_to_scheme",
  "mls_to_value",
  "mls_type",
  "business_message",
  "standard",
  "type",
  "type_version",
  "document_type_mismatch",
] as const;
/** Why an envelope is refused. */
export type SbdhFault = (typeof SBDH_FAULTS)[number];

/** Faults of a header that are tolerated inbound and reported as warnings. */
export type SbdhWarning = "mls_to_ignored" | "mls_to_outside_0242" | "mls_type_ignored";

interface SbdRead {
  readonly kind: "sbd";
  readonly header: Sbdh;
  readonly payload: SbdPayload;
  readonly warnings: readonly SbdhWarning[];
}

interface SbdRefused {
  readonly kind: "refused";
  readonly fault: SbdhFault;
}

interface ReadSbdOptions {
  /**
   * What to do with a bad MLS_TO or MLS_TYPE. `strict` (what we send) refuses; `inbound` warns and falls back to the
   * default.
   */
  readonly mode: "strict" | "inbound";
}

/**
 * Reads one standard business document.
 * @param bytes  UTF-8, at most as large as the AS4 layer let through.
 * @returns the header's values and the payload, or the first fault of SBDH_FAULTS.
 */
export function readSbd(bytes: Buffer, options: ReadSbdOptions): SbdRead | SbdRefused {
  if (!isUtf8(bytes)) return refused("not_xml");
  const head = parseXmlHead(bytes, { ns: SBDH_NS, local: "StandardBusinessDocumentHeader" }, HEAD_LIMITS);
  // A first child of another name is "malformed" to the parser.
  if (head.kind === "refused")
    return refused(head.fault === "malformed" && looksLikeSbd(bytes) ? "header_missing" : "not_xml");
  if (head.root.ns !== SBDH_NS || head.root.local !== "StandardBusinessDocument") return refused("header_missing");
  const values = readHeader(head.head, options.mode);
  if (typeof values === "string") return refused(values);
  const payload = findPayload(bytes, head.root, head.next, SBDH_NS);
  if (payload === undefined) return refused("business_message");
  const fault = payloadFault(values.header, payload);
  return fault === undefined
    ? { kind: "sbd", header: values.header, payload, warnings: values.warnings }
    : refused(fault);
}

const refused = (fault: SbdhFault): SbdRefused => ({ kind: "refused", fault });

const HEAD_LIMITS = {
  bytes: LIMITS.sbdh_header_bytes_max,
  depth: 32,
  elements: 5_000,
  attributes: 64,
  declarations: LIMITS.sbdh_declarations_max,
} as const;

const looksLikeSbd = (bytes: Buffer): boolean =>
  /<(?:[\w.-]+:)?StandardBusinessDocument[\s>]/.test(bytes.toString("latin1", 0, Math.min(bytes.length, 8_192)));

interface HeaderRead {
  readonly header: Sbdh;
  readonly warnings: SbdhWarning[];
}

function readHeader(element: XmlElement, mode: ReadSbdOptions["mode"]): HeaderRead | SbdhFault {
  if (valueOf(element, "HeaderVersion") !== "1.0") return "header_version";
  const parties = readParties(element);
  if (typeof parties === "string") return parties;
  const identification = readIdentification(element);
  if (typeof identification === "string") return identification;
  const scopes = readScopes(element);
  if (typeof scopes === "string") return scopes;
  const business = readBusinessScopes(scopes);
  if (typeof business === "string") return business;
  const mls = readMls(scopes, mode);
  if (typeof mls === "string") return mls;
  const otherScopes = [...scopes.values()].flat().filter((scope) => !KNOWN_SCOPES.has(scope.type));
  // Members one by one: an object that is put together out of several is made member by member in V8's runtime.
  const header: Sbdh = {
    sender: parties.sender,
    receiver: parties.receiver,
    documentType: business.documentType,
    documentTypeScheme: business.documentTypeScheme,
    process: business.process,
    processScheme: business.processScheme,
    instanceId: identification.instanceId,
    createdAt: identification.createdAt,
    standard: identification.standard,
    typeVersion: identification.typeVersion,
    type: identification.type,
    countryC1: business.countryC1,
    mls: mls.mls,
    otherScopes,
  };
  return { header, warnings: mls.warnings };
}

/**
 * The trimmed text of the only child of this name; undefined when it is missing, comes twice, or holds more than text.
 */
function textBelow(element: XmlElement, local: string): string | undefined {
  const child = onlyChild(element, SBDH_NS, local);
  return child === undefined ? undefined : textOf(child)?.trim();
}

/** The text of a value that we act on; undefined also where it is too long to be an identifier. */
function valueOf(element: XmlElement, local: string): string | undefined {
  const text = textBelow(element, local);
  return text === undefined || text.length > LIMITS.sbdh_value_chars_max ? undefined : text;
}

function readParties(element: XmlElement): Pick<Sbdh, "sender" | "receiver"> | SbdhFault {
  const [sender, ...otherSenders] = childrenNamed(element, SBDH_NS, "Sender");
  if (sender === undefined || otherSenders.length > 0) return "senders";
  const [receiver, ...otherReceivers] = childrenNamed(element, SBDH_NS, "Receiver");
  if (receiver === undefined || otherReceivers.length > 0) return "receivers";
  const from = readParty(sender, "sender");
  if (typeof from === "string") return from;
  const to = readParty(receiver, "receiver");
  if (typeof to === "string") return to;
  return { sender: from.id, receiver: to.id };
}

function readParty(party: XmlElement, side: "sender" | "receiver"): { readonly id: ParticipantId } | SbdhFault {
  const identifier = onlyChild(party, SBDH_NS, "Identifier");
  if (identifier === undefined) return `${side}_value`;
  if (attributeOf(identifier, "Authority") !== PARTICIPANT_SCHEME) return `${side}_authority`;
  const text = textOf(identifier)?.trim() ?? "";
  const id = text.includes("::") ? undefined : parseParticipantId(text);
  return id === undefined ? `${side}_value` : { id };
}

/** A date and time with its zone. @source design/as4.md section 9: CreationDateAndTime with time zone */
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

function readIdentification(
  element: XmlElement,
): Pick<Sbdh, "standard" | "typeVersion" | "type" | "instanceId" | "createdAt"> | SbdhFault {
  const identification = onlyChild(element, SBDH_NS, "DocumentIdentification");
  if (identification === undefined) return "identification_missing";
  const standard = valueOf(identification, "Standard") ?? "";
  const typeVersion = valueOf(identification, "TypeVersion") ?? "";
  const type = valueOf(identification, "Type") ?? "";
  const instanceId = valueOf(identification, "InstanceIdentifier") ?? "";
  if (standard === "") return "standard_missing";
  if (typeVersion === "") return "type_version_missing";
  if (type === "") return "type_missing";
  if (instanceId === "" || Buffer.byteLength(instanceId) > LIMITS.sbdh_id_bytes_max) return "instance_identifier";
  const multiple = childrenNamed(identification, SBDH_NS, "MultipleType");
  if (multiple.length > 0 && !["false", "0"].includes(valueOf(identification, "MultipleType") ?? ""))
    return "multiple_type";
  const written = valueOf(identification, "CreationDateAndTime") ?? "";
  // Only milliseconds are sure to be understood by Date.parse, and what is finer changes nothing for us.
  const createdAt = DATE_TIME.test(written) ? parseInstant(written) : undefined;
  return createdAt === undefined ? "creation_date" : { standard, typeVersion, type, instanceId, createdAt };
}

interface Scope {
  readonly type: string;
  readonly value: string;
  /** Undefined when the element is absent or empty. */
  readonly identifier: string | undefined;
}
type Scopes = ReadonlyMap<string, readonly Scope[]>;

const KNOWN_SCOPES: ReadonlySet<string> = new Set(["DOCUMENTID", "PROCESSID", "COUNTRY_C1", "MLS_TO", "MLS_TYPE"]);

function readScopes(element: XmlElement): Scopes | SbdhFault {
  const group = onlyChild(element, SBDH_NS, "BusinessScope");
  const elements = group === undefined ? [] : childrenNamed(group, SBDH_NS, "Scope");
  if (elements.length === 0) return "scopes_missing";
  if (elements.length > LIMITS.sbdh_scopes_max) return "scopes_too_many";
  const scopes = new Map<string, Scope[]>();
  for (const scope of elements) {
    const type = valueOf(scope, "Type") ?? "";
    const hasValue = childElements(scope).some((child) => child.local === "InstanceIdentifier");
    // A scope that we do not know is tolerated as it stands; the header's own cap bounds it.
    const value = !hasValue
      ? ""
      : KNOWN_SCOPES.has(type)
        ? valueOf(scope, "InstanceIdentifier")
        : textBelow(scope, "InstanceIdentifier");
    if (type === "" || value === undefined) return "scope_malformed";
    const identifier = valueOf(scope, "Identifier");
    scopes.set(type, [
      ...(scopes.get(type) ?? []),
      { type, value, identifier: identifier === "" ? undefined : identifier },
    ]);
  }
  const twice = [...KNOWN_SCOPES].some((type) => (scopes.get(type)?.length ?? 0) > 1);
  return twice ? "scope_twice" : scopes;
}

const COUNTRY = /^[A-Z0-9]{2}$/;

function readBusinessScopes(
  scopes: Scopes,
): Pick<Sbdh, "documentType" | "documentTypeScheme" | "process" | "processScheme" | "countryC1"> | SbdhFault {
  const only = (type: string): Scope => scopes.get(type)?.[0] ?? { type, value: "", identifier: undefined };
  const documentType = only("DOCUMENTID");
  if (documentType.value === "") return "document_type";
  const process = only("PROCESSID");
  if (process.value === "") return "process";
  const country = only("COUNTRY_C1");
  if (!COUNTRY.test(country.value)) return "country_c1";
  return {
    documentType: documentType.value,
    documentTypeScheme: documentType.identifier ?? DOCUMENT_TYPE_SCHEME,
    process: process.value,
    processScheme: process.identifier ?? PROCESS_SCHEME,
    countryC1: country.value,
  };
}

/** @source design/as4.md section 9: MLS_TO */
const SERVICE_PROVIDER = /^0242:[0-9]{6}(?:-[0-9A-Z_]{3,12}(?:\.[0-9A-Z._~-]{3,24})?)?$/;

function readMls(
  scopes: Scopes,
  mode: ReadSbdOptions["mode"],
): { readonly mls: Sbdh["mls"]; readonly warnings: SbdhWarning[] } | SbdhFault {
  const warnings: SbdhWarning[] = [];
  const to = scopes.get("MLS_TO")?.[0];
  const toFault = to === undefined ? undefined : mlsToFault(to);
  const type = scopes.get("MLS_TYPE")?.[0];
  const known = MLS_TYPES.find((name) => name === type?.value);
  const typeFault = type !== undefined && known === undefined ? "mls_type" : undefined;
  const fault = toFault ?? typeFault;
  if (fault !== undefined && mode === "strict") return fault;
  if (toFault !== undefined) warnings.push("mls_to_ignored");
  if (typeFault !== undefined) warnings.push("mls_type_ignored");
  const usable = to !== undefined && toFault === undefined;
  const provider = usable && SERVICE_PROVIDER.test(to.value) ? to.value : undefined;
  if (usable && provider === undefined) warnings.push("mls_to_outside_0242");
  return { mls: { type: known ?? "FAILURE_ONLY", to: provider }, warnings };
}

function mlsToFault(scope: Scope): "mls_to_scheme" | "mls_to_value" | undefined {
  if (scope.identifier !== PARTICIPANT_SCHEME) return "mls_to_scheme";
  return parseParticipantId(scope.value) === undefined ? "mls_to_value" : undefined;
}

/** Compares what the header says of the payload with the payload's root, and with the document type. */
function payloadFault(header: Sbdh, payload: SbdPayload): SbdhFault | undefined {
  if (payload.content !== "xml") return undefined;
  if (header.standard !== payload.rootNamespace) return "standard";
  if (header.type !== payload.rootLocal) return "type";
  const type = parseDocumentType(header.documentType);
  if (type === undefined) return undefined;
  if (header.typeVersion !== type.version) return "type_version";
  return type.rootNamespace === header.standard && type.rootLocal === header.type
    ? undefined
    : "document_type_mismatch";
}
