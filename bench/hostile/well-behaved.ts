/** The keys that do nothing wrong: each sends, polls its inbox and looks up a document at an even pace. */
import { runPacedLoad } from "../load.js";
import type { LoadRequest } from "../load.js";
import { requests, templateOf } from "../send-requests.js";
import type { BenchFirm } from "../engine.js";
import type { Operation, WellBehavedJob } from "./jobs.js";

const asked = (firms: readonly BenchFirm[], path: string): (() => LoadRequest) => {
  let n = 0;
  return () => {
    const firm = firms[n++ % firms.length] as BenchFirm;
    return {
      method: "GET",
      path,
      headers: { authorization: `Bearer ${firm.token}`, "x-peppol-participant-id": firm.participantId },
    };
  };
};

/** Runs a phase. @returns what each operation has met; latencies count from the time at which a request was due */
export async function behaveWell(job: WellBehavedJob): Promise<readonly Operation[]> {
  const { url, seconds, firms, sends, polls, lookUps } = job;
  const templates = firms.map((firm, at) => templateOf(firm, firms[(at + 1) % firms.length]?.participantId ?? ""));
  const operations: readonly (readonly [name: string, rate: number, next: () => LoadRequest])[] = [
    ["send", sends, requests(templates)],
    ["poll", polls, asked(firms, "/sapi/v1/document/receive")],
    ["outbox", lookUps, asked(firms, "/api/v1/documents/outbox?limit=20")],
  ];
  return Promise.all(
    operations.map(async ([name, rate, next]): Promise<Operation> => {
      const result = await runPacedLoad({ url, seconds, rate, next });
      const { answers, errors, repeats = 0, perSecond, p50_ms, p99_ms, statuses } = result;
      return { name, answers, errors, repeats, perSecond, p50_ms, p99_ms, statuses: Object.fromEntries(statuses) };
    }),
  );
}
