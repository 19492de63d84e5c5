/** Numbers, dates, accounts and symbols as accountants write them; no digit is lost or made up. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { within } from "../../../validators/schematron/runtime/deadline.js";
import {
  amountText,
  dateText,
  ibanText,
  isIban,
  negated,
  numberText,
  sizeText,
} from "../../../validators/view/wording/format.js";

describe("an amount", () => {
  test.each([
    ["1300", "1,300.00", "1\u00a0300,00"],
    ["0.5", "0.50", "0,50"],
    ["-1234567.891", "-1,234,567.891", "-1\u00a0234\u00a0567,891"],
    ["+7", "7.00", "7,00"],
    ["007.10", "7.10", "7,10"],
    [".5", "0.50", "0,50"],
    ["12.", "12.00", "12,00"],
    ["1,5", "1,5", "1,5"],
    ["NaN", "NaN", "NaN"],
    ["", "", ""],
  ])("%s is %s in English and as Slovaks write it", (written, english, slovak) => {
    expect([amountText(written, "en"), amountText(written, "sk")]).toEqual([english, slovak]);
  });

  test("amounts keep the value of every number, however large", () => {
    fc.assert(
      fc.property(fc.bigInt(), fc.nat(99_999), (whole, fraction) => {
        const written = `${whole}.${String(fraction).padStart(5, "0")}`;
        const back = amountText(written, "en").replaceAll(",", "");
        const [a, b] = [written, back].map((text) => text.replace(/0+$/u, "").replace(/\.$/u, ""));
        expect(b).toBe(a);
      }),
    );
  });

  test("a thousand amounts of twenty thousand digits cost what they are long", () => {
    const zeros = "0".repeat(9_999);
    const [whole, fraction] = ["123".repeat(3_333), `${zeros}1`];
    const text = within(10_000, () =>
      Array.from({ length: 1_000 }, () => amountText(`${whole}.${fraction}`, "en")).at(-1),
    );
    expect(text).toBe(`${Array.from({ length: 3_333 }, () => "123").join(",")}.${fraction}`);
  });

  test("an amount that is taken off changes its sign and nothing else, zero keeps its own", () => {
    expect(["12.5", "-3", "0.00", "+4", "x"].map(negated)).toEqual(["-12.5", "3", "0.00", "-4", "x"]);
  });
});

test("a quantity has no zeros that say nothing", () => {
  expect(["10.000", "0.50", "1000", "-2.0"].map((text) => numberText(text, "sk"))).toEqual([
    "10",
    "0,5",
    "1\u00a0000",
    "-2",
  ]);
});

test("a day is written with its month in words in English, with points in Slovak; what is no day stays", () => {
  expect(dateText("2026-11-05", "en")).toBe("5\u00a0Nov\u00a02026");
  expect(dateText("2026-11-05", "sk")).toBe("5.\u00a011.\u00a02026");
  for (const text of ["2026-13-01", "20.11.2026", "2026-11-05Z"]) expect(dateText(text, "sk")).toBe(text);
});

test("an IBAN stands in groups of four, another account does not", () => {
  expect([isIban("SK31 1200 0000 1987 4263 7541"), isIban("1234567890/0200")]).toEqual([true, false]);
  expect(ibanText("SK3112000000198742637541")).toBe("SK31\u00a01200\u00a00000\u00a01987\u00a04263\u00a07541");
});

test("a file's size has a unit that people read", () => {
  expect([0, 999, 1_500, 2_000_000].map((octets) => sizeText(octets, "sk"))).toEqual([
    "0\u00a0B",
    "999\u00a0B",
    "1,5\u00a0kB",
    "2\u00a0MB",
  ]);
});
