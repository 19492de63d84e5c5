/** Calls of clients and what they were answered: good, "come again", nothing at all, or something that nobody promised. */
import { setTimeout as delay } from "node:timers/promises";

import { systemClock } from "../../../engine/base/clock.js";
import { http } from "../../support/engines/engine.js";
import type { HttpAnswer } from "../../support/engines/engine.js";
import type { PointName } from "./points.js";

/**
 * What each call may be answered: statuses that end it, and answers that say that it is to be made again. Who reads what
 * came while the way was cut reads as fast as a key may; nothing else comes near its limit.
 */
const PROMISES = {
  send: { good: [202], later: /^503 |^409 .*"SAPI-PROC-002"/s },
  create: { good: [200, 201], later: /^503 |^409 .*"IDEMPOTENCY_IN_FLIGHT"/s },
  list: { good: [200], later: /^(?:429|503) / },
  read: { good: [200], later: /^(?:429|503) / },
  acknowledge: { good: [200], later: /^(?:429|503) / },
  token: { good: [200], later: /^503 / },
} as const satisfies Readonly<Record<string, { readonly good: readonly number[]; readonly later: RegExp }>>;

export type CallKind = keyof typeof PROMISES;

export interface Call {
  readonly kind: CallKind;
  readonly point: PointName;
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** One call that was made. Milliseconds of the system's clock. */
export interface Made {
  readonly kind: CallKind;
  readonly point: PointName;
  readonly begun: number;
  readonly ended: number;
  readonly outcome: "good" | "later" | "no answer" | "unexpected";
}

/** Everything that the clients of a run were answered. */
export interface CallLog {
  readonly made: readonly Made[];
  /** Answers that the interface does not promise, with their text. */
  readonly unexpected: readonly string[];
  /** @returns the answer when it is good, otherwise undefined */
  call(call: Call): Promise<HttpAnswer | undefined>;
}

/** A client gives up then; an engine that dies ends the connection long before. */
const PATIENCE_MS = 30_000;

const withPatience = (answer: Promise<HttpAnswer>): Promise<HttpAnswer | undefined> =>
  Promise.race([answer, delay(PATIENCE_MS, undefined, { ref: false })]);

export function startCallLog(): CallLog {
  const made: Made[] = [];
  const unexpected: string[] = [];
  const judge = ({ kind }: Call, answer: HttpAnswer): Made["outcome"] => {
    const { good, later } = PROMISES[kind];
    if (good.some((status) => status === answer.status)) return "good";
    if (later.test(`${answer.status} ${answer.text}`)) return "later";
    unexpected.push(`${kind} is answered ${answer.status} ${answer.text}`);
    return "unexpected";
  };
  return {
    made,
    unexpected,
    call: async (call) => {
      const { kind, point, method, url, headers, body } = call;
      const begun = systemClock.now();
      let answer: HttpAnswer | undefined;
      try {
        answer = await withPatience(http(method, url, { ...headers }, body));
      } catch (error) {
        // The connection ended before the answer did: fetch says so by a TypeError, a torn body by a SyntaxError.
        if (!(error instanceof TypeError || error instanceof SyntaxError)) throw error;
      }
      const outcome = answer === undefined ? "no answer" : judge(call, answer);
      made.push({ kind, point, begun, ended: systemClock.now(), outcome });
      return outcome === "good" ? answer : undefined;
    },
  };
}
