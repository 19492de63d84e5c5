/** Acceptances in few statements, each with its own answer. */
import { setTimeout as pause } from "node:timers/promises";

import { errorCode, Refusal, temporary } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";
import { batched } from "../batched.js";
import { acceptDocuments, tenantOf } from "./documents.js";
import type { AcceptOutcome, NewDocument } from "./documents.js";
import { isPassing, isUnknownOutcome, LOCK_NOT_AVAILABLE, passed, unanswered } from "../sql.js";
import type { Sql } from "../sql.js";

export interface AcceptBatches {
  /**
   * Commits one document; resolves after the commit.
   * @returns `in_flight` when a concurrent request of this tenant holds its row longer than
   * LIMITS.db_lock_timeout_ms
   * @throws Refusal TEMPORARY when Postgres is away or hangs, or too much waits; the document may be accepted all the
   * same, which a repeat finds
   */
  accept(document: NewDocument): Promise<AcceptOutcome>;
}

/**
 * A place in a table of documents, in the first line of a context, in whatever language Postgres speaks: some name the
 * table first, French has `(0, 12)` and Korean `0,12`.
 */
const PLACE_OF_DOCUMENT = /^(?=\d+,\d+ |[^\n]*\(\d+, ?\d+\))[^\n]*\bdocument/;

/**
 * Whether a concurrent request of the same tenant was waited for. Whoever waits for a table as a whole, as where an
 * operator holds it, has met no row, and was in nobody's way.
 */
const isRivalWait = (error: unknown): boolean =>
  errorCode(error) === LOCK_NOT_AVAILABLE &&
  error instanceof Error &&
  "where" in error &&
  PLACE_OF_DOCUMENT.test(String(error.where));

/** Whether a lock has held what was asked: so it may hold all that wait. */
const isHeld = (error: unknown): boolean => error instanceof Refusal && error.extras.failure === LOCK_NOT_AVAILABLE;

/** One document alone. A connection lost in its commit is asked again: the second call finds what the first one did. */
async function acceptAlone(sql: Sql, document: NewDocument): Promise<AcceptOutcome> {
  for (let tries = 1; ; tries += 1) {
    try {
      const [outcome] = await acceptDocuments(sql, [document]);
      if (outcome !== undefined && outcome.kind !== "lost_race") return outcome;
      if (tries === LIMITS.stale_version_retries) throw temporary();
    } catch (error) {
      if (isRivalWait(error)) return { kind: "in_flight" };
      if (isUnknownOutcome(error) && tries < LIMITS.stale_version_retries) {
        await pause(LIMITS.lost_connection_rest_ms);
        continue;
      }
      if (isPassing(error)) throw passed(error);
      throw error;
    }
  }
}

/**
 * Documents of one tenant never share a statement: their keys, numbers and payloads are compared with what is
 * committed.
 */
const accept = batched<NewDocument, AcceptOutcome>(
  (sql, documents) =>
    documents.length > 1
      ? acceptDocuments(sql, documents)
      : Promise.all(documents.map((document) => acceptAlone(sql, document))),
  {
    max: LIMITS.accept_batch,
    key: tenantOf,
    bytes: ({ payloadSealed }) => payloadSealed.length,
  },
);

/**
 * Ends the wait of all callers when for `answer_ms` none of them was answered: a queue that moves is no hanging
 * database. One that was told of a lock says nothing of the others: where a lock holds all of them they would be told
 * so one after the other, each two seconds later.
 */
function createPatience(answer_ms: number): (call: Promise<AcceptOutcome>) => Promise<AcceptOutcome> {
  // Bounded by `batched`, which refuses a call beyond LIMITS.statement_waiting_max; a refused call leaves at once.
  const waiting = new Set<(error: unknown) => void>();
  let timer: NodeJS.Timeout | undefined;
  const giveUp = (): void => {
    timer = undefined;
    for (const reject of waiting) reject(unanswered());
    waiting.clear();
  };
  return (call) =>
    new Promise((resolve, reject) => {
      waiting.add(reject);
      timer ??= setTimeout(giveUp, answer_ms);
      const leave = (isMoving: boolean): void => {
        waiting.delete(reject);
        if (waiting.size === 0) {
          clearTimeout(timer);
          timer = undefined;
        } else if (isMoving) timer?.refresh();
      };
      call.then(
        (outcome) => {
          leave(outcome.kind !== "in_flight");
          resolve(outcome);
        },
        (error: unknown) => {
          leave(!isHeld(error));
          reject(error instanceof Error ? error : new Error(String(error)));
        },
      );
    });
}

/** @param answer_ms how long callers wait for a database that answers none of them; a shorter time is for tests. */
export const createAcceptBatches = (sql: Sql, answer_ms: number = LIMITS.db_answer_timeout_ms): AcceptBatches => {
  const patiently = createPatience(answer_ms);
  const settled = async (document: NewDocument): Promise<AcceptOutcome> => {
    const outcome = await accept(sql, document);
    return outcome.kind === "lost_race" ? acceptAlone(sql, document) : outcome;
  };
  return { accept: (document) => patiently(settled(document)) };
};
