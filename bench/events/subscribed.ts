/**
 * A subscription for each firm of a benchmark, at one receiver of a process of its own that answers at once; and what
 * the same posts cost without an engine, so that what is the engine's can be told from what is anybody's.
 */
import { createHmac } from "node:crypto";
import { Agent, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

import { FEED_KINDS } from "../../engine/lifecycle/feed.js";
import type { FeedKind } from "../../engine/lifecycle/feed.js";
import { freePort } from "../engine.js";
import type { BenchEngine, BenchFirm } from "../engine.js";
import { startPeer } from "../peers/start.js";
import type { BenchOptions, Figure } from "../runner.js";

const AT_ONCE = 16;
const BARE_POSTS = { tiny: 20, full: 4_000 };
const BARE_BODY_BYTES = 640;
/** Longer than the engine lets pass between two looks at what happened. */
const QUIET_MS = 400;

/** What an integrator acts on: a document has arrived, and what became of one that was sent. */
const ENDS: readonly FeedKind[] = [
  "document.received",
  "document.delivered",
  "document.delivery_failed",
  "document.rejected",
  "document.response_received",
];

/** The receiver of a benchmark's events. */
export interface Subscribed {
  /** Its process; undefined where nobody is subscribed. */
  readonly pid: number | undefined;
  /** Posts that it has taken when no more come. */
  calls(): Promise<number>;
  /** What one of its posts costs a bare client and the receiver, in milliseconds of processor time. */
  bare(): Promise<readonly Figure[]>;
  close(): Promise<void>;
}

const NOBODY: Subscribed = {
  pid: undefined,
  calls: () => Promise.resolve(0),
  bare: () => Promise.resolve([]),
  close: () => Promise.resolve(),
};

const post = (agent: Agent, url: string, body: Buffer): Promise<void> =>
  new Promise((resolve, reject) => {
    const headers = {
      "content-type": "application/json",
      "content-length": body.length,
      "x-webhook-signature": createHmac("sha256", "bare").update(body).digest("hex"),
    };
    request(url, { method: "POST", agent, headers }, (answer) => {
      answer.resume().on("end", resolve);
    })
      .on("error", reject)
      .end(body);
  });

/** Posts as many bodies as the engine would, signed, from as few lines as that takes. */
async function barePosts(options: BenchOptions, url: string): Promise<readonly Figure[]> {
  const count = options.tiny ? BARE_POSTS.tiny : BARE_POSTS.full;
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const body = Buffer.alloc(BARE_BODY_BYTES, 0x20);
  const before = process.cpuUsage();
  for (let sent = 0; sent < count; sent += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, () => post(agent, `${url}/bare`, body)));
  const { user, system } = process.cpuUsage(before);
  agent.destroy();
  return [
    { name: "a bare post", value: (user + system) / 1_000 / count, unit: "ms", note: "processor time of a client" },
  ];
}

/** Subscribes each firm when the benchmark was asked to. */
export async function subscribeFirms(
  options: BenchOptions,
  engine: BenchEngine,
  firms: readonly BenchFirm[],
): Promise<Subscribed> {
  if (!options.subscribed) return NOBODY;
  const receiver = await startPeer("event-receiver", await freePort());
  const events = options.everyEvent ? FEED_KINDS : ENDS;
  options.say(`${firms.length} subscriptions to ${events.length} kinds …`);
  for (let from = 0; from < firms.length; from += AT_ONCE)
    await Promise.all(
      firms.slice(from, from + AT_ONCE).map(async ({ token }, index) => {
        const answer = await fetch(`${engine.sandbox.baseUrl}/webhooks`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify({ url: `${receiver.url}/${from + index}`, events }),
        });
        if (answer.status !== 201) throw new Error(`no subscription: ${answer.status} ${await answer.text()}`);
      }),
    );
  return {
    pid: receiver.pid,
    calls: async () => {
      for (let seen = -1; ;) {
        const now = Number(await (await fetch(receiver.url)).text());
        if (now === seen) return now;
        seen = now;
        await pause(QUIET_MS);
      }
    },
    bare: () => barePosts(options, receiver.url),
    close: receiver.stop,
  };
}
