/**
 * AS4 messages as bytes: build and open user messages, build receipts and errors, judge an answer. No network, no
 * storage, no trust decision; the cryptography is asked of the signature workers through `As4Crypto`.
 * @source design/as4.md sections 2 to 8, 18
 */
import type {
  Attachment,
  Opened,
  OwnKey,
  SecurityReason,
  SignatureTaskKind,
  SignatureTasks,
  SignedReference,
} from "../../../validators/wss/protocol.js";
import { LIMITS } from "../../base/limits.js";
import { BoundedMap } from "../../base/bounded.js";
import { readCertificate } from "../pki/certificate.js";
import { decideErrors, meaningOf } from "./ebms-errors.js";
import type { EbmsErrorCode, ErrorMeaning, ReceivedError } from "./ebms-errors.js";
import { acknowledges, errorXml, readSignal, receiptXml } from "./signal.js";
import type { OutgoingError, SignalInfo } from "./signal.js";
import { readUserMessage, userMessageXml } from "./user-message.js";
import type { UserMessage } from "./user-message.js";
import { parseContentType, readMultipart, writeMultipart } from "./mime.js";
import type { MimeFault } from "./mime.js";

/** One task of the signature workers. In production the pool; in tests the same handlers in this thread. */
export type As4Crypto = <K extends SignatureTaskKind>(
  kind: K,
  input: SignatureTasks[K]["input"],
) => Promise<SignatureTasks[K]["output"]>;

/** The Content-Type of signals, which have no attachment. */
export const SOAP_CONTENT_TYPE = "application/soap+xml;charset=UTF-8";
const SOAP_MEDIA_TYPE = "application/soap+xml";

/** What a user message is made of. */
export interface BuildOptions {
  readonly message: UserMessage;
  /** The standard business document, exact bytes. */
  readonly payload: Uint8Array;
  /** Unique per attempt, NCName characters; makes the ids of the envelope, the Content-ID and the boundary. */
  readonly id: string;
  readonly signer: OwnKey;
  /** DER of the receiving access point's certificate, as the SMP gave it. */
  readonly recipient: Uint8Array;
}

/** A user message as it is posted, with the parts that the evidence keeps. */
export interface BuiltMessage {
  readonly contentType: string;
  readonly body: Buffer;
  readonly soap: Uint8Array;
  /** The gzip octets under the signature; evidence. */
  readonly compressed: Uint8Array;
  /** What a receipt must acknowledge. */
  readonly references: SignedReference[];
}

/** Builds one signed and encrypted user message. @throws Error when the certificate or a key of ours cannot be used. */
export async function buildUserMessage(options: BuildOptions, crypto: As4Crypto): Promise<BuiltMessage> {
  const cid = `${options.id}@kurier`;
  const messagingId = `M-${options.id}`;
  const payloadMimeType = "application/xml";
  const sealed = await crypto("as4.seal", {
    messaging: userMessageXml(messagingId, { ...options.message, payloadHref: `cid:${cid}`, payloadMimeType }),
    messagingId,
    id: options.id,
    signer: options.signer,
    recipient: options.recipient,
    payload: { cid, bytes: options.payload },
  });
  const { contentType, body } = writeMultipart(
    [
      { contentType: SOAP_CONTENT_TYPE, body: sealed.soap },
      { cid, contentType: "application/octet-stream", body: sealed.encrypted },
    ],
    `----=_Part_${options.id}`,
  );
  return { contentType, body, soap: sealed.soap, compressed: sealed.compressed, references: sealed.references };
}

/** What we need to open a message that came in. */
export interface OpenOptions {
  /** Every key a sender may have been told of. */
  readonly keys: OwnKey[];
  /** Cap of the decompressed payload, octets. */
  readonly payloadBytesMax: number;
  /** Accept OAEP with SHA-256 and MGF1-SHA1. Default false. */
  readonly legacyOaep?: boolean;
  /** Why a signer is not let in before anything of its message is opened; see OpenInput. @default all are let in */
  readonly signerFault?: (signer: Uint8Array) => string | undefined;
}

/** Why a message could not be opened: for our log, never for the peer. */
export type OpenReason =
  | SecurityReason
  | `mime_${MimeFault}`
  | "not_soap"
  | "header"
  | "payload_missing"
  | "party_mismatch";

