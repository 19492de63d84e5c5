// Goal: the structure of a Schematron schema means what ISO/IEC 19757-3 says, and what is not supported is refused by name.
import { describe, expect, test } from "vitest";
import { compileSchema } from "../../../../validators/schematron/compile/compile.js";
import { instantiate } from "../../../../validators/schematron/runtime/pack.js";
import { readSchema } from "../../../../validators/schematron/compile/read-schema.js";
import type { RuleSet } from "../../../../validators/rules/rule.js";
import { documentOf } from "../../../support/validators/packs.js";

const schema = (content: string, attributes = ""): string =>
  `<schema xmlns="http://purl.oclc.org/dsdl/schematron" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" queryBinding="xslt2"${attributes}>\n<ns prefix="t" uri="urn:t"/><ns prefix="xs" uri="http://www.w3.org/2001/XMLSchema"/><ns prefix="u" uri="urn:u"/>\n${content}</schema>`;

function compile(
  content: string,
  options: { attributes?: string; phase?: string; files?: Readonly<Record<string, string>> } = {},
): RuleSet {
  const read = readSchema(schema(content, options.attributes), "main.sch", {
    include: (href) => {
      const text = options.files?.[href];
      return text === undefined ? undefined : { file: href, text };
    },
    ...(options.phase === undefined ? {} : { phase: options.phase }),
  });
  return instantiate({ id: "test", version: "1", layer: "pack:test" }, compileSchema(read).code);
}

const run = (rules: RuleSet, xml: string, findingsMax = 1000): ReturnType<RuleSet["run"]> =>
  rules.run(documentOf(Buffer.from(`<r xmlns="urn:t">${xml}</r>`)), findingsMax);
const ids = (rules: RuleSet, xml: string): string[] => run(rules, xml).findings.map(({ ruleId }) => ruleId);

