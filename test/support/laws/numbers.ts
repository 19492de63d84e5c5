/** Numbers with a meaning stand in engine/base/limits.ts; the validators, which import nothing of ours, keep their own. */
import ts from "typescript";

import { eachNode } from "../sources.js";
import type { Source } from "../sources.js";

/** Where numbers may be named. */
const HOMES = /^engine\/base\/(limits|limits\/\w+|clock|metrics|addresses)\.ts$|^validators\/|^bench\//;
/** Names that promise a bound, a duration or a number of tries. A size that a format fixes (a nonce, a key) is no choice of ours. */
const MEANINGFUL =
  /(_(MS|S|MAX|MIN|DAYS|HOURS|MINUTES|SECONDS|ATTEMPTS|ENTRIES|LEVEL|LIMIT|TIMEOUT|INTERVAL)|_(ms|s|max|min|days))$|^(TIMEOUT|LIMIT|MAX|MIN)_/;

const isNumber = (node: ts.Expression | undefined): boolean => {
  if (node === undefined) return false;
  if (ts.isNumericLiteral(node)) return true;
  if (ts.isPrefixUnaryExpression(node) || ts.isParenthesizedExpression(node))
    return isNumber(ts.isPrefixUnaryExpression(node) ? node.operand : node.expression);
  return ts.isBinaryExpression(node) && isNumber(node.left) && isNumber(node.right);
};

/**
 * Bounds, durations and sizes written outside limits.ts: a constant or a member whose name ends in a unit and whose value
 * is a number, and a number that is handed to a timer. 0 and 1 are no measures unless they carry a unit of time.
 */
export function strayNumbers({ path, file }: Source): string[] {
  if (HOMES.test(path) || path.endsWith(".generated.ts")) return [];
  const found: string[] = [];
  eachNode(file, (node) => {
    if ((ts.isVariableDeclaration(node) || ts.isPropertyAssignment(node)) && isNumber(node.initializer)) {
      const name = node.name.getText(file);
      const isZero = node.initializer?.getText(file) === "0";
      if (MEANINGFUL.test(name) && !isZero) found.push(`${path}: ${name}`);
    }
    if (
      ts.isCallExpression(node) &&
      /(^|\.)(setTimeout|setInterval|pause|sleep)$/.test(node.expression.getText(file)) &&
      node.arguments.some((argument) => isNumber(argument) && argument.getText(file) !== "0")
    )
      found.push(
        `${path}: a timer of ${node.arguments.map((argument) => argument.getText(file)).find((t) => /^[\d_]+/.test(t)) ?? "?"}`,
      );
  });
  return [...new Set(found)];
}

/** The same number of the same name in two files. */
export function repeatedConstants(sources: readonly Source[]): string[] {
  const homes = new Map<string, string[]>();
  for (const { path, file } of sources.filter(({ path }) => /^(engine|gateway|actors)\//.test(path)))
    for (const statement of file.statements)
      if (ts.isVariableStatement(statement))
        for (const { name, initializer } of statement.declarationList.declarations) {
          const isValue = initializer !== undefined && (isNumber(initializer) || ts.isStringLiteral(initializer));
          if (!isValue || !/^[A-Z][A-Z0-9_]+$/.test(name.getText(file))) continue;
          const key = `${name.getText(file)} = ${initializer.getText(file)}`;
          homes.set(key, [...(homes.get(key) ?? []), path]);
        }
  return [...homes].filter(([, paths]) => paths.length > 1).map(([key, paths]) => `${key}: ${paths.join(", ")}`);
}
