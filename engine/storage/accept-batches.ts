/**
 * Gathers acceptances into few statements without making any of them wait on purpose: while all slots are busy,
 * documents gather; a free slot takes as many as there are, each of another sender.
 */
import { Refusal } from "../errors.js";
import { LIMITS } from "../limits.js";
import { type AcceptOutcome, acceptDocuments, type NewDocument } from "./documents.js";
import { isPassing, isUnknownOutcome, type Sql } from "./sql.js";

interface Waiting {
  readonly document: NewDocument;
  readonly resolve: (outcome: AcceptOutcome) => void;
  readonly reject: (error: unknown) => void;
}

export interface AcceptBatches {
  /**
   * Commits one document; resolves after the commit.
   * @throws Refusal SAPI-PROC-002 when a concurrent request with this key holds its row longer than LIMITS.db_lock_timeout_ms
   * @throws Refusal TEMPORARY when Postgres is away or too much waits
   */
  accept(document: NewDocument): Promise<AcceptOutcome>;
}

/**
 * Concurrent statements: one commits while the next is made. With 64 clients Postgres spends 0.21 ms on a document with
 * 1 to 3 of them and 0.28 ms with 4, because the batches become smaller.
 */
const SLOTS = 2;
/** Documents that may wait for a slot. */
const WAITING_MAX = 4_096;

const isLockTimeout = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "55P03";

/** One document alone. A connection lost in its commit is asked again: the second call finds what the first one did. */
async function acceptAlone(sql: Sql, document: NewDocument): Promise<AcceptOutcome> {
  for (let tries = 1; ; tries += 1) {
    try {
      const [outcome] = await acceptDocuments(sql, [document]);
      if (outcome !== undefined && outcome.kind !== "lost_race") return outcome;
      if (tries === LIMITS.stale_version_retries) throw new Refusal("TEMPORARY", [], { retryAfter_s: 1 });
    } catch (error) {
      if (isLockTimeout(error)) throw new Refusal("SAPI-PROC-002", [], { retryAfter_s: 1 });
      if (isUnknownOutcome(error) && tries < LIMITS.stale_version_retries) continue;
      if (isPassing(error)) throw new Refusal("TEMPORARY", [], { retryAfter_s: 1 });
      throw error;
    }
  }
}

export function createAcceptBatches(sql: Sql): AcceptBatches {
  const waiting: Waiting[] = [];
  let busy = 0;

  function takeBatch(): Waiting[] {
    const senders = new Set<string>();
    const batch: Waiting[] = [];
    for (let i = 0; i < waiting.length && batch.length < LIMITS.accept_batch; ) {
      const candidate = waiting[i];
      const sender = candidate?.document.sender.toLowerCase() ?? "";
      if (candidate === undefined || senders.has(sender)) {
        i += 1;
        continue;
      }
      senders.add(sender);
      batch.push(candidate);
      waiting.splice(i, 1);
    }
    return batch;
  }

  async function run(batch: readonly Waiting[]): Promise<void> {
    let outcomes: readonly AcceptOutcome[] = [];
    if (batch.length > 1) {
      try {
        outcomes = await acceptDocuments(sql, batch.map((item) => item.document));
      } catch {
        // One document can fail a whole batch; each is then accepted alone and gets its own answer.
        outcomes = [];
      }
    }
    await Promise.all(batch.map(async (item, index) => {
      const outcome = outcomes[index];
      try {
        item.resolve(outcome !== undefined && outcome.kind !== "lost_race" ? outcome : await acceptAlone(sql, item.document));
      } catch (error) {
        item.reject(error);
      }
    }));
  }

  function pump(): void {
    while (busy < SLOTS && waiting.length > 0) {
      busy += 1;
      void run(takeBatch()).finally(() => {
        busy -= 1;
        pump();
      });
    }
  }

  return {
    accept: (document) => new Promise((resolve, reject) => {
      if (waiting.length >= WAITING_MAX) {
        reject(new Refusal("TEMPORARY", [], { retryAfter_s: 1 }));
        return;
      }
      waiting.push({ document, resolve, reject });
      pump();
    }),
  };
}
