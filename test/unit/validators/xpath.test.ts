// Goal: expressions of imported rules mean what XPath 2.0 says, errors and their codes included.
// Method: each expression becomes the message of a rule on a small document; the message is its value.
import { describe, expect, test } from "vitest";
import { compileSchema } from "../../../validators/schematron/compile/compile.js";
import { instantiate } from "../../../validators/schematron/runtime/pack.js";
import { readSchema } from "../../../validators/schematron/compile/read-schema.js";
import { documentOf } from "../../support/packs.js";

const DOCUMENT = `<r xmlns="urn:t" xmlns:o="urn:o" id="root" n="7">
  <a k="1">one</a><a k="2">two</a><a>three</a>
  <n>3</n><n>10</n><n>2.5</n>
  <empty/><blank> </blank><flag>false</flag><bad>x</bad><big>123456789012345678901234567890</big>
  <d>2026-02-28</d><d>2026-03-01</d>
  <deep><a k="4">four</a><deep><a>five</a></deep></deep>
  <o:a>other</o:a><utf>a\u{1f600}b\u00e4</utf>
</r>`;

const escape = (text: string): string => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;").replace(/\n/g, "&#10;");

const FUNCTIONS = `
  <xsl:function name="u:twice" as="xs:integer"><xsl:param name="x" as="xs:integer"/><xsl:sequence select="$x * 2"/></xsl:function>
  <xsl:function name="u:fact" as="xs:integer"><xsl:param name="x" as="xs:integer"/><xsl:sequence select="if ($x le 1) then 1 else $x * u:fact($x - 1)"/></xsl:function>
  <xsl:function name="u:any"><xsl:param name="x"/><xsl:sequence select="count($x)"/></xsl:function>
  <xsl:function name="u:lazy" as="xs:string"><xsl:param name="x"/><xsl:variable name="wrong" select="xs:integer('x')"/><xsl:sequence select="if ($x) then 'unused' else string($wrong)"/></xsl:function>
  <xsl:function name="u:tree"><xsl:variable name="digit" as="xs:integer"><xsl:value-of select="1 to 3" separator=""/></xsl:variable><xsl:variable name="text">4<xsl:value-of select="2"/></xsl:variable><xsl:sequence select="$digit + number($text)"/></xsl:function>
  <xsl:function name="u:choose" as="xs:string"><xsl:param name="x" as="xs:string?"/><xsl:choose><xsl:when test="$x = 'a'"><xsl:sequence select="'first'"/></xsl:when><xsl:when test="empty($x)"><xsl:sequence select="'none'"/></xsl:when><xsl:otherwise><xsl:sequence select="'other'"/></xsl:otherwise></xsl:choose></xsl:function>`;

/** The value of an expression as text, items separated by blanks; `!err:CODE` for a dynamic error. */
function value(expression: string, context = "/t:r"): string {
  const schema = `<schema xmlns="http://purl.oclc.org/dsdl/schematron" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" queryBinding="xslt2">
    <ns prefix="t" uri="urn:t"/><ns prefix="o" uri="urn:o"/><ns prefix="u" uri="urn:u"/><ns prefix="xs" uri="http://www.w3.org/2001/XMLSchema"/>${FUNCTIONS}
    <let name="global" value="count(//t:a)"/><let name="names" value="('one', 'two')"/>
    <pattern><rule context="${escape(context)}"><let name="local" value="t:n[1]"/><assert id="V" test="false()"><value-of select="${escape(expression)}"/></assert></rule></pattern></schema>`;
  const compiled = compileSchema(readSchema(schema, "test.sch", { include: () => undefined }));
  const [finding] = instantiate({ id: "test", version: "1", layer: "pack:test" }, compiled.code).run(documentOf(Buffer.from(DOCUMENT)), 10).findings;
  if (finding === undefined) throw new Error("the context does not match");
  return finding.ruleId === "V" ? finding.message : finding.ruleId;
}

