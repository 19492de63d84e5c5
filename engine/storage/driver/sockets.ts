/**
 * Sockets to Postgres whose end fails what is under way. When a socket fails, postgres.js 3.4.9 fails the statements
 * that it has sent, and takes the connection for closed only when the socket says so, a moment later. What is sent in
 * between, as every statement that is repeated at once, it never fails: the connection that is made next waits for its
 * answer for ever, or answers it with no rows. Where a socket ends without an error, postgres.js fails all that is
 * under way; so that is how sockets end here, once they were open.
 *
 * They are made here, with TLS, because it is what postgres.js makes itself that cannot be mended.
 */
import { once } from "node:events";
import { isIP, Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import { LIMITS } from "../../base/limits.js";
import { failingAtFatal } from "./fatal-errors.js";
import { INT32_BYTES, writingLong } from "./long-parameters.js";
import { endingUnanswered } from "./silence.js";

/** Where the server is. */
export interface PostgresTarget {
  readonly host: string;
  readonly port: number;
  /** Of a Unix socket, instead of the two. */
  readonly path: string | undefined;
  /** libpq's sslmode. */
  readonly tls: TlsMode;
}

const TLS_MODES = ["disable", "prefer", "allow", "require", "verify-ca", "verify-full"] as const;
type TlsMode = (typeof TLS_MODES)[number];
export const isTlsMode = (text: string): text is TlsMode => TLS_MODES.some((mode) => mode === text);

/** Modes in which a certificate is looked at; in the others anybody in between can read along. */
const VERIFYING: ReadonlySet<TlsMode> = new Set(["verify-ca", "verify-full"]);
/** @source PostgreSQL, Frontend/Backend Protocol, SSLRequest */
const TLS_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
const YES = "S".charCodeAt(0);
const ERROR = "E".charCodeAt(0);

/**
 * @param over  no socket is made any more, and none that is being made is given away
 * @param silence_ms  a socket that owes an answer and says nothing for so long has ended
 * @returns the `socket` option of postgres.js: makes the socket of a connection that begins
 */
export function socketsTo(
  { host, port, path, tls }: PostgresTarget,
  over: AbortSignal,
  silence_ms: number,
): () => Promise<Socket> {
  return async () => {
    const socket = over.aborted ? failing(ended()) : await next();
    if (over.aborted) socket.destroy();
    return endingIfSilent(writingLong(failingAtFatal(endingUnanswered(socket, silence_ms))));
  };

  function next(): Socket | Promise<Socket> {
    const socket = new Socket();
    if (path !== undefined) return ending(socket).connect(path);
    // Errors name what could not be reached by these members.
    Object.assign(socket, { host, port });
    if (tls === "disable") return ending(socket).connect(port, host);
    return secured(socket.connect(port, host), host, tls);
  }
}

/** Lets a socket that was open end as one that failed nothing; its error is told before, as always. */
function ending<S extends Socket>(socket: S, wasOpen = false): S {
  let isOpen = wasOpen;
  const emit = socket.emit.bind(socket);
  const isHeard = (): boolean => socket.listenerCount("error") > 0;
  const emitEnding = (event: string | symbol, ...values: unknown[]): boolean => {
    if (event === "connect") isOpen = true;
    if (event === "close") {
      // A statement that the connection was made for is failed by an error alone: at an end it would be tried for ever.
      if (isOpen && isHeard() && !silent.has(socket)) emit("error", ended());
      return emit("close", !isOpen);
    }
    if (event !== "error" || isHeard()) return emit(event, ...values);
    // What the system refuses at once is told when postgres.js listens.
    setImmediate(() => {
      if (isHeard()) emit(event, ...values);
    });
    return true;
  };
  return Object.assign(socket, { emit: emitEnding });
}

/** Turns of the event loop; postgres.js says its first words in the first of them. */
const SILENT_TURNS = 3;
/** Sockets that were ended for it; the statement that such a connection was made for is tried on the next one. */
const silent = new WeakSet<Socket>();

/**
 * Ends a socket on which postgres.js says nothing, and lets one begin with its beginning. What it was about to write
 * when its last socket ended, 3.4.9 keeps for the next connection, and then waits there for an answer to words that it
 * has not sent, until it gives up after `connect_timeout`. What it keeps grows with each connection, and goes out where
 * it is a kilobyte: with the third or fourth, behind words of the connection that is gone.
 */
function endingIfSilent<S extends Socket>(socket: S): S {
  const write = socket.write.bind(socket);
  let turns = SILENT_TURNS;
  const look = (): void => {
    if (turns === 0) {
      silent.add(socket);
      socket.destroy();
      return;
    }
    turns -= 1;
    watch = setImmediate(look);
  };
  let watch = setImmediate(look);
  const writeFirst = (octets: Buffer, done?: (error?: Error | null) => void): boolean => {
    clearImmediate(watch);
    Object.assign(socket, { write });
    return write(octets.subarray(beginningIn(octets)), done);
  };
  return Object.assign(socket, { write: writeFirst });
}

/** Protocol 3.0, and the first of its parameters as postgres.js says it. @source PostgreSQL, StartupMessage */
const STARTUP = Buffer.from("\0\x03\0\0user\0", "latin1");

/** Where the message begins by which a session is asked for, and which ends what was said; 0 where there is none. */
function beginningIn(octets: Buffer): number {
  const from = octets.lastIndexOf(STARTUP) - INT32_BYTES;
  return from > 0 && octets.readUInt32BE(from) === octets.length - from ? from : 0;
}

const ended = (): Error => Object.assign(new Error("Postgres ended the connection."), { code: "CONNECTION_CLOSED" });

/** A socket that ends with this error as soon as somebody listens. */
function failing(error: Error): Socket {
  const socket = ending(new Socket());
  setImmediate(() => socket.destroy(error));
  return socket;
}

/** Asks the server for TLS and shakes hands; where that fails, the socket that is returned says why. */
async function secured(socket: Socket, host: string, mode: TlsMode): Promise<Socket> {
  const onLate = (): void => {
    socket.destroy(Object.assign(new Error("Postgres did not answer in time."), { code: "CONNECT_TIMEOUT" }));
  };
  socket.setTimeout(LIMITS.db_connect_timeout_s * 1000, onLate);
  try {
    socket.write(TLS_REQUEST);
    const answer = await firstOctet(socket);
    if (answer !== YES && mode === "prefer") return ending(socket.setTimeout(0, onLate), true);
    // A server that cannot take the connection at all answers with an error, and may take the next one.
    if (answer === ERROR) throw ended();
    if (answer !== YES)
      throw Object.assign(new Error("DATABASE_URL asks for TLS, which this Postgres does not offer."), {
        code: "TLS_NOT_OFFERED",
      });
    const servername = isIP(host) === 0 ? { servername: host } : {};
    const secure = connectTls({ socket, host, ...servername, rejectUnauthorized: VERIFYING.has(mode) });
    await once(secure, "secureConnect");
    socket.setTimeout(0, onLate);
    return ending(Object.assign(secure, { host, port: socket.remotePort }), true);
  } catch (error) {
    socket.destroy();
    return failing(error instanceof Error ? error : new Error("Postgres could not be reached", { cause: error }));
  }
}

/** @throws what the socket fails with, or when it ends before it has said anything */
async function firstOctet(socket: Socket): Promise<number | undefined> {
  const patience = new AbortController();
  const onEnd = (): void => {
    patience.abort(ended());
  };
  socket.once("close", onEnd);
  try {
    const [octets] = (await once(socket, "data", { signal: patience.signal })) as [Buffer];
    return octets[0];
  } finally {
    socket.off("close", onEnd);
  }
}
