/**
 * A copy of validators/ that counts where it goes: every function body, branch, loop body, case and right-hand side of a
 * logical operator adds one to a byte of `globalThis.kurierCoverage`. Native fuzzers for Node need a newer C library than
 * ours; this one needs the TypeScript compiler that is here anyway.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export interface Instrumented {
  /** Loads a module of the copy: `load("xml/scanner")`. */
  load<Module>(path: string): Promise<Module>;
  /** One counter a place, wrapping at 256. Cleared by whoever reads it. */
  readonly counters: Uint8Array;
  /** Texts of the sources that stand in comparisons, tables and switches: what a random byte never hits. */
  readonly dictionary: readonly string[];
  remove(): void;
}

declare global {
  // The copy is plain JavaScript in the same process; a global is the one thing both sides can name.
  var kurierCoverage: Uint8Array | undefined;
}

const COUNTERS_MAX = 65_536;

/** Writes the copy inside node_modules, so that the packages it imports are found. */
export function instrumentValidators(): Instrumented {
  const cache = join(ROOT, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "fuzz-"));
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  const numbers = { next: 0 };
  const words = new Set<string>();
  for (const file of sourcesBelow(join(ROOT, "validators"))) {
    const target = join(folder, relative(join(ROOT, "validators"), file).replace(/\.ts$/u, ".js"));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, counted(readFileSync(file, "utf8"), numbers, words));
  }
  const counters = new Uint8Array(Math.min(numbers.next, COUNTERS_MAX));
  globalThis.kurierCoverage = counters;
  return {
    counters,
    dictionary: [...words],
    load: async <Module>(path: string): Promise<Module> =>
      (await import(/* @vite-ignore */ pathToFileURL(join(folder, `${path}.js`)).href)) as Module,
    remove: () => {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const sourcesBelow = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? sourcesBelow(path) : path.endsWith(".ts") && !path.endsWith(".d.ts") ? [path] : [];
  });

function counted(source: string, numbers: { next: number }, words: Set<string>): string {
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true },
    transformers: {
      before: [(context) => (file) => ts.visitEachChild(file, visitorOf(context, numbers, words), context)],
    },
  });
  return `const kurierCoverage = globalThis.kurierCoverage ?? new Uint8Array(${COUNTERS_MAX});\n${outputText}`;
}

const LOGICAL: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.AmpersandAmpersandToken,
  ts.SyntaxKind.BarBarToken,
  ts.SyntaxKind.QuestionQuestionToken,
]);

function visitorOf(
  context: ts.TransformationContext,
  numbers: { next: number },
  words: Set<string>,
): (node: ts.Node) => ts.Node {
  const f = ts.factory;
  const count = (): ts.Expression =>
    f.createPostfixIncrement(
      f.createElementAccessExpression(f.createIdentifier("kurierCoverage"), numbers.next++ % COUNTERS_MAX),
    );
  const before = (expression: ts.Expression): ts.Expression =>
    f.createParenthesizedExpression(f.createCommaListExpression([count(), expression]));
  const asBlock = (statement: ts.Statement): ts.Statement =>
    ts.isBlock(statement) ? statement : f.createBlock([f.createExpressionStatement(count()), statement]);
  const visit = (node: ts.Node): ts.Node => {
    if (ts.isStringLiteral(node) && node.text.length > 1 && node.text.length < 80 && !node.text.startsWith("."))
      words.add(node.text);
    const inner = ts.visitEachChild(node, visit, context);
    if (ts.isBlock(inner)) return f.updateBlock(inner, [f.createExpressionStatement(count()), ...inner.statements]);
    if (ts.isArrowFunction(inner) && !ts.isBlock(inner.body)) {
      return f.updateArrowFunction(
        inner,
        inner.modifiers,
        inner.typeParameters,
        inner.parameters,
        inner.type,
        inner.equalsGreaterThanToken,
        before(inner.body),
      );
    }
    if (ts.isConditionalExpression(inner))
      return f.updateConditionalExpression(
        inner,
        inner.condition,
        inner.questionToken,
        before(inner.whenTrue),
        inner.colonToken,
        before(inner.whenFalse),
      );
    if (ts.isBinaryExpression(inner) && LOGICAL.has(inner.operatorToken.kind))
      return f.updateBinaryExpression(inner, inner.left, inner.operatorToken, before(inner.right));
    if (ts.isIfStatement(inner))
      return f.updateIfStatement(
        inner,
        inner.expression,
        asBlock(inner.thenStatement),
        inner.elseStatement === undefined || ts.isIfStatement(inner.elseStatement)
          ? inner.elseStatement
          : asBlock(inner.elseStatement),
      );
    if (ts.isForStatement(inner))
      return f.updateForStatement(
        inner,
        inner.initializer,
        inner.condition,
        inner.incrementor,
        asBlock(inner.statement),
      );
    if (ts.isForOfStatement(inner))
      return f.updateForOfStatement(
        inner,
        inner.awaitModifier,
        inner.initializer,
        inner.expression,
        asBlock(inner.statement),
      );
    if (ts.isWhileStatement(inner)) return f.updateWhileStatement(inner, inner.expression, asBlock(inner.statement));
    if (ts.isCaseClause(inner))
      return f.updateCaseClause(inner, inner.expression, [f.createExpressionStatement(count()), ...inner.statements]);
    return inner;
  };
  return visit;
}
