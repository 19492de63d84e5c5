/** The time of which a firm asks statistics: whole days, months, quarters and years of Europe/Bratislava. */
import { addDays, bratislavaDay, bratislavaMidnight } from "../base/clock.js";
import type { Instant, LocalDay } from "../base/clock.js";
import { inBratislavaYears, parseBratislavaDay } from "../base/dates.js";
import { addMonths, parseMonth } from "../peppol/reporting.js";
import type { Month } from "../peppol/reporting.js";

/** The periods that are named after the calendar around today, with how many months each has. */
const CALENDAR = { month: 1, quarter: 3, year: 12 } as const;

/** What was asked, as text; `period` or both of `from` and `to`, or nothing for the current month. */
export interface PeriodAsked {
  /** `2026-11`, `month`, `quarter` or `year`. */
  readonly period?: string | undefined;
  /** First day, `2026-11-01`. */
  readonly from?: string | undefined;
  /** Last day, included. */
  readonly to?: string | undefined;
}

/** Why no period can be told from what was asked. */
interface PeriodFault {
  readonly field: keyof PeriodAsked;
  readonly message: string;
}

const isDay = (text: string): boolean => parseBratislavaDay(text) !== undefined;

const isPeriod = (text: string): boolean =>
  Object.hasOwn(CALENDAR, text) || (parseMonth(text) !== undefined && inBratislavaYears(text));

/** The first thing that is wrong with what was asked; undefined when a period can be told from it. */
export function periodFault({ period, from, to }: PeriodAsked): PeriodFault | undefined {
  const faults: readonly [boolean, PeriodFault][] = [
    [
      period !== undefined && !isPeriod(period),
      { field: "period", message: "must be a month such as 2026-11, or month, quarter or year" },
    ],
    [from !== undefined && !isDay(from), { field: "from", message: "must be a day such as 2026-11-01" }],
    [to !== undefined && !isDay(to), { field: "to", message: "must be a day such as 2026-11-30" }],
    [
      period !== undefined && (from !== undefined || to !== undefined),
      { field: "period", message: "must not be given beside from and to" },
    ],
    [from === undefined && to !== undefined, { field: "from", message: "is required when to is given" }],
    [to === undefined && from !== undefined, { field: "to", message: "is required when from is given" }],
    [from !== undefined && to !== undefined && from > to, { field: "to", message: "must not be before from" }],
  ];
  return faults.find(([applies]) => applies)?.[1];
}

/** A stretch of whole days of Europe/Bratislava. */
interface StatisticsPeriod {
  /** The month, when it is exactly one that was asked for. */
  readonly month: Month | undefined;
  readonly firstDay: LocalDay;
  /** Included. */
  readonly lastDay: LocalDay;
  readonly from: Instant;
  /** Excluded. */
  readonly to: Instant;
}

const ofDays = (firstDay: LocalDay, lastDay: LocalDay, month?: Month): StatisticsPeriod => ({
  month,
  firstDay,
  lastDay,
  from: bratislavaMidnight(firstDay),
  to: bratislavaMidnight(addDays(lastDay, 1)),
});

/** `months` months from `first` on. */
const ofMonths = (first: Month, months: number): StatisticsPeriod =>
  ofDays(`${first}-01`, addDays(`${addMonths(first, months)}-01`, -1), months === 1 ? first : undefined);

/**
 * The period that was asked for.
 * @param asked  what periodFault found nothing wrong with
 * @source spec/rulings.md, section 14, Statistics
 */
export function statisticsPeriod({ period = "month", from, to }: PeriodAsked, now: Instant): StatisticsPeriod {
  if (from !== undefined && to !== undefined) return ofDays(from, to);
  if (!Object.hasOwn(CALENDAR, period)) return ofMonths(period, 1);
  const months = CALENDAR[period as keyof typeof CALENDAR];
  const current = bratislavaDay(now).slice(0, 7);
  return ofMonths(addMonths(current, -((Number(current.slice(5)) - 1) % months)), months);
}
