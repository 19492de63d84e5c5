/**
 * The monthly reports: made when a month is over, once, and sent like any message of ours. Only the production network
 * is reported.
 */
import { isoInstant } from "../base/clock.js";
import type { Clock, Instant } from "../base/clock.js";
import type { Environment } from "../base/config.js";
import type { FirmId } from "../base/ids.js";
import { LIMITS } from "../base/limits.js";
import type { Log } from "../base/log.js";
import {
  buildEusr,
  buildTsr,
  dueReports,
  monthBounds,
  monthOf,
  REPORT_DOCUMENT_TYPES,
  REPORT_PROCESS,
  REPORT_RECEIVER,
} from "../peppol/reporting.js";
import type { DueReport, Month, ReportType } from "../peppol/reporting.js";
import {
  countEndUsers,
  countFirmExchanges,
  countTransactions,
  lastSubmissions,
  listSubmissions,
  submitReport,
} from "../storage/reporting.js";
import type { Sealer } from "../storage/sealer.js";
import { orTemporary } from "../storage/sql.js";
import type { Sql } from "../storage/sql.js";
import { newServiceMessage } from "./provider.js";
import type { Provider } from "./provider.js";

export interface ReportPorts {
  readonly sql: Sql;
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
  const { sql, clock, provider } = ports;
  const last = await lastSubmissions(sql);
  const due = dueReports(clock.now(), Object.fromEntries(last) as Partial<Record<ReportType, Month>>);
  let made = 0;
  for (const report of due) {
    const payload = await makeReport(sql, provider.seat, report);
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
    if (await submitReport(sql, { ...report, madeAt: clock.now(), message })) made += 1;
  }
  if (made > 0) ports.log.info("reports.made", { count: made });
  return made;
}

/** A firm's own exchanges of a month. */
export interface Statistics {
  readonly period: Month;
  readonly from: string;
  /** Excluded. */
  readonly to: string;
  readonly incoming: number;
  readonly outgoing: number;
  readonly documentTypes: {
    readonly documentTypeId: string;
    readonly processId: string;
    readonly incoming: number;
    readonly outgoing: number;
  }[];
}

/** @param month  default: the current one. @throws Refusal TEMPORARY */
export async function readStatistics(
  sql: Sql,
  firmId: FirmId,
  month: Month | undefined,
  now: Instant,
): Promise<Statistics> {
  const period = month ?? monthOf(now);
  const bounds = monthBounds(period);
  const rows = await orTemporary(countFirmExchanges(sql, firmId, bounds));
  const types = new Map<string, Statistics["documentTypes"][number]>();
  for (const { direction, documentTypeId, processId, count } of rows) {
    const at = `${documentTypeId}|${processId}`;
    const before = types.get(at) ?? { documentTypeId, processId, incoming: 0, outgoing: 0 };
    types.set(at, { ...before, [direction]: count });
  }
  const documentTypes = [...types.values()];
  const sum = (direction: "incoming" | "outgoing"): number =>
    documentTypes.reduce((total, type) => total + type[direction], 0);
  return {
    period,
    from: isoInstant(bounds.from),
    to: isoInstant(bounds.to),
    incoming: sum("incoming"),
    outgoing: sum("outgoing"),
    documentTypes,
  };
}

/** That a report was made and what became of it; never what it says of other firms. */
export interface Submission {
  readonly id: string;
  readonly reportType: ReportType;
  readonly period: Month;
  readonly status: string;
  readonly sha256: string;
  readonly createdAt: string;
  readonly submittedAt: string | null;
}

/** Submissions, newest month first. @throws Refusal TEMPORARY */
export async function readSubmissions(
  sql: Sql,
  type: ReportType | undefined,
): Promise<{ readonly submissions: Submission[] }> {
  const rows = await orTemporary(listSubmissions(sql, { type, limit: LIMITS.submissions_listed_max }));
  return {
    submissions: rows.map((row) => ({
      id: row.id,
      reportType: row.type as ReportType,
      period: row.month,
      status: row.status,
      sha256: row.sha256,
      createdAt: isoInstant(row.madeAt),
      submittedAt: row.deliveredAt === undefined ? null : isoInstant(row.deliveredAt),
    })),
  };
}
