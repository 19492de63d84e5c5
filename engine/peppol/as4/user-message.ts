/**
 * The eb:Messaging header of a Peppol user message: written from values, read into values, checked rule by rule.
 * Reading takes the verified tree of the signature worker and nothing else.
 * @source design/as4.md section 2 (Peppol AS4 Profile 2.0.3)
 */
import { escapeAttribute, escapeText } from "../../../validators/xml/c14n.js";
import { attributeOf, childElements, childrenNamed, onlyChild, textOf } from "../../../validators/xml/tree.js";
import type { XmlElement } from "../../../validators/wss/protocol.js";
import { PARTICIPANT_SCHEME } from "../../base/ids.js";
import type { EbmsErrorCode } from "./ebms-errors.js";

/** The namespace of ebMS 3 headers. */
export const EB_NS = "http://docs.oasis-open.org/ebxml-msg/ebms/v3.0/ns/core/200704/";
const SOAP_NS = "http://www.w3.org/2003/05/soap-envelope";
const WSU_NS = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";

const PARTY_TYPE = "urn:fdc:peppol.eu:2017:identifiers:ap";
const AGREEMENT = "urn:fdc:peppol.eu:2017:agreements:tia:ap_provider";
const ROLE_INITIATOR = `${EB_NS}initiator`;
const ROLE_RESPONDER = `${EB_NS}responder`;
/** The connectivity test of ebMS: answered with a receipt, never delivered. */
export const TEST_SERVICE = `${EB_NS}service`;
/** The action that goes with TEST_SERVICE. */
export const TEST_ACTION = `${EB_NS}test`;

/** Subject common name of an access point certificate. @source design/as4.md section 8 */
export const SEAT_ID = /^P[A-Z]{2}[0-9]{6}$/;

/** The values of one user message. Identifiers are unescaped, as they stand in SMP and SBDH. */
export interface UserMessage {
  /** RFC 2822 msg-id without angle brackets. */
  readonly messageId: string;
  /** xs:dateTime with time zone. */
  readonly timestamp: string;
  /** Seat ids of the access points. */
  readonly fromParty: string;
  readonly toParty: string;
  /** Process identifier and its scheme; the scheme is absent in the test service. */
  readonly service: string;
  readonly serviceType: string | undefined;
  /** `busdox-docid-qns::…` */
  readonly action: string;
  readonly conversationId: string;
  /** `0245:1234567890`, without scheme. */
  readonly originalSender: string;
  readonly finalRecipient: string;
}

interface OutgoingUserMessage extends UserMessage {
  /** Content-ID of the payload part, and its href `cid:…`. */
  readonly payloadHref: string;
  readonly payloadMimeType: string;
}

/** Writes eb:Messaging around one unit; every namespace it uses is declared on itself. */
export const messagingXml = (id: string, unit: string): string =>
  `<eb:Messaging xmlns:S12="${SOAP_NS}" xmlns:eb="${EB_NS}" xmlns:wsu="${WSU_NS}" wsu:Id="${escapeAttribute(id)}" ` +
  `S12:mustUnderstand="true">${unit}</eb:Messaging>`;

/** Writes one element of the ebMS namespace; its text is escaped, its attributes are not. */
export const eb = (name: string, text: string, attributes = ""): string =>
  `<eb:${name}${attributes}>${escapeText(text)}</eb:${name}>`;

const property = (name: string, value: string, type?: string): string =>
  eb("Property", value, ` name="${name}"${type === undefined ? "" : ` type="${type}"`}`);

const party = (element: "From" | "To", id: string, role: string): string =>
  `<eb:${element}>${eb("PartyId", id, ` type="${PARTY_TYPE}"`)}${eb("Role", role)}</eb:${element}>`;

