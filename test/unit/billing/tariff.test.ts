/** Money: bands, rounding, months and plans, each against another way to compute it. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { bratislavaMidnight } from "../../../engine/base/clock.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { firstDayBefore, billingMonthOf } from "../../../engine/billing/months.js";
import { planState } from "../../../engine/billing/plans.js";
import { chargeOf, euros, rateInEuros, SCHEDULE } from "../../../engine/billing/tariff.js";

describe("the price schedule", () => {
  // spec/enterprise.md, Limits: "Document 20,001 and every later one in either direction cost 0.04 EUR without a custom order."
  test.each(["outbound", "inbound"] as const)(
    "the %s document 20,001 and every later one cost 0.04 EUR",
    (direction) => {
      const tiers = SCHEDULE[direction];
      for (const count of [20_000, 20_001, 50_000, 1_000_000])
        expect(rateInEuros(chargeOf(count + 1, tiers) - chargeOf(count, tiers))).toBe(0.04);
      expect(chargeOf(20_000, tiers) - chargeOf(19_999, tiers)).toBeGreaterThan(40_000);
    },
  );

  test.each(["outbound", "inbound"] as const)(
    "the bands of %s follow one another without a gap and never rise",
    (direction) => {
      const tiers = SCHEDULE[direction];
      tiers.forEach((tier, at) => {
        expect(tier.from).toBe((tiers[at - 1]?.to ?? 0) + 1);
        expect(tier.rate_micro_eur).toBeLessThanOrEqual(tiers[at - 1]?.rate_micro_eur ?? Infinity);
      });
      expect(tiers.at(-1)?.to).toBeUndefined();
    },
  );

  test("a charge is the sum of what each document costs by its own place", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 30_000 }), fc.constantFrom("outbound", "inbound"), (count, direction) => {
        let sum = 0;
        for (let place = 1; place <= count; place += 1)
          sum +=
            SCHEDULE[direction].find(({ from, to = Infinity }) => from <= place && place <= to)?.rate_micro_eur ?? NaN;
        expect(chargeOf(count, SCHEDULE[direction])).toBe(sum);
      }),
      { numRuns: 60 },
    );
  });

  test.each([
    [0, 0],
    [4_999, 0],
    [5_000, 0.01],
    [14_999, 0.01],
    [15_000, 0.02],
    [1_005_000, 1.01],
    [123_456_789_012, 123_456.79],
  ])("%i millionths of a euro are shown as %d euros, half a cent upwards", (micro, shown) => {
    expect(euros(micro)).toBe(shown);
  });
});

describe("months of Europe/Bratislava", () => {
  test.each([
    ["2026-12-31T22:59:59.999Z", "2026-12", "2026-12-31T23:00:00.000Z"],
    ["2026-12-31T23:00:00.000Z", "2027-01", "2027-01-31T23:00:00.000Z"],
    // Summer time begins on 28 March and ends on 31 October 2027.
    ["2027-03-28T01:00:00.000Z", "2027-03", "2027-03-31T22:00:00.000Z"],
    ["2027-03-31T21:59:59.999Z", "2027-03", "2027-03-31T22:00:00.000Z"],
    ["2027-03-31T22:00:00.000Z", "2027-04", "2027-04-30T22:00:00.000Z"],
    ["2027-10-31T00:30:00.000Z", "2027-10", "2027-10-31T23:00:00.000Z"],
    ["2027-10-31T22:59:59.999Z", "2027-10", "2027-10-31T23:00:00.000Z"],
    ["2028-02-29T12:00:00.000Z", "2028-02", "2028-02-29T23:00:00.000Z"],
  ])("the instant %s is of the month %s, which ends at %s", (at, name, ends) => {
    expect(billingMonthOf(Date.parse(at))).toEqual({ name, first: `${name}-01`, ends: Date.parse(ends) });
  });

  test("the first day some months ago goes over the turn of years", () => {
    expect(firstDayBefore(Date.parse("2027-01-15T12:00:00Z"), 1)).toBe("2026-12-01");
    expect(firstDayBefore(Date.parse("2027-01-15T12:00:00Z"), 25)).toBe("2024-12-01");
  });
});

describe("how a plan stands", () => {
  const END = Date.parse("2027-01-31T23:00:00Z");
  const DAY = 86_400_000;
  test.each([
    ["ten days before its end", END - 10 * DAY, true, 10, false],
    ["an hour before its end", END - 3_600_000, true, 1, false],
    ["at its end", END, true, 0, true],
    ["in the last moment of grace", END + LIMITS.plan_grace_ms - 1, true, 0, true],
    ["after its grace", END + LIMITS.plan_grace_ms, false, 0, false],
  ])("a plan %s is told so", (_, now, active, daysUntilExpiry, gracePeriodActive) => {
    expect(planState({ code: "start", expiresAt: new Date(END) }, now)).toMatchObject({
      active,
      daysUntilExpiry,
      gracePeriodActive,
      expiresAt: END,
    });
  });

  // Summer time ends on 31 October 2027, a day of 25 hours, and begins on 26 March 2028, a day of 23.
  test.each([
    ["2027-11-01", "2027-10-30T00:00:00+02:00", 2],
    ["2027-11-01", "2027-10-31T00:00:00+02:00", 1],
    ["2028-03-27", "2028-03-25T23:30:00+01:00", 2],
    ["2028-03-01", "2028-02-28T12:00:00+01:00", 2],
    ["2028-01-01", "2027-12-31T23:59:59+01:00", 1],
  ])("a plan that ends as %s begins has at %s as many days left as the calendar says", (end, now, days) => {
    const expiresAt = new Date(bratislavaMidnight(end));
    expect(planState({ code: "start", expiresAt }, Date.parse(now)).daysUntilExpiry).toBe(days);
  });

  test("a plan without an end is active and in no grace", () => {
    expect(planState({ code: "standard", expiresAt: null }, END)).toMatchObject({
      active: true,
      expiresAt: undefined,
      daysUntilExpiry: undefined,
      gracePeriodActive: false,
    });
  });
});
