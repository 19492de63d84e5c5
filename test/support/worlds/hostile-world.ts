/**
 * One whole engine and the access points that it sends to, over real sockets: each receiver has an address of its own in
 * SMP_ROUTES, and behind it a scripted access point. Limits are shortened, so that plans and pauses pass in moments.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { systemClock } from "../../../engine/base/clock.js";
import type { DocumentId, FirmId, ParticipantId } from "../../../engine/base/ids.js";
import { ensureDevelopmentPki, loadDevelopmentKeys } from "../../../engine/peppol/pki/development.js";
import { acceptDocuments } from "../../../engine/storage/documents/documents.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { wrapPrivateKey } from "../../../validators/wss/keys.js";
import { answerWith, memoryInbox, startPeer, trustIn } from "../as4/as4-peer.js";
import type { Arrived, MemoryInbox, Peer } from "../as4/as4-peer.js";
import type { AccessPoint } from "../as4/as4-keys.js";
import { INVOICE_TYPE, invoiceXml, startTestEngine } from "../engines/engine.js";
import type { TestEngine } from "../engines/engine.js";
import { newDocumentRow, sealedDocumentRow } from "../database/seed.js";
import { shortenLimits } from "../engines/limits.js";

/** What a scripted access point does with one message. */
export type Behaviour = (arrived: Arrived, peer: Peer) => void | Promise<void>;

/** Takes the message and answers as it should. */
export const takes: Behaviour = (arrived, { receiver }) => answerWith(receiver)(arrived);

/** Takes the message, and answers when its sender waits no more. */
export const takesTooLate: Behaviour = async (arrived, peer) => {
  const gone = new Promise((resolve) => arrived.response.once("close", resolve));
  await peer.receiver(arrived.body, arrived.contentType);
  await gone;
};

/** Takes the message, and answers one octet at a time, `every_ms`. */
export const answersSlowly =
  (every_ms: number): Behaviour =>
  async ({ body, contentType, response }, { receiver }) => {
    const reply = await receiver(body, contentType);
    response.writeHead(reply.status, { "content-type": reply.contentType });
    let at = 0;
    const timer = setInterval(() => {
      response.write(Buffer.from(reply.body).subarray(at, (at += 1)));
    }, every_ms);
    response.once("close", () => {
      clearInterval(timer);
    });
  };

/** Reads the message and ends the connection without a word. */
export const resets: Behaviour = ({ request }) => {
  request.socket.resetAndDestroy();
};

/** In front of an access point: while it is shut, connections are accepted and reset with the first octet. */
interface Turnstile {
  readonly url: string;
  open(): void;
  /** Connections that were reset. */
  readonly reset: () => number;
  stop(): Promise<void>;
}