/** The header of a user message with one gzip-compressed payload part. @param id wsu:Id of eb:Messaging. */
export function userMessageXml(id: string, message: OutgoingUserMessage): string {
  const serviceType = message.serviceType === undefined ? "" : ` type="${escapeAttribute(message.serviceType)}"`;
  return messagingXml(
    id,
    "<eb:UserMessage>" +
      `<eb:MessageInfo>${eb("Timestamp", message.timestamp)}${eb("MessageId", message.messageId)}</eb:MessageInfo>` +
      `<eb:PartyInfo>${party("From", message.fromParty, ROLE_INITIATOR)}${party("To", message.toParty, ROLE_RESPONDER)}</eb:PartyInfo>` +
      `<eb:CollaborationInfo>${eb("AgreementRef", AGREEMENT)}${eb("Service", message.service, serviceType)}` +
      `${eb("Action", message.action)}${eb("ConversationId", message.conversationId)}</eb:CollaborationInfo>` +
      `<eb:MessageProperties>${property("originalSender", message.originalSender, PARTICIPANT_SCHEME)}` +
      `${property("finalRecipient", message.finalRecipient, PARTICIPANT_SCHEME)}</eb:MessageProperties>` +
      `<eb:PayloadInfo><eb:PartInfo href="${escapeAttribute(message.payloadHref)}"><eb:PartProperties>` +
      `${property("MimeType", message.payloadMimeType)}${property("CompressionType", "application/gzip")}` +
      "</eb:PartProperties></eb:PartInfo></eb:PayloadInfo></eb:UserMessage>",
  );
}

/** A header as it was read, before its rules are checked. */
interface RawUserMessage {
  readonly messageId: string | undefined;
  readonly timestamp: string | undefined;
  readonly parties: Record<
    "From" | "To",
    {
      readonly count: number;
      readonly id: string | undefined;
      readonly type: string | undefined;
      readonly role: string | undefined;
    }
  >;
  readonly agreement: string | undefined;
  readonly agreementAttributes: string[];
  readonly service: string | undefined;
  readonly serviceType: string | undefined;
  readonly action: string | undefined;
  readonly conversationId: string | undefined;
  readonly properties:
    | Map<string, { readonly value: string | undefined; readonly type: string | undefined }>
    | undefined;
}

/**
 * One rule for a header. The first that does not hold is the answer, and `detail` names the header item in our words.
 */
interface Rule {
  readonly error: EbmsErrorCode;
  readonly detail: string;
  readonly holds: (raw: RawUserMessage) => boolean;
}

/** Printable ASCII without white space and angle brackets; the `@` of RFC 2822 is missing in ids of some stacks. */
const isMessageId = (id: string | undefined): boolean => id !== undefined && /^[!-;=?-~]{1,255}$/.test(id);
const DATE_TIME = /^-?\d{4,9}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)?$/;
const isShort = (text: string | undefined): boolean => text !== undefined && text.length <= 1_024;
const present = (text: string | undefined): boolean => text !== "" && isShort(text);
const isTest = (raw: RawUserMessage): boolean => raw.service === TEST_SERVICE && raw.action === TEST_ACTION;

const partyRules = (side: "From" | "To", role: string): Rule[] => [
  { error: "EBMS:0009", detail: `${side}: exactly one PartyId`, holds: (raw) => raw.parties[side].count === 1 },
  { error: "EBMS:0003", detail: `${side}: PartyId type`, holds: (raw) => raw.parties[side].type === PARTY_TYPE },
  {
    error: "EBMS:0003",
    detail: `${side}: PartyId is not a seat id`,
    holds: (raw) => SEAT_ID.test(raw.parties[side].id ?? ""),
  },
  { error: "EBMS:0003", detail: `${side}: Role`, holds: (raw) => raw.parties[side].role === role },
];

const participantRule = (name: string): Rule => ({
  error: "EBMS:0003",
  detail: `MessageProperties: ${name}`,
  holds: (raw) => {
    const found = raw.properties?.get(name);
    return present(found?.value) && (isTest(raw) || found?.type === PARTICIPANT_SCHEME);
  },
});

/** What a header must fulfil, in the order in which faults are reported. */
export const USER_MESSAGE_RULES: readonly Rule[] = [
  { error: "EBMS:0009", detail: "MessageId", holds: (raw) => isMessageId(raw.messageId) },
  { error: "EBMS:0009", detail: "Timestamp", holds: (raw) => DATE_TIME.test(raw.timestamp ?? "") },
  ...partyRules("From", ROLE_INITIATOR),
  ...partyRules("To", ROLE_RESPONDER),
  { error: "EBMS:0010", detail: "AgreementRef", holds: (raw) => raw.agreement === AGREEMENT },
  {
    error: "EBMS:0010",
    detail: "AgreementRef: pmode and type are not used",
    holds: (raw) => raw.agreementAttributes.length === 0,
  },
  { error: "EBMS:0009", detail: "Service", holds: (raw) => present(raw.service) },
  { error: "EBMS:0003", detail: "Service type", holds: (raw) => isTest(raw) || present(raw.serviceType) },
  { error: "EBMS:0009", detail: "Action", holds: (raw) => present(raw.action) },
  // Any value, none included: its type is a token, and a message that belongs to no conversation may say so.
  { error: "EBMS:0009", detail: "ConversationId", holds: (raw) => isShort(raw.conversationId) },
  { error: "EBMS:0009", detail: "MessageProperties: a name twice", holds: (raw) => raw.properties !== undefined },
  participantRule("originalSender"),
  participantRule("finalRecipient"),
];

