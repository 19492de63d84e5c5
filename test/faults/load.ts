/** Clients of many firms that send at once, keep what they were told, and repeat with the same key what nobody answered. */
import { createHash } from "node:crypto";

import { systemClock } from "../../engine/base/clock.js";
import { makeFirms } from "../../bench/engine.js";
import type { BenchEngine, BenchFirm } from "../../bench/engine.js";
import type { LoadRequest } from "../../bench/load.js";
import { originOf, requests, templateOf } from "../../bench/send-requests.js";
import { accessToken } from "../support/engines/engine.js";
import { eventually } from "../support/eventually.js";
import type { EngineProcess } from "../support/engines/process.js";

/** Enough for 5,000 sends a minute: a key may make 150. */
const FIRMS = 40;
const SENDERS = 24;

/** A document that a client was told is accepted. */
export interface Accepted {
  readonly id: string;
  /** Of the payload, hex. */
  readonly sha256: string;
  /** When its client was told. */
  readonly at: number;
}

/** The senders of one engine, over all its lives. */
export interface Load {
  /** Before a round: fresh tokens, and nothing is accepted yet. */
  ready(): Promise<void>;
  /** Sends so many documents, whatever becomes of them. */
  send(count: number): Promise<void>;
  /** Repeats what was not answered with 202 until all of it is. */
  repeat(): Promise<void>;
  /** Of this round, in the order in which they were told. */
  readonly accepted: readonly Accepted[];
  /** How many requests were not answered with 202 at once. */
  readonly refused: () => number;
  /** What they were answered, or how they failed, over all rounds. */
  readonly refusals: readonly string[];
}

const payloadDigest = (request: LoadRequest): string => {
  const { payload } = JSON.parse(String(request.body)) as { readonly payload: string };
  return createHash("sha256").update(payload).digest("hex");
};

/** Each firm sends to the next one. */
const requestsOf = (firms: readonly BenchFirm[]): (() => LoadRequest) =>
  requests(firms.map((firm, i) => templateOf(firm, firms[(i + 1) % firms.length]?.participantId ?? "")));

/**
 * Makes firms that send to each other.
 * @param alive  the engine as it lives now: each life has another address
 * @param count  of firms; each may send 150 times a minute. Default 40.
 */
export async function startLoad(
  alive: () => Pick<EngineProcess, "sandbox">,
  sql: BenchEngine["sql"],
  count: number = FIRMS,
): Promise<Load> {
  const firms = await makeFirms({ sandbox: alive().sandbox, sql }, count);
  let next = requestsOf(firms);
  const accepted: Accepted[] = [];
  let unanswered: LoadRequest[] = [];
  const refusals: string[] = [];

  /** @returns whether it was accepted */
  async function tell(request: LoadRequest): Promise<boolean> {
    try {
      const origin = originOf(alive().sandbox);
      const answer = await fetch(`${origin}${request.path}`, {
        method: "POST",
        headers: { ...request.headers },
        body: String(request.body),
        signal: AbortSignal.timeout(30_000),
      });
      const text = await answer.text();
      if (answer.status !== 202) {
        refusals.push(`${answer.status} ${text}`);
        return false;
      }
      const { providerDocumentId } = JSON.parse(text) as { readonly providerDocumentId: string };
      accepted.push({ id: providerDocumentId, sha256: payloadDigest(request), at: systemClock.now() });
      return true;
    } catch (error) {
      refusals.push(String(error));
      return false;
    }
  }

  return {
    accepted,
    refusals,
    refused: () => unanswered.length,
    ready: async () => {
      accepted.length = 0;
      const fresh: BenchFirm[] = [];
      for (const firm of firms) fresh.push({ ...firm, token: await accessToken(alive().sandbox, firm) });
      next = requestsOf(fresh);
    },
    send: async (count) => {
      let left = count;
      const lost: LoadRequest[] = [];
      await Promise.all(
        Array.from({ length: SENDERS }, async () => {
          while (left > 0) {
            left -= 1;
            const request = next();
            if (!(await tell(request))) lost.push(request);
          }
        }),
      );
      unanswered.push(...lost);
    },
    repeat: async () => {
      await eventually("every request is answered with 202", async () => {
        const again = unanswered;
        unanswered = [];
        for (let i = 0; i < again.length; i += SENDERS) {
          const batch = again.slice(i, i + SENDERS);
          const answers = await Promise.all(batch.map(tell));
          unanswered.push(...batch.filter((_, at) => answers[at] !== true));
        }
        return unanswered.length === 0;
      });
    },
  };
}
