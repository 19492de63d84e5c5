/** HTTP load from this process, with a request of its own each time: closed by autocannon, or open at an even pace. */
import { Agent, request as httpRequest } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

import autocannon from "autocannon";

import { systemClock } from "../engine/base/clock.js";

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
}

/** What a run of the load generator has measured. */
export interface LoadResult {
  readonly perSecond: number;
  readonly answers: number;
  readonly errors: number;
  readonly statuses: ReadonlyMap<number, number>;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly p999_ms: number;
}

/** Requests that were not answered, or not with this status. */
export const refusedOf = ({ errors, statuses }: Pick<LoadResult, "errors" | "statuses">, expected = 202): number =>
  errors + [...statuses].reduce((sum, [status, count]) => sum + (status === expected ? 0 : count), 0);

/** Runs a load to its end. */
export async function runLoad(load: Load): Promise<LoadResult> {
  const statuses = new Map<number, number>();
  const started = systemClock.monotonic();
  let last = started;
  const options: autocannon.Options = {
    url: load.url,
    connections: load.connections,
    ...(load.amount === undefined ? { duration: load.seconds } : { amount: load.amount }),
    pipelining: 1,
    timeout: 30,
    requests: [{ setupRequest: (request: autocannon.Request) => ({ ...request, ...load.next() }) }],
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
    p50_ms: result.latency.p50,
    p99_ms: result.latency.p99,
    p999_ms: result.latency.p99_9,
  };
}

interface PacedLoad extends Pick<Load, "url" | "next" | "seconds" | "amount"> {
  /** Requests a second, evenly spaced whatever the answers do. */
  readonly rate: number;
}

/** The longest wait for the answers that are missing when the last request has gone. */
const ANSWERS_MS = 30_000;

/**
 * One request. One that went on a connection which the server had just closed, because nothing had come over it for so
 * long, goes again, as clients do.
 * @returns its status, 0 when there was no answer
 */
const ask = (url: string, agent: Agent, request: LoadRequest): Promise<number> =>
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
          resolve(answer.statusCode ?? 0);
        });
      },
    );
    outgoing
      .on("error", (error: NodeJS.ErrnoException) => {
        if (outgoing.reusedSocket && error.code === "ECONNRESET") resolve(ask(url, agent, request));
        else resolve(0);
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
  const agent = new Agent({ keepAlive: true });
  const statuses = new Map<number, number>();
  const latencies: number[] = [];
  const start = systemClock.monotonic();
  let last = start;
  const underWay: Promise<void>[] = [];
  for (let sent = 0; sent < amount; sent += 1) {
    const due = start + (sent * 1_000) / rate;
    const early = due - systemClock.monotonic();
    if (early > 1) await pause(early);
    underWay.push(
      ask(url, agent, next()).then((status) => {
        last = systemClock.monotonic();
        latencies.push(last - due);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }),
    );
  }
  await Promise.race([Promise.all(underWay), pause(ANSWERS_MS, undefined, { ref: false })]);
  agent.destroy();
  latencies.sort((left, right) => left - right);
  const at = (share: number): number =>
    latencies[Math.min(latencies.length - 1, Math.floor(share * latencies.length))] ?? 0;
  const errors = (statuses.get(0) ?? 0) + amount - latencies.length;
  statuses.delete(0);
  return {
    perSecond: latencies.length / ((last - start) / 1_000),
    answers: latencies.length,
    errors,
    statuses,
    p50_ms: at(0.5),
    p99_ms: at(0.99),
    p999_ms: at(0.999),
  };
}
