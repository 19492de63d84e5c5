/** The sealed payload of a firm's document, sent or received. */
import { LIMITS } from "../../base/limits.js";
import type { FirmId } from "../../base/ids.js";
import { batched } from "../batched.js";
import type { Sql } from "../sql.js";
import { joinInSlices } from "./slices.js";

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
      select document_id as id, bytes from payload where document_id = any (${[...ids]}::uuid[])`;
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
  const rows = await sql<
    { readonly key_id: string; readonly sha256: string; readonly at: number; readonly piece: Buffer }[]
  >`
    select p.key_id, encode(d.payload_sha256, 'hex') as sha256, piece.at,
      substring(p.sealed from piece.at + 1 for ${LIMITS.payload_piece_bytes}::integer) as piece
    from (
      select id, payload_sha256 from document where id = ${id} and firm_id = ${firmId}
      union all
      select id, payload_sha256 from received_document
      where id = ${id} and firm_id = ${firmId} and received_is_visible(status)
    ) as d join payload as p on p.document_id = d.id
      cross join generate_series(0, octet_length(p.sealed) - 1, ${LIMITS.payload_piece_bytes}::integer) as piece (at)`;
  const [row] = rows;
  if (row === undefined) return undefined;
  const pieces = [...rows].sort((a, b) => a.at - b.at).map(({ piece }) => piece);
  return { keyId: row.key_id, sha256: row.sha256, sealed: await joinInSlices(pieces) };
}
