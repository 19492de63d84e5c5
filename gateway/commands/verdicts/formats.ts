/** SARIF for code scanning, JUnit for test reports: all verdicts of one run as one document. */
import { invalidates } from "../../../validators/report.js";
import type { Finding, Upcoming } from "../../../validators/report.js";
import { lineOfJson } from "./json.js";

/** The verdict on one file, as `--json` prints it. */
export interface FileVerdict {
  readonly file: string;
  readonly valid: boolean;
  /** Which rules were taken: the row of the built-in table, or the pack. */
  readonly profile: string;
  /** Every rule set that judged, with its version. */
  readonly ruleSet: readonly string[];
  readonly durationMs: number;
  /** Findings beyond the limit of a layer; absent when all are listed. */
  readonly omitted?: number;
  /** How many of them each rule has. */
  readonly omittedRules?: Readonly<Record<string, number>>;
  readonly findings: readonly Finding[];
  /** With --upcoming: what rules that come into force later change. */
  readonly upcoming?: readonly Upcoming[];
}

/** A file of which there is no verdict, and why, in a sentence that names it. */
export interface NotJudged {
  readonly file: string;
  readonly why: string;
}

/**
 * A path as a reference (RFC 3986): a blank, a percent sign or a colon in a name would make another one of it, two
 * slashes at its beginning a host.
 */
const uriOf = (file: string): string => file.replace(/^\/+/u, "/").split("/").map(encodeURIComponent).join("/");

/** SARIF knows error, warning and note. */
const SARIF_LEVELS = { fatal: "error", error: "error", warning: "warning", information: "note" } as const;

/** @source SARIF 2.1.0, OASIS: one run, one result a finding */
export function toSarif(verdicts: readonly FileVerdict[], notJudged: readonly NotJudged[]): string {
  const results = verdicts.flatMap(({ file, findings }) =>
    findings.map(({ ruleId, severity, location, line, column, message }) => ({
      ruleId,
      level: SARIF_LEVELS[severity],
      message: { text: message },
      locations: [
        {
          physicalLocation: {
            artifactLocation: { uri: uriOf(file) },
            region: { startLine: line ?? 1, ...(column === undefined ? {} : { startColumn: column }) },
          },
          logicalLocations: [{ fullyQualifiedName: location }],
        },
      ],
    })),
  );
  const omitted = verdicts.flatMap(({ file, omittedRules = {} }) => omittedNotices(file, omittedRules));
  const missing = notJudged.map(({ why }) => ({ level: "error", message: { text: why } }));
  const rules = [...new Set(results.map(({ ruleId }) => ruleId))].sort().map((id) => ({ id }));
  return lineOfJson({
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: { driver: { name: "kurier", rules } },
        results,
        invocations: [
          { executionSuccessful: missing.length === 0, toolExecutionNotifications: [...missing, ...omitted] },
        ],
      },
    ],
  });
}

/** What a reader of the report must know is missing in it. */
const omittedNotices = (file: string, rules: Readonly<Record<string, number>>) =>
  Object.entries(rules).map(([id, count]) => ({
    level: "note",
    message: { text: `${file}: ${count} more findings of ${id} are not listed.` },
  }));

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
/**
 * What XML 1.0 has no place for, such as most control characters that a file's name may have, is a dot; the others are
 * numbers, for a terminal obeys them and an attribute has no breaks of lines.
 */
const escapeXml = (text: string): string =>
  text
    .replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "·")
    .replace(/[&<>"\p{Cc}]/gu, (mark) => ESCAPES[mark] ?? `&#${mark.charCodeAt(0)};`);

const counted = (count: number): string => (count === 1 ? "1 finding" : `${count} findings`);

/**
 * JUnit's XML: one test case a file, which fails with its findings of severity fatal and error; one that has no verdict
 * is an error.
 */
export function toJunit(verdicts: readonly FileVerdict[], notJudged: readonly NotJudged[]): string {
  const cases = verdicts.map(({ file, valid, durationMs, findings }) => {
    const open = `  <testcase classname="kurier validate" name="${escapeXml(file)}" time="${(durationMs / 1000).toFixed(6)}"`;
    if (valid) return `${open}/>`;
    const told = findings
      .filter(({ severity }) => invalidates(severity))
      .map(({ ruleId, line, message, location }) => `${file}:${line ?? 1}: ${ruleId} ${message} ${location}`);
    return `${open}>\n    <failure message="${counted(told.length)}">${told.map(escapeXml).join("\n")}</failure>\n  </testcase>`;
  });
  const errors = notJudged.map(
    ({ file, why }) =>
      `  <testcase classname="kurier validate" name="${escapeXml(file)}">\n    <error message="${escapeXml(why)}"/>\n  </testcase>`,
  );
  const failures = verdicts.filter(({ valid }) => !valid).length;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuite name="kurier validate" tests="${cases.length + errors.length}" failures="${failures}" errors="${errors.length}">`,
    ...cases,
    ...errors,
    "</testsuite>",
  ].join("\n");
}
