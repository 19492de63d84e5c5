// Goal: constructs of national and post-award rule sets mean what the reference implementation makes of them.
import { expect, test } from "vitest";
import { compileSchema } from "../../../validators/schematron/compile/compile.js";
import { readSchema } from "../../../validators/schematron/compile/read-schema.js";
import { instantiate } from "../../../validators/schematron/runtime/pack.js";
import { documentOf, failedIds } from "../../support/packs.js";

/** Ids that fail on a document, for the patterns of a schema. */
function failed(patterns: string, document: string): string[] {
  const text = `<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt2"><ns prefix="t" uri="urn:t"/>${patterns}</schema>`;
  const { code } = compileSchema(readSchema(text, "a.sch", { include: () => undefined }));
  const rules = instantiate({ id: "pack:a", version: "1", layer: "pack:a" }, code);
  return failedIds(rules, documentOf(Buffer.from(document)));
}
const holds = (id: string, expression: string): string =>
  `<rule context="/t:a"><assert id="${id}" test="${expression}">x</assert></rule>`;
const A = '<a xmlns="urn:t"><b>1</b><c/></a>';

test("a variable of one pattern can be used in another, before and after it, and in a variable of it", () => {
  const patterns = `<pattern>${holds("EARLY", "$limit = 2")}</pattern><pattern><let name="limit" value="1"/></pattern>
    <pattern><let name="twice" value="2 * $limit"/>${holds("LATE", "$twice = 3")}</pattern>`;
  expect(failed(patterns, A)).toEqual(["EARLY", "LATE"]);
});

test("a name that two patterns declare is the own one in each, and that of the schema elsewhere", () => {
  const patterns = `<let name="n" value="0"/><pattern><let name="n" value="1"/>${holds("ONE", "$n = 1")}</pattern>
    <pattern><let name="n" value="2"/>${holds("TWO", "$n = 2")}</pattern><pattern>${holds("NONE", "$n = 0")}</pattern>`;
  expect(failed(patterns, A)).toEqual([]);
});

test("a variable that two patterns declare is not seen by a third, and the import says so", () => {
  const pattern = '<pattern><let name="n" value="1"/></pattern>';
  expect(() => failed(`${pattern}${pattern}<pattern>${holds("X", "$n")}</pattern>`, A)).toThrow(
    /undeclared variable \$n/u,
  );
});

test.each([
  ["true", "/t:a/t:b = 1", ["IN"]],
  ["false", "/t:a/t:b = 2", []],
])("a context with a variable in brackets matches when the variable is %s", (_, value, ids) => {
  const patterns = `<pattern><let name="is" value="${value}"/><rule context="(/t:a | /t:z)[$is]"><assert id="IN" test="false()">x</assert></rule></pattern>`;
  expect(failed(patterns, A)).toEqual(ids);
});

test("a variable that is a number in brackets behind a parenthesis is refused, for it asks for a position", () => {
  const patterns =
    '<pattern><let name="n" value="1"/><rule context="(/t:a | /t:z)[$n]"><assert id="IN" test="false()">x</assert></rule></pattern>';
  expect(() => failed(patterns, A)).toThrow(/a position in this context/u);
});

test("the prefixes xs and xsd name the types of XML Schema without a declaration", () => {
  expect(failed(`<pattern>${holds("XSD", "xsd:decimal(t:b) = xs:decimal('1.0')")}</pattern>`, A)).toEqual([]);
});

test("a function may have a prefix that only the XML around it declares", () => {
  const declared =
    '<xsl:function xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:u="utils" xmlns:x="http://www.w3.org/2001/XMLSchema" name="u:one" as="x:integer"><xsl:sequence select="1"/></xsl:function>';
  expect(failed(`${declared}<pattern>${holds("X", "t:c")}</pattern>`, A)).toEqual([]);
});
