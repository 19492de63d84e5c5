/** The sandbox's other access point put together: what is published of it, what it answers, what it sends. */
import { setTimeout as pause } from "node:timers/promises";

import type { Clock } from "../base/clock.js";
import { participantKey } from "../base/ids.js";
import type { ParticipantId } from "../base/ids.js";
import { LIMITS } from "../base/limits.js";
import { errorFields } from "../base/log.js";
import type { Log } from "../base/log.js";
import { within } from "../base/waiting/wake.js";
import type { AccessPoint } from "../peppol/access-point.js";
import type { As4Jobs } from "../peppol/as4/jobs.js";
import type { As4Crypto } from "../peppol/as4/messages.js";
import { peerTrust } from "../peppol/as4/trust.js";
import type { PublishedParticipant } from "../peppol/discovery/smp-server.js";
import { createHttpClient } from "../peppol/network/http.js";
import { openPeerKeys, PEER_SEAT } from "../peppol/pki/peer-keys.js";
import type { PeerKeys } from "../peppol/pki/peer-keys.js";
import type { InboundExchange } from "../peppol/transport.js";
import { FATES, PROVIDER_FATE } from "./fates.js";
import type { Fate } from "./fates.js";
import { createPeer, providerOf } from "./peer.js";
import type { Peer } from "./peer.js";
import { post } from "./posting.js";
import type { Posted, Posting } from "./posting.js";
import { samplePosting } from "./samples.js";
import type { SampleKind } from "./samples.js";
import { responseTo, statusAbout } from "./sequels.js";
import type { NameReader } from "./sequels.js";

interface SandboxOptions {
  readonly dataDir: string;
  /** Origin under which we are reached, and the other access point beside us. */
  readonly publicUrl: string;
  readonly crypto: As4Crypto;
  readonly jobs: As4Jobs;
  readonly read: NameReader;
  readonly clock: Clock;
  readonly log: Log;
}

/** The participants of the sandbox with a fate. */
export interface ScriptedPeers {
  /** What our SMP publishes of one of them; undefined for everybody else. */
  find(participantKey: string): Promise<PublishedParticipant | undefined>;
  /** The plan of attempts for a receiver that has one of its own. */
  planOf(receiver: ParticipantId): readonly number[] | undefined;
  /** Gives them the network: what they answer and send goes over it. */
  connect(accessPoint: Pick<AccessPoint, "lookup" | "pki">): ConnectedPeers;
}

export interface ConnectedPeers {
  readonly answer: Peer;
  /** Sends a firm a document from outside. */
  send(order: { readonly to: ParticipantId; readonly kind: SampleKind; readonly lines: number }): Promise<Posted>;
  /** Sends at once what would have been sent in a moment, and waits for it: the process is about to end. */
  settle(): Promise<void>;
  stop(): void;
}

export function createScriptedPeers(options: SandboxOptions): ScriptedPeers {
  const { dataDir, publicUrl, clock } = options;
  const provider = participantKey(providerOf(PEER_SEAT));
  const byKey = new Map([...FATES].map(([id, fate]) => [participantKey(id), fate]));
  byKey.set(provider, PROVIDER_FATE);
  const fateOf = (participant: ParticipantId): Fate | undefined => byKey.get(participantKey(participant));
  let opening: Promise<PeerKeys> | undefined;
  /** Made when they are first needed: a key takes a while. */
  const keys = async (): Promise<PeerKeys> => {
    opening ??= openPeerKeys({ dataDir, clock });
    try {
      return await opening;
    } catch (error) {
      // What failed may have been a full disk: the next who asks tries again.
      opening = undefined;
      throw error;
    }
  };

  return {
    find: async (key) => {
      const fate = byKey.get(key);
      if (fate?.capabilities === undefined) return undefined;
      const { key: own, expiredCertificate } = await keys();
      const certificate = fate.certificate === "valid" ? Buffer.from(own.certificate) : expiredCertificate;
      return {
        capabilities: fate.capabilities,
        endpoint: { url: `${publicUrl}/sandbox/as4/${encodeURIComponent(key)}`, certificate },
      };
    },
    planOf: (receiver) => fateOf(receiver)?.plan,
    connect: (accessPoint) => connectPeers(options, { accessPoint, keys, fateOf }),
  };
}

interface Parts {
  readonly accessPoint: Pick<AccessPoint, "lookup" | "pki">;
  readonly keys: () => Promise<PeerKeys>;
  readonly fateOf: (participant: ParticipantId) => Fate | undefined;
}

function connectPeers(options: SandboxOptions, { accessPoint, keys, fateOf }: Parts): ConnectedPeers {
  const { publicUrl, crypto, jobs, clock, log } = options;
  const client = createHttpClient({ policy: { allowLoopback: true, ownOrigins: [new URL(publicUrl).origin] } });
  const key = async () => (await keys()).key;
  const send = (posting: Posting): Promise<Posted> =>
    post({ key, lookup: accessPoint.lookup, jobs, http: client.request, clock }, posting);
  const ending = new AbortController();
  /** What was promised by a fate and is not sent yet; at most LIMITS.sandbox_sequels_max. */
  const promised = new Set<Promise<void>>();

  /** Lets the sender have its receipt first, unless the process ends meanwhile. */
  async function afterReceipt(): Promise<void> {
    try {
      await pause(LIMITS.sandbox_sequel_after_ms, undefined, { signal: ending.signal });
    } catch (error) {
      if (!ending.signal.aborted) throw error;
    }
  }

  /** A fault here is the sandbox's own and no sender's. */
  async function answerBy({ name, sequel }: Fate, taken: InboundExchange): Promise<void> {
    if (sequel.kind === "nothing") return;
    try {
      await afterReceipt();
      const posting =
        sequel.kind === "response"
          ? await responseTo(taken, sequel.code, options)
          : statusAbout(taken, sequel.rule, clock);
      const posted = posting === undefined ? undefined : await send(posting);
      log.info("sandbox.sequel_sent", { outcome: posted?.outcome ?? "unreadable", code: posted?.code ?? name });
    } catch (error) {
      log.error("sandbox.sequel_failed", errorFields(error));
    }
  }

  async function follow(fate: Fate, taken: InboundExchange): Promise<void> {
    if (promised.size >= LIMITS.sandbox_sequels_max) return;
    const answered = answerBy(fate, taken);
    promised.add(answered);
    await answered;
    promised.delete(answered);
  }

  return {
    answer: createPeer({
      fateOf,
      key,
      trust: peerTrust(accessPoint.pki),
      crypto,
      jobs,
      follow: (fate, taken) => void follow(fate, taken),
      clock,
      log,
    }),
    send: (order) => send(samplePosting(order, clock)),
    settle: async () => {
      ending.abort();
      await within(Promise.all(promised), LIMITS.sandbox_settle_ms, undefined);
    },
    stop: () => {
      client.close();
    },
  };
}
