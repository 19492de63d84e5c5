/**
 * The one door to Postgres. A write is one statement or one SQL function: interactive transactions are unsafe in
 * postgres.js 3.4.9, where the callback of a transaction runs on after its backend has died.
 */
import { setTimeout as pause } from "node:timers/promises";

import postgres from "postgres";

import type { Clock } from "../base/clock.js";
import { errorCode, Refusal, temporary } from "../base/errors.js";
import { LIMITS } from "../base/limits.js";
import { tracedStatements } from "../base/tracing/statements.js";
import { arrayTypes } from "./driver/array-types.js";
import { ENDINGS } from "./driver/fatal-errors.js";
import { isTlsMode, socketsTo } from "./driver/sockets.js";
import type { PostgresTarget } from "./driver/sockets.js";
import { mendStatements } from "./driver/statements.js";
import { answerWhole } from "./driver/whole-answers.js";
import { countAsked, endingWhole } from "./driver/whole-ends.js";
import { EvidenceStoreFailure } from "./evidence/store.js";

/** A pool that runs single statements. `begin` and `reserve` are not offered on purpose. */
export type Sql = postgres.ISql & Pick<postgres.Sql, "end">;
export type Json = postgres.JSONValue;

/** An element of an array parameter of type jsonb: its text, and null for what is not there. */
export const jsonOf = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value));

interface SqlOptions {
  readonly url: string;
  /** Connections at most. @default LIMITS.db_connections */
  readonly connections?: number;
  /** Shown in pg_stat_activity. */
  readonly name: string;
  /** How long one statement may take; 0 is as long as it likes. @default LIMITS.db_statement_timeout_ms */
  readonly statement_timeout_ms?: number;
  /**
   * A connection that owes an answer and says nothing for so long has ended; 0 is never.
   * @default LIMITS.db_silence_ms more than a statement may take
   */
  readonly silence_ms?: number;
  /** Connections that are idle for so many seconds are closed. @default never */
  readonly idle_s?: number;
}

/**
 * Reads `?host=/directory`, libpq's form of a Unix socket, which postgres.js would send to the server as a setting. The
 * URL is as it was understood: postgres.js looks for an @ and for commas in the text.
 */
export function connectionTarget(text: string): { readonly url: string; readonly path?: string } {
  const url = new URL(text);
  const directory = url.searchParams.get("host");
  if (directory?.startsWith("/") !== true) return { url: url.href };
  url.searchParams.delete("host");
  return { url: url.href, path: `${directory}/.s.PGSQL.${url.port === "" ? "5432" : url.port}` };
}

const DEFAULT_PORT = 5432;

/** Where a URL leads; TLS as its sslmode says, as postgres.js reads it: what is no mode of libpq's is verified. */
function targetOf({ url, path }: ReturnType<typeof connectionTarget>): PostgresTarget {
  const { hostname, port, searchParams } = new URL(url);
  const mode = searchParams.get("sslmode") ?? searchParams.get("ssl") ?? "disable";
  return {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? DEFAULT_PORT : Number(port),
    path,
    tls: mode === "false" ? "disable" : isTlsMode(mode) ? mode : "verify-full",
  };
}

/**
 * How postgres.js comes to a database: by sockets of ours, so that it reads no host itself. It takes an address of IPv6
 * for a host and a port, and tries hosts of its environment without an end.
 */
export function connectionTo(text: string, over: AbortSignal, silence_ms: number) {
  const { url, ...unix } = connectionTarget(text);
  const socket = socketsTo(targetOf({ url, ...unix }), over, silence_ms);
  // TLS is a matter of the sockets.
  return { url, settings: { ...unix, socket, host: "localhost", ssl: false } };
}

