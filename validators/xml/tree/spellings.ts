/**
 * Names and namespaces, one string for each spelling: a piece cut out of a message is compared octet by octet, and the
 * same few names are compared again and again; two strings of this table are the same when they are the same object.
 */

/** A qualified name as it was written, and its two halves. */
export interface Spelling {
  readonly name: string;
  /** Empty without a colon. */
  readonly prefix: string;
  readonly local: string;
}

/** What AS4, SMP and SBDH write is a few hundred names; what strangers add must not stay. */
const SPELLINGS_MAX = 1_024;
const CHARS_MAX = 256;

// Bounded: full tables are emptied, and begin anew with the names that are read next.
const names = new Map<string, Spelling>();
const texts = new Map<string, string>();

/** The name with its halves. @param name  at most one colon, with something on both sides of it */
export function spelling(name: string): Spelling {
  const known = names.get(name);
  if (known !== undefined) return known;
  const colon = name.indexOf(":");
  const made: Spelling = {
    name: asKey(name),
    prefix: colon < 0 ? "" : spelled(name.slice(0, colon)),
    local: spelled(name.slice(colon + 1)),
  };
  return kept(names, made.name, made);
}

/** The same text, as the one string of its spelling. */
export function spelled(text: string): string {
  const known = texts.get(text);
  if (known !== undefined) return known;
  const made = asKey(text);
  return kept(texts, made, made);
}

/** Keys of objects are strings of which the engine has one each; they share nothing with what they were cut out of. */
const asKey = (text: string): string => (text.length > CHARS_MAX ? text : (Object.keys({ [text]: 0 })[0] ?? text));

function kept<T>(table: Map<string, T>, key: string, value: T): T {
  if (key.length > CHARS_MAX) return value;
  if (table.size >= SPELLINGS_MAX) table.clear();
  table.set(key, value);
  return value;
}
