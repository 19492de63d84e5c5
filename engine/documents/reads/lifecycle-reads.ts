/** What became of a sent document, as its firm reads it. */
import { isoInstant, isoOrNull } from "../../base/clock.js";
import { cutPage, placeIn } from "../../base/cursors.js";
import type { Cursors } from "../../base/cursors.js";
import type { DocumentId, FirmId } from "../../base/ids.js";
import type { OutboundState, TimelineKind } from "../../lifecycle/document.js";
import type { ResponseCode } from "../../lifecycle/response.js";
import { findDocument, listDocumentEvents } from "../../storage/documents/documents.js";
import type { DocumentRecord } from "../../storage/documents/documents.js";
import { orNotFound } from "../../storage/sql.js";
import type { Json, Sql } from "../../storage/sql.js";

/** @source spec/rulings.md, section 5, Status record */
export interface StatusRecord {
  readonly id: DocumentId;
  readonly status: OutboundState;
  readonly documentType: string;
  readonly senderPeppolId: string;
  readonly receiverPeppolId: string;
  readonly statusHistory: { readonly status: OutboundState; readonly timestamp: string; readonly detail?: string }[];
  readonly validationResult: { readonly errors: Json[]; readonly warnings: Json[] } | null;
  readonly deliveredAt: string | null;
  readonly acknowledgedAt: string | null;
  readonly invoiceResponseStatus: ResponseCode | null;
  readonly as4MessageId: string;
  readonly statusReason?: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

function validationResultOf(stored: Json): StatusRecord["validationResult"] {
  if (stored === null || typeof stored !== "object" || Array.isArray(stored)) return null;
  const { errors, warnings } = stored as { readonly errors?: Json; readonly warnings?: Json };
  return { errors: Array.isArray(errors) ? errors : [], warnings: Array.isArray(warnings) ? warnings : [] };
}

export const statusRecord = (record: DocumentRecord): StatusRecord => ({
  id: record.id,
  status: record.status,
  documentType: record.documentTypeId,
  senderPeppolId: record.sender,
  receiverPeppolId: record.receiver,
  statusHistory: record.history.map(({ status, timestamp, detail }) => ({
    status,
    timestamp: isoInstant(timestamp),
    ...(detail === null ? {} : { detail }),
  })),
  validationResult: validationResultOf(record.validationResult),
  deliveredAt: isoOrNull(record.deliveredAt),
  acknowledgedAt: isoOrNull(record.acknowledgedAt),
  invoiceResponseStatus: record.invoiceResponseStatus,
  as4MessageId: record.as4MessageId,
  ...(record.statusReason === null ? {} : { statusReason: record.statusReason }),
  createdAt: isoInstant(record.createdAt),
  updatedAt: isoInstant(record.updatedAt),
});

/** @throws Refusal NOT_FOUND for a document that is missing or of another firm; TEMPORARY */
export const readDocument = (sql: Sql, firmId: FirmId, id: DocumentId): Promise<DocumentRecord> =>
  orNotFound(findDocument(sql, firmId, id));

/** @source spec/rulings.md, section 5, Events record */
export interface EventsRecord {
  readonly documentId: DocumentId;
  readonly events: {
    readonly id: string;
    readonly eventType: TimelineKind;
    readonly actor: "system" | "user" | "api";
    readonly detail: string | null;
    readonly meta: Json;
    readonly occurredAt: string;
  }[];
  readonly pagination: { readonly limit: number; readonly nextCursor: string | null; readonly hasMore: boolean };
}

/** The timeline, oldest first. @throws Refusal NOT_FOUND, REQUEST_INVALID for a cursor of another list; TEMPORARY */
export async function readDocumentEvents(
  { sql, cursors }: { readonly sql: Sql; readonly cursors: Cursors },
  firmId: FirmId,
  id: DocumentId,
  { limit, cursor }: { readonly limit: number; readonly cursor: string | undefined },
): Promise<EventsRecord> {
  const list = `document-events/${id}`;
  const after = placeIn(cursors, list, cursor, String) ?? "0";
  const read = await orNotFound(listDocumentEvents(sql, firmId, id, { after, limit: limit + 1 }));
  const { rows, ...next } = cutPage(cursors, list, read, { limit, placeOf: ({ position }) => position });
  return {
    documentId: id,
    events: rows.map(({ id: eventId, kind, actor, detail, meta, occurredAt }) => ({
      id: eventId,
      eventType: kind,
      actor,
      detail,
      meta,
      occurredAt: isoInstant(occurredAt),
    })),
    pagination: { limit, ...next },
  };
}
