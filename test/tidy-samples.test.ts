/**
 * Every command and every sample that the documentation shows in a block is run by a test, or stands here with the reason
 * why it cannot be. The table is complete both ways: a block without a row fails, and so does a row without its block or
 * without the words by which its test is known.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { ROOT } from "./support/sources.js";

/** What runs a sample: a file, and words in it without which it no longer would. */
type RunBy = readonly [file: string, words: string];
interface Row {
  readonly page: string;
  /** The beginning of each command, or of the block. */
  readonly sample: RegExp;
  readonly runBy?: RunBy;
  /** Why nobody runs it here, in a sentence; what is checked of it instead may be named by `runBy`. */
  readonly reason?: string;
}

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const GUIDES: RunBy = ["test/integration/operators/guides.test.ts", 'describe.each(guides)("docs/$page"'];
const README: RunBy = ["test/integration/operators/readme.test.ts", "commandsOfReadme()"];
const PACKED: RunBy = ["test/integration/operators/packed.test.ts", "const INSTALLING = linesOf("];
const DEPLOYMENT: RunBy = ["test/unit/deployment.test.ts", "commandsOfGuide()"];
const BACKUP = "test/faults/suites/guide.test.ts";
const POOLER = "test/integration/database/pgbouncer.test.ts";
const LIFECYCLE: RunBy = ["test/unit/engine/documents/lifecycle.test.ts", "engine/lifecycle/README.md"];
const NO_DOCKER = "there is no Docker where our tests run; options, paths and ports are compared with what they name";
const A_PATTERN = "a pattern to copy, cut short; the file that it is cut from is compiled and tested";

