// Goal: whatever a rule file holds, the importer compiles it or refuses it with file and line; it never crashes or hangs.
// Method: seeded damage to a schema that uses every construct: characters changed, pieces dropped, doubled and swapped.
import { expect, test } from "vitest";
import { compileSchema } from "../../validators/schematron/compile/compile.js";
import { instantiate } from "../../validators/schematron/runtime/pack.js";
import { readSchema } from "../../validators/schematron/compile/read-schema.js";
import { SourceError } from "../../validators/schematron/release/source-xml.js";
import { documentOf } from "../support/validators/packs.js";
import { Random, seedFrom } from "../support/random.js";

const SCHEMA = `<schema xmlns="http://purl.oclc.org/dsdl/schematron" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" queryBinding="xslt2"><title>t</title>
<ns prefix="t" uri="urn:t"/><ns prefix="u" uri="urn:u"/><ns prefix="xs" uri="http://www.w3.org/2001/XMLSchema"/><phase id="p"><active pattern="one"/></phase>
<let name="list" value="tokenize('A B C', '\\s')"/><let name="country" value="upper-case(normalize-space(/*/t:a[1]/@k))"/>
<xsl:function name="u:f" as="xs:boolean"><xsl:param name="v" as="xs:string?"/><xsl:variable name="d" select="for $i in string-to-codepoints($v) return $i - 48"/>
<xsl:variable name="n" as="xs:integer"><xsl:value-of select="sum($d) mod 10"/></xsl:variable><xsl:choose><xsl:when test="not(matches($v, '^[0-9]+$'))"><xsl:sequence select="false()"/></xsl:when><xsl:otherwise><xsl:sequence select="$n = number(substring($v, 2, 1))"/></xsl:otherwise></xsl:choose></xsl:function>
<pattern id="one"><let name="sum" value="sum(//t:n/xs:decimal(.))"/><rule abstract="true" id="base"><assert id="B" test="exists(t:a) or count(t:b) &lt;= 1" flag="fatal">b <value-of select="$country"/></assert></rule>
<rule context="/t:r[$country = 'X'] | (t:a | t:b)[@k]"><let name="x" value="t:n[last()]"/><extends rule="base"/><assert id="A" test="round($sum * 10 * 10) div 100 = xs:decimal($x) and (every $y in t:a satisfies $y/@k = $list)">a</assert>
<report id="R" test="if (t:d castable as xs:date) then xs:date(t:d) &lt; xs:date('2026-01-01') else contains(' A B ', concat(' ', ., ' '))" role="warning">r <name/></report><assert test="u:f(t:n[1]/string()) or not(//t:x/../t:y | .//t:z[2]) or t:a/preceding-sibling::t:b[1] != -1.5">u</assert></rule></pattern>
<pattern abstract="true" id="abs"><rule context="$c"><assert id="L" test="string-length($c) idiv 2 &gt; 0">l</assert></rule></pattern><pattern is-a="abs"><param name="c" value="t:n"/></pattern></schema>`;

const PIECES = [
  "'",
  '"',
  "<",
  "&lt;",
  "(",
  ")",
  "[",
  "]",
  "/",
  "//",
  "..",
  "@",
  "*",
  "|",
  " and ",
  " = ",
  "$",
  ":",
  "1",
  "0.5",
  "1e3",
  ",",
  "()",
  "{",
  "t:",
  "xs:",
  "(:",
  "\u0000",
  "\u{1f600}",
  "<a/>",
  "--",
  " div 0",
  " to ",
  "self::",
  "ancestor::",
];

function damage(text: string, random: Random): string {
  const at = random.int(text.length);
  const other = random.int(text.length);
  const length = 1 + random.int(12);
  switch (random.int(5)) {
    case 0:
      return text.slice(0, at) + text.slice(at + length);
    case 1:
      return text.slice(0, at) + random.pick(PIECES) + text.slice(at);
    case 2:
      return text.slice(0, at) + random.pick(PIECES) + text.slice(at + length);
    case 3:
      return text.slice(0, at) + text.slice(other, other + length) + text.slice(at);
    default:
      return (
        text.slice(0, at) +
        text
          .slice(at, at + length)
          .split("")
          .reverse()
          .join("") +
        text.slice(at + length)
      );
  }
}

/** What becomes of a file: its findings, or why it is refused. */
function outcome(text: string): "compiled" | "refused" {
  try {
    const compiled = compileSchema(readSchema(text, "f.sch", { include: () => undefined }));
    instantiate({ id: "x", version: "1", layer: "pack:x" }, compiled.code).run(
      documentOf(Buffer.from('<r xmlns="urn:t"><a k="X">A</a><b k="1"/><n>12</n><n>x</n><d>2025-01-01</d></r>')),
      100,
    );
    return "compiled";
  } catch (error) {
    if (error instanceof SourceError) return "refused";
    throw error;
  }
}

const seed = seedFrom(20_260_817);

test(`a damaged schema is compiled and run, or refused with its place (SEED=${seed})`, () => {
  expect(outcome(SCHEMA)).toBe("compiled");
  const counts = { compiled: 0, refused: 0 };
  for (let i = 0; i < 1_500; i++) {
    const random = new Random((seed + i) >>> 0);
    let text = SCHEMA;
    for (let n = 1 + random.int(3); n > 0; n--) text = damage(text, random);
    try {
      counts[outcome(text)]++;
    } catch (error) {
      throw new Error(`SEED=${seed + i} breaks the importer`, { cause: error });
    }
  }
  expect(counts.compiled).toBeGreaterThan(20);
  expect(counts.refused).toBeGreaterThan(20);
});

test.each([
  ["parentheses", "(".repeat(5_000) + "1" + ")".repeat(5_000)],
  ["predicates", `${"t:a[".repeat(5_000)}1${"]".repeat(5_000)}`],
  ["a sum of twenty thousand terms", Array(20_000).fill("1.5").join(" + ")],
  ["a union of five thousand paths", Array(5_000).fill("t:a").join(" | ")],
  ["minus signs", `${"-".repeat(100_000)}1`],
  ["nested conditions", `${"if (1) then ".repeat(1_000)}1${" else 2".repeat(1_000)}`],
])("%s beyond reason: refused or compiled", (_, expression) => {
  const text = `<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt2"><ns prefix="t" uri="urn:t"/><pattern><rule context="t:r"><assert id="A" test="${expression}">a</assert></rule></pattern></schema>`;
  expect(["compiled", "refused"]).toContain(outcome(text));
});
