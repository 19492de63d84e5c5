/** A text of strangers as people may read it. */
import { firstChars } from "../text.js";
import { VALUE_CHARS_MAX } from "./bounds.js";

/** Stands where a text was cut, in every language. */
const CUT = "[\u2026]";
/**
 * Signs that turn the direction of what follows: with them a page shows digits of an account, or the ending of a file's
 * name, in another order than the document has them. Letters have directions of their own and need none of these.
 */
const DIRECTION_SIGNS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** @returns "" where nothing is left that can be seen */
export function shownText(text: string): string {
  const first = firstChars(text, VALUE_CHARS_MAX);
  const plain = first.replace(DIRECTION_SIGNS, "").trim();
  return first.length < text.length ? `${plain} ${CUT}` : plain;
}
