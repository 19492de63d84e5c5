/** The compact document as rules see it. */
import { expect, test } from "vitest";
import { NONE } from "../../../../validators/xml/document.js";
import type { XmlDocument } from "../../../../validators/xml/document.js";
import { attr, cac, cbc, internName, nameOf, NS, roots } from "../../../../validators/xml/names.js";
import { SCAN_LIMITS, Scanner } from "../../../../validators/xml/scanner.js";

const unit = internName("urn:test", "unit");
const HEAD = `<Invoice xmlns="${NS.Invoice}" xmlns:cac="${NS.cac}" xmlns:cbc="${NS.cbc}"`;

function read(xml: string): XmlDocument {
  const scanned = new Scanner().scan(Buffer.from(xml), SCAN_LIMITS);
  if (scanned.kind !== "document") throw new Error(JSON.stringify(scanned.findings));
  return scanned.document;
}

const invoice = (): XmlDocument =>
  read(`${HEAD}>
  <cbc:ID schemeID="a" xmlns:t="urn:test" t:unit="b">1</cbc:ID>
  <cbc:Note>x</cbc:Note>
  <cac:InvoiceLine><cbc:ID>1</cbc:ID><cac:Item><cbc:Name>A</cbc:Name></cac:Item></cac:InvoiceLine>
  <cac:InvoiceLine><cbc:ID>2</cbc:ID></cac:InvoiceLine>
  <cbc:Note>y</cbc:Note>
</Invoice>`);

test("names are interned: the same integer in every document, whatever prefix it writes", () => {
  const d = read(
    `<i:Invoice xmlns:i="${NS.Invoice}"><ID xmlns="${NS.cbc}">1</ID><q:ID xmlns:q="${NS.cbc}">2</q:ID></i:Invoice>`,
  );
  expect(d.name(0)).toBe(roots.Invoice);
  expect([d.name(1), d.name(2)]).toEqual([cbc.ID, cbc.ID]);
  expect(nameOf(cbc.ID)).toEqual({ namespace: NS.cbc, local: "ID" });
});

test("a known prefix bound to another namespace does not make a known name, also not for the next document", () => {
  const d = read('<a xmlns:cbc="urn:other"><cbc:ID/></a>');
  expect(d.name(1)).not.toBe(cbc.ID);
  expect(d.expanded(d.name(1))).toMatchObject({ namespace: "urn:other", local: "ID" });
  expect(invoice().name(1)).toBe(cbc.ID);
});

test("tree: parent, first, next, end, children by name", () => {
  const d = invoice();
  const [first, second] = Array.from(d.all(cac.InvoiceLine));
  expect([d.parent(0), d.first(0), d.next(0)]).toEqual([NONE, 1, NONE]);
  expect(d.child(0, cac.InvoiceLine)).toBe(first);
  expect(d.nextSame(first ?? 0)).toBe(second);
  expect(d.nextSame(second ?? 0)).toBe(NONE);
  expect(d.countChildren(0, cbc.Note)).toBe(2);
  expect(d.has(0, cac.Delivery)).toBe(false);
  expect(d.end(first ?? 0)).toBe(second);
  expect(d.end(0)).toBe(d.count);
  expect(Array.from(d.all(cbc.ID), (e) => d.text(e))).toEqual(["1", "1", "2"]);
  expect(d.all(cac.Delivery)).toHaveLength(0);
  expect(d.text(first ?? 0)).toBe("1A");
});

test("the index of names also holds names that only this document knows", () => {
  const d = read("<a><zz/><b><zz/></b></a>");
  expect(Array.from(d.all(d.name(1)))).toEqual([1, 3]);
});

test("a name that is interned later is not mistaken for a name of the document", () => {
  const d = read("<a><b/><c/></a>");
  expect(d.all(d.name(1))).toHaveLength(1);
  expect([1, 2, 3].map((n) => d.all(internName("urn:late", `late${n}`)).length)).toEqual([0, 0, 0]);
});

test("attributes: declarations are not among them; absent is undefined", () => {
  const d = invoice();
  expect(d.attrCount(1)).toBe(2);
  expect([d.attr(1, attr.schemeID), d.attr(1, unit), d.attr(1, attr.currencyID)]).toEqual(["a", "b", undefined]);
  expect([d.hasAttr(1, attr.schemeID), d.hasAttr(0, attr.schemeID)]).toEqual([true, false]);
  expect([d.attrName(1, 0), d.attrValue(1, 1)]).toEqual([attr.schemeID, "b"]);
  expect(d.attrCount(0)).toBe(0);
});

