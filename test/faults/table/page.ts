/** docs/faults.md: the table of faults and what the long runs have measured, drawn from the lists and the kept figures. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { killTable, SENT_SHARE } from "../records.js";
import type { KillRecord } from "../records.js";
import type { Figures } from "../figures.js";
import { MUTATIONS } from "../suites/mutations.js";
import { FAMILIES } from "./table.js";
import type { Family } from "./table.js";
import type { FaultRow } from "./row.js";

export const PAGE = "docs/faults.md";
const RESULTS = "bench/results";

const INTRODUCTION = `# Faults

What is done to the engine on purpose, and which test shows what becomes of it. \`npm run -s faults:table\` writes this page from \`test/faults/table\` and from the figures that the long runs have left in \`bench/results\`; a test holds it to them, and every test that it names must exist.

The ids are those of our design notes. A row without a test says why; where a test shows a part only, the last column says what it leaves out. Tests below \`faults\` are long and run by \`npm run -s test:faults\`, all others at every change.
`;

/** Text of a cell. */
const cell = (text: string): string => text.replaceAll("|", "\\|");
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.map(cell).join(" | ")} |`).join("\n");

const shownBy = (shown: FaultRow["shown"]): string =>
  shown.length === 0
    ? "nothing"
    : shown
        .map(({ file, titles }) => `\`${file.slice("test/".length, -".test.ts".length)}\`: ${titles.join("; ")}`)
        .join("<br>");

/** A section of the page with what long runs have measured, and the part of `npm run -s test:faults` that does. */
interface Measured {
  readonly title: string;
  /** What stands in the names of its test files. */
  readonly part: string;
  readonly text: string;
}

/** As pages that are made of Markdown name their headings. */
const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^\w\s-]/g, "")
    .replaceAll(" ", "-");

/** Links to the figures that the tests of a row have left. */
const figuresOf = ({ shown }: FaultRow, measured: readonly Measured[]): string =>
  measured
    .filter(({ part }) => shown.some(({ file }) => file.startsWith("test/faults/") && file.includes(part)))
    .map(({ title }) => `[${title}](#${anchorOf(title)})`)
    .join("<br>");

const familyText = ({ title, rows }: Family, measured: readonly Measured[]): string =>
  `## ${title}\n\n${table(
    ["Row", "What is done", "Shown by", "Figures", "Not shown"],
    rows.map((row) => [row.id, row.what, shownBy(row.shown), figuresOf(row, measured), row.missing ?? ""]),
  )}\n`;

/** What is changed in the code to see that the test of an invariant fails. */
const mutationsText = `## Changes that break an invariant\n\nEach is made in a copy of the project, built, and must fail the test that watches the invariant: \`npm run -s test:faults -- mutations\`.\n\n${table(
  ["Invariant", "Changed so that", "In", "The test that fails"],
  MUTATIONS.map(({ invariant, what, edits, test: { file, title } }) => [
    invariant,
    what,
    edits.map((one) => `\`${one.file}\``).join("<br>"),
    shownBy([{ file, titles: [title] }]),
  ]),
)}\n`;

/** Files of kills: many in a small backlog, and some in a large one. */
const KILLS = { "kills.json": "Kills", "kills-thousand.json": "Kills in a backlog of a thousand" } as const;

function killsText(root: string): readonly Measured[] {
  return Object.entries(KILLS).flatMap(([name, title]) => {
    const file = join(root, RESULTS, name);
    if (!existsSync(file)) return [];
    const records = JSON.parse(readFileSync(file, "utf8")) as readonly KillRecord[];
    return [{ title, part: "kills", text: killsOf(title, name, records) }];
  });
}

function killsOf(title: string, name: string, records: readonly KillRecord[]): string {
  const kills = records.filter(({ kind }) => kind !== "none");
  const range = (of: (record: KillRecord) => number): string => {
    const [least, most] = [Math.min(...kills.map(of)), Math.max(...kills.map(of))];
    return least === most ? String(least) : `${least} to ${most}`;
  };
  const slow = kills.filter(({ fullRate_ms }) => fullRate_ms === undefined).length;
  const never =
    slow === 0
      ? ""
      : ` ${slow} of ${kills.length} had no such second, for what was left of the backlog was delivered too soon to fill one, or slower than in the rounds without a kill.`;
  return [
    `## ${title}\n\nParts of an engine are killed with SIGKILL while ${range(({ backlog }) => backlog)} documents of ${range(({ firms = 40 }) => firms)} firms are on their way; clients send on meanwhile and repeat what was not answered. Accepted are the documents that a client saw a 202 for. The full rate counts from the kill to the first second in which 0.8 of what is usual was delivered; what is usual, also for the longest extra wait, tells the last round without a kill before it.${never} Two cores with a load average of ${range(({ load }) => load)}.\n\n\`KURIER_TEST_KILLS=${kills.length} KURIER_TEST_BACKLOG=${range(({ accepted }) => Math.round(accepted / SENT_SHARE))} KURIER_TEST_RESULTS=${RESULTS}/${name} npm run -s test:faults -- kills\`\n`,
    `${killTable(records)}\n`,
  ].join("\n");
}

/** What each long run has left, by the names of its files. */
function figuresText(root: string): readonly Measured[] {
  const folder = join(root, RESULTS, "faults");
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map((name) => {
      const { title, command, at, machine, remark, columns, rows } = JSON.parse(
        readFileSync(join(folder, name), "utf8"),
      ) as Figures;
      const [, part = ""] = / -- (\S+)$/.exec(command) ?? [];
      if (part === "") throw new Error(`${name} does not say which part of test:faults has made it`);
      const text = `## ${title}\n\n${remark}\n\n\`${command}\`, ${at.slice(0, 10)}, ${machine}.\n\n${table(
        columns,
        rows.map((row) => row.map(String)),
      )}\n`;
      return { title, part, text };
    });
}

/** @param root  of the project */
export function faultsPage(root: string): string {
  const measured = [...killsText(root), ...figuresText(root)];
  const families = FAMILIES.map((family) => familyText(family, measured));
  return [INTRODUCTION, ...measured.map(({ text }) => text), ...families, mutationsText].join("\n");
}
