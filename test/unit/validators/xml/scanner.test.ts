/** What the scanner refuses, by name and place, and what it reads from what it accepts. */
import { describe, expect, test } from "vitest";
import { SCAN_LIMITS, Scanner } from "../../../../validators/xml/scanner.js";
import type { ScanLimits } from "../../../../validators/xml/limits.js";
import { XML_FAULTS } from "../../../../validators/xml/faults.js";
import type { XmlFaultId } from "../../../../validators/xml/faults.js";

const scanner = new Scanner();
const scan = (xml: string | Buffer, limits: Partial<ScanLimits> = {}) =>
  scanner.scan(typeof xml === "string" ? Buffer.from(xml) : xml, { ...SCAN_LIMITS, ...limits });

/** Rule id of the refusal, or "accepted". */
function verdict(xml: string | Buffer, limits: Partial<ScanLimits> = {}): string {
  const scanned = scan(xml, limits);
  return scanned.kind === "document" ? "accepted" : scanned.findings.map(({ ruleId }) => ruleId).join(" ");
}
const utf16 = (xml: string, bom: boolean): Buffer => Buffer.from((bom ? "\ufeff" : "") + xml, "utf16le");

const REFUSED: readonly (readonly [promise: string, xml: string | Buffer, fault: XmlFaultId])[] = [
  ["nothing", "", "XML-EMPTY"],
  ["white space only", " \n", "XML-NO-ELEMENT"],
  ["gzip", Buffer.from([0x1f, 0x8b, 8, 0]), "XML-IS-GZIP"],
  ["a PDF", "%PDF-1.7", "XML-IS-PDF"],
  ["a ZIP archive", "PK\u0003\u0004", "XML-IS-ZIP"],
  ["JSON", ' {"a": 1}', "XML-IS-JSON"],
  ["text without an element", "hello", "XML-TAG"],
  ["UTF-16 with a byte order mark", utf16("<a/>", true), "XML-ENCODING"],
  ["UTF-16 without one", utf16("<a/>", false), "XML-ENCODING"],
  ["UTF-16, big end first", Buffer.from([0xfe, 0xff, 0, 0x3c, 0, 0x61, 0, 0x2f, 0, 0x3e]), "XML-ENCODING"],
  ["UTF-32", Buffer.from([0, 0, 0xfe, 0xff, 0, 0, 0, 0x3c]), "XML-ENCODING"],
  ["a declared UTF-16", '<?xml version="1.0" encoding="UTF-16"?><a/>', "XML-ENCODING"],
  ["a declared UTF-7", '<?xml version="1.0" encoding="UTF-7"?>+ADw-a/+AD4-', "XML-ENCODING"],
  ["a declared windows-1250", '<?xml version="1.0" encoding="windows-1250"?><a/>', "XML-ENCODING"],
  ["EBCDIC", Buffer.from([0x4c, 0x6f, 0xa7, 0x94, 0x93]), "XML-UTF8"],
  ["a lone continuation byte", Buffer.from([0x3c, 0x61, 0x3e, 0x80, 0x3c, 0x2f, 0x61, 0x3e]), "XML-UTF8"],
  ["an overlong form", Buffer.from([0x3c, 0x61, 0x3e, 0xc0, 0xaf, 0x3c, 0x2f, 0x61, 0x3e]), "XML-UTF8"],
  ["an encoded surrogate", Buffer.from([0x3c, 0x61, 0x3e, 0xed, 0xa0, 0x80, 0x3c, 0x2f, 0x61, 0x3e]), "XML-UTF8"],
  ["a DOCTYPE", "<!DOCTYPE a><a/>", "XML-DOCTYPE"],
  ["a DOCTYPE in small letters", "<!doctype a><a/>", "XML-DOCTYPE"],
  ["a DOCTYPE behind the root", "<a/><!DOCTYPE a>", "XML-DOCTYPE"],
  ["a DOCTYPE inside the root", "<a><!DOCTYPE a></a>", "XML-DOCTYPE"],
  [
    "billion laughs",
    `<!DOCTYPE l [<!ENTITY a "ha">${"b"
      .repeat(9)
      .split("")
      .map((c, i) => `<!ENTITY ${c}${i} "&a;&a;">`)
      .join("")}]><l>&b8;</l>`,
    "XML-DOCTYPE",
  ],
  ["an external entity", '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', "XML-DOCTYPE"],
  ["an entity that nobody declared", "<a>&nbsp;</a>", "XML-REFERENCE"],
  ["an ampersand by itself", "<a>Smith & Sons</a>", "XML-REFERENCE"],
  ["a reference without an end", "<a>&amp</a>", "XML-REFERENCE"],
  ["a reference without digits", "<a>&#x;</a>", "XML-REFERENCE"],
  ["a malformed instruction before the root", "<?1?><a/>", "XML-INSTRUCTION"],
  ["a second declaration before the root", '<?xml version="1.0"?><?xml version="1.0"?><a/>', "XML-DECLARATION"],
  ["white space before the declaration", ' <?xml version="1.0"?><a/>', "XML-DECLARATION"],
  ["XML 1.1", '<?xml version="1.1"?><a/>', "XML-DECLARATION"],
  ["a second declaration", '<?xml version="1.0"?><?xml version="1.0"?><a/>', "XML-DECLARATION"],
  ["a declaration inside", '<a><?xml version="1.0"?></a>', "XML-DECLARATION"],
  ["NUL in text", "<a>\0</a>", "XML-CHARACTER"],
  ["NUL in a tag", "<a \0/>", "XML-CHARACTER"],
  ["NUL before the root", "\0 <a/>", "XML-CHARACTER"],
  ["a zero byte before <, as UTF-16 has it", "\0<a/>", "XML-ENCODING"],
  ["a control character", "<a>\u0008</a>", "XML-CHARACTER"],
  ["a control character in an attribute", '<a b="\u0001"/>', "XML-CHARACTER"],
  ["a control character in a comment", "<a><!--\u0001--></a>", "XML-CHARACTER"],
  ["a control character by reference", "<a>&#0;</a>", "XML-CHARACTER"],
  ["a surrogate by reference", "<a>&#xD800;</a>", "XML-CHARACTER"],
  ["U+FFFE", "<a>\ufffe</a>", "XML-CHARACTER"],
  ["U+FFFF in an attribute", '<a b="\uffff"/>', "XML-CHARACTER"],
  ["U+FFFF by reference", "<a>&#xFFFF;</a>", "XML-CHARACTER"],
  ["a code point that does not exist", "<a>&#x110000;</a>", "XML-CHARACTER"],
  ["two roots", "<a/><b/>", "XML-SECOND-ROOT"],
  ["text behind the root", "<a/>x", "XML-TRAILING"],
  ["NUL behind the root", "<a/>\0", "XML-TRAILING"],
  ["an end tag of another element", "<a><b></a></b>", "XML-END-TAG"],
  ["an end tag that is longer", "<a></ab>", "XML-END-TAG"],
  ["an end tag too many", "<a></a></a>", "XML-TRAILING"],
  ["an open element at the end", "<a><b></b>", "XML-TRUNCATED"],
  ["an end inside a start tag", "<a", "XML-TRUNCATED"],
  ["an end inside an attribute", '<a b="c', "XML-TRUNCATED"],
  ["an end inside a comment", "<a><!-- c", "XML-TRUNCATED"],
  ["an end inside CDATA", "<a><![CDATA[ c", "XML-TRUNCATED"],
  ["an end inside an end tag", "<a></a", "XML-TRUNCATED"],
  ["an attribute twice", '<a b="1" b="2"/>', "XML-ATTRIBUTE-REPEATED"],
  ["an attribute twice by its expanded name", '<a xmlns:p="u" xmlns:q="u" p:b="1" q:b="2"/>', "XML-ATTRIBUTE-REPEATED"],
  ["a declaration twice", '<a xmlns:p="u" xmlns:p="v"/>', "XML-ATTRIBUTE-REPEATED"],
  [
    "an attribute twice among many",
    `<a ${Array.from({ length: 20 }, (_, i) => `b${i}="1"`).join(" ")} b7="2"/>`,
    "XML-ATTRIBUTE-REPEATED",
  ],
  ["an attribute without value", "<a b/>", "XML-ATTRIBUTE"],
  ["an attribute without quotes", "<a b=c/>", "XML-ATTRIBUTE"],
  ["attributes without white space between them", '<a b="1"c="2"/>', "XML-ATTRIBUTE"],
  ["an unescaped < in an attribute", '<a b="<"/>', "XML-ATTRIBUTE"],
  ["a prefix that nobody declared", "<p:a/>", "XML-PREFIX"],
  ["… of an attribute", '<a p:b="1"/>', "XML-PREFIX"],
  ["… that was declared on a sibling", '<a><b xmlns:p="u"/><p:c/></a>', "XML-PREFIX"],
  ["a redefined xml prefix", '<a xmlns:xml="u"/>', "XML-NAMESPACE"],
  ["another prefix for the xml namespace", '<a xmlns:p="http://www.w3.org/XML/1998/namespace"/>', "XML-NAMESPACE"],
  ["a declared xmlns prefix", '<a xmlns:xmlns="u"/>', "XML-NAMESPACE"],
  ["the xmlns namespace", '<a xmlns="http://www.w3.org/2000/xmlns/"/>', "XML-NAMESPACE"],
  ["an element with the xmlns prefix", "<xmlns:a/>", "XML-NAMESPACE"],
  ["a prefix without a namespace", '<a xmlns:p=""/>', "XML-NAMESPACE"],
  ["]]> in text", "<a>]]></a>", "XML-CDATA-END"],
  ["two hyphens in a comment", "<a><!-- -- --></a>", "XML-COMMENT"],
  ["two colons in a name", '<a:b:c xmlns:a="u"/>', "XML-NAME"],
  ["a name that begins with a digit", "<1a/>", "XML-NAME"],
  ["a name with a character that names may not have", "<a×/>", "XML-NAME"],
  ["a name that ends in a colon", '<p: xmlns:p="u"/>', "XML-NAME"],
  ["white space before a name", "< a/>", "XML-TAG"],
  ["an instruction without a target", "<a><? x?></a>", "XML-INSTRUCTION"],
];

