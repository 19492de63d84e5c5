/** `history`: what a long past costs a send, a status, an inbox and a scrape, against the same on an empty database. */
import { systemClock } from "../../engine/base/clock.js";
import { makeFirms, withTokens } from "../engine.js";
import type { BenchEngine, BenchFirm } from "../engine.js";
import type { LoadRequest } from "../load.js";
import type { Bench, BenchOptions, Figure } from "../runner.js";
import { originOf, requests, templateOf } from "../send-requests.js";
import { addPast } from "./past.js";
import { inTurns, withTwoEngines } from "./turns.js";
import type { Question } from "./turns.js";

const STORED = 10_000_000;
const STORED_TINY = 200;
const FIRMS = 100;
/** Rounds a minute that the keys of all firms may ask: each sends 150 documents a minute at the most. */
const ROUNDS_MAX = 140 * FIRMS;
const WARM_ROUNDS = 50;

/** One of the two engines that are compared. */
interface Side {
  readonly engine: BenchEngine;
  readonly firms: readonly BenchFirm[];
  /** A document of each firm. */
  readonly documents: readonly string[];
}

async function side(engine: BenchEngine, options: BenchOptions, stored: number): Promise<Side> {
  const made = await makeFirms(engine, options.tiny ? 2 : FIRMS, stored === 0 ? FIRMS : 0);
  const owners = made.map(({ clientId, participantId }) => ({ firmId: clientId, participant: participantId }));
  if (stored > 0) await addPast(engine.databaseUrl, owners, stored);
  const firms = await withTokens(engine, made);
  const url = originOf(engine.sandbox);
  const documents: string[] = [];
  for (const firm of firms) {
    const { path, ...request } = requests([templateOf(firm, engine.sandbox.receiver.participantId)])();
    const answer = await fetch(`${url}${path}`, { ...request, body: String(request.body) });
    const { providerDocumentId } = (await answer.json()) as { readonly providerDocumentId?: string };
    if (providerDocumentId === undefined) throw new Error(`a document was answered ${answer.status}`);
    documents.push(providerDocumentId);
  }
  return { engine, firms, documents };
}

const authorized = ({ token, participantId }: BenchFirm): Readonly<Record<string, string>> => ({
  authorization: `Bearer ${token}`,
  "x-peppol-participant-id": participantId,
});

/** Makes reads of the firms in turn. */
function reads(firms: readonly BenchFirm[], path: (index: number) => string): () => LoadRequest {
  let n = 0;
  return () => {
    const index = n++ % firms.length;
    return { method: "GET", path: path(index), headers: authorized(firms[index] as BenchFirm) };
  };
}

/** What is asked all day. */
const ASKED: readonly (readonly [name: string, question: (side: Side) => Question])[] = [
  [
    "send",
    ({ engine, firms }) => ({
      url: originOf(engine.sandbox),
      status: 202,
      next: requests(firms.map((firm) => templateOf(firm, engine.sandbox.receiver.participantId))),
    }),
  ],
  [
    "status",
    ({ engine, firms, documents }) => ({
      url: originOf(engine.sandbox),
      status: 200,
      next: reads(firms, (index) => `/api/v1/documents/${documents[index] ?? ""}/status`),
    }),
  ],
  [
    "inbox",
    ({ engine, firms }) => ({
      url: originOf(engine.sandbox),
      status: 200,
      next: reads(firms, () => "/sapi/v1/document/receive"),
    }),
  ],
  [
    "scrape",
    ({ engine }) => ({
      url: engine.adminUrl,
      status: 200,
      next: () => ({ method: "GET", path: "/metrics", headers: {} }),
    }),
  ],
];

async function measure(options: BenchOptions, engines: readonly [BenchEngine, BenchEngine]): Promise<Figure[]> {
  const stored = options.tiny ? STORED_TINY : (options.size ?? STORED);
  options.say(`a past of ${stored} documents …`);
  const full = await side(engines[1], options, stored);
  const empty = await side(engines[0], options, 0);
  const questions = ASKED.flatMap(([, question]) => [question(empty), question(full)]);
  await inTurns(questions, (rounds) => rounds < (options.tiny ? 1 : WARM_ROUNDS));
  options.say("both in turn …");
  const end = systemClock.monotonic() + options.seconds * 1_000;
  const waited = await inTurns(questions, (rounds) =>
    options.tiny ? rounds < 3 : rounds < ROUNDS_MAX && systemClock.monotonic() < end,
  );
  const figures = ASKED.flatMap(([name], index): Figure[] => {
    const [without, withPast] = [waited[2 * index], waited[2 * index + 1]];
    if (without === undefined || withPast === undefined) throw new Error(`${name} was not measured`);
    return [
      { name: `${name}, nothing stored`, unit: "ms", value: without.p50_ms, ...times(without) },
      { name: `${name}, long past`, unit: "ms", value: withPast.p50_ms, ...times(withPast) },
      { name: `${name}, p50 long past ÷ nothing stored`, value: withPast.p50_ms / without.p50_ms, unit: "ratio" },
      { name: `${name}, p99 long past ÷ nothing stored`, value: withPast.p99_ms / without.p99_ms, unit: "ratio" },
    ];
  });
  return [
    { name: "stored documents", value: stored, unit: "count", note: "sent, and as many received, with all their rows" },
    ...figures,
  ];
}

const times = ({
  p50_ms,
  p99_ms,
  count,
}: {
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly count: number;
}) => ({ p50_ms, p99_ms, note: `${count} asked` }) as const;

/** What ten million stored documents cost. */
export const historyBench: Bench = {
  name: "history",
  question:
    "What do ten million stored documents cost a send, a status, an inbox and a scrape, against an empty database in the same run?",
  seconds: 60,
  run: (options) => withTwoEngines(!options.tiny, (engines) => measure(options, engines)),
};
