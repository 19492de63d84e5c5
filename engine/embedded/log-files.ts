/**
 * Files of PostgreSQL's write-ahead log, made before a commit waits for one. PostgreSQL makes the next file when the
 * last is full, and writes its zeros to the disk while every commit waits; a file that it needs no more it uses again,
 * which costs nothing. So a server that is at work gets as many as it fills until its first checkpoint: the end of each
 * is declared, and a checkpoint hands them over to be used again.
 * @source PostgreSQL's documentation, WAL Configuration; D-456
 */
import { readdirSync, statfsSync } from "node:fs";
import { join } from "node:path";

import { LIMITS } from "../base/limits.js";
import { errorFields } from "../base/log.js";
import type { Log } from "../base/log.js";

/** A connection to the server by somebody who may declare the end of its log files. */
interface LogFilesConnection {
  /** Writes a word into the file of now: one in which nothing stands has no end to declare. */
  write(): Promise<unknown>;
  /** Goes on in the next file. */
  switchFile(): Promise<unknown>;
  checkpoint(): Promise<unknown>;
  end(): Promise<void>;
}

/** The server whose files are made. */
export interface LogFilesOptions {
  /** The server's data directory. */
  readonly directory: string;
  readonly connect: () => LogFilesConnection;
  /** Octets that are free on the disk of a directory. @default asks the system */
  readonly freeBytes?: (directory: string) => number;
  /** How many there are to be. @default LIMITS.log_files */
  readonly files?: number;
  /** Between two of them, in milliseconds. @default LIMITS.log_files_rest_ms */
  readonly rest_ms?: number;
}

const NAME = /^[0-9A-F]{24}$/u;

/** The files of the log that are there, those included that will be used again. */
export const countLogFiles = (directory: string): number =>
  readdirSync(join(directory, "pg_wal")).filter((name) => NAME.test(name)).length;

const freeBytesOf = (directory: string): number => {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
};

/** Waits for a time or for the signal, whichever comes first. */
const pause = (time_ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const ended = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", ended);
      resolve();
    };
    const timer = setTimeout(ended, time_ms);
    signal.addEventListener("abort", ended);
    if (signal.aborted) ended();
  });

/**
 * Makes the files where the server is at work, has too few, and its disk has plenty of room.
 * @param signal  ends it before the next file
 * @returns whether there are enough, or all were made that were wanting: what a checkpoint keeps of them is its affair
 */
export async function makeLogFiles(options: LogFilesOptions, signal: AbortSignal): Promise<boolean> {
  const { directory, connect, freeBytes = freeBytesOf, files = LIMITS.log_files } = options;
  const there = countLogFiles(directory);
  if (there >= files) return true;
  if (there < LIMITS.log_files_at_work || freeBytes(directory) < LIMITS.log_files_free_bytes) return false;
  const connection = connect();
  try {
    for (let count = there; count < files && !signal.aborted; count += 1) {
      await connection.write();
      await connection.switchFile();
      await pause(options.rest_ms ?? LIMITS.log_files_rest_ms, signal);
    }
    if (!signal.aborted) await connection.checkpoint();
    return !signal.aborted;
  } finally {
    await connection.end();
  }
}

/** Looks every LIMITS.log_files_look_ms until there are enough files. @returns ends the looks; safe to repeat */
export function keepLogFiles(options: LogFilesOptions, log: Log): () => Promise<void> {
  const ending = new AbortController();
  const { signal } = ending;
  const looks = (async () => {
    while (!signal.aborted) {
      try {
        if (await makeLogFiles(options, signal)) return;
      } catch (error) {
        log.warn("postgres.log_files_failed", { component: "postgres", ...errorFields(error) });
      }
      await pause(LIMITS.log_files_look_ms, signal);
    }
  })();
  return () => {
    ending.abort();
    return looks;
  };
}