/** `error` goes to the peer, `reason` and `detail` to our log; the two are never mixed. */
export interface RefusedMessage {
  readonly kind: "refused";
  readonly error: EbmsErrorCode;
  readonly reason: OpenReason;
  readonly detail?: string;
  /** For RefToMessageId; claimed by the peer, not verified. */
  readonly messageId?: string;
}

/** A message whose signature and encryption were checked. Its signer is not judged yet. */
export interface OpenedMessage {
  readonly kind: "message";
  readonly message: UserMessage;
  /** Answer with a receipt, deliver nothing. */
  readonly testService: boolean;
  /** Absent only in a test message. */
  readonly payload: Uint8Array | undefined;
  /** The octets the signature covers (gzip when compressed); evidence. */
  readonly signedPayload: Uint8Array | undefined;
  readonly soap: Buffer;
  readonly references: SignedReference[];
  /**
   * DER of the signer, whose common name equals From. Its chain, with the certificate's own signature, and revocation
   * are still to be asked of the PKI: until then it is a claim, since the message's signature does not cover it.
   */
  readonly signer: Uint8Array;
}

/**
 * Opens what was posted to /as4: MIME, signature, decryption, digests, decompression, header, party identity.
 * @param body  the raw HTTP body.
 */
export async function openUserMessage(
  body: Buffer,
  contentType: string,
  options: OpenOptions,
  crypto: As4Crypto,
): Promise<OpenedMessage | RefusedMessage> {
  const unpacked = unpack(body, contentType);
  if ("kind" in unpacked) return unpacked;
  const { legacyOaep, signerFault } = options;
  const opened = await crypto("as4.open", {
    ...unpacked,
    keys: options.keys,
    payloadBytesMax: options.payloadBytesMax,
    ...(legacyOaep === undefined ? {} : { legacyOaep }),
    ...(signerFault === undefined ? {} : { signerFault }),
  });
  if (opened.kind === "refused") return refusal(opened.error, opened.reason, opened.detail, opened.claimedMessageId);
  const read = readUserMessage(opened.messaging);
  if (read.kind === "refused") return refusal(read.error, "header", read.detail, read.messageId);
  const { message, testService } = read;
  const [part] = opened.parts;
  if (part === undefined && !testService) return refusal("EBMS:0007", "payload_missing", undefined, message.messageId);
  const party = partyFault(message, opened, options.keys);
  if (party !== undefined) return refusal(party.error, "party_mismatch", party.detail, message.messageId);
  return {
    kind: "message",
    message,
    testService,
    payload: part?.payload,
    signedPayload: part?.signedBytes,
    soap: unpacked.soap,
    references: opened.references,
    signer: opened.signer,
  };
}

function refusal(error: EbmsErrorCode, reason: OpenReason, detail?: string, messageId?: string): RefusedMessage {
  return {
    kind: "refused",
    error,
    reason,
    ...(detail === undefined ? {} : { detail }),
    ...(messageId === undefined ? {} : { messageId }),
  };
}

/** The SOAP part and the others, from multipart/related or from a bare SOAP body. */
function unpack(
  body: Buffer,
  contentType: string,
): { readonly soap: Buffer; readonly attachments: Attachment[] } | RefusedMessage {
  const type = parseContentType(contentType);
  if (type?.mediaType === SOAP_MEDIA_TYPE) return { soap: body, attachments: [] };
  const mime = readMultipart(body, contentType);
  if (mime.kind === "refused") return refusal("EBMS:0007", `mime_${mime.fault}`);
  const [root, ...others] = mime.parts;
  if (root?.mediaType !== SOAP_MEDIA_TYPE) return refusal("EBMS:0007", "not_soap");
  const attachments: Attachment[] = [];
  for (const { cid, body: bytes } of others) {
    if (cid === undefined) return refusal("EBMS:0007", "mime_content_id");
    attachments.push({ cid, bytes });
  }
  return { soap: root.body, attachments };
}

/**
 * Checks that From is the common name of the signer and To that of our own certificate.
 * @source design/as4.md sections 2, 18 step 6
 */