describe("rules", () => {
  test("the first rule of a pattern that matches judges an element; other patterns see it too", () => {
    const rules = compile(`
      <pattern><rule context="t:a[@x]"><assert id="FIRST" test="false()">1</assert></rule><rule context="t:a"><assert id="SECOND" test="false()">2</assert></rule></pattern>
      <pattern><rule context="*"><report id="OTHER" test="self::t:a">3</report></rule></pattern>`);
    expect(ids(rules, '<a x="1"/><a/>')).toEqual(["FIRST", "OTHER", "SECOND", "OTHER"]);
  });

  test("a report fires when its test is true, an assert when it is false, once for each element", () => {
    const rules = compile(
      '<pattern><rule context="t:a"><report id="R" test=". = \'x\'">r</report><assert id="A" test=". = \'x\'">a</assert></rule></pattern>',
    );
    expect(ids(rules, "<a>x</a><a>y</a><a>y</a>")).toEqual(["R", "A", "A"]);
  });

  test("severity comes from flag, else role, else the rule; the default is error", () => {
    const rules = compile(`<pattern><rule context="t:a" role="warning">
      <assert id="A" flag="fatal" test="false()">a</assert><assert id="B" role="ERROR" test="false()">b</assert><assert id="C" test="false()">c</assert></rule>
      <rule context="t:b"><assert id="D" test="false()">d</assert><assert id="E" role="information" test="false()">e</assert><assert id="F" flag="strange" test="false()">f</assert></rule></pattern>`);
    expect(run(rules, "<a/><b/>").findings.map(({ severity }) => severity)).toEqual([
      "fatal",
      "error",
      "warning",
      "error",
      "information",
      "error",
    ]);
  });

  test("an assert without an id gets one that stays the same when other rules are added", () => {
    const one = '<rule context="t:a"><assert test="t:x">text</assert><assert test="t:x">text</assert></rule>';
    const [first, second] = ids(compile(`<pattern>${one}</pattern>`), "<a/>");
    expect(first).toMatch(/^SCH-[0-9A-F]{8}$/);
    expect(second).toBe(`${first}-2`);
    expect(
      ids(compile(`<pattern><rule context="t:b"><assert test="t:y">other</assert></rule>${one}</pattern>`), "<a/>"),
    ).toEqual([first, second]);
  });

  test("messages are one line with values and names put in, and say which business terms they name", () => {
    const rules = compile(
      '<pattern><rule context="t:a"><assert id="A" test="false()">The  <emph>seller</emph> (BT-27, BG-4)\n has <value-of select="t:b"/> in <name/>, not <name path=".."/>.</assert></rule></pattern>',
    );
    const [finding] = run(rules, "<a><b>1</b><b>2</b></a>").findings;
    expect(finding).toMatchObject({
      message: "The seller (BT-27, BG-4) has 1 2 in a, not r.",
      terms: ["BT-27", "BG-4"],
    });
    expect(rules.catalogue[0]).toMatchObject({ id: "A", severity: "error", terms: ["BT-27", "BG-4"] });
  });

  test("findings beyond the bound are counted and not kept", () => {
    const rules = compile('<pattern><rule context="t:a"><assert id="A" test="false()">a</assert></rule></pattern>');
    expect(run(rules, "<a/>".repeat(5), 2)).toMatchObject({ dropped: 3, findings: [{ ruleId: "A" }, { ruleId: "A" }] });
  });

  test("an error in a test, or in a message, replaces the findings of the layer", () => {
    const rules = compile(
      '<pattern><rule context="t:a"><assert id="A" test="false()">a</assert><assert id="B" test="xs:decimal(.) = 1">b</assert></rule></pattern>',
    );
    expect(ids(rules, "<a>x</a>")).toEqual(["!err:FORG0001"]);
    expect(
      ids(
        compile(
          '<pattern><rule context="t:a"><assert id="A" test="false()"><value-of select="1 div 0"/></assert></rule></pattern>',
        ),
        "<a/>",
      ),
    ).toEqual(["!err:FOAR0001"]);
  });

  test("a function that calls itself for ever ends the layer and not the worker", () => {
    const rules = compile(
      '<xsl:function name="u:f" as="xs:integer"><xsl:param name="x" as="xs:integer"/><xsl:sequence select="u:f($x + 1) + 1"/></xsl:function><pattern><rule context="t:a"><assert id="A" test="u:f(1) = 1">a</assert></rule></pattern>',
    );
    expect(ids(rules, "<a/>")).toEqual(["!err:FOER0000"]);
  });

  test("names that only a document knows match no rule, and wildcards see them", () => {
    const rules = compile(
      '<pattern><rule context="t:known"><assert id="A" test="false()">a</assert></rule><rule context="*"><report id="W" test="local-name() = \'neverheardof\'">w</report></rule></pattern>',
    );
    expect(ids(rules, "<neverheardof/>")).toEqual(["W"]);
  });

  test("a pack can judge one document after the other", () => {
    const rules = compile(
      '<let name="n" value="count(//t:a)"/><pattern><rule context="/t:r"><assert id="A" test="$n = 1">a</assert></rule></pattern>',
    );
    expect([ids(rules, "<a/>"), ids(rules, "<a/><a/>"), ids(rules, "<a/>")]).toEqual([[], ["A"], []]);
  });
});

describe("many asserts over plain paths", () => {
  const paths = Array.from({ length: 12 }, (_, i) => `<assert id="P${i}" test="not(t:a/t:p${i})">p</assert>`).join("");
  const rules = (): RuleSet =>
    compile(
      `<pattern><rule context="/t:r">${paths}<assert id="COUNT" test="(count(t:a/t:b) &lt;= 2)">c</assert><assert id="EXISTS" test="not(exists(t:a))">e</assert><assert id="FREE" test="t:a">f</assert></rule></pattern>`,
    );

  test("many asserts over plain paths are judged as one by one: in order, below every branch, counting exactly", () => {
    expect(ids(rules(), "<a><p3/></a><a><p0/><p3/><b/></a><p5/><a><b/></a>")).toEqual(["P0", "P3", "EXISTS"]);
    expect(ids(rules(), "<a><b/><b/></a><a><b/></a>")).toEqual(["COUNT", "EXISTS"]);
    expect(ids(rules(), "<x><a><p1/></a></x>")).toEqual(["FREE"]);
  });
});

