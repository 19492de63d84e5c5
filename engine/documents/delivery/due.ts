/** Documents whose time has come: retries as they become due, and what a stream has forgotten. */
import type { Clock, Instant } from "../../base/clock.js";
import type { DocumentId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { findDueDocuments } from "../../storage/documents/documents.js";
import type { DueDocument } from "../../storage/documents/documents.js";
import type { Json, Sql } from "../../storage/sql.js";

/** A message of the dispatch stream. */
export interface WakeUp {
  readonly key: string;
  readonly body: Json;
}

const wakeUp = (id: DocumentId): WakeUp => ({ key: id, body: { documentId: id } });

export interface DueDocuments {
  /** Those whose next attempt, after a failed one, has become due. */
  retries(): Promise<readonly WakeUp[]>;
  /** Those that nothing has woken for `grace_ms`. */
  forgotten(limit: number, grace_ms: number): Promise<readonly WakeUp[]>;
}

/**
 * What this node has woken lately for the same time is not woken again: its message is under way, and a queue that is
 * long stays as long as it is. A document that was put off has another time, and is woken for that.
 */
export function createDueDocuments(ports: { readonly sql: Sql; readonly clock: Clock }): DueDocuments {
  const { sql, clock } = ports;
  const woken = new Map<DocumentId, { readonly dueAt: Instant; readonly until: Instant }>();

  function fresh(due: readonly DueDocument[]): readonly WakeUp[] {
    const now = clock.monotonic();
    for (const [id, { until }] of woken) {
      if (until > now && woken.size <= LIMITS.wakeups_remembered_max) break;
      woken.delete(id);
    }
    const unwoken = due.filter(({ id, dueAt }) => woken.get(id)?.dueAt !== dueAt);
    for (const { id, dueAt } of unwoken) {
      woken.delete(id);
      woken.set(id, { dueAt, until: now + LIMITS.wakeup_believed_ms });
    }
    return unwoken.map(({ id }) => wakeUp(id));
  }

  return {
    retries: async () =>
      fresh(
        await findDueDocuments(sql, { now: clock.now(), grace_ms: 0, limit: LIMITS.reconcile_batch, attempted: true }),
      ),
    forgotten: async (limit, grace_ms) => fresh(await findDueDocuments(sql, { now: clock.now(), grace_ms, limit })),
  };
}
