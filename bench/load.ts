/** HTTP load from this process, with a request of its own each time: closed by autocannon, or open at an even pace. */
import { Agent, request as httpRequest } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

import autocannon from "autocannon";

import { systemClock } from "../engine/base/clock.js";
import { within } from "../engine/base/waiting/wake.js";
import type { Figure } from "./runner.js";

/** A request that the load generator makes again and again. */
export interface LoadRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

interface Load {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  /** The number of requests after which the load stops, whatever the time. */
  readonly amount?: number;
  /** Makes the next request. */
  readonly next: () => LoadRequest;
  /** Hears of each answer, with the request that it belongs to. */
  readonly onAnswer?: (request: LoadRequest, status: number) => void;
}

/** What a run of the load generator has measured. */
export interface LoadResult {
  readonly perSecond: number;
  readonly answers: number;
  readonly errors: number;
  readonly statuses: ReadonlyMap<number, number>;
  /** Requests that went twice, because the first time their connection was reset. Default none. */
  readonly repeats?: number;
  /** What the first answer beyond 2xx said. Default none was such, or it was not kept. */
  readonly firstRefusal?: string;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly p999_ms: number;
}

/** Requests that were not answered, or not with this status. */
export const refusedOf = ({ errors, statuses }: Pick<LoadResult, "errors" | "statuses">, expected = 202): number =>
  errors + [...statuses].reduce((sum, [status, count]) => sum + (status === expected ? 0 : count), 0);

/** A load as a figure. @param expected  the status that is no error */
export const rateFigure = (name: string, result: LoadResult, note = "", expected = 202): Figure => ({
  ...{ name, value: result.perSecond, unit: "/s", p50_ms: result.p50_ms, p99_ms: result.p99_ms },
  ...{ p999_ms: result.p999_ms, errors: refusedOf(result, expected), note },
});

/** Holds a load of sends to its promise. @throws Error when any was not accepted, with what the first answer said */
export function mustBeAccepted(load: Pick<LoadResult, "errors" | "statuses" | "firstRefusal">): void {
  const refused = refusedOf(load);
  if (refused === 0) return;
  const statuses = [...load.statuses].map(([status, count]) => `${count} of ${status}`).join(", ");
  throw new Error(
    `the engine refused ${refused} documents (answers: ${statuses}; unanswered: ${load.errors}): ${load.firstRefusal ?? ""}`,
  );
}

/** Says how many requests went twice, where any did: behind a repeat an answer may have been lost. */
export const repeated = ({ repeats = 0 }: Pick<LoadResult, "repeats">): string =>
  repeats === 0 ? "" : `; ${repeats} requests went twice, their connection was reset`;

/** Runs a load to its end. */
export async function runLoad(load: Load): Promise<LoadResult> {
  const statuses = new Map<number, number>();
  const started = systemClock.monotonic();
  let last = started;
  let firstRefusal: string | undefined;
  const { onAnswer } = load;
  // By connection: one request at a time is under way on each.
  const asked = new WeakMap<object, LoadRequest>();
  const setup = {
    setupRequest: (request: autocannon.Request, connection: object): autocannon.Request => {
      const next = load.next();
      asked.set(connection, next);
      return { ...request, ...next };
    },
  };
  const hearing =
    onAnswer === undefined
      ? {}
      : {
          onResponse: (status: number, _body: string, connection: object): void => {
            const request = asked.get(connection);
            if (request !== undefined) onAnswer(request, status);
          },
        };
  const options: autocannon.Options = {
    url: load.url,
    connections: load.connections,
    ...(load.amount === undefined ? { duration: load.seconds } : { amount: load.amount }),
    pipelining: 1,
    timeout: 30,
    requests: [{ ...setup, ...hearing }],
    setupClient: (client) => {
      let body: Buffer = Buffer.alloc(0);
      client.on("body", (octets) => {
        body = octets;
      });
      client.on("response", (status) => {
        if (status >= 300) firstRefusal ??= body.toString();
      });
    },
  };
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    const instance = autocannon(options, (error: unknown, ended) => {
      if (error instanceof Error) reject(error);
      else resolve(ended);
    });
    instance.on("response", (_client, status) => {
      last = systemClock.monotonic();
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    });
  });
  return {
    perSecond: result.requests.total / ((last - started) / 1_000),
    answers: result.requests.total,
    errors: result.errors + result.timeouts,
    statuses,
    ...(firstRefusal === undefined ? {} : { firstRefusal }),
    p50_ms: result.latency.p50,
    p99_ms: result.latency.p99,
    p999_ms: result.latency.p99_9,
  };
}

