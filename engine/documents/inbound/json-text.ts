/**
 * A JSON object with one long text, written as octets in slices: a string of 20 MB would be made, escaped and encoded
 * again in one turn of the event loop each.
 */
import { isUtf8 } from "node:buffer";

import { inSlices, joinInSlices } from "../../base/memory/slices.js";

/**
 * What stands between the quotes of JSON. It escapes single octets of ASCII only, and never one of a longer character
 * of UTF-8: the octets may be cut anywhere and read as if each were a character.
 */
const escapedOctets = (octets: Uint8Array): Uint8Array =>
  Buffer.from(JSON.stringify(latin1(octets)), "latin1").subarray(1, -1);

const latin1 = ({ buffer, byteOffset, length }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, length).toString("latin1");

/**
 * Writes the members and, behind them, the text.
 * @param members at least one
 * @param text one member: its name and its UTF-8 octets. Octets that are no UTF-8 become U+FFFD, all in one turn.
 * @returns JSON in UTF-8
 */
export async function jsonWithText(
  members: Readonly<Record<string, unknown>>,
  text: Readonly<Record<string, Buffer>>,
): Promise<Buffer> {
  const [[name, octets] = ["", Buffer.alloc(0)]] = Object.entries(text);
  const pieces: Uint8Array[] = [Buffer.from(`${JSON.stringify(members).slice(0, -1)},${JSON.stringify(name)}:"`)];
  await inSlices(isUtf8(octets) ? octets : Buffer.from(octets.toString("utf8")), (slice) => {
    pieces.push(escapedOctets(slice));
  });
  pieces.push(Buffer.from('"}'));
  return joinInSlices(pieces);
}
