/** Another access point in this process: our receiver behind a real HTTP server, or whatever a test scripts instead. */
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { randomUUID } from "node:crypto";

import { systemClock } from "../../../engine/base/clock.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { createAs4Receiver } from "../../../engine/peppol/as4/receive.js";
import type { As4Receiver } from "../../../engine/peppol/as4/receive.js";
import type { OwnAccessPoint, PeerTrust } from "../../../engine/peppol/as4/ports.js";
import type { InboundExchange, InboundOutcome } from "../../../engine/peppol/transport.js";
import { inThread, plainOf } from "./as4.js";
import type { AccessPoint } from "./as4-keys.js";
import { memoryArchive } from "./evidence.js";
import type { MemoryArchive } from "./evidence.js";
import { listening } from "../network/listening.js";

/** One POST as it arrived. */
export interface Arrived {
  readonly body: Buffer;
  readonly contentType: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export const ownOf = (point: AccessPoint): OwnAccessPoint => ({ current: () => point, all: () => [point] });

/** Trusts the certificates given; each fault is a test's to choose. */
export function trustIn(
  ...points: readonly AccessPoint[]
): PeerTrust & { refusing: { fault: string; passing: boolean } | undefined } {
  const trust: ReturnType<typeof trustIn> = {
    refusing: undefined,
    judge: async (certificate) => {
      if (trust.refusing !== undefined) return { kind: "refused", ...trust.refusing };
      return points.some((point) => point.certificate.equals(certificate))
        ? { kind: "trusted", revocation: "good" }
        : { kind: "refused", fault: "unknown_issuer", passing: false };
    },
  };
  return trust;
}

export interface MemoryInbox {
  readonly received: InboundExchange[];
  /** Throws instead of storing, so many times. */
  failing: number;
  receive(exchange: InboundExchange): Promise<InboundOutcome>;
}

/** What createInbound does, in memory: once by either id. */
export function memoryInbox(serves: (exchange: InboundExchange) => boolean = () => true): MemoryInbox {
  const ids: string[] = [];
  const firmId = randomUUID() as FirmId;
  const inbox: MemoryInbox = {
    received: [],
    failing: 0,
    receive: async (exchange) => {
      if (!serves(exchange)) return { kind: "not_serviced" };
      if (inbox.failing > 0) {
        inbox.failing -= 1;
        throw new Error("the database is away");
      }
      const at = inbox.received.findIndex(
        (one) => one.as4MessageId === exchange.as4MessageId || one.sbdhInstanceId === exchange.sbdhInstanceId,
      );
      if (at >= 0)
        return plainOf((inbox.received[at] ?? exchange).payload).equals(plainOf(exchange.payload))
          ? { kind: "duplicate", id: ids[at] ?? "", firmId }
          : { kind: "conflict" };
      inbox.received.push(exchange);
      ids.push(randomUUID());
      return { kind: "stored", id: ids.at(-1) ?? "", firmId };
    },
  };
  return inbox;
}

export interface Peer {
  readonly url: string;
  readonly archive: MemoryArchive;
  readonly inbox: MemoryInbox;
  readonly receiver: As4Receiver;
  /** What the next arrivals meet, in order; afterwards the receiver answers. */
  readonly script: ((arrived: Arrived) => void | Promise<void>)[];
  readonly arrived: Arrived[];
  stop(): Promise<void>;
}

export async function startPeer(
  point: AccessPoint,
  trust: PeerTrust,
  inbox: MemoryInbox = memoryInbox(),
): Promise<Peer> {
  const archive = memoryArchive();
  const receiver = createAs4Receiver({
    own: ownOf(point),
    trust,
    crypto: inThread,
    receive: (exchange) => inbox.receive(exchange),
    evidence: archive,
    clock: systemClock,
    metrics: createMetrics(),
    log: silentLog,
  });
  const script: Peer["script"] = [];
  const arrived: Arrived[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request
      .on("data", (chunk: Buffer) => chunks.push(chunk))
      .on("end", () => {
        const one = {
          body: Buffer.concat(chunks),
          contentType: request.headers["content-type"] ?? "",
          request,
          response,
        };
        arrived.push(one);
        void (script.shift() ?? answerWith(receiver))(one);
      });
  });
  const { origin, close } = await listening(server);
  return {
    url: `${origin}/as4`,
    archive,
    inbox,
    receiver,
    script,
    arrived,
    stop: close,
  };
}

/** Answers as the receiver does; `change` may spoil the body first. */
export const answerWith =
  (receiver: As4Receiver, change: (body: Buffer) => Buffer = (body) => body) =>
  async ({ body, contentType, response }: Arrived): Promise<void> => {
    const reply = await receiver(body, contentType);
    response.writeHead(reply.status, { "content-type": reply.contentType }).end(change(Buffer.from(reply.body)));
  };

/** Answers something fixed. */
export const answer =
  (status: number, contentType = "text/plain", body: string | Uint8Array = "") =>
  ({ response }: Arrived): void => {
    response.writeHead(status, contentType === "" ? {} : { "content-type": contentType }).end(body);
  };
