/** One connection on which octets are sent as they are, and everything that comes back on it. */
import { connect } from "node:net";
import type { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { connect as connectTls } from "node:tls";

import { systemClock } from "../../../engine/base/clock.js";
import { LIMITS } from "../../../engine/base/limits.js";

export interface Target {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  /** What the Host header says. */
  readonly authority: string;
}

/** What is sent, and how. */
export interface Sending {
  readonly octets: string | Buffer;
  /** Octets that follow one by one, one each LIMITS.probe_trickle_ms, until the other side has enough. */
  readonly trickle?: string;
  /** Whether nothing follows, and the other side is told so. */
  readonly halfClose?: boolean;
}

/** One answer as it came; its header names are in lower case. */
interface ProbeAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** What came back on a connection. */
export interface Seen {
  readonly answers: readonly ProbeAnswer[];
  /** Whether the other side ended the connection. */
  readonly isEnded: boolean;
  readonly time_ms: number;
}

/** Nobody answered there at all. */
export class Unreachable extends Error {}

const HEAD_END = "\r\n\r\n";

/** The place behind a body in chunks, or -1 while it is not whole. */
function endOfChunks(text: string, from: number): number {
  for (let at = from; ;) {
    const line = text.indexOf("\r\n", at);
    if (line === -1) return -1;
    const size = parseInt(text.slice(at, line), 16);
    if (Number.isNaN(size)) return text.length;
    if (size === 0) return text.indexOf("\r\n", line + 2) === -1 ? -1 : text.indexOf("\r\n", line + 2) + 2;
    at = line + 2 + size + 2;
  }
}

/** The place behind the body of an answer, or -1 while it is not whole. */
function endOfBody(text: string, head: string, from: number): number {
  if (/^transfer-encoding:[^\r\n]*chunked/m.test(head)) return endOfChunks(text, from);
  const [, length] = /^content-length: *(\d+)/m.exec(head) ?? [];
  if (length === undefined) return -1;
  return from + Number(length) > text.length ? -1 : from + Number(length);
}

/** The answers in what came. @returns whether the last one is whole, too */
function answersIn(text: string): { readonly answers: readonly ProbeAnswer[]; readonly isWhole: boolean } {
  const answers: ProbeAnswer[] = [];
  for (let at = 0; ;) {
    const end = text.indexOf(HEAD_END, at);
    const [, status] = /^HTTP\/1\.[01] (\d{3})/.exec(text.slice(at)) ?? [];
    if (end === -1 || status === undefined)
      return { answers, isWhole: at === text.length || (status === undefined && answers.length > 0) };
    const head = text.slice(at, end).replace(/^[^:\r\n]+:/gm, (name) => name.toLowerCase());
    const isInterim = status.startsWith("1");
    const behind = isInterim ? end + HEAD_END.length : endOfBody(text, head, end + HEAD_END.length);
    const body = text.slice(end + HEAD_END.length, behind === -1 ? undefined : behind);
    if (!isInterim) answers.push({ status: Number(status), head, body });
    if (behind === -1) return { answers, isWhole: false };
    at = behind;
  }
}

/** Sends octets one by one until the connection is at its end. */
async function trickleOn(socket: Socket, text: string, isOver: () => boolean): Promise<void> {
  for (const octet of text) {
    await pause(LIMITS.probe_trickle_ms);
    if (isOver()) return;
    socket.write(octet);
  }
}

/**
 * Sends octets on a connection of their own and waits until it ends, until nothing more comes behind a whole answer, or
 * until the time is over.
 * @param patience_ms  the most that is waited
 * @throws Unreachable where no connection comes about
 */
export async function exchange(target: Target, sending: Sending, patience_ms: number): Promise<Seen> {
  const begun = systemClock.monotonic();
  const { host, port, isTls } = target;
  const socket = isTls ? connectTls({ host, port, servername: host }) : connect(port, host);
  let [text, isOpen, isEnded, cause] = ["", false, false, ""];
  let lastAt = begun;
  socket.setEncoding("latin1");
  socket.on(isTls ? "secureConnect" : "connect", () => {
    isOpen = true;
    socket.write(sending.octets);
    if (sending.halfClose === true) socket.end();
    if (sending.trickle !== undefined) void trickleOn(socket, sending.trickle, () => isEnded || socket.destroyed);
  });
  socket.on("data", (chunk: string) => {
    lastAt = systemClock.monotonic();
    if (text.length < LIMITS.probe_answer_chars_max) text += chunk;
  });
  socket.on("error", (error) => {
    cause = error.message;
    isEnded = true;
  });
  for (const event of ["end", "close"] as const)
    socket.on(event, () => {
      isEnded = true;
    });
  const isDone = (): boolean => {
    const { answers, isWhole } = answersIn(text);
    const now = systemClock.monotonic();
    return (
      isEnded || now - begun > patience_ms || (answers.length > 0 && isWhole && now - lastAt > LIMITS.probe_settled_ms)
    );
  };
  while (!isDone()) await pause(LIMITS.probe_look_ms);
  socket.destroy();
  if (!isOpen) throw new Unreachable(cause === "" ? "nobody answers there" : cause);
  return { answers: answersIn(text).answers, isEnded, time_ms: systemClock.monotonic() - begun };
}
