/**
 * Numbers of a JSON text that a double does not hold: 0.1e-400 becomes 0 in it, and 0.30000000000000000001 becomes 0.3,
 * so that whoever reads the value cannot tell. Their text becomes one that is infinite when it is read, which every
 * member refuses by its name.
 */
import { LIMITS } from "../../engine/base/limits.js";

const FORM = /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/u;
const BEYOND = "1e999";

const isPart = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) || code === 0x2e || code === 0x65 || code === 0x45 || code === 0x2b || code === 0x2d;

/** Where a number ends whose first digit stands at `from`. */
export function endOfNumber(text: string, from: number): number {
  let end = from + 1;
  while (end < text.length && isPart(text.charCodeAt(end))) end++;
  return end;
}

/** Whether a double is another number than the text between two places, without its sign. */
export function isChanged(text: string, from: number, to: number): boolean {
  if (to - from > LIMITS.json_number_chars_max) return true;
  const written = text.slice(from, to);
  // Every number of so many digits is held, unless it is too large or too small.
  if (written.length <= LIMITS.json_number_digits_max && !/[eE]/u.test(written)) return false;
  const [value, held] = [written, String(Number(written))].map(valueOf);
  return value !== undefined && held !== undefined && value !== held;
}

/** The same text for the same number: `15e-1` for 1.50; undefined for what is none, or infinite. */
function valueOf(written: string): string | undefined {
  const [, whole, fraction = "", power = "0"] = FORM.exec(written) ?? [];
  if (whole === undefined) return undefined;
  const digits = (whole + fraction).replace(/^0+/u, "");
  const significant = digits.replace(/0+$/u, "");
  return significant === ""
    ? "0"
    : `${significant}e${Number(power) - fraction.length + digits.length - significant.length}`;
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
