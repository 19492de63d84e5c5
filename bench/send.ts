/**
 * `send`: how many invoices a node accepts, validated in full and committed, and how near that is to doing nothing but
 * the insert.
 */
import { randomUUID } from "node:crypto";

import { perUnit, processorTime } from "./cpu.js";
import { freePort, makeFirms, startBenchEngine } from "./engine.js";
import { subscribeFirms } from "./events/subscribed.js";
import type { BenchEngine } from "./engine.js";
import { rateFigure, runLoad } from "./load.js";
import type { LoadResult } from "./load.js";
import { LIMIT_SERVER, startPeer } from "./peers/start.js";
import type { Bench, BenchOptions, Figure } from "./runner.js";
import { firmsFor, originOf, requests, templateOf } from "./send-requests.js";
import type { Template } from "./send-requests.js";

const CONNECTIONS = 64;
/** More documents than any node accepts in a second; it decides how many firms are needed. */
const RATE_CEILING = 2_500;

/**
 * Every 202 has exactly one row with its payload; what was under way when the load ended may have one too.
 * @throws Error otherwise
 */
async function checkRows(engine: BenchEngine, accepted: number, underWay: number): Promise<void> {
  const [row] = await engine.sql<{ readonly documents: number; readonly payloads: number }[]>`
    select (select count(*)::integer from document) as documents, (select count(*)::integer from payload as p
      join document as d on d.id = p.document_id) as payloads`;
  const documents = row?.documents ?? 0;
  if (documents < accepted || documents > accepted + underWay || row?.payloads !== documents)
    throw new Error(`${accepted} answers of 202, but ${documents} documents`);
}

async function measureEngine(
  options: BenchOptions,
  engine: BenchEngine,
): Promise<{ readonly figure: Figure; readonly templates: readonly Template[] }> {
  const firms = await makeFirms(engine, options.tiny ? 4 : firmsFor(RATE_CEILING * 60));
  const subscribed = await subscribeFirms(options, engine, firms);
  const templates = firms.map((firm) => templateOf(firm, engine.sandbox.receiver.participantId));
  const next = requests(templates);
  const url = originOf(engine.sandbox);
  const warm = await runLoad({ url, connections: 8, seconds: 1, amount: options.tiny ? 8 : 4_000, next });
  const before = processorTime(engine.pid);
  const result = await runLoad({
    url,
    connections: options.tiny ? 4 : CONNECTIONS,
    seconds: options.seconds,
    ...(options.tiny ? { amount: 40 } : {}),
    next,
  });
  options.say(`processor time per document, ms: ${perUnit(before, processorTime(engine.pid), result.answers)}`);
  await subscribed.close();
  const refused = [...result.statuses, ...warm.statuses].filter(([status]) => status !== 202);
  if (refused.length > 0)
    throw new Error(`the engine answered ${refused.map(([status, count]) => `${count} × ${status}`).join(", ")}`);
  await checkRows(engine, (warm.statuses.get(202) ?? 0) + (result.statuses.get(202) ?? 0), CONNECTIONS + 8);
  return {
    figure: rateFigure(
      "kurier send",
      result,
      `${templates[0]?.parts.join(randomUUID()).length ?? 0} bytes a body, ${firms.length} keys`,
    ),
    templates,
  };
}

async function measurePeer(
  options: BenchOptions,
  engine: BenchEngine,
  name: "uws-insert" | "fastify-insert",
  templates: readonly Template[],
): Promise<LoadResult> {
  const peer = await startPeer(name, await freePort(), engine.databaseUrl);
  try {
    const next = requests(templates, "/send");
    await runLoad({ url: peer.url, connections: 8, seconds: 1, amount: options.tiny ? 8 : 2_000, next });
    return await runLoad({
      url: peer.url,
      connections: options.tiny ? 4 : CONNECTIONS,
      seconds: options.seconds,
      ...(options.tiny ? { amount: 40 } : {}),
      next,
    });
  } finally {
    await peer.stop();
  }
}

/** Sends per second that a node accepts. */
export const sendBench: Bench = {
  name: "send",
  question:
    "How many invoices a second does a node accept, validated in full and committed with fsync, against an insert alone?",
  seconds: 60,
  run: async (options) => {
    const engine = await startBenchEngine({ role: "gateway" });
    try {
      options.say("accepting …");
      const { figure, templates } = await measureEngine(options, engine);
      options.say("limit (a): uWebSockets.js and one insert …");
      const limit = await measurePeer(options, engine, "uws-insert", templates);
      options.say("peer (b): Fastify, zod and one insert …");
      const peer = await measurePeer(options, engine, "fastify-insert", templates);
      return [
        figure,
        rateFigure(`limit (a) ${LIMIT_SERVER} + insert`, limit, "no authentication, no validation"),
        rateFigure("peer (b) Fastify + zod + insert", peer, "no authentication, no validation"),
        { name: "send ÷ limit (a)", value: figure.value / limit.perSecond, unit: "ratio" },
        { name: "send ÷ peer (b)", value: figure.value / peer.perSecond, unit: "ratio" },
      ];
    } finally {
      await engine.stop();
    }
  },
};
