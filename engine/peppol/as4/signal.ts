/**
 * ebMS signals: receipts with NonRepudiationInformation and errors, written from values and read into values.
 * @source design/as4.md sections 6, 7
 */
import { LIMITS } from "../../base/limits.js";
import { firstChars } from "../../base/text.js";
import { escapeAttribute } from "../../../validators/xml/c14n.js";
import { attributeOf, childElements, childrenNamed, onlyChild, textOf } from "../../../validators/xml/tree.js";
import type { SignedReference, XmlElement } from "../../../validators/wss/protocol.js";
import { eb, EB_NS, messagingXml, textBelow } from "./user-message.js";
import { EBMS_ERRORS } from "./ebms-errors.js";
import type { EbmsErrorCode, ReceivedError } from "./ebms-errors.js";

const EBBP_NS = "http://docs.oasis-open.org/ebxml-bp/ebbp-signals-2.0";
const DS_NS = "http://www.w3.org/2000/09/xmldsig#";
const EC_NS = "http://www.w3.org/2001/10/xml-exc-c14n#";

/** What every signal says of itself and of the message that it answers. */
export interface SignalInfo {
  /** MessageId of the signal itself. */
  readonly messageId: string;
  /** xs:dateTime with time zone. */
  readonly timestamp: string;
  /** MessageId of the user message the signal answers; absent when that could not be read. */
  readonly refToMessageId?: string;
}

/** The header of a receipt: one part per reference of the user message's signature, with its values copied. */
export function receiptXml(id: string, info: SignalInfo, references: readonly SignedReference[]): string {
  const parts = references.map(
    (reference) => `<ebbp:MessagePartNRInformation>${referenceXml(reference)}</ebbp:MessagePartNRInformation>`,
  );
  return signalXml(
    id,
    info,
    `<eb:Receipt><ebbp:NonRepudiationInformation xmlns:ebbp="${EBBP_NS}">${parts.join("")}</ebbp:NonRepudiationInformation></eb:Receipt>`,
  );
}

/** An error that we tell a peer. */
export interface OutgoingError {
  readonly code: EbmsErrorCode;
  /** eb:ErrorDetail: a constant of ours, nothing that came with the message. */
  readonly detail?: string;
}

/** The header of an error signal with one error. */
export function errorXml(id: string, info: SignalInfo, error: OutgoingError): string {
  const { name, severity, category } = EBMS_ERRORS[error.code];
  const ref = info.refToMessageId === undefined ? "" : ` refToMessageInError="${escapeAttribute(info.refToMessageId)}"`;
  const attributes = ` category="${category}" errorCode="${error.code}" origin="ebMS"${ref} severity="${severity}" shortDescription="${name}"`;
  const detail = error.detail === undefined ? "" : eb("ErrorDetail", error.detail);
  return signalXml(id, info, `<eb:Error${attributes}>${eb("Description", name, ' xml:lang="en"')}${detail}</eb:Error>`);
}

function signalXml(id: string, info: SignalInfo, content: string): string {
  const ref = info.refToMessageId === undefined ? "" : eb("RefToMessageId", info.refToMessageId);
  const messageInfo = `<eb:MessageInfo>${eb("Timestamp", info.timestamp)}${eb("MessageId", info.messageId)}${ref}</eb:MessageInfo>`;
  return messagingXml(id, `<eb:SignalMessage>${messageInfo}${content}</eb:SignalMessage>`);
}

function referenceXml(reference: SignedReference): string {
  const list =
    reference.prefixList === undefined
      ? ""
      : `<ec:InclusiveNamespaces xmlns:ec="${EC_NS}" PrefixList="${escapeAttribute(reference.prefixList)}"/>`;
  return (
    `<ds:Reference xmlns:ds="${DS_NS}" URI="${escapeAttribute(reference.uri)}"><ds:Transforms>` +
    `<ds:Transform Algorithm="${escapeAttribute(reference.transform)}">${list}</ds:Transform></ds:Transforms>` +
    `<ds:DigestMethod Algorithm="${escapeAttribute(reference.digestMethod)}"/>` +
    `<ds:DigestValue>${reference.digest}</ds:DigestValue></ds:Reference>`
  );
}

