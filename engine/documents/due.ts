/** Documents whose time has come: retries as they become due, and what a stream has forgotten. */
import type { Clock, Instant } from "../clock.js";
import type { DocumentId } from "../ids.js";
import { LIMITS } from "../limits.js";
import { findDueDocuments } from "../storage/documents.js";
import type { Json, Sql } from "../storage/sql.js";

/** A message of the dispatch stream. */
export interface WakeUp {
  readonly key: string;
  readonly body: Json;
}

export const wakeUp = (id: DocumentId): WakeUp => ({ key: id, body: { documentId: id } });

export interface DueDocuments {
  /** Those whose next attempt, after a failed one, has become due. */
  retries(): Promise<readonly WakeUp[]>;
  /** Those that nothing has woken for `grace_ms`. */
  forgotten(limit: number, grace_ms: number): Promise<readonly WakeUp[]>;
}

/** What this node has woken lately is not woken again: its message is under way, and a queue that is long stays as long as it is. */
export function createDueDocuments(ports: { readonly sql: Sql; readonly clock: Clock }): DueDocuments {
  const { sql, clock } = ports;
  const woken = new Map<DocumentId, Instant>();

  function fresh(ids: readonly DocumentId[]): readonly WakeUp[] {
    const now = clock.monotonic();
    for (const [id, until] of woken) {
      if (until > now && woken.size <= LIMITS.wakeups_remembered_max) break;
      woken.delete(id);
    }
    const due = ids.filter((id) => !woken.has(id));
    for (const id of due) woken.set(id, now + LIMITS.wakeup_believed_ms);
    return due.map(wakeUp);
  }

  return {
    retries: async () => fresh(await findDueDocuments(sql, { now: clock.now(), grace_ms: 0, limit: LIMITS.reconcile_batch, attempted: true })),
    forgotten: async (limit, grace_ms) => fresh(await findDueDocuments(sql, { now: clock.now(), grace_ms, limit })),
  };
}
