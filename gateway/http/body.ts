/** A body while it comes, piece by piece, and the one buffer that it becomes. */
import { LIMITS } from "../../engine/base/limits.js";
import { joinInSlices } from "../../engine/base/memory/slices.js";

/**
 * Keeps copies of the pieces. Of a long body whose length was told, what comes goes where it belongs in the whole: it
 * is neither kept nor copied twice. Memory for the whole is asked for when a part of it has come, since telling a
 * length costs a client nothing.
 */
export class Body {
  readonly #told: number;
  // Bounded by the octets that a listener's bodies may have.
  #pieces: Buffer[] = [];
  #bytes = 0;
  #whole: Buffer | undefined;

  /** @param told  Content-Length, octets; undefined where the head does not tell it */
  constructor(told: number | undefined) {
    this.#told = told ?? 0;
  }

  /** Octets that have come. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @param piece  may change when this returns */
  add(piece: Uint8Array): void {
    const at = this.#bytes;
    this.#bytes += piece.length;
    if (this.#whole === undefined && this.#isWorthAWhole()) this.#begin();
    if (this.#whole === undefined) this.#pieces.push(Buffer.copyBytesFrom(piece));
    else this.#whole.set(piece, at);
  }

  /** All that came. The event loop turns while many octets are put together. */
  end(): Buffer | Promise<Buffer> {
    const [first = Buffer.alloc(0), ...more] = this.#pieces;
    if (this.#whole !== undefined) return this.#whole.subarray(0, this.#bytes);
    if (more.length === 0) return first;
    return this.#bytes > LIMITS.payload_slice_bytes ? joinInSlices(this.#pieces) : Buffer.concat(this.#pieces);
  }

  #isWorthAWhole(): boolean {
    const { payload_slice_bytes, request_body_ahead } = LIMITS;
    const isTold = this.#told > payload_slice_bytes && this.#bytes <= this.#told;
    return isTold && this.#bytes * request_body_ahead >= this.#told;
  }

  #begin(): void {
    const whole = Buffer.allocUnsafeSlow(this.#told);
    let at = 0;
    for (const piece of this.#pieces) at += piece.copy(whole, at);
    this.#pieces = [];
    this.#whole = whole;
  }
}