test("locations use the usual prefixes, and positions only where siblings share a name", () => {
  const d = read(
    `<x:Invoice xmlns:x="${NS.Invoice}" xmlns:q="${NS.cac}" xmlns:b="${NS.cbc}"><b:ID/><q:InvoiceLine/><q:InvoiceLine><b:ID/><z xmlns="urn:z"/></q:InvoiceLine></x:Invoice>`,
  );
  expect(Array.from({ length: d.count }, (_, e) => d.path(e))).toEqual([
    "/Invoice",
    "/Invoice/cbc:ID",
    "/Invoice/cac:InvoiceLine[1]",
    "/Invoice/cac:InvoiceLine[2]",
    "/Invoice/cac:InvoiceLine[2]/cbc:ID",
    "/Invoice/cac:InvoiceLine[2]/z",
  ]);
});

test("a location of many long names is cut in its middle", () => {
  const d = read(`${"<".concat("n".repeat(200), ">").repeat(50)}${`</${"n".repeat(200)}>`.repeat(50)}`);
  expect(d.path(49).length).toBeLessThan(2_100);
  expect(d.path(49)).toContain("…");
});

test("lines count from 1 and end with LF, CR LF or CR, also beyond the first block of the index", () => {
  const d = read(`<a>\n<b/>\r\n<b/>\r<b/>${"\n".repeat(20_000)}<b/></a>`);
  expect(Array.from(d.all(d.name(1)), (e) => d.line(e))).toEqual([2, 3, 4, 20_004]);
  expect(d.line(0)).toBe(1);
});

test("text nodes are the pieces between child elements, comments and instructions", () => {
  const d = read("<a>1<b>no</b>2<!-- c -->3<?p?>4<![CDATA[5]]>6<b/></a>");
  expect(d.textNodes(0)).toEqual(["1", "2", "3", "456"]);
});

test("prefixes inside values resolve as they are in scope", () => {
  const d = read('<a xmlns="urn:d" xmlns:p="urn:1"><b xmlns:p="urn:2" xmlns=\'\'><c/></b></a>');
  expect([
    d.namespaceOf(0, "p"),
    d.namespaceOf(2, "p"),
    d.namespaceOf(0, ""),
    d.namespaceOf(2, ""),
    d.namespaceOf(2, "q"),
    d.namespaceOf(2, "xml"),
  ]).toEqual(["urn:1", "urn:2", "urn:d", "", undefined, NS.xml]);
});

test("a document is gone after the next scan into the same object, and none of its values shows up again", () => {
  const scanner = new Scanner();
  const first = scanner.scan(Buffer.from("<a b='1'>one</a>"), SCAN_LIMITS);
  if (first.kind !== "document") throw new Error("refused");
  expect([first.document.text(0), first.document.attrValue(0, 0)]).toEqual(["one", "1"]);
  const second = scanner.scan(Buffer.from("<a b='2'>two</a>"), SCAN_LIMITS);
  if (second.kind !== "document") throw new Error("refused");
  expect([second.document.text(0), second.document.attrValue(0, 0)]).toEqual(["two", "2"]);
});

test("text is what its markup stands for, also where it is long", () => {
  const piece =
    "&#65;&lt;&gt;&amp;&apos;&quot;&#xE9;&#x20AC;&#x1F600;é\r\n\r&#13;<!--x--><?x y?><![CDATA[&lt;\r\n]]]]><b c='>'>z</b>";
  const said = "A<>&'\"é€😀é\n\n\r&lt;\n]]z";
  for (const many of [1, 1_000]) {
    const d = read(`<a v="${"&#65;\r\n\t&#10;é".repeat(many)}">${piece.repeat(many)}</a>`);
    expect(d.text(0)).toBe(said.repeat(many));
    expect(d.attrValue(0, 0)).toBe("A  \né".repeat(many));
    expect(d.textNodes(0).join("")).toBe(said.replace("z", "").repeat(many));
    expect(d.textNodes(0).length).toBe(2 * many);
  }
});
