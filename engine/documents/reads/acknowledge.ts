/** Acknowledging a received document without naming the participant that received it. */
import { isoInstant } from "../../base/clock.js";
import { Refusal } from "../../base/errors.js";
import type { FirmId, ReceivedDocumentId } from "../../base/ids.js";
import type { Sql } from "../../storage/sql.js";
import type { acknowledge, Acknowledged, Reader } from "../inbound/inbox.js";
import { ownerOf } from "./marks.js";

interface AcknowledgePorts {
  readonly sql: Sql;
  /** Gives the mark to the participant's actor. @throws Refusal */
  readonly give: (reader: Reader, document: Acknowledged) => ReturnType<typeof acknowledge>;
}

/** When a document was first acknowledged, and by which reference its firm knows it. */
export interface AcknowledgedReply {
  readonly acknowledgedAt: string;
  readonly reference: string | null;
  /** Whether this request was the one. */
  readonly isFirst: boolean;
}

/**
 * Acknowledges a received document in the turn of its participant. Idempotent: the first instant and the first
 * reference stay, through whichever interface they came.
 * @throws Refusal NOT_FOUND, TEMPORARY
 */
export async function acknowledgeOwned(
  { sql, give }: AcknowledgePorts,
  firmId: FirmId,
  document: { readonly id: ReceivedDocumentId; readonly reference?: string | undefined },
): Promise<AcknowledgedReply> {
  const { direction, participantId } = await ownerOf(sql, firmId, document.id);
  if (direction !== "inbound") throw new Refusal("NOT_FOUND");
  const { at, ...kept } = await give({ firmId, participantId }, document);
  return { acknowledgedAt: isoInstant(at), ...kept };
}
