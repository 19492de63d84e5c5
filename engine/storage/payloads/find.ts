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

/** Octets of a document's payload before it was sealed; undefined where there is none. */
export const findPayloadBytes = batched<string, number | undefined>(
  async (sql, ids) => {
    const rows = await sql<{ readonly id: string; readonly bytes: number }[]>`
      select document_id as id, bytes from stored_payload where document_id = any (${[...ids]}::uuid[])`;
    const bytes = new Map(rows.map((row) => [row.id, row.bytes]));
    return ids.map((id) => bytes.get(id.toLowerCase()));
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
