/** Our own sources as the TypeScript parser sees them: for tests that read what the code is, not what it does. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FOLDERS = ["engine", "gateway", "actors", "validators", "bench"] as const;

export interface Source {
  /** `engine/storage/sql.ts`. */
  readonly path: string;
  readonly file: ts.SourceFile;
  /** Our own files that it imports, as paths, type-only imports included. */
  readonly imports: readonly string[];
  /** Packages and node built-ins that it imports. */
  readonly packages: readonly string[];
}

/** Calls `look` for a node and everything below it. */
export function eachNode(node: ts.Node, look: (node: ts.Node) => void): void {
  look(node);
  ts.forEachChild(node, (child) => {
    eachNode(child, look);
  });
}

/** Folders whose files nobody of us wrote. */
const OTHERS: ReadonlySet<string> = new Set(["node_modules", "generated"]);

const walk = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (OTHERS.has(entry.name)) return [];
    return entry.isDirectory() ? walk(path) : path.endsWith(".ts") && !path.endsWith(".d.ts") ? [path] : [];
  });

function specifiersOf(file: ts.SourceFile): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (
      (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) &&
      node.moduleSpecifier !== undefined &&
      ts.isStringLiteral(node.moduleSpecifier)
    )
      found.push(node.moduleSpecifier.text);
    if (
      ts.isCallExpression(node) &&
      node.expression.kind === ts.SyntaxKind.ImportKeyword &&
      node.arguments[0] !== undefined &&
      ts.isStringLiteral(node.arguments[0])
    )
      found.push(node.arguments[0].text);
    if (
      ts.isCallExpression(node) &&
      ts.isIdentifier(node.expression) &&
      /require/i.test(node.expression.text) &&
      node.arguments[0] !== undefined &&
      ts.isStringLiteral(node.arguments[0])
    )
      found.push(node.arguments[0].text);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

/** The file of ours that a relative specifier in `path` means. */
export const fileOfSpecifier = (path: string, specifier: string): string =>
  relative(ROOT, resolve(ROOT, dirname(path), specifier)).replace(/\.js$/, ".ts");

/** Parses one file; made-up ones too, so that a check can be shown to fail. */
export function parse(path: string, text: string): Source {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true);
  const specifiers = specifiersOf(file);
  return {
    path,
    file,
    imports: specifiers.filter((s) => s.startsWith(".")).map((s) => fileOfSpecifier(path, s)),
    packages: specifiers.filter((s) => !s.startsWith(".")),
  };
}

const readFolder = (folder: string): readonly Source[] =>
  walk(join(ROOT, folder)).map((path) => parse(relative(ROOT, path), readFileSync(path, "utf8")));

/** The sources of the product. */
export const readSources = (): readonly Source[] => FOLDERS.flatMap(readFolder);
export const readTests = (): readonly Source[] => readFolder("test");
