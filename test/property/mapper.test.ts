/**
 * Goal: a number or a day is read as it was meant, or the mapper says that it can be read in two ways.
 * Method: values in every way in which people write them (`SEED=7 RUNS=5000` repeats or extends a run).
 */
import fc from "fast-check";
import { expect, test } from "vitest";

import { readDay } from "../../engine/invoices/mapper/dates.js";
import { markOf, readNumber } from "../../engine/invoices/mapper/numbers.js";

const seed = Number(process.env["SEED"] ?? 20_261_122);
const numRuns = Number(process.env["RUNS"] ?? 2_000);

/** Between thousands, and before decimals. */
const STYLES: readonly (readonly [group: string, mark: string])[] = [
  ["", ","],
  ["", "."],
  [" ", ","],
  ["\u{a0}", ","],
  ["\u{202f}", "."],
  [".", ","],
  [",", "."],
  ["'", "."],
];
const AROUND: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => `${text} €`,
  (text) => `${text} EUR`,
  (text) => `€${text}`,
  (text) => ` ${text}\t`,
];
const NEGATIVE: readonly ((text: string) => string)[] = [
  (text) => `-${text}`,
  (text) => `−${text}`,
  (text) => `${text}-`,
  (text) => `(${text})`,
];

const number = fc.record({
  whole: fc.oneof(fc.nat({ max: 999 }), fc.nat({ max: 999_999_999 })),
  decimals: fc.oneof(fc.constant(""), fc.stringMatching(/^\d{1,4}$/u)),
  style: fc.constantFrom(...STYLES),
  around: fc.constantFrom(...AROUND),
  negative: fc.option(fc.constantFrom(...NEGATIVE), { nil: undefined }),
});

test(`a number is read exactly as it was meant, or as one of two readings that are told (SEED=${seed})`, () => {
  fc.assert(
    fc.property(number, ({ whole, decimals, style: [group, mark], around, negative }) => {
      const grouped = String(whole).replace(/\B(?=(\d{3})+$)/gu, group);
      const digits = decimals === "" ? grouped : `${grouped}${mark}${decimals}`;
      const written = negative === undefined ? around(digits) : negative(digits);
      const isZero = whole === 0 && /^0*$/u.test(decimals);
      const fraction = decimals.replace(/0+$/u, "");
      const meant = `${negative === undefined || isZero ? "" : "-"}${whole}${fraction === "" ? "" : `.${fraction}`}`;
      const read = readNumber(written, undefined);
      expect(read, written).toBeDefined();
      if (read?.isCertain === true) expect(read.text, written).toBe(meant);
      else expect(written.replace(/[^\d.,]/gu, ""), written).toMatch(/^[1-9]\d{0,2}[.,]\d{3}$/u);
    }),
    { seed, numRuns },
  );
});

test(`beside a number that shows its mark, no other of its style can be read in two ways (SEED=${seed})`, () => {
  fc.assert(
    fc.property(
      fc.nat({ max: 999_999 }),
      fc.constantFrom<readonly [string, "." | ","]>(["", ","], [".", ","], [",", "."], ["", "."]),
      (whole, [group, mark]) => {
        const known = markOf([`1${mark}50`, "7"]);
        const written = String(whole).replace(/\B(?=(\d{3})+$)/gu, group);
        expect(known).toBe(mark);
        expect(readNumber(written, known), written).toMatchObject({ text: String(whole), isCertain: true });
        expect(readNumber(`${written}${mark}125`, known), written).toMatchObject({ isCertain: true });
      },
    ),
    { seed, numRuns },
  );
});

test("a source with marks of both kinds shows none", () => {
  expect(markOf(["1,50", "1.50"])).toBeUndefined();
});

test.each([
  "",
  "-",
  "1,2,3",
  "1.2.3",
  "12,34.5,6",
  "1e3",
  "NaN",
  "0x10",
  "1 2",
  "--1",
  "(-1)",
  "1,",
  ",",
  "9".repeat(13),
  "1.123456789",
  "a".repeat(100_000),
  " ".repeat(100_000),
])("%j is no number", (text) => {
  expect(readNumber(text, undefined)).toBeUndefined();
});

const MONTHS = {
  sk: "január február marec apríl máj jún júl august september október november december",
  skOf: "januára februára marca apríla mája júna júla augusta septembra októbra novembra decembra",
  csOf: "ledna února března dubna května června července srpna září října listopadu prosince",
  cs: "leden únor březen duben květen červen červenec srpen září říjen listopad prosinec",
  de: "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
  at: "Jänner Februar März April Mai Juni Juli August September Oktober November Dezember",
  en: "January February March April May June July August September October November December",
} as const;
const inWords = (month: number): readonly string[] =>
  Object.values(MONTHS).map((names) => names.split(" ")[month - 1] ?? "");
const pad = (value: number): string => String(value).padStart(2, "0");

test(`a day is read as it was meant, and day before month where both could be, which is told (SEED=${seed})`, () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 2000, max: 2090 }),
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 1, max: 28 }),
      (year, month, day) => {
        const meant = `${year}-${pad(month)}-${pad(day)}`;
        const sure = [
          meant,
          `${meant}T12:30:00Z`,
          `${year}/${pad(month)}/${pad(day)}`,
          `${year}${pad(month)}${pad(day)}`,
          `${day}. ${month}. ${year}`,
          `${pad(day)}.${pad(month)}.${year}`,
          `${day}.\u{a0}${month}.\u{a0}${year}`,
          ...inWords(month).flatMap((name) => [`${day}. ${name} ${year}`, `${name} ${day}, ${year}`]),
        ];
        for (const text of sure) expect(readDay(text), text).toEqual({ day: meant, doubt: undefined });
        const slashed = readDay(`${day}/${month}/${year}`);
        expect(slashed?.day).toBe(meant);
        expect(slashed?.doubt).toBe(day <= 12 && day !== month ? "AMBIGUOUS_DATE" : undefined);
        const american = readDay(`${month}/${day}/${year}`);
        if (day > 12) expect(american).toEqual({ day: meant, doubt: undefined });
        expect(readDay(`${day}.${month}.${pad(year % 100)}`)).toEqual({ day: meant, doubt: "TWO_DIGIT_YEAR" });
      },
    ),
    { seed, numRuns: Math.ceil(numRuns / 4) },
  );
});

test.each([
  "31. 2. 2026",
  "2026-02-30",
  "29.02.2026",
  "13/13/2026",
  "0.1.2026",
  "yesterday",
  "1. foo 2026",
  "",
  "12",
  "2026",
  "x".repeat(100_000),
])("%j is no day", (text) => {
  expect(readDay(text)).toBeUndefined();
});

test("a number as spreadsheets count days is read, and told", () => {
  expect(readDay("46357")).toEqual({ day: "2026-12-01", doubt: "SERIAL_DATE" });
});
