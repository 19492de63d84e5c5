/**
 * The last words of a session. When Postgres ends a session in the middle of a statement, postgres.js 3.4.9 keeps the
 * error for the end of the statement, which never comes: the statement is told that its connection was closed, and the
 * error meets the one that the next connection is made for, which has not been sent. So such an error is an error of
 * the socket here, which fails what is under way on it, and nothing else.
 */
import type { Duplex } from "node:stream";

/** @source PostgreSQL, Frontend/Backend Protocol, Message Formats: ErrorResponse and ReadyForQuery */
const ERROR = "E".charCodeAt(0);
const READY = "Z".charCodeAt(0);
const HEAD_LENGTH = 5;
/** Severities behind which a session ends, in the field that is never translated. */
export const ENDINGS: ReadonlySet<unknown> = new Set(["FATAL", "PANIC"]);
/** A server that only lets itself be read: where its address leads elsewhere by now, its sessions stay with it. */
const READ_ONLY = "25006";
const NONE = Buffer.alloc(0);

/** What to make of octets of Postgres. */
interface Heard {
  /** To be handed on: whole answers only, where the session ends here. */
  readonly octets: Buffer;
  /** The last words of the session. */
  readonly ending: Error | undefined;
}

/** Finds the messages in what comes from Postgres, however it is cut, and keeps back what must be read as a whole. */
class Messages {
  /** The head of a message that has not come whole, or the beginning of an error or of a ReadyForQuery. */
  #kept: Buffer = NONE;
  /** Octets still to come of a message whose beginning has been handed on. */
  #left = 0;
  /** Before that postgres.js hears everything itself: what it makes of an error then is right. */
  #isReady = false;

  hear(more: Buffer): Heard {
    const octets = this.#kept.length === 0 ? more : Buffer.concat([this.#kept, more]);
    this.#kept = NONE;
    let at = Math.min(this.#left, octets.length);
    this.#left -= at;
    let answered = 0;
    while (at < octets.length) {
      const end = at + HEAD_LENGTH <= octets.length ? at + 1 + octets.readUInt32BE(at + 1) : Infinity;
      if (end > octets.length) {
        if (end < Infinity && octets[at] !== ERROR && octets[at] !== READY) this.#left = end - octets.length;
        else this.#kept = octets.subarray(at);
        break;
      }
      if (octets[at] === READY) [this.#isReady, answered] = [true, end];
      if (octets[at] === ERROR && this.#isReady) {
        const error = errorOf(octets.subarray(at, end));
        // Half of an answer would be answered on a socket that is gone.
        if (ENDINGS.has(error.severity) || error.code === READ_ONLY)
          return { octets: octets.subarray(0, answered), ending: error };
      }
      at = end;
    }
    return { octets: octets.subarray(0, octets.length - this.#kept.length), ending: undefined };
  }
}

/** The error of a message, with the members that callers ask for. */
function errorOf(
  message: Buffer,
): Error & { readonly code: string | undefined; readonly severity: string | undefined } {
  const fields = new Map(
    message
      .toString("utf8", HEAD_LENGTH)
      .split("\0")
      .map((field) => [field.slice(0, 1), field.slice(1)]),
  );
  const { M: text = "Postgres ended the session.", C: code, V: severity } = Object.fromEntries(fields);
  return Object.assign(new Error(text), { code, severity });
}

/** Lets a session that Postgres ends, or that can only read, fail what is under way on its socket, and end. */
export function failingAtFatal<S extends Duplex>(socket: S): S {
  const emit = socket.emit.bind(socket);
  const messages = new Messages();
  const emitWhole = (event: string | symbol, ...values: unknown[]): boolean => {
    const [heard] = values;
    if (event !== "data" || !Buffer.isBuffer(heard)) return emit(event, ...values);
    const { octets, ending } = messages.hear(heard);
    const isTaken = octets.length === 0 || emit(event, octets);
    if (ending === undefined) return isTaken;
    emit("error", ending);
    socket.destroy();
    // Said now, for who hears the error and asks again at once must be given another connection.
    return emit("close", false);
  };
  return Object.assign(socket, { emit: emitWhole });
}
