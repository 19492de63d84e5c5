/** `poll`: how many empty and full inbox reads a node answers, authenticated, against a bare uWebSockets.js hello. */
import { createHash, randomUUID } from "node:crypto";

import { systemClock } from "../engine/base/clock.js";
import { newId } from "../engine/base/ids.js";
import { fillBenchInbox, freePort, makeFirms, startBenchEngine } from "./engine.js";
import { subscribeFirms } from "./events/subscribed.js";
import type { BenchFirm } from "./engine.js";
import { rateFigure, runLoad } from "./load.js";
import type { LoadRequest, LoadResult } from "./load.js";
import { LIMIT_SERVER, startPeer } from "./peers/start.js";
import type { Bench, BenchOptions, Figure } from "./runner.js";
import { originOf } from "./send-requests.js";

const CONNECTIONS = 64;
const ITEMS = 20;
const PER_KEY_PER_MINUTE = 190;
const RATE_CEILING = 26_000;
/** Firms with documents; a full page is answered from any of them. */
const FULL_FIRMS = 400;

function polls(firms: readonly BenchFirm[]): () => LoadRequest {
  let n = 0;
  return () => {
    const firm = firms[n++ % firms.length] as BenchFirm;
    return {
      method: "GET",
      path: "/sapi/v1/document/receive",
      headers: { authorization: `Bearer ${firm.token}`, "x-peppol-participant-id": firm.participantId },
    };
  };
}

const hello = (): LoadRequest => ({ method: "GET", path: "/hello", headers: {} });

const figureOf = (name: string, result: LoadResult, note = ""): Figure => rateFigure(name, result, note, 200);

async function checkPage(url: string, firm: BenchFirm, items: number): Promise<string> {
  const answer = await fetch(`${url}/sapi/v1/document/receive`, {
    headers: { authorization: `Bearer ${firm.token}`, "x-peppol-participant-id": firm.participantId },
  });
  const page = (await answer.json()) as { readonly documents: unknown[] };
  if (page.documents.length !== items)
    throw new Error(`expected a page of ${items} documents, got ${page.documents.length}`);
  return createHash("sha256").update(JSON.stringify(page)).digest("hex").slice(0, 12);
}

async function measure(options: BenchOptions): Promise<readonly Figure[]> {
  const engine = await startBenchEngine({ role: "gateway" });
  try {
    const seconds = options.tiny ? 1 : Math.min(options.seconds, 20);
    const load = (url: string, next: () => LoadRequest, amount = options.tiny ? 40 : undefined): Promise<LoadResult> =>
      runLoad({
        url,
        connections: options.tiny ? 4 : CONNECTIONS,
        seconds,
        ...(amount === undefined ? {} : { amount }),
        next,
      });
    const url = originOf(engine.sandbox);
    const count = options.tiny ? 4 : Math.ceil((RATE_CEILING * 60) / PER_KEY_PER_MINUTE / (60 / (seconds * 2)));
    options.say(`${count} firms …`);
    const firms = await makeFirms(engine, Math.max(count, options.tiny ? 4 : FULL_FIRMS));
    const subscribed = await subscribeFirms(options, engine, firms);
    options.say("empty inboxes …");
    const empty = await load(url, polls(firms));
    await fillBenchInbox(
      engine.sql,
      firms.map((firm) => firm.participantId),
      ITEMS,
      () => ({ id: newId(systemClock), message: randomUUID() }),
    );
    const digest = await checkPage(url, firms[0] as BenchFirm, ITEMS);
    // Who shows a document for the first time writes that down; who polls again reads.
    options.say(`inboxes of ${ITEMS}, shown for the first time …`);
    const first = await load(url, polls(firms), firms.length);
    options.say(`inboxes of ${ITEMS} …`);
    const full = await load(url, polls(firms));
    await subscribed.close();
    const refused = [...empty.statuses, ...first.statuses, ...full.statuses].filter(([status]) => status !== 200);
    if (refused.length > 0)
      throw new Error(`the engine answered ${refused.map(([status, count]) => `${count} × ${status}`).join(", ")}`);
    const peer = await startPeer("uws-insert", await freePort(), engine.databaseUrl);
    try {
      const bare = await load(peer.url, hello);
      return [
        figureOf("poll, empty", empty, `${firms.length} keys`),
        figureOf(`poll, ${ITEMS} new items`, first, `each of ${firms.length} inboxes once`),
        figureOf(`poll, ${ITEMS} items`, full, `page ${digest}`),
        figureOf(`limit: bare ${LIMIT_SERVER} hello`, bare),
        { name: "empty ÷ limit", value: empty.perSecond / bare.perSecond, unit: "ratio" },
        { name: `${ITEMS} items ÷ limit`, value: full.perSecond / bare.perSecond, unit: "ratio" },
      ];
    } finally {
      await peer.stop();
    }
  } finally {
    await engine.stop();
  }
}

/** Polls of an inbox per second. */
export const pollBench: Bench = {
  name: "poll",
  question:
    "How many inbox reads a second does a node answer, with nothing and with 20 items, against a server that says hello?",
  seconds: 20,
  run: measure,
};
