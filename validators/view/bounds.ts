/** How much of a document is shown. A page or a file of paper that holds more helps no reader; the XML holds all. */

/** Longer values are cut after so many characters, and say so. */
export const VALUE_CHARS_MAX = 20_000;
/** Entries of every list but the lines: notes, references, allowances, taxes, attachments. */
export const ENTRIES_MAX = 200;
/** Lines shown; ten thousand are about 400 pages of paper. */
export const LINES_MAX = 10_000;
