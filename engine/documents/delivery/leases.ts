/**
 * What is under lease, as its actor gets it; and what this process works on of messages between providers and of
 * documents to be judged. A lease of the process that is not in here is nobody's work: a claim whose answer was lost, a
 * turn that could not be had.
 */
import { LIMITS } from "../../base/limits.js";
import { tendServiceLeases } from "../../storage/documents/service-messages.js";
import type { Sql } from "../../storage/sql.js";

/** Something under lease, as the actor that works on it gets it. */
export interface Held<T> {
  readonly taken: T;
  /** Whether it is to be worked on now: not twice, and not after it was given up. */
  readonly start: () => boolean;
  /** The work is over, whatever became of it. Safe to repeat. */
  readonly end: () => void;
}

/** The leases of one kind that this process works on. */
export class Leases<T extends { readonly id: string }> {
  /** Bounded by LIMITS.service_messages_concurrent, or by what one step takes: LIMITS.duties_taken_max. */
  readonly #held = new Map<string, { readonly taken: T }>();
  readonly #started = new WeakSet();

  ids(): readonly string[] {
    return [...this.#held.keys()];
  }

  all(): readonly T[] {
    return [...this.#held.values()].map(({ taken }) => taken);
  }

  /** @returns what is never begun while the same is worked on, which has outlived its lease: it would be sent twice */
  hold(taken: T): Held<T> {
    const before = this.#held.get(taken.id);
    if (before !== undefined && this.#started.has(before)) return { taken, start: () => false, end: () => undefined };
    const mark = { taken };
    this.#held.set(taken.id, mark);
    return {
      taken,
      start: () => {
        if (this.#started.has(mark) || this.#held.get(taken.id) !== mark) return false;
        this.#started.add(mark);
        return true;
      },
      end: () => {
        if (this.#held.get(taken.id) === mark) this.#held.delete(taken.id);
      },
    };
  }
}

/** Gives something under lease to its actor: one that has not begun when its asker gives up is never worked on. */
export async function give<T>(held: Held<T>, ask: (held: Held<T>) => Promise<unknown>): Promise<void> {
  try {
    await ask(held);
  } catch (error) {
    if (held.start()) held.end();
    throw error;
  }
}

/** Works on something under lease, once. */
export async function workOn<T>({ taken, start, end }: Held<T>, work: (taken: T) => Promise<void>): Promise<void> {
  if (!start()) return;
  try {
    await work(taken);
  } finally {
    end();
  }
}

/** Frees leases of this process on what it does not work on, and renews the others. @returns how many are free */
export const tendHeld = (
  { sql, owner }: { readonly sql: Sql; readonly owner: string },
  working: { readonly messages: readonly string[]; readonly duties: readonly string[] },
): Promise<number> =>
  tendServiceLeases(sql, {
    owner,
    ...working,
    lease_ms: LIMITS.status_lease_ms,
    young_ms: LIMITS.lease_young_ms,
    left_ms: LIMITS.lease_left_ms,
  });
