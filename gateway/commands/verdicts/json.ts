/** JSON that a terminal shows and does not obey: its escapes are the same texts to whoever reads it. */

/** Of these JSON escapes the first 32 alone; U+009B begins a command to a terminal as the escape character does. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

const escaped = (mark: string): string =>
  [...Array(mark.length).keys()].map((at) => `\\u${mark.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");

/** On one line, with what would move the cursor or turn the text round as its number. */
export const lineOfJson = (value: unknown): string => JSON.stringify(value).replace(UNSEEN, escaped);