/** One acknowledged part, as far as it proves something. */
interface AcknowledgedPart {
  readonly digestMethod: string;
  /** Base64, without white space. */
  readonly digest: string;
}

type Signal =
  | { readonly kind: "receipt"; readonly info: SignalInfo; readonly parts: AcknowledgedPart[] }
  | { readonly kind: "errors"; readonly info: SignalInfo; readonly errors: ReceivedError[] };

/**
 * Reads a signal; undefined when it is neither a receipt with NonRepudiationInformation nor a list of errors. Warnings
 * may stand beside a receipt, and take nothing from what it proves.
 * @source ebms-header-3_0-200704.xsd, SignalMessage: at most one receipt, and/or a series of errors
 */
export function readSignal(messaging: XmlElement): Signal | undefined {
  const signal = onlyChild(messaging, EB_NS, "SignalMessage");
  const messageInfo = signal && onlyChild(signal, EB_NS, "MessageInfo");
  if (signal === undefined || messageInfo === undefined || childElements(messaging).length !== 1) return undefined;
  const ref = textBelow(messageInfo, "RefToMessageId");
  const info: SignalInfo = {
    messageId: textBelow(messageInfo, "MessageId") ?? "",
    timestamp: textBelow(messageInfo, "Timestamp") ?? "",
    ...(ref === undefined || ref === "" ? {} : { refToMessageId: ref }),
  };
  const errors = childrenNamed(signal, EB_NS, "Error");
  const receipts = childrenNamed(signal, EB_NS, "Receipt");
  if (errors.length > 0 && receipts.length === 0) return { kind: "errors", info, errors: errors.map(readError) };
  const [receipt, ...more] = receipts;
  if (receipt === undefined || more.length > 0 || !errors.every(isWarning)) return undefined;
  const parts = readParts(receipt);
  return parts === undefined ? undefined : { kind: "receipt", info, parts };
}

const isWarning = (error: XmlElement): boolean => readError(error).severity === "warning";

function readParts(receipt: XmlElement): AcknowledgedPart[] | undefined {
  const information = onlyChild(receipt, EBBP_NS, "NonRepudiationInformation");
  if (information === undefined) return undefined;
  const parts = childrenNamed(information, EBBP_NS, "MessagePartNRInformation").map((part) => {
    const reference = onlyChild(part, DS_NS, "Reference");
    const method = reference && onlyChild(reference, DS_NS, "DigestMethod");
    const value = reference && onlyChild(reference, DS_NS, "DigestValue");
    const digestMethod = method && attributeOf(method, "Algorithm");
    const digest = value && textOf(value)?.replace(/\s+/g, "");
    return digestMethod === undefined || digest === undefined ? undefined : { digestMethod, digest };
  });
  return parts.every((part) => part !== undefined) ? parts.filter((part) => part !== undefined) : undefined;
}

const shortened = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : firstChars(text, LIMITS.ebms_text_chars_max);

function readError(element: XmlElement): ReceivedError {
  return {
    code: attributeOf(element, "errorCode")?.trim() ?? "",
    severity: attributeOf(element, "severity")?.trim().toLowerCase() ?? "failure",
    detail: shortened(textBelow(element, "ErrorDetail")),
    description: shortened(textBelow(element, "Description")),
    refToMessageId: attributeOf(element, "refToMessageInError")?.trim(),
  };
}

/**
 * Whether octets that nobody could judge hold an error of ebMS other than the one that says no more than "I have it":
 * names of XML are written in one way only.
 */
export const holdsRefusal = (octets: Buffer): boolean =>
  octets.includes(EB_NS) && /\berrorCode\s*=\s*["'](?!EBMS:4001["'])/.test(octets.toString("latin1"));

/** True when the acknowledged parts are, as a multiset of digests, the references we signed. */
export function acknowledges(parts: readonly AcknowledgedPart[], references: readonly SignedReference[]): boolean {
  const sorted = (list: readonly AcknowledgedPart[]): string =>
    list
      .map((part) => `${part.digestMethod} ${part.digest}`)
      .sort()
      .join("\n");
  return parts.length > 0 && sorted(parts) === sorted(references);
}
