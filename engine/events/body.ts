/** Bodies of messages as text, bounded: ids travel, content does not. */
import { LIMITS } from "../base/limits.js";
import type { Json } from "../storage/sql.js";

/** @throws Error when the body is too large to be a few ids */
export function encodeBody(body: Json): string {
  const text = JSON.stringify(body);
  if (Buffer.byteLength(text) > LIMITS.stream_message_bytes_max)
    throw new Error("the body of a stream message exceeds LIMITS.stream_message_bytes_max");
  return text;
}