describe("lets", () => {
  test("lets of schema and pattern are values of the document, of a rule values of the element, and inner names hide outer ones", () => {
    const rules = compile(`<let name="v" value="'schema'"/><let name="all" value="count(t:r/t:a)"/>
      <pattern><let name="v" value="'pattern'"/><rule context="t:a"><let name="v" value="concat($v, '-', @k)"/><assert id="A" test="false()"><value-of select="$v"/> of <value-of select="$all"/></assert></rule></pattern>
      <pattern><rule context="t:b"><assert id="B" test="false()"><value-of select="$v"/></assert></rule></pattern>`);
    expect(run(rules, '<a k="1"/><a k="2"/><b/>').findings.map(({ message }) => message)).toEqual([
      "pattern-1 of 2",
      "pattern-2 of 2",
      "schema",
    ]);
  });

  test("lets are evaluated when they are used, whatever their order", () => {
    const rules =
      compile(`<let name="wrong" value="xs:integer('x')"/><let name="early" value="$late + 1"/><let name="late" value="1"/>
      <pattern><rule context="t:a"><let name="bad" value="xs:integer(.)"/><assert id="A" test="@ok or $bad = 1">a</assert><assert id="B" test="$early = 2">b</assert></rule></pattern>`);
    expect(ids(rules, '<a ok="1">x</a>')).toEqual([]);
    expect(ids(rules, "<a>x</a>")).toEqual(["!err:FORG0001"]);
  });

  test("a let that needs itself is refused", () => {
    expect(() =>
      compile(
        '<let name="a" value="$b"/><let name="b" value="$a"/><pattern><rule context="*"><assert id="A" test="$a">a</assert></rule></pattern>',
      ),
    ).toThrow(/main\.sch:\d+: .*needs itself/);
  });

  test("errors inside the context of a let are no match, and judged by the next rule", () => {
    const rules = compile(
      '<let name="n" value="xs:integer(/t:r/@n)"/><pattern><rule context="t:a[xs:decimal(.) &gt; 1]"><assert id="BIG" test="false()">b</assert></rule><rule context="t:a"><assert id="REST" test="false()">r</assert></rule></pattern>',
    );
    expect(ids(rules, "<a>2</a><a>x</a>")).toEqual(["BIG", "REST"]);
  });
});

describe("composition", () => {
  test("included patterns, rules by extends, abstract rules and abstract patterns become rules in place", () => {
    const rules = compile(
      `
      <include href="part.sch"/>
      <pattern id="p2"><rule abstract="true" id="base"><let name="l" value="'let'"/><assert id="BASE" test="false()"><value-of select="$l"/></assert></rule>
        <rule context="t:b"><assert id="OWN" test="false()">o</assert><extends rule="base"/></rule></pattern>
      <pattern abstract="true" id="limit"><rule context="$where"><assert id="LIMIT" test="count($what) &lt;= $number">l</assert></rule></pattern>
      <pattern is-a="limit" id="p3"><param name="where" value="t:c"/><param name="what" value="t:d"/><param name="number" value="1"/></pattern>`,
      {
        files: {
          "part.sch":
            '<pattern xmlns="http://purl.oclc.org/dsdl/schematron" id="p1"><rule context="t:a"><assert id="PART" test="false()">p</assert></rule></pattern>',
        },
      },
    );
    expect(ids(rules, "<a/><b/><c><d/><d/></c><c><d/></c>")).toEqual(["PART", "OWN", "BASE", "LIMIT"]);
  });

  test("a phase chooses its patterns; without one the default phase, or all", () => {
    const content =
      '<phase id="only"><active pattern="one"/></phase><pattern id="one"><rule context="t:a"><assert id="ONE" test="false()">1</assert></rule></pattern><pattern id="two"><rule context="t:a"><assert id="TWO" test="false()">2</assert></rule></pattern>';
    expect(ids(compile(content), "<a/>")).toEqual(["ONE", "TWO"]);
    expect(ids(compile(content, { phase: "only" }), "<a/>")).toEqual(["ONE"]);
    expect(ids(compile(content, { attributes: ' defaultPhase="only"' }), "<a/>")).toEqual(["ONE"]);
    expect(ids(compile(content, { attributes: ' defaultPhase="only"', phase: "#ALL" }), "<a/>")).toEqual([
      "ONE",
      "TWO",
    ]);
    expect(() => compile(content, { phase: "none" })).toThrow(/phase none/);
  });
});

