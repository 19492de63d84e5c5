/**
 * Text of strangers is cut in two places only, by code points: half a character is no text for a database, and a verdict
 * that cannot be written is none. The check reads the sources: a call that cuts at a bound, rather than at a place it has
 * found, must be one of the two functions, or stand in the table below with its reason.
 */
import ts from "typescript";
import { describe, expect, test } from "vitest";

import { parse, readSources } from "./support/sources.js";
import type { Source } from "./support/sources.js";

/** Where text is cut. */
const HOMES: readonly string[] = ["validators/text.ts", "engine/base/text.ts"];

/** What else is cut at a bound: lists, and texts that are our own. */
const HARMLESS: Readonly<Record<string, string>> = {
  elsewhere: "cursors of firms",
  errors: "a list",
  "mls.issues": "a list",
  "response.reasons": "a list",
  findings: "a list",
  "answer.otherReferences": "a list",
  'childrenNamed(list, SMP_NS, "ServiceMetadataReference")': "a list",
  ordered: "a list",
  kinds: "a list",
  texts: "a list",
  ids: "a list",
  urls: "a list",
  behind: "a list",
  points: "a list of characters",
  faults: "a list",
  "[...fresh, ...previous]": "a list",
  "[...(current === undefined ? [] : [current]), ...others]": "a list",
  "(options.servers ?? getServers().flatMap((text) => parseDnsServer(text) ?? []))": "a list",
  "(output + text)": "the words of our own Postgres, searched and not kept",
  secret: "our own secret, of base 62",
  random: "our own secret, of base 62",
  token: "a key in memory",
};

const CUTS = new Set(["slice", "substring", "substr"]);
const BOUND = /(?:^|[._])(?:max|chars|bytes|shown)(?:$|_)|_max$/i;
/** Fixed forms, such as days and scheme prefixes, are no longer. */
const FIXED_FORM_CHARS_MAX = 20;

const isBound = (node: ts.Expression): boolean =>
  ts.isNumericLiteral(node)
    ? Number(node.text) > FIXED_FORM_CHARS_MAX
    : ts.isPrefixUnaryExpression(node)
      ? isBound(node.operand)
      : ts.isBinaryExpression(node)
        ? isBound(node.left) || isBound(node.right)
        : (ts.isIdentifier(node) || ts.isPropertyAccessExpression(node)) && BOUND.test(node.getText());

/** Up to a bound from the start, or a bounded piece of the end. */
const isBoundOf = ([from, to]: readonly ts.Expression[]): boolean =>
  to === undefined ? from !== undefined && /^-/.test(from.getText()) && isBound(from) : isBound(to);

interface Cut {
  readonly path: string;
  readonly receiver: string;
}

/** Each call that keeps a bounded piece of something. */
function cutsOf({ path, file }: Source): Cut[] {
  const found: Cut[] = [];
  const visit = (node: ts.Node): void => {
    if (
      ts.isCallExpression(node) &&
      ts.isPropertyAccessExpression(node.expression) &&
      CUTS.has(node.expression.name.text) &&
      isBoundOf(node.arguments) &&
      // A digest in hex or base 64 has no characters but those.
      !/\.digest\("\w+"\)$/.test(node.expression.expression.getText())
    )
      found.push({ path, receiver: node.expression.expression.getText() });
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

/** The workers' readers of XML and XPath cut at places they have found, and what they keep is cut by the report. */
const isReader = (path: string): boolean => /^validators\/(xml|schematron|wss|ubl|rules)\//.test(path);

describe("text of strangers", () => {
  const cuts = readSources()
    .filter(({ path }) => !HOMES.includes(path) && !path.startsWith("bench/"))
    .flatMap((source) =>
      isReader(source.path) ? cutsOf(source).filter(({ receiver }) => receiver === "path") : cutsOf(source),
    );

  test("no source cuts text at a bound but the two that cut between characters", () => {
    expect(cuts.filter(({ receiver }) => HARMLESS[receiver] === undefined)).toEqual([]);
  });

  test("every exception is still one", () => {
    expect(Object.keys(HARMLESS).filter((text) => !cuts.some(({ receiver }) => receiver === text))).toEqual([]);
  });

  test.each([
    "text.slice(0, VALUE_CHARS_MAX)",
    "text?.substring(0, LIMITS.status_text_chars_max)",
    "path.slice(-PATH_CHARS_MAX / 2)",
    "value.slice(0, 200)",
  ])("the check finds %s", (call) => {
    expect(cutsOf(parse("made/up.ts", `const x = ${call};`))).toHaveLength(1);
  });
});
