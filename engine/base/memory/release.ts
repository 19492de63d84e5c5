/**
 * Octets that nobody reads any more, given back at once. V8 counts them until it has collected garbage, and begins a
 * collection for every 64 MB that were taken: a large document takes several times as much on its way.
 */
import { MessageChannel } from "node:worker_threads";

import { LIMITS } from "../limits.js";

/** A closed port takes what is handed over to it, and drops it. */
const { port1: nowhere } = new MessageChannel();
nowhere.close();

/**
 * Gives the memory of octets back, which have a length of nothing then. What is not long, or shares its memory with
 * others, is left to the collection of garbage.
 * @param bytes  that nobody reads or writes any more: neither a stream, nor a file, nor another thread of ours
 */
export function freeOctets({ buffer, byteLength }: Uint8Array): void {
  const isAlone = byteLength === buffer.byteLength && buffer instanceof ArrayBuffer;
  if (isAlone && byteLength >= LIMITS.released_bytes_min) nowhere.postMessage(undefined, [buffer]);
}
