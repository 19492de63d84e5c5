/** What one kill did, as it is kept, and the table of many. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";

/** More is sent than the backlog, so that the kill meets requests too. */
export const SENT_SHARE = 1.25;

/** One kill, or a round without one. */
export interface KillRecord {
  readonly form: "jetstream" | "postgres";
  /** What was killed; `none` in the rounds that the others are compared with. */
  readonly kind: string;
  /** Documents that were accepted and not delivered at the kill. */
  readonly backlog: number;
  readonly accepted: number;
  /** Those that send to each other. @default 40 */
  readonly firms?: number;
  /** Accepted, but not delivered with the same bytes. */
  readonly lost: number;
  /** Accepted once, but there twice, at the sender or at the receiver. */
  readonly doubled: number;
  /** Documents whose plan has used more or less than what was answered. */
  readonly miscounted: number;
  /** Whether an engine ended that nobody had killed. */
  readonly engineExit: boolean;
  /** Documents a second, from the end of the load to the last delivery. */
  readonly rate: number;
  /** From the kill to the next delivery. */
  readonly firstDelivery_ms: number;
  /** From the kill to the beginning of the first second with at least 0.8 of the rate of the last round without one. */
  readonly fullRate_ms: number | undefined;
  /** The longest time of a document from its acceptance to its delivery; a kill's is compared with the last without. */
  readonly wait_max_ms: number;
  /** Load average of the machine then: one that works for others as well takes longer. */
  readonly load: number;
}

/** Adds to the records in a file. @returns all of them */
export function addRecords(file: string, records: readonly KillRecord[]): readonly KillRecord[] {
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as readonly KillRecord[]) : [];
  const all = [...before, ...records];
  writeFileSync(file, `[\n${all.map((record) => `  ${JSON.stringify(record)}`).join(",\n")}\n]\n`);
  return all;
}

/** The value that so large a share of the values lies below. */
export const quantile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
};
const seconds = (ms: number): string => (!Number.isFinite(ms) ? "–" : (ms / 1_000).toFixed(1));
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** One line for each form and kind, and one for all kills. */
export function killTable(records: readonly KillRecord[]): string {
  const kills = records.filter(({ kind }) => kind !== "none");
  const groups = [...new Set(kills.map(({ form, kind }) => `${form}, ${kind}`))].sort();
  const waitWithout = (kill: KillRecord): number =>
    records.slice(0, records.indexOf(kill)).findLast(({ form, kind }) => form === kill.form && kind === "none")
      ?.wait_max_ms ?? NaN;
  const line = (name: string, some: readonly KillRecord[]): string => {
    const recoveries = some.flatMap(({ fullRate_ms }) => (fullRate_ms === undefined ? [] : [fullRate_ms]));
    const extra = some.map((one) => Math.max(0, one.wait_max_ms - waitWithout(one)));
    const cells = [
      name,
      some.length,
      sum(some.map((one) => one.accepted)),
      sum(some.map((one) => one.lost)),
      sum(some.map((one) => one.doubled)),
      sum(some.map((one) => one.miscounted)),
      some.filter((one) => one.engineExit).length,
      seconds(
        quantile(
          some.map((one) => one.firstDelivery_ms),
          0.5,
        ),
      ),
      seconds(Math.max(...some.map((one) => one.firstDelivery_ms))),
      seconds(quantile(recoveries, 0.5)),
      seconds(Math.max(...recoveries)),
      seconds(Math.max(...extra)),
    ];
    return `| ${cells.join(" | ")} |`;
  };
  return [
    "| Killed | Kills | Accepted | Lost | Doubled | Miscounted | Engine exits | Next delivery p50, s | max | Full rate again p50, s | max | Longest extra wait, s |",
    "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ...groups.map((group) =>
      line(
        group,
        kills.filter(({ form, kind }) => `${form}, ${kind}` === group),
      ),
    ),
    line("all", kills),
  ].join("\n");
}
