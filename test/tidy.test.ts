/**
 * CONTRIBUTING.md as far as a machine can check it: who imports whom, one home for each dangerous thing, bounds, dead
 * code, numbers, shapes. It reads the sources with the TypeScript parser; how each law finds what breaks it stands in
 * test/support/laws, and each is shown to fail once on a made-up source below.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, test } from "vitest";

import { VARIABLES } from "../engine/base/config.js";
import { LIMITS } from "../engine/base/limits.js";
import { LIMIT_RELATIONS } from "../engine/base/limits/relations.js";
import { METRICS } from "../engine/base/metrics.js";
import { unboundedContainers } from "./support/laws/bounds.js";
import { EXCEPTIONS } from "./support/laws/exceptions.js";
import type { Law } from "./support/laws/exceptions.js";
import { deadExports, deadFiles, namesakes, unusedRows } from "./support/laws/exports.js";
import { homeless, sqlOutsideStorage } from "./support/laws/homes.js";
import { cycles, forbiddenImports, IMPORT_LAW, importTable, unusedAllowances } from "./support/laws/imports.js";
import { repeatedConstants, strayNumbers } from "./support/laws/numbers.js";
import * as shape from "./support/laws/shape.js";
import { ROOT, parse, readSources, readTests } from "./support/sources.js";

const sources = readSources();
const tests = readTests();
const product = sources.filter(({ path }) => !path.startsWith("bench/"));

/** What breaks each law in the sources as they are. */
const FINDINGS: Readonly<Record<Law, () => readonly string[]>> = {
  "import only what the table of CONTRIBUTING.md allows": () => sources.flatMap(forbiddenImports),
  "use every import that the table allows": () => unusedAllowances(sources),
  "have no cycle of imports, types included": () => cycles(sources),
  "keep each dangerous thing in its one home": () => product.flatMap(homeless),
  "keep SQL text in engine/storage": () => sources.flatMap(sqlOutsideStorage),
  "have no container that grows without a bound": () => sources.flatMap(unboundedContainers),
  "have no function of more than 90 lines": () => sources.flatMap(shape.longFunctions),
  "have no function of more than 4 parameters": () => sources.flatMap(shape.longParameterLists),
  "have no member of a type that may be changed by its holder": () => sources.flatMap(shape.mutableMembers),
  "mark what is private by # alone": () => [...sources, ...tests].flatMap(shape.privateByWord),
  "have no line of more than 120 characters but for a sentence or a pattern": () => sources.flatMap(shape.wideLines),
  "have no folder of more than 16 files": () => shape.crowdedRooms(sources),
  "say in the first line of README.md what each folder is for": () => shape.headlessRooms(sources),
  "say in one sentence what each file is": () => sources.flatMap(shape.silentFiles),
  "have no file that nothing uses": () => deadFiles(sources, tests),
  "export nothing that nobody imports": () => deadExports(sources, tests),
  "export a name once within engine, gateway and actors": () => namesakes(sources),
  "have no limit that nothing obeys": () => unusedRows(Object.keys(LIMITS), "engine/base/limits.ts", sources),
  "have no metric that nothing counts": () => unusedRows(Object.keys(METRICS), "engine/base/metrics.ts", sources),
  "have no variable that nothing reads": () => unusedRows(Object.keys(VARIABLES), "engine/base/config.ts", sources),
  "keep numbers that bound something in engine/base/limits.ts": () => sources.flatMap(strayNumbers),
  "write a constant once": () => repeatedConstants(sources),
};

/** What breaks a law without an exception, and exceptions that are needed no more: the lists can only shrink. */
const outstanding = (found: readonly string[], excused: readonly string[]): readonly string[] => [
  ...found.filter((item) => !excused.includes(item)),
  ...excused.filter((item) => !found.includes(item)).map((item) => `needed no more: ${item}`),
];

