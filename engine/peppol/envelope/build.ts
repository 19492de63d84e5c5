/** Writes standard business documents: the header as text, the payload's own bytes between it and the end tag. */
import { LIMITS } from "../../base/limits.js";
import { escapeAttribute, escapeText } from "../../../validators/xml/c14n.js";
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { MlsType } from "../../base/config.js";
import { PARTICIPANT_SCHEME } from "../../base/ids.js";
import type { ParticipantId } from "../../base/ids.js";
import { DOCUMENT_TYPE_SCHEME, parseDocumentType, PROCESS_SCHEME } from "./identifiers.js";
import { readSbd, SBDH_NS } from "./read.js";
import type { SbdhFault } from "./read.js";
import { skipSpace, trimSpace } from "./payload.js";

/** What an envelope is made of. */
export interface NewSbd {
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  /** Without scheme: `urn:…::Invoice##…::2.1`. Standard, Type and TypeVersion follow from it. */
  readonly documentType: string;
  /** @default busdox-docid-qns */
  readonly documentTypeScheme?: string;
  /** Without scheme. */
  readonly process: string;
  /** @default cenbii-procid-ubl */
  readonly processScheme?: string;
  /** Globally unique; the same in every attempt. */
  readonly instanceId: string;
  readonly createdAt: Instant;
  /** Country of the sender, two capitals. */
  readonly countryC1: string;
  readonly mlsType?: MlsType;
  /** `0242:…`: where the Message Level Status is to go when not to the sending service provider. */
  readonly mlsTo?: string;
  /** UBL, UTF-8, exact bytes. */
  readonly payload: Uint8Array;
}

/** The envelope, or why the network has no form for the document. */
export type BuiltSbd =
  | { readonly kind: "built"; readonly bytes: Buffer }
  /**
   * `encoding`: the payload declares another encoding than UTF-8. Other faults: what the strict reader says of the
   * result.
   */
  | { readonly kind: "refused"; readonly fault: SbdhFault | "encoding" };

/** What stands before the envelope's root element, and on both sides of the payload. */
interface Surroundings {
  readonly declaration: Uint8Array;
  readonly before: Uint8Array;
  readonly after: Uint8Array;
}

const NOTHING = new Uint8Array(0);
const ORDINARY: Surroundings = {
  declaration: Buffer.from('<?xml version="1.0" encoding="UTF-8"?>'),
  before: NOTHING,
  after: NOTHING,
};

/**
 * Writes one document and reads it back strictly, so that nothing leaves that we would refuse.
 *
 * The payload's byte-order mark, XML declaration and the white space around it are left out, since a declaration may
 * not stand inside a document; every other byte is the payload's own.
 */
export function buildSbd(sbd: NewSbd, { declaration, before, after }: Surroundings = ORDINARY): BuiltSbd {
  const payload = bareDocument(sbd.payload);
  if (payload === undefined) return { kind: "refused", fault: "encoding" };
  const bytes = Buffer.concat([declaration, Buffer.from(headerText(sbd), "utf8"), before, payload, after, END]);
  const read = readSbd(bytes, { mode: "strict" });
  if (read.kind === "refused") return read;
  // What a receiver takes out must be what we put in.
  return read.payload.bytes.equals(payload) ? { kind: "built", bytes } : { kind: "refused", fault: "business_message" };
}

const END = Buffer.from("</sh:StandardBusinessDocument>");

const element = (name: string, text: string, attributes = ""): string =>
  `<sh:${name}${attributes}>${escapeText(text)}</sh:${name}>`;

const scope = (type: string, value: string, identifier?: string): string =>
  `<sh:Scope>${element("Type", type)}${element("InstanceIdentifier", value)}${identifier === undefined ? "" : element("Identifier", identifier)}</sh:Scope>`;

const party = (name: string, id: string): string =>
  `<sh:${name}>${element("Identifier", id, ` Authority="${escapeAttribute(PARTICIPANT_SCHEME)}"`)}</sh:${name}>`;

function headerText(sbd: NewSbd): string {
  const type = parseDocumentType(sbd.documentType);
  const identification =
    element("Standard", type?.rootNamespace ?? "") +
    element("TypeVersion", type?.version ?? "") +
    element("InstanceIdentifier", sbd.instanceId) +
    element("Type", type?.rootLocal ?? "") +
    element("CreationDateAndTime", isoInstant(sbd.createdAt));
  const scopes = [
    scope("DOCUMENTID", sbd.documentType, sbd.documentTypeScheme ?? DOCUMENT_TYPE_SCHEME),
    scope("PROCESSID", sbd.process, sbd.processScheme ?? PROCESS_SCHEME),
    scope("COUNTRY_C1", sbd.countryC1),
    ...(sbd.mlsTo === undefined ? [] : [scope("MLS_TO", sbd.mlsTo, PARTICIPANT_SCHEME)]),
    ...(sbd.mlsType === undefined ? [] : [scope("MLS_TYPE", sbd.mlsType)]),
  ];
  return (
    `<sh:StandardBusinessDocument xmlns:sh="${SBDH_NS}"><sh:StandardBusinessDocumentHeader>` +
    `${element("HeaderVersion", "1.0")}${party("Sender", sbd.sender)}${party("Receiver", sbd.receiver)}` +
    `<sh:DocumentIdentification>${identification}</sh:DocumentIdentification>` +
    `<sh:BusinessScope>${scopes.join("")}</sh:BusinessScope></sh:StandardBusinessDocumentHeader>`
  );
}

const DECLARATION = /^<\?xml[ \t\r\n][^>]*?\?>/;
const ENCODING = /encoding[ \t\r\n]*=[ \t\r\n]*["']([A-Za-z0-9._-]+)["']/;

/** A document without byte-order mark, XML declaration and white space around it; undefined when it is not in UTF-8. */
export function bareDocument(document: Uint8Array): Buffer | undefined {
  const bytes = Buffer.from(document.buffer, document.byteOffset, document.byteLength);
  const text = bytes.toString("latin1", 0, LIMITS.xml_declaration_bytes_max);
  const mark = text.startsWith("\xef\xbb\xbf") ? 3 : 0;
  const declaration = DECLARATION.exec(text.slice(mark))?.[0] ?? "";
  const encoding = ENCODING.exec(declaration)?.[1] ?? "UTF-8";
  if (encoding.toLowerCase() !== "utf-8") return undefined;
  const start = skipSpace(bytes, mark + declaration.length, bytes.length);
  return bytes.subarray(start, trimSpace(bytes, start, bytes.length));
}