describe("refused by name", () => {
  test.each(REFUSED)("a document is refused by name: %s", (_, xml, fault) => {
    expect(verdict(xml)).toBe(fault);
  });

  test("every fault of the catalogue is shown by an example", () => {
    const shown = new Set<string>([
      ...REFUSED.map(([, , fault]) => fault),
      ...Object.keys(XML_FAULTS).filter((id) => id.startsWith("XML-LIMIT-")),
    ]);
    expect(Object.keys(XML_FAULTS).filter((id) => !shown.has(id))).toEqual([]);
  });

  test("a refusal is one fatal finding with line and place", () => {
    const scanned = scan("<a>\n <b>\n  <c>&x;</c>\n </b>\n</a>");
    expect(scanned).toMatchObject({
      kind: "refused",
      findings: [{ ruleId: "XML-REFERENCE", layer: "xml", severity: "fatal", location: "/a/b/c", line: 3 }],
    });
  });
});

describe("limits, exactly", () => {
  const nested = (n: number): string => "<a>".repeat(n) + "</a>".repeat(n);
  const attributes = (n: number): string => `<a ${Array.from({ length: n }, (_, i) => `b${i}="1"`).join(" ")}/>`;
  const siblings = (n: number): string => `<a>${"<b/>".repeat(n - 1)}</a>`;
  const declarations = (n: number): string =>
    `<a>${Array.from({ length: n }, (_, i) => `<b xmlns:p${i % 7}="u${i}"/>`).join("")}</a>`;
  const names = (n: number): string => `<a>${Array.from({ length: n - 1 }, (_, i) => `<b${i}/>`).join("")}</a>`;

  test.each([
    ["depth", { depth: 5 }, nested(5), nested(6), "XML-LIMIT-DEPTH"],
    ["attributes of one element", { attributesPerElement: 5 }, attributes(5), attributes(6), "XML-LIMIT-ATTRIBUTES"],
    ["elements", { elements: 5 }, siblings(5), siblings(6), "XML-LIMIT-ELEMENTS"],
    ["namespace declarations", { namespaceDeclarations: 5 }, declarations(5), declarations(6), "XML-LIMIT-NAMESPACES"],
    ["length of a name", { nameLength: 5 }, "<abcde/>", "<abcdef/>", "XML-LIMIT-NAME-LENGTH"],
    ["different names", { names: 5 }, names(5), names(6), "XML-LIMIT-NAMES"],
    ["bytes", { payloadBytes: 5 }, "<ab/>", "<abc/>", "XML-LIMIT-PAYLOAD"],
  ] as const)("a limit holds exactly: %s", (_, limits, last, tooMuch, fault) => {
    expect(verdict(last, limits)).toBe("accepted");
    expect(verdict(tooMuch, limits)).toBe(fault);
  });

  test("100,000-deep nesting, a million attributes and a million declarations are refused by the start values", () => {
    expect(verdict(nested(100_000))).toBe("XML-LIMIT-DEPTH");
    expect(verdict(attributes(1_000_000))).toBe("XML-LIMIT-ATTRIBUTES");
    expect(verdict(declarations(1_000_000), { payloadBytes: 100_000_000 })).toBe("XML-LIMIT-NAMESPACES");
    expect(verdict(names(1_000_000))).toBe("XML-LIMIT-NAMES");
  });

  test("a million siblings and a text of 15 MB are read", () => {
    expect(verdict(siblings(1_000_000))).toBe("accepted");
    expect(verdict(`<a>${"x".repeat(15_000_000)}</a>`)).toBe("accepted");
    expect(verdict("<a/>")).toBe("accepted");
  });

  test("200,000 hostile names leave the process-wide table as it was, and the next document reads well", async () => {
    const { internedNames } = await import("../../../../validators/xml/names.js");
    const before = internedNames();
    scan(names(200_000), { names: 2_000_000 });
    expect(internedNames()).toBe(before);
    expect(verdict('<b7 xmlns:p="u" p:c="d"/>')).toBe("accepted");
  });
});