const ROWS: readonly Row[] = [
  { page: "README.md", sample: /^npm ci && npm (?:start|test)$/, runBy: README },
  { page: "README.md", sample: /^npm run demo(?: -- --connector)?$/, runBy: README },
  { page: "README.md", sample: /^npm run -s bench(?: -- \w+)?$/, runBy: README },
  { page: "README.md", sample: /^npx kurier --help$/, runBy: PACKED },
  { page: "README.md", sample: /^npm run -s pack$/, runBy: PACKED },
  { page: "README.md", sample: /^npm run test:clients$/, runBy: [".ci/run", "npm run -s test:clients"] },
  {
    page: "README.md",
    sample: /^npm run -s test:faults$/,
    reason:
      "it takes hours: it is a step of each release, and its figures are committed with the commands that made them",
    runBy: ["docs/releasing.md", "npm run test:faults"],
  },
  {
    page: "README.md",
    sample: /^npm run -s performance:table$/,
    runBy: ["test/tidy-performance.test.ts", "toBe(performancePage(ROOT))"],
  },
  { page: "README.md", sample: /^ HTTP ─/, reason: "a picture of the way of a request" },
  { page: "CONTRIBUTING.md", sample: /^export const OUTBOUND_STATES = /, reason: A_PATTERN },
  { page: "CONTRIBUTING.md", sample: /^"SAPI-DOC-025": /, reason: A_PATTERN },
  { page: "CONTRIBUTING.md", sample: /^\/\*\*\n \* Accepts one UBL document/, reason: "a comment, to copy its form" },
  {
    page: "CONTRIBUTING.md",
    sample: /^test\("a final state accepts no trigger/,
    reason: "names of tests, without them",
  },
  { page: "docs/deploy.md", sample: /^npm run -s pack$/, runBy: PACKED },
  { page: "docs/deploy.md", sample: /^npm install --omit=dev --omit=optional \S+$/, runBy: PACKED },
  {
    page: "docs/deploy.md",
    sample: /^(?:kurier migrate|NODE_OPTIONS=--max-semi-space-size=16 kurier serve)$/,
    runBy: PACKED,
  },
  { page: "docs/deploy.md", sample: /^docker (?:build|run) /, reason: NO_DOCKER, runBy: DEPLOYMENT },
  {
    page: "docs/deploy.md",
    sample: /^docker compose /,
    reason: "there is no Docker where our tests run; what the file's containers run is run outside of them",
    runBy: [
      "test/integration/operators/compose.test.ts",
      "the commands and variables of the file make two access points",
    ],
  },
  {
    page: "docs/deploy.md",
    sample: /^helm install /,
    reason: "there is no cluster where our tests run; the values that it sets are compared with the chart's",
    runBy: DEPLOYMENT,
  },
  { page: "docs/deploy.md", sample: /^# pgbouncer\.ini\n/, runBy: [POOLER, "ignore_startup_parameters = (.*)"] },
  { page: "docs/deploy.md", sample: /^DATABASE_URL=/, runBy: [POOLER, "^DATABASE_URL="] },
  { page: "docs/deploy.md", sample: /^alter role kurier /, runBy: [POOLER, "ALTER_ROLE"] },
  { page: "docs/operators/backup.md", sample: /^wal_level = /, runBy: [BACKUP, "```ini"] },
  {
    page: "docs/operators/backup.md",
    sample: /^do \$\$/,
    runBy: ["test/integration/database/counted-behind.test.ts", "```sql"],
  },
  ...["The copy", "Back to a moment", "The evidence", "The engines again", "Asking for what came later"].map(
    (heading) => ({
      page: "docs/operators/backup.md",
      sample: new RegExp(`^## ${heading}\n`),
      runBy: [BACKUP, `follow("${heading}"`] as const,
    }),
  ),
  {
    page: "docs/operators/network.md",
    sample: /^kurier (?:pki show|migrate|serve|doctor|participants (?:register|check) |firms create )/,
    reason: "there is no Peppol network where our tests run: participants are registered at an SML of the test's own",
    runBy: ["test/integration/peppol/registrations-command.test.ts", '"participants"'],
  },
  {
    page: "docs/operators/security.md",
    sample: /^kurier probe /,
    reason: "the address is an example; the command is run on an engine and on a server that takes everything",
    runBy: ["test/unit/commands/probe.test.ts", "probeCommand"],
  },
  {
    page: "docs/operators/upgrade.md",
    sample: /^systemctl (?:stop|start) kurier$/,
    reason: "there is no systemd as process 1 where our tests run; the unit is read by systemd-analyze",
    runBy: ["test/unit/deployment.test.ts", '"systemd-analyze"'],
  },
  { page: "docs/operators/upgrade.md", sample: /^npm install --omit=dev --omit=optional \S+$/, runBy: PACKED },
  { page: "docs/start/first-invoice.md", sample: /^npm ci && npm start$/, runBy: README },
  {
    page: "examples/README.md",
    sample: /^export KURIER_URL=/,
    reason: "it names the files and ports of a sandbox in the checkout; the programs are run with those of a test",
    runBy: ["test/integration/operators/examples.test.ts", "CUSTOMER_REF: SELLER"],
  },
  { page: "engine/lifecycle/README.md", sample: /^stateDiagram/, runBy: LIFECYCLE },
];

/** Languages whose blocks test/integration/operators/guides.test.ts runs, in the folders of docs/. */
const RUN_AS_THEY_STAND: ReadonlySet<string> = new Set(["sh", "ts", "py", "php", "java"]);
const COMMAND = /^(?:npm|npx|kurier|docker|helm|systemctl|kubectl|node|curl|git|sudo|apt|apt-get|psql) /;
const SKIPPED: ReadonlySet<string> = new Set(["node_modules", "dist", ".git", "target", "generated", "data"]);

const pagesBelow = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter(({ name }) => !SKIPPED.has(name) && !name.startsWith("dist."))
    .flatMap((entry) => {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      return entry.isDirectory() ? pagesBelow(path) : path.endsWith(".md") ? [path] : [];
    });

interface Sample {
  readonly page: string;
  readonly text: string;
}

/** Commands of a block, each in one line and without its remark. */
const linesOf = (block: string): readonly string[] =>
  block
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .map((line) => line.replace(/\s+# .*$/, "").trim())
    .filter((line) => line !== "" && !line.startsWith("#"));

/** What a page shows and guides.test.ts does not run: commands one by one, everything else block by block. */
function samplesOf(page: string): readonly Sample[] {
  const source = read(page);
  return [...source.matchAll(/^```(\w*)[^\n]*\n([^]*?)^```$/gm)].flatMap(
    ({ 1: language = "", 2: text = "", index }) => {
      // Commands of the guide of backup are known by their heading: they are run below each.
      if (page === "docs/operators/backup.md" && language === "sh")
        return [{ page, text: `## ${source.slice(0, index).split(/^## /m).at(-1) ?? ""}` }];
      if (/^docs\/[^/]+\//.test(page) && (RUN_AS_THEY_STAND.has(language) || language === "text")) return [];
      const isOfCommands = language === "console" || language === "sh" || (language === "" && COMMAND.test(text));
      return (isOfCommands ? linesOf(text) : [text]).map((sample) => ({ page, text: sample }));
    },
  );
}

const samples = pagesBelow("").flatMap(samplesOf);
const rowsOf = ({ page, text }: Sample): readonly Row[] =>
  ROWS.filter((row) => row.page === page && row.sample.test(text));

test("every command and every sample of every page has one row: what runs it, or why nobody can", () => {
  expect(samples.length).toBeGreaterThan(30);
  expect(samples.filter((sample) => rowsOf(sample).length !== 1)).toEqual([]);
});

test("every row has its sample, and says what runs it or a reason", () => {
  const stale = ROWS.filter((row) => !samples.some((sample) => rowsOf(sample).includes(row)));
  expect(stale.map(({ page, sample }) => `${page}: ${sample.source}`)).toEqual([]);
  for (const { sample, runBy, reason } of ROWS) expect(runBy ?? reason, sample.source).toBeDefined();
});

test("what is said to run a sample is there, and has the words by which it does", () => {
  for (const [file, words] of [GUIDES, ...ROWS.flatMap(({ runBy }) => (runBy === undefined ? [] : [runBy]))]) {
    expect(existsSync(join(ROOT, file)), file).toBe(true);
    expect(read(file), file).toContain(words);
  }
});

test("a program of examples/ is run by the test that is named for them", () => {
  const programs = readdirSync(join(ROOT, "examples")).filter((name) => !name.endsWith(".md"));
  expect(programs.length).toBeGreaterThan(0);
  for (const name of programs) expect(read("test/integration/operators/examples.test.ts")).toContain(name);
});
