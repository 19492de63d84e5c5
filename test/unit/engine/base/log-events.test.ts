/** One log style: each line of the log is an event of the closed list, and each event of the list is logged somewhere. */
import ts from "typescript";
import { expect, test } from "vitest";

import { LOG_EVENTS } from "../../../../engine/base/log-events.js";
import { parse, readSources } from "../../../support/sources.js";
import type { Source } from "../../../support/sources.js";

const LEVELS = ["error", "warn", "info", "debug"];

/** First arguments of the calls `log.info(…)`, `ports.log.warn(…)` and their like, as they are written. */
function loggedIn({ file }: Source): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (
      ts.isCallExpression(node) &&
      ts.isPropertyAccessExpression(node.expression) &&
      LEVELS.includes(node.expression.name.text) &&
      /(^|\.)log$/.test(node.expression.expression.getText(file))
    )
      found.push(node.arguments[0]?.getText(file) ?? "");
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

const sources = readSources();

test("every log call names an event of the list by its code, and every event of the list is logged", () => {
  const logged = new Set(sources.flatMap(loggedIn));
  expect([...logged].sort()).toEqual(
    Object.keys(LOG_EVENTS)
      .map((code) => `"${code}"`)
      .sort(),
  );
});

test("every event is a dotted code with one English sentence", () => {
  for (const [code, sentence] of Object.entries(LOG_EVENTS)) {
    expect(code).toMatch(/^[a-z0-9]+\.[a-z0-9_]+$/);
    expect(sentence, code).toMatch(/^[A-Z][^\n]+\.$/);
  }
  expect(new Set(Object.values(LOG_EVENTS)).size).toBe(Object.keys(LOG_EVENTS).length);
});

test("a sentence in the place of a code, or a code made of parts, would be seen", () => {
  const made = parse("engine/x.ts", 'ports.log.info("it went well"); log.warn(`pki.${name}`, {}); logger.info("no");');
  expect(loggedIn(made)).toEqual(['"it went well"', "`pki.${name}`"]);
});
