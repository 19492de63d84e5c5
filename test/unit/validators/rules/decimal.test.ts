import { describe, expect, test } from "vitest";
import * as d from "../../../../validators/rules/decimal.js";

const text = (value: d.Decimal | undefined): string | undefined => (value === undefined ? undefined : d.toText(value));

describe("what counts as a decimal", () => {
  test.each([
    ["0", "0"],
    ["-0", "0"],
    ["+1", "1"],
    ["1.", "1"],
    [".5", "0.5"],
    ["-.5", "-0.5"],
    ["007.10", "7.1"],
    [" \t\r\n 12.30 \n", "12.3"],
    ["123456789012345678901234567890.5", "123456789012345678901234567890.5"],
    [`${"0".repeat(10_000)}1`, "1"],
    [`1.${"0".repeat(10_000)}`, "1"],
    ["0.0000000000000000000", "0"],
  ])("%j is a number", (written, canonical) => {
    expect(text(d.parseDecimal(written))).toBe(canonical);
  });

  test.each([
    "",
    " ",
    ".",
    "-",
    "+",
    "-.",
    "1e3",
    "1E3",
    "INF",
    "NaN",
    "1,5",
    "1 2",
    "--1",
    "1.2.3",
    "0x10",
    "\u00a01",
    "١",
    "9".repeat(4097),
    `1.${"9".repeat(4097)}`,
  ])("%j is no number", (written) => {
    expect(d.parseDecimal(written)).toBeUndefined();
  });

  test("an integer has no point", () => {
    expect(text(d.parseInteger(" +42 "))).toBe("42");
    expect(d.parseInteger("42.0")).toBeUndefined();
    expect(d.parseInteger("")).toBeUndefined();
  });
});

describe("arithmetic as XPath 2.0 wants it", () => {
  test("tenths add up", () => {
    expect(text(d.sum(["0.1", "0.2", "0.3"].map(d.decimal)))).toBe("0.6");
    expect(text(d.sum([]))).toBe("0");
  });

  test("a half rounds towards plus infinity", () => {
    expect(["2.5", "-2.5", "2.4999", "-0.5", "0.49999999999999999999"].map((v) => text(d.round(d.decimal(v))))).toEqual(
      ["3", "-2", "2", "0", "0"],
    );
    expect(["1.005", "-1.005", "2.675", "10"].map((v) => text(d.roundTo(d.decimal(v), 2)))).toEqual([
      "1.01",
      "-1",
      "2.68",
      "10",
    ]);
    expect(["0.5", "1.5", "-2.5"].map((v) => text(d.roundHalfToEven(d.decimal(v), 0)))).toEqual(["0", "2", "-2"]);
  });

  test("a quotient without end has 18 decimals, a half is rounded down", () => {
    expect(text(d.div(d.ONE, d.fromInt(3)))).toBe("0.333333333333333333");
    expect(text(d.div(d.fromInt(2), d.fromInt(3)))).toBe("0.666666666666666667");
    expect(text(d.div(d.decimal("0.000000000000000001"), d.fromInt(2)))).toBe("0");
    expect(text(d.div(d.fromInt(-2), d.fromInt(3)))).toBe("-0.666666666666666667");
    expect(text(d.div(d.decimal("656.25"), d.HUNDRED))).toBe("6.5625");
  });

  test("division by zero has no value", () => {
    expect([d.div(d.ONE, d.ZERO), d.idiv(d.ONE, d.ZERO), d.mod(d.ONE, d.decimal("0.00"))]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test("an IBAN check digit is right over thirty digits", () => {
    expect(text(d.mod(d.decimal("370400440532013000131489"), d.fromInt(97)))).toBe("1");
    expect(text(d.mod(d.fromInt(-7), d.fromInt(3)))).toBe("-1");
    expect(text(d.idiv(d.fromInt(-7), d.fromInt(3)))).toBe("-2");
  });

  test("equality ignores how many zeros were written", () => {
    expect(d.eq(d.decimal("1.00"), d.ONE)).toBe(true);
    expect(d.fractionDigits(d.decimal("1.230"))).toBe(2);
    expect(d.fractionDigits(d.decimal("7.00"))).toBe(0);
  });
});
