/** Octet strings as a parameter of a statement, which postgres.js sends as text. */
import type postgres from "postgres";

import { LIMITS } from "../../base/limits.js";
import { nameOctets } from "../driver/long-parameters.js";
import type { Sql } from "../sql.js";

/**
 * Runs a statement with the base64 of octet strings. A long one that is alone is named instead, and becomes base64
 * while it is written to Postgres: base64 and message together took 47 ms of one turn of the event loop for 14 MB.
 * @param statement  is given the texts for `base64Array`, and keeps none of them
 */
export async function withBase64<T>(
  octets: readonly Buffer[],
  statement: (texts: readonly string[]) => Promise<T>,
): Promise<T> {
  const [only] = octets;
  if (only === undefined || octets.length > 1 || only.length <= LIMITS.payload_slice_bytes)
    return statement(octets.map((bytes) => bytes.toString("base64")));
  const { name, end } = nameOctets(only);
  try {
    return await statement([name]);
  } finally {
    end();
  }
}

/**
 * An array of type text with the base64 of each octet string. One that is alone is a parameter of its own, as a name
 * must be, and is not quoted as an element of an array.
 */
export function base64Array(sql: Sql, texts: readonly string[]): postgres.PendingQuery<postgres.Row[]> {
  const [only] = texts;
  return texts.length === 1 && only !== undefined ? sql`array[${only}::text]` : sql`${texts}::text[]`;
}
