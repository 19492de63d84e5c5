/** Items as clients read them. @source spec/shapes.md, section 2 */
import { isoInstant, isoOrNull } from "../../base/clock.js";
import type { Clock } from "../../base/clock.js";
import type { BoxItemId, FirmId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { BoxEvent, BoxState } from "../../lifecycle/box.js";
import type { TimelineKind } from "../../lifecycle/document.js";
import { boxTimeline, findBoxItem, findBoxMetadata, lastAttempts, listBoxItems } from "../../storage/box/items.js";
import type { BoxAttemptRow, BoxItemRow, BoxQuery, BoxTimelineRow } from "../../storage/box/items.js";
import { markShown } from "../../storage/documents/received.js";
import type { ActorType } from "../../storage/identity/audit.js";
import type { Sealer } from "../../storage/sealer.js";
import { orNotFound, orTemporary } from "../../storage/sql.js";
import type { Json, Sql } from "../../storage/sql.js";
import { metadataContext } from "./create.js";
import { BOX_KEPT } from "./retention.js";

/** One page of a list, and whether anybody is given it. */
export interface BoxAsked extends BoxQuery {
  readonly isShown: boolean;
}

/** Why an item ended, or waits. */
interface BoxFault {
  readonly status?: number;
  readonly code?: string;
  readonly message?: string;
  readonly retryable?: boolean;
  readonly redacted?: boolean;
}

/** One item. Members without a meaning here are null. */
export interface BoxItem {
  readonly boxItemId: BoxItemId;
  readonly firmId: string;
  readonly integratorId: string | null;
  readonly direction: "outbound" | "inbound";
  readonly status: BoxState;
  readonly source: "api" | "peppol";
  readonly invoiceId: null;
  readonly documentId: string | null;
  readonly externalId: string | null;
  readonly peppolMessageId: string | null;
  readonly documentTypeId: string;
  readonly processId: string;
  readonly scheduledFor: string | null;
  readonly nextAttemptAt: string | null;
  readonly lockedAt: string | null;
  readonly lockedBy: string | null;
  readonly attemptCount: number;
  readonly payloadSha256: string;
  readonly storageBytes: number;
  readonly retention: { readonly expiresAt: string | null; readonly reason: string | null };
  readonly sentAt: string | null;
  readonly receivedAt: string | null;
  readonly cancelledAt: string | null;
  readonly lastError: BoxFault | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly links: Readonly<Record<string, string>>;
}

/** What happened to an item by itself, or to a document that was made of it. */
type BoxTimelineEvent = `box.${BoxEvent}` | TimelineKind;

/** One item with its history. */
export interface BoxDetail extends BoxItem {
  readonly metadata: Json;
  readonly storage: {
    readonly encrypted: true;
    readonly algorithm: "AES-256-GCM";
    readonly bytes: number;
    readonly sha256: string;
    readonly payloadStored: boolean;
  };
  readonly attempts: {
    readonly number: number;
    readonly documentId: string;
    readonly startedAt: string;
    readonly finishedAt: string | null;
    readonly outcome: string | null;
    readonly code: string | null;
    readonly retryable: boolean | null;
    readonly message: string | null;
  }[];
  readonly timeline: {
    readonly event: BoxTimelineEvent;
    readonly status: BoxState | null;
    readonly actor: { readonly type: ActorType; readonly id: string | null };
    readonly detail: string | null;
    readonly documentId: string | null;
    readonly occurredAt: string;
  }[];
}

function retentionOf({ direction, status, statusSince }: BoxItemRow): BoxItem["retention"] {
  if (direction === "inbound") return { expiresAt: null, reason: "received_archive" };
  const kept = BOX_KEPT[status];
  return kept === undefined
    ? { expiresAt: null, reason: null }
    : { expiresAt: isoInstant(statusSince.getTime() + kept.ms), reason: kept.reason };
}

/** States in which something is said of what went wrong last. */
const FAULTY: ReadonlySet<BoxState> = new Set(["sending", "retrying", "needs_repair", "failed"]);

/** What went wrong last: with the dispatch, else with the document. */
function faultOf(row: BoxItemRow, attempt: BoxAttemptRow | undefined): BoxFault | null {
  if (!FAULTY.has(row.status)) return null;
  if (row.lastError !== null) return row.lastError as BoxFault;
  if (row.status === "needs_repair")
    return { status: 422, code: "VALIDATION_FAILED", message: row.documentReason ?? "", retryable: false };
  if (row.status === "failed") {
    // What may have arrived is never sent a second time as another document.
    const code = (row.documentStatus ?? "failed").toUpperCase();
    return {
      code,
      message: row.documentReason ?? attempt?.detail ?? "",
      retryable: row.documentStatus !== "delivery_failed",
    };
  }
  if (attempt?.outcome === undefined || attempt.outcome === null) return null;
  const code = attempt.code ?? attempt.outcome.toUpperCase();
  return {
    code,
    ...(attempt.detail === null ? {} : { message: attempt.detail }),
    retryable: attempt.retryable ?? true,
  };
}

const linksOf = ({ id, direction, documentId }: BoxItemRow): Readonly<Record<string, string>> => {
  const self = `/api/v1/box/items/${id}`;
  if (direction === "inbound") return { self };
  const document = documentId === null ? {} : { document: `/api/v1/documents/${documentId}` };
  return {
    self,
    schedule: `${self}/schedule`,
    sendNow: `${self}/send-now`,
    retry: `${self}/retry`,
    cancel: `${self}/cancel`,
    ...document,
  };
};

function itemOf(row: BoxItemRow, attempt: BoxAttemptRow | undefined): BoxItem {
  const locked = row.lockedAt ?? row.documentLockedAt;
  const waits = locked === null && (row.status === "retrying" || row.status === "sending");
  return {
    boxItemId: row.id,
    firmId: row.firmId,
    integratorId: row.integratorId,
    direction: row.direction,
    status: row.status,
    source: row.direction === "inbound" ? "peppol" : "api",
    invoiceId: null,
    documentId: row.documentId,
    externalId: row.externalId,
    peppolMessageId: row.as4MessageId,
    documentTypeId: row.documentTypeId,
    processId: row.processId,
    scheduledFor: isoOrNull(row.scheduledFor),
    nextAttemptAt: waits ? isoOrNull(row.dueAt ?? row.documentNextAt) : null,
    lockedAt: isoOrNull(locked),
    lockedBy: locked === null ? null : "dispatcher",
    attemptCount: row.attemptsBefore + (row.documentAttempts ?? 0),
    payloadSha256: row.payloadSha256.toString("hex"),
    storageBytes: row.payloadBytes,
    retention: retentionOf(row),
    sentAt: isoOrNull(row.sentAt),
    receivedAt: isoOrNull(row.receivedAt),
    cancelledAt: isoOrNull(row.cancelledAt),
    lastError: faultOf(row, attempt),
    createdAt: isoInstant(row.createdAt),
    updatedAt: isoInstant(row.updatedAt),
    links: linksOf(row),
  };
}

const documentIdsOf = (rows: readonly BoxItemRow[]): readonly string[] =>
  rows.flatMap(({ direction, documentId }) => (direction === "outbound" && documentId !== null ? [documentId] : []));

/** One page of a firm's items, newest first. @throws Refusal TEMPORARY */
export async function readBoxItems(
  { sql, clock }: { readonly sql: Sql; readonly clock: Clock },
  firmId: FirmId,
  { isShown, ...query }: BoxAsked,
): Promise<{
  readonly items: readonly BoxItem[];
  readonly total: number;
  readonly limit: number;
  readonly offset: number;
}> {
  const shownAt = isShown ? clock.now() : undefined;
  const { rows, total } = await orTemporary(listBoxItems(sql, firmId, { ...query, shownAt }));
  const attempts = await orTemporary(lastAttempts(sql, documentIdsOf(rows), 1));
  const byDocument = new Map(attempts.map((attempt) => [attempt.documentId, attempt]));
  const items = rows.map((row) => itemOf(row, byDocument.get(row.documentId ?? "")));
  return { items, total, limit: query.limit, offset: query.offset };
}

/** The row of one item. @throws Refusal NOT_FOUND, TEMPORARY */
const boxRow = (sql: Sql, firmId: FirmId, id: BoxItemId): Promise<BoxItemRow> =>
  orNotFound(findBoxItem(sql, firmId, id));

/** One item as a list shows it. @throws Refusal NOT_FOUND, TEMPORARY */
export async function readBoxItem(sql: Sql, firmId: FirmId, id: BoxItemId): Promise<BoxItem> {
  const row = await boxRow(sql, firmId, id);
  const [attempt] = await orTemporary(lastAttempts(sql, documentIdsOf([row]), 1));
  return itemOf(row, attempt);
}

const isOfDocument = (kind: BoxTimelineRow["kind"]): kind is TimelineKind => kind.startsWith("document.");

const lineOf = (line: BoxTimelineRow): BoxDetail["timeline"][number] => ({
  event: isOfDocument(line.kind) ? line.kind : `box.${line.kind}`,
  status: line.status,
  // Documents say `api` of what came in through it; the item's own lines say by which key.
  actor: { type: line.actorType === "api" ? "api_key" : line.actorType, id: line.actorId },
  detail: line.detail,
  documentId: line.documentId,
  occurredAt: isoInstant(line.occurredAt),
});

const attemptOf = (attempt: BoxAttemptRow): BoxDetail["attempts"][number] => ({
  number: attempt.number,
  documentId: attempt.documentId,
  startedAt: isoInstant(attempt.startedAt),
  finishedAt: isoOrNull(attempt.finishedAt),
  outcome: attempt.outcome,
  code: attempt.code,
  retryable: attempt.retryable,
  message: attempt.detail,
});

/**
 * One item with its history; never its payload. A received one has been received through an API from now on.
 * @throws Refusal NOT_FOUND, TEMPORARY
 */
export async function readBoxDetail(
  { sql, sealer, clock }: { readonly sql: Sql; readonly sealer: Sealer; readonly clock: Clock },
  firmId: FirmId,
  { id, isShown }: { readonly id: BoxItemId; readonly isShown: boolean },
): Promise<BoxDetail> {
  const row = await boxRow(sql, firmId, id);
  if (row.isNew && isShown) await orTemporary(markShown(sql, { ids: [id], now: clock.now() }));
  const { documentIds, lines } = await orTemporary(boxTimeline(sql, id, LIMITS.box_timeline_max));
  const attempts = await orTemporary(lastAttempts(sql, documentIds, LIMITS.box_attempts_max));
  const stored = await orTemporary(findBoxMetadata(sql, id));
  const last = attempts.find(({ documentId }) => documentId === row.documentId);
  const metadata =
    stored?.sealed === undefined || stored.sealed === null
      ? null
      : (JSON.parse(sealer.open(stored.keyId, stored.sealed, metadataContext(id)).toString()) as Json);
  return {
    ...itemOf(row, last),
    metadata,
    storage: {
      encrypted: true,
      algorithm: "AES-256-GCM",
      bytes: row.payloadBytes,
      sha256: row.payloadSha256.toString("hex"),
      payloadStored: row.direction === "inbound" || stored !== undefined,
    },
    attempts: attempts.map(attemptOf).reverse(),
    timeline: lines.map(lineOf),
  };
}
