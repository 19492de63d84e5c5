/** Days as people write them in four languages; what can be read in two ways says so. */
import { addDays } from "../../base/clock.js";
import type { LocalDay } from "../../base/clock.js";
import { parseCalendarDay } from "../../base/dates.js";
import { LIMITS } from "../../base/limits.js";
import type { IssueCode } from "./issues.js";
import { fold } from "./names.js";

interface ReadDay {
  readonly day: LocalDay;
  readonly doubt: IssueCode | undefined;
}

/** Months by what their names begin with, in Slovak, Czech, German and English, without accents. */
const MONTHS: readonly (readonly [RegExp, number])[] = [
  [/^(jan|led(en|na)?$|janner)/u, 1],
  [/^(feb|unor|unora)/u, 2],
  [/^(mar|marz|brez|maerz|mrz)/u, 3],
  [/^(apr|dub)/u, 4],
  [/^(maj|mai|may|kvet)/u, 5],
  [/^(jun|cerv(en|na)$)/u, 6],
  [/^(jul|cervenec|cervence)/u, 7],
  [/^(aug|srp)/u, 8],
  [/^(sep|zar)/u, 9],
  [/^(okt|oct|rij)/u, 10],
  [/^(nov|listopad)/u, 11],
  [/^(dec|dez|pros)/u, 12],
];

type Parts = Readonly<Record<"year" | "month" | "day", string | undefined>>;
interface DateForm {
  readonly form: RegExp;
  /** The doubt about any day of this form. */
  readonly doubt?: (parts: Parts) => IssueCode | undefined;
}

const isEither = ({ day, month }: Parts): boolean => Number(day) <= 12 && Number(month) <= 12 && day !== month;
const shortYear = ({ year }: Parts): IssueCode | undefined => (year?.length === 2 ? "TWO_DIGIT_YEAR" : undefined);
const either = (parts: Parts): IssueCode | undefined =>
  isEither({ ...parts, day: String(Number(parts.day)), month: String(Number(parts.month)) })
    ? "AMBIGUOUS_DATE"
    : shortYear(parts);

const YEAR = "(?<year>\\d{4}|\\d{2})";
/** The first form that gives a day of the calendar is taken. */
const FORMS: readonly DateForm[] = [
  { form: /^(?<year>\d{4})-(?<month>\d{1,2})-(?<day>\d{1,2})(?:[T ]\d{2}:\d{2}.*)?$/u },
  { form: /^(?<year>\d{4})[/.] ?(?<month>\d{1,2})[/.] ?(?<day>\d{1,2})\.?$/u },
  { form: /^(?<year>\d{4})(?<month>\d{2})(?<day>\d{2})$/u },
  {
    form: new RegExp(`^(?<day>\\d{1,2})\\. ?(?<month>\\d{1,2})\\. ?${YEAR}(?: \\d{1,2}:\\d{2}.*)?$`, "u"),
    doubt: shortYear,
  },
  { form: new RegExp(`^(?<day>\\d{1,2})[/-](?<month>\\d{1,2})[/-]${YEAR}$`, "u"), doubt: either },
  { form: new RegExp(`^(?<month>\\d{1,2})[/-](?<day>\\d{1,2})[/-]${YEAR}$`, "u"), doubt: either },
  {
    form: new RegExp(`^(?<day>\\d{1,2})(?:\\.|st|nd|rd|th)? ?(?<month>\\p{L}+)\\.?,? ?${YEAR}$`, "iu"),
    doubt: shortYear,
  },
  { form: new RegExp(`^(?<month>\\p{L}+)\\.? (?<day>\\d{1,2})(?:st|nd|rd|th)?,? ${YEAR}$`, "iu"), doubt: shortYear },
];

const CENTURY = "20";
const DIGITS = /^\d+$/u;

/** Spreadsheets count days from here. */
const SERIAL_EPOCH: LocalDay = "1899-12-30";

/** @returns undefined for what is no day of the calendar */
export function readDay(written: string): ReadDay | undefined {
  if (written.length > LIMITS.mapper_number_chars_max) return undefined;
  const text = written.trim().replace(/[\s\u{a0}]+/gu, " ");
  for (const { form, doubt } of FORMS) {
    const groups = form.exec(text)?.groups as Parts | undefined;
    if (groups === undefined) continue;
    const day = dayOf(groups);
    if (day !== undefined) return { day, doubt: doubt?.(groups) };
  }
  return readSerial(text);
}

function dayOf({ year = "", month = "", day = "" }: Parts): LocalDay | undefined {
  const number = DIGITS.test(month) ? Number(month) : MONTHS.find(([name]) => name.test(fold(month)))?.[1];
  if (number === undefined) return undefined;
  const text = `${year.length === 2 ? CENTURY + year : year}-${String(number).padStart(2, "0")}-${day.padStart(2, "0")}`;
  return parseCalendarDay(text)?.day;
}

/** A number between the years 2000 and 2064, as spreadsheets write a cell whose form was lost. */
function readSerial(text: string): ReadDay | undefined {
  if (!/^(3[6-9]|[45]\d)\d{3}$/u.test(text)) return undefined;
  return { day: addDays(SERIAL_EPOCH, Number(text)), doubt: "SERIAL_DATE" };
}
