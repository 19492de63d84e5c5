/**
 * Buttons that are pressed twice. A browser drops the answer to a press when another comes before it, and the cookie of
 * that answer with it: whoever pressed twice was told that the code was used up, and was not signed in.
 */
import { createHash } from "node:crypto";

import { BoundedMap } from "../../../engine/base/bounded.js";
import type { Clock } from "../../../engine/base/clock.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { FORM_TOKEN_FIELD } from "./page.js";
import type { BrowserTokens } from "./visitor.js";

/** A form as it came. */
interface Press {
  /** Where the form goes. */
  readonly form: string;
  /** What its fields hold, the form's token among them. */
  readonly fields: readonly (string | undefined)[];
  /** What the browser's cookie holds. */
  readonly token: string | undefined;
  readonly address: string;
  /** What the browser says of the page that sent the form. */
  readonly origin: readonly (string | undefined)[];
}

interface PressedRequest {
  readonly address: string;
  readonly body: { readonly [FORM_TOKEN_FIELD]?: string | undefined };
  header(name: string): string | undefined;
}

/** @param fields  what the form holds beside its token */
export const pressOf = (
  tokens: Pick<BrowserTokens, "tokenOf">,
  request: PressedRequest,
  form: string,
  fields: readonly (string | undefined)[] = [],
): Press => ({
  form,
  fields: [request.body[FORM_TOKEN_FIELD], ...fields],
  token: tokens.tokenOf(request),
  address: request.address,
  origin: [request.header("origin"), request.header("sec-fetch-site")],
});

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** The answers of one kind of pages. */
export interface Presses<Reply extends Answer> {
  /**
   * Answers a form; the same one from the same browser within LIMITS.press_again_ms is answered as the first time, and
   * nothing is done. Only what leads on is kept: a form with something wrong in it is judged each time.
   * @param answer  judges the form and does what it asks for
   * @throws what `answer` throws
   */
  once(press: Press, answer: () => Promise<Reply>): Promise<Reply>;
}

interface Kept<Reply> {
  readonly at: number;
  readonly token: string | undefined;
  readonly reply: Promise<Reply>;
}

/** Everything by which a form is judged but the cookie, which the first answer has changed. */
const keyOf = ({ form, fields, address, origin }: Press): string =>
  createHash("sha256")
    .update(JSON.stringify([form, fields, address, origin]))
    .digest("base64url");

/** Whether an answer leads on and gives the browser a token, by which the next press may be known. */
const leadsOn = (reply: Answer): boolean => reply.status === 303 && reply.headers["Set-Cookie"] !== undefined;

const gives = (reply: Answer, token: string): boolean =>
  reply.headers["Set-Cookie"]?.split(";")[0]?.endsWith(`=${token}`) === true;

/** Knows a press again by the token that the form was sent with, or by the one that the answer has put in its place. */
async function answerTo<Reply extends Answer>(
  kept: Kept<Reply>,
  token: string | undefined,
): Promise<Reply | undefined> {
  // Whoever pressed first is told what went wrong.
  const reply = await kept.reply.catch(() => undefined);
  if (reply === undefined || token === undefined || !leadsOn(reply)) return undefined;
  return token === kept.token || gives(reply, token) ? reply : undefined;
}

/** Remembers the answers of one process for a moment. */
export function createPresses<Reply extends Answer>(clock: Pick<Clock, "monotonic">): Presses<Reply> {
  // Bounded by LIMITS.presses_known_max.
  const known = new BoundedMap<string, Kept<Reply>>(LIMITS.presses_known_max);
  return {
    once: async (press, answer) => {
      const at = clock.monotonic();
      known.dropWhile((kept) => at - kept.at >= LIMITS.press_again_ms);
      const key = keyOf(press);
      const first = known.get(key);
      const again = first === undefined ? undefined : await answerTo(first, press.token);
      if (again !== undefined) return again;
      const reply = answer();
      // What is still known has led another browser on, which may press again.
      if (known.has(key)) return reply;
      const kept = { at, token: press.token, reply };
      known.set(key, kept);
      const forget = (): void => {
        clearTimeout(timer);
        if (known.get(key) === kept) known.delete(key);
      };
      // An answer holds the token of a session as it is, which otherwise the browser alone has.
      const timer = setTimeout(forget, LIMITS.press_again_ms).unref();
      void reply.then((given) => {
        if (!leadsOn(given)) forget();
      }, forget);
      return reply;
    },
  };
}
