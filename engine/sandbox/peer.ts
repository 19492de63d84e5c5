/** What the sandbox's other access point answers to a message, and when it says more: as the table of fates says. */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";

import type { OwnKey } from "../../validators/wss/protocol.js";
import { isoInstant } from "../base/clock.js";
import type { Clock } from "../base/clock.js";
import { newMessageId, participantKey } from "../base/ids.js";
import type { ParticipantId } from "../base/ids.js";
import { LIMITS } from "../base/limits.js";
import { errorFields } from "../base/log.js";
import type { Log } from "../base/log.js";
import type { As4Jobs } from "../peppol/as4/jobs.js";
import { buildError } from "../peppol/as4/messages.js";
import type { As4Crypto } from "../peppol/as4/messages.js";
import type { PeerTrust } from "../peppol/as4/ports.js";
import { providerOfSeat } from "../peppol/seats.js";
import type { InboundExchange } from "../peppol/transport.js";
import type { Fate, PeerAnswer } from "./fates.js";

interface PeerPorts {
  readonly fateOf: (participant: ParticipantId) => Fate | undefined;
  readonly key: () => Promise<OwnKey>;
  readonly trust: PeerTrust;
  readonly crypto: As4Crypto;
  readonly jobs: Pick<As4Jobs, "open">;
  /** What follows a receipt; it is not waited for. */
  readonly follow: (fate: Fate, taken: InboundExchange) => void;
  readonly clock: Clock;
  readonly log: Log;
  /** Lets time pass. @default a timer */
  readonly wait?: (ms: number) => Promise<void>;
}

/** The HTTP answer of the peer. */
interface PeerReply {
  readonly status: 200 | 503;
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** Answers the body of one POST to a participant of the table. */
export type Peer = (participant: ParticipantId, body: Buffer, contentType: string) => Promise<PeerReply>;

const NOTHING = { contentType: "text/plain; charset=utf-8", body: new Uint8Array(0) } as const;
const AWAY: PeerReply = { status: 503, ...NOTHING };
/** An error that other access points know to be for good. */
const FOR_GOOD = "EBMS:0003";

type Opened = Extract<Awaited<ReturnType<As4Jobs["open"]>>, { readonly kind: "arrived" }>;

export function createPeer(ports: PeerPorts): Peer {
  const { clock, log } = ports;
  const wait = ports.wait ?? ((ms: number) => pause(ms));

  const answers: Readonly<Record<PeerAnswer, (taken: InboundExchange, opened: Opened) => Promise<PeerReply>>> = {
    receipt: (_, { receipt }) => Promise.resolve({ status: 200, ...receipt }),
    refusal: (_, { message }) => refuse(ports, FOR_GOOD, message.messageId),
    silence: () => Promise.resolve({ status: 200, ...NOTHING }),
    down_at_first: ({ createdAt }, { receipt }) =>
      Promise.resolve(clock.now() < createdAt + LIMITS.sandbox_down_ms ? AWAY : { status: 200, ...receipt }),
  };

  async function answer(participant: ParticipantId, body: Buffer, contentType: string): Promise<PeerReply> {
    const fate = ports.fateOf(participant);
    if (fate === undefined) return AWAY;
    const key = await ports.key();
    const opened = await ports.jobs.open(
      {
        bytes: body,
        contentType,
        keys: [key],
        payloadBytesMax: LIMITS.as4_payload_bytes_max,
        receipt: { id: randomUUID(), signer: key, messageId: newMessageId(), timestamp: isoInstant(clock.now()) },
      },
      "sandbox",
    );
    if (opened.kind === "refused") return { status: 200, ...opened.answer };
    const { messageId } = opened.message;
    const verdict = await ports.trust.judge(opened.signer);
    if (verdict.kind === "refused") return refuse(ports, "EBMS:0101", messageId);
    const { content } = opened;
    if (content === undefined) return { status: 200, ...opened.receipt };
    if ("kind" in content) return refuse(ports, content.error, messageId);
    if (participantKey(content.receiver) !== participantKey(participant)) return refuse(ports, "EBMS:0004", messageId);
    if (fate.delay_ms > 0) await wait(fate.delay_ms);
    const reply = await answers[fate.answer](content, opened);
    if (fate.answer === "receipt") ports.follow(fate, content);
    return reply;
  }

  return async (participant, body, contentType) => {
    try {
      return await answer(participant, body, contentType);
    } catch (error) {
      log.error("sandbox.peer_failed", errorFields(error));
      return AWAY;
    }
  };
}

async function refuse(
  { key, crypto, clock }: PeerPorts,
  code: Parameters<typeof buildError>[1]["code"],
  messageId: string | undefined,
): Promise<PeerReply> {
  const signal = await buildError(
    {
      id: randomUUID(),
      signer: await key(),
      messageId: newMessageId(),
      timestamp: isoInstant(clock.now()),
      ...(messageId === undefined ? {} : { refToMessageId: messageId }),
    },
    { code },
    crypto,
  );
  return { status: 200, ...signal };
}

/** The provider of an access point's seat. @throws Error for what is no seat */
export function providerOf(seat: string): ParticipantId {
  const provider = providerOfSeat(seat);
  if (provider === undefined) throw new Error(`${seat} is no seat`);
  return provider;
}