type UserMessageRead =
  | { readonly kind: "user_message"; readonly message: UserMessage; readonly testService: boolean }
  | {
      readonly kind: "refused";
      readonly error: EbmsErrorCode;
      readonly detail: string;
      readonly messageId: string | undefined;
    };

/** Reads and checks the header of a user message. */
export function readUserMessage(messaging: XmlElement): UserMessageRead {
  const user = onlyChild(messaging, EB_NS, "UserMessage");
  if (user === undefined || childElements(messaging).length !== 1) {
    return { kind: "refused", error: "EBMS:0009", detail: "Messaging: exactly one UserMessage", messageId: undefined };
  }
  const raw = readRaw(user);
  const broken = USER_MESSAGE_RULES.find((rule) => !rule.holds(raw));
  if (broken !== undefined) {
    const messageId = isMessageId(raw.messageId) ? raw.messageId : undefined;
    return { kind: "refused", error: broken.error, detail: broken.detail, messageId };
  }
  return {
    kind: "user_message",
    testService: isTest(raw),
    message: {
      messageId: raw.messageId ?? "",
      timestamp: raw.timestamp ?? "",
      fromParty: raw.parties.From.id ?? "",
      toParty: raw.parties.To.id ?? "",
      service: raw.service ?? "",
      serviceType: raw.serviceType,
      action: raw.action ?? "",
      conversationId: raw.conversationId ?? "",
      originalSender: raw.properties?.get("originalSender")?.value ?? "",
      finalRecipient: raw.properties?.get("finalRecipient")?.value ?? "",
    },
  };
}

function readRaw(user: XmlElement): RawUserMessage {
  const info = onlyChild(user, EB_NS, "MessageInfo");
  const collaboration = onlyChild(user, EB_NS, "CollaborationInfo");
  const agreement = collaboration && onlyChild(collaboration, EB_NS, "AgreementRef");
  const service = collaboration && onlyChild(collaboration, EB_NS, "Service");
  return {
    messageId: textBelow(info, "MessageId"),
    timestamp: textBelow(info, "Timestamp"),
    parties: { From: readParty(user, "From"), To: readParty(user, "To") },
    agreement: trimmed(agreement),
    agreementAttributes: agreement?.attributes.map((attribute) => attribute.local) ?? [],
    service: trimmed(service),
    serviceType: service && attributeOf(service, "type"),
    action: textBelow(collaboration, "Action"),
    conversationId: textBelow(collaboration, "ConversationId"),
    properties: readProperties(user),
  };
}

function readParty(user: XmlElement, side: "From" | "To"): RawUserMessage["parties"]["From"] {
  const info = onlyChild(user, EB_NS, "PartyInfo");
  const element = info && onlyChild(info, EB_NS, side);
  const ids = element === undefined ? [] : childrenNamed(element, EB_NS, "PartyId");
  return {
    count: ids.length,
    id: trimmed(ids[0]),
    type: ids[0] && attributeOf(ids[0], "type"),
    role: textBelow(element, "Role"),
  };
}

function readProperties(user: XmlElement): RawUserMessage["properties"] {
  const group = onlyChild(user, EB_NS, "MessageProperties");
  const properties = new Map<string, { readonly value: string | undefined; readonly type: string | undefined }>();
  for (const element of group === undefined ? [] : childrenNamed(group, EB_NS, "Property")) {
    const name = attributeOf(element, "name") ?? "";
    if (properties.has(name)) return undefined;
    properties.set(name, { value: trimmed(element), type: attributeOf(element, "type") });
  }
  return properties;
}

/** The text of the only child of this name, without white space around it. */
export const textBelow = (element: XmlElement | undefined, local: string): string | undefined =>
  trimmed(element && onlyChild(element, EB_NS, local));

const trimmed = (element: XmlElement | undefined): string | undefined =>
  element === undefined ? undefined : textOf(element)?.trim();
