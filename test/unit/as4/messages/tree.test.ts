/** Goal: the tree takes well-formed XML as it is, and refuses everything else with a name and a place. */
import { describe, expect, test } from "vitest";
import {
  attributeOf,
  childElements,
  onlyChild,
  parseXml,
  parseXmlHead,
  textOf,
  XML_TREE_LIMITS,
} from "../../../../validators/xml/tree.js";
import type { XmlElement, XmlFault } from "../../../../validators/xml/tree.js";

const parse = (text: string | Buffer): ReturnType<typeof parseXml> => parseXml(Buffer.from(text));
const root = (text: string | Buffer): XmlElement => {
  const tree = parse(text);
  if (tree.kind === "refused") throw new Error(`${tree.fault} at ${tree.at}`);
  return tree.root;
};

describe("what it reads", () => {
  test("names, namespaces and values are read", () => {
    const element = root('<p:a xmlns:p="urn:p" xmlns="urn:d" p:x="1" y="2"><b/></p:a>');
    expect(element).toMatchObject({ prefix: "p", local: "a", ns: "urn:p" });
    expect([attributeOf(element, "x", "urn:p"), attributeOf(element, "y"), attributeOf(element, "x")]).toEqual([
      "1",
      "2",
      undefined,
    ]);
    expect(onlyChild(element, "urn:d", "b")).toMatchObject({ prefix: "", ns: "urn:d" });
  });

  test("references, CDATA and line ends are read as one text", () => {
    expect(textOf(root("<a>&lt;&#65;&#x1F600;&amp;<![CDATA[<b>&amp;]]>\r\nx\ry</a>"))).toBe("<A😀&<b>&amp;\nx\ny");
  });

  test("white space in attributes is read by the rules: literal becomes a space, a reference stays", () => {
    expect(attributeOf(root('<a b="x\r\n\ty&#10;z"/>'), "b")).toBe("x  y\nz");
  });

  test("text beyond ASCII is read, in values and in names", () => {
    const element = root('<účet číslo="č">žltý</účet>');
    expect([element.local, attributeOf(element, "číslo"), textOf(element)]).toEqual(["účet", "č", "žltý"]);
  });

  test("a byte-order mark, a declaration and comments around the root are read", () => {
    expect(
      parse(Buffer.from("\ufeff<?xml version='1.0' encoding='utf-8' standalone='yes'?>\n<!--a--><r/><!--b--> ")),
    ).toMatchObject({
      kind: "document",
      prolog: [{ value: "a" }],
      root: { local: "r" },
      epilog: [{ value: "b" }],
    });
  });

  test("the tree gives offsets in octets, so that the source can be cut out", () => {
    const source = Buffer.from('<?xml version="1.0"?><r>č<a b="š">ž</a></r>');
    const [child] = childElements(root(source));
    expect(source.subarray(child?.start, child?.end).toString()).toBe('<a b="š">ž</a>');
  });

  test("text with a comment or a child inside is no plain value", () => {
    expect(textOf(root("<a>1<!---->2</a>"))).toBeUndefined();
    expect(textOf(root("<a>1<b/></a>"))).toBeUndefined();
    expect(textOf(root("<a/>"))).toBe("");
  });
});

