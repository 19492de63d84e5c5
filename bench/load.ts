/** HTTP load from this process: autocannon, closed or open, with a request of its own each time. */
import autocannon from "autocannon";

import { systemClock } from "../engine/clock.js";

export interface LoadRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface Load {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  /** Requests a second over all connections; absent: as many as are answered. */
  readonly rate?: number;
  /** Stops after so many, whatever the time. */
  readonly amount?: number;
  /** Makes the next request. */
  readonly next: () => LoadRequest;
}

export interface LoadResult {
  readonly perSecond: number;
  readonly answers: number;
  readonly errors: number;
  readonly statuses: ReadonlyMap<number, number>;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly p999_ms: number;
}

/** Runs a load to its end. */
export async function runLoad(load: Load): Promise<LoadResult> {
  const statuses = new Map<number, number>();
  const started = systemClock.monotonic();
  let last = started;
  const options: autocannon.Options = {
    url: load.url, connections: load.connections, ...(load.amount === undefined ? { duration: load.seconds } : { amount: load.amount }), pipelining: 1, timeout: 30,
    ...(load.rate === undefined ? {} : { overallRate: load.rate }),
    requests: [{ setupRequest: (request: autocannon.Request) => ({ ...request, ...load.next() }) }],
  };
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    const instance = autocannon(options, (error: unknown, ended) => { if (error instanceof Error) reject(error); else resolve(ended); });
    instance.on("response", (_client, status) => {
      last = systemClock.monotonic();
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    });
  });
  return {
    perSecond: result.requests.total / ((last - started) / 1_000), answers: result.requests.total, errors: result.errors + result.timeouts, statuses,
    p50_ms: result.latency.p50, p99_ms: result.latency.p99, p999_ms: result.latency.p99_9,
  };
}
