/**
 * One request and its answer, between a server's form and the pipeline: framing, body limits, deadlines, one answer.
 *
 * Everything here holds for both forms; a form only copies what arrived and writes what leaves.
 */
import type { Address } from "../../engine/base/addresses.js";
import { temporary } from "../../engine/base/errors.js";
import { LIMITS } from "../../engine/base/limits.js";
import type { Taken } from "../../engine/base/memory/octets.js";
import { Body } from "./body.js";
import type { HeaderList } from "./headers.js";
import type { LinePlace } from "./lines.js";
import type { Load, ServerLimits } from "./load.js";
import type { BodyOctets, Entry, Sharer } from "./shares.js";

/** What is known of a request once its last header has arrived. The values are copies and stay valid. */
export interface Head {
  readonly method: string;
  /** As sent, undecoded, without the query. */
  readonly path: string;
  /** As sent, undecoded, without the question mark. */
  readonly query: string;
  readonly headers: HeaderList;
  /** Address of the other end of the socket, which may be a proxy. */
  readonly peer: Address;
}

/** An answer whose bytes are decided; a form of the server only has to write them. */
export interface Outgoing {
  readonly status: number;
  readonly requestId: string;
  readonly contentType: string | undefined;
  /**
   * Beyond those that every answer has. Without a Cache-Control among them the answer is `no-store`: it belongs to one
   * caller.
   */
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly body: string | Uint8Array;
}

/** Why the server answers a request by itself, without having read it to its end. */
export type ServerFault =
  | "body_too_large"
  | "overloaded"
  | "bodies_full"
  | "answers_full"
  | "malformed"
  | "length_required"
  | "headers_too_large"
  | "timeout";

/**
 * What an answer says of the connection that it leaves open: how long it may lie idle until the client should take
 * another, so that it never sends a request on one that is being closed.
 * @source RFC 2068, section 19.7.1.1
 */
export const keepAlive = `timeout=${LIMITS.connection_reusable_ms / 1000}`;

/** Where a request waits for its turn to make an answer that is large, or takes long to make. */
export interface AnswerRoom {
  /**
   * Waits for room behind those who came before; it is given back when the answer has left.
   * @param bytes what making and writing the answer takes; asked once a request
   * @throws Refusal TEMPORARY when too many wait, or nobody waits for the answer any more
   */
  take(bytes: number): Promise<void>;
  /**
   * Waits for a place among the long answers of its key, behind those that were asked for before; it is given back when
   * the answer is made. Asked once a request.
   * @throws Refusal TEMPORARY when nobody waits for the answer any more
   */
  line(): Promise<void>;
  /** Counts what is kept of the body for whoever is believed by now. @returns whether he may hold it */
  ownBody(): boolean;
}

/** One request as the pipeline sees it. None of its functions throws or rejects. */
export interface PipelineRequest extends Sharer {
  /** More body than this is refused with `body_too_large`. */
  readonly bodyBytesMax: number;
  /** False when the operation has no use for a body: its bytes are counted against the limit and dropped. */
  readonly readsBody: boolean;
  /**
   * Does what needs no body, while the body arrives. An answer ends the request; otherwise `finish` follows.
   * @param room for a large answer
   */
  begin(room: AnswerRoom): Outgoing | undefined | Promise<Outgoing | undefined>;
  /** The whole body is there. Called once, possibly while `begin` is still under way. */
  finish(body: Buffer): Outgoing | Promise<Outgoing>;
  refuse(fault: ServerFault): Outgoing;
  /** The client has gone or the answer comes too late; work under way may stop. */
  abandon(): void;
}

const EMPTY = Buffer.alloc(0);

/** What must be seen of a head before its body: a fault, or what `bodyFraming` says. */
type Framing = number | undefined | Extract<ServerFault, "malformed" | "headers_too_large">;

/** Octets that a header takes beside its name and its value: a colon, a space, the end of its line. */
const HEADER_EXTRA_BYTES = 4;

/** Judges the headers alike in both forms. Two readers could disagree on whom a request with two Hosts is for. */
export function framingOf({ headers }: Head, limits: ServerLimits): Framing {
  const { pairs } = headers;
  if (pairs.length / 2 > limits.request_headers_max) return "headers_too_large";
  const bytes = pairs.reduce((sum, text) => sum + text.length, (pairs.length / 2) * HEADER_EXTRA_BYTES);
  if (bytes > limits.request_header_bytes_max) return "headers_too_large";
  return headers.count("host") > 1 || headers.count("") > 0 ? "malformed" : bodyFraming(headers);
}

