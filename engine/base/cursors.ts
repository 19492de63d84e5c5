/**
 * Opaque places in a list: a client can carry one and give it back, but neither read nor forge it, nor use it on
 * another list.
 */
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";

import { Refusal } from "./errors.js";

const MAC_BYTES = 16;

export interface Cursors {
  /**
   * @param list what the place belongs to, e.g. `receive/0245:2020202020/RECEIVED`
   * @param place short text
   */
  seal(list: string, place: string): string;
  /** The place, or undefined for a cursor that is malformed, forged or of another list. */
  open(list: string, cursor: string): string | undefined;
}

/** @param earlier  master keys that were replaced: clients keep cursors, of a feed for as long as they like. */
export function createCursors(masterKey: Uint8Array, earlier: readonly Uint8Array[] = []): Cursors {
  const keyOf = (from: Uint8Array): Buffer => Buffer.from(hkdfSync("sha256", from, "", "kurier cursors", 32));
  const key = keyOf(masterKey);
  const keys = [key, ...earlier.map(keyOf)];
  const mac = (by: Buffer, list: string, place: string): Buffer =>
    createHmac("sha256", by).update(`${list}\n${place}`).digest().subarray(0, MAC_BYTES);
  return {
    seal: (list, place) => Buffer.concat([mac(key, list, place), Buffer.from(place)]).toString("base64url"),
    open: (list, cursor) => {
      if (!/^[A-Za-z0-9_-]{22,400}$/.test(cursor)) return undefined;
      const bytes = Buffer.from(cursor, "base64url");
      // Several last characters spell the same octets, of which only one was given.
      if (bytes.toString("base64url") !== cursor) return undefined;
      const place = bytes.subarray(MAC_BYTES).toString("utf8");
      const given = bytes.subarray(0, MAC_BYTES);
      return keys.some((by) => timingSafeEqual(given, mac(by, list, place))) ? place : undefined;
    },
  };
}

/**
 * The place behind which a page of a list begins.
 * @param read  makes of its text what the list is read by, as String does; undefined for what is no such place
 * @returns undefined without a cursor: the page is the first
 * @throws Refusal REQUEST_INVALID for a cursor that is not of this list
 */
export function placeIn<Place>(
  cursors: Pick<Cursors, "open">,
  list: string,
  cursor: string | undefined,
  read: (text: string) => Place | undefined,
): Place | undefined {
  if (cursor === undefined) return undefined;
  const text = cursors.open(list, cursor);
  const place = text === undefined ? undefined : read(text);
  if (place !== undefined) return place;
  throw new Refusal("REQUEST_INVALID", [
    { field: "cursor", message: "Use the cursor that this list gave with its page before, or start without one." },
  ]);
}

/** A page of a list. */
interface CutPage<Row> {
  readonly rows: readonly Row[];
  /** Null behind the last page. */
  readonly nextCursor: string | null;
  readonly hasMore: boolean;
}

/** Cuts a page from rows of which one more was read than it has. @param of  `placeOf` gives what `placeIn` reads */
export function cutPage<Row>(
  cursors: Pick<Cursors, "seal">,
  list: string,
  read: readonly Row[],
  of: { readonly limit: number; readonly placeOf: (row: Row) => string },
): CutPage<Row> {
  const rows = read.slice(0, of.limit);
  const last = rows.at(-1);
  const hasMore = read.length > of.limit;
  return { rows, nextCursor: hasMore && last !== undefined ? cursors.seal(list, of.placeOf(last)) : null, hasMore };
}
