/**
 * One entity, one turn at a time: a typed, bounded wrapper over nact, and the only file that knows it.
 *
 * nact 7.6.2 alone was measured to lose the mailbox of a stopped actor, to overlap a stopped handler with its
 * successor, to let a mailbox grow without bound, to leave an asker waiting when a handler throws, and to print the
 * message that made it throw. Here every ask is answered, an actor is stopped only when nothing runs or waits in it,
 * and a crash report names the actor and the place, never the command.
 */
import { dispatch, spawnStateless, start, stop } from "nact";

import { Refusal, temporary } from "../engine/base/errors.js";
import { LIMITS } from "../engine/base/limits.js";
import { errorFields } from "../engine/base/log.js";
import type { Log } from "../engine/base/log.js";
import { ownTurn } from "../engine/base/memory/turns.js";
import type { Metrics } from "../engine/base/metrics.js";
import { openSpan, withinSpan } from "../engine/base/tracing/tracing.js";
import { every } from "../engine/base/waiting/every.js";
import { within } from "../engine/base/waiting/wake.js";
import { KeyMissing } from "../engine/storage/sealer.js";
import { isPassing } from "../engine/storage/sql.js";

/** What an actor kind is asked and what it answers, by command name. */
type Protocol = Record<string, { readonly ask: unknown; readonly reply: unknown }>;

/** The end of a turn: an answer now, or a promise that answers the asker while the next turn already runs. */
type Turn<Reply> = { readonly reply: Reply } | { readonly forward: Promise<Reply> };

/** Every kind there is; its crashes are counted from the start, as the first one is told by a step from 0 alone. */
const ACTOR_KINDS = [
  "agreement",
  "box",
  "credential",
  "document",
  "message",
  "onboarding",
  "operator",
  "participant",
  "partner",
  "person",
  "registration",
  "subscriber",
  "tenant",
  "white_label",
] as const;
type ActorName = (typeof ACTOR_KINDS)[number];

/** A kind of actor: its commands, its cache and its handlers. */
export interface ActorKind<P extends Protocol, Cache> {
  readonly name: ActorName;
  /** Commands that may wait; one more is refused as TEMPORARY. @default LIMITS.mailbox_max */
  readonly mailbox?: number;
  /** Milliseconds without a command after which the actor is dropped; 0 drops it as soon as its mailbox is empty. */
  readonly idle_ms: number;
  /** A cache, never the truth: it may vanish between any two turns. */
  readonly start: (key: string) => Cache;
  readonly handlers: {
    readonly [K in keyof P]: (
      cache: Cache,
      ask: P[K]["ask"],
      key: string,
    ) => Promise<Turn<P[K]["reply"]>> | Turn<P[K]["reply"]>;
  };
}

/** The actors of one node. */
export interface ActorSystem {
  /**
   * Gives a command to the actor `key` of `kind` and waits for the answer.
   * @throws Refusal TEMPORARY when the mailbox is full, the node is stopping or no answer came in time
   * @throws whatever the handler throws
   */
  ask<P extends Protocol, Cache, K extends keyof P & string>(
    kind: ActorKind<P, Cache>,
    key: string,
    command: K,
    ask: P[K]["ask"],
  ): Promise<P[K]["reply"]>;
  /**
   * Lets the actor finish what waits in it and drops it; a command that comes meanwhile starts a new one afterwards.
   */
  retire<P extends Protocol, Cache>(kind: ActorKind<P, Cache>, key: string): Promise<void>;
  /** Actors in memory, by kind. */
  census(): ReadonlyMap<string, number>;
  /** Refuses new commands, waits for those under way (bounded), then drops every actor. */
  stop(): Promise<void>;
}

type Reference = ReturnType<typeof spawnStateless>;
/** A command on its way: what runs in the turn, and what the asker is told when there is no turn. */
interface Envelope {
  readonly run: () => Promise<void>;
}

/** What is known of one living actor; only the system holds it. */
class Entry {
  readonly reference: Reference;
  readonly kind: string;
  readonly idle_ms: number;
  cache: unknown;
  /** Commands given and not yet ended, the running one included. */
  waiting = 0;
  idleSince: number;
  retired: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;

  constructor(
    reference: Reference,
    { name, idle_ms }: { readonly name: string; readonly idle_ms: number },
    started: { readonly cache: unknown; readonly at: number },
  ) {
    this.reference = reference;
    this.kind = name;
    this.idle_ms = idle_ms;
    this.cache = started.cache;
    this.idleSince = started.at;
  }
}

function deferred(): NonNullable<Entry["retired"]> {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** FNV-1a over UTF-16 units: spreads keys over the parents. */
function shardOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % LIMITS.actor_shards;
}