/** Opens a pool; nothing connects before the first statement. */
export function openSql(options: SqlOptions): Sql {
  const { statement_timeout_ms = LIMITS.db_statement_timeout_ms } = options;
  const silence_ms =
    options.silence_ms ?? (statement_timeout_ms === 0 ? 0 : statement_timeout_ms + LIMITS.db_silence_ms);
  const life = new AbortController();
  const { url, settings } = connectionTo(options.url, life.signal, silence_ms);
  const client = postgres(url, {
    ...settings,
    // A connection asks for nothing before it has its answer. PgBouncer takes a session back at the end of a statement,
    // and what is said on it of the next one, which is only described by then, reaches nobody: it waits for ever.
    ...{ max_pipeline: 0 },
    max: options.connections ?? LIMITS.db_connections,
    connect_timeout: LIMITS.db_connect_timeout_s,
    ...(options.idle_s === undefined ? {} : { idle_timeout: options.idle_s }),
    onnotice: () => undefined,
    fetch_types: false,
    types: arrayTypes,
    backoff: (attempt) => Math.min(0.05 * 2 ** attempt, 2),
    connection: {
      application_name: options.name,
      statement_timeout: statement_timeout_ms,
      lock_timeout: LIMITS.db_lock_timeout_ms,
      idle_in_transaction_session_timeout: LIMITS.db_statement_timeout_ms,
      synchronous_commit: "on",
      // Plans that are made while tables are small, or before statistics know better, read whole tables and are kept:
      // 1,800 rows for each delivered document, measured on a fresh database. A statement without an index still reads
      // its table.
      enable_seqscan: "off",
      // Before PostgreSQL 18 a plan that reads a table although it should not looks dear enough to be compiled, each
      // time: 97 and 121 documents a second with compilation, 181 and 221 without, measured on PostgreSQL 15.
      jit: "off",
      TimeZone: "UTC",
    },
  });
  mendStatements(client, [answerWhole, countAsked]);
  return tracedStatements(
    endingWhole(client, () => {
      life.abort();
    }),
  );
}

/** The SQLSTATE of who has waited for a lock as long as he may. */
export const LOCK_NOT_AVAILABLE = "55P03";

/**
 * Statement failures that pass, beside those of PASSING_CLASSES: the caller may repeat. Lock and serialisation
 * failures, and 57P.
 */
const PASSING = new Set(["40001", "40P01", LOCK_NOT_AVAILABLE, "57014", "57P01", "57P02", "57P03", "25006"]);
/** SQLSTATE classes of what lies outside a statement: the way to Postgres, what it runs out of, its disk and files. */
const PASSING_CLASSES = new Set(["08", "53", "58"]);
/** What a socket says of a certificate that is not trusted here: its end may be over in the middle of a day. */
export const UNTRUSTED = [
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
] as const;
const PASSING_CLIENT = new Set<string>([
  ...UNTRUSTED,
  "TLS_NOT_OFFERED",
  "CONNECTION_CLOSED",
  "CONNECTION_ENDED",
  "CONNECTION_DESTROYED",
  "CONNECT_TIMEOUT",
  "EADDRNOTAVAIL",
  "EAGAIN",
  "EAI_AGAIN",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
  "ENOTFOUND",
  "EPIPE",
  "ETIMEDOUT",
]);

/**
 * Whether a session as a whole is refused or ended, and no statement: the database is closed as for maintenance, the
 * role's password was changed, an idle time is over. Inside a session the same codes are faults of ours, so the
 * severity decides; a pooler tells it in the field that servers translate.
 */
export const isEnding = (error: unknown): boolean =>
  error instanceof Error &&
  (("severity" in error && ENDINGS.has(error.severity)) ||
    ("severity_local" in error && ENDINGS.has(error.severity_local)));

/** Codes that a Unix socket of the database shares with files and processes: it is not there, or its queue is full. */
const SHARED = new Set(["EAGAIN", "ENOENT"]);

/** A file or folder that is not there is no socket of the database, though both have one code. */
export const isOfFile = (error: unknown): boolean =>
  SHARED.has(errorCode(error) ?? "") && error instanceof Error && "syscall" in error && error.syscall !== "connect";

/** What a file system has said has a code that sockets have, too, and is nothing of the database's. */
const isElsewhere = (error: unknown): boolean => isOfFile(error) || error instanceof EvidenceStoreFailure;

/** Whether Postgres is busy or away, so that a 503 is the honest answer. */
export function isPassing(error: unknown): boolean {
  const code = errorCode(error);
  return (
    code !== undefined &&
    !isElsewhere(error) &&
    (PASSING.has(code) || PASSING_CLIENT.has(code) || PASSING_CLASSES.has(code.slice(0, 2)) || isEnding(error))
  );
}

