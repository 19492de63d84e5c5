/** Months of Europe/Bratislava, in which everything is counted that is paid for. */
import { bratislavaDay, bratislavaMidnight } from "../base/clock.js";
import type { Instant } from "../base/clock.js";

/** A month and its neighbours. */
interface BillingMonth {
  /** `2027-01`. */
  readonly name: string;
  /** `2027-01-01`. */
  readonly first: string;
  /** When the next one begins. */
  readonly ends: Instant;
}

/** The first day of the month `count` after one: `2027-01`, 1 gives `2027-02-01`. */
function firstAfter(name: string, count: number): string {
  const [year = 0, month = 0] = name.split("-").map(Number);
  return new Date(Date.UTC(year, month - 1 + count, 1)).toISOString().slice(0, 10);
}

/** The month in which an instant falls. */
export function billingMonthOf(instant: Instant): BillingMonth {
  const name = bratislavaDay(instant).slice(0, 7);
  return { name, first: `${name}-01`, ends: bratislavaMidnight(firstAfter(name, 1)) };
}

/** The first day of the month that many before the one of an instant. */
export const firstDayBefore = (instant: Instant, months: number): string =>
  firstAfter(billingMonthOf(instant).name, -months);
