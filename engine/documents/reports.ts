/**
 * The monthly reports: made when a month is over, once, and sent like any message of ours. Only the production network
 * is reported.
 */
import { isoInstant, isoOrNull } from "../base/clock.js";
import type { Clock } from "../base/clock.js";
import type { Environment } from "../base/config.js";
import { LIMITS } from "../base/limits.js";
import type { Log } from "../base/log.js";
import {
  buildEusr,
  buildTsr,
  dueReports,
  monthBounds,
  REPORT_DOCUMENT_TYPES,
  REPORT_PROCESS,
  REPORT_RECEIVER,
} from "../peppol/reporting.js";
import type { DueReport, Month, ReportType } from "../peppol/reporting.js";
import {
  countEndUsers,
  countSubmissions,
  countTransactions,
  lastSubmissions,
  listSubmissions,
  submitReport,
} from "../storage/reporting.js";
import { earlierNow } from "../storage/retention/sweeps.js";
import type { Sealer } from "../storage/sealer.js";
import { orTemporary } from "../storage/sql.js";
import type { Sql } from "../storage/sql.js";
import { newServiceMessage } from "./provider.js";
import type { Provider } from "./provider.js";

export interface ReportPorts {
  readonly sql: Sql;
  /** Months are counted by it; see openCounting. */
  readonly countSql: Sql;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly log: Log;
  readonly provider: Provider;
  readonly environment: Environment;
}

/** The report of a month as it stands now. */
export async function makeReport(sql: Sql, seat: string, { type, month }: DueReport): Promise<Buffer> {
  const head = { month, reporter: seat };
  return type === "TSR"
    ? buildTsr(head, await countTransactions(sql, monthBounds(month)))
    : buildEusr(head, await countEndUsers(sql, monthBounds(month)));
}

/**
 * Makes and stores every report that is due. Safe to repeat and to run on many nodes: a month has one report of a type.
 * @returns how many were made; none in the sandbox
 */
export async function submitDueReports(ports: ReportPorts): Promise<number> {
  if (ports.environment !== "production") return 0;
  const { sql, countSql, clock, provider } = ports;
  // A month has one report: one that is made before its end, by a clock that is ahead, would be the last word on it.
  const now = await earlierNow(sql, clock.now());
  const last = await lastSubmissions(sql);
  const due = dueReports(now, Object.fromEntries(last) as Partial<Record<ReportType, Month>>);
  let made = 0;
  for (const report of due) {
    const payload = await makeReport(countSql, provider.seat, report);
    const message = await newServiceMessage(ports, {
      kind: "report",
      subject: `report/${report.type}/${report.month}`,
      code: report.type,
      sender: provider.participant,
      receiver: REPORT_RECEIVER,
      documentTypeId: REPORT_DOCUMENT_TYPES[report.type],
      processId: REPORT_PROCESS,
      payload,
    });
    if (await submitReport(sql, { ...report, madeAt: now, message })) made += 1;
  }
  if (made > 0) ports.log.info("reports.made", { count: made });
  return made;
}

/** That a report was made and what became of it; never what it says of other firms. */
interface Submission {
  readonly id: string;
  readonly reportType: ReportType;
  readonly period: Month;
  readonly status: string;
  readonly sha256: string;
  readonly createdAt: string;
  readonly submittedAt: string | null;
}

/** A page of submissions; `items` and `submissions` are the same rows under the two names that clients read. */
export interface SubmissionPage {
  readonly submissions: readonly Submission[];
  readonly items: readonly Submission[];
  /** How many there are on all pages. */
  readonly total: number;
  readonly limit: number;
  readonly offset: number;
}

/** Submissions, newest month first. @throws Refusal TEMPORARY */
export async function readSubmissions(
  sql: Sql,
  type: ReportType | undefined,
  page: { readonly limit: number; readonly offset: number } = { limit: LIMITS.submissions_listed_max, offset: 0 },
): Promise<SubmissionPage> {
  const [rows, total] = await orTemporary(
    Promise.all([listSubmissions(sql, { type, ...page }), countSubmissions(sql, type)]),
  );
  const items = rows.map((row) => ({
    id: row.id,
    reportType: row.type as ReportType,
    period: row.month,
    status: row.status,
    sha256: row.sha256,
    createdAt: isoInstant(row.madeAt),
    submittedAt: isoOrNull(row.deliveredAt),
  }));
  return { submissions: items, items, total, ...page };
}
