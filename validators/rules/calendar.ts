/** Days of the Gregorian calendar, also before it was made, and zones behind them. */

export const daysIn = (year: number, month: number): number =>
  month === 2
    ? year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
      ? 29
      : 28
    : 30 + ((month + (month >> 3)) & 1);

/** Days from 1970-01-01; years start in March, so that the leap day is the last. */
export function daysSinceEpoch(year: number, month: number, day: number): number {
  const y = month > 2 ? year : year - 1;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return 365 * y + Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400) + dayOfYear - 719_468;
}

/** A zone, or none, as part of a pattern: XML Schema allows ±14:00. */
export const ZONE = "(Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))?";

/** "+02:00" as 120; none counts as UTC. */
export function zoneMinutes(zone: string | undefined): number {
  if (zone === undefined || zone === "" || zone === "Z") return 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4, 6));
  return zone.startsWith("-") ? -minutes : minutes;
}
