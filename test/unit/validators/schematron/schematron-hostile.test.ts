// Goal: a pack from a stranger can compute verdicts and nothing else. What would take for ever, or all memory, or what
// stands outside of the release, is refused or ended, in one sentence.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import ts from "typescript";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { compileSchema } from "../../../../validators/schematron/compile/compile.js";
import { readSchema } from "../../../../validators/schematron/compile/read-schema.js";
import { importRules } from "../../../../validators/schematron/release/import.js";
import { readRelease } from "../../../../validators/schematron/release/release.js";
import { DeadlineExceeded, within } from "../../../../validators/schematron/runtime/deadline.js";
import { instantiate } from "../../../../validators/schematron/runtime/pack.js";
import { documentOf } from "../../../support/validators/packs.js";

const SCH = "http://purl.oclc.org/dsdl/schematron";
const XSL = "http://www.w3.org/1999/XSL/Transform";
const schema = (content: string): string =>
  `<schema xmlns="${SCH}" xmlns:xsl="${XSL}" queryBinding="xslt2"><ns prefix="t" uri="urn:t"/>${content}</schema>`;
const asserting = (test: string, context = "/t:a"): string =>
  `<pattern><rule context="${context}"><assert id="X" test="${test}">x</assert></rule></pattern>`;

let directory = "";
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "kurier-hostile-"));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** What the import of a release with these files says. */
function refusal(files: Readonly<Record<string, string>>): string {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, "release", path)), { recursive: true });
    writeFileSync(join(directory, "release", path), content);
  }
  try {
    importRules({ source: join(directory, "release"), rulesDir: join(directory, "rules") });
    return "imported";
  } catch (error) {
    return error instanceof Error ? error.message : "";
  }
}

const part = (content: string): string => `<pattern xmlns="${SCH}" id="p">${content}</pattern>`;

describe("releases", () => {
  test.each([
    [
      "that includes itself",
      { "a.sch": schema('<include href="a.sch"/>') },
      /^a\.sch:1: the file a\.sch includes itself/u,
    ],
    [
      "whose parts include each other",
      {
        "a.sch": schema('<include href="b.sch"/>'),
        "b.sch": part('<include href="c.sch"/>'),
        "c.sch": part('<include href="b.sch"/>'),
      },
      /^c\.sch:1: the file b\.sch includes itself/u,
    ],
    [
      "that leaves its folder",
      { "a.sch": schema('<include href="../../etc/passwd"/>') },
      /^a\.sch:1: the file .* is missing$/u,
    ],
    ["that names an absolute path", { "a.sch": schema('<include href="/etc/passwd"/>') }, /outside of the release/u],
    [
      "that names another host",
      { "a.sch": schema('<include href="http://example/x.sch"/>') },
      /outside of the release/u,
    ],
    [
      "that names a file by its scheme",
      { "a.sch": schema('<include href="file:///etc/passwd"/>') },
      /outside of the release/u,
    ],
    [
      "whose rule has no context",
      { "a.sch": schema('<pattern><rule><assert test="true()">x</assert></rule></pattern>') },
      /^a\.sch:1: <rule> has no context$/u,
    ],
    [
      "that asserts nothing",
      { "a.sch": schema("<pattern/>") },
      /^release checks nothing: no rule of it has an assert/u,
    ],
    [
      "whose parameters grow each other",
      {
        "a.sch": schema(
          `<pattern abstract="true" id="p"><rule context="/t:a"><assert test="$a">x</assert></rule></pattern><pattern is-a="p">${Array.from(
            { length: 25 },
            (_, i) =>
              `<param name="${String.fromCharCode(97 + i)}" value="$${String.fromCharCode(98 + i).repeat(1)} $${String.fromCharCode(98 + i)}"/>`,
          ).join("")}</pattern>`,
        ),
      },
      /a parameter grows beyond 262144 characters/u,
    ],
    [
      "with a DOCTYPE",
      { "a.sch": `<!DOCTYPE schema [<!ENTITY a "b">]>${schema("")}` },
      /^a\.sch:1: a DOCTYPE is not supported/u,
    ],
    [
      "whose expression is nested without end",
      { "a.sch": schema(asserting("(".repeat(50_000) + "1" + ")".repeat(50_000))) },
      /nested too deeply/u,
    ],
    [
      "whose variable needs itself",
      { "a.sch": schema(`<let name="v" value="$v + 1"/>${asserting("$v = 1")}`) },
      /the variable \$v that needs itself/u,
    ],
  ] as const)("a release is refused %s", (_, files, told) => {
    expect(refusal(files)).toMatch(told);
  });

  test("a schema of more than 16 MB is refused before it is read", () => {
    expect(refusal({ "a.sch": schema(`<!--${"x".repeat(17 * 1024 * 1024)}-->`) })).toBe("a.sch is larger than 16 MB");
  });

  test("a file that a link leads to is no part of a release", () => {
    writeFileSync(join(directory, "secret.sch"), schema(asserting("true()")));
    mkdirSync(join(directory, "release"));
    writeFileSync(join(directory, "release", "a.sch"), schema(asserting("true()")));
    symlinkSync(join(directory, "secret.sch"), join(directory, "release", "b.sch"));
    expect(readRelease(join(directory, "release")).map(({ path }) => path)).toEqual(["a.sch"]);
  });
});

const compiled = (content: string): string =>
  compileSchema(readSchema(schema(content), "a.sch", { include: () => undefined })).code;
const rulesOf = (content: string) => instantiate({ id: "pack:a", version: "1", layer: "pack:a" }, compiled(content));
const LONG = `<a xmlns="urn:t">${"a".repeat(60)}!</a>`;

