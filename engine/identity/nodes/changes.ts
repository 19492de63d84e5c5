/**
 * How a change of identity reaches every node: announcements of Postgres, a proof that they arrive, and a wait for the
 * other nodes after a change of one's own.
 *
 * Announcements come in the order of their commits. A probe that a node announces to itself and hears again proves that
 * it has heard everything committed before the probe. Caches are believed for LIMITS.change_proof_ms after the last
 * proof. A change is answered when every other node has said that it heard it, or can believe nothing any more.
 */
import type { Clock } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import { every } from "../../base/waiting/every.js";
import { within } from "../../base/waiting/wake.js";
import { announce, openChannel } from "../../storage/channel.js";
import type { Channel, ChannelOptions } from "../../storage/channel.js";
import type { Sql } from "../../storage/sql.js";

/** The triggers of migration 0001 announce on it, and nodes talk to each other. */
const CHANNEL = "kurier_identity";

/** What the triggers announce, each as `<kind>:<id>`. */
export const CHANGE_KINDS = ["key", "binding", "integrator", "participant", "token", "signing_key"] as const;
/** What an announcement is about. */
export type ChangeKind = (typeof CHANGE_KINDS)[number];
const isChangeKind = (text: string): text is ChangeKind => CHANGE_KINDS.some((kind) => kind === text);

interface ChangesOptions {
  readonly sql: Sql;
  readonly url: string;
  readonly clock: Clock;
  readonly nodeId: string;
  readonly log: Log;
  /** Ids of the other nodes that are alive. */
  otherNodes(): readonly string[];
  /** Another node has started or stopped. */
  onNode(nodeId: string, event: "hello" | "bye"): void;
  onChange(kind: ChangeKind, id: string): void;
  /** Everything may have changed: announcements were or will be missed. */
  onGap(): void;
  /** Announcements were proven to arrive. */
  onProof(): void;
  /** @default openChannel */
  readonly open?: (options: ChannelOptions) => Channel;
}

/** The announcements between nodes, and the knowledge whether they arrive. */
export interface Changes {
  /** Resolves when announcements arrive for the first time, or after LIMITS.db_statement_timeout_ms. */
  start(): Promise<void>;
  /** Whether what is cached may be believed. */
  isFresh(): boolean;
  /** Announces a probe; the proof comes when it is heard. */
  probe(): Promise<void>;
  /** Tells the other nodes that this one is there. */
  greet(): Promise<void>;
  /**
   * Resolves when every node that is alive knows of all changes committed before the call, or after
   * LIMITS.change_ack_timeout_ms: by then a node that does not answer believes its memory no more.
   */
  settled(): Promise<void>;
  /** Says goodbye and listens no more. */
  stop(): Promise<void>;
}

/** Makes the listener of one node; it connects when it is started. */
export function createChanges(options: ChangesOptions): Changes {
  const { clock, nodeId, sql, log } = options;
  const proof = createProof(clock);
  const syncs = createSyncs();
  let stopProbes = (): void => undefined;
  let channel: Channel | undefined;
  let onFirstProof: (() => void) | undefined;

  const say = async (kind: string, rest: string): Promise<void> => {
    try {
      await announce(sql, CHANNEL, `${kind}:${rest}`);
    } catch (error) {
      log.warn("identity.announcement_failed", { component: kind, ...errorFields(error) });
    }
  };
  const probe = async (): Promise<void> => {
    if (!proof.isUp()) return;
    if (proof.silence_ms() > LIMITS.change_channel_dead_ms) channel?.renew();
    else await say("probe", `${nodeId}:${proof.ask()}`);
  };
  const onMessage = createEar(options, {
    probe: (seq) => {
      if (!proof.hear(seq)) return;
      options.onProof();
      onFirstProof?.();
    },
    ack: syncs.acknowledge,
    sync: (origin, seq) => {
      void say("ack", `${origin}:${seq}:${nodeId}`);
    },
    bye: syncs.giveUp,
  });
  const onUp = (): void => {
    proof.up();
    options.onGap();
    void probe();
  };
  const onDown = (): void => {
    proof.down();
    options.onGap();
    log.warn("identity.channel_down");
  };

  return {
    start: async () => {
      const proven = new Promise<void>((resolve) => {
        onFirstProof = resolve;
      });
      channel = (options.open ?? openChannel)({
        url: options.url,
        name: "kurier identity",
        channel: CHANNEL,
        onMessage,
        onUp,
        onDown,
      });
      stopProbes = every(LIMITS.change_probe_ms, probe);
      await within(proven, LIMITS.db_statement_timeout_ms, undefined);
    },
    isFresh: proof.isFresh,
    probe,
    greet: () => say("hello", nodeId),
    settled: async () => {
      const others = options.otherNodes();
      if (others.length === 0) return;
      const { seq, done, end } = syncs.begin(others);
      await say("sync", `${nodeId}:${seq}`);
      await within(done, LIMITS.change_ack_timeout_ms, undefined);
      end();
    },
    stop: async () => {
      stopProbes();
      proof.down();
      await say("bye", nodeId);
      await channel?.close();
    },
  };
}

