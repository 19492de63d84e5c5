/**
 * A world for the dispatcher in virtual time: receivers with servers and a queue, our own work around each exchange,
 * the real gate and the real shares. Events run in the order of their times; nothing waits for anything real.
 */
import { createPlaces, shareOut } from "../../../engine/documents/delivery/claims.js";
import type { FirmLanes, Places } from "../../../engine/documents/delivery/claims.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { createReceivers } from "../../../engine/peppol/as4/send-gate.js";
import type { Later, Place, Receivers } from "../../../engine/peppol/as4/send-gate.js";
import type { Random } from "../random.js";

export interface PeerNature {
  readonly name: string;
  /**
   * Exchanges that it works on at once; what comes beyond waits, up to `backlog`; what comes beyond that is refused.
   */
  readonly servers: number;
  readonly backlog: number;
  /** What one exchange takes it now; undefined: it is dead, and a connection times out. */
  service_ms(now: number): number | undefined;
  /** Whether it resets this exchange at once. */
  readonly resets?: (now: number) => boolean;
}

export interface PeerRecord {
  /** Times at which exchanges were answered. */
  readonly answers: number[];
  /** The most attempts that were on the wire to it at once; those of a node that died are not. */
  onWireMax: number;
  attempts: number;
}

const CONNECT_TIMEOUT_MS = 5_000;

/** A heap of what happens when. */
class Agenda {
  readonly #heap: { readonly at: number; readonly order: number; readonly run: () => void }[] = [];
  #order = 0;

  add(at: number, run: () => void): void {
    const heap = this.#heap;
    heap.push({ at, order: (this.#order += 1), run });
    for (let i = heap.length - 1; i > 0;) {
      const parent = (i - 1) >> 1;
      if (!this.#isBefore(i, parent)) return;
      this.#swap(i, parent);
      i = parent;
    }
  }

  next(): { readonly at: number; readonly run: () => void } | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    heap[0] = last;
    for (let i = 0; ;) {
      let least = i;
      for (const child of [2 * i + 1, 2 * i + 2])
        if (child < heap.length && this.#isBefore(child, least)) least = child;
      if (least === i) return first;
      this.#swap(i, least);
      i = least;
    }
  }

  #isBefore(left: number, right: number): boolean {
    const [a, b] = [this.#heap[left], this.#heap[right]];
    return a !== undefined && b !== undefined && (a.at < b.at || (a.at === b.at && a.order < b.order));
  }

  #swap(left: number, right: number): void {
    const [a, b] = [this.#heap[left], this.#heap[right]];
    if (a === undefined || b === undefined) return;
    this.#heap[left] = b;
    this.#heap[right] = a;
  }
}

/** How often the dispatcher looks for places that have become free; in life the end of an attempt tells it. */
const LOOK_MS = 20;

export class DeliveryWorld {
  now = 0;
  readonly records = new Map<string, PeerRecord>();
  readonly #agenda = new Agenda();
  readonly #random: Random;
  readonly #peers: readonly PeerNature[];
  /** Our own time before and after the exchange, now. */
  readonly #own_ms: (now: number) => number;
  readonly #working = new Map<string, { busy: number; readonly queue: (() => void)[]; onWire: number }>();
  readonly #backlog = new Map<string, number>();
  #gate: Receivers;
  #places: Places;
  #generation = 0;
  #turn = 0;

  constructor(random: Random, peers: readonly PeerNature[], own_ms: (now: number) => number) {
    this.#random = random;
    this.#peers = peers;
    this.#own_ms = own_ms;
    for (const { name } of peers) {
      this.records.set(name, { answers: [], onWireMax: 0, attempts: 0 });
      this.#working.set(name, { busy: 0, queue: [], onWire: 0 });
      this.#backlog.set(name, 1_000_000);
    }
    this.#gate = this.#newGate();
    this.#places = createPlaces();
  }

  at(time: number, run: () => void): void {
    this.#agenda.add(time, run);
  }

  /** The node dies and starts again: what it had learned and what it held is gone. */
  restart(): void {
    this.#generation += 1;
    for (const state of this.#working.values()) state.onWire = 0;
    this.#gate = this.#newGate();
    this.#places = createPlaces();
  }

  runUntil(end: number): void {
    this.#look();
    for (let event = this.#agenda.next(); event !== undefined && event.at <= end; event = this.#agenda.next()) {
      this.now = event.at;
      event.run();
    }
  }

  #newGate(): Receivers {
    return createReceivers({
      clock: { monotonic: () => this.now },
      random: () => this.#random.next(),
      after: (ms, call) => {
        let cancelled = false;
        this.at(this.now + ms, () => {
          if (!cancelled) call();
        });
        return () => {
          cancelled = true;
        };
      },
    });
  }

  /** One firm has documents for everybody; whose turn is first changes from look to look. */
  #look(): void {
    const names = this.#peers.map(({ name }) => name);
    this.#turn = (this.#turn + 1) % names.length;
    const lanes = [...names.slice(this.#turn), ...names.slice(0, this.#turn)].map((receiver) => ({
      receiver,
      ready: Math.min(64, this.#backlog.get(receiver) ?? 0),
    }));
    const firms: FirmLanes[] = [{ firmId: "firm" as FirmId, lanes }];
    for (const { receiver, count } of shareOut(firms, this.#places, (name) => this.#gate.capacityOf(name)))
      for (let i = 0; i < count; i += 1) this.#attempt(receiver, this.#places.take(this.#gate.capacityOf(receiver)));
    this.at(this.now + LOOK_MS, () => {
      this.#look();
    });
  }

  #attempt(name: string, giveBack: () => void): void {
    const generation = this.#generation;
    const begun = this.#gate.begin(`https://${name}/`, name);
    if (begun.kind === "later") {
      giveBack();
      return;
    }
    const end = (): void => {
      begun.end();
      giveBack();
    };
    this.#ownWork(generation, () => {
      begun.enter((entry: Place | Later) => {
        if (entry.kind === "later" || generation !== this.#generation) end();
        else
          this.#exchange(name, entry, (isAnswered) => {
            if (isAnswered) this.records.get(name)?.answers.push(this.now);
            this.#ownWork(generation, end);
          });
      });
    });
  }

  #ownWork(generation: number, done: () => void): void {
    this.at(this.now + this.#own_ms(this.now) * (0.5 + this.#random.next()), () => {
      if (generation === this.#generation) done();
    });
  }

