/**
 * Whoever meets an exported thing in another file reads what it is without opening its own: each export of these rooms
 * has a docstring. Rooms are added to the list as they fulfil it.
 */
import ts from "typescript";
import { describe, expect, test } from "vitest";

import { parse, readSources } from "./support/sources.js";
import type { Source } from "./support/sources.js";

const ROOMS = [
  "engine/peppol/",
  "engine/events/",
  "engine/identity/",
  "engine/embedded/",
  "actors/",
  "bench/",
] as const;

const isExported = (node: ts.Statement): boolean =>
  ts.canHaveModifiers(node) && (ts.getModifiers(node) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);

const nameOf = (node: ts.Statement): string =>
  ts.isVariableStatement(node)
    ? node.declarationList.declarations.map(({ name }) => name.getText()).join(", ")
    : ((ts.isFunctionDeclaration(node) ||
      ts.isClassDeclaration(node) ||
      ts.isInterfaceDeclaration(node) ||
      ts.isTypeAliasDeclaration(node)
        ? node.name?.text
        : undefined) ?? node.getText().slice(0, 40));

/** Exports without a docstring; the first comment of a file is the file's. */
function bareExports({ path, file }: Source): string[] {
  return file.statements.flatMap((node, at) => {
    const before = file.text.slice(node.getFullStart(), node.getStart(file));
    const docstrings = (before.match(/\/\*\*/g)?.length ?? 0) - (at === 0 ? 1 : 0);
    return isExported(node) && docstrings < 1 ? [`${path}: ${nameOf(node)}`] : [];
  });
}

describe("docstrings", () => {
  const sources = readSources();

  test.each(ROOMS)("every export in %s says what it is", (room) => {
    const found = sources.filter(({ path }) => path.startsWith(room));
    expect(found.length).toBeGreaterThan(0);
    expect(found.flatMap(bareExports)).toEqual([]);
  });

  test("an export without a docstring is found, also where only the file has one", () => {
    expect(bareExports(parse("actors/x.ts", "/** The file. */\nexport const a = 1;\nexport interface B {}"))).toEqual([
      "actors/x.ts: a",
      "actors/x.ts: B",
    ]);
    expect(
      bareExports(parse("actors/x.ts", "/** The file. */\n/** One. */\nexport const a = 1;\nconst b = 2;")),
    ).toEqual([]);
  });
});