/**
 * Content-Length of a request; undefined when it has none; "malformed" when two readers could disagree on where its
 * body ends.
 */
function bodyFraming(headers: HeaderList): number | undefined | "malformed" {
  const lengths = headers.count("content-length");
  const encodings = headers.count("transfer-encoding");
  if (encodings === 0) {
    if (lengths === 0) return 0;
    const text = headers.get("content-length") ?? "";
    return lengths === 1 && /^[0-9]{1,15}$/.test(text) ? Number(text) : "malformed";
  }
  return lengths === 0 && encodings === 1 && headers.get("transfer-encoding")?.toLowerCase() === "chunked"
    ? undefined
    : "malformed";
}

export abstract class Conversation implements AnswerRoom {
  protected readonly load: Load;
  readonly #request: PipelineRequest;
  readonly #startedAt: number;
  #body: Body | undefined;
  /** Content-Length. */
  #told: number | undefined;
  #received = 0;
  /** Since when we have not read on, and how long that has been in all. */
  #pausedAt: number | undefined;
  #paused_ms = 0;
  /** What is kept of the body. */
  #octets: BodyOctets | undefined;
  #lastByteAt: number;
  #bodyComplete = false;
  #answered = false;
  #gone = false;
  #entry: Entry = "uncounted";
  /** Its body comes in chunks, and the request is the last of its connection; see `#answerLast`. */
  #isChunked = false;
  /** What a request with a body in chunks is answered once the body has ended. */
  #last: Outgoing | undefined;
  /** Somebody makes the answer: what the body and the answer take is held until he ends, whoever waits for him. */
  #isWorkedOn = false;
  #isLeaving = false;
  /** Room for the answer. */
  #taken: Taken | undefined;
  /** Where the answer is made, when it takes long. */
  #place: LinePlace | undefined;
  /** Somebody waits for that room or that place. */
  #awaitsTurn: AbortController | undefined;
  /** Since when the answer leaves in pieces. */
  #writingSince: number | undefined;
  #written = 0;
  #lastTakenAt = 0;

  constructor(load: Load, request: PipelineRequest) {
    this.load = load;
    this.#request = request;
    this.#startedAt = load.monotonic();
    this.#lastByteAt = this.#startedAt;
    load.inFlight++;
  }

  /**
   * Puts the answer on the wire and calls `left` when it is there. @param close the connection ends with this answer
   */
  protected abstract write(answer: Outgoing, close: boolean): void;
  /** Octets of an answer in pieces that the client has taken; undefined where it could not take any. */
  protected abstract written(): number | undefined;
  /** Whether it counts for its share, whatever it brings. */
  protected get isCounted(): boolean {
    return false;
  }
  /** Said again and again while the whole body is there and the answer is not. */
  protected isAwaited(): void {}
  /** Ends the connection without an answer. */
  protected abstract destroy(): void;

