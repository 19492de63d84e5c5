/**
 * A sealed payload as statements bring it, wherever it is: in pieces of a row each, for Postgres sends octets as hex
 * and a row is read in one turn of the event loop; or as the one row that names its place in the payload store.
 */
import type postgres from "postgres";

import { temporary } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";
import { EvidenceMissing, EvidenceStoreFailure } from "../evidence/store.js";
import type { Sql } from "../sql.js";
import { freeOctets } from "../../base/memory/release.js";
import { joinInSlices } from "../../base/memory/slices.js";
import { payloadStoreOf } from "./payload-store.js";

type Fragment = postgres.PendingQuery<postgres.Row[]>;

/** One row of a payload. */
export interface PayloadPiece {
  readonly key_id: string;
  readonly at: number;
  /** Null for one in the payload store. */
  readonly sealed: Buffer | null;
  readonly object: string | null;
  readonly byte_offset: number | null;
  readonly byte_length: number | null;
}

/** The columns of PayloadPiece, of what `pieceJoin` joins. */
export const pieceColumns = (sql: Sql): Fragment => sql`
  p.key_id, piece.at, p.object, p.byte_offset, p.byte_length,
  substring(p.sealed from piece.at + 1 for ${LIMITS.payload_piece_bytes}::integer) as sealed`;

/** Joins the payload of a document. @param id  the column that names the document */
export const pieceJoin = (sql: Sql, id: Fragment): Fragment => sql`
  join stored_payload as p on p.document_id = ${id}
    cross join generate_series(0, coalesce(octet_length(p.sealed), 1) - 1, ${LIMITS.payload_piece_bytes}::integer)
      as piece (at)`;

/** One row of a payload that a function of ours has brought with what it belongs to. */
export interface ColumnPiece {
  readonly id: string;
  readonly at: number;
  /** Null where there is no payload. */
  readonly sealed: Buffer | null;
}

/** The columns of ColumnPiece but for the id, of what `columnJoin` joins. @param column  of sealed octets */
export const columnPiece = (sql: Sql, column: Fragment): Fragment => sql`
  piece.at, substring(${column} from piece.at + 1 for ${LIMITS.payload_piece_bytes}::integer) as sealed`;

/** Makes a row for each piece of a column; one where there is no payload. */
export const columnJoin = (sql: Sql, column: Fragment): Fragment => sql`
  cross join generate_series(0, greatest(octet_length(${column}), 1) - 1, ${LIMITS.payload_piece_bytes}::integer)
    as piece (at)`;

/** Rows by their ids, in the order of their coming. */
function rowsById<R extends { readonly id: string }>(rows: readonly R[]): Map<string, R[]> {
  const byId = new Map<string, R[]>();
  for (const row of rows) {
    const pieces = byId.get(row.id);
    if (pieces === undefined) byId.set(row.id, [row]);
    else pieces.push(row);
  }
  return byId;
}

/** The rows of pieces as one row for each id, in the order of their coming. */
export async function joinColumnPieces<R extends ColumnPiece>(
  rows: readonly R[],
): Promise<readonly (R & { readonly sealed: Buffer | null })[]> {
  const joined: (R & { readonly sealed: Buffer | null })[] = [];
  for (const pieces of rowsById(rows).values()) {
    const sealed = pieces.sort((a, b) => a.at - b.at).flatMap((piece) => piece.sealed ?? []);
    for (const row of pieces.slice(0, 1))
      joined.push({ ...row, sealed: sealed.length === 0 ? null : await joinedOnce(sealed) });
  }
  return joined;
}

/** Pieces as one, which nobody reads one by one any more. */
async function joinedOnce(pieces: readonly Buffer[]): Promise<Buffer> {
  const whole = await joinInSlices(pieces);
  for (const piece of pieces) if (piece !== whole) freeOctets(piece);
  return whole;
}

/**
 * The octets of one payload. The rows come in any order: to sort them, Postgres would have to carry the octets through
 * the sort.
 * @throws Refusal TEMPORARY when the payload store is away
 */
export async function joinPieces(sql: Sql, rows: readonly PayloadPiece[]): Promise<Buffer> {
  const [{ object = null, byte_offset = null, byte_length = null } = {}] = rows;
  if (object !== null && byte_offset !== null && byte_length !== null)
    return fetched(sql, object, { offset: byte_offset, length: byte_length });
  return joinedOnce([...rows].sort((a, b) => a.at - b.at).flatMap(({ sealed }) => sealed ?? []));
}

/**
 * The octets of many payloads, by the ids of their rows; the first row of each comes with them.
 * @throws Refusal TEMPORARY when the payload store is away
 */
export async function joinPiecesById<R extends PayloadPiece & { readonly id: string }>(
  sql: Sql,
  rows: readonly R[],
): Promise<readonly (R & { readonly sealed: Buffer })[]> {
  const payloads = [...rowsById(rows).values()].map(async (pieces) => {
    const sealed = await joinPieces(sql, pieces);
    return pieces.slice(0, 1).map((row) => ({ ...row, sealed }));
  });
  return (await Promise.all(payloads)).flat();
}

async function fetched(sql: Sql, object: string, range: { readonly offset: number; readonly length: number }) {
  try {
    return await payloadStoreOf(sql).get(object, range);
  } catch (error) {
    // One that is not there will not be there later either: that is a fault of ours.
    if (error instanceof EvidenceStoreFailure && !(error instanceof EvidenceMissing)) throw temporary();
    throw error;
  }
}
