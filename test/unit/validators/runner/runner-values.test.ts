/** What rules read from elements: strings, indicators, numbers, dates and paths, as XPath 2.0 sees them. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { at } from "../../../../validators/rules/path.js";
import { toText } from "../../../../validators/rules/decimal.js";
import {
  booleanOf,
  childDecimal,
  childText,
  codePoints,
  fractionLength,
  isBlank,
  normalizeSpace,
  numberOf,
  parseDate,
  signOf,
} from "../../../../validators/rules/values.js";
import { cac, cbc, NS } from "../../../../validators/xml/names.js";
import type { XmlDocument } from "../../../../validators/xml/document.js";
import { seedFrom } from "../../../support/random.js";
import { documentOf } from "../../../support/validators/packs.js";

const invoice = (content: string): XmlDocument =>
  documentOf(
    Buffer.from(`<Invoice xmlns="${NS.Invoice}" xmlns:cac="${NS.cac}" xmlns:cbc="${NS.cbc}">${content}</Invoice>`),
  );

const withNote = (text: string): XmlDocument => invoice(`<cbc:Note>${text}</cbc:Note>`);

/** The value, or the code of the error. */
function result<T>(work: () => T): T | string {
  try {
    return work();
  } catch (error) {
    return error instanceof Error ? error.message : "";
  }
}

test("white space is trimmed and collapsed as normalize-space() does, and only XML white space", () => {
  const spaces = fc
    .array(fc.constantFrom(" ", "\t", "\n", "\r", "a", "b", "\u00a0"), { maxLength: 12 })
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(spaces, (text) => {
      expect(normalizeSpace(text)).toBe(text.replace(/[ \t\r\n]+/gu, " ").replace(/^ | $/gu, ""));
      expect(isBlank(text)).toBe(normalizeSpace(text) === "");
    }),
    { seed: seedFrom(1) },
  );
});

test("lengths count characters, not halves of them", () => {
  expect([
    codePoints("äöü"),
    codePoints("😀😀"),
    fractionLength("1.😀😀"),
    fractionLength("1.234"),
    fractionLength("12"),
    fractionLength("1.2.3"),
  ]).toEqual([3, 2, 2, 3, 0, 3]);
});

test.each([
  ["true", true],
  ["1", true],
  [" false\n", false],
  ["0", false],
  ["TRUE", "FORG0001"],
  ["", "FORG0001"],
  ["2", "FORG0001"],
])("the indicator %j is %s", (text, value) => {
  expect(result(() => booleanOf(withNote(text), 1))).toBe(value);
});

test.each([
  ["5", 1],
  ["-0.001", -1],
  ["0.00", 0],
  ["-0", 0],
  [" +7 ", 1],
  ["1e-3", 1],
  ["-1E2", -1],
  ["INF", 1],
  ["-INF", -1],
  ["NaN", NaN],
  ["-NaN", "FORG0001"],
  ["", "FORG0001"],
  ["1,5", "FORG0001"],
])("the sign of %j is %s", (text, sign) => {
  expect(result(() => signOf(withNote(text), 1))).toBe(sign);
});

test.each([
  ["5.10", "5.1"],
  ["1e2", "100"],
  ["NaN", "FOCA0002"],
  ["INF", "FOCA0002"],
  ["x", "FORG0001"],
])("the number of %j is %s", (text, number) => {
  expect(result(() => toText(numberOf(withNote(text), 1)))).toBe(number);
});

describe("dates", () => {
  test("dates are the days of the Gregorian calendar", () => {
    fc.assert(
      fc.property(fc.integer({ min: -700_000, max: 2_900_000 }), (day) => {
        const text = new Date(day * 86_400_000).toISOString().slice(0, 10);
        if (/^\d{4}-/u.test(text) && !text.startsWith("0000")) expect(parseDate(text)).toBe(day * 1_440);
      }),
      { seed: seedFrom(1) },
    );
  });

  test.each([
    "2026-02-29",
    "2026-13-01",
    "2026-00-10",
    "2026-04-31",
    "2026-1-1",
    "20260101",
    "0000-01-01",
    "02026-01-01",
    "2026-01-01+15:00",
    "2026-01-01T00:00:00",
    "",
  ])("%j is no date", (text) => {
    expect(parseDate(text)).toBeUndefined();
  });

  test("dates with a time zone begin earlier in the east", () => {
    const utc = parseDate("2026-11-20") ?? 0;
    expect([
      parseDate("2026-11-20Z"),
      parseDate("2026-11-20+02:00"),
      parseDate("2026-11-20-01:30"),
      parseDate(" 2024-02-29 "),
    ]).toEqual([utc, utc - 120, utc + 90, Date.UTC(2024, 1, 29) / 60_000]);
  });
});

describe("paths", () => {
  // A document is valid until the next scan, so that each test makes its own.
  const items = (): XmlDocument =>
    invoice(
      "<cac:Item><cbc:Name>a</cbc:Name></cac:Item><cac:Item><cbc:Name>b</cbc:Name><cbc:Name>c</cbc:Name></cac:Item>",
    );
  const names = at("cac:Item/cbc:Name");

  test("paths go through every repetition of every step", () => {
    const doc = items();
    const texts: string[] = [];
    names.each(
      doc,
      0,
      (d, e) => {
        texts.push(d.text(e));
      },
      undefined,
    );
    expect(texts).toEqual(["a", "b", "c"]);
    expect([names.count(doc, 0, 9), names.exists(doc, 0), doc.text(names.first(doc, 0))]).toEqual([3, true, "a"]);
    expect(names.some(doc, 0, (d, e, text: string) => d.text(e) === text, "c")).toBe(true);
    expect(at("cac:Item/cbc:ID").exists(doc, 0)).toBe(false);
  });

  test("paths to several elements are an error where XPath wants one", () => {
    const doc = items();
    expect(result(() => names.one(doc, 0))).toBe("XPTY0004");
    expect(result(() => childText(doc, doc.nextSame(doc.child(0, cac.Item)), cbc.Name))).toBe("XPTY0004");
    expect(childDecimal(doc, 0, cbc.Amount)).toBeUndefined();
  });
});
