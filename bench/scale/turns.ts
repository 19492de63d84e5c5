/** Several questions asked in turn from one connection each: what disturbs the machine disturbs all of them alike. */
import { Agent, request as httpRequest } from "node:http";

import { systemClock } from "../../engine/base/clock.js";
import { startBenchEngine } from "../engine.js";
import type { BenchEngine } from "../engine.js";
import { percentile } from "../load.js";
import type { LoadRequest } from "../load.js";

/** A question: where it is asked, how, and what it is answered. */
export interface Question {
  readonly url: string;
  readonly next: () => LoadRequest;
  readonly status: number;
}

/** What one question took. */
interface Waited {
  readonly count: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
}

function ask({ url, next, status }: Question, agent: Agent): Promise<number> {
  const { method, path, headers, body } = next();
  const start = systemClock.monotonic();
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
    httpRequest(`${url}${path}`, { method, headers: { ...headers, ...length }, agent }, (answer) => {
      answer
        .on("error", reject)
        .on("end", () => {
          if (answer.statusCode === status) resolve(systemClock.monotonic() - start);
          else reject(new Error(`${method} ${path} was answered ${answer.statusCode ?? "nothing"}, not ${status}`));
        })
        .resume();
    })
      .on("error", reject)
      .end(body);
  });
}

/**
 * Asks each question once a round, one after the other.
 * @param goesOn  rounds go on as long as this says so; at least one is done
 * @returns what each took, in their order
 * @throws Error when one is not answered as it should be
 */
export async function inTurns(
  questions: readonly Question[],
  goesOn: (rounds: number) => boolean,
): Promise<readonly Waited[]> {
  const agents = questions.map(() => new Agent({ keepAlive: true, maxSockets: 1 }));
  const times = questions.map((): number[] => []);
  let rounds = 0;
  do {
    for (const [index, question] of questions.entries())
      times[index]?.push(await ask(question, agents[index] as Agent));
    rounds += 1;
  } while (goesOn(rounds));
  for (const agent of agents) agent.destroy();
  return times.map((each) => {
    const sorted = each.sort((left, right) => left - right);
    return { count: sorted.length, p50_ms: percentile(sorted, 0.5), p99_ms: percentile(sorted, 0.99) };
  });
}

/**
 * Two engines that are compared, started together and stopped afterwards.
 * @param apart  false gives the same engine twice, for forms that compare nothing
 */
export async function withTwoEngines<T>(
  apart: boolean,
  act: (engines: readonly [BenchEngine, BenchEngine]) => Promise<T>,
): Promise<T> {
  const started = await Promise.allSettled(
    Array.from({ length: apart ? 2 : 1 }, () => startBenchEngine({ role: "gateway" })),
  );
  const engines = started.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  try {
    const [first, second = apart ? undefined : first] = engines;
    if (first === undefined || second === undefined) throw new Error("an engine did not start");
    return await act([first, second]);
  } finally {
    await Promise.all(engines.map((engine) => engine.stop()));
  }
}