  /** What the receiver makes of one exchange; it works on what a dead node sent, too. */
  #exchange(name: string, place: Place, done: (isAnswered: boolean) => void): void {
    const peer = this.#peers.find((candidate) => candidate.name === name);
    const state = this.#working.get(name);
    const record = this.records.get(name);
    if (peer === undefined || state === undefined || record === undefined) throw new Error(`nobody is called ${name}`);
    const generation = this.#generation;
    state.onWire += 1;
    record.attempts += 1;
    record.onWireMax = Math.max(record.onWireMax, state.onWire);
    const leave = (passage: "passed" | "failed"): void => {
      if (generation !== this.#generation) return;
      state.onWire -= 1;
      place.leave(passage);
      done(passage === "passed");
    };
    const service = peer.service_ms(this.now);
    if (service === undefined) {
      this.at(this.now + CONNECT_TIMEOUT_MS, () => {
        leave("failed");
      });
      return;
    }
    place.sending();
    if (peer.resets?.(this.now) === true || state.busy + state.queue.length >= peer.servers + peer.backlog) {
      this.at(this.now + 2, () => {
        leave("failed");
      });
      return;
    }
    const begin = (): void => {
      state.busy += 1;
      const took = (peer.service_ms(this.now) ?? CONNECT_TIMEOUT_MS) * (0.9 + 0.2 * this.#random.next());
      this.at(this.now + took, () => {
        state.busy -= 1;
        leave("passed");
        state.queue.shift()?.();
      });
    };
    if (state.busy < peer.servers) begin();
    else state.queue.push(begin);
  }
}