describe("what is refused at import, with file, line and construct", () => {
  const rule = (content: string): string => `<pattern>\n<rule context="t:a">\n${content}\n</rule></pattern>`;
  test.each([
    ["a template of XSLT", '<xsl:template match="t:a"/>', /^main\.sch:3: <xsl:template>/],
    ["a foreign element in a rule", rule('<x xmlns="urn:x"/>'), /^main\.sch:5: <x>/],
    [
      "an unknown function",
      rule('<assert id="A" test="foo(.)">a</assert>'),
      /^main\.sch:5: not supported: the function foo/,
    ],
    ["a syntax error", rule('<assert id="A" test="1 +">a</assert>'), /^main\.sch:5: XPath: /],
    [
      "an attribute as context",
      '<pattern><rule context="@x"><assert id="A" test="1">a</assert></rule></pattern>',
      /^main\.sch:3: not supported: .*attribute/,
    ],
    ["a missing include", '<include href="gone.sch"/>', /^main\.sch:3: the file gone\.sch/],
    ["a missing abstract rule", rule('<extends rule="gone"/>'), /^main\.sch:5: the abstract rule gone/],
    ["a missing test", rule('<assert id="A">a</assert>'), /^main\.sch:5: <assert> has no test/],
    [
      "an instruction in a function",
      '<xsl:function name="u:f">\n<xsl:for-each select="1"/></xsl:function><pattern><rule context="t:a"><assert id="A" test="u:f()">a</assert></rule></pattern>',
      /^main\.sch:4: not supported: <xsl:for-each>/,
    ],
    [
      "a syntax error in a function nobody calls",
      '<xsl:function name="u:f">\n<xsl:sequence select="1 +"/></xsl:function>',
      /^main\.sch:4: /,
    ],
    [
      "a construct in a let nobody uses",
      '<let name="x" value="document(1)"/>',
      /^main\.sch:3: not supported: the function document/,
    ],
    ["rules without a prefix for a function", '<xsl:function name="f"/>', /no declared prefix/],
  ])("a schema is refused at import, with file, line and construct: %s", (_, content, message) => {
    expect(() => compile(content)).toThrow(message);
  });

  test("a schema in an unknown query language is refused at import", () => {
    expect(() => compile("", { attributes: "" }).catalogue).not.toThrow();
    expect(() =>
      readSchema('<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xquery"/>', "m.sch", {
        include: () => undefined,
      }),
    ).toThrow(/query binding xquery/);
    expect(() =>
      readSchema('<schema xmlns="http://purl.oclc.org/dsdl/schematron"/>', "m.sch", { include: () => undefined }),
    ).toThrow(/query binding xslt/);
  });

  test.each([
    "<schema",
    "<a><b></a>",
    "<!DOCTYPE a><a/>",
    "<a>&x;</a>",
    '<a x="1" x="2"/>',
    "<a/><b/>",
    "text",
    "<p:a/>",
    `${"<a>".repeat(300)}`,
  ])("a file that is no plain XML is refused at import: %s", (text) => {
    expect(() => readSchema(text, "bad.sch", { include: () => undefined })).toThrow(/^bad\.sch:\d+: /);
  });
});

test("literals of a source file cannot become code", () => {
  const hostile = '"+process.exit()+" \\u0022 ${1} `x` */ // \u2028 v1_ </script>';
  const escaped = hostile.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");
  const rules = compile(
    `<pattern><rule context="t:a"><assert id="${escaped}" test=". = '${escaped}'">${escaped}</assert></rule></pattern>`,
  );
  expect(run(rules, "<a/>").findings[0]).toMatchObject({ ruleId: hostile, message: hostile.replace(/\s+/g, " ") });
  expect(ids(rules, `<a>${escaped}</a>`)).toEqual([]);
});
