/** Calendar days that somebody else wrote: the one reading of an XSD date for all rules on dates. */
import type { LocalDay } from "./clock.js";

/** A day of the Gregorian calendar, however far away. Its zone, where one is written, does not move it. */
interface CalendarDay {
  /** Days since 1970-01-01: what rules compare and add to. */
  readonly ordinal: number;
  /** `YYYY-MM-DD`; undefined before the year 1 and after 9999, which no column and no other format takes. */
  readonly day: LocalDay | undefined;
}

const DATE = /^(-?)(\d{4,10})-(\d\d)-(\d\d)(?:Z|[+-](?:(?:0\d|1[0-3]):[0-5]\d|14:00))?$/;
/** The last year of the UBL grammar: what is no day here is then a finding in its document, and never the other way. */
const LAST_YEAR = 2_147_483_647;

/** Reads a trimmed text as xs:date; undefined for impossible days, the year 0 and everything else. */
export function parseCalendarDay(text: string): CalendarDay | undefined {
  const [, minus, digits = "", monthDigits, dayDigits] = DATE.exec(text) ?? [];
  const [written, month, day] = [Number(digits), Number(monthDigits), Number(dayDigits)];
  if (!(written > 0 && written <= LAST_YEAR) || (digits.length > 4 && digits.startsWith("0"))) return undefined;
  if (!(month >= 1 && month <= 12 && day >= 1 && day <= daysIn(written, month))) return undefined;
  const year = minus === "-" ? 1 - written : written;
  return {
    ordinal: ordinalOf(year, month, day),
    day: year >= 1 && year <= 9_999 ? `${digits}-${monthDigits ?? ""}-${dayDigits ?? ""}` : undefined,
  };
}

/** A day of the years 1 to 9999 as people write it, `YYYY-MM-DD` and no zone; undefined for what is none. */
export function parseDay(text: string): LocalDay | undefined {
  const day = parseCalendarDay(text)?.day;
  return day === text ? day : undefined;
}

/** Whether the midnights of a day or month are told in Bratislava, whose clocks followed the sun before 1900. */
export const inBratislavaYears = (text: string): boolean => text >= "1900" && text < "9999";

/** A day that begins and ends at a midnight of Europe/Bratislava; undefined for every other text. */
export function parseBratislavaDay(text: string): LocalDay | undefined {
  const day = parseDay(text);
  return day !== undefined && inBratislavaYears(day) ? day : undefined;
}

/** Whether February has 29 days is decided by the year as it is written, also for years before 1, as XSD does. */
const daysIn = (year: number, month: number): number =>
  month === 2
    ? year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
      ? 29
      : 28
    : 30 + ((month + (month >> 3)) & 1);

/** Days since 1970-01-01. The year is taken to begin in March, so that the leap day is its last and shifts no month. */
function ordinalOf(year: number, month: number, day: number): number {
  const y = month > 2 ? year : year - 1;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return 365 * y + Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400) + dayOfYear - 719_468;
}