describe("what it refuses", () => {
  const cases: [string, XmlFault][] = [
    ["<!DOCTYPE a><a/>", "doctype"],
    ["<a/><!DOCTYPE a>", "doctype"],
    ["<?x?><a/>", "processing_instruction"],
    ["<a><?x?></a>", "processing_instruction"],
    ["<a/><?x?>", "processing_instruction"],
    [" <?xml version='1.0'?><a/>", "processing_instruction"],
    ["<?xml version='1.1'?><a/>", "malformed"],
    ["<?xml version='1.0' encoding='ISO-8859-1'?><a/>", "encoding"],
    ["", "malformed"],
    ["a", "malformed"],
    ["<a>", "malformed"],
    ["<a></b>", "malformed"],
    ["<a/><b/>", "malformed"],
    ["<a/>x", "malformed"],
    ["<a b=1/>", "malformed"],
    ["<a b='<'/>", "malformed"],
    ["<a b='1'c='2'/>", "malformed"],
    ["<a ", "malformed"],
    ["<a b", "malformed"],
    ["<a b='", "malformed"],
    ["<a>]]></a>", "malformed"],
    ["<a><!-- -- --></a>", "malformed"],
    ["<a><!--x</a>", "malformed"],
    ["<a><![CDATA[x</a>", "malformed"],
    ["<1/>", "malformed"],
    ["<a><!x></a>", "malformed"],
    ["<a b='1' b='2'/>", "duplicate_attribute"],
    ["<a xmlns:p='u' xmlns:q='u' p:b='' q:b=''/>", "duplicate_attribute"],
    ["<p:a/>", "namespace"],
    ["<a p:b=''/>", "namespace"],
    ["<a xmlns:p=''/>", "namespace"],
    ["<a:b:c/>", "namespace"],
    ["<a xmlns:xml='u'/>", "namespace"],
    ["<a xmlns:xmlns='u'/>", "namespace"],
    ["<a xmlns:p='http://www.w3.org/XML/1998/namespace'/>", "namespace"],
    ["<a xmlns='http://www.w3.org/2000/xmlns/'/>", "namespace"],
    ["<a>&nbsp;</a>", "entity"],
    ["<a>& </a>", "entity"],
    ["<a>&#0;</a>", "entity"],
    ["<a>&#xD800;</a>", "entity"],
    ["<a>&#x110000;</a>", "entity"],
    ["<a>&lt</a>", "entity"],
    ["<a>\0</a>", "character"],
    ["<a>\x1b</a>", "character"],
    ["<a>\uFFFE</a>", "character"],
    ["<a b='\x01'/>", "character"],
    ["<a×/>", "malformed"],
  ];
  test.each(cases)("the parser refuses %j: %s", (text, fault) => {
    expect(parse(text)).toMatchObject({ kind: "refused", fault });
  });

  test("octets that are not UTF-8 are refused: overlong, lone surrogate, UTF-16, windows-1250", () => {
    for (const bytes of ["3c61c0af3e", "3c613eeda0803c2f613e", "fffe3c006100", "3c613ee93c2f613e"]) {
      expect(parse(Buffer.from(bytes, "hex"))).toMatchObject({ kind: "refused", fault: "encoding" });
    }
  });

  test("counts above the caps are refused; at the caps it still reads", () => {
    const limits = { ...XML_TREE_LIMITS, bytes: 1_000, depth: 3, elements: 5, attributes: 2, declarations: 2 };
    const fault = (text: string): string => {
      const tree = parseXml(Buffer.from(text), limits);
      return tree.kind === "refused" ? tree.fault : "read";
    };
    expect([fault("<a><a><a/></a></a>"), fault("<a><a><a><a/></a></a></a>")]).toEqual(["read", "depth"]);
    expect([fault(`<a>${"<b/>".repeat(4)}</a>`), fault(`<a>${"<b/>".repeat(5)}</a>`)]).toEqual(["read", "elements"]);
    expect([fault(`<a>${"<!---->".repeat(4)}</a>`), fault(`<a>${"<!---->".repeat(5)}</a>`)]).toEqual([
      "read",
      "elements",
    ]);
    expect([fault("<a b='' c=''/>"), fault("<a b='' c='' xmlns:p='u'/>")]).toEqual(["read", "attributes"]);
    const declaring = (count: number): string => fault(`<a>${'<b xmlns:p="u"/>'.repeat(count)}</a>`);
    expect([declaring(2), declaring(3)]).toEqual(["read", "declarations"]);
    expect([fault(`<a>${"x".repeat(993)}</a>`), fault(`<a>${"x".repeat(994)}</a>`)]).toEqual(["read", "too_large"]);
  });
});

describe("the head of a large document", () => {
  const head = { ns: "urn:h", local: "head" };
  const text = '<r xmlns="urn:h"><!--c--><head><x>1</x></head><body><unread';

  test("the head of a large document is read without the rest", () => {
    const found = parseXmlHead(Buffer.from(text), head);
    expect(found).toMatchObject({
      kind: "head",
      root: { local: "r", end: 0 },
      head: { local: "head" },
      next: text.indexOf("<body"),
    });
  });

  test("the head of a large document must come first", () => {
    expect(parseXmlHead(Buffer.from('<r xmlns="urn:h"><x/><head/></r>'), head)).toMatchObject({
      kind: "refused",
      fault: "malformed",
    });
    expect(parseXmlHead(Buffer.from('<r xmlns="urn:h"/>'), head)).toMatchObject({
      kind: "refused",
      fault: "malformed",
    });
  });

  test("the head of a large document must be UTF-8 and inside its cap", () => {
    expect(parseXmlHead(Buffer.from('<r xmlns="urn:h"><head>\xe9</head>', "latin1"), head)).toMatchObject({
      kind: "refused",
      fault: "encoding",
    });
    expect(
      parseXmlHead(Buffer.from(`<r xmlns="urn:h"><head>${"x".repeat(5_000)}</head>`), head, {
        ...XML_TREE_LIMITS,
        bytes: 1_000,
      }),
    ).toMatchObject({ kind: "refused", fault: "malformed" });
  });
});
