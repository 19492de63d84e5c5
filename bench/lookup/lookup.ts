/** `lookup`: how many look-ups of remembered participants a node answers, against a bare uWebSockets.js hello. */
import { createHash } from "node:crypto";

import { freePort, makeFirms, startBenchEngine } from "../engine.js";
import type { BenchFirm } from "../engine.js";
import { rateFigure, refusedOf, runLoad } from "../load.js";
import type { LoadRequest, LoadResult } from "../load.js";
import { LIMIT_SERVER, startPeer } from "../peers/start.js";
import type { Bench, BenchOptions, Figure } from "../runner.js";
import { originOf } from "../send-requests.js";

const CONNECTIONS = 64;
const PER_KEY_PER_MINUTE = 290;
const RATE_CEILING = 20_000;
/** Participants that are looked up again and again; each has been asked for once before. */
const PARTICIPANTS = 500;
const BATCH = 100;

const headersOf = (firm: BenchFirm): Readonly<Record<string, string>> => ({ authorization: `Bearer ${firm.token}` });
const pathOf = (firm: BenchFirm): string => `/api/v1/peppol/participants/${firm.participantId.replace(":", "/")}`;

function lookups(keys: readonly BenchFirm[], participants: readonly BenchFirm[]): () => LoadRequest {
  let n = 0;
  return () => {
    const [key, participant] = [keys[n % keys.length] as BenchFirm, participants[n % participants.length] as BenchFirm];
    n += 1;
    return { method: "GET", path: pathOf(participant), headers: headersOf(key) };
  };
}

function batches(keys: readonly BenchFirm[], participants: readonly BenchFirm[]): () => LoadRequest {
  const body = JSON.stringify({
    participants: Array.from({ length: BATCH }, (_, n) => participants[n % participants.length]?.participantId ?? ""),
  });
  let n = 0;
  return () => ({
    method: "POST",
    path: "/api/v1/peppol/participants/batch",
    headers: { ...headersOf(keys[n++ % keys.length] as BenchFirm), "content-type": "application/json" },
    body,
  });
}

const figureOf = (name: string, result: LoadResult, note = ""): Figure => rateFigure(name, result, note, 200);

/** Looks every participant up once, so that all are remembered. @returns a digest of what was found */
async function warm(url: string, keys: readonly BenchFirm[], participants: readonly BenchFirm[]): Promise<string> {
  const digest = createHash("sha256");
  for (const [n, participant] of participants.entries()) {
    const answer = await fetch(`${url}${pathOf(participant)}`, {
      headers: headersOf(keys[n % keys.length] as BenchFirm),
    });
    const found = (await answer.json()) as { readonly accepts: boolean; readonly routingStatus: string };
    if (!found.accepts)
      throw new Error(`a participant of the bench was answered ${answer.status} ${found.routingStatus}`);
    digest.update(JSON.stringify(found));
  }
  return digest.digest("hex").slice(0, 12);
}

async function measure(options: BenchOptions): Promise<readonly Figure[]> {
  const engine = await startBenchEngine({ role: "gateway" });
  try {
    const seconds = options.tiny ? 1 : Math.min(options.seconds, 20);
    const load = (target: string, next: () => LoadRequest): Promise<LoadResult> =>
      runLoad({
        url: target,
        connections: options.tiny ? 4 : CONNECTIONS,
        seconds,
        ...(options.tiny ? { amount: 40 } : {}),
        next,
      });
    const url = originOf(engine.sandbox);
    const count = options.tiny ? 8 : Math.ceil((RATE_CEILING * seconds * 2) / PER_KEY_PER_MINUTE);
    options.say(`${count} keys …`);
    const firms = await makeFirms(engine, count);
    const participants = firms.slice(0, PARTICIPANTS);
    const digest = await warm(url, firms, participants);
    options.say("one at a time …");
    const one = await load(url, lookups(firms, participants));
    options.say(`batches of ${BATCH} …`);
    const many = await load(url, batches(firms, participants));
    const refused = refusedOf(one, 200) + refusedOf(many, 200);
    if (refused > 0) throw new Error(`${refused} look-ups were not answered with 200`);
    const peer = await startPeer("uws-insert", await freePort(), engine.databaseUrl);
    try {
      const bare = await load(peer.url, () => ({ method: "GET", path: "/hello", headers: {} }));
      return [
        figureOf("lookup, remembered", one, `${participants.length} participants, answers ${digest}`),
        figureOf(`lookup, batches of ${BATCH}`, many),
        figureOf(`limit: bare ${LIMIT_SERVER} hello`, bare),
        { name: "remembered ÷ limit", value: one.perSecond / bare.perSecond, unit: "ratio" },
        { name: "participants of batches ÷ limit", value: (many.perSecond * BATCH) / bare.perSecond, unit: "ratio" },
      ];
    } finally {
      await peer.stop();
    }
  } finally {
    await engine.stop();
  }
}

/** Look-ups of remembered participants per second. */
export const lookupBench: Bench = {
  name: "lookup",
  question:
    "How many look-ups of remembered participants does a node answer a second, one by one and in batches, against a server that says hello?",
  seconds: 10,
  run: measure,
};
