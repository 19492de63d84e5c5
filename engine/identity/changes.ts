/**
 * How a change of identity reaches every node: announcements of Postgres, a proof that they arrive, and a wait for the
 * other nodes after a change of one's own.
 *
 * Announcements come in the order of their commits. A probe that a node announces to itself and hears again proves that it
 * has heard everything committed before the probe. Caches are believed for LIMITS.change_proof_ms after the last proof.
 */
import type { Clock } from "../clock.js";
import { LIMITS } from "../limits.js";
import { errorFields, type Log } from "../log.js";
import { announce, openChannel, type Channel, type ChannelOptions } from "../storage/channel.js";
import type { Sql } from "../storage/sql.js";

/** What the triggers of migration 0001 announce, and what nodes tell each other on the same channel. */
const CHANNEL = "kurier_identity";

export const CHANGE_KINDS = ["key", "binding", "integrator", "participant", "token", "signing_key"] as const;
export type ChangeKind = (typeof CHANGE_KINDS)[number];

export interface ChangesOptions {
  readonly sql: Sql;
  readonly url: string;
  readonly clock: Clock;
  readonly nodeId: string;
  readonly log: Log;
  /** Ids of the other nodes that are alive. */
  otherNodes(): readonly string[];
  onChange(kind: ChangeKind, id: string): void;
  /** Everything may have changed: announcements were or will be missed. */
  onGap(): void;
  /** Announcements were proven to arrive. */
  onProof(): void;
  /** @default openChannel */
  readonly open?: (options: ChannelOptions) => Channel;
}

export interface Changes {
  /** Resolves when announcements arrive for the first time. */
  start(): Promise<void>;
  /** Whether what is cached may be believed. */
  isFresh(): boolean;
  /** Announces a probe; the proof comes when it is heard. */
  probe(): Promise<void>;
  /**
   * Resolves when every node that is alive knows of all changes committed before the call, or after
   * LIMITS.change_ack_timeout_ms: by then a node that does not answer believes its memory no more.
   */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

const isChangeKind = (text: string): text is ChangeKind => CHANGE_KINDS.some((kind) => kind === text);

export function createChanges(options: ChangesOptions): Changes {
  const { clock, nodeId, sql } = options;
  let isUp = false;
  /** Monotonic instant at which the newest probe that was heard was sent. */
  let provenAt = Number.NEGATIVE_INFINITY;
  let upSince = 0;
  let probeSeq = 0;
  const probes = new Map<number, number>();
  let syncSeq = 0;
  const syncs = new Map<number, { readonly missing: Set<string>; resolve(): void }>();
  let interval: NodeJS.Timeout | undefined;
  let channel: Channel | undefined;
  let firstProof: (() => void) | undefined;

  const heardProbe = (seq: number): void => {
    const sentAt = probes.get(seq);
    if (sentAt === undefined) return;
    for (const older of probes.keys()) if (older <= seq) probes.delete(older);
    provenAt = sentAt;
    options.onProof();
    firstProof?.();
  };
  const heardAck = (seq: number, from: string): void => {
    const sync = syncs.get(seq);
    sync?.missing.delete(from);
    if (sync?.missing.size === 0) sync.resolve();
  };
  const answerSync = (origin: string, seq: string): void => {
    announce(sql, CHANNEL, `ack:${origin}:${seq}:${nodeId}`).catch((error: unknown) => {
      options.log.warn("identity.ack_failed", errorFields(error));
    });
  };
  const onMessage = (payload: string): void => {
    const colon = payload.indexOf(":");
    const kind = payload.slice(0, colon);
    const rest = payload.slice(colon + 1);
    if (isChangeKind(kind)) {
      options.onChange(kind, rest);
      return;
    }
    const [origin = "", seq = "", from = ""] = rest.split(":");
    if (kind === "probe" && origin === nodeId) heardProbe(Number(seq));
    if (kind === "sync" && origin !== nodeId) answerSync(origin, seq);
    if (kind === "ack" && origin === nodeId) heardAck(Number(seq), from);
  };
  const probe = async (): Promise<void> => {
    const now = clock.monotonic();
    if (isUp && now - Math.max(provenAt, upSince) > LIMITS.change_channel_dead_ms) channel?.renew();
    if (!isUp) return;
    probeSeq += 1;
    probes.set(probeSeq, now);
    if (probes.size > PROBES_MAX) probes.delete(probes.keys().next().value ?? 0);
    try {
      await announce(sql, CHANNEL, `probe:${nodeId}:${probeSeq}`);
    } catch (error) {
      options.log.warn("identity.probe_failed", errorFields(error));
    }
  };

  return {
    start: async () => {
      const proven = new Promise<void>((resolve) => { firstProof = resolve; });
      channel = (options.open ?? openChannel)({
        url: options.url,
        name: "kurier identity",
        channel: CHANNEL,
        onMessage,
        onUp: () => {
          isUp = true;
          upSince = clock.monotonic();
          options.onGap();
          void probe();
        },
        onDown: () => {
          isUp = false;
          provenAt = Number.NEGATIVE_INFINITY;
          probes.clear();
          options.onGap();
          options.log.warn("identity.channel_down");
        },
      });
      interval = setInterval(() => { void probe(); }, LIMITS.change_probe_ms);
      interval.unref();
      await withTimeout(proven, LIMITS.db_statement_timeout_ms);
    },
    isFresh: () => isUp && clock.monotonic() - provenAt <= LIMITS.change_proof_ms,
    probe,
    settled: async () => {
      const missing = new Set(options.otherNodes());
      missing.delete(nodeId);
      if (missing.size === 0) return;
      syncSeq += 1;
      const seq = syncSeq;
      const done = new Promise<void>((resolve) => { syncs.set(seq, { missing, resolve }); });
      try {
        await announce(sql, CHANNEL, `sync:${nodeId}:${seq}`);
        await withTimeout(done, LIMITS.change_ack_timeout_ms);
      } finally {
        syncs.delete(seq);
      }
    },
    stop: async () => {
      clearInterval(interval);
      isUp = false;
      await channel?.close();
    },
  };
}

/** Probes waited for; one a second leaves more than a minute. */
const PROBES_MAX = 64;

/** Waits no longer than `ms`; the caller goes on either way. */
async function withTimeout(promise: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => { timer = setTimeout(resolve, ms); });
  await Promise.race([promise, late]);
  clearTimeout(timer);
}
