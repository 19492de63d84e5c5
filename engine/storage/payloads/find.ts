/** The sealed payload of a firm's document, sent or received. */
import { LIMITS } from "../../base/limits.js";
import type { FirmId } from "../../base/ids.js";
import { batched } from "../batched.js";
import type { Sql } from "../sql.js";
import { joinPieces, pieceColumns, pieceJoin } from "./pieces.js";
import type { PayloadPiece } from "./pieces.js";

interface SealedPayload {
  readonly keyId: string;
  readonly sealed: Buffer;
  /** Hex, over the bytes that were sealed. */
  readonly sha256: string;
}

/** Of which document the size is asked. */
interface SizeAsked {
  readonly id: string;
  /** Whose it must be. @default an operator asks, of any firm's */
  readonly firmId?: FirmId | undefined;
}

/** A payload is asked for its firm from so many octets on: a smaller one is answered without room of its own. */
const OWNED_BYTES = Math.floor(LIMITS.response_streamed_bytes / LIMITS.response_copies);

/**
 * Octets of a document's payload before it was sealed; undefined where there is none, and for a large one of another
 * firm, which no caller makes others wait with.
 */
export const findPayloadBytes = batched<SizeAsked, number | undefined>(
  async (sql, asked) => {
    const rows = await sql<{ readonly id: string; readonly bytes: number; readonly firm_id: FirmId | null }[]>`
      select p.document_id as id, p.bytes, case when p.bytes > ${OWNED_BYTES} then coalesce(
        (select d.firm_id from document as d where d.id = p.document_id),
        (select r.firm_id from received_document as r where r.id = p.document_id)) end as firm_id
      from stored_payload as p where p.document_id = any (${asked.map(({ id }) => id)}::uuid[])`;
    const found = new Map(rows.map((row) => [row.id, row]));
    return asked.map(({ id, firmId }) => {
      const row = found.get(id.toLowerCase());
      return firmId === undefined || row?.firm_id === null || row?.firm_id === firmId ? row?.bytes : undefined;
    });
  },
  { max: LIMITS.read_batch },
);

/**
 * In pieces of a row each, for a row is read in one turn of the event loop.
 * @param id  of a document that the firm sent, or of a received one that it may see
 * @returns undefined when the firm has no such document
 */
export async function findSealedPayload(sql: Sql, firmId: FirmId, id: string): Promise<SealedPayload | undefined> {
  const rows = await sql<(PayloadPiece & { readonly sha256: string })[]>`
    select encode(d.payload_sha256, 'hex') as sha256, ${pieceColumns(sql)}
    from (
      select id, payload_sha256 from document where id = ${id} and firm_id = ${firmId}
      union all
      select id, payload_sha256 from received_document
      where id = ${id} and firm_id = ${firmId} and received_is_visible(status)
    ) as d ${pieceJoin(sql, sql`d.id`)}`;
  const [row] = rows;
  if (row === undefined) return undefined;
  return { keyId: row.key_id, sha256: row.sha256, sealed: await joinPieces(sql, rows) };
}
