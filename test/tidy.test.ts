/**
 * The part of CONTRIBUTING.md that a machine can check: who imports whom, one home for each dangerous thing, bounded
 * containers, no dead files, no long functions. It reads the sources with the TypeScript parser and asserts nothing about style.
 */
import ts from "typescript";
import { describe, expect, test } from "vitest";

import { LIMIT_RELATIONS } from "../engine/base/limits.js";
import { fileOfSpecifier, parse, readSources, readTests } from "./support/sources.js";
import type { Source } from "./support/sources.js";

const sources = readSources();

/** Areas of CONTRIBUTING.md, Who may import whom. The first pattern that fits names the area. */
const AREAS: readonly [pattern: RegExp, area: string][] = [
  [/^validators\//, "validators"],
  [/^engine\/lifecycle\//, "lifecycle"],
  [/^engine\/storage\//, "storage"],
  [/^engine\/peppol\//, "peppol"],
  [/^engine\/events\//, "events"],
  [/^engine\/documents\//, "documents"],
  [/^engine\/identity\//, "identity"],
  [/^engine\/billing\//, "billing"],
  [/^engine\/embedded\//, "embedded"],
  [/^engine\/base\//, "base"],
  [/^engine\/invoices\//, "invoices"],
  [/^actors\//, "actors"],
  [/^gateway\/routes\//, "routes"],
  [/^gateway\/(main|cli)\.ts$/, "root"],
  [/^gateway\/(commands|start)\//, "root"],
  [/^gateway\//, "gateway"],
  [/^bench\//, "bench"],
];
const areaOf = (path: string): string => AREAS.find(([pattern]) => pattern.test(path))?.[1] ?? "unknown";

const ENGINE_AREAS = [
  "base",
  "lifecycle",
  "storage",
  "peppol",
  "events",
  "documents",
  "invoices",
  "identity",
  "billing",
];
const WORKERS = ["validators/pool.ts", "validators/protocol.ts", "validators/report.ts"];
/** Reading and writing small signed documents: the same code in a worker and in the engine, or the bytes would differ. */
const XML_TOOLS = [
  "validators/xml/tree.ts",
  "validators/xml/c14n.ts",
  "validators/wss/protocol.ts",
  "validators/wss/keys.ts",
];

/** Area → areas it may import beside itself, and single files of others. */
const MAY: Readonly<
  Record<string, { readonly areas: readonly string[]; readonly files?: readonly string[]; readonly itself?: false }>
> = {
  validators: { areas: [] },
  base: { areas: [], files: ["engine/identity/caller.ts"] },
  embedded: { areas: ["base"] },
  lifecycle: { areas: [], files: ["engine/base/ids.ts", "engine/base/errors.ts"] },
  storage: { areas: ["base", "lifecycle"] },
  peppol: { areas: ["base", "lifecycle", "storage"], files: [...WORKERS, ...XML_TOOLS] },
  events: { areas: ["base", "lifecycle", "storage"] },
  documents: { areas: ["base", "lifecycle", "storage", "peppol", "events", "identity"], files: WORKERS },
  invoices: { areas: ["base", "peppol"] },
  identity: { areas: ["base", "lifecycle", "storage", "peppol", "events"], files: WORKERS },
  billing: { areas: ["base", "lifecycle", "storage", "peppol", "events"], files: WORKERS },
  actors: {
    areas: ["base", "lifecycle", "peppol", "events", "documents", "identity", "billing"],
    files: ["engine/storage/sql.ts"],
  },
  gateway: { areas: ["base", "identity"] },
  routes: {
    areas: ["base", "lifecycle", "peppol", "events", "documents", "invoices", "identity", "billing"],
    files: ["gateway/contract/route.ts", "gateway/contract/openapi.ts", ...WORKERS],
    itself: false,
  },
  root: { areas: [...ENGINE_AREAS, "embedded", "actors", "gateway", "routes", "validators", "bench"] },
  bench: { areas: [...ENGINE_AREAS, "embedded", "actors", "gateway", "routes", "validators", "root"] },
};

/** Types alone may cross where data does not: a route row describes what storage returns. */
function typeOnlyImports(source: Source): ReadonlySet<string> {
  const typed = new Set<string>();
  for (const statement of source.file.statements) {
    if (!ts.isImportDeclaration(statement) || !ts.isStringLiteral(statement.moduleSpecifier)) continue;
    const clause = statement.importClause;
    const named = clause?.namedBindings;
    const all =
      clause?.isTypeOnly === true ||
      (named !== undefined &&
        ts.isNamedImports(named) &&
        clause?.name === undefined &&
        named.elements.every((element) => element.isTypeOnly));
    if (all) typed.add(fileOfSpecifier(source.path, statement.moduleSpecifier.text));
  }
  return typed;
}

function forbiddenImports(source: Source): string[] {
  const area = areaOf(source.path);
  const allowed = MAY[area];
  if (allowed === undefined) return [`${source.path}: no area of the import table`];
  const typed = typeOnlyImports(source);
  return source.imports
    .filter((target) => {
      const other = areaOf(target);
      if (other === area && allowed.itself !== false) return false;
      if (area === "routes" && other === "storage" && typed.has(target)) return false;
      return !allowed.areas.includes(other) && allowed.files?.includes(target) !== true;
    })
    .map((target) => `${source.path} (${area}) imports ${target} (${areaOf(target)})`);
}

/** Packages with one home. */
const PACKAGE_HOMES: readonly [pattern: RegExp, homes: RegExp][] = [
  [/^(uWebSockets\.js|@uwsjs\/.*)$/, /^gateway\/http\/uws-binding\.ts$/],
  [/^nact$/, /^actors\/system\.ts$/],
  [/^piscina$/, /^validators\/pool\.ts$/],
  [/^@nats-io\//, /^engine\/events\/streams-jetstream\.ts$/],
  [/^postgres$/, /^engine\/storage\//],
  [/^(node:)?(http|https)$/, /^gateway\/http\/server-(node|uws)\.ts$|^engine\/peppol\//],
];

/** Expressions with one home: text of `a.b` or `new Date()` → where it may stand. */
const EXPRESSION_HOMES: readonly [what: string, homes: RegExp][] = [
  // The native module reads one variable when it loads; nothing else is read or written there.
  ["process.env", /^(engine\/base\/config|gateway\/http\/uws-binding)\.ts$/],
  ["Date.now", /^engine\/base\/clock\.ts$/],
  ["new Date()", /^engine\/base\/clock\.ts$/],
  ["performance.now", /^engine\/base\/clock\.ts$/],
  ["Math.random", /^$/],
  ["console", /^$/],
];

function expressionsOf(source: Source): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression)) {
      found.push(`${node.expression.text}.${node.name.text}`);
      if (node.expression.text === "console") found.push("console");
    }
    if (
      ts.isNewExpression(node) &&
      ts.isIdentifier(node.expression) &&
      node.expression.text === "Date" &&
      (node.arguments?.length ?? 0) === 0
    )
      found.push("new Date()");
    ts.forEachChild(node, visit);
  };
  visit(source.file);
  return found;
}

const homeless = (source: Source): string[] => [
  ...source.packages.flatMap((name) =>
    PACKAGE_HOMES.filter(([pattern, homes]) => pattern.test(name) && !homes.test(source.path)).map(
      () => `${source.path} imports ${name}`,
    ),
  ),
  ...expressionsOf(source).flatMap((what) =>
    EXPRESSION_HOMES.filter(([name, homes]) => name === what && !homes.test(source.path)).map(
      () => `${source.path} uses ${what}`,
    ),
  ),
];

/** Tagged templates named sql, and calls of sql.unsafe. */
function sqlOutsideStorage(source: Source): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isTaggedTemplateExpression(node) && /(^|\.)sql$/.test(node.tag.getText(source.file).replace(/<.*$/s, "")))
      found.push(source.path);
    ts.forEachChild(node, visit);
  };
  visit(source.file);
  return areaOf(source.path) === "storage" || areaOf(source.path) === "bench" ? [] : found;
}

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

/** What is built while one document or one rule pack is read lives no longer than that, and is bounded by the limits of the scan. */
const SHORT_LIVED = /^validators\/(rules|schematron|ubl|xml|wss)\/|^validators\/(validate|inspect)\.ts$|^bench\//;

/**
 * Long-lived containers without a bound: an empty array, Map or Set that is declared in a module, a class or a factory and
 * grows in an inner function. A bound is a comparison of its length or size, a place where it shrinks, or the words
 * `bounded by` in a comment at its declaration that say what bounds it.
 */
function unboundedContainers(source: Source): string[] {
  const text = source.file.getFullText();
  const growth = new Map<string, ts.Node[]>();
  const shrinks = new Set<string>();
  const declared: { readonly name: string; readonly home: ts.Node | undefined; readonly node: ts.Node }[] = [];
  const visit = (node: ts.Node): void => {
    if (
      (ts.isVariableDeclaration(node) || ts.isPropertyDeclaration(node)) &&
      (ts.isIdentifier(node.name) || ts.isPrivateIdentifier(node.name)) &&
      isEmptyContainer(node.initializer)
    ) {
      declared.push({ name: node.name.text, home: functionOf(node), node });
    }
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const target = node.expression.expression;
      const name = ts.isIdentifier(target)
        ? target.text
        : ts.isPropertyAccessExpression(target)
          ? target.name.text
          : "";
      if (["push", "unshift", "set", "add"].includes(node.expression.name.text))
        growth.set(name, [...(growth.get(name) ?? []), node]);
      if (["shift", "pop", "splice", "delete", "clear"].includes(node.expression.name.text)) shrinks.add(name);
    }
    if (ts.isBinaryExpression(node)) {
      for (const side of [node.left, node.right])
        if (ts.isPropertyAccessExpression(side) && ["length", "size"].includes(side.name.text))
          shrinks.add(side.expression.getText(source.file).split(".").at(-1) ?? "");
      if (node.operatorToken.kind === ts.SyntaxKind.EqualsToken)
        shrinks.add(node.left.getText(source.file).split(".").at(-1) ?? "");
    }
    ts.forEachChild(node, visit);
  };
  visit(source.file);
  return declared
    .filter(({ name, home, node }) => {
      const lead = text.slice(Math.max(0, node.getFullStart() - 400), node.getEnd() + 120);
      const longLived = (growth.get(name) ?? []).some((call) => functionOf(call) !== home);
      return longLived && !shrinks.has(name) && !/bounded by/i.test(lead);
    })
    .map(({ name }) => `${source.path}: ${name} grows without a bound`);
}

/** Lines of the longest functions; a factory that returns an object of methods is measured by its parts. */
const FUNCTION_LINES_MAX = 90;
function longFunctions(source: Source): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && "body" in node && node.body !== undefined) {
      let inner = 0;
      const count = (child: ts.Node): void => {
        if (ts.isFunctionLike(child)) {
          inner +=
            source.file.getLineAndCharacterOfPosition(child.getEnd()).line -
            source.file.getLineAndCharacterOfPosition(child.getStart()).line;
          return;
        }
        ts.forEachChild(child, count);
      };
      ts.forEachChild(node, count);
      const lines =
        source.file.getLineAndCharacterOfPosition(node.getEnd()).line -
        source.file.getLineAndCharacterOfPosition(node.getStart()).line -
        inner;
      if (lines > FUNCTION_LINES_MAX)
        found.push(`${source.path}: ${node.name?.getText(source.file) ?? "a function"} has ${lines} lines`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source.file);
  return found;
}

/** Files that nothing imports and no program starts. */
const ENTRIES = /^(gateway\/cli|validators\/worker|validators\/ubl\/generate|bench\/peers\/(uws|fastify)-insert)\.ts$/;
function deadFiles(all: readonly Source[], tests: readonly Source[]): string[] {
  const used = new Set([...all, ...tests].flatMap((source) => source.imports));
  return all.map((source) => source.path).filter((path) => !used.has(path) && !ENTRIES.test(path));
}

/** Cycles of value imports: layers that have grown together. */
function cycles(all: readonly Source[]): string[] {
  const graph = new Map(
    all.map((source) => {
      const typed = typeOnlyImports(source);
      return [source.path, source.imports.filter((target) => !typed.has(target))];
    }),
  );
  const state = new Map<string, "open" | "done">();
  const found: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    if (state.get(path) === "done") return;
    if (state.get(path) === "open") {
      found.push([...trail.slice(trail.indexOf(path)), path].join(" → "));
      return;
    }
    state.set(path, "open");
    for (const next of graph.get(path) ?? []) visit(next, [...trail, path]);
    state.set(path, "done");
  };
  for (const path of graph.keys()) visit(path, []);
  return found;
}

const tests = readTests();

describe("the sources", () => {
  test("import only what the table of CONTRIBUTING.md allows", () => {
    expect(sources.flatMap(forbiddenImports)).toEqual([]);
  });
  test("keep each dangerous thing in its one home", () => {
    expect(sources.filter((source) => areaOf(source.path) !== "bench").flatMap(homeless)).toEqual([]);
  });
  test("keep SQL text in engine/storage", () => {
    expect(sources.flatMap(sqlOutsideStorage)).toEqual([]);
  });
  test("have no container that grows without a bound", () => {
    expect(sources.filter((source) => !SHORT_LIVED.test(source.path)).flatMap(unboundedContainers)).toEqual([]);
  });
  test(`have no function of more than ${FUNCTION_LINES_MAX} lines`, () => {
    expect(sources.flatMap(longFunctions)).toEqual([]);
  });
  test("have no file that nothing uses", () => {
    expect(deadFiles(sources, tests)).toEqual([]);
  });
  test("have no cycle of imports", () => {
    expect(cycles(sources)).toEqual([]);
  });
  test("have limits that do not contradict each other", () => {
    expect(LIMIT_RELATIONS.filter((relation) => !relation.holds)).toEqual([]);
  });
  test("say in one sentence what each file is", () => {
    expect(
      sources
        .filter((source) => !/^\s*(#!.*\n)?\s*\/(\*|\/)/.test(source.file.getFullText()))
        .map((source) => source.path),
    ).toEqual([]);
  });
});

describe("the checks themselves fail on", () => {
  test("a forbidden import", () => {
    expect(
      forbiddenImports(parse("gateway/routes/x.ts", 'import { sql } from "../../engine/storage/documents.js";')),
    ).toHaveLength(1);
    expect(
      forbiddenImports(parse("validators/x.ts", 'import { LIMITS } from "../engine/base/limits.js";')),
    ).toHaveLength(1);
    expect(forbiddenImports(parse("engine/billing/x.ts", 'import { a } from "../documents/send.js";'))).toHaveLength(1);
  });
  test("a second home of process.env, Date.now, Math.random, console, uWS or nact", () => {
    expect(
      homeless(
        parse(
          "engine/documents/x.ts",
          'import "nact"; import "uWebSockets.js"; process.env["A"]; Date.now(); new Date(); Math.random(); console.log(1);',
        ),
      ),
    ).toHaveLength(7);
  });
  test("an unbounded queue", () => {
    expect(
      unboundedContainers(
        parse(
          "engine/x.ts",
          "export function createQueue() { const waiting: number[] = []; return { add: (n: number) => { waiting.push(n); } }; }",
        ),
      ),
    ).toHaveLength(1);
    expect(
      unboundedContainers(
        parse("engine/x.ts", "class Q { items = new Map(); add(n: number) { this.items.set(n, n); } }"),
      ),
    ).toHaveLength(1);
    expect(
      unboundedContainers(
        parse("engine/x.ts", "export function f() { const out: number[] = []; out.push(1); return out; }"),
      ),
    ).toHaveLength(0);
  });
  test("SQL outside engine/storage", () => {
    expect(sqlOutsideStorage(parse("actors/x.ts", "const a = sql`select 1`;"))).toHaveLength(1);
  });
  test("a cycle", () => {
    expect(
      cycles([
        parse("engine/a.ts", 'import { b } from "./b.js";'),
        parse("engine/b.ts", 'import { a } from "./a.js";'),
      ]),
    ).toHaveLength(1);
  });
});
