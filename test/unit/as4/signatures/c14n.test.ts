/** Goal: our canonical form is that of libxml2, byte for byte, over handwritten traps and random documents. */
import fc from "fast-check";
import { XmlC14NMode, XmlDocument as Libxml } from "libxml2-wasm";
import { describe, expect, test } from "vitest";
import { canonicalize, canonicalizeDocument, compareCodePoints } from "../../../../validators/xml/c14n.js";
import type { C14nOptions } from "../../../../validators/xml/c14n.js";
import { parseXml } from "../../../../validators/xml/tree.js";
import type { XmlDocument, XmlElement } from "../../../../validators/xml/tree.js";

const parse = (text: string): XmlDocument => {
  const tree = parseXml(Buffer.from(text));
  if (tree.kind === "refused") throw new Error(`${tree.fault} at ${tree.at}: ${text}`);
  return tree;
};

/** The elements on the way to the first element called `target`. */
function pathTo(element: XmlElement, local: string): XmlElement[] | undefined {
  if (element.local === local) return [element];
  for (const child of element.children) {
    const below = child.kind === "element" ? pathTo(child, local) : undefined;
    if (below !== undefined) return [element, ...below];
  }
  return undefined;
}

function ours(text: string, options: C14nOptions): string {
  const tree = parse(text);
  const path = pathTo(tree.root, "target");
  return canonicalize(path ?? [tree.root], options);
}

function libxml(text: string, options: C14nOptions): string {
  const document = Libxml.fromString(text);
  const apex = document.get("//*[local-name()='target']") ?? document.root;
  const result = apex.canonicalizeToString({
    mode: options.method === "exclusive" ? XmlC14NMode.XML_C14N_EXCLUSIVE_1_0 : XmlC14NMode.XML_C14N_1_0,
    withComments: options.comments ?? false,
    inclusiveNamespacePrefixes: [...(options.inclusivePrefixes ?? [])],
  });
  document.dispose();
  return result;
}

const MODES: C14nOptions[] = [
  { method: "exclusive" },
  { method: "exclusive", comments: true },
  { method: "exclusive", inclusivePrefixes: ["S12", "eb", "#default"] },
  { method: "inclusive" },
  { method: "inclusive", comments: true },
];

const TRAPS: Record<string, string> = {
  "declarations sort by code point: S12 before eb":
    '<r xmlns:eb="urn:e" xmlns:S12="urn:s"><eb:target S12:a="1" eb:b="2"/></r>',
  "a declaration nobody uses": '<r xmlns:u="urn:u"><target xmlns:v="urn:v"><x/></target></r>',
  "a prefix bound anew in between":
    '<p:r xmlns:p="urn:1"><p:target><q xmlns:p="urn:2"><p:x xmlns:p="urn:1"/></q></p:target></p:r>',
  "the default namespace undeclared": '<r xmlns="urn:d"><target><x xmlns=""><y xmlns="urn:d"/></x></target></r>',
  "the default namespace undeclared at the apex": '<r xmlns="urn:d"><target xmlns=""><x/></target></r>',
  "attributes by namespace, then by name": '<target xmlns:b="urn:a" xmlns:a="urn:b" b:z="1" a:a="2" z="3" a="4"/>',
  "white space in attributes": '<target a="x\ty\nz" b="&#9;&#10;&#13;" c=\'"quoted" &lt;&amp;&gt;\'/>',
  "carriage returns in text": "<target>a\r\nb\rc&#13;d</target>",
  "CDATA becomes text": "<target><![CDATA[<&>]]>]]&gt;</target>",
  "comments split text": "<target>a<!--c-->b<!-- d --></target>",
  "xml attributes of ancestors":
    '<r xml:lang="sk" xml:space="preserve"><m xml:lang="en"><target xml:space="default"/></m></r>',
  "characters beyond the first plane": "<target a='\u{1F600}'>\u{10400}\uFFFD</target>",
  "listed prefixes that are not used":
    '<S12:r xmlns:S12="urn:s" xmlns:eb="urn:e" xmlns="urn:d"><S12:target><eb:x/></S12:target></S12:r>',
  "a listed prefix bound anew": '<r xmlns:S12="urn:s"><target><x xmlns:S12="urn:t"><y/></x></target></r>',
};

describe("canonical XML equals that of libxml2", () => {
  for (const [name, text] of Object.entries(TRAPS)) {
    test(name, () => {
      for (const mode of MODES) expect(ours(text, mode), JSON.stringify(mode)).toBe(libxml(text, mode));
    });
  }

  const name = fc.constantFrom("a", "b", "S12", "eb", "x");
  const uri = fc.constantFrom("urn:1", "urn:2", "urn:z");
  const piece = fc.constantFrom("t", " ", "&amp;", "&lt;", "\n", "&#13;", "é", "<!--c-->", "<![CDATA[<]]>", "😀");
  // Every prefix is declared at the root, and declared anew here and there.
  const elementOver = (children: fc.Arbitrary<string>): fc.Arbitrary<string> =>
    fc
      .record({
        prefix: fc.option(name, { nil: undefined }),
        local: name,
        text: piece,
        children: fc.array(children, { maxLength: 3 }),
        declared: fc.uniqueArray(fc.tuple(name, uri), { selector: ([prefix]) => prefix, maxLength: 2 }),
        fallback: fc.option(fc.constantFrom("", "urn:d", "urn:e"), { nil: undefined }),
        attributes: fc.uniqueArray(fc.tuple(name, name), { selector: ([, local]) => local, maxLength: 3 }),
      })
      .map(({ prefix, local, declared, fallback, attributes, text, children: inner }) => {
        const qualified = prefix === undefined ? local : `${prefix}:${local}`;
        const declarations =
          declared.map(([p, u]) => ` xmlns:${p}="${u}"`).join("") +
          (fallback === undefined ? "" : ` xmlns="${fallback}"`);
        return `<${qualified}${declarations}${attributes.map(([p, l]) => ` ${p}:${l}="${l}"`).join("")}>${text}${inner.join(text)}</${qualified}>`;
      });
  const element = elementOver(elementOver(elementOver(fc.constant("<x/>"))));

  test("canonical XML equals that of libxml2 over random documents", () => {
    const document = fc
      .tuple(element, element)
      .map(
        ([left, right]) =>
          `<root xmlns:a="urn:1" xmlns:b="urn:2" xmlns:S12="urn:3" xmlns:eb="urn:4" xmlns:x="urn:5" xml:lang="sk">${left}<a:target>${right}</a:target></root>`,
      );
    const seed = Number(process.env["SEED"] ?? 20_261_101);
    fc.assert(
      fc.property(document, fc.constantFrom(...MODES), (text, mode) => {
        expect(ours(text, mode)).toBe(libxml(text, mode));
      }),
      { seed, numRuns: 400 },
    );
  });
});

test("a document with comments around its root keeps them on lines of their own, or drops them", () => {
  const tree = parse("<?xml version='1.0'?><!--a--><r/><!--b-->");
  expect(canonicalizeDocument(tree, { method: "inclusive", comments: true })).toBe("<!--a-->\n<r></r>\n<!--b-->");
  expect(canonicalizeDocument(tree, { method: "inclusive" })).toBe("<r></r>");
});

test("names compare by code point, not by UTF-16 unit and not by language", () => {
  expect(compareCodePoints("S12", "eb")).toBe(-1);
  expect(compareCodePoints("\uFFFD", "\u{10000}")).toBe(-1);
  expect(compareCodePoints("a", "ab")).toBe(-1);
  expect(compareCodePoints("a", "a")).toBe(0);
});
