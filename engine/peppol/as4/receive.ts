/**
 * What another access point posts to /as4: opened, judged, stored, archived, and only then answered with a receipt. A
 * message that is refused leaves nothing behind, and the answer tells its sender a code and nothing more.
 * @source design/as4.md sections 2, 6, 18
 */
import { randomUUID } from "node:crypto";

import { JobQuarantined } from "../../../validators/pool.js";
import { isoInstant } from "../../base/clock.js";
import type { Clock, Instant } from "../../base/clock.js";
import { newMessageId, parseParticipantId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import type { Metrics } from "../../base/metrics.js";
import type { EvidenceArchive } from "../../storage/evidence/archive.js";
import { referencesDigest } from "../../storage/evidence/journal.js";
import type { JournalEntry } from "../../storage/evidence/journal.js";
import {
  buildError,
  buildReceipt,
  commonName,
  envelopeMismatch,
  openUserMessage,
  SOAP_CONTENT_TYPE,
} from "./messages.js";
import type { As4Crypto, BuiltSignal, OpenedMessage } from "./messages.js";
import { trustEvidence } from "./trust.js";
import type { OwnAccessPoint, PeerTrust, PeerVerdict } from "./ports.js";
import { NOT_SERVICED } from "./ebms-errors.js";
import type { EbmsErrorCode } from "./ebms-errors.js";
import { unwrapDocument } from "../envelope/byte-exact.js";
import { readSbd } from "../envelope/read.js";
import type { InboundExchange, InboundOutcome, Receive } from "../transport.js";

/** What receiving needs of the engine. */
export interface As4ReceiverPorts {
  readonly own: OwnAccessPoint;
  readonly trust: PeerTrust;
  readonly crypto: As4Crypto;
  /** Stores a document once; see createInbound. */
  readonly receive: Receive;
  readonly evidence: EvidenceArchive;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** The HTTP answer to a POST of another access point. */
export interface As4Reply {
  readonly status: number;
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** Answers the body of one POST. Never throws. */
export type As4Receiver = (body: Buffer, contentType: string) => Promise<As4Reply>;

/** Why a message is not taken. `error` goes to the peer, `reason` to our log. */
class Refused extends Error {
  readonly error: EbmsErrorCode;
  readonly reason: string;
  readonly messageId: string | undefined;
  readonly detail: string | undefined;
  constructor(error: EbmsErrorCode, reason: string, messageId?: string, detail?: string) {
    super(reason);
    this.error = error;
    this.reason = reason;
    this.messageId = messageId;
    this.detail = detail;
  }
}

/** The error where the standard business document itself is wrong, so that sending it again would not help. */
const CONTENT_FAULT = "EBMS:0003";

/** Makes the receiving side of our access point. A receipt leaves only after the document is stored and archived. */
export function createAs4Receiver(ports: As4ReceiverPorts): As4Receiver {
  const { metrics, log, clock } = ports;
  return async (body, contentType) => {
    const receivedAt = clock.now();
    let messageId: string | undefined;
    try {
      const opened = await open(ports, body, contentType);
      ({ messageId } = opened.message);
      const { reply, result } = await take(ports, opened, { body, contentType, receivedAt });
      metrics.count("as4_received_total", { result });
      return reply;
    } catch (error) {
      const refused = error instanceof Refused ? error : poisoned(error);
      if (refused !== undefined) {
        log.info("as4.message_refused", { code: refused.error, outcome: refused.reason });
        metrics.count("as4_received_total", { result: refused.error });
        return errorReply(ports, 200, refused);
      }
      log.error("as4.message_failed", errorFields(error));
      metrics.count("as4_received_total", { result: "failed" });
      return errorReply(ports, 503, new Refused("EBMS:0202", "internal", messageId));
    }
  };
}

/** Bytes that have killed two workers are refused like any that cannot be read. */
const poisoned = (error: unknown): Refused | undefined =>
  error instanceof JobQuarantined ? new Refused("EBMS:0009", "quarantined") : undefined;

/** Opens a message and asks whether its signer may send at all. */
async function open(
  { own, trust, crypto }: As4ReceiverPorts,
  body: Buffer,
  contentType: string,
): Promise<OpenedMessage & { readonly verdict: Extract<PeerVerdict, { readonly kind: "trusted" }> }> {
  const opened = await openUserMessage(
    body,
    contentType,
    { keys: [...own.all()], payloadBytesMax: LIMITS.as4_payload_bytes_max },
    crypto,
  );
  if (opened.kind === "refused")
    throw new Refused(
      opened.error,
      opened.detail === undefined ? opened.reason : `${opened.reason}: ${opened.detail}`,
      opened.messageId,
    );
  const verdict = await trust.judge(opened.signer);
  if (verdict.kind === "refused")
    throw new Refused(
      verdict.passing ? "EBMS:0202" : "EBMS:0101",
      `signer: ${verdict.fault}`,
      opened.message.messageId,
    );
  return { ...opened, verdict };
}

interface Arrival {
  readonly body: Buffer;
  readonly contentType: string;
  readonly receivedAt: Instant;
}

async function take(
  ports: As4ReceiverPorts,
  opened: Awaited<ReturnType<typeof open>>,
  arrival: Arrival,
): Promise<{ readonly reply: As4Reply; readonly result: string }> {
  const { messageId } = opened.message;
  if (opened.testService) return { reply: replyOf(200, await receipt(ports, opened)), result: "test" };
  const exchange = exchangeOf(opened);
  const referencesSha256 = referencesDigest(opened.references);
  let proved: BuiltSignal | undefined;
  const outcome = await ports.receive(exchange, async ({ id, firmId }) => {
    const built = await receipt(ports, opened);
    const entry = await entryOf(
      ports,
      { opened, arrival, exchange, built, referencesSha256 },
      { kind: "stored", id, firmId },
    );
    const evidence = await ports.evidence.keep(entry);
    proved = built;
    return evidence;
  });
  if (outcome.kind === "not_serviced") throw new Refused("EBMS:0004", "not serviced", messageId, NOT_SERVICED);
  if (outcome.kind === "conflict")
    throw new Refused(CONTENT_FAULT, "an id that was used for another document", messageId);
  if (outcome.kind === "stored" && proved !== undefined) return { reply: replyOf(200, proved), result: outcome.kind };
  const repeated = outcome.kind === "duplicate" ? await storedReceipt(ports, messageId, referencesSha256) : undefined;
  if (repeated !== undefined) return { reply: repeated, result: "duplicate" };
  const built = await receipt(ports, opened);
  await ports.evidence.store(await entryOf(ports, { opened, arrival, exchange, built, referencesSha256 }, outcome));
  return { reply: replyOf(200, built), result: outcome.kind };
}

/** Joins the verified header and the envelope inside the message to one inbound exchange. */
function exchangeOf({ message, payload, signer }: OpenedMessage): InboundExchange {
  const { messageId } = message;
  const bytes = Buffer.from(payload?.buffer ?? new ArrayBuffer(0), payload?.byteOffset ?? 0, payload?.byteLength ?? 0);
  const read = readSbd(bytes, { mode: "inbound" });
  if (read.kind === "refused") throw new Refused(CONTENT_FAULT, `standard business document: ${read.fault}`, messageId);
  const { header } = read;
  const mismatch = envelopeMismatch(message, header);
  if (mismatch !== undefined)
    throw new Refused(CONTENT_FAULT, `header and standard business document differ: ${mismatch}`, messageId);
  const [sender, receiver] = [parseParticipantId(header.sender), parseParticipantId(header.receiver)];
  if (sender === undefined || receiver === undefined) throw new Refused(CONTENT_FAULT, "participant", messageId);
  return {
    sender,
    receiver,
    documentTypeId: header.documentType,
    processId: header.process,
    as4MessageId: messageId,
    sbdhInstanceId: header.instanceId,
    createdAt: header.createdAt,
    payload: unwrapDocument(bytes, read.payload),
    envelope: { mls: header.mls, countryC1: header.countryC1, peerSeat: commonName(signer) ?? "" },
  };
}

function receipt({ own, crypto, clock }: As4ReceiverPorts, opened: OpenedMessage): Promise<BuiltSignal> {
  return buildReceipt(
    {
      id: randomUUID(),
      signer: own.current(),
      messageId: newMessageId(),
      timestamp: isoInstant(clock.now()),
      refToMessageId: opened.message.messageId,
    },
    opened.references,
    crypto,
  );
}

const replyOf = (status: number, signal: BuiltSignal): As4Reply => ({
  status,
  contentType: signal.contentType,
  body: signal.body,
});

/**
 * The receipt that this very message was answered with before; undefined when it was not, or its evidence cannot be
 * read.
 */
async function storedReceipt(
  { evidence, log }: As4ReceiverPorts,
  messageId: string,
  referencesSha256: string,
): Promise<As4Reply | undefined> {
  const entry = await evidence.findRepeated(messageId, referencesSha256);
  if (entry === undefined) return undefined;
  try {
    const body = (await evidence.read(entry)).parts.get("answer");
    return body === undefined ? undefined : { status: 200, contentType: SOAP_CONTENT_TYPE, body };
  } catch (error) {
    log.error("as4.repeat_unreadable", {
      code: String(entry.index),
      ...errorFields(error),
    });
    return undefined;
  }
}

interface Taken {
  readonly opened: Awaited<ReturnType<typeof open>>;
  readonly arrival: Arrival;
  readonly exchange: InboundExchange;
  readonly built: BuiltSignal;
  readonly referencesSha256: string;
}

/** The record of an exchange, without which no receipt may be sent. */
async function entryOf(
  { evidence, clock }: As4ReceiverPorts,
  { opened, arrival, exchange, built, referencesSha256 }: Taken,
  outcome: Extract<InboundOutcome, { readonly kind: "stored" | "duplicate" }>,
): Promise<JournalEntry> {
  const id = randomUUID();
  const trusted = await trustEvidence(evidence, opened.verdict);
  return {
    referencesSha256,
    record: {
      facts: {
        direction: "inbound",
        id,
        outcome: outcome.kind,
        documentId: outcome.id,
        ...(outcome.firmId === undefined ? {} : { firmId: outcome.firmId }),
        messageId: exchange.as4MessageId,
        instanceId: exchange.sbdhInstanceId,
        sender: exchange.sender,
        receiver: exchange.receiver,
        documentTypeId: exchange.documentTypeId,
        processId: exchange.processId,
        requestAt: arrival.receivedAt,
        answerAt: clock.now(),
        requestContentType: arrival.contentType,
        answerStatus: 200,
        answerContentType: built.contentType,
        ...trusted.facts,
      },
      parts: [
        { name: "request", bytes: arrival.body },
        ...(opened.signedPayload === undefined
          ? []
          : [{ name: "payload" as const, ...(await evidence.seal(id, opened.signedPayload)) }]),
        { name: "answer", bytes: built.body },
        { name: "signer", bytes: opened.signer },
        ...trusted.parts,
      ],
    },
  };
}

const NOTHING = new Uint8Array(0);

/** A signed error, or, when not even that can be made, an HTTP status. */
async function errorReply(
  { own, crypto, clock, log }: As4ReceiverPorts,
  status: number,
  { error, messageId, detail }: Refused,
): Promise<As4Reply> {
  try {
    return replyOf(
      status,
      await buildError(
        {
          id: randomUUID(),
          signer: own.current(),
          messageId: newMessageId(),
          timestamp: isoInstant(clock.now()),
          ...(messageId === undefined ? {} : { refToMessageId: messageId }),
        },
        { code: error, ...(detail === undefined ? {} : { detail }) },
        crypto,
      ),
    );
  } catch (failure) {
    log.warn("as4.error_unsigned", errorFields(failure));
    return { status: 503, contentType: "text/plain", body: NOTHING };
  }
}