const TABLE: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  "exact numbers": [
    ["0.1 + 0.2", "0.3"], ["1 div 3", "0.333333333333333333"], ["3 div 2", "1.5"], ["-7 idiv 2", "-3"], ["-7 mod 3", "-1"], ["7.5 mod 2", "1.5"],
    ["xs:integer('123456789012345678901234567890') mod 97", "52"], ["xs:integer('123456789012345678901234567890') + 1", "123456789012345678901234567891"],
    ["round(2.5)", "3"], ["round(-2.5)", "-2"], ["round(1.005 * 100) div 100", "1.01"], ["floor(-1.5)", "-2"], ["ceiling(-1.5)", "-1"], ["abs(-3)", "3"],
    ["xs:decimal('1.10') = 1.1", "true"], ["sum((0.1, 0.2, 0.3)) = 0.6", "true"], ["sum(())", "0"], ["- - 3", "3"], ["+3", "3"], ["2 + 3 * 4", "14"], ["1 to 4", "1 2 3 4"], ["4 to 1", ""],
    ["xs:integer(2.9)", "2"], ["xs:integer(-2.9)", "-2"], ["max((1, 3, 2))", "3"], ["min((1.5, 1))", "1"], ["avg((1, 2))", "1.5"], ["max(())", ""],
    ["$global mod 3", "2"], ["string-length('abc') - 5", "-2"],
  ],
  "numbers that XPath makes doubles": [
    ["number('x')", "NaN"], ["number(())", "NaN"], ["number(' 12 ')", "12"], ["number('0x10')", "NaN"], ["number('')", "NaN"], ["number('1e3')", "1000"],
    ["t:n[1] * 2", "6"], ["sum(t:n)", "15.5"], ["max(t:n)", "10"], ["1 div number('0')", "INF"], ["number('NaN') = number('NaN')", "false"], ["t:n > 9", "true"], ["t:n[1] > t:n[2]", "true"],
    ["number('1e21')", "1.0E21"], ["number('1e-7')", "1.0E-7"], ["number('0.000001')", "0.000001"], ["number('123456789')", "1.23456789E8"], ["-number('0')", "-0"],
    ["round(number('-2.5'))", "-2"], ["number('2') idiv 1", "2"], ["number(true())", "1"],
  ],
  errors: [
    ["1 div 0", "!err:FOAR0001"], ["1 mod 0", "!err:FOAR0001"], ["xs:decimal(t:bad)", "!err:FORG0001"], ["xs:decimal('1e3')", "!err:FORG0001"], ["xs:integer('1.5')", "!err:FORG0001"],
    ["t:bad * 2", "!err:FORG0001"], ["t:bad > 1", "!err:FORG0001"], ["t:bad = false()", "!err:FORG0001"], ["normalize-space(t:a)", "!err:XPTY0004"], ["xs:decimal(t:n)", "!err:XPTY0004"],
    ["t:a eq 'one'", "!err:XPTY0004"], ["'a' = 1", "!err:XPTY0004"], ["'a' + 1", "!err:XPTY0004"], ["boolean(('a', 'b'))", "!err:FORG0006"], ["boolean((1, 2))", "!err:FORG0006"],
    ["xs:date('2026-02-29')", "!err:FORG0001"], ["matches('a', string-join(('[', ''), ''))", "!err:FORX0002"], ["tokenize('a', string-join(('x', '*'), ''))", "!err:FORX0003"], ["u:twice(1.5)", "!err:XPTY0004"],
    ["u:twice(())", "!err:XPTY0004"], ["substring('abc', ())", "!err:XPTY0004"], ["xs:decimal(xs:double('NaN'))", "!err:FOCA0002"],
  ],
  "errors that are not reached": [
    ["true() or xs:decimal(t:bad) = 1", "true"], ["false() and xs:decimal(t:bad) = 1", "false"], ["if (true()) then 1 else xs:integer('x')", "1"], ["u:lazy(true())", "unused"], ["u:lazy(false())", "!err:FORG0001"],
    ["some $x in (1, 2) satisfies $x = 1 or xs:integer('x') = 1", "true"], ["xs:decimal(t:missing) = 1", "false"], ["(t:a, xs:integer('x'))[1]", "one"], ["xs:decimal(t:missing) = xs:decimal(t:bad)", "false"], ["xs:decimal(t:missing) - xs:decimal(t:bad)", ""], ["t:missing * t:bad", ""], ["t:missing eq xs:string(xs:decimal(t:bad))", ""],
  ],
  comparisons: [
    ["t:a = 'two'", "true"], ["t:a != 'two'", "true"], ["t:missing = 'x'", "false"], ["t:missing != 'x'", "false"], ["not(t:missing = 'x')", "true"], ["t:a = ('x', 'three')", "true"], ["t:a = $names", "true"],
    ["t:flag = false()", "true"], ["'0' < 'a'", "true"], ["t:n[1] lt '4'", "true"], ["t:d[1] < t:d[2]", "true"], ["xs:date(t:d[1]) < xs:date(t:d[2])", "true"], ["xs:date('2026-01-01Z') = xs:date('2026-01-01')", "true"],
    ["xs:date('2026-01-01+01:00') < xs:date('2026-01-01Z')", "true"], ["t:n = 3", "true"], ["t:n = '3.0'", "false"], ["(1, 2) = (2, 3)", "true"], ["() = ()", "false"], ["t:missing eq 'x'", ""], ["1 eq 1.0", "true"],
    ["'\u{fffd}' lt '\u{10000}'", "true"], ["t:a[1] is t:a[1]", "true"], ["t:a[1] << t:a[2]", "true"], ["t:a[1] >> t:a[2]", "false"], ["@id = 'root'", "true"],
  ],
  "effective boolean values": [
    ["boolean(t:empty)", "true"], ["boolean('')", "false"], ["boolean('false')", "true"], ["boolean(0)", "false"], ["boolean(number('x'))", "false"], ["not(())", "true"], ["boolean((t:a, 1))", "true"], ["not(@missing)", "true"], ["not(self::t:n)", "true"], ["not(/t:x)", "true"],
  ],
  paths: [
    ["count(//t:a)", "5"], ["count(t:a)", "3"], ["t:a[2]", "two"], ["t:a[last()]", "three"], ["t:a[position() = 2]", "two"], ["t:a[@k]", "one two"], ["t:a[@k][2]", "two"], ["t:a[@k = '2']", "two"], ["count(//t:a[1])", "3"],
    ["(//t:a)[4]", "four"], ["t:deep//t:a", "four five"], ["//t:deep/t:a", "four five"], ["count(//@k)", "3"], ["count(//@*)", "5"], ["//t:deep/@k", ""], ["t:a/@k", "1 2"], ["t:a[1]/../t:n[1]", "3"], ["count(t:a/..)", "1"],
    ["//t:a[. = 'five']/ancestor::t:deep/t:a[1]", "four five"], ["count(//t:a[. = 'five']/ancestor::node())", "4"], ["t:a[3]/preceding-sibling::t:a", "one two"], ["t:a[3]/preceding-sibling::*[1]", "two"], ["t:a[1]/following-sibling::t:a", "two three"],
    ["//t:deep[1]/preceding::t:a[1]", "three four"], ["t:deep/preceding::t:n", "3 10 2.5"], ["t:n[1]/following::t:a", "four five"], ["*:a[. = 'other']", "other"], ["o:*", "other"], ["count(*)", "16"], ["self::t:r/@id", "root"], ["t:a[2]/self::t:n", ""],
    ["t:n | t:a", "one two three 3 10 2.5"], ["(t:n | t:a)[1]", "one"], ["count(t:a | t:a)", "3"], ["count(//t:a except t:a)", "2"], ["count(//t:a intersect t:a)", "3"], ["t:a[1]/text()", "one"], ["/t:r/@n", "7"], ["/*/@n", "7"], ["name(/*)", "r"],
    ["local-name(o:a)", "a"], ["name(o:a)", "o:a"], ["ends-with(name(o:a), 'a')", "true"], ["ends-with(name(o:a), ':a')", "true"], ["ends-with(name(o:a), 'o')", "false"], ["namespace-uri(o:a)", "urn:o"], ["(t:n, t:a)/@k", "1 2"], ["t:a/string-length(.)", "3 3 5"], ["t:n/xs:decimal(.)", "3 10 2.5"], ["(t:a | t:n)/concat('<', ., '>')", "<one> <two> <three> <3> <10> <2.5>"], ["t:a/(@k | .)", "one 1 two 2 three"],
    ["t:a[t:x or . = 'one']", "one"], ["t:deep[t:deep[t:a = 'five']]/t:a", "four"], ["$local", "3"], ["t:a[current()/@n = '7'][1]", "one"], ["count(/)", "1"], ["//t:a/../@id", "root"], ["count(//t:deep//t:a)", "2"], ["t:a[xs:integer('2')]", "two"], ["t:a[number(@k) = 2]", "two"],
  ],
  strings: [
    ["string-length(t:utf)", "4"], ["substring(t:utf, 2, 1)", "\u{1f600}"], ["substring('12345', 2, 3)", "234"], ["substring('12345', 0, 3)", "12"], ["substring('12345', 1.5, 2.6)", "234"], ["substring('12345', -42, 1 div 0e0)", "12345"], ["substring('12345', 4)", "45"],
    ["substring('12345', number('x'), 3)", ""], ["translate('abcabc', 'ab', 'x')", "xcxc"], ["translate(t:utf, '\u{1f600}', '-')", "a-b\u00e4"], ["upper-case(t:utf)", "A\u{1f600}B\u00c4"], ["normalize-space('  a \n b  ')", "a b"], ["concat('a', 1, true(), ())", "a1true"],
    ["contains('abc', '')", "true"], ["contains((), 'a')", "false"], ["starts-with('abc', 'ab')", "true"], ["ends-with('abc', 'bc')", "true"], ["substring-before('a-b', '-')", "a"], ["substring-after('a-b', '-')", "b"], ["substring-after('ab', '-')", ""], ["string-join(t:a, ',')", "one,two,three"],
    ["string-to-codepoints('aB')", "97 66"], ["codepoints-to-string((97, 128512))", "a\u{1f600}"], ["compare('a', 'b')", "-1"], ["string(1.50)", "1.5"], ["string(t:missing)", ""], ["string-join(for $x in reverse(1 to 3) return string($x), '')", "321"], ["tokenize('a,b,,c', ',')", "a b c"], ["count(tokenize('a,b,,c', ','))", "4"],
    ["count(tokenize('', ','))", "0"], ["tokenize('a  b', '\\s+')[last()]", "b"], ["replace('abc', '(b)', '[$1]')", "a[b]c"], ["replace('a.b', '\\.', '\\$')", "a$b"], ["contains(' A B ', concat(' ', 'B', ' '))", "true"], ["contains(' A B ', concat(' ', 'A B', ' '))", "true"], ["contains(' A B ', concat(' ', '', ' '))", "false"],
    ["data(t:a[1])", "one"], ["distinct-values((1, 1.0, 'a', 'a', 2))", "1 a 2"], ["index-of((10, 20, 10), 10)", "1 3"], ["subsequence((1, 2, 3), 2)", "2 3"], ["zero-or-one(t:empty)", ""], ["exactly-one(t:flag)", "false"], ["lower-case('\u00c4')", "\u00e4"],
  ],
  "regular expressions": [
    ["matches('abc', '^a')", "true"], ["matches('a\nb', '^b')", "false"], ["matches('a\nb', '^b', 'm')", "true"], ["matches('a\nb', 'a.b')", "false"], ["matches('a\nb', 'a.b', 's')", "true"], ["matches('ABC', 'b', 'i')", "true"], ["matches('a b', 'a\\sb')", "true"], ["matches('\u0663', '\\d')", "true"],
    ["matches('x-1', '^[\\i-[:]][\\c-[:]]*$')", "true"], ["matches('e', '[a-z-[aeiou]]')", "false"], ["matches('f', '[a-z-[aeiou]]')", "true"], ["matches('abab', '(ab)\\1')", "true"], ["matches('a.b', 'a\\.b')", "true"], ["matches('\u00e4', '\\p{L}')", "true"], ["matches('1', '\\P{L}')", "true"], ["matches('a_b', '^\\w+$')", "false"],
    ["matches('a{b', 'a\\{b')", "true"], ["matches('/-.', '^[/\\-.]+$')", "true"], ["matches('a b', 'a b', 'x')", "false"], ["matches('ab', 'a b', 'x')", "true"], ["matches('', '^$')", "true"], ["matches('\u{1f600}', '^.$')", "true"], ["matches('x', '[^\\d\\s]')", "true"], ["matches('aaa', '^a{2,}?a$')", "true"],
  ],
  "casts and types": [
    ["t:n[1] castable as xs:integer", "true"], ["t:n[3] castable as xs:integer", "false"], ["t:missing castable as xs:integer", "false"], ["t:missing castable as xs:integer?", "true"], ["t:n castable as xs:integer", "false"], ["'2026-02-29' castable as xs:date", "false"], ["'2024-02-29' castable as xs:date", "true"], ["'24:00:00' castable as xs:time", "true"],
    ["'2026-01-01T25:00:00' castable as xs:dateTime", "false"], ["' 12 ' cast as xs:integer", "12"], ["'1' cast as xs:boolean", "true"], ["xs:boolean('0')", "false"], ["xs:string(1.0)", "1"], ["xs:double('1.5') * 2", "3"], ["256 castable as xs:unsignedByte", "false"], ["xs:nonNegativeInteger('5')", "5"], ["xs:date(t:missing)", ""], ["xs:date('2026-01-31')", "2026-01-31"],
    ["3 cast as xs:string", "3"], ["'INF' castable as xs:double", "true"], ["'Infinity' castable as xs:double", "false"], ["'abc' castable as xs:string", "true"],
  ],
  "control and variables": [
    ["for $x in t:n return $x * 2", "6 20 5"], ["for $x in (1, 2), $y in (10, 20) return $x * $y", "10 20 20 40"], ["some $x in t:n satisfies $x > 5", "true"], ["every $x in t:n satisfies $x > 5", "false"], ["every $x in () satisfies false()", "true"], ["some $x in t:a, $y in t:a/@k satisfies $x/@k = $y", "true"],
    ["if (t:a) then 'yes' else 'no'", "yes"], ["for $a in t:a return if ($a/@k) then $a/@k else 0", "1 2 0"], ["(for $x in 1 to 5 return $x)[. mod 2 = 0]", "2 4"], ["((1, 2), (), (3))", "1 2 3"], ["(4, 5, 6)[2]", "5"], ["(4, 5, 6)[. > 4]", "5 6"], ["(for $i in 1 to 3 return $i)[4]", ""], ["('a', 1, 2.5, true())", "a 1 2.5 true"],
    ["u:twice(t:n[1])", "6"], ["u:twice(21)", "42"], ["u:fact(25)", "15511210043330985984000000"], ["u:any(t:a)", "3"], ["u:any(())", "0"], ["u:any('x')", "1"], ["u:tree()", "165"], ["u:choose('a')", "first"], ["u:choose(())", "none"], ["u:choose(t:a[1])", "other"], ["count((t:a, t:a))", "6"], ["(: note (: nested :) :) 1", "1"],
    ["string-join(for $a in //t:a return string($a), '|')", "one|two|three|four|five"],
  ],
};

