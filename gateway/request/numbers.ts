/**
 * Numbers of a JSON text that vanish in a double: 0.1e-400 becomes 0 in it, and whoever reads the value takes it for a
 * nothing that the client has written. Their text becomes one that is infinite when it is read, as 1e400 is, which
 * every member refuses by its name. A number that only loses digits is left: members that count digits refuse it.
 */
const FORM = /^(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/u;
const BEYOND = "1e999";
/** Shorter numbers need an exponent to vanish: a double tells some three hundred zeros behind the point. */
const VANISHING_CHARS = 300;

const isPart = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) || code === 0x2e || code === 0x65 || code === 0x45 || code === 0x2b || code === 0x2d;

/** Where a number ends whose first digit stands at `from`. */
export function endOfNumber(text: string, from: number): number {
  let end = from + 1;
  while (end < text.length && isPart(text.charCodeAt(end))) end++;
  return end;
}

function hasExponent(text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if ((text.charCodeAt(at) | 0x20) === 0x65) return true;
  return false;
}

/** Whether the number between two places is none of JSON's zeros, and 0 as a double; without its sign. */
export function vanishes(text: string, from: number, to: number): boolean {
  if (to - from < VANISHING_CHARS && !hasExponent(text, from, to)) return false;
  const written = text.slice(from, to);
  return Number(written) === 0 && /^[0-9.]*[1-9]/u.test(written) && FORM.test(written);
}

/** A text in which the numbers at these places are infinite. */
export function withInfinite(text: string, places: readonly (readonly [from: number, to: number])[]): string {
  let at = 0;
  const parts: string[] = [];
  for (const [from, to] of places) {
    parts.push(text.slice(at, from), BEYOND);
    at = to;
  }
  return parts.join("") + text.slice(at);
}
