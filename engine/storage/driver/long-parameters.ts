/**
 * Parameters of megabytes. postgres.js makes four copies of a parameter in one turn of the event loop: 14 MB of octets
 * took 45 ms of it, and 110 MB of memory. So a name stands in its place, and the socket writes the base64 of what is
 * named when the message comes by, slice by slice.
 */
import { randomUUID } from "node:crypto";
import type { Writable } from "node:stream";

import { LIMITS } from "../../base/limits.js";
import { ownTurn } from "../../base/memory/turns.js";

/** No base64: a name that nobody knows any more is refused by whoever decodes it. */
const MARK = "-octets-";
const NAME_LENGTH = MARK.length + randomUUID().length;
/** Octets of the length of a message, or of a parameter. @source PostgreSQL, Message Formats */
export const INT32_BYTES = 4;
/** Octets of a slice: whole groups of base64. */
const SLICE = LIMITS.payload_slice_bytes - (LIMITS.payload_slice_bytes % 3);

// Bounded by the statements under way: each takes its name back.
const named = new Map<string, Buffer>();

/** What stands for octets in a statement, as a parameter of type text that is theirs alone, until `end` is called. */
export function nameOctets(octets: Buffer): { readonly name: string; readonly end: () => void } {
  const name = `${MARK}${randomUUID()}`;
  named.set(name, octets);
  return { name, end: () => void named.delete(name) };
}

const base64Length = (bytes: number): number => 4 * Math.ceil(bytes / 3);

/** A message as it was made, or octets whose base64 stands between two such pieces. */
type Piece = { readonly kind: "message"; readonly bytes: Buffer } | { readonly kind: "octets"; readonly bytes: Buffer };

/** Takes messages apart where they name octets, and writes into them the lengths that they have with these. */
function piecesOf(messages: Buffer): readonly Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (let at = 0; at + INT32_BYTES < messages.length;) {
    const end = at + 1 + messages.readUInt32BE(at + 1);
    let more = 0;
    for (let name = messages.indexOf(MARK, at); name !== -1 && name < end; name = messages.indexOf(MARK, name + 1)) {
      const octets = named.get(messages.toString("latin1", name, name + NAME_LENGTH));
      // A name within a longer text is that text's.
      if (octets === undefined || messages.readUInt32BE(name - INT32_BYTES) !== NAME_LENGTH) continue;
      const length = base64Length(octets.length);
      messages.writeUInt32BE(length, name - INT32_BYTES);
      more += length - NAME_LENGTH;
      pieces.push({ kind: "message", bytes: messages.subarray(from, name) }, { kind: "octets", bytes: octets });
      from = name + NAME_LENGTH;
    }
    messages.writeUInt32BE(end - at - 1 + more, at + 1);
    at = end;
  }
  pieces.push({ kind: "message", bytes: messages.subarray(from) });
  return pieces;
}

type Done = (error?: Error | null) => void;

/**
 * Lets a socket to Postgres write the octets that messages name; what is written meanwhile follows in order.
 * @param socket  that connects already: Node gives it its own `write` when it begins to
 */
export function writingLong<S extends Writable>(socket: S): S {
  const write = socket.write.bind(socket);
  // Bounded by the statements that postgres.js gives to a connection.
  const waiting: { readonly messages: Buffer; readonly done: Done | undefined }[] = [];
  let isWriting = false;

  /** Resolves when the system has taken it, or the socket has failed, which whoever waits for an answer is told. */
  const taken = (bytes: Buffer): Promise<void> => new Promise((resolve) => void write(bytes, () => resolve()));
  const writeBase64 = async (octets: Buffer): Promise<void> => {
    for (let from = 0; from < octets.length && !socket.destroyed; from += SLICE) {
      await ownTurn();
      const text = octets.toString("base64", from, Math.min(from + SLICE, octets.length));
      await new Promise<void>((resolve) => void write(text, "latin1", () => resolve()));
    }
  };
  const writeWaiting = async (): Promise<void> => {
    isWriting = true;
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      for (const { kind, bytes } of piecesOf(next.messages)) await (kind === "octets" ? writeBase64 : taken)(bytes);
      next.done?.();
    }
    isWriting = false;
  };
  const writeInOrder = (messages: Buffer, done?: Done): boolean => {
    if (!isWriting && (named.size === 0 || !messages.includes(MARK))) return write(messages, done);
    waiting.push({ messages, done });
    if (!isWriting) void writeWaiting();
    return false;
  };
  return Object.assign(socket, { write: writeInOrder });
}
