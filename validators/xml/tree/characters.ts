/** Characters and names of XML 1.0, fifth edition, for the small tree. */

const NAME_START =
  "A-Z_a-z\\u{C0}-\\u{D6}\\u{D8}-\\u{F6}\\u{F8}-\\u{2FF}\\u{370}-\\u{37D}\\u{37F}-\\u{1FFF}\\u{200C}-\\u{200D}" +
  "\\u{2070}-\\u{218F}\\u{2C00}-\\u{2FEF}\\u{3001}-\\u{D7FF}\\u{F900}-\\u{FDCF}\\u{FDF0}-\\u{FFFD}\\u{10000}-\\u{EFFFF}";
const NCNAME = `[${NAME_START}][${NAME_START}\\-.0-9\\u{B7}\\u{300}-\\u{36F}\\u{203F}-\\u{2040}]*`;
const QNAME = new RegExp(`^${NCNAME}(?::${NCNAME})?$`, "u");

/**
 * Whether the text is a qualified name: one NCName, or two with a colon between them. @source Namespaces in XML 1.0
 * section 4
 */
export const isQualifiedName = (text: string): boolean => QNAME.test(text);

/** Whether the code point may stand in a document, also through a reference. @source XML 1.0 section 2.2 */
export const codePointIsXmlChar = (code: number): boolean =>
  code >= 0x20
    ? code <= 0xd7ff || (code >= 0xe000 && code <= 0xfffd) || (code >= 0x10000 && code <= 0x10ffff)
    : code === 0x09 || code === 0x0a || code === 0x0d;
