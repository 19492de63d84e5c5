/**
 * Whose connections to a port of this machine are open, as Linux tells it. uWebSockets.js does not say who has gone:
 * its sockets have no address any more when they close.
 */
import { readFileSync } from "node:fs";

import { addressGroup, addressOfBytes } from "../../engine/base/addresses.js";

/** One table for each version of the protocol. */
const TABLES = ["/proc/self/net/tcp", "/proc/self/net/tcp6"] as const;

/** ESTABLISHED. What its peer has ended (CLOSE_WAIT) is closed here as soon as that is noticed. */
const OPEN = "01";
/** Of a connection that no program has taken yet: it is counted when it is. */
const NO_INODE = "0";

/** Open connections to the port by groups of addresses; undefined where the system does not tell. */
export function openSockets(port: number): ReadonlyMap<string, number> | undefined {
  // Bounded by the open sockets of this machine.
  const found = new Map<string, number>();
  for (const table of TABLES) {
    let text: string;
    try {
      text = readFileSync(table, "latin1");
    } catch {
      // A machine without IPv6 has one table, one without either is no Linux.
      if (table === TABLES[0]) return undefined;
      continue;
    }
    countRows(text, port, found);
  }
  return found;
}

/**
 * Rows are `0: 0100007F:1F90 0200007F:C350 01 …`: number, this end, the other end, state, in hexadecimal; the tenth is
 * the inode.
 */
export function countRows(text: string, port: number, found: Map<string, number>): void {
  const here = `[0-9A-F]+:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = new RegExp(
    String.raw`^ *\d+: ${here} ([0-9A-F]+):[0-9A-F]+ ${OPEN} +(?:\S+ +){5}(?!${NO_INODE} )`,
    "gm",
  );
  for (const [, there = ""] of text.matchAll(rows)) {
    const group = addressGroup(addressOfBytes(bytesOf(there)));
    found.set(group, (found.get(group) ?? 0) + 1);
  }
}

/** The octets of an address: each word of four has the byte order of the machine, which is little-endian. */
function bytesOf(hex: string): Uint8Array {
  const bytes = Buffer.from(hex, "hex");
  return bytes.length % 4 === 0 ? bytes.swap32() : bytes;
}
