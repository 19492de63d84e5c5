/** A receiver of events on this machine that answers as a test scripts it, and keeps what it was sent. */
import { createServer } from "node:http";
import type { ServerResponse } from "node:http";

import { listening } from "../network/listening.js";

/** One request as it came. */
export interface ReceivedCall {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Exact octets. */
  readonly body: Buffer;
  readonly json: Record<string, unknown> & { readonly data: Record<string, unknown> };
}

/** Answers one call; a call that nobody answers hangs until its sender gives up. */
export type Answer = (response: ServerResponse, call: ReceivedCall, nth: number) => void;

/** Answers with a status, and headers where they matter. */
export const status =
  (code: number, headers: Readonly<Record<string, string>> = {}, body = ""): Answer =>
  (response) => {
    response.writeHead(code, headers).end(body);
  };

/** A receiver that is running. */
export interface Receiver {
  readonly origin: string;
  /** Everything that came, in order. */
  readonly calls: ReceivedCall[];
  /** What came to a path. */
  at(path: string): ReceivedCall[];
  /** Answers a path so from now on. @default 200 */
  script(path: string, answer: Answer): void;
  /** Calls that are being answered now, and the most there have been of a path. */
  busiest(path: string): number;
  close(): Promise<void>;
}

/** Starts a receiver on a free port. */
export async function startReceiver(): Promise<Receiver> {
  const calls: ReceivedCall[] = [];
  const scripts = new Map<string, Answer>();
  const busy = new Map<string, { now: number; most: number }>();
  const server = createServer((request, response) => {
    const path = request.url ?? "/";
    const load = busy.get(path) ?? { now: 0, most: 0 };
    load.now += 1;
    load.most = Math.max(load.most, load.now);
    busy.set(path, load);
    response.on("close", () => {
      load.now -= 1;
    });
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => undefined);
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      const call: ReceivedCall = {
        path,
        headers: request.headers as Record<string, string | undefined>,
        body,
        json: JSON.parse(body.toString("utf8")) as ReceivedCall["json"],
      };
      calls.push(call);
      const nth = calls.filter((other) => other.path === path).length;
      (scripts.get(path) ?? status(200))(response, call, nth);
    });
  });
  const { origin, close } = await listening(server);
  return {
    origin,
    calls,
    at: (path) => calls.filter((call) => call.path === path),
    script: (path, answer) => {
      scripts.set(path, answer);
    },
    busiest: (path) => busy.get(path)?.most ?? 0,
    close,
  };
}
