/** Acceptances in few statements, each with its own answer. */
import { Refusal } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";
import { batched } from "../batched.js";
import { acceptDocuments, tenantOf } from "./documents.js";
import type { AcceptOutcome, NewDocument } from "./documents.js";
import { isPassing, isUnknownOutcome } from "../sql.js";
import type { Sql } from "../sql.js";

export interface AcceptBatches {
  /**
   * Commits one document; resolves after the commit.
   * @returns `in_flight` when a concurrent request of this tenant holds its row longer than
   * LIMITS.db_lock_timeout_ms
   * @throws Refusal TEMPORARY when Postgres is away or too much waits
   */
  accept(document: NewDocument): Promise<AcceptOutcome>;
}

const isLockTimeout = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "55P03";

/** One document alone. A connection lost in its commit is asked again: the second call finds what the first one did. */
async function acceptAlone(sql: Sql, document: NewDocument): Promise<AcceptOutcome> {
  for (let tries = 1; ; tries += 1) {
    try {
      const [outcome] = await acceptDocuments(sql, [document]);
      if (outcome !== undefined && outcome.kind !== "lost_race") return outcome;
      if (tries === LIMITS.stale_version_retries)
        throw new Refusal("TEMPORARY", [], { retryAfter_s: LIMITS.temporary_retry_after_s });
    } catch (error) {
      if (isLockTimeout(error)) return { kind: "in_flight" };
      if (isUnknownOutcome(error) && tries < LIMITS.stale_version_retries) continue;
      if (isPassing(error)) throw new Refusal("TEMPORARY", [], { retryAfter_s: LIMITS.temporary_retry_after_s });
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

export const createAcceptBatches = (sql: Sql): AcceptBatches => ({
  accept: async (document) => {
    const outcome = await accept(sql, document);
    return outcome.kind === "lost_race" ? acceptAlone(sql, document) : outcome;
  },
});
