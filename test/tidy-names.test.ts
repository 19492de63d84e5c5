/**
 * Each test name is a promise that stands alone: whoever reads it in a report, without the describe around it and without
 * the code, learns what holds. The check reads the sources of the tests: a name must not begin where a sentence goes on,
 * must say more than the values that test.each puts in, and no describe may end where only a name would complete it.
 */
import ts from "typescript";
import { describe, expect, test } from "vitest";

import { parse, readTests } from "./support/sources.js";
import type { Source } from "./support/sources.js";

/** Words with which a sentence goes on and none begins: auxiliaries, conjunctions, and words that point back. */
const CONTINUATIONS: ReadonlySet<string> = new Set(
  (
    "is are was were be been has have had does do did can cannot may might must should would will " +
    "and or but nor also then to into of that than whose as it its they their them this these"
  ).split(" "),
);

/** Verbs that have been the first word of a name whose subject was its describe. */
const VERBS: ReadonlySet<string> = new Set(
  (
    "accepts agrees allows applies archives arrives asks becomes begins believes belongs breaks brings checks closes comes " +
    "commits connects creates deletes drops ends fails fetches finds follows forgets gets gives goes grows hangs holds ignores " +
    "judges keeps knows leaves lists loses makes marks means meets moves needs opens passes posts proves publishes puts " +
    "reads receives refers refuses rejects remembers removes renews repeats replaces resets returns runs says sees sends serves " +
    "shows signs speaks starts stays stops stores takes tells throws treats tries uses verifies wakes writes works"
  ).split(" "),
);

/** After a word in -s these open an object, so that the word is a verb whatever it is: `names the header`. */
const OBJECTS: ReadonlySet<string> = new Set(
  "a an the no nothing every each our its his what whatever whether itself back neither".split(" "),
);

/** Words after which a describe waits for more: `nothing is sent to`. */
const UNFINISHED: ReadonlySet<string> = new Set(
  "a an the of to on at from with into when that and or is are fail fails".split(" "),
);

/** What vitest fills in: `%s`, `%3$s`, `$name`; and what a template does. */
const PLACEHOLDER = /%(?:\d+\$)?[a-z]|\$\{[^}]*\}|\$[a-z][\w.]*/gi;
/** Words that a name must have beside its placeholders. */
const OWN_WORDS_MIN = 2;

/** Why a test name does not stand alone; undefined when it does. */
function faultOfName(name: string): string | undefined {
  const [first = "", second = ""] = name.split(/\s+/).map((word) => word.replace(/[,:;]+$/, ""));
  if (CONTINUATIONS.has(first)) return `begins with "${first}"`;
  if (VERBS.has(first)) return `begins with the verb "${first}"`;
  if (/^[a-z]+s$/.test(first) && !/[:,]$/.test(name.split(" ")[0] ?? "") && OBJECTS.has(second))
    return `begins with the verb "${first}"`;
  const own = name.replace(PLACEHOLDER, " ").match(/[\p{L}\p{N}]{2,}/gu) ?? [];
  return own.length < OWN_WORDS_MIN ? "says nothing beside its values" : undefined;
}

/** Why a describe cannot be read without the names in it; undefined when it can. */
function faultOfTitle(title: string): string | undefined {
  const last = title.split(/\s+/).at(-1) ?? "";
  return UNFINISHED.has(last) ? `ends with "${last}"` : undefined;
}

/** `test` of `test.each(rows)("name")`, and `describeWith` of a helper. */
function calleeOf(node: ts.Expression): string {
  if (ts.isIdentifier(node)) return node.text;
  if (ts.isPropertyAccessExpression(node) || ts.isCallExpression(node)) return calleeOf(node.expression);
  return ts.isTaggedTemplateExpression(node) ? calleeOf(node.tag) : "";
}

const textOf = (node: ts.Expression | undefined): string | undefined =>
  node === undefined || !(ts.isStringLiteralLike(node) || ts.isTemplateExpression(node))
    ? undefined
    : ts.isStringLiteralLike(node)
      ? node.text
      : node.getText().slice(1, -1);

/** Each name and each describe of a file that does not stand alone, with its line and why. */
function faultsOf({ path, file }: Source): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const callee = calleeOf(node.expression);
      const name = textOf(node.arguments[0]);
      const fault = /^(?:test|it)$/.test(callee)
        ? faultOfName
        : callee.startsWith("describe")
          ? faultOfTitle
          : undefined;
      const why = name === undefined ? undefined : fault?.(name);
      if (why !== undefined)
        found.push(`${path}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1} ${why}: ${name}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

const testFiles = readTests().filter(({ path }) => path.endsWith(".test.ts"));

describe("the names of the tests", () => {
  test("every test name stands alone as a promise, and every describe without the names in it", () => {
    expect(testFiles.length).toBeGreaterThan(100);
    expect(testFiles.flatMap(faultsOf)).toEqual([]);
  });

  test.each([
    ["an auxiliary", 'test("is refused", () => {});'],
    ["a conjunction", 'test("and proves nothing", () => {});'],
    ["a preposition that goes on", 'test("of the test service is recognised", () => {});'],
    ["a word that points back", 'test("it ends after 900 seconds", () => {});'],
    ["a verb without its subject", 'test("refuses the connection: nothing was transmitted", () => {});'],
    ["a word that is a verb by its object", 'test("names every file", () => {});'],
    ["nothing but values", 'test.each([["a"]])("%s: %s", () => {});'],
    ["a noun alone", 'test("a cycle", () => {});'],
    ["a describe that waits for its names", 'describe("nothing is transmitted to", () => {});'],
    ["a describe of a helper", 'describeConformance("the rules agree with", "folder", () => {});'],
  ])("a name that begins or ends with what does not stand alone is found: %s", (_, text) => {
    expect(faultsOf(parse("test/made-up.test.ts", text))).toHaveLength(1);
  });

  test.each([
    "names are interned: the same integer in every document",
    "answers forbid sniffing and caching",
    "403, with one body for a foreign and an unknown participant",
    "%s is refused",
  ])("a name that stands alone is let pass: %s", (name) => {
    expect(faultsOf(parse("test/made-up.test.ts", `test(${JSON.stringify(name)}, () => {});`))).toEqual([]);
  });
});