describe.each(Object.entries(TABLE))("%s", (_, rows) => {
  test.each(rows)("%s is %s", (expression, expected) => {
    expect(value(expression)).toBe(expected);
  });
});

describe("contexts", () => {
  const matched = (context: string): string => value("string(.)", context);
  test.each([
    ["t:deep/t:a", "four"], ["//t:deep//t:deep/t:a", "five"], ["t:a[2]", "two"], ["/t:r/t:a[3]", "three"], ["t:a[last()]", "three"], ["t:r/t:d[. > '2026-02-28']", "2026-03-01"], ["(t:n | t:flag)[. = 'false']", "false"], ["(/t:r/t:n | /t:r/t:bad)[t:x or . = 'x']", "x"],
    ["*[@k = '4']", "four"], ["t:deep//t:a[not(@k)]", "five"], ["t:a[$global = 5][@k = '2']", "two"], ["t:bad[xs:decimal(.) = 1] | t:flag", "false"], ["o:*", "other"], ["t:missing | /t:r/t:flag", "false"],
  ])("%s matches first %j", (context, expected) => {
    expect(matched(context)).toBe(expected);
  });

  test("the document node can be a context", () => {
    expect(value("name(*)", "/")).toBe("r");
  });
});

describe("what is refused, with its name", () => {
  test.each([
    ["document('x')", "document"], ["key('a', 'b')", "key"], ["current-date()", "current-date"], ["format-number(1, '0')", "format-number"], ["collection()", "collection"], ["t:a instance of xs:string", "instance of"], ["$missing", "$missing"], ["x:y", "x"], ["t:a[", "expected"],
    ["u:missing()", "u:missing"], ["concat('a')", "concat"], ["matches('a', '(')", "regular expression"], ["namespace::*", "namespace"], ["t:a cast as xs:QName", "xs:QName"], ["comment()", "comment"], ["let $x := 1 return $x", "unexpected"], ["a ! b", "unexpected character"], ["u:twice(1, 2)", "u:twice"], ["unparsed-text('x')", "unparsed-text"], ["count(//.)", "// followed by"], ["t:a//..", "// followed by"], ["(t:a | @id)/t:b", "axis child from"],
  ])("%s", (expression, named) => {
    expect(() => value(expression)).toThrow(/^test\.sch:\d+: /);
    expect(() => value(expression)).toThrow(named);
  });

  test.each(["@id", "t:a/text()", "t:a/following-sibling::t:b", "'x'"])("context %s", (context) => {
    expect(() => value("1", context)).toThrow(/^test\.sch:\d+: not supported/);
  });
});
