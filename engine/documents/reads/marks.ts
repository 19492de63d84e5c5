/** What a firm says of its own handling of a document: never of what the network did. */
import { isoInstant, isoOrNull } from "../../base/clock.js";
import type { Clock } from "../../base/clock.js";
import { newId, participantKey } from "../../base/ids.js";
import type { FirmId, ParticipantId } from "../../base/ids.js";
import { findDocumentOwner } from "../../storage/documents/firm-received.js";
import type { DocumentOwner } from "../../storage/documents/firm-received.js";
import { markDocument } from "../../storage/documents/marks.js";
import type { MarkState } from "../../storage/documents/marks.js";
import { orNotFound } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";

export { MARK_STATES } from "../../storage/documents/marks.js";

/** In whose turn a document is marked. */
export interface Owner {
  readonly firmId: FirmId;
  readonly participantId: ParticipantId;
}

/** What is marked, and how. */
export interface Mark {
  readonly id: string;
  readonly state: MarkState;
  readonly note: string | undefined;
}

/** @source spec/shapes.md, section 6, POST /documents/{id}/mark */
export interface Marked {
  readonly documentId: string;
  readonly state: MarkState;
  readonly note: string | null;
  readonly markedAt: string;
  /** Set by `processed`, or by an acknowledgement through any interface. */
  readonly acknowledgedAt: string | null;
}

/** Whose turn a change of a document is. @throws Refusal NOT_FOUND, TEMPORARY */
export const ownerOf = (sql: Sql, firmId: FirmId, id: string): Promise<DocumentOwner> =>
  orNotFound(findDocumentOwner(sql, firmId, id));

/** Marks a document; the first time stays, the newest note counts. @throws Refusal NOT_FOUND, TEMPORARY */
export async function markOwned(
  { sql, clock }: { readonly sql: Sql; readonly clock: Clock },
  { firmId, participantId }: Owner,
  { id, state, note }: Mark,
): Promise<Marked> {
  const [key, now, eventId] = [participantKey(participantId), clock.now(), newId(clock)];
  const mark = { id, participantKey: key, firmId, state, note, now, eventId };
  const done = await orNotFound(markDocument(sql, mark));
  return {
    documentId: id,
    state,
    note: done.note,
    markedAt: isoInstant(done.markedAt),
    acknowledgedAt: isoOrNull(done.acknowledgedAt),
  };
}