/** A session of a role with an idle_session_timeout: what was asked just then is to be asked on another one. */
const IDLE_OVER = "57P05";

/** What no short wait mends: a password, a role or a certificate that is not taken. */
const isUnwelcome = (code: string): boolean =>
  code.startsWith("28") || code === "TLS_NOT_OFFERED" || UNTRUSTED.some((one) => one === code);

/** SQLSTATEs of a server that ends its sessions or is about to start. */
const STARTING = new Set(["57P01", "57P02", "57P03"]);

/**
 * Whether Postgres cannot be spoken to, as while it is started again: what it was asked is to be asked anew. A pool
 * that we have closed does not come back.
 */
function isAway(error: unknown): boolean {
  const code = errorCode(error);
  return (
    code !== undefined &&
    code !== "CONNECTION_ENDED" &&
    !isElsewhere(error) &&
    !isUnwelcome(code) &&
    (PASSING_CLIENT.has(code) || STARTING.has(code) || code.startsWith("08") || isEnding(error))
  );
}

/** Whether the connection was lost while a statement ran: its effect is unknown and must be read back. */
export function isUnknownOutcome(error: unknown): boolean {
  const code = errorCode(error);
  return (
    code !== undefined &&
    (code.startsWith("CONNECTION_") ||
      code === "ECONNRESET" ||
      code === "EPIPE" ||
      code === "57P01" ||
      code === "57P02" ||
      code === IDLE_OVER)
  );
}

/** The refusal for a failure that passes; its code, and nothing of its text, is for the log. */
export const passed = (error: unknown): Refusal => temporary(errorCode(error));

/** The refusal for a database that does not answer: whoever looks at the log is told that it hangs. */
export const unanswered = (): Refusal => temporary("UNANSWERED");

/**
 * Waits for the database, but not for one that hangs: its sessions keep their statements, and what a caller was not
 * told of may still be written. A repeat finds it.
 * @throws Refusal TEMPORARY after `wait_ms`
 */
export function untilAnswered<T>(statement: PromiseLike<T>, wait_ms: number = LIMITS.db_answer_timeout_ms): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(unanswered());
    }, wait_ms);
    Promise.resolve(statement)
      .then(resolve, reject)
      .finally(() => {
        clearTimeout(timer);
      });
  });
}

/**
 * Asks again while Postgres is away, for LIMITS.db_back_wait_ms: for what is in our hands and would otherwise go a long
 * way round, as a message whose sender is told to come again or the end of an attempt.
 *
 * @param ask  safe to repeat: what it has written although its answer was lost, it finds
 * @throws what the last one threw
 */
export async function untilBack<T>(clock: Pick<Clock, "monotonic">, ask: () => Promise<T>): Promise<T> {
  const lastBy = clock.monotonic() + LIMITS.db_back_wait_ms;
  for (;;)
    try {
      return await ask();
    } catch (error) {
      if (!isAway(error) || clock.monotonic() >= lastBy) throw error;
      await pause(LIMITS.db_back_rest_ms);
    }
}

/** Waits for a statement; a passing failure or none in time is the refusal TEMPORARY, anything else stays a bug. */
export async function orTemporary<T>(statement: PromiseLike<T>): Promise<T> {
  try {
    return await untilAnswered(statement);
  } catch (error) {
    if (isPassing(error)) throw passed(error);
    throw error;
  }
}

/** What a statement finds, awaited as by `orTemporary`; what finds nothing is the refusal NOT_FOUND. */
export async function orNotFound<T>(statement: PromiseLike<T | undefined>): Promise<T> {
  const found = await orTemporary(statement);
  if (found === undefined) throw new Refusal("NOT_FOUND");
  return found;
}

/**
 * What a read finds. One whose connection was lost, as when somebody ends the sessions of a database that is well, is
 * made once more: a moment later, when the pool knows which of its other connections are gone, too.
 * @throws Refusal TEMPORARY for a passing failure, or when no answer comes in time
 */
export const readOrTemporary = <T>(read: () => Promise<T>): Promise<T> =>
  orTemporary(
    read().catch(async (error: unknown) => {
      if (!isUnknownOutcome(error)) throw error;
      await pause(LIMITS.lost_connection_rest_ms);
      return read();
    }),
  );
