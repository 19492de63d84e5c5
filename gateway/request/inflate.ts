/**
 * Bodies that came compressed (`Content-Encoding: gzip`). Inflation runs on the threads of node:zlib, a few at a time,
 * and what it makes counts against one bound of the listener: otherwise 25 KB from each of a thousand strangers would
 * become 25 GB of memory. Octets and places are divided like those of bodies, so that strangers fill their own part.
 * @source spec/rulings.md, section 14: limits count after inflation, any other Content-Encoding is 415
 */
import { gunzip } from "node:zlib";

import { Refusal } from "../../engine/base/errors.js";
import { LIMITS } from "../../engine/base/limits.js";
import { budgets } from "../../engine/base/memory/budgets.js";
import type { HeaderList } from "../http/headers.js";
import { BodyShares, RequestShares } from "../http/shares.js";
import type { Sharer } from "../http/shares.js";

/** The two names of the one coding that is read. @source RFC 9110, 8.4.1.3: x-gzip means gzip */
const GZIP = ["gzip", "x-gzip"];

/** An inflated body. `release` is called once, when the request is answered and the bytes count no more. */
export interface Inflated {
  readonly bytes: Buffer;
  release(): void;
}

export interface Inflater {
  /**
   * @param max bytes that may come out; inflation stops where they are passed
   * @param sharer whose request it is
   * @throws Refusal BODY_TOO_LARGE, BODY_MALFORMED, TEMPORARY
   */
  inflate(bytes: Buffer, max: number, sharer: Sharer): Promise<Inflated>;
}

interface InflaterLimits {
  readonly request_inflating_max: number;
  readonly request_inflations_waiting_max: number;
  readonly request_inflated_bytes_max: number;
}

/**
 * Whether the body is gzip.
 * @throws Refusal MEDIA_TYPE for any other coding, for several and for one that came twice
 */
export function isGzip(headers: HeaderList): boolean {
  const header = headers.get("content-encoding");
  if (header === undefined) return false;
  if (headers.count("content-encoding") === 1 && GZIP.includes(header.trim().toLowerCase())) return true;
  throw new Refusal("MEDIA_TYPE", [
    { field: "Content-Encoding", message: "Send the body as it is, without this header, or as gzip." },
  ]);
}

/** Inflates for all requests of one listener. @param limits LIMITS with the budgets of the machine, but in tests */
export function createInflater(limits: InflaterLimits = { ...LIMITS, ...budgets() }): Inflater {
  const { request_inflating_max, request_inflations_waiting_max, request_inflated_bytes_max } = limits;
  const octets = new BodyShares();
  const places = new RequestShares();
  let running = 0;
  // Bounded by request_inflations_waiting_max.
  const waiting: (() => void)[] = [];
  const turn = async (sharer: Sharer): Promise<void> => {
    if (running < request_inflating_max) {
      running += 1;
      return;
    }
    // Whoever waits here is known, unlike a request that comes in.
    const asker: Sharer = { share: sharer.share, addressGroup: sharer.holder, holder: sharer.holder };
    const entry = places.enter(asker, waiting.length + 1, request_inflations_waiting_max);
    try {
      if (entry === "too_many" || waiting.length >= request_inflations_waiting_max) throw new Refusal("TEMPORARY");
      // Whoever ends hands its place on: the count stays.
      await new Promise<void>((resolve) => waiting.push(resolve));
    } finally {
      places.leave(asker, entry);
    }
  };
  const handOn = (): void => {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  };
  return {
    inflate: async (compressed, max, sharer) => {
      await turn(sharer);
      try {
        // Where nothing more may be held, nothing more is made.
        const held = octets.open(sharer);
        if (!held.take(1, request_inflated_bytes_max)) throw new Refusal("TEMPORARY");
        const bytes = await inflated(compressed, max).finally(() => {
          held.giveBack();
        });
        if (!held.take(bytes.length, request_inflated_bytes_max)) throw new Refusal("TEMPORARY");
        return {
          bytes,
          release: () => {
            held.giveBack();
          },
        };
      } finally {
        handOn();
      }
    },
  };
}

const pieces = { chunkSize: LIMITS.zlib_piece_bytes };

const inflated = (compressed: Buffer, max: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const isLarge = compressed.length > LIMITS.payload_inline_bytes;
    gunzip(compressed, { maxOutputLength: max, ...(isLarge && pieces) }, (error, bytes) => {
      if (error === null) resolve(bytes);
      else reject(refusalOf(error));
    });
  });

/** Says which refusal an error of zlib means: too much came out, or what went in is no gzip or is cut off. */
function refusalOf(error: NodeJS.ErrnoException): Error {
  if (error.code === "ERR_BUFFER_TOO_LARGE") return new Refusal("BODY_TOO_LARGE");
  if (error.code?.startsWith("Z_") !== true) return error;
  return new Refusal("BODY_MALFORMED", [], { message: "The body is not the gzip that Content-Encoding promises." });
}
