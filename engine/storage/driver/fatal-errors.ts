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
const READY_LENGTH = 6;
const HEAD_LENGTH = 5;
/** Severities behind which a session ends, as the field names them that is never translated. */
const ENDINGS = ["VFATAL\0", "VPANIC\0"].map((field) => Buffer.from(field, "latin1"));
/** Farthest from its beginning that a message of error names its severity: behind the same in another language. */
const SEVERITY_WITHIN = 128;

const endsReady = (octets: Buffer): boolean =>
  octets.length >= READY_LENGTH && octets[octets.length - READY_LENGTH] === READY;

/** Where an error begins that ends the session, and with it what Postgres has said; -1 where there is none. */
function endingFrom(octets: Buffer): number {
  // A message of error ends with an empty field behind a text, which few other messages do.
  if (octets.at(-1) !== 0 || octets.at(-2) !== 0) return -1;
  const severity = Math.max(...ENDINGS.map((field) => octets.lastIndexOf(field)));
  for (let from = severity - HEAD_LENGTH; from >= 0 && severity - from < SEVERITY_WITHIN; from -= 1)
    if (octets[from] === ERROR && from + 1 + octets.readUInt32BE(from + 1) === octets.length) return from;
  return -1;
}

/** The error of a message, with the members that callers ask for. */
function errorOf(message: Buffer): Error {
  const fields = new Map(
    message
      .toString("utf8", HEAD_LENGTH)
      .split("\0")
      .map((field) => [field.slice(0, 1), field.slice(1)]),
  );
  const { M: text = "Postgres ended the session.", C: code, V: severity } = Object.fromEntries(fields);
  return Object.assign(new Error(text), { code, severity });
}

/**
 * Lets a session that Postgres ends fail what is under way on its socket. Until a session is ready postgres.js hears
 * everything itself: what it makes of an error then is right.
 */
export function failingAtFatal<S extends Duplex>(socket: S): S {
  const emit = socket.emit.bind(socket);
  let isReady = false;
  const emitWhole = (event: string | symbol, ...values: unknown[]): boolean => {
    const [octets] = values;
    if (event !== "data" || !Buffer.isBuffer(octets)) return emit(event, ...values);
    const from = isReady ? endingFrom(octets) : -1;
    isReady ||= endsReady(octets);
    if (from < 0) return emit(event, octets);
    // What stands before it is of use as a whole answer; half of one would be answered on a socket that is gone.
    if (from > 0 && endsReady(octets.subarray(0, from))) emit(event, octets.subarray(0, from));
    emit("error", errorOf(octets.subarray(from)));
    socket.destroy();
    // Said now, for who hears the error and asks again at once must be given another connection.
    return emit("close", false);
  };
  return Object.assign(socket, { emit: emitWhole });
}