describe("read as XML prescribes", () => {
  const read = (xml: string): string => {
    const scanned = scan(xml);
    if (scanned.kind !== "document") throw new Error(scanned.findings[0]?.ruleId);
    return scanned.document.text(0);
  };
  const attribute = (xml: string): string => {
    const scanned = scan(xml);
    if (scanned.kind !== "document") throw new Error(scanned.findings[0]?.ruleId);
    return scanned.document.attrValue(0, 0);
  };

  test.each([
    ["predefined entities", "<a>&lt;&gt;&amp;&apos;&quot;</a>", "<>&'\""],
    ["character references", "<a>&#65;&#x42;&#x1F600;&#x0041;</a>", "AB😀A"],
    ["CDATA", "<a>x<![CDATA[<b>&amp;]]]]><![CDATA[>]]>y</a>", "x<b>&amp;]]>y"],
    ["comments and instructions between text", "<a>1<!-- 2 -->3<?p 4?>5</a>", "135"],
    ["text of descendants in order", "<a>1<b>2<c>3</c></b>4<d/>5</a>", "12345"],
    ["a tag whose attribute holds >", '<a><b c=">">1</b>2</a>', "12"],
    ["line ends", "<a>1\r\n2\r3\n4&#13;</a>", "1\n2\n3\n4\r"],
    ["beyond ASCII", "<a>Účtáreň €😀</a>", "Účtáreň €😀"],
    ["a document with a byte order mark", "\ufeff<a>1</a>", "1"],
    ["single quotes in the declaration", "<?xml version='1.0' encoding='utf-8' standalone='yes'?><a>1</a>", "1"],
    ["a comment before and behind the root", "<!-- x --><a>1</a><!-- y --><?p?>\n", "1"],
  ])("a document is read as XML prescribes: %s", (_, xml, text) => {
    expect(read(xml)).toBe(text);
  });

  test.each([
    ["white space becomes spaces", '<a b="1\t2\n3\r\n4"/>', "1 2 3 4"],
    ["white space by reference stays", '<a b="1&#9;2&#10;3"/>', "1\t2\n3"],
    ["references", '<a b="&lt;&#x41;&amp;"/>', "<A&"],
    ["the other quote", `<a b='"'/>`, '"'],
    ["beyond ASCII", '<a b="č>"/>', "č>"],
  ])("an attribute is read as XML prescribes: %s", (_, xml, value) => {
    expect(attribute(xml)).toBe(value);
  });

  test("bytes in the middle of a larger buffer are read alone", () => {
    const slab = Buffer.from("<x/><a>1</a><y/>");
    const scanned = scan(slab.subarray(4, 12));
    expect(scanned.kind === "document" && scanned.document.text(0)).toBe("1");
  });
});
