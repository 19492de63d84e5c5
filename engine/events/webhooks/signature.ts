/**
 * The signature of what is pushed: HMAC-SHA256 over the time in Unix seconds, a dot and the exact octets of the body.
 * @source spec/enterprise.md, Events; spec/rulings.md, section 10
 */
import { createHmac } from "node:crypto";

/**
 * @param secret  its own letters, as UTF-8, are the key
 * @param timestamp_s  Unix seconds
 * @returns `sha256=` and 64 hex digits in lower case
 */
export const signatureOf = (secret: string, timestamp_s: number, body: Uint8Array): string =>
  `sha256=${createHmac("sha256", secret).update(`${timestamp_s}.`).update(body).digest("hex")}`;
