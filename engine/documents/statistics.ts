/** What a firm reads of its own exchanges: invoices and credit notes, sent and received. */
import { bratislavaDay, isoInstant } from "../base/clock.js";
import type { Instant } from "../base/clock.js";
import type { FirmId } from "../base/ids.js";
import { LIMITS } from "../base/limits.js";
import type { Month } from "../peppol/reporting.js";
import { countFirmExchanges, countFirmFailures, countFirmPeers, countFirmUpcoming } from "../storage/reporting.js";
import { orTemporary } from "../storage/sql.js";
import type { Sql } from "../storage/sql.js";
import { statisticsPeriod } from "./statistics-period.js";
import type { PeriodAsked } from "./statistics-period.js";

/** The roots of the documents that count, and the words for them: billed by the seller, by the buyer. */
const COUNTED = {
  Invoice: ["invoice", "self_billing"],
  CrossIndustryInvoice: ["invoice", "self_billing"],
  CreditNote: ["credit_note", "self_billing_credit_note"],
} as const;

const rootOf = (documentTypeId: string): string => documentTypeId.split("::")[1]?.split("##")[0] ?? "";

/** The declared type decides; the self-billing types of all specifications are named after it. */
const wordOf = (documentTypeId: string): string =>
  COUNTED[rootOf(documentTypeId) as keyof typeof COUNTED][documentTypeId.includes("selfbilling") ? 1 : 0];

interface Total {
  readonly total: number;
  readonly by_type: Readonly<Record<string, number>>;
}

interface Peer {
  readonly peppol_id: string;
  readonly count: number;
}

/** A firm's own exchanges of a period. */
export interface Statistics {
  /** First and last day in Europe/Bratislava, both included. */
  readonly period: { readonly from: string; readonly to: string };
  /** When the period is one month. */
  readonly month: Month | null;
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
  readonly sent: Total;
  readonly received: Total;
  /**
   * Of what was delivered or has ended without it, the part that was delivered: 0 to 1, not rounded, so that 1 means
   * all; 0 when nothing has ended yet.
   */
  readonly delivery_rate: number;
  readonly top_recipients: Peer[];
  readonly top_senders: Peer[];
  /**
   * Later days on which imported rules come into force: of the documents that the firm sent in the period, how many
   * were judged by them when they were accepted, and how many would fail. Empty where no such rules are known.
   */
  readonly upcoming: { readonly mandatory_from: string; readonly judged: number; readonly failing: number }[];
}

type Counts = Awaited<ReturnType<typeof countFirmExchanges>>;

function totalOf(rows: Counts, direction: "incoming" | "outgoing"): Total {
  const byType = new Map<string, number>();
  let total = 0;
  for (const row of rows.filter((each) => each.direction === direction)) {
    const word = wordOf(row.documentTypeId);
    byType.set(word, (byType.get(word) ?? 0) + row.count);
    total += row.count;
  }
  return { total, by_type: Object.fromEntries(byType) };
}

function documentTypesOf(rows: Counts): Statistics["documentTypes"] {
  const types = new Map<string, Statistics["documentTypes"][number]>();
  for (const { direction, documentTypeId, processId, count } of rows) {
    const at = `${documentTypeId}|${processId}`;
    const before = types.get(at) ?? { documentTypeId, processId, incoming: 0, outgoing: 0 };
    types.set(at, { ...before, [direction]: count });
  }
  return [...types.values()];
}

const peersOf = (rows: Awaited<ReturnType<typeof countFirmPeers>>): Peer[] =>
  rows.map(({ peer, count }) => ({ peppol_id: peer, count }));

/**
 * @param asked  what periodFault found nothing wrong with
 * @throws Refusal TEMPORARY
 * @source spec/rulings.md, section 14, Statistics
 */
export async function readStatistics(sql: Sql, firmId: FirmId, asked: PeriodAsked, now: Instant): Promise<Statistics> {
  const { from, to, month, firstDay, lastDay } = statisticsPeriod(asked, now);
  const scope = { from, to, firmId, roots: Object.keys(COUNTED) };
  const top = LIMITS.statistics_peers_max;
  const [rows, failed, recipients, senders, later] = await orTemporary(
    Promise.all([
      countFirmExchanges(sql, scope),
      countFirmFailures(sql, scope),
      countFirmPeers(sql, scope, "outgoing", top),
      countFirmPeers(sql, scope, "incoming", top),
      countFirmUpcoming(sql, scope, bratislavaDay(now)),
    ]),
  );
  const [sent, received] = [totalOf(rows, "outgoing"), totalOf(rows, "incoming")];
  return {
    period: { from: firstDay, to: lastDay },
    month: month ?? null,
    from: isoInstant(from),
    to: isoInstant(to),
    incoming: received.total,
    outgoing: sent.total,
    documentTypes: documentTypesOf(rows),
    sent,
    received,
    delivery_rate: sent.total === 0 ? 0 : sent.total / (sent.total + failed),
    top_recipients: peersOf(recipients),
    top_senders: peersOf(senders),
    upcoming: later.map(({ day, judged, failing }) => ({ mandatory_from: day, judged, failing })),
  };
}
