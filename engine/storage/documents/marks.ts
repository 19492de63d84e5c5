/** Statements on what firms say of their own handling of a document. */
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { FirmId } from "../../base/ids.js";
import type { Sql } from "../sql.js";

/** @source spec/shapes.md, section 6, POST /documents/{id}/mark */
export const MARK_STATES = ["delivered", "processed", "failed", "read"] as const;
/** A word of a firm about its own handling of a document. */
export type MarkState = (typeof MARK_STATES)[number];

/** A mark as it stands. */
interface MarkRow {
  readonly state: MarkState;
  readonly note: string | null;
  readonly markedAt: Date;
}

/** Marks a document; see mark_document. @returns undefined when the participant has no such document to see */
export async function markDocument(
  sql: Sql,
  mark: {
    readonly id: string;
    readonly participantKey: string;
    readonly firmId: FirmId;
    readonly state: MarkState;
    readonly note: string | undefined;
    readonly now: Instant;
    /** Of the line in the timeline, where this is the first mark of its state. */
    readonly eventId: string;
  },
): Promise<(Omit<MarkRow, "state"> & { readonly acknowledgedAt: Date | null }) | undefined> {
  const [row] = await sql<(Omit<MarkRow, "state"> & { readonly acknowledgedAt: Date | null })[]>`
    select marked_at as "markedAt", note, acknowledged_at as "acknowledgedAt"
    from mark_document(${mark.id}, ${mark.participantKey}, ${mark.firmId}, ${mark.state}, ${mark.note ?? null},
      ${isoInstant(mark.now)}, ${mark.eventId})`;
  return row;
}

/** The marks of a document of a firm, the first first. */
export const listMarks = (sql: Sql, firmId: FirmId, id: string): PromiseLike<MarkRow[]> => sql<MarkRow[]>`
  select state, note, marked_at as "markedAt" from document_mark
  where document_id = ${id} and firm_id = ${firmId} order by marked_at, state`;
