// Goal: constructs of national and post-award rule sets mean what the reference implementation makes of them.
import { expect, test } from "vitest";
import { compileSchema } from "../../../../validators/schematron/compile/compile.js";
import { readSchema } from "../../../../validators/schematron/compile/read-schema.js";
import { invalidates } from "../../../../validators/report.js";
import { instantiate } from "../../../../validators/schematron/runtime/pack.js";
import { documentOf, failedIds } from "../../../support/validators/packs.js";

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

const XSL = 'xmlns:xsl="http://www.w3.org/1999/XSL/Transform"';
const LINES =
  '<a xmlns="urn:t"><line><b>1</b></line><line><b>2</b></line><line><b>1</b></line><line><b>é</b></line></a>';
const KEY = `<xsl:key ${XSL} name="by-id" match="t:line" use="t:b"/>`;
const ofLines = (id: string, expression: string): string =>
  `<pattern><rule context="t:line"><assert id="${id}" test="${expression}">x</assert></rule></pattern>`;

test("a key finds the elements with a value, so that repeated identifiers are told", () => {
  expect(failed(`${KEY}${ofLines("ONCE", "count(key('by-id', t:b)) = 1")}`, LINES)).toEqual(["ONCE", "ONCE"]);
});

test("a key takes several values, gives each element once and in document order, and nothing for an unknown value", () => {
  const test =
    "count(key('by-id', (../t:line/t:b, '1'))) = 4 and key('by-id', ('2', '1'))[1]/t:b = '1' and empty(key('by-id', 'none'))";
  expect(failed(`${KEY}${ofLines("SET", test)}`, LINES)).toEqual([]);
});

test("numbers find nothing by a key of texts, and texts beside them are found as ever", () => {
  const test =
    "empty(key('by-id', 1)) and empty(key('by-id', (1, 2))) and empty(key('by-id', true())) and count(key('by-id', (1, '1'))) = 2 and count(key('by-id', (2, t:b))) ge 1";
  expect(failed(`${KEY}${ofLines("SET", test)}`, LINES)).toEqual([]);
});

test("two keys of one name are one, and a key with predicates sees only what matches", () => {
  const keys = `<xsl:key ${XSL} name="k" match="t:line[t:b = '2']" use="'x'"/><xsl:key ${XSL} name="k" match="/t:a" use="'x'"/>`;
  expect(failed(`${keys}<pattern>${holds("BOTH", "count(key('k', 'x')) = 2")}</pattern>`, LINES)).toEqual([]);
});

test("an element that a key finds twice by one value is there once", () => {
  const twice = `<xsl:key ${XSL} name="k" match="t:line" use="'x'"/>`.repeat(2);
  expect(failed(`${twice}<pattern>${holds("ONCE", "count(key('k', 'x')) = count(t:line)")}</pattern>`, LINES)).toEqual(
    [],
  );
});

test.each([
  ["an unknown name", KEY, "key('other', '1')", /a\.sch:1: not supported: the undeclared key other/u],
  ["a name that is worked out", KEY, "key(t:b, '1')", /key\(\) with a name that is no literal/u],
  [
    "numbers to be found by",
    `<xsl:key ${XSL} name="k" match="t:line" use="count(t:b)"/>`,
    "key('k', '1')",
    /a key whose value is no text/u,
  ],
  [
    "a key that needs itself",
    `<xsl:key ${XSL} name="k" match="t:line" use="key('k', '1')/t:b"/>`,
    "t:b",
    /the key k that needs itself/u,
  ],
])("a key is refused with file, line and construct for %s", (_, key, expression, told) => {
  expect(() => failed(`${key}${ofLines("X", expression)}`, LINES)).toThrow(told);
});

test("what only informs keeps its flag and leaves a document valid", () => {
  const pattern =
    '<pattern><rule context="/t:a"><assert id="I" flag="information" test="false()">x</assert><assert id="W" role="warning" test="false()">x</assert></rule></pattern>';
  const text = `<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt2"><ns prefix="t" uri="urn:t"/>${pattern}</schema>`;
  const { asserts } = compileSchema(readSchema(text, "a.sch", { include: () => undefined }));
  expect(asserts.map(({ severity }) => severity)).toEqual(["information", "warning"]);
  expect(asserts.filter(({ severity }) => invalidates(severity))).toEqual([]);
});

test("a value that a rule of a pack cannot read is told with the rule and the element", () => {
  const text = `<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt2"><ns prefix="t" uri="urn:t"/><pattern><rule context="t:line"><assert id="FIRST" test="t:b">x</assert><assert id="NUMBER" test="xs:decimal(t:b) gt 0">x</assert></rule></pattern></schema>`;
  const { code } = compileSchema(readSchema(text, "a.sch", { include: () => undefined }));
  const document = documentOf(Buffer.from(LINES));
  const [found, ...more] = instantiate({ id: "pack:a", version: "1", layer: "pack:a" }, code).run(document, 9).findings;
  expect(more).toEqual([]);
  expect(found).toMatchObject({ ruleId: "!err:FORG0001", severity: "fatal" });
  expect(found?.message).toMatch(/^The rule NUMBER about this element cannot be evaluated/u);
  expect(document.path(found?.at ?? found?.element ?? 0)).toBe("/a/line[4]");
});
