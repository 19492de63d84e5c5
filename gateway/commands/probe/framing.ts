/** Requests that end in two places, by who reads them: a proxy and a server must not disagree about any of them. */

/** Bodies in chunks that a lax reader takes as whole, and another does not. */
export const LAX_CHUNKS: readonly (readonly [name: string, body: string])[] = [
  ["a size that a bare LF ends", "5\nhello\r\n0\r\n\r\n"],
  ["two other octets behind a chunk", "5\r\nhelloXX0\r\n\r\n"],
  ["an end that is none", "5\r\nhello\r\n0\r\nZZ"],
  ["an extension with a bare LF", "5;a\nb\r\nhello\r\n0\r\n\r\n"],
  ["a size with a bare CR", "5\rhello\r\n0\r\n\r\n"],
];

/** Headers that can be read in two ways; of a body there is nothing. @param host  that the request is for */
export const ambiguousHeads = (host: string): readonly (readonly [name: string, headers: string])[] => [
  ["two Hosts", `Host: ${host}\r\nHost: other.example\r\nContent-Length: 0\r\n`],
  ["one Host twice", `Host: ${host}\r\nHost: ${host}\r\nContent-Length: 0\r\n`],
  ["two lengths", `Host: ${host}\r\nContent-Length: 0\r\nContent-Length: 0\r\n`],
  ["a length and chunks", `Host: ${host}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n`],
];

/** Headers of more octets than a head may have. */
export const OVERSIZED_HEADS: readonly (readonly [name: string, headers: string])[] = [
  ["many octets", `X-A: ${"a".repeat(17_000)}\r\n`],
  ["many octets in many headers", Array.from({ length: 90 }, (_, i) => `X-${i}: ${"a".repeat(300)}\r\n`).join("")],
];

/** Beginnings of bodies whose rest never comes, with the header that says how long they would be. */
export const BROKEN_OFF: readonly (readonly [name: string, text: string])[] = [
  ["fewer octets than were said", "Content-Length: 10\r\n\r\nhalf"],
  ["half a chunk", "Transfer-Encoding: chunked\r\n\r\nA\r\nhalf"],
  ["a chunk whose size is none", "Transfer-Encoding: chunked\r\n\r\nzz\r\nhalf"],
];