  /**
   * Starts with the head. @param framing what `framingOf` says of it
   * @returns whether `receive` is to be called with the body
   */
  open(framing: Framing): boolean {
    const { load } = this;
    const fault =
      typeof framing === "string"
        ? framing
        : framing === undefined && !load.takesChunks
          ? "length_required"
          : undefined;
    if (fault !== undefined) {
      // Not at once: a form may already hold the bytes behind this head and read them as a request of their own,
      // smuggled in. While an answer is pending uws ends the connection instead, and node stops reading.
      setImmediate(() => {
        this.#refuse(fault, true);
      });
      return false;
    }
    this.#isChunked = framing === undefined;
    this.#told = typeof framing === "number" ? framing : undefined;
    if (this.#told !== undefined && !this.isLarge) load.onSmall();
    const { requests_in_flight_max } = load.limits;
    // A stranger's request without a body holds nothing that another would wait for, where its connection has but one.
    if (framing !== 0 || this.isCounted || this.#request.share === "api")
      this.#entry = load.requests.enter(this.#request, load.inFlight, requests_in_flight_max);
    if (this.#entry === "too_many" || load.inFlight > requests_in_flight_max)
      this.#refuse("overloaded", this.#isChunked);
    else if (typeof framing === "number" && framing > this.#request.bodyBytesMax) this.#refuse("body_too_large");
    else this.#begin();
    if (this.#answered) return false;
    if (framing === 0) {
      this.#complete(EMPTY);
      return false;
    }
    load.waiting.add(this);
    return true;
  }

  #begin(): void {
    const first = this.#request.begin(this);
    if (first instanceof Promise)
      void first.then((answer) => {
        if (answer !== undefined) this.#answer(answer);
      });
    else if (first !== undefined) this.#answer(first);
  }

  /** Whether the body, as far as it has come or was told, is one of those that are read slice by slice. */
  protected get isLarge(): boolean {
    return Math.max(this.#received, this.#told ?? 0) > LIMITS.payload_slice_bytes;
  }

  /** Nothing is read until `readsOn`: that time is ours, and no client is cut off for it. */
  protected pauses(): void {
    this.#pausedAt ??= this.load.monotonic();
  }

  protected readsOn(): void {
    const now = this.load.monotonic();
    this.#paused_ms += now - (this.#pausedAt ?? now);
    this.#pausedAt = undefined;
    this.#lastByteAt = now;
  }

  /** Takes a piece of the body. @param piece  bytes that may change when this returns */
  receive(piece: Uint8Array, last: boolean): void {
    if (this.#answered) return;
    this.#received += piece.length;
    if (this.#received > this.#request.bodyBytesMax) {
      this.#refuse("body_too_large", true);
      return;
    }
    if (this.#last !== undefined || !this.#request.readsBody) {
      if (last) this.#complete(EMPTY);
      else this.#lastByteAt = this.load.monotonic();
      return;
    }
    const { bodies, limits } = this.load;
    this.#octets ??= bodies.open(this.#request);
    if (!this.#octets.take(piece.length, limits.request_bodies_bytes_max)) {
      this.#refuse("bodies_full", this.#isChunked);
      return;
    }
    const body = (this.#body ??= new Body(this.#told));
    body.add(piece);
    if (last) this.#join(body);
    else this.#lastByteAt = this.load.monotonic();
  }

  /** Puts the pieces of the body together; the event loop turns while they are long. */
  #join(body: Body): void {
    this.#body = undefined;
    this.#bodyComplete = true;
    const whole = body.end();
    if (!(whole instanceof Promise)) this.#complete(whole);
    else {
      // What is put together is held until it is, whoever has gone meanwhile.
      this.#isWorkedOn = true;
      void whole.then((bytes) => {
        if (this.#answered) this.#workEnds();
        else {
          this.#isWorkedOn = false;
          this.#complete(bytes);
        }
      });
    }
  }

  /** What arrives is not HTTP, although its head was. */
  broken(): void {
    this.#refuse("malformed", true);
  }

  /** The client has closed the connection, before or while its answer was written. */
  closed(): void {
    if (!this.#answered) {
      this.#settle();
      this.#request.abandon();
    }
    this.left();
  }

  /** The operating system has the answer, or will never get it: from now on the request is not under way. */
  protected left(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.load.waiting.delete(this);
    if (!this.#isWorkedOn) this.#giveBack();
  }

  /** Nobody needs the request any more. */
  #giveBack(): void {
    this.load.requests.leave(this.#request, this.#entry);
    this.#taken?.giveBack();
    this.load.leave(this.#isLeaving);
  }

  /**
   * The work on a request that was answered without it, or whose client has gone, has ended. Were its room given back
   * before, a client that sends and leaves again and again would hold as much memory as it likes.
   */
  #workEnds(): void {
    this.#isWorkedOn = false;
    this.#place?.giveBack();
    if (!this.#answered) return;
    this.#giveBackBody();
    if (this.#gone) this.#giveBack();
  }

  async take(bytes: number): Promise<void> {
    if (this.#answered) throw temporary();
    const { responses } = this.load;
    const taken = await this.#turn((gone) => responses.take(bytes, this.#request.holder, gone));
    if (this.#answered) {
      taken.giveBack();
      throw temporary();
    }
    this.#taken = taken;
  }

  async line(): Promise<void> {
    if (this.#answered) throw temporary();
    const { longAnswers } = this.load;
    // Whoever is let in and answered meanwhile gives it back as soon as his work has ended, which is at once.
    this.#place = await this.#turn((gone) => longAnswers.take(this.#request.holder, gone));
    if (this.#answered) throw temporary();
  }

  /** While the listener drains, who would have to wait is told to come again. */
  #turn<T>(take: (gone: AbortSignal) => Promise<T>): Promise<T> {
    const turn = take((this.#awaitsTurn ??= new AbortController()).signal);
    if (this.load.draining) this.leaveTurn();
    return turn;
  }

  leaveTurn(): void {
    this.#awaitsTurn?.abort();
  }

  ownBody(): boolean {
    return this.#octets?.follow(this.load.limits.request_bodies_bytes_max) ?? true;
  }

  /** The answer leaves in pieces: from now on its client has to take them. */
  protected leavesInPieces(): void {
    this.#writingSince = this.#lastTakenAt = this.load.monotonic();
    this.load.waiting.add(this);
  }

  checkDeadline(now: number): void {
    const { limits } = this.load;
    if (this.#writingSince !== undefined) {
      this.#checkReader(now, now - this.#writingSince);
      return;
    }
    const age = now - this.#startedAt;
    if (this.#bodyComplete) {
      if (age <= limits.request_timeout_ms) {
        this.isAwaited();
        return;
      }
      this.#refuse("timeout");
      this.#request.abandon();
      return;
    }
    if (this.#last !== undefined && age > limits.request_idle_ms) {
      // Its answer is known, and only the end of the body is waited for: not as long as a client likes to send.
      this.#answerLast(this.#last, true);
      return;
    }
    if (this.#pausedAt !== undefined) return;
    const stalled = now - this.#lastByteAt > limits.request_idle_ms;
    const read_ms = age - this.#paused_ms;
    const slow =
      read_ms > limits.request_idle_ms && this.#received < (read_ms / 1000) * limits.request_body_bytes_per_s_min;
    if (!stalled && !slow) return;
    this.#settle();
    this.#request.abandon();
    this.destroy();
    this.left();
  }

  /** Cuts off who takes an answer too slowly: it lies in memory as long. */
  #checkReader(now: number, age: number): void {
    const { request_idle_ms, response_bytes_per_s_min } = this.load.limits;
    const written = this.written();
    if (written === undefined) {
      this.#writingSince = this.#lastTakenAt = now;
      return;
    }
    if (written > this.#written) this.#lastTakenAt = now;
    this.#written = written;
    const stalled = now - this.#lastTakenAt > request_idle_ms;
    const slow = age > request_idle_ms && written < (age / 1000) * response_bytes_per_s_min;
    if (!stalled && !slow) return;
    this.destroy();
    this.left();
  }

  #complete(body: Buffer): void {
    this.#bodyComplete = true;
    this.#body = undefined;
    if (this.#last !== undefined) {
      this.#answerLast(this.#last, true);
      return;
    }
    const answer = this.#request.finish(body);
    if (answer instanceof Promise) {
      this.#isWorkedOn = true;
      if (!this.#answered) this.load.waiting.add(this);
      void answer.then((late) => {
        this.#workEnds();
        this.#answer(late);
      });
    } else this.#answer(answer);
  }

  #refuse(fault: ServerFault, close = false): void {
    this.#answer(this.#request.refuse(fault), close);
  }

  /** @param close  the connection ends with this answer, and what is left of the body is not read */
  #answer(outgoing: Outgoing, close = false): void {
    if (this.#isChunked) this.#answerLast(outgoing, close);
    else this.#send(outgoing, close);
  }

  /**
   * Answers a request whose body comes in chunks once the body has ended, in a turn of its own, and ends the
   * connection. uws takes chunks that end otherwise than they must: where we and a proxy before us see another end,
   * what stands between the two ends is nobody's next request. While the answer is pending uws ends the connection
   * instead of reading one; afterwards the connection is gone.
   */
  #answerLast(outgoing: Outgoing, atOnce: boolean): void {
    const answer = (this.#last ??= outgoing);
    if (atOnce || this.#bodyComplete)
      setImmediate(() => {
        this.#send(answer, true);
      });
  }

  #send(outgoing: Outgoing, close: boolean): void {
    if (this.#answered) return;
    this.#settle();
    const answer = this.#withRoom(outgoing) ? outgoing : this.#request.refuse("answers_full");
    this.write(answer, close || this.load.draining);
    // Clients that do not take theirs would have a node turn everybody away, as many as it takes requests.
    if (this.#gone || this.#isWorkedOn || answer.body.length > LIMITS.response_streamed_bytes) return;
    this.#isLeaving = true;
    this.load.isLeaving();
  }

  /** Counts an answer that leaves in pieces, in place of what making it took. @returns false where it has no room */
  #withRoom({ body }: Outgoing): boolean {
    const bytes = body.length <= LIMITS.response_streamed_bytes ? 0 : Buffer.byteLength(body);
    if (this.#isWorkedOn) return bytes === 0;
    if (this.#taken !== undefined) this.#taken.resize(bytes);
    else if (bytes > 0) this.#taken = this.load.responses.tryTake(bytes, this.#request.holder);
    return bytes === 0 || this.#taken !== undefined;
  }

  /** Called when the answer is decided. What was kept of the body is given up, and no deadline applies any more. */
  #settle(): void {
    this.#answered = true;
    this.#body = undefined;
    this.load.waiting.delete(this);
    this.leaveTurn();
    if (!this.#isWorkedOn) this.#giveBackBody();
  }

  #giveBackBody(): void {
    this.#octets?.giveBack();
  }
}
