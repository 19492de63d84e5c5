/**
 * Goal: the release before keeps its promises on the schema of this one, in the words of its own tests.
 * Method: the files of the earlier release are taken from the history and built aside; where its tests take copies of a
 * migrated database, that database has been migrated by this release first. All of its contract tests run, and those of
 * its integration tests that use such a database. What fails is run again alone, as the machine may have been busy; what
 * fails then is run on the earlier release's own schema: a test that fails there too says nothing about ours.
 *
 * KURIER_TEST_SUITES: a part of the names of the files that are run.
 * @source design/reliability.md, F-15: both pass the contract tests
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { silentLog } from "../../../engine/base/log.js";
import { startEmbeddedPostgres } from "../../../engine/embedded/postgres.js";
import type { EmbeddedPostgres } from "../../../engine/embedded/postgres.js";
import { migrate } from "../../../engine/storage/migrate.js";
import { openSql } from "../../../engine/storage/sql.js";
import { conformance } from "../../support/conformance.js";
import { withDatabase } from "../../support/database/postgres.js";
import { killEverythingOn } from "../../support/engines/process.js";
import { hasReleaseBefore, releaseBefore } from "../../support/engines/release-before.js";
import { keepFigures } from "../figures.js";

const PART = process.env["KURIER_TEST_SUITES"] ?? "";
const CAN_RUN = hasReleaseBefore();
/** The database that this release has migrated. */
const NEWER = "newer";

/** Where the earlier release keeps its tests: what makes the database that they copy, and what it is made of. */
const SETUP = "test/support/postgres-setup.ts";
const OF_NOTHING = "template template0`";
const OF_NEWER = 'template ${process.env["KURIER_TEST_TEMPLATE"] ?? "template0"}`';
const DATABASES = "test/support/postgres.ts";

/** Files that say nothing about another schema, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  "test/integration/migrate.test.ts": "it compares the schema with the dump of its own release",
};

/** Tests that read what is no promise, by file and name, and why. The list can only shrink. */
const EVIDENCE = "test/integration/evidence-verify.test.ts: on files";
const FORGERS =
  "it forges entries past the one trigger it knows; 0202 has another behind it, so that forging is harder";
const AFTERWARDS = "it looks at what the forger before it has left half done";
const INTERNAL: Readonly<Record<string, string>> = {
  [`${EVIDENCE} a change in any column of the index is found`]: FORGERS,
  [`${EVIDENCE} a forger who keeps every digest in step is found by the signature: the chain is not all there is`]:
    AFTERWARDS,
  [`${EVIDENCE} a period of time is checked from its first entry to its last`]: AFTERWARDS,
  [`${EVIDENCE} entries missing in the middle or at the end, and a changed head, are found`]: AFTERWARDS,
  [`${EVIDENCE} kurier evidence verify says so and ends with 0, and with 1 after one flipped bit`]: AFTERWARDS,
  "test/integration/feed.test.ts: the feed of an engine a document that is held joins the feed when its firm may see it, and once only":
    "it counts every event of a document whatever its kind; 0247 tells of one that was processed, which is another",
  "test/integration/operators.test.ts: an engine a node stays ready when a newer release has migrated the database further, and is not when a migration of its own is missing":
    "it takes the highest number for one of its own and removes the row of a migration that it does not know",
};

let folder: string;
let server: EmbeddedPostgres;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "kurier-suites-"));
  const settings = { fsync: "off", full_page_writes: "off", synchronous_commit: "off", max_connections: "300" };
  server = await startEmbeddedPostgres({ dataDir: folder, log: silentLog, settings });
  const sql = openSql({ url: server.url, name: "test", connections: 1 });
  await sql.unsafe(`create database ${NEWER} template template0`);
  await sql.end({ timeout: 1 });
  await migrate({ url: withDatabase(server.url, NEWER), clock: systemClock });
});
afterAll(async () => {
  await server.stop();
  killEverythingOn(folder);
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

/** Whether a file of the project leads to another by its imports. */
function leadsTo(project: string, file: string, wanted: string, seen = new Set<string>()): boolean {
  if (file === wanted) return true;
  if (seen.has(file)) return false;
  seen.add(file);
  const text = readFileSync(join(project, file), "utf8");
  return [...text.matchAll(/from "(\.{1,2}\/[^"]+)\.js"/g)].some(([, path = ""]) => {
    const imported = relative(project, join(project, dirname(file), `${path}.ts`));
    return imported.startsWith("test/") && leadsTo(project, imported, wanted, seen);
  });
}

const suitesIn = (project: string, name: string): string[] =>
  readdirSync(join(project, name), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => join(name, file))
    .filter((file) => file.includes(PART) && LEFT_OUT[file] === undefined)
    .sort();

