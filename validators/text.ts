/** Cuts text that strangers wrote. The only place of the workers that may. */

/**
 * The first characters of a text, counted in code points: cut between the halves of one, a text is none that a database
 * takes.
 * @param max  code points; reads no further than it cuts
 */
export function firstChars(text: string, max: number): string {
  if (text.length <= max) return text;
  let end = 0;
  for (let taken = 0; taken < max && end < text.length; taken++) end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
  return text.slice(0, end);
}

/** The last characters of a text, counted in code points. */
export function lastChars(text: string, max: number): string {
  if (text.length <= max) return text;
  let start = text.length;
  for (let taken = 0; taken < max && start > 0; taken++) {
    const isPair = start > 1 && (text.codePointAt(start - 2) ?? 0) > 0xffff;
    start -= isPair ? 2 : 1;
  }
  return text.slice(start);
}