async function startTurnstile(target: URL): Promise<Turnstile> {
  const sockets = new Set<Socket>();
  let [isOpen, reset] = [false, 0];
  const server = createServer((client) => {
    sockets.add(client);
    client.on("error", () => undefined).on("close", () => sockets.delete(client));
    if (!isOpen) {
      client.once("data", () => {
        reset += 1;
        client.resetAndDestroy();
      });
      return;
    }
    const upstream = connect(Number(target.port), target.hostname);
    upstream.on("error", () => client.destroy());
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/as4`,
    open: () => {
      isOpen = true;
    },
    reset: () => reset,
    stop: () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => {
          resolve();
        });
      }),
  };
}

/** One document as the database has it, beside what was counted of its attempts. */
export interface DocumentFact {
  readonly status: string;
  /** Answers of the network that its plan has used. */
  readonly answers: number;
  /** Attempts that ended with an outcome of the network. */
  readonly answered: number;
  /** Codes of its attempts in their order; the outcome where there is no code. */
  readonly outcomes: readonly string[];
}

export interface HostileWorld {
  readonly engine: TestEngine;
  /** Access points with one inbox, one behind each of `receivers`. */
  readonly peers: readonly Peer[];
  /** What all of them have taken. */
  readonly inbox: MemoryInbox;
  readonly turnstile: Turnstile;
  readonly receivers: readonly string[];
  /** A participant behind the turnstile. */
  readonly shut: string;
  /** What the next messages for one of `receivers` meet, in order; afterwards it takes them. */
  play(index: number, behaviours: readonly Behaviour[]): void;
  /** Forgets what arrived and what was played. */
  reset(): void;
  /** Accepts so many documents of one firm for a receiver. @param bytes what each counts as, @default its own octets */
  accept(receiver: string, count: number, bytes?: number): Promise<readonly DocumentId[]>;
  facts(ids: readonly DocumentId[]): Promise<readonly DocumentFact[]>;
  stop(): Promise<void>;
}

const MASTER_KEY = Buffer.alloc(32, 7);
const [OUR_SEAT, PEER_SEAT] = ["PSK000001", "PSK000002"];
const RECEIVERS = 16;

async function keysOf(folder: string, seat: string): Promise<AccessPoint> {
  const [leaf] = await loadDevelopmentKeys(folder);
  if (leaf === undefined) throw new Error(`no keys in ${folder}`);
  return {
    seat,
    certificate: Buffer.from(leaf.certificate),
    privateKey: leaf.privateKey,
    key: wrapPrivateKey(leaf.privateKey),
  };
}

/** Plans, pauses and time limits as they are in life, but for their length: what counts is their order. */
const SHORT = {
  as4_exchange_timeout_ms: 1_500,
  retry_plan_ms: [200, 400, 800, 1_600, 3_000, 5_000, 8_000, 12_000, 20_000],
  breaker_pause_first_ms: 10,
  breaker_pause_max_ms: 20,
  receiver_retry_min_ms: 20,
  receiver_retry_max_ms: 200,
  due_poll_ms: 20,
} as const;

/** Starts the engine and its receivers. @param limits  shortened besides those that every such world shortens */
export async function startHostileWorld(limits: Parameters<typeof shortenLimits>[0] = {}): Promise<HostileWorld> {
  const restore = shortenLimits({ ...SHORT, ...limits });
  const dataDir = mkdtempSync(join(tmpdir(), "kurier-hostile-"));
  const [pki, peerPki] = [join(dataDir, "pki"), join(dataDir, "peer")];
  await ensureDevelopmentPki({ folder: pki, clock: systemClock, seat: OUR_SEAT });
  await ensureDevelopmentPki({ folder: peerPki, clock: systemClock, seat: PEER_SEAT, from: pki });
  const point = await keysOf(peerPki, PEER_SEAT);
  const [inbox, trust] = [memoryInbox(), trustIn(await keysOf(pki, OUR_SEAT))];
  const peers = await Promise.all(Array.from({ length: RECEIVERS }, () => startPeer(point, trust, inbox)));
  const turnstile = await startTurnstile(new URL(peers.at(-1)?.url ?? ""));
  const receivers = Array.from({ length: RECEIVERS }, (_, i) => `0245:${5_000_000_000 + i}`);
  const shut = "0245:5900000000";
  const certificate = point.certificate.toString("base64");
  const routes = join(dataDir, "routes.json");
  writeFileSync(
    routes,
    JSON.stringify(
      Object.fromEntries(
        [...receivers.map((name, i) => [name, peers[i]?.url ?? ""] as const), [shut, turnstile.url] as const].map(
          ([name, url]) => [name, { url, certificate, documentTypes: [INVOICE_TYPE] }],
        ),
      ),
    ),
  );
  const engine = await startTestEngine({
    transport: "as4",
    config: { DATA_DIR: dataDir, MASTER_KEY, SMP_MODE: "static", SMP_ROUTES: routes },
  });
  const sealer = createSealer([MASTER_KEY]);
  const { participantId: sender, firmId } = engine.sandbox.sender;
  const accept = async (receiver: string, count: number, bytes?: number): Promise<readonly DocumentId[]> => {
    const rows = await Promise.all(
      Array.from({ length: count }, async () => {
        const row = await sealedDocumentRow(
          sealer,
          newDocumentRow(firmId as FirmId, sender, {
            receiver: receiver as ParticipantId,
            acceptedAt: systemClock.now(),
          }),
          Buffer.from(invoiceXml(sender, receiver, { lines: 1 })),
        );
        return { ...row, payloadBytes: bytes ?? row.payloadBytes };
      }),
    );
    await acceptDocuments(engine.db.sql, rows);
    return rows.map(({ id }) => id);
  };
  return {
    engine,
    peers,
    inbox,
    turnstile,
    receivers,
    shut,
    play: (index, behaviours) => {
      const peer = peers[index];
      peer?.script.push(...behaviours.map((behaviour) => (arrived: Arrived) => behaviour(arrived, peer)));
    },
    reset: () => {
      for (const { script, arrived } of peers) [script.length, arrived.length] = [0, 0];
      inbox.received.length = 0;
    },
    accept,
    facts: async (ids) => engine.db.sql<DocumentFact[]>`
      select d.status, d.answers,
        (count(a.*) filter (where a.outcome not in ('cut', 'internal', 'deferred')
          and coalesce(a.detail, '') not like '%The evidence could not be stored.'))::integer as answered,
        coalesce(array_agg(coalesce(a.code, a.outcome) order by a.number) filter (where a.outcome is not null), '{}')
          as outcomes
      from document as d left join document_attempt as a on a.document_id = d.id
      where d.id = any (${[...ids]}::uuid[]) group by d.id order by d.id`,
    stop: async () => {
      await engine.stop();
      await Promise.all([...peers.map((peer) => peer.stop()), turnstile.stop()]);
      rmSync(dataDir, { recursive: true, force: true });
      restore();
    },
  };
}
