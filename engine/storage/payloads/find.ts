/** The sealed payload of a firm's document, sent or received. */
import { LIMITS } from "../../base/limits.js";
import type { FirmId } from "../../base/ids.js";
import { batched } from "../batched.js";
import type { Sql } from "../sql.js";
import { joinPiecesById, pieceColumns, pieceJoin } from "./pieces.js";
import type { PayloadPiece } from "./pieces.js";

/** A payload as it is stored. */
export interface SealedPayload {
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
 * @param ids  of documents that the firm sent, or of received ones that it may see
 * @returns those that the firm has, by their ids in small letters
 * @throws Refusal TEMPORARY when the payload store is away
 */
export async function findSealedPayloads(
  sql: Sql,
  firmId: FirmId,
  ids: readonly string[],
): Promise<ReadonlyMap<string, SealedPayload>> {
  const rows = await sql<(PayloadPiece & { readonly id: string; readonly sha256: string })[]>`
    select d.id, encode(d.payload_sha256, 'hex') as sha256, ${pieceColumns(sql)}
    from (
      select id, payload_sha256 from document where id = any (${[...ids]}::uuid[]) and firm_id = ${firmId}
      union all
      select id, payload_sha256 from received_document
      where id = any (${[...ids]}::uuid[]) and firm_id = ${firmId} and received_is_visible(status)
    ) as d ${pieceJoin(sql, sql`d.id`)}`;
  const found = await joinPiecesById(sql, rows);
  return new Map(found.map(({ id, key_id: keyId, sha256, sealed }) => [id, { keyId, sha256, sealed }]));
}

/** The same for one document. @returns undefined when the firm has no such document */
export async function findSealedPayload(sql: Sql, firmId: FirmId, id: string): Promise<SealedPayload | undefined> {
  const [found] = (await findSealedPayloads(sql, firmId, [id])).values();
  return found;
}
