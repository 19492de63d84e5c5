/** What is exported: once under a name, and only when somebody imports it. */
import ts from "typescript";

import { eachNode, fileOfSpecifier } from "../sources.js";
import type { Source } from "../sources.js";

/** Files that a program starts or loads by name. */
const ENTRIES =
  /^(gateway\/(cli|start\/worker)|validators\/worker|validators\/ubl\/generate|bench\/peers\/((uws|fastify)-insert|event-receiver|rsa-alone)|bench\/hostile\/clients)\.ts$/;

const isExported = (node: ts.Node): boolean =>
  ts.canHaveModifiers(node) && ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;

/** Names that a file declares and exports. */
export function exportsOf({ file }: Source): string[] {
  return file.statements.filter(isExported).flatMap((statement) => {
    if (ts.isVariableStatement(statement))
      return statement.declarationList.declarations.flatMap(({ name }) =>
        ts.isIdentifier(name)
          ? [name.text]
          : name.elements.flatMap((element) =>
              ts.isBindingElement(element) && ts.isIdentifier(element.name) ? [element.name.text] : [],
            ),
      );
    const named = statement as ts.Node & { readonly name?: ts.Node };
    return named.name !== undefined && ts.isIdentifier(named.name) ? [named.name.text] : [];
  });
}

/** `path#name` of everything that a file imports from ours; `path#*` for a whole module. */
function importedBy({ path, file }: Source): string[] {
  const found: string[] = [];
  eachNode(file, (node) => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      const target = fileOfSpecifier(path, node.moduleSpecifier.text);
      const bindings = node.importClause?.namedBindings;
      if (bindings !== undefined && ts.isNamespaceImport(bindings)) found.push(`${target}#*`);
      else
        for (const element of bindings?.elements ?? [])
          found.push(`${target}#${(element.propertyName ?? element.name).text}`);
    }
    if (
      ts.isExportDeclaration(node) &&
      node.moduleSpecifier !== undefined &&
      ts.isStringLiteral(node.moduleSpecifier)
    ) {
      const target = fileOfSpecifier(path, node.moduleSpecifier.text);
      if (node.exportClause === undefined || ts.isNamespaceExport(node.exportClause)) found.push(`${target}#*`);
      else
        for (const element of node.exportClause.elements)
          found.push(`${target}#${(element.propertyName ?? element.name).text}`);
    }
    // import("./x.js") and import("./x.js").Name
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [specifier] = node.arguments;
      if (specifier !== undefined && ts.isStringLiteral(specifier))
        found.push(`${fileOfSpecifier(path, specifier.text)}#*`);
    }
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument) && ts.isStringLiteral(node.argument.literal))
      found.push(`${fileOfSpecifier(path, node.argument.literal.text)}#*`);
  });
  return found;
}

/** Closed lists whose type is what the rest of the project uses: `export const KINDS = [...]; type Kind = (typeof KINDS)[number]`. */
function listsBehindTypes({ file }: Source): ReadonlySet<string> {
  const found = new Set<string>();
  eachNode(file, (node) => {
    if (ts.isTypeQueryNode(node) && ts.isIdentifier(node.exprName)) found.add(node.exprName.text);
  });
  return found;
}

/** Exports that no other file imports, tests included. */
export function deadExports(sources: readonly Source[], tests: readonly Source[]): string[] {
  const used = new Set([...sources, ...tests].flatMap(importedBy));
  return sources
    .filter(({ path }) => !path.endsWith(".generated.ts") && !ENTRIES.test(path) && !used.has(`${path}#*`))
    .flatMap((source) => {
      const lists = listsBehindTypes(source);
      return exportsOf(source)
        .filter((name) => !used.has(`${source.path}#${name}`) && !lists.has(name))
        .map((name) => `${source.path}: ${name}`);
    });
}

/** Names that two files of the engine, the gateway and the actors export: a reader cannot tell which is meant. */
export function namesakes(sources: readonly Source[]): string[] {
  const homes = new Map<string, string[]>();
  for (const source of sources.filter(({ path }) => /^(engine|gateway|actors)\//.test(path)))
    for (const name of new Set(exportsOf(source))) homes.set(name, [...(homes.get(name) ?? []), source.path]);
  return [...homes].filter(([, paths]) => paths.length > 1).map(([name, paths]) => `${name}: ${paths.join(", ")}`);
}

/** Files that nothing imports and no program starts. */
export function deadFiles(all: readonly Source[], tests: readonly Source[]): string[] {
  const used = new Set([...all, ...tests].flatMap((source) => source.imports));
  return all.map((source) => source.path).filter((path) => !used.has(path) && !ENTRIES.test(path));
}

/**
 * Rows of a table (LIMITS, METRICS, VARIABLES) that no product file names outside the table's own file and the folder of its parts. A limit that
 * bounds another one in LIMIT_RELATIONS is used.
 */
export function unusedRows(names: readonly string[], home: string, sources: readonly Source[]): string[] {
  const textOf = (isHome: boolean): string =>
    sources
      .filter(({ path }) => (path === home || path.startsWith(home.replace(/\.ts$/, "/"))) === isHome)
      .map(({ file }) => file.getFullText())
      .join("\n");
  const [elsewhere, own] = [textOf(false), textOf(true)];
  return names.filter(
    (name) => !new RegExp(`\\b${name}\\b`).test(elsewhere) && !new RegExp(`\\bLIMITS\\.${name}\\b`).test(own),
  );
}