function partyFault(
  message: UserMessage,
  opened: Opened,
  keys: readonly OwnKey[],
): { readonly error: EbmsErrorCode; readonly detail: string } | undefined {
  if (commonName(opened.signer) !== message.fromParty) return { error: "EBMS:0101", detail: "From is not the signer" };
  const ours = opened.recipient === undefined ? keys.map((own) => own.certificate) : [opened.recipient];
  if (!ours.some((certificate) => commonName(certificate) === message.toParty))
    return { error: "EBMS:0003", detail: "To is not us" };
  return undefined;
}

const commonNames = new BoundedMap<string, string | undefined>(LIMITS.certificate_names_max);

/** The one common name of a certificate's subject; undefined when there is none or several. */
export function commonName(certificate: Uint8Array): string | undefined {
  const id = Buffer.from(certificate.buffer, certificate.byteOffset, certificate.byteLength).toString("latin1");
  if (commonNames.has(id)) return commonNames.get(id);
  return commonNames.keep(id, readCertificate(certificate)?.commonName);
}

/** What a receipt or an error is made of. */
export interface SignalOptions extends SignalInfo {
  /** Unique, NCName characters; makes the ids of the envelope. */
  readonly id: string;
  readonly signer: OwnKey;
}

/** A signal as it is sent. */
export interface BuiltSignal {
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** Builds the signed receipt for an opened message. Send it only after the message is committed and archived. */
export const buildReceipt = (
  options: SignalOptions,
  references: readonly SignedReference[],
  crypto: As4Crypto,
): Promise<BuiltSignal> => buildSignal(options, receiptXml(`M-${options.id}`, options, references), crypto);

/** Builds a signed error signal. */
export const buildError = (options: SignalOptions, error: OutgoingError, crypto: As4Crypto): Promise<BuiltSignal> =>
  buildSignal(options, errorXml(`M-${options.id}`, options, error), crypto);

async function buildSignal(options: SignalOptions, messaging: string, crypto: As4Crypto): Promise<BuiltSignal> {
  const signed = await crypto("as4.sign", {
    messaging,
    messagingId: `M-${options.id}`,
    id: options.id,
    signer: options.signer,
  });
  return { contentType: SOAP_CONTENT_TYPE, body: signed.soap };
}

/** What we sent and to whom: what an answer is judged against. */
export interface UnansweredMessage {
  readonly messageId: string;
  readonly references: readonly SignedReference[];
  /** DER of the certificate we encrypted to. */
  readonly recipient: Uint8Array;
}

/** Who has signed an answer in the name of the peer's seat. */
interface SignedBy {
  /** DER; undefined where nobody has signed, or another seat. */
  readonly signer: Uint8Array | undefined;
  /**
   * Whether it is the certificate that we encrypted to. Where it is another of the same seat, anybody may have made it:
   * ask the PKI before believing.
   */
  readonly sameCertificate: boolean;
}

/** What the peer's answer to a message of ours says, once it was checked against what we sent. */
export type Answer =
  /** The receipt proves the message, where its signer is believed. */
  | (SignedBy & { readonly kind: "receipt"; readonly signer: Uint8Array; readonly timestamp: string })
  /** The peer has this MessageId already. */
  | (SignedBy & { readonly kind: "already_handed_over"; readonly errors: ReceivedError[] })
  /** The error that decides is the first. */
  | (SignedBy & {
      readonly kind: "error";
      readonly meaning: Exclude<ErrorMeaning, "duplicate">;
      readonly errors: ReceivedError[];
    })
  /** No answer that could be read (EBMS:0301), or one that does not prove this message (EBMS:0302). */
  | { readonly kind: "unconfirmed"; readonly error: "EBMS:0301" | "EBMS:0302"; readonly reason: string };

/** Why an answer is unconfirmed that is about another message than ours. */
export const OTHER_MESSAGE = "other_message";

/** Judges the body of the HTTP response to a user message. @source design/as4.md section 18 step 11 */
export async function readAnswer(
  body: Buffer,
  contentType: string,
  sent: UnansweredMessage,
  crypto: As4Crypto,
): Promise<Answer> {
  const unpacked = body.length === 0 ? undefined : unpack(body, contentType);
  if (unpacked === undefined) return { kind: "unconfirmed", error: "EBMS:0301", reason: "empty" };
  if ("kind" in unpacked) return { kind: "unconfirmed", error: "EBMS:0301", reason: unpacked.reason };
  const checked = await crypto("as4.check", { soap: unpacked.soap });
  if (checked.kind === "refused") {
    const isUnreadable = checked.error === "EBMS:0009";
    return { kind: "unconfirmed", error: isUnreadable ? "EBMS:0301" : "EBMS:0302", reason: checked.reason };
  }
  const signal = readSignal(checked.messaging);
  if (signal === undefined) return { kind: "unconfirmed", error: "EBMS:0301", reason: "no_signal" };
  if (signal.kind === "errors") return judgeErrors(signal.errors, signal.info, checked.signer, sent);
  return judgeReceipt(signal.info, acknowledges(signal.parts, sent.references), checked.signer, sent);
}

function judgeReceipt(
  info: SignalInfo,
  acknowledged: boolean,
  signer: Uint8Array | undefined,
  sent: UnansweredMessage,
): Answer {
  const invalid = (reason: string): Answer => ({ kind: "unconfirmed", error: "EBMS:0302", reason });
  if (signer === undefined) return invalid("unsigned");
  if (info.refToMessageId !== sent.messageId) return invalid(OTHER_MESSAGE);
  if (!acknowledged) return invalid("references");
  const signed = signedBy(signer, sent);
  if (signed.signer === undefined) return invalid("other_signer");
  return { kind: "receipt", ...signed, signer, timestamp: info.timestamp };
}

function judgeErrors(
  said: ReceivedError[],
  info: SignalInfo,
  signer: Uint8Array | undefined,
  sent: UnansweredMessage,
): Answer {
  const about = (error: ReceivedError): string | undefined => error.refToMessageId || info.refToMessageId;
  const ours = said.filter((error) => (about(error) ?? sent.messageId) === sent.messageId);
  const signed = signedBy(signer, sent);
  const decided = decideErrors(ours);
  if (decided === undefined) return { kind: "unconfirmed", error: "EBMS:0302", reason: OTHER_MESSAGE };
  const { meaning, errors } = decided;
  // All of them were weighed: a refusal far behind a duplicate counts as well.
  const judged = errors.slice(0, LIMITS.ebms_errors_max);
  // "Already handed over" ends the sending, so it must name our message.
  if (meaning === "duplicate") {
    const named = ours.some((error) => meaningOf(error) === "duplicate" && about(error) === sent.messageId);
    return named
      ? { kind: "already_handed_over", ...signed, errors: judged }
      : { kind: "error", meaning: "retry", ...signed, errors: judged };
  }
  return { kind: "error", meaning, ...signed, errors: judged };
}

function signedBy(signer: Uint8Array | undefined, { recipient }: UnansweredMessage): SignedBy {
  if (signer === undefined) return UNSIGNED;
  if (Buffer.from(signer).equals(recipient)) return { signer, sameCertificate: true };
  const name = commonName(signer);
  return name !== undefined && name === commonName(recipient) ? { signer, sameCertificate: false } : UNSIGNED;
}

const UNSIGNED: SignedBy = { signer: undefined, sameCertificate: false };

/** What the standard business document says about itself, to be compared with the header around it. */
export interface EnvelopeIdentifiers {
  readonly sender: string;
  readonly receiver: string;
  readonly documentType: string;
  readonly documentTypeScheme: string;
  readonly process: string;
  readonly processScheme: string;
}

/**
 * Compares header and standard business document; participants without regard to case.
 * @returns the first header item that differs, to be answered with EBMS:0003, or undefined.
 */
export function envelopeMismatch(message: UserMessage, facts: EnvelopeIdentifiers): string | undefined {
  const same = (left: string, right: string): boolean => left.toLowerCase() === right.toLowerCase();
  const rows: readonly (readonly [string, boolean])[] = [
    ["originalSender", same(message.originalSender, facts.sender)],
    ["finalRecipient", same(message.finalRecipient, facts.receiver)],
    ["Action", message.action === `${facts.documentTypeScheme}::${facts.documentType}`],
    ["Service", message.service === facts.process && message.serviceType === facts.processScheme],
  ];
  return rows.find(([, holds]) => !holds)?.[0];
}
