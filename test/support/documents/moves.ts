/** A move of one document as the engine's SQL functions make it within their own, and what a document has become. */
import { isoInstant, isoOrNull } from "../../../engine/base/clock.js";
import type { Instant } from "../../../engine/base/clock.js";
import type { DocumentId } from "../../../engine/base/ids.js";
import type { OutboundState } from "../../../engine/lifecycle/document.js";
import { eventsJson } from "../../../engine/storage/documents/documents.js";
import type { MoveRow } from "../../../engine/storage/documents/documents.js";
import type { Sql } from "../../../engine/storage/sql.js";

/**
 * @param move.nextAttemptAt  @default none is due
 * @returns the new version; undefined where the decision was stale and nothing was written
 */
export async function applyMove(
  sql: Sql,
  move: MoveRow & { readonly nextAttemptAt?: Instant },
): Promise<number | undefined> {
  const { id, version, status, trigger, detail, now, nextAttemptAt, events, changes } = move;
  const [row] = await sql<{ readonly version: number }[]>`
    select version from apply_move(${id}, ${version}, ${status}, ${trigger ?? null}, ${detail ?? null},
      ${isoInstant(now)}, ${isoOrNull(nextAttemptAt)}, ${eventsJson(events)}::text::jsonb, null, ${JSON.stringify(changes)}::text::jsonb)`;
  return row?.version;
}

export async function findDocumentState(
  sql: Sql,
  id: DocumentId,
): Promise<{ readonly status: OutboundState; readonly version: number; readonly attempts: number } | undefined> {
  const [row] = await sql<{ readonly status: OutboundState; readonly version: number; readonly attempts: number }[]>`
    select status, version, attempts from document where id = ${id}`;
  return row;
}