/** What became of a test of the release before. */
interface Outcome {
  readonly file: string;
  readonly name: string;
  readonly status: string;
  readonly why: string;
}

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** Runs suites of the release before, with its own settings. */
async function run(
  project: string,
  suites: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<readonly Outcome[]> {
  if (suites.length === 0) return [];
  const report = join(folder, "report.json");
  rmSync(report, { force: true });
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(
    process.execPath,
    ["node_modules/vitest/vitest.mjs", "run", "--reporter=json", `--outputFile=${report}`, ...suites],
    {
      cwd: project,
      env: { PATH, HOME, TMPDIR: folder, KURIER_CONFORMANCE: conformance(), ...env },
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-4_000);
  });
  await new Promise((resolve) => child.once("close", resolve));
  try {
    return (JSON.parse(readFileSync(report, "utf8")) as Report).testResults.flatMap((suite) => {
      const file = relative(project, suite.name);
      const broken = suite.status === "failed" && suite.assertionResults.every(({ status }) => status !== "failed");
      return [
        ...(broken ? [{ file, name: "(the file)", status: "failed", why: suite.message }] : []),
        ...suite.assertionResults.map(({ fullName, status, failureMessages }) => ({
          ...{ file, status, name: fullName.trim() },
          why: failureMessages.join("\n"),
        })),
      ];
    });
  } catch (error) {
    throw new Error(`the tests of the release before said nothing: ${said}`, { cause: error });
  }
}

const failedOf = (outcomes: readonly Outcome[]): readonly Outcome[] =>
  outcomes.filter(({ status }) => status === "failed");
const filesOf = (outcomes: readonly Outcome[]): string[] => [...new Set(outcomes.map(({ file }) => file))];
const nameOf = ({ file, name }: Outcome): string => `${file}: ${name}`;

/** What became of one kind of tests. */
interface Verdict {
  readonly files: number;
  readonly passed: number;
  readonly skipped: number;
  /** Passed when they ran again alone. */
  readonly again: number;
  /** On the earlier release's own schema as well. */
  readonly everywhere: readonly Outcome[];
  /** On the schema of this release alone. */
  readonly here: readonly Outcome[];
}

async function judge(project: string, suites: readonly string[]): Promise<Verdict> {
  const newer = { KURIER_TEST_DATABASE_URL: server.url, KURIER_TEST_TEMPLATE: NEWER };
  const first = await run(project, suites, newer);
  const second: Outcome[] = [];
  for (const file of filesOf(failedOf(first))) second.push(...(await run(project, [file], newer)));
  const failing = failedOf(second);
  const own: Outcome[] = [];
  for (const file of filesOf(failing)) own.push(...(await run(project, [file], {})));
  const everywhere = new Set(failedOf(own).map(nameOf));
  const counted = (status: string): number => first.filter((one) => one.status === status).length;
  return {
    files: suites.length,
    passed: counted("passed"),
    skipped: first.length - counted("passed") - counted("failed"),
    again: failedOf(first).length - failing.length,
    everywhere: failing.filter((one) => everywhere.has(nameOf(one))),
    here: failing.filter((one) => !everywhere.has(nameOf(one))),
  };
}

test.skipIf(!CAN_RUN)(
  "the contract and integration tests of the release before pass on a database that this release has migrated",
  async () => {
    const project = releaseBefore(folder);
    const setup = readFileSync(join(project, SETUP), "utf8");
    expect(setup.split(OF_NOTHING)).toHaveLength(2);
    writeFileSync(
      join(project, SETUP),
      setup.replace(OF_NOTHING, () => OF_NEWER),
    );
    const contract = await judge(project, suitesIn(project, "test/contract"));
    const integration = await judge(
      project,
      suitesIn(project, "test/integration").filter((file) => leadsTo(project, file, DATABASES)),
    );
    const verdicts = { contract, integration };
    for (const one of [contract, integration].flatMap(({ everywhere, here }) => [...everywhere, ...here]))
      process.stdout.write(`${nameOf(one)}\n${one.why}\n`);
    keepFigures("releases-suites", {
      title: "The tests of the release before, on this schema",
      command: "npm run -s test:faults -- releases-suites",
      remark:
        "The contract tests of the earlier release, and those of its integration tests that use a database, with the code of that release on databases that this release has migrated. What failed ran again alone, and what failed then ran on the earlier release's own schema, too.",
      columns: [
        ...["Tests", "Files", "Passed", "Passed alone", "Skipped", "Fail on their own schema, too"],
        "Read what is no promise",
      ],
      rows: Object.entries(verdicts).map(([name, { files, passed, again, skipped, everywhere, here }]) => [
        ...[name, files, passed, again, skipped, everywhere.length],
        here.filter((one) => INTERNAL[nameOf(one)] !== undefined).length,
      ]),
    });
    const here = [...contract.here, ...integration.here].map(nameOf).sort();
    if (PART === "") expect(here).toEqual(Object.keys(INTERNAL).sort());
    else expect(here.filter((name) => INTERNAL[name] === undefined)).toEqual([]);
    expect(contract.passed).toBeGreaterThan(PART === "" ? contract.here.length : -1);
  },
);
