/** What lives long and grows must have a bound. */
import ts from "typescript";

import { eachNode } from "../sources.js";
import type { Source } from "../sources.js";

const isEmptyContainer = (node: ts.Expression | undefined): boolean =>
  node !== undefined &&
  ((ts.isArrayLiteralExpression(node) && node.elements.length === 0) ||
    (ts.isNewExpression(node) &&
      ts.isIdentifier(node.expression) &&
      ["Map", "Set"].includes(node.expression.text) &&
      (node.arguments?.length ?? 0) === 0));

/** Callbacks that run before the call that they are given to returns: part of the function around them. */
const AT_ONCE = /^(map|forEach|filter|flatMap|from|reduce|some|every|find|sort|toSorted|replace|replaceAll)$/;
const runsAtOnce = (node: ts.Node): boolean =>
  ts.isFunctionLike(node) &&
  ts.isCallExpression(node.parent) &&
  ts.isPropertyAccessExpression(node.parent.expression) &&
  AT_ONCE.test(node.parent.expression.name.text);

const functionOf = (node: ts.Node): ts.Node | undefined => {
  for (let at: ts.Node | undefined = node.parent; at !== undefined; at = at.parent)
    if ((ts.isFunctionLike(at) && !runsAtOnce(at)) || ts.isSourceFile(at) || ts.isClassLike(at)) return at;
  return undefined;
};

/**
 * What is built while one document or one rule pack is read lives no longer than that, and is bounded by the limits of
 * the scan.
 */
const SHORT_LIVED = /^validators\/(rules|schematron|ubl|xml|wss)\/|^validators\/(validate|inspect)\.ts$|^bench\//;

const COMPARES = new Set([
  ts.SyntaxKind.LessThanToken,
  ts.SyntaxKind.LessThanEqualsToken,
  ts.SyntaxKind.GreaterThanToken,
  ts.SyntaxKind.GreaterThanEqualsToken,
]);

/** The name of the container whose `length` or `size` an expression reads. */
const measured = (node: ts.Expression, file: ts.SourceFile): string | undefined =>
  ts.isPropertyAccessExpression(node) && ["length", "size"].includes(node.name.text)
    ? node.expression.getText(file).replace(/^.*[.#]/s, "")
    : undefined;

/** `queue.length >= LIMITS.x`: a comparison with something that is called a most, not with a number written there. */
function boundOf(node: ts.Node, file: ts.SourceFile): string | undefined {
  if (!ts.isBinaryExpression(node) || !COMPARES.has(node.operatorToken.kind)) return undefined;
  for (const [side, other] of [
    [node.left, node.right],
    [node.right, node.left],
  ] as const)
    if (/LIMITS\.|_max\b|_MAX\b|#max\b/.test(other.getText(file))) {
      const name = measured(side, file);
      if (name !== undefined) return name;
    }
  return undefined;
}

/**
 * Long-lived containers without a bound: an empty array, Map or Set that is declared in a module, a class or a factory
 * and grows in an inner function. A bound is a comparison of its length or size with a limit, or the words `bounded by`
 * in a comment at its declaration that say what bounds it. That something leaves it now and then is no bound.
 */
export function unboundedContainers({ path, file }: Source): string[] {
  if (SHORT_LIVED.test(path)) return [];
  const text = file.getFullText();
  const growth = new Map<string, ts.Node[]>();
  const bounded = new Set<string>();
  const declared: { readonly name: string; readonly home: ts.Node | undefined; readonly node: ts.Node }[] = [];
  eachNode(file, (node) => {
    if (
      (ts.isVariableDeclaration(node) || ts.isPropertyDeclaration(node)) &&
      (ts.isIdentifier(node.name) || ts.isPrivateIdentifier(node.name)) &&
      isEmptyContainer(node.initializer)
    )
      declared.push({ name: node.name.text.replace(/^#/, ""), home: functionOf(node), node });
    if (
      ts.isCallExpression(node) &&
      ts.isPropertyAccessExpression(node.expression) &&
      ["push", "unshift", "set", "add"].includes(node.expression.name.text)
    ) {
      const name = node.expression.expression.getText(file).replace(/^.*[.#]/s, "");
      growth.set(name, [...(growth.get(name) ?? []), node]);
    }
    const name = boundOf(node, file);
    if (name !== undefined) bounded.add(name);
  });
  return declared
    .filter(({ name, home, node }) => {
      const statement = ts.isVariableDeclaration(node) ? node.parent.parent : node;
      const lead = text.slice(statement.getFullStart(), node.getEnd());
      const longLived = (growth.get(name) ?? []).some((call) => functionOf(call) !== home);
      return longLived && !bounded.has(name) && !/bounded by/i.test(lead);
    })
    .map(({ name }) => `${path}: ${name} grows without a bound`);
}