/** What a node does with what nodes say to each other. */
interface Talk {
  /** This node's own probe came back. */
  probe(seq: number): void;
  /** Another node knows of this node's change. */
  ack(seq: number, from: string): void;
  /** Another node asks whether this one knows of its change. */
  sync(origin: string, seq: number): void;
  /** Another node has stopped. */
  bye(origin: string): void;
}

/** Reads payloads: `<change>:<id>` of the triggers, `<word>:<node>[:<number>[:<node>]]` of nodes. */
function createEar(options: ChangesOptions, talk: Talk): (payload: string) => void {
  const { nodeId } = options;
  const ofThisNode: Readonly<Record<string, (seq: number, from: string) => void>> = {
    probe: talk.probe,
    ack: talk.ack,
  };
  const ofOthers: Readonly<Record<string, (origin: string, seq: number) => void>> = {
    sync: talk.sync,
    hello: (origin) => {
      options.onNode(origin, "hello");
    },
    bye: (origin) => {
      options.onNode(origin, "bye");
      talk.bye(origin);
    },
  };
  return (payload) => {
    const colon = payload.indexOf(":");
    const kind = payload.slice(0, colon);
    const rest = payload.slice(colon + 1);
    if (isChangeKind(kind)) {
      options.onChange(kind, rest);
      return;
    }
    const [origin = "", seq = "", from = ""] = rest.split(":");
    if (origin === nodeId) ofThisNode[kind]?.(Number(seq), from);
    else ofOthers[kind]?.(origin, Number(seq));
  };
}

/** Whether announcements arrive: the state of the channel and the age of the newest probe that came back. */
function createProof(clock: Clock) {
  let isUp = false;
  /** Monotonic instants: the newest heard probe's sending, and the channel's opening. */
  let provenAt = Number.NEGATIVE_INFINITY;
  let upSince = 0;
  let seq = 0;
  // Bounded by LIMITS.change_probes_max: an older probe leaves when one is sent.
  const sentAt = new Map<number, number>();
  return {
    isUp: () => isUp,
    up: () => {
      isUp = true;
      upSince = clock.monotonic();
    },
    down: () => {
      isUp = false;
      provenAt = Number.NEGATIVE_INFINITY;
      sentAt.clear();
    },
    isFresh: () => isUp && clock.monotonic() - provenAt <= LIMITS.change_proof_ms,
    silence_ms: () => clock.monotonic() - Math.max(provenAt, upSince),
    /** Numbers a probe that is sent now. */
    ask: (): number => {
      seq += 1;
      sentAt.set(seq, clock.monotonic());
      sentAt.delete(seq - LIMITS.change_probes_max);
      return seq;
    },
    /** @returns whether this is a proof: a probe of before the last gap is none */
    hear: (heard: number): boolean => {
      const instant = sentAt.get(heard);
      if (instant === undefined) return false;
      for (const older of sentAt.keys()) if (older <= heard) sentAt.delete(older);
      provenAt = instant;
      return true;
    },
  };
}

/** The changes of this node that wait for others, by number. */
function createSyncs() {
  let last = 0;
  // Bounded by the requests under way on this node that change something.
  const waiting = new Map<number, { readonly missing: Set<string>; resolve(): void }>();
  const acknowledge = (seq: number, from: string): void => {
    const sync = waiting.get(seq);
    sync?.missing.delete(from);
    if (sync?.missing.size === 0) sync.resolve();
  };
  return {
    acknowledge,
    giveUp: (node: string): void => {
      for (const seq of waiting.keys()) acknowledge(seq, node);
    },
    begin: (others: readonly string[]) => {
      last += 1;
      const seq = last;
      const done = new Promise<void>((resolve) => {
        waiting.set(seq, { missing: new Set(others), resolve });
      });
      return {
        seq,
        done,
        end: () => {
          waiting.delete(seq);
        },
      };
    },
  };
}
