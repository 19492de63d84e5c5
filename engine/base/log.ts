/** The log: JSON lines on standard output, with a closed list of fields. What is not in the list cannot be logged. */
import { pino } from "pino";

import { errorCode } from "./errors.js";
import { BoundedMap } from "./bounded.js";
import type { Clock } from "./clock.js";
import { standardOutput } from "./files/standard-output.js";
import { LIMITS } from "./limits.js";
import { LOG_EVENTS } from "./log-events.js";
import type { LogEvent } from "./log-events.js";

import { firstChars } from "./text.js";

/** Every field a log line may carry. None of them holds a secret, a token, a header or the text of a document. */
export interface LogFields {
  readonly requestId?: string;
  readonly route?: string;
  readonly status?: number;
  readonly durationMs?: number;
  readonly documentId?: string;
  readonly firmId?: string;
  readonly keyId?: string;
  readonly actor?: string;
  readonly attempt?: number;
  readonly outcome?: string;
  /** Common name in the certificate of an access point. */
  readonly seat?: string;
  readonly count?: number;
  readonly component?: string;
  readonly code?: string;
  /** Name and code of an error, never its message: messages of libraries quote what they were given. */
  readonly error?: string;
  /** Where a bug was thrown: file names and lines without the message. */
  readonly at?: string;
  readonly host?: string;
  readonly port?: number;
  readonly pid?: number;
}

export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface Log {
  error(event: LogEvent, fields?: LogFields): void;
  warn(event: LogEvent, fields?: LogFields): void;
  info(event: LogEvent, fields?: LogFields): void;
  debug(event: LogEvent, fields?: LogFields): void;
}

const FIELD_NAMES: Record<keyof LogFields, true> = {
  requestId: true,
  route: true,
  status: true,
  durationMs: true,
  documentId: true,
  firmId: true,
  keyId: true,
  actor: true,
  attempt: true,
  outcome: true,
  seat: true,
  count: true,
  component: true,
  code: true,
  error: true,
  at: true,
  host: true,
  port: true,
  pid: true,
};

/** Copies the allowed fields; anything else that a caller smuggles in by structure is dropped. */
function allowed(fields: LogFields): Record<string, string | number> {
  const copy: Record<string, string | number> = {};
  for (const name of Object.keys(FIELD_NAMES) as (keyof LogFields)[]) {
    const value = fields[name];
    if (typeof value === "number") copy[name] = value;
    else if (typeof value === "string") copy[name] = firstChars(value, LIMITS.log_text_chars_max);
  }
  return copy;
}

/**
 * The code of an error. NATS gives numbers to what its server refuses, and wraps what the connection has met in an
 * error that says nothing: there the name of what it wraps is told.
 */
function codeIn(error: Error): string | undefined {
  const code = errorCode(error);
  if (code !== undefined) return code;
  // The numbers of a DOMException say less than its name.
  if ("code" in error && typeof error.code === "number" && !(error instanceof DOMException)) return String(error.code);
  const { cause } = error;
  if (!(cause instanceof Error)) return undefined;
  return errorCode(cause) ?? (cause.name === "Error" ? undefined : cause.name);
}

/** Describes an unknown error without its message: class, code and the place in our files. */
export function errorFields(error: unknown): Pick<LogFields, "error" | "at" | "code"> {
  if (!(error instanceof Error)) return { error: typeof error };
  const place = error.stack
    ?.split("\n")
    .find((line) => line.includes("at ") && !line.includes("node_modules") && !line.includes("node:"));
  const code = codeIn(error);
  return {
    error: error.name,
    ...(code === undefined ? {} : { code }),
    ...(place === undefined
      ? {}
      : {
          at: place
            .trim()
            .replace(/\(?(file:\/\/)?\/.*\/((?:dist\/)?(?:engine|gateway|actors|validators|bench|test)\/)/, "$2")
            .replace(/\)$/, ""),
        }),
  };
}

/** Where lines go. */
interface LinesTaken {
  write(line: string): void;
  /** How many were lost since it was last asked. @default none ever is */
  takeLost?(): number;
}

/** @param destination  a test collects lines. @default standard output */
export function createLog(level: LogLevel, destination: LinesTaken = standardOutput): Log {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  // Pino's own never ends a process that has met a full disk: what it cannot write at the exit it offers for ever.
  const out = pino(options, destination);
  const write =
    (to: "error" | "warn" | "info" | "debug") =>
    (event: LogEvent, fields: LogFields = {}): void => {
      out[to]({ event, ...allowed(fields) }, LOG_EVENTS[event]);
      const count = destination.takeLost?.() ?? 0;
      if (count > 0) log.error("log.lines_lost", { count });
    };
  const log: Log = { error: write("error"), warn: write("warn"), info: write("info"), debug: write("debug") };
  return log;
}

/** The last line of one kind, and how many more there would have been since. */
class Sampled {
  at = Number.NEGATIVE_INFINITY;
  more = 0;
}

/**
 * A log for what anybody can cause: of each event and code one line a second. `count` says for how many the line
 * stands, itself included.
 */
export function oncePerSecond(log: Log, clock: Pick<Clock, "monotonic">): Pick<Log, "info" | "warn" | "error"> {
  const kinds = new BoundedMap<string, Sampled>(LIMITS.log_kinds_max);
  const write =
    (to: "info" | "warn" | "error") =>
    (event: LogEvent, fields: LogFields = {}): void => {
      const kind = `${to} ${event} ${fields.code ?? ""}`;
      const last = kinds.get(kind) ?? kinds.keep(kind, new Sampled());
      const now = clock.monotonic();
      if (now - last.at < LIMITS.log_kind_ms) {
        last.more++;
        return;
      }
      log[to](event, last.more === 0 ? fields : { ...fields, count: last.more + 1 });
      last.at = now;
      last.more = 0;
    };
  return { info: write("info"), warn: write("warn"), error: write("error") };
}

/** A log that says nothing. */
export const silentLog: Log = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
};