/** Starts an empty actor system; actors come into being with their first command. */
export function startActors(ports: {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly monotonic: () => number;
}): ActorSystem {
  const { log, metrics, monotonic } = ports;
  const system = start();
  for (const kind of ACTOR_KINDS) metrics.count("actor_crashes_total", { kind }, 0);
  // nact copies the children of a parent for each of its messages (262 ms at 200,000): the parents only hold children,
  // and hold few.
  const shards = Array.from({ length: LIMITS.actor_shards }, (_, i) =>
    spawnStateless(system, () => undefined, `shard-${i}`),
  );
  const entries = new Map<string, Entry>();
  // Bounded by the kinds of actor.
  const counts = new Map<string, number>();
  let stopping = false;
  let generation = 0;

  function drop(path: string, entry: Entry): void {
    entries.delete(path);
    counts.set(entry.kind, (counts.get(entry.kind) ?? 1) - 1);
    stop(entry.reference);
    entry.retired?.resolve();
  }

  function ended(path: string, entry: Entry): void {
    entry.waiting -= 1;
    if (entry.waiting > 0) return;
    entry.idleSince = monotonic();
    if (entry.idle_ms === 0 || entry.retired !== undefined) drop(path, entry);
  }

  function enter<P extends Protocol, Cache>(kind: ActorKind<P, Cache>, key: string, path: string): Entry {
    const found = entries.get(path);
    if (found !== undefined) return found;
    if (entries.size >= LIMITS.actors_max) throw temporary();
    // nact names are unique among living children; the generation keeps a successor apart from one that is just
    // stopping.
    const reference = spawnStateless(
      shards[shardOf(key)] ?? system,
      (envelope: Envelope) => envelope.run(),
      `${kind.name}-${(generation += 1)}`,
    );
    const entry = new Entry(reference, kind, { cache: kind.start(key), at: monotonic() });
    entries.set(path, entry);
    counts.set(kind.name, (counts.get(kind.name) ?? 0) + 1);
    return entry;
  }

  async function ask<P extends Protocol, Cache, K extends keyof P & string>(
    kind: ActorKind<P, Cache>,
    key: string,
    command: K,
    body: P[K]["ask"],
  ): Promise<P[K]["reply"]> {
    const path = `${kind.name}/${key}`;
    for (let retired = entries.get(path)?.retired; retired !== undefined; retired = entries.get(path)?.retired)
      await retired.promise;
    if (stopping) throw temporary();
    const entry = enter(kind, key, path);
    metrics.observe("actor_mailbox_depth", { kind: kind.name }, entry.waiting);
    if (entry.waiting >= (kind.mailbox ?? LIMITS.mailbox_max)) {
      metrics.count("actor_refused_total", { kind: kind.name });
      throw temporary();
    }
    entry.waiting += 1;
    // The mailbox is emptied in the context of whoever came first: each command brings its own.
    const span = openSpan(`actor ${kind.name}.${command}`, { "kurier.actor": kind.name, "kurier.command": command });
    return new Promise<P[K]["reply"]>((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(temporary());
      }, LIMITS.actor_ask_timeout_ms);
      const settle = (answer: Promise<P[K]["reply"]>): void => {
        void answer.then(resolve, reject).finally(() => {
          clearTimeout(timer);
        });
        if (span !== undefined)
          answer.then(
            () => {
              span.end();
            },
            (error: unknown) => {
              span.end(error);
            },
          );
      };
      const run = async (): Promise<void> => {
        try {
          const turn = await withinSpan(span, () => kind.handlers[command](entry.cache as Cache, body, key));
          settle("forward" in turn ? turn.forward : Promise.resolve(turn.reply));
        } catch (error) {
          if (!(error instanceof Refusal)) {
            entry.cache = kind.start(key);
            // A database that is busy or away, or a key that this node lacks, is no fault of ours: whoever asked says
            // what becomes of it.
            if (!isPassing(error) && !(error instanceof KeyMissing)) {
              metrics.count("actor_crashes_total", { kind: kind.name });
              log.error("actor.crashed", { actor: kind.name, ...errorFields(error) });
            }
          }
          settle(
            Promise.reject(error instanceof Error ? error : new Error("an actor threw something that is no error")),
          );
        } finally {
          ended(path, entry);
        }
      };
      dispatch(entry.reference, { run });
    });
  }

  function retire<P extends Protocol, Cache>(kind: ActorKind<P, Cache>, key: string): Promise<void> {
    const path = `${kind.name}/${key}`;
    const entry = entries.get(path);
    return entry === undefined ? Promise.resolve() : dropWhenEmpty(path, entry);
  }

  function dropWhenEmpty(path: string, entry: Entry): Promise<void> {
    const { promise } = (entry.retired ??= deferred());
    if (entry.waiting === 0) drop(path, entry);
    return promise;
  }

  /** Drops what is idle, a few actors in a turn of the event loop: 200,000 in one were 1.7 s without anybody else. */
  async function sweep(): Promise<void> {
    let dropped = 0;
    for (const [path, entry] of entries) {
      if (entry.waiting > 0 || monotonic() - entry.idleSince < entry.idle_ms) continue;
      drop(path, entry);
      dropped += 1;
      if (dropped % LIMITS.actors_dropped_turn_max === 0) await ownTurn();
    }
  }
  let sweeping = false;
  const stopSweeps = every(LIMITS.actor_idle_ms / 4, () => {
    if (sweeping) return;
    sweeping = true;
    void sweep().finally(() => {
      sweeping = false;
    });
  });

  return {
    ask,
    retire,
    census: () => counts,
    stop: async () => {
      stopping = true;
      stopSweeps();
      const drained = Promise.all([...entries].map(([path, entry]) => dropWhenEmpty(path, entry)));
      await within(drained, LIMITS.drain_timeout_ms, undefined);
      for (const [path, entry] of entries) drop(path, entry);
      stop(system);
    },
  };
}
