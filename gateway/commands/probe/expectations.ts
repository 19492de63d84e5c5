/** What may come of a case of the probe, and how that is read. */
import type { Seen } from "./wire.js";

/** What must come of a case. */
export interface Expectation {
  /** Behind "expected". */
  readonly words: string;
  readonly holds: (seen: Seen) => boolean;
}

const first = ({ answers }: Seen): number => answers[0]?.status ?? 0;
const isRefusal = (status: number): boolean => status >= 400 && status !== 500;

/** Refused by an answer, or by the end of the connection; 500 is a fault, not a refusal. */
export const REFUSED: Expectation = {
  words: "a refusal (4xx), or the end of the connection, and no second answer",
  holds: (seen) => seen.answers.length <= 1 && (seen.answers.length === 0 ? seen.isEnded : isRefusal(first(seen))),
};
/** Nothing behind a body is served. */
export const ONE_ANSWER: Expectation = {
  words: "one answer at the most: nothing behind the body is a request",
  holds: ({ answers }) => answers.length <= 1,
};
/** What is not whole is not done. */
export const NOT_SERVED: Expectation = {
  words: "no success: what is not whole is not done",
  holds: ({ answers }) => answers.length <= 1 && answers.every(({ status }) => isRefusal(status)),
};
/** Nobody knows the caller. */
export const UNAUTHORIZED: Expectation = { words: "401", holds: (seen) => first(seen) === 401 };
/** What is the operators' is not shown to others. */
export const NOT_THERE: Expectation = {
  words: "nothing of it: 401, 403 or 404",
  holds: (seen) => [401, 403, 404].includes(first(seen)),
};
/** Pages of other sites read nothing. */
export const NO_PERMISSION: Expectation = {
  words: "no Access-Control-Allow-Origin",
  holds: ({ answers }) =>
    answers.length === 1 && !answers.some(({ head }) => /^access-control-allow-origin:/m.test(head)),
};
/** What a request says makes no header. */
export const NO_HEADER: Expectation = {
  words: "no header that the request has made",
  holds: ({ answers }) => answers.length === 1 && !answers.some(({ head }) => /^x-probe:/m.test(head)),
};
/** Who takes too long is not waited for. */
export const ENDED: Expectation = {
  words: "the end of the connection, or a refusal, before its time is over",
  holds: (seen) => (seen.isEnded || isRefusal(first(seen))) && !seen.answers.some(({ status }) => status < 400),
};
/** An ebMS error comes with 200; a receipt would say that the message was taken. */
export const NO_RECEIPT: Expectation = {
  words: "a refusal (4xx or an ebMS error), no receipt, nothing unpacked",
  holds: (seen) =>
    seen.answers.length === 1 &&
    seen.answers.every(
      ({ status, body }) => (isRefusal(status) || /EBMS:\d{4}/.test(body)) && !/:Receipt[\s>]|lollol|root:/.test(body),
    ),
};
/** A document is judged, and nothing in it is followed. */
export const JUDGED_INVALID: Expectation = {
  words: "a refusal, or a verdict that it is invalid; nothing unpacked",
  holds: (seen) =>
    seen.answers.length === 1 &&
    seen.answers.every(
      ({ status, body }) => (isRefusal(status) || /"valid": ?false/.test(body)) && !/lollol|root:/.test(body),
    ),
};
/** Refused in words. */
export const NO_SUCCESS: Expectation = {
  words: "a refusal (4xx)",
  holds: (seen) => seen.answers.length === 1 && isRefusal(first(seen)),
};
