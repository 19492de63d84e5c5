/** What was answered to a document: what a buyer said to what was sent, and what the firm said to what it received. */
import { isoInstant, isoOrNull } from "../../base/clock.js";
import type { FirmId, ReceivedDocumentId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { firstChars } from "../../base/text.js";
import { isLostResponse, RESPONSE_CODES, RESPONSE_DELIVERY } from "../../lifecycle/response.js";
import type { ResponseCode } from "../../lifecycle/response.js";
import { issueInstant } from "../../peppol/responses/application-response.js";
import { listReceivedResponses } from "../../storage/documents/status-evidence.js";
import { listServiceMessages } from "../../storage/documents/service-messages.js";
import { openPayload } from "../../storage/payloads/payloads.js";
import type { Sealer } from "../../storage/sealer.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import type { ResponseReader } from "../accept/facts.js";
import { ownerOf } from "./marks.js";

interface ResponsePorts {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly validators: ResponseReader;
}

/** One answer. */
interface ResponseView {
  readonly id: string;
  /** Who said it: the buyer of what was sent, or the firm of what it received. */
  readonly direction: "received" | "sent";
  /** Null for one that could not be read. */
  readonly status: ResponseCode | null;
  readonly reason: string | null;
  /** Whether it counts; one that may not follow another is shown and changes nothing. */
  readonly applied: boolean;
  /** What came of a received one, in a word; null for ours. */
  readonly outcome: string | null;
  /** How far ours has come; null for a received one. */
  readonly delivery: "sent" | "queued" | "failed" | null;
  /** When a received one was told, as in events and on the Connector, or came; when the firm gave its own. */
  readonly respondedAt: string;
  /** When it says that it was made; null where it does not say it with a zone. */
  readonly issuedAt: string | null;
}

/**
 * The answers to a document, oldest first: of more than are listed those that count, and of each reason the newest.
 * @throws Refusal NOT_FOUND, TEMPORARY
 */
export async function readResponses(
  ports: ResponsePorts,
  firmId: FirmId,
  id: string,
): Promise<{ readonly documentId: string; readonly responses: ResponseView[] }> {
  const { direction } = await ownerOf(ports.sql, firmId, id);
  const responses =
    direction === "outbound" ? await toSent(ports, id) : await toReceived(ports.sql, id as ReceivedDocumentId);
  return { documentId: id, responses };
}

const codeOf = (code: string | undefined): ResponseCode | null =>
  RESPONSE_CODES.find((known) => known === code) ?? null;

async function toSent({ sql, sealer, validators }: ResponsePorts, id: string): Promise<ResponseView[]> {
  const rows = await orTemporary(listReceivedResponses(sql, id, LIMITS.responses_listed_max));
  const views: ResponseView[] = [];
  // One after the other: each is opened and read by a worker.
  for (const row of rows) {
    const payload = await openPayload(sealer, row.id, row.payloadKeyId, row.payloadSealed);
    const facts = await validators.response(payload);
    const answer = facts?.answer;
    const said = [answer?.description, ...(answer?.reasons ?? []).map(({ text }) => text)];
    // The row has the day alone, which is what puts answers in order; a time without a zone is no instant.
    const issued = issueInstant(facts?.issueDate, facts?.issueTime);
    const words = [...new Set(said)].filter((text) => text !== undefined).join(" ");
    // A stranger's words are not shown to a firm.
    const reason = row.outcome === "foreign" ? "" : words;
    views.push({
      id: row.id,
      direction: "received",
      status: codeOf(row.code === "" ? answer?.code : row.code),
      reason: reason === "" ? null : firstChars(reason, LIMITS.response_note_chars_max),
      applied: row.outcome === "applied",
      outcome: row.outcome,
      delivery: null,
      respondedAt: isoInstant(row.at),
      issuedAt: isoOrNull(issued),
    });
  }
  return views;
}

async function toReceived(sql: Sql, id: ReceivedDocumentId): Promise<ResponseView[]> {
  const rows = await orTemporary(listServiceMessages(sql, id, "invoice_response"));
  const newest = rows.filter((_, index) => index >= rows.length - LIMITS.responses_listed_max);
  return newest.map(({ id: messageId, code, note, status, createdAt }) => ({
    id: messageId,
    direction: "sent",
    status: codeOf(code),
    reason: note ?? null,
    applied: true,
    outcome: null,
    delivery: isLostResponse(status) ? ("failed" as const) : RESPONSE_DELIVERY[status],
    respondedAt: isoInstant(createdAt),
    // The message has whole seconds, and says the same to both sides.
    issuedAt: isoInstant(createdAt - (createdAt % 1_000)),
  }));
}
