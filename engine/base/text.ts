/**
 * Cuts text that strangers wrote. The only place of the engine and the gateway that may; the workers have one of their
 * own.
 */

/**
 * The first characters of a text, counted in code points. What is no text at all, half a surrogate pair or U+0000,
 * becomes U+FFFD: Postgres takes neither.
 * @param max  code points; reads no further than it cuts
 */
export function firstChars(text: string, max: number): string {
  let end = text.length > max ? 0 : text.length;
  for (let taken = 0; taken < max && end < text.length; taken++) end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
  return text.slice(0, end).replace(UNSTORABLE, "\u{fffd}");
}

/** Whether a text has more characters, counted in code points as schemas do. @param max  reads little further */
export const isLonger = (text: string, max: number): boolean =>
  text.length > max && (text.length > 2 * max || Array.from(text).length > max);

const UNSTORABLE = /[\0\u{d800}-\u{dfff}]/gu;
