/** spec/rulings.md, section 14, Statistics: months of Europe/Bratislava, the period asked for or 400. */
import { describe, expect, test } from "vitest";

import { addDays, bratislavaDay, bratislavaMidnight } from "../../../../engine/base/clock.js";
import { periodFault, statisticsPeriod } from "../../../../engine/documents/statistics-period.js";

describe("the period of statistics", () => {
  test.each([
    ["month", "2026-11-30T22:59:59Z", "2026-11-01", "2026-11-30"],
    ["month", "2026-11-30T23:00:00Z", "2026-12-01", "2026-12-31"],
    ["quarter", "2026-03-31T21:59:59Z", "2026-01-01", "2026-03-31"],
    ["quarter", "2026-03-31T22:00:00Z", "2026-04-01", "2026-06-30"],
    ["year", "2026-12-31T22:59:59Z", "2026-01-01", "2026-12-31"],
    ["year", "2026-12-31T23:00:00Z", "2027-01-01", "2027-12-31"],
    ["2028-02", "2026-12-31T23:00:00Z", "2028-02-01", "2028-02-29"],
  ])("%s asked at %s is %s to %s", (period, now, firstDay, lastDay) => {
    expect(periodFault({ period })).toBeUndefined();
    expect(statisticsPeriod({ period }, Date.parse(now))).toMatchObject({ firstDay, lastDay });
  });

  test("every day of a year with both clock changes begins at its midnight in Bratislava", () => {
    for (let day = "2026-01-01"; day < "2027-01-01"; day = addDays(day, 1)) {
      const midnight = bratislavaMidnight(day);
      expect([bratislavaDay(midnight - 1), bratislavaDay(midnight)]).toEqual([addDays(day, -1), day]);
    }
  });
});