describe("time and memory", () => {
  test.each([
    ["a regular expression that backtracks", asserting("matches(., '^(a+)+$')")],
    [
      "loops within loops",
      asserting("every $i in 1 to 99999, $j in 1 to 99999, $k in 1 to 99999 satisfies $i + $j + $k gt 0"),
    ],
  ])("rules that do not end are ended: %s", (_, content) => {
    const rules = rulesOf(content);
    const document = documentOf(Buffer.from(LONG));
    expect(() => within(300, () => rules.run(document, 10))).toThrow(DeadlineExceeded);
    // What comes after is judged as if nothing had happened.
    expect(within(10_000, () => rulesOf(asserting("false()")).run(document, 10)).findings).toHaveLength(1);
  });

  test("a function that calls itself for ever is a finding", () => {
    const endless =
      '<xsl:function xmlns:u="u" name="u:f" as="xs:integer"><xsl:param name="n" as="xs:integer"/><xsl:sequence select="u:f($n + 1)"/></xsl:function><ns prefix="u" uri="u"/>';
    expect(
      rulesOf(`${endless}${asserting("u:f(1) = 1")}`).run(documentOf(Buffer.from(LONG)), 10).findings,
    ).toMatchObject([{ ruleId: "!err:FOER0000", severity: "fatal" }]);
  });

  test("a range without bound is a finding, and takes no memory", () => {
    expect(
      rulesOf(asserting("count(1 to 999999999999) = 1")).run(documentOf(Buffer.from(LONG)), 10).findings,
    ).toMatchObject([{ ruleId: "!err:FOAR0002" }]);
  });

  test("work that ends in time gives its value, and what it throws is thrown", () => {
    expect(within(10_000, () => 7)).toBe(7);
    expect(() => within(10_000, () => Number("x").toFixed(101))).toThrow(RangeError);
  });
});

/** Names that generated code may use and does not declare: its parameter and the literals of the language. */
const OWN = /^(?:R|U|d|g|e|i|undefined|NaN|Infinity|true|false|[snkhf]\d+|v\d+_)$/u;

/** Identifiers that are neither declared by the code nor members of something it has. */
function reached(code: string): string[] {
  const file = ts.createSourceFile(
    "rules.js",
    `function rules(R) { ${code} }`,
    ts.ScriptTarget.ESNext,
    true,
    ts.ScriptKind.JS,
  );
  const found = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node)) {
      const { parent } = node;
      const isMember =
        (ts.isPropertyAccessExpression(parent) && parent.name === node) ||
        (ts.isPropertyAssignment(parent) && parent.name === node);
      if (isMember ? /^(?:constructor|__proto__|prototype|caller|callee)$/u.test(node.text) : !OWN.test(node.text))
        found.add(node.text);
    }
    if (node.kind === ts.SyntaxKind.ThisKeyword || node.kind === ts.SyntaxKind.ImportKeyword) found.add(node.getText());
    ts.forEachChild(node, visit);
  };
  visit(file);
  found.delete("rules");
  return [...found];
}

describe("compiled rules", () => {
  const QUOTES = "&quot;); process.exit(1); (&quot;";
  test.each([
    ["texts that end a literal", asserting(`. = '${QUOTES}' or . = '\\u2028\u2028\`\${process}\`*/'`)],
    [
      "names like those of JavaScript",
      `<let name="constructor" value="1"/><let name="__proto__" value="2"/><let name="process" value="3"/>${asserting("$constructor + $__proto__ + $process = 6")}`,
    ],
    [
      "elements named after globals",
      asserting("t:constructor/t:prototype or t:globalThis or @process", "t:__proto__ | t:eval"),
    ],
    [
      "ids and messages that are code",
      `<pattern><rule context="/t:a"><assert id="${QUOTES}" test="false()">${QUOTES} <value-of select="."/></assert></rule></pattern>`,
    ],
    [
      "functions and keys named after globals",
      `<ns prefix="u" uri="u"/><xsl:key name="constructor" match="t:a" use="."/><xsl:function xmlns:u="u" name="u:eval"><xsl:param name="process"/><xsl:choose><xsl:when test="$process = 'x'"><xsl:text>${QUOTES}</xsl:text></xsl:when><xsl:otherwise><xsl:value-of select="$process" separator="${QUOTES}"/></xsl:otherwise></xsl:choose></xsl:function>${asserting("u:eval(.) = 'x' or count(key('constructor', '__proto__')) = 1")}`,
    ],
    [
      "every kind of expression",
      asserting(
        "some $i in t:b satisfies $i = (1 to 3) and (for $x in tokenize(., '\\s') return upper-case($x)) = 'A' and (if (t:c) then sum(t:b/xs:decimal(.)) else count(//t:b[position() = last()]) div 2) gt 1 and exists(t:b/preceding-sibling::*) and t:b castable as xs:date and distinct-values(t:b) = 'x' and matches(., '[\\i-[:]]\\p{Lu}') and (t:b | t:c except t:d) and t:b is t:b and not(t:b/@x)",
      ),
    ],
  ])("compiled rules reach nothing but their document and the functions of XPath, with %s", (_, content) => {
    expect(reached(compiled(content))).toEqual([]);
  });

  test("a name that would be reached is found", () => {
    expect(reached("const v1_ = process.exit; return R.constructor;")).toEqual(["process", "constructor"]);
  });

  test("strange names run as what they are", () => {
    const rules = rulesOf(
      `<let name="constructor" value="1"/>${asserting("t:__proto__ = 'x' and $constructor = 1 and count(t:constructor) = 0")}`,
    );
    expect(rules.run(documentOf(Buffer.from('<a xmlns="urn:t"><__proto__>x</__proto__></a>')), 10).findings).toEqual(
      [],
    );
  });
});
