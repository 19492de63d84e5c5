/**
 * What is read of a message that came in before anybody is asked about it: the header under the signature, the envelope
 * around the document, the document itself, and the receipt that it gets if it is taken. Proportional to the message,
 * so it is one job of a worker; what comes back are facts.
 */
import type { OwnKey } from "../../../validators/wss/protocol.js";
import type { Instant } from "../../base/clock.js";
import { parseParticipantId } from "../../base/ids.js";
import { referencesDigest, sha256Hex } from "../../storage/evidence/record.js";
import { unwrapDocument } from "../envelope/byte-exact.js";
import { readSbd } from "../envelope/read.js";
import { senderFault } from "../pki/paths.js";
import type { Authorities } from "../pki/paths.js";
import type { InboundExchange } from "../transport.js";
import type { EbmsErrorCode } from "./ebms-errors.js";
import { buildError, buildReceipt, commonName, envelopeMismatch, openUserMessage } from "./messages.js";
import type { As4Crypto, BuiltSignal, OpenedMessage, OpenOptions, RefusedMessage, SignalOptions } from "./messages.js";
import type { UserMessage } from "./user-message.js";

/** What a message is opened with. */
export interface ArrivalInput extends Omit<OpenOptions, "legacyOaep" | "signerFault"> {
  /** The raw HTTP body. */
  readonly bytes: Uint8Array;
  readonly contentType: string;
  readonly keys: OwnKey[];
  /** Under whom a sender must be, judged before anything is opened. @default nobody is asked here */
  readonly senders?: { readonly authorities: Authorities; readonly at: Instant };
  /** Of the receipt, or of the error in its place; each names the message that it is about by itself. */
  readonly receipt: Omit<SignalOptions, "refToMessageId">;
}

/** A message whose content cannot be taken, whoever has sent it. `error` goes to the peer, `reason` to our log. */
interface RefusedContent {
  readonly kind: "refused";
  readonly error: EbmsErrorCode;
  readonly reason: string;
}

/** A message that was opened; its signer is not judged yet. */
export interface ArrivedMessage {
  readonly kind: "arrived";
  readonly message: UserMessage;
  /** Answer with the receipt, store nothing. */
  readonly testService: boolean;
  /** DER; a claim until the PKI was asked. */
  readonly signer: Uint8Array;
  /** Of the references of its signature, hex. */
  readonly referencesSha256: string;
  /** Of the HTTP body, hex. */
  readonly sha256: string;
  /** The octets that the signature covers. */
  readonly signedPayload: Uint8Array | undefined;
  /** Of these, hex. */
  readonly signedPayloadSha256: string | undefined;
  /** Signed, and sent only once the message is stored and its evidence is safe. */
  readonly receipt: BuiltSignal;
  /** Undefined in a test message. */
  readonly content: InboundExchange | RefusedContent | undefined;
}

/** A message that was refused unread or unopened, with the signed error that says so to whoever posted it. */
export interface RefusedArrival extends RefusedMessage {
  readonly answer: BuiltSignal;
}

/** Opens what was posted to /as4. */
export async function openArrival(
  { bytes, contentType, keys, payloadBytesMax, senders, receipt }: ArrivalInput,
  crypto: As4Crypto,
): Promise<ArrivedMessage | RefusedArrival> {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const signerFault =
    senders === undefined
      ? {}
      : { signerFault: (der: Uint8Array) => senderFault(der, senders.authorities, senders.at) };
  const opened = await openUserMessage(body, contentType, { keys, payloadBytesMax, ...signerFault }, crypto);
  if (opened.kind === "refused") {
    const about = opened.messageId === undefined ? {} : { refToMessageId: opened.messageId };
    return { ...opened, answer: await buildError({ ...receipt, ...about }, { code: opened.error }, crypto) };
  }
  const { message, testService, signer, references, signedPayload } = opened;
  return {
    kind: "arrived",
    message,
    testService,
    signer,
    referencesSha256: referencesDigest(references),
    sha256: sha256Hex(body),
    signedPayload,
    signedPayloadSha256: signedPayload === undefined ? undefined : sha256Hex(signedPayload),
    receipt: await buildReceipt({ ...receipt, refToMessageId: message.messageId }, references, crypto),
    content: testService ? undefined : contentOf(opened),
  };
}

/** The error where the standard business document itself is wrong, so that sending it again would not help. */
export const CONTENT_FAULT = "EBMS:0003";

const refused = (reason: string): RefusedContent => ({ kind: "refused", error: CONTENT_FAULT, reason });

/** Joins the verified header and the envelope inside the message to one inbound exchange. */
function contentOf({ message, payload, signer }: OpenedMessage): InboundExchange | RefusedContent {
  const bytes = Buffer.from(payload?.buffer ?? new ArrayBuffer(0), payload?.byteOffset ?? 0, payload?.byteLength ?? 0);
  const read = readSbd(bytes, { mode: "inbound" });
  if (read.kind === "refused") return refused(`standard business document: ${read.fault}`);
  const { header } = read;
  const mismatch = envelopeMismatch(message, header);
  if (mismatch !== undefined) return refused(`header and standard business document differ: ${mismatch}`);
  const [sender, receiver] = [parseParticipantId(header.sender), parseParticipantId(header.receiver)];
  if (sender === undefined || receiver === undefined) return refused("participant");
  return {
    sender,
    receiver,
    documentTypeId: header.documentType,
    processId: header.process,
    as4MessageId: message.messageId,
    sbdhInstanceId: header.instanceId,
    createdAt: header.createdAt,
    payload: unwrapDocument(bytes, read.payload),
    envelope: { mls: header.mls, countryC1: header.countryC1, peerSeat: commonName(signer) ?? "" },
  };
}