describe("the sources", () => {
  test.each(Object.entries(FINDINGS))("the sources %s", (law, find) => {
    expect(outstanding([...new Set(find())], EXCEPTIONS[law as Law] ?? [])).toEqual([]);
  });
  test("the limits do not contradict each other", () => {
    expect(LIMIT_RELATIONS.filter((relation) => !relation.holds)).toEqual([]);
  });

  test("a limit stands in one file, so that none takes the place of another", () => {
    const rows = sources
      .filter(({ path }) => path.startsWith("engine/base/limits/"))
      .flatMap(({ file }) => [...file.text.matchAll(/^  (\w+):/gm)].map(([, name = ""]) => name));
    expect(rows.filter((name, index) => rows.indexOf(name) !== index)).toEqual([]);
    expect(rows.filter((name) => name in LIMITS)).toHaveLength(Object.keys(LIMITS).length);
  });
});

describe("the tests", () => {
  test("the tests have no folder of more than 16 files", () => {
    expect(shape.crowdedRooms(tests)).toEqual([]);
  });
  /** Below these, folders are named after the sources, or are the work of other programs. */
  const DEEPER = /^test\/(?:unit|fixtures|interop\/\w+|clients\/programs)\/|(?:^|\/)(?:node_modules|generated)\b/;
  test("test/README.md says of each room of the tests what stands in it, and of no other", () => {
    const told = [...readFileSync(join(ROOT, "test/README.md"), "utf8").matchAll(/^\| `([^`]+)` +\| [A-Z]/gm)];
    const rooms = readdirSync(join(ROOT, "test"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
      .filter((room) => !DEEPER.test(room));
    expect(told.map(([, room]) => room).sort()).toEqual(["test", ...rooms].sort());
  });
});

describe("the documents", () => {
  const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
  test("the import table in CONTRIBUTING.md is the one by which the sources are judged", () => {
    expect(read("CONTRIBUTING.md")).toContain(importTable());
  });
  /** What the titles of the import table name: `gateway/{main,cli}` is two. */
  const named = (title: string): string[] =>
    [...title.replace(/\(.*\)/, "").matchAll(/[a-z]+(?:\/(?:[a-z]+|\{[a-z,]+\}))*/g)].flatMap(([path]) => {
      const [before = "", inside, behind = ""] = path.split(/[{}]/);
      return inside === undefined ? [path] : inside.split(",").map((part) => before + part + behind);
    });
  const gone = (title: string): string[] =>
    named(title).filter((path) => !existsSync(join(ROOT, path)) && !existsSync(join(ROOT, `${path}.ts`)));
  test("every folder and file of the import table exists", () => {
    expect(IMPORT_LAW.flatMap(({ title }) => gone(title))).toEqual([]);
  });
  test("a row of the import table for what is not there is caught", () => {
    expect(gone("gateway/{main,gone}, gateway/contract/gone (what is left: nothing)")).toEqual([
      "gateway/gone",
      "gateway/contract/gone",
    ]);
  });
  /** Files in backticks of which only the last names are given, because the sentence before has named the room. */
  const shortNames = (text: string): string[] =>
    [...text.matchAll(/`((?:[a-z0-9-]+\/)*[a-z0-9-]+\.ts)`/g)].flatMap(([, path]) => path ?? []);
  const unknown = (text: string): string[] =>
    shortNames(text).filter((name) => ![...sources, ...tests].some(({ path }) => `/${path}`.endsWith(`/${name}`)));
  test.each(["CONTRIBUTING.md", "README.md", "DECISIONS.md"])(
    "every file that %s names without its room exists",
    (path) => {
      expect(unknown(read(path))).toEqual([]);
    },
  );
  test("a file that is named without its room and does not exist is caught", () => {
    expect(unknown("`engine/base/limits.ts`, `limits.ts`, `accept/send.ts` and `gone.ts`")).toEqual(["gone.ts"]);
  });
  /** Paths in backticks that begin with a folder of ours. */
  const pathsIn = (text: string): string[] =>
    [...text.matchAll(/`((?:engine|gateway|actors|validators|bench|test|deploy)\/[A-Za-z0-9_./-]+)`/g)].flatMap(
      ([, path]) => path ?? [],
    );
  const missing = (text: string): string[] => pathsIn(text).filter((path) => !existsSync(join(ROOT, path)));
  test.each(["CONTRIBUTING.md", "README.md", "DECISIONS.md"])("every file that %s names exists", (path) => {
    expect(missing(read(path))).toEqual([]);
  });
  test("a document that names a file that does not exist is caught", () => {
    expect(missing("See `engine/base/limits.ts` and `engine/base/gone.ts`.")).toEqual(["engine/base/gone.ts"]);
  });
});

describe("the checks themselves", () => {
  test("the checks find what has no exception, and an exception that is needed no more", () => {
    expect(outstanding(["a", "b"], ["b", "c"])).toEqual(["a", "needed no more: c"]);
  });
  test("the checks find a forbidden import", () => {
    const refused = [
      parse("gateway/routes/x.ts", 'import { sql } from "../../engine/storage/documents.js";'),
      parse("gateway/routes/x.ts", 'import { a } from "./y.js";'),
      parse("gateway/routes/x.ts", 'import { f } from "../../engine/storage/documents/received.js";'),
      parse("validators/x.ts", 'import { LIMITS } from "../engine/base/limits.js";'),
      parse("engine/identity/x.ts", 'import { a } from "../documents/send.js";'),
      parse("elsewhere/x.ts", ""),
    ];
    expect(refused.flatMap(forbiddenImports)).toHaveLength(refused.length);
    const values = parse("engine/peppol/x.ts", 'import { readResponse } from "../../validators/responses.js";');
    expect(forbiddenImports(values)).toHaveLength(1);
    expect(
      forbiddenImports(
        parse("gateway/routes/x.ts", 'import type { R } from "../../engine/storage/documents/received.js";'),
      ),
    ).toEqual([]);
  });
  test("the checks find an allowance that nobody uses", () => {
    expect(unusedAllowances([parse("engine/storage/x.ts", 'import { a } from "../base/ids.js";')])).toContain(
      "storage may import lifecycle, and does not",
    );
  });
  test("the checks find a second home of a global or of a package", () => {
    const text =
      'import "nact"; import "uWebSockets.js"; import "node:child_process"; import "node:http"; import "node:fs"; ' +
      'process.env["A"]; process.exit(1); process.on("x", f); process.pid; Date.now(); new Date(); Math.random(); ' +
      'console.log(1); fetch("x"); sql.unsafe("x"); eval("1"); new Function("1");';
    expect(homeless(parse("engine/documents/x.ts", text))).toHaveLength(17);
    expect(homeless(parse("engine/documents/x.ts", "const process = read(); process.pid;"))).toEqual([]);
  });
  test("the checks find a queue or a cache without a bound", () => {
    const refused = [
      "export function createQueue() { const waiting: number[] = []; return { add: (n: number) => { waiting.push(n); } }; }",
      "class Q { items = new Map(); add(n: number) { this.items.set(n, n); } }",
      "class Q { readonly #items = new Map(); add(n: number) { this.#items.set(n, n); this.#items.delete(n - 1); } }",
      // A comparison with a number written there decides when to begin, not when to stop.
      "export function f() { let asked: number[] = []; return (n: number) => { asked.push(n); if (asked.length === 1) g(); }; }",
      "export function f() { const a: number[] = []; return (n: number) => { if (a.length > 0) g(); a.push(n); }; }",
    ];
    for (const text of refused) expect(unboundedContainers(parse("engine/x.ts", text))).toHaveLength(1);
    const passed = [
      "export function f() { const out: number[] = []; out.push(1); return out; }",
      "export function f() { const a: number[] = []; return (n: number) => { if (a.length >= LIMITS.x_max) throw e; a.push(n); }; }",
      "export function f() {\n  // Bounded by the nodes.\n  const a: number[] = []; return (n: number) => { a.push(n); }; }",
    ];
    for (const text of passed) expect(unboundedContainers(parse("engine/x.ts", text))).toEqual([]);
  });
  test("the checks find SQL outside engine/storage", () => {
    expect(sqlOutsideStorage(parse("actors/x.ts", "const a = sql`select 1`;"))).toHaveLength(1);
  });
  test("the checks find a cycle, of types alone too", () => {
    const a = parse("engine/a.ts", 'import type { B } from "./b.js";');
    expect(cycles([a, parse("engine/b.ts", 'import { a } from "./a.js";')])).toHaveLength(1);
  });
  test("the checks find a long function, a long list of parameters, a long line", () => {
    const body = "  f();\n".repeat(shape.FUNCTION_LINES_MAX + 1);
    expect(shape.longFunctions(parse("engine/x.ts", `function g() {\n${body}}`))).toHaveLength(1);
    expect(shape.longParameterLists(parse("engine/x.ts", "const f = (a, b, c, d, e) => a;"))).toHaveLength(1);
    const words = "a + ".repeat(40);
    expect(shape.wideLines(parse("engine/x.ts", `x = ${words}1;`))).toHaveLength(1);
    expect(shape.wideLines(parse("engine/storage/x.ts", `x = sql\`select ${words}1\`;`))).toHaveLength(1);
    expect(shape.wideLines(parse("engine/x.ts", `x = "${words}1";`))).toEqual([]);
  });
  test("the checks find a member that may be changed", () => {
    expect(shape.mutableMembers(parse("engine/x.ts", "interface A { readonly a: 1; b: 2 }"))).toEqual([
      "engine/x.ts: A.b",
    ]);
  });
  test("the checks find a member that a word calls private", () => {
    const source = `class A {
      private a = 1; readonly #b = 2; private c() {} private get d() { return 1; } private set e(_) {} get f() { return 1; }
      private constructor() {}
    }`;
    const found = ["a", "c", "d", "e"].map((name) => `engine/x.ts: ${name}`);
    expect(shape.privateByWord(parse("engine/x.ts", source))).toEqual(found);
  });
  test("the checks find a crowded folder, a folder without a head, a file without one", () => {
    const files = Array.from({ length: shape.ROOM_FILES_MAX + 1 }, (_, at) => parse(`engine/none/x${at}.ts`, ""));
    expect(shape.crowdedRooms(files)).toHaveLength(1);
    expect(shape.headlessRooms(files)).toEqual(["engine/none"]);
    expect(files.flatMap(shape.silentFiles)).toHaveLength(files.length);
  });
  test("the checks find a file, an export or a row of a table that nobody uses", () => {
    const a = parse("engine/a.ts", "export const used = 1; export const dead = 2; export interface Dead {}");
    const b = parse("engine/b.ts", 'import { used } from "./a.js"; used(LIMITS.this_max);');
    expect(deadExports([a, b], [])).toEqual(["engine/a.ts: dead", "engine/a.ts: Dead"]);
    expect(deadExports([a, parse("engine/b.ts", 'import * as all from "./a.js";')], [])).toEqual([]);
    expect(deadFiles([a, b], [])).toEqual(["engine/b.ts"]);
    expect(unusedRows(["this_max", "that_max"], "engine/base/limits.ts", [a, b])).toEqual(["that_max"]);
    const part = parse("engine/base/limits/part.ts", "export const PART_LIMITS = { that_max: 2 };");
    expect(unusedRows(["that_max"], "engine/base/limits.ts", [a, part])).toEqual(["that_max"]);
  });
  test("the checks find a name that two files export", () => {
    const files = ["engine/a.ts", "gateway/b.ts"].map((path) => parse(path, "export interface Same {}"));
    expect(namesakes(files)).toEqual(["Same: engine/a.ts, gateway/b.ts"]);
  });
  test("the checks find a number outside limits.ts", () => {
    const found = strayNumbers(
      parse(
        "engine/x.ts",
        "const PAGES_MAX = 3; const WAIT_MS = 60 * 1_000; f({ retryAfter_s: 1 }); setTimeout(f, 250); const PAGES = PAGES_MAX;",
      ),
    );
    expect(found).toHaveLength(4);
    const twice = ["engine/a.ts", "actors/b.ts"].map((path) => parse(path, 'const HOME = "SK";'));
    expect(repeatedConstants(twice)).toHaveLength(1);
  });
});
