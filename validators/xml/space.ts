/** White space of XML: blank, tab, line feed and carriage return. */

/** Whether an octet or a UTF-16 unit is white space; none is not. */
export const isSpace = (unit: number | undefined): boolean =>
  unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;

/**
 * The text without white space at both ends, as simple types other than string have it. Without a regular expression,
 * which would look for the end of the text behind every blank within it.
 */
export function trim(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && isSpace(text.charCodeAt(start))) start++;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}
