/**
 * What another access point posts to /as4: opened, judged, stored, archived, and only then answered with a receipt. A
 * message that is refused leaves nothing behind, and the answer tells its sender a code and nothing more.
 * @source design/as4.md sections 2, 6, 18
 */
import { randomUUID } from "node:crypto";

import { JobQuarantined, PoolBusy } from "../../../validators/pool.js";
import { isoInstant } from "../../base/clock.js";
import type { Clock, Instant } from "../../base/clock.js";
import { Refusal } from "../../base/errors.js";
import { newMessageId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { errorFields, oncePerSecond } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import type { Metrics } from "../../base/metrics.js";
import { traceReceived } from "../../base/tracing/tracing.js";
import type { EvidenceArchive } from "../../storage/evidence/archive.js";
import type { JournalEntry } from "../../storage/evidence/journal.js";
import { isPassing } from "../../storage/sql.js";
import { CONTENT_FAULT } from "./arrival.js";
import type { ArrivedMessage } from "./arrival.js";
import type { Authorities } from "../pki/paths.js";
import { as4Jobs } from "./jobs.js";
import type { As4Jobs } from "./jobs.js";
import { buildError, SOAP_CONTENT_TYPE } from "./messages.js";
import type { As4Crypto, BuiltSignal } from "./messages.js";
import { trustEvidence } from "./trust.js";
import type { OwnAccessPoint, PeerTrust, PeerVerdict } from "./ports.js";
import { NOT_SERVICED } from "./ebms-errors.js";
import type { EbmsErrorCode } from "./ebms-errors.js";
import type { InboundExchange, InboundOutcome, Receive } from "../transport.js";

/** What receiving needs of the engine. */
export interface As4ReceiverPorts {
  readonly own: OwnAccessPoint;
  readonly trust: PeerTrust;
  /** Under whom senders must be before their messages are opened. @default they are judged by `trust` alone */
  readonly authorities?: Authorities;
  readonly crypto: As4Crypto;
  /** Opens messages in a worker. @default opened here, with `crypto` */
  readonly jobs?: Pick<As4Jobs, "open">;
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

/** Answers the body of one POST. Never throws. @param from address of whoever posted it. @default "" */
export type As4Receiver = (body: Buffer, contentType: string, from?: string) => Promise<As4Reply>;

/** Why a message is not taken. `error` goes to the peer, `reason` to our log. */
class Refused extends Error {
  readonly error: EbmsErrorCode;
  readonly reason: string;
  readonly messageId: string | undefined;
  readonly detail: string | undefined;
  /** The signed error, where whoever opened the message has made it. */
  answer: BuiltSignal | undefined;
  constructor(error: EbmsErrorCode, reason: string, messageId?: string, detail?: string) {
    super(reason);
    this.error = error;
    this.reason = reason;
    this.messageId = messageId;
    this.detail = detail;
  }
}

/** Makes the receiving side of our access point. A receipt leaves only after the document is stored and archived. */
export function createAs4Receiver(ports: As4ReceiverPorts): As4Receiver {
  const { metrics, log, clock } = ports;
  const opening = { ...ports, jobs: ports.jobs ?? as4Jobs(ports.crypto) };
  // Whoever can post can be refused a thousand times a second: the metric counts, the log tells of each kind.
  const anonymous = { log: oncePerSecond(log, clock) };
  return async (body, contentType, from = "") => {
    const receivedAt = clock.now();
    let messageId: string | undefined;
    try {
      const opened = await open(opening, { body, contentType, from });
      ({ messageId } = opened.message);
      traceReceived(messageId);
      const { reply, result } = await take(ports, opened, { body, contentType, receivedAt });
      metrics.count("as4_received_total", { result });
      return reply;
    } catch (error) {
      const refused = error instanceof Refused ? error : poisoned(error);
      if (refused !== undefined) {
        anonymous.log.info("as4.message_refused", { code: refused.error, outcome: refused.reason });
        metrics.count("as4_received_total", { result: refused.error });
        return refused.answer === undefined ? errorReply(ports, 200, refused) : replyOf(200, refused.answer);
      }
      if (error instanceof PoolBusy || error instanceof Refusal) {
        const code = error instanceof Refusal ? error.extras.failure : undefined;
        anonymous.log.warn("as4.message_not_taken", {
          component: error instanceof PoolBusy ? error.lane : error.reason,
          ...(code === undefined ? {} : { code }),
        });
        metrics.count("as4_received_total", { result: "failed" });
        return BUSY;
      }
      // A database that is busy or away is no fault of ours.
      if (isPassing(error)) anonymous.log.warn("as4.message_not_taken", errorFields(error));
      else anonymous.log.error("as4.message_failed", errorFields(error));
      metrics.count("as4_received_total", { result: "failed" });
      return errorReply(ports, 503, new Refused("EBMS:0202", "internal", messageId));
    }
  };
}

/** Bytes that have killed two workers are refused like any that cannot be read. */
const poisoned = (error: unknown): Refused | undefined =>
  error instanceof JobQuarantined ? new Refused("EBMS:0009", "quarantined") : undefined;

/** A message whose signer may send. */
interface Trusted extends ArrivedMessage {
  readonly verdict: Extract<PeerVerdict, { readonly kind: "trusted" }>;
}

/** Opens a message and asks whether its signer may send at all. */
async function open(
  { own, trust, authorities, clock, jobs }: As4ReceiverPorts & { readonly jobs: Pick<As4Jobs, "open"> },
  { body, contentType, from }: Pick<Arrival, "body" | "contentType"> & { readonly from: string },
): Promise<Trusted> {
  const now = clock.now();
  const opened = await jobs.open(
    {
      bytes: body,
      contentType,
      keys: [...own.all()],
      payloadBytesMax: LIMITS.as4_payload_bytes_max,
      ...(authorities === undefined ? {} : { senders: { authorities, at: now } }),
      receipt: { id: randomUUID(), signer: own.current(), messageId: newMessageId(), timestamp: isoInstant(now) },
    },
    from,
  );
  if (opened.kind === "refused") {
    const reason = opened.detail === undefined ? opened.reason : `${opened.reason}: ${opened.detail}`;
    const refusal = new Refused(opened.error, reason, opened.messageId);
    refusal.answer = opened.answer;
    throw refusal;
  }
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
  opened: Trusted,
  arrival: Arrival,
): Promise<{ readonly reply: As4Reply; readonly result: string }> {
  const { content, receipt, referencesSha256 } = opened;
  const { messageId } = opened.message;
  if (content === undefined) return { reply: replyOf(200, receipt), result: "test" };
  if ("kind" in content) throw new Refused(content.error, content.reason, messageId);
  let isProved = false;
  const outcome = await ports.receive(content, async ({ id, firmId }) => {
    const entry = await entryOf(ports, { opened, arrival, content }, { kind: "stored", id, firmId });
    const evidence = await ports.evidence.keep(entry);
    isProved = true;
    return evidence;
  });
  if (outcome.kind === "not_serviced") throw new Refused("EBMS:0004", "not serviced", messageId, NOT_SERVICED);
  if (outcome.kind === "conflict")
    throw new Refused(CONTENT_FAULT, "an id that was used for another document", messageId);
  if (outcome.kind === "stored" && isProved) return { reply: replyOf(200, receipt), result: outcome.kind };
  const repeated = outcome.kind === "duplicate" ? await storedReceipt(ports, messageId, referencesSha256) : undefined;
  if (repeated !== undefined) return { reply: repeated, result: "duplicate" };
  await ports.evidence.store(await entryOf(ports, { opened, arrival, content }, outcome));
  return { reply: replyOf(200, receipt), result: outcome.kind };
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
  readonly opened: Trusted;
  readonly arrival: Arrival;
  readonly content: InboundExchange;
}

/** The record of an exchange, without which no receipt may be sent. */
async function entryOf(
  { evidence, clock }: As4ReceiverPorts,
  { opened, arrival, content }: Taken,
  outcome: Extract<InboundOutcome, { readonly kind: "stored" | "duplicate" }>,
): Promise<JournalEntry> {
  const id = randomUUID();
  const trusted = await trustEvidence(evidence, opened.verdict);
  return {
    referencesSha256: opened.referencesSha256,
    record: {
      facts: {
        direction: "inbound",
        id,
        outcome: outcome.kind,
        documentId: outcome.id,
        ...(outcome.firmId === undefined ? {} : { firmId: outcome.firmId }),
        messageId: content.as4MessageId,
        instanceId: content.sbdhInstanceId,
        sender: content.sender,
        receiver: content.receiver,
        documentTypeId: content.documentTypeId,
        processId: content.processId,
        requestAt: arrival.receivedAt,
        answerAt: clock.now(),
        requestContentType: arrival.contentType,
        answerStatus: 200,
        answerContentType: opened.receipt.contentType,
        ...trusted.facts,
      },
      parts: [
        { name: "request", bytes: arrival.body, sha256: opened.sha256 },
        ...(opened.signedPayload === undefined
          ? []
          : [
              {
                name: "payload" as const,
                ...(await evidence.seal(id, opened.signedPayload, opened.signedPayloadSha256)),
              },
            ]),
        { name: "answer", bytes: opened.receipt.body },
        { name: "signer", bytes: opened.signer },
        ...trusted.parts,
      ],
    },
  };
}

const NOTHING = new Uint8Array(0);

/** No worker takes the message now. Not even the answer is signed: that would be work for a worker, too. */
const BUSY: As4Reply = { status: 503, contentType: "text/plain", body: NOTHING };

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
