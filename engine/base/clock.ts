/** Time, injected. The only file that asks the machine for it. */

/** Milliseconds since 1970-01-01T00:00:00Z. */
export type Instant = number;

/** A source of time. Everything that decides by time takes one, so that tests decide what time it is. */
export interface Clock {
  /** Wall-clock time. May jump; decides dates and what is written down. */
  now(): Instant;
  /** Milliseconds from an arbitrary start that never go back. Decides durations and windows. */
  monotonic(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};

/** How long an answer is believed. */
export interface Term {
  /** On the wall clock. */
  readonly from: Instant;
  readonly to: Instant;
  /** Monotonic. */
  readonly until: number;
}

/** The term of an answer that comes now to what was asked at `from`. */
export const termOf = (clock: Clock, from: Instant, lifetime_ms: number): Term => ({
  ...{ from, to: clock.now() + lifetime_ms },
  until: clock.monotonic() + lifetime_ms,
});

/**
 * Whether a term lasts, by both clocks: evidence holds an answer by the wall clock against the time of its use, and
 * where that clock was set in between, the answer may be one of another time.
 */
export function isBelieved({ from, to, until }: Term, clock: Clock): boolean {
  const now = clock.now();
  return clock.monotonic() < until && from <= now && now < to;
}

const [FIRST_INSTANT, LAST_INSTANT] = [Date.parse("0001-01-01T00:00:00Z"), Date.parse("9999-12-31T23:59:59.999Z")];

/**
 * A date and time that somebody else wrote, in ISO 8601 with its zone. Fractions of a second beyond the third digit are
 * dropped.
 * @returns undefined for what is none, as on the 31st of February, and for the years before 1 and after 9999 in UTC,
 * which Postgres does not read back
 */
export function parseInstant(text: string): Instant | undefined {
  const day = text.slice(0, "2026-11-20".length);
  const midnight = Date.parse(`${day}T00:00:00Z`);
  // Of the 31st of February Date.parse makes the 3rd of March.
  if (Number.isNaN(midnight) || isoInstant(midnight).slice(0, day.length) !== day) return undefined;
  const instant = Date.parse(text.replace(/(\.\d{3})\d+/, "$1"));
  return instant >= FIRST_INSTANT && instant <= LAST_INSTANT ? instant : undefined;
}

/**
 * Whether a date and time in ISO 8601, with or without zone, can be stored: a year that parseInstant takes, and a zone
 * of the earth.
 */
export const isStorable = (text: string): boolean =>
  parseInstant(/(?:Z|[+-]\d\d:\d\d)$/i.test(text) ? text : `${text}Z`) !== undefined &&
  !/[+-](?:1[5-9]|2\d):\d\d$/.test(text);

/** ISO 8601 UTC with milliseconds and `Z`. @source spec/rulings.md, section 1 */
export const isoInstant = (instant: Instant | Date): string => new Date(instant).toISOString();

/** The same of what may not be there. */
export const isoOrNull = (instant: Instant | Date | null | undefined): string | null =>
  instant === null || instant === undefined ? null : isoInstant(instant);

const bratislava = new Intl.DateTimeFormat("en-CA", {
  timeZone: "Europe/Bratislava",
  year: "numeric",
  month: "2-digit",
  day: "2-digit",
});

/** A calendar day, `YYYY-MM-DD`. */
export type LocalDay = string;

/**
 * The day in Europe/Bratislava on which an instant falls.
 * @source spec/rulings.md, section 1: local days are Europe/Bratislava
 */
export const bratislavaDay = (instant: Instant): LocalDay => bratislava.format(instant);

const bratislavaClock = new Intl.DateTimeFormat("en-GB", {
  timeZone: "Europe/Bratislava",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});

/** By how many hours clocks in Europe/Bratislava are ahead of UTC. */
const bratislavaOffset_h = (instant: Instant): number =>
  Math.round((Date.parse(`${bratislavaDay(instant)}T${bratislavaClock.format(instant)}Z`) - instant) / HOUR_MS);

/** The time of day in Europe/Bratislava with its zone, `00:17:51+01:00`. */
export const bratislavaTime = (instant: Instant): string =>
  `${bratislavaClock.format(instant)}+0${bratislavaOffset_h(instant)}:00`;

/** From one instant to another as calendar and clock in Europe/Bratislava tell it, where each day has 24 hours. */
export const bratislavaSpan_ms = (from: Instant, to: Instant): number =>
  to - from + (bratislavaOffset_h(to) - bratislavaOffset_h(from)) * HOUR_MS;

/** A day of 24 hours; calendar days of Europe/Bratislava have 23 to 25. */
export const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** The day `days` after `day`; days are counted on the calendar, so a change of summer time has no effect. */
export const addDays = (day: LocalDay, days: number): LocalDay =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);

/**
 * When a day begins in Europe/Bratislava: 22:00 UTC of the day before in summer, 23:00 in winter. Summer
 * time begins and ends at 01:00 UTC, so each day has one midnight.
 * @param day  a day of the years 1900 to 9998
 * @source spec/rulings.md, section 14, Statistics
 */
export function bratislavaMidnight(day: LocalDay): Instant {
  const utc = Date.parse(`${day}T00:00:00Z`);
  return [utc - 2 * HOUR_MS, utc - HOUR_MS].find((instant) => bratislavaDay(instant) === day) ?? utc;
}

/**
 * Why this machine cannot tell Slovak days, in a sentence for the operator: Node without ICU, or tables older than the
 * rules in force. @returns undefined when it can
 */
export function timeZoneFault(): string | undefined {
  const expectations: [string, LocalDay][] = [
    ["2026-12-31T22:59:59Z", "2026-12-31"],
    ["2026-12-31T23:00:00Z", "2027-01-01"],
    ["2027-07-01T21:59:59Z", "2027-07-01"],
    ["2027-07-01T22:00:00Z", "2027-07-02"],
  ];
  const [wrong] = expectations.filter(([instant, day]) => bratislavaDay(Date.parse(instant)) !== day);
  return wrong === undefined
    ? undefined
    : `The time-zone data of this Node.js gives a wrong Europe/Bratislava day for ${wrong[0]}; install a Node.js with full ICU.`;
}