/** The value below which this share of them lies. @param sorted  from the least to the most @returns 0 of none */
export const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;

/** The middle one; the larger of two. */
export const median = (values: readonly number[]): number =>
  [...values].sort((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;

interface PacedLoad extends Pick<Load, "url" | "next" | "seconds" | "amount"> {
  /** Requests a second, evenly spaced whatever the answers do. */
  readonly rate: number;
}

/** The longest wait for the answers that are missing when the last request has gone. */
const ANSWERS_MS = 30_000;
/** An unused connection is closed by this side, well before the server would: a reset is then the server's doing. */
const UNUSED_MS = 4_000;

interface Asked {
  /** 0 when there was no answer. */
  readonly status: number;
  readonly repeats: number;
}

/**
 * One request. Where the connection had been used before and is reset, it goes once again, as clients do, and that is
 * counted: a server that loses answers cannot be told from one that closes a connection too early.
 */
export const askOver = (url: string, agent: Agent, request: LoadRequest, repeats = 0): Promise<Asked> =>
  new Promise((resolve) => {
    const { method, path, headers, body } = request;
    const outgoing = httpRequest(
      `${url}${path}`,
      {
        method,
        headers: { ...headers, ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }) },
        agent,
      },
      (answer) => {
        answer.resume().on("end", () => {
          resolve({ status: answer.statusCode ?? 0, repeats });
        });
        answer.on("error", () => {
          resolve({ status: 0, repeats });
        });
      },
    );
    outgoing
      .on("error", (error: NodeJS.ErrnoException) => {
        if (repeats === 0 && outgoing.reusedSocket && error.code === "ECONNRESET")
          resolve(askOver(url, agent, request, 1));
        else resolve({ status: 0, repeats });
      })
      .end(body);
  });

/**
 * Runs an open load: each request goes at its time, and its latency counts from that time, also when this process was
 * late to send it. autocannon sends a second's requests at the second's start.
 */
export async function runPacedLoad({
  url,
  next,
  seconds,
  rate,
  amount = Math.round(seconds * rate),
}: PacedLoad): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, timeout: UNUSED_MS });
  const statuses = new Map<number, number>();
  const latencies: number[] = [];
  const start = systemClock.monotonic();
  let last = start;
  let repeats = 0;
  const underWay: Promise<void>[] = [];
  for (let sent = 0; sent < amount; sent += 1) {
    const due = start + (sent * 1_000) / rate;
    const early = due - systemClock.monotonic();
    if (early > 1) await pause(early);
    underWay.push(
      askOver(url, agent, next()).then(({ status, repeats: again }) => {
        repeats += again;
        last = systemClock.monotonic();
        latencies.push(last - due);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }),
    );
  }
  await within(Promise.all(underWay), ANSWERS_MS, undefined);
  agent.destroy();
  latencies.sort((left, right) => left - right);
  const errors = (statuses.get(0) ?? 0) + amount - latencies.length;
  statuses.delete(0);
  return {
    perSecond: latencies.length / ((last - start) / 1_000),
    answers: latencies.length,
    errors,
    statuses,
    repeats,
    p50_ms: percentile(latencies, 0.5),
    p99_ms: percentile(latencies, 0.99),
    p999_ms: percentile(latencies, 0.999),
  };
}
