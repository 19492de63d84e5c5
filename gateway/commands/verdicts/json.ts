/** JSON that a terminal shows and does not obey: its escapes are the same texts to whoever reads it. */
import { UNSEEN } from "../terminal.js";

/** Each of its units in UTF-16 by number. */
const escaped = (mark: string): string =>
  mark
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");

/** On one line, with each mark of UNSEEN as its number; JSON itself writes only the first 32 of them so. */
export const lineOfJson = (value: unknown): string => JSON.stringify(value).replace(UNSEEN, escaped);
