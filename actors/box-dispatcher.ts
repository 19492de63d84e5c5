/**
 * The dispatcher of the Box on one node: takes items whose time has come, one of each firm in turn, and gives them to
 * their actors. It knows when the next one is due and looks then, when it is told of a new one, when a place becomes
 * free, and once in LIMITS.box_poll_ms.
 */
import { boxAgenda } from "../engine/documents/box/agenda.js";
import type { BoxAgendaPorts, ClaimedItem, Room } from "../engine/documents/box/agenda.js";
import { pruneBox } from "../engine/documents/box/retention.js";
import type { BoxItemId } from "../engine/base/ids.js";
import { pruneStaged } from "../engine/documents/connector/staged.js";
import { LIMITS } from "../engine/base/limits.js";
import { budget } from "../engine/base/memory/budgets.js";
import { errorFields } from "../engine/base/log.js";
import { repeat, within } from "../engine/base/waiting/wake.js";
import type { Loop } from "../engine/base/waiting/wake.js";
import type { BoxKind } from "./box.js";
import type { ActorSystem } from "./system.js";

interface BoxDispatcherPorts extends BoxAgendaPorts {
  readonly actors: ActorSystem;
  readonly box: BoxKind;
}

/** The loop of one node that takes items of the Box whose time has come. */
export interface BoxDispatcher {
  /** Something may be due: look at once. Costs nothing. */
  poke(): void;
  /** Takes nothing more, and waits for what is under way, at most LIMITS.drain_timeout_ms. Safe to repeat. */
  stop(): Promise<void>;
}

/** What is under way on this node. */
class Hand {
  /** Bounded by LIMITS.box_dispatches_max, which `room` tells whoever claims. */
  readonly #items = new Set<BoxItemId>();
  #bytes = 0;
  #idle: () => void = () => undefined;

  /** What may still be taken. */
  room(): Room {
    return {
      places: LIMITS.box_dispatches_max - this.#items.size,
      bytes: Math.max(0, budget("box_dispatch_bytes_max") - this.#bytes),
      one: this.#items.size === 0,
      working: [...this.#items],
    };
  }

  take({ id, payloadBytes }: ClaimedItem): () => void {
    this.#items.add(id);
    this.#bytes += payloadBytes;
    return () => {
      this.#items.delete(id);
      this.#bytes -= payloadBytes;
      if (this.#items.size === 0) this.#idle();
    };
  }

  /** Resolves when nothing is under way. One waiter at a time. */
  whenIdle(): Promise<void> {
    return this.#items.size === 0
      ? Promise.resolve()
      : new Promise((resolve) => {
          this.#idle = resolve;
        });
  }
}

/** Ends what has waited or been kept long enough, again and again. */
const startPruning = ({ sql, log }: BoxDispatcherPorts): Loop =>
  repeat(
    async () => {
      await pruneBox(sql);
      await pruneStaged(sql);
      return LIMITS.box_prune_interval_ms;
    },
    (error) => {
      log.warn("box.prune_failed", errorFields(error));
      return LIMITS.box_prune_interval_ms;
    },
  );

/** Starts to take items. */
export function startBoxDispatcher(ports: BoxDispatcherPorts): BoxDispatcher {
  const { actors, box, log } = ports;
  const hand = new Hand();
  const agenda = boxAgenda(ports);

  async function give(item: ClaimedItem): Promise<void> {
    const giveBack = hand.take(item);
    try {
      await actors.ask(box, item.id, "Dispatch", item);
    } catch (error) {
      // Its lease ends, and it is taken again.
      log.warn("box.delayed", { documentId: item.documentId, ...errorFields(error) });
    } finally {
      giveBack();
      taking.poke();
    }
  }

  const taking = repeat(
    async () => {
      const { items, wait_ms } = await agenda.turn(hand.room());
      for (const item of items) void give(item);
      return wait_ms;
    },
    (error) => {
      log.warn("box.due_unreadable", errorFields(error));
      return LIMITS.box_poll_ms;
    },
  );
  const pruning = startPruning(ports);
  return {
    poke: taking.poke,
    stop: async () => {
      await Promise.all([taking.stop(), pruning.stop()]);
      await within(hand.whenIdle(), LIMITS.drain_timeout_ms, undefined);
    },
  };
}
