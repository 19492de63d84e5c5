/** Classes of bytes, one table look-up each, and the names of XML 1.0. */

const table = (rows: readonly (readonly [number, string | readonly [number, number]])[]): Uint8Array => {
  const classes = new Uint8Array(256);
  for (const [value, bytes] of rows) {
    if (typeof bytes === "string") for (const c of bytes) classes[c.charCodeAt(0)] = value;
    else classes.fill(value, bytes[0], bytes[1] + 1);
  }
  return classes;
};

/** Classes of bytes in text and in attribute values. `plain` is 0, so that a loop over text tests for truth. */
export const BYTE = {
  plain: 0,
  less: 1,
  ampersand: 2,
  bracket: 3,
  return: 4,
  high: 5,
  ef: 6,
  control: 7,
  quote: 8,
  space: 9,
} as const;

/** Bytes of character data. NUL counts as control; the scanner puts one behind the last byte and so needs no bounds. */
export const TEXT_BYTES = table([
  [BYTE.control, [0x00, 0x1f]],
  [BYTE.plain, "\t\n"],
  [BYTE.return, "\r"],
  [BYTE.less, "<"],
  [BYTE.ampersand, "&"],
  [BYTE.bracket, "]"],
  [BYTE.high, [0x80, 0xff]],
  [BYTE.ef, [0xef, 0xef]],
]);

/** Bytes of attribute values. */
export const VALUE_BYTES = table([
  [BYTE.control, [0x00, 0x1f]],
  [BYTE.space, "\t\n\r"],
  [BYTE.less, "<"],
  [BYTE.ampersand, "&"],
  [BYTE.quote, "\"'"],
  [BYTE.high, [0x80, 0xff]],
  [BYTE.ef, [0xef, 0xef]],
]);

/** Bytes that may stand in a name (1) or not (0). Whether the name is well formed is checked once per spelling. */
export const NAME_BYTES = table([
  [1, [0x30, 0x39]],
  [1, [0x41, 0x5a]],
  [1, [0x61, 0x7a]],
  [1, "_-.:"],
  [1, [0x80, 0xff]],
]);

/** Bytes with which a name, or the half of one behind its colon, may begin (1). */
export const NAME_START_BYTES = table([
  [1, [0x41, 0x5a]],
  [1, [0x61, 0x7a]],
  [1, "_"],
  [1, [0x80, 0xff]],
]);

/** White space of XML. */
export const SPACE_BYTES = table([[1, " \t\n\r"]]);

/** NameStartChar and NameChar of XML 1.0, fifth edition, without the colon. @source XML 1.0 section 2.3 */
const NAME_START =
  "A-Z_a-z\\u{C0}-\\u{D6}\\u{D8}-\\u{F6}\\u{F8}-\\u{2FF}\\u{370}-\\u{37D}\\u{37F}-\\u{1FFF}\\u{200C}-\\u{200D}" +
  "\\u{2070}-\\u{218F}\\u{2C00}-\\u{2FEF}\\u{3001}-\\u{D7FF}\\u{F900}-\\u{FDCF}\\u{FDF0}-\\u{FFFD}\\u{10000}-\\u{EFFFF}";
const NAME_REST = `${NAME_START}\\-.0-9\\u{B7}\\u{300}-\\u{36F}\\u{203F}-\\u{2040}`;
const NCNAME = new RegExp(`^[${NAME_START}][${NAME_REST}]*$`, "u");

/** A name without a colon. */
export const isNcName = (text: string): boolean => NCNAME.test(text);

/** Char of XML 1.0: what may stand in a document, also through a reference. */
export const isXmlCharacter = (code: number): boolean =>
  code >= 0x20
    ? code <= 0xd7ff || (code >= 0xe000 && code <= 0xfffd) || (code >= 0x10000 && code <= 0x10ffff)
    : code === 0x09 || code === 0x0a || code === 0x0d;
