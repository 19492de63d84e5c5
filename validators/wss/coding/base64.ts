/** Base64 as XML Schema has it: white space is ignored, everything else must be exact. */

/**
 * The octets, or undefined when the text is not base64. `Buffer.from` alone skips what it does not know and ignores
 * stray bits in the last character, so that one value would have many spellings; the way back shows both.
 */
export function decodeBase64(text: string): Buffer | undefined {
  const compact = compactBase64(text);
  const bytes = Buffer.from(compact, "base64");
  return bytes.toString("base64") === compact ? bytes : undefined;
}

/** The text without white space. */
export const compactBase64 = (text: string): string =>
  /[ \t\r\n]/.test(text) ? text.replace(/[ \t\r\n]+/g, "") : text;
