/** Calls of the demo: each has the answer that it expects, and a failure says which step it was. */
import { setTimeout as pause } from "node:timers/promises";

import { systemClock } from "../../../engine/base/clock.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { firstChars } from "../../../engine/base/text.js";
import type { Sandbox } from "../../../engine/identity/sandbox.js";
import { colour, print } from "../terminal.js";

export interface DemoAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  readonly json: Record<string, unknown>;
}

/** A step that did not do what it promises. */
export class DemoFailure extends Error {}

const TOO_MANY = 429;

/** One call, made again when its key may; redirections are answers, too. */
export async function call(
  ...request: readonly [method: string, url: string, headers: Record<string, string>, body?: string]
): Promise<DemoAnswer> {
  for (;;) {
    const answer = await callOnce(...request);
    const wait_s = Number(answer.headers.get("retry-after") ?? Number.NaN);
    // Whoever has tried one thing after another in the sandbox has used up the minute of its keys.
    if (answer.status !== TOO_MANY || Number.isNaN(wait_s)) return answer;
    print(colour("dim", `The key has asked as often as it may in a minute; the demo goes on in ${wait_s} s.`));
    await pause(wait_s * 1000);
  }
}

async function callOnce(
  method: string,
  url: string,
  headers: Record<string, string>,
  body?: string,
): Promise<DemoAnswer> {
  const response = await fetch(url, {
    method,
    headers,
    redirect: "manual",
    ...(body === undefined ? {} : { body }),
    signal: AbortSignal.timeout(LIMITS.demo_request_ms),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.includes("json") === true;
  const json = isJson ? (JSON.parse(text) as Record<string, unknown>) : {};
  return { status: response.status, text, headers: response.headers, json };
}

export function expectStatus(answer: DemoAnswer, status: number, step: string): DemoAnswer {
  if (answer.status !== status)
    throw new DemoFailure(`${step}: expected ${status}, got ${answer.status}: ${firstChars(answer.text, 600)}`);
  return answer;
}

/** An access token for a key. */
export async function token(
  sandbox: Pick<Sandbox, "sapiBaseUrl">,
  key: { readonly clientId: string; readonly clientSecret: string },
): Promise<string> {
  const answer = await call(
    "POST",
    `${sandbox.sapiBaseUrl}/auth/token`,
    { "content-type": "application/json" },
    JSON.stringify({ grant_type: "client_credentials", client_id: key.clientId, client_secret: key.clientSecret }),
  );
  return String(expectStatus(answer, 200, "token").json["access_token"]);
}

/** Asks until there is an answer. @throws DemoFailure when there is none in time */
export async function poll<T>(ask: () => Promise<T | undefined>, what: string): Promise<T> {
  const start = systemClock.monotonic();
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    const waited_ms = systemClock.monotonic() - start;
    if (waited_ms > LIMITS.demo_delivery_ms)
      throw new DemoFailure(`${what}: nothing within ${LIMITS.demo_delivery_ms / 1000} s`);
    // Seldomer the longer it takes: each question counts against the key's minute.
    await pause(Math.max(LIMITS.demo_poll_ms, waited_ms / 4));
  }
}
