/**
 * Sockets on which Postgres owes an answer for too long. A host that is gone says nothing, not even that; what waits on
 * its sockets would wait until the kernel gives up, a quarter of an hour later, and so would all who share a statement.
 * Postgres ends each statement of ours itself, so a longer silence is none of a statement.
 */
import type { Duplex } from "node:stream";

/** What of a socket is needed here. */
interface TimedSocket extends Duplex {
  readonly connecting: boolean;
  setTimeout(ms: number): unknown;
}

/** The end of an answer, but for the last octet: how the session stands. @source PostgreSQL, ReadyForQuery */
const READY = Buffer.from("Z\0\0\0\x05", "latin1");

const endsReady = (octets: Buffer): boolean => {
  const from = octets.length - READY.length - 1;
  return from >= 0 && octets.compare(READY, 0, READY.length, from, from + READY.length) === 0;
};

const unanswered = (code: string): Error => Object.assign(new Error("Postgres did not answer in time."), { code });

/**
 * Ends a socket that has said nothing for so long although an answer is owed.
 * @param socket  that connects already, and gives ReadyForQuery as a whole
 */
export function endingUnanswered<S extends TimedSocket>(socket: S, silence_ms: number): S {
  const write = socket.write.bind(socket);
  const emit = socket.emit.bind(socket);
  let isOwed = false;
  const writeOwed = (...written: Parameters<typeof write>): boolean => {
    isOwed = true;
    return write(...written);
  };
  const emitAnswer = (event: string | symbol, ...values: unknown[]): boolean => {
    const [octets] = values;
    if (event === "data" && Buffer.isBuffer(octets) && endsReady(octets)) isOwed = false;
    return emit(event, ...values);
  };
  // Reading and writing begin its time anew; what is given to setTimeout would be called for the first silence alone.
  socket.setTimeout(silence_ms);
  socket.on("timeout", () => {
    // Without an error, postgres.js would make a connection that was never open again and again.
    if (isOwed) socket.destroy(unanswered(socket.connecting ? "CONNECT_TIMEOUT" : "CONNECTION_CLOSED"));
  });
  return Object.assign(socket, { write: writeOwed, emit: emitAnswer });
}
