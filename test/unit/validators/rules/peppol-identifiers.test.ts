/** Check digits and forms of identifiers: right numbers pass, a changed digit does not, and odd input is answered as published. */
import { expect, test } from "vitest";
import {
  hasSwedishCheckDigit,
  IDENTIFIER_CHECKS,
  isGreekTin,
  isIban,
} from "../../../../validators/rules/peppol/identifiers.js";
import { RuleError } from "../../../../validators/rules/rule.js";

/** scheme → numbers that pass, numbers that fail. */
const NUMBERS: Readonly<Record<string, readonly [good: readonly string[], bad: readonly string[]]>> = {
  "0088": [
    ["7300010000001", " 5798000012349\n", "0", "00"],
    ["7300010000002", "730001000000x", "", "73 00010000001"],
  ],
  "0192": [
    ["974760673", "991825827"],
    ["974760674", "97476067", "000000000", "974760673x"],
  ],
  "0184": [
    ["DK12345678", "12345678"],
    ["dk12345678", "DK1234567", "123456789", " 12345678", "12345678\n"],
  ],
  "0096": [["1234567890"], ["123456789", "12345678901", " 1234567890"]],
  "0198": [["DK12345678"], ["12345678", "DK123456789"]],
  "0208": [
    ["0203201340", "0403170701"],
    ["0203201341", "203201340", "02032013400"],
  ],
  "0201": [
    ["UFGH12", "abc123"],
    ["UFGH1", "UFGH123", "UFG-12"],
  ],
  "0210": [
    ["RSSMRA80A01H501U", "12345678901", "+1234567890"],
    ["RSSMRA80A01H501", "RSSMR180A01H501U", "1234567890x", "RSSMRA80A01H5015"],
  ],
  "9907": [["RSSMRA80A01H501U"], ["x"]],
  "0211": [
    ["IT00743110157", "it00743110157", "FR1", "DE123"],
    ["IT00743110158", "IT0074311015", "IT0074311015x"],
  ],
  "0007": [
    ["5560160680", "2021005448"],
    ["5560160681", "556016068", "55601606800", "556016068x"],
  ],
  "0151": [
    ["51824753556", "53004085616"],
    ["51824753557", "5182475355", "518247535560"],
  ],
  "0106": [["12345678"], ["1234567", "123456789"]],
  "0190": [["12345678901234567890"], ["1234567890123456789"]],
  "9944": [["NL123456789B12"], ["NL123456789B1", "NL12345678B12", "nl123456789B12"]],
  "0217": [["123456789012"], ["12345678901"]],
};

test("every scheme with a check is examined here", () => {
  expect(Object.keys(NUMBERS).sort()).toEqual([...IDENTIFIER_CHECKS.keys()].sort());
});

test.each(Object.entries(NUMBERS))("scheme %s accepts right numbers and refuses wrong ones", (scheme, [good, bad]) => {
  const check = IDENTIFIER_CHECKS.get(scheme);
  for (const number of good) expect(check?.(number), number).toBe(true);
  for (const number of bad) expect(check?.(number), number).toBe(false);
});

test("every changed digit of a number with a check digit is noticed, but for the exchanges the method cannot see", () => {
  for (const [scheme, number] of [
    ["0088", "7300010000001"],
    ["0192", "974760673"],
    ["0208", "0203201340"],
    ["0007", "5560160680"],
    ["0151", "51824753556"],
    ["0211", "IT00743110157"],
  ] as const) {
    for (let i = scheme === "0211" ? 2 : 0; i < number.length; i += 1) {
      const changed = number.slice(0, i) + String((Number(number[i]) + 1) % 10) + number.slice(i + 1);
      expect(IDENTIFIER_CHECKS.get(scheme)?.(changed), `${scheme} ${changed}`).toBe(false);
    }
  }
});

test("a sign or a blank inside an Italian VAT number is an error of the cast, as in the published rule", () => {
  expect(() => IDENTIFIER_CHECKS.get("0211")?.("IT+1234567890")).toThrow(new RuleError("FORG0001"));
  expect(() => IDENTIFIER_CHECKS.get("0211")?.("IT 1234567890")).toThrow(new RuleError("FORG0001"));
});

test("digits of other scripts in a Swedish number end in the error of the place where they stand", () => {
  expect(() => hasSwedishCheckDigit("12345678\u06620")).toThrow(new RuleError("FOAR0002"));
  expect(() => hasSwedishCheckDigit("1234567\u066290")).toThrow(new RuleError("FOCA0002"));
  expect(hasSwedishCheckDigit("123456789\u0660")).toBe(false);
});

test("an IBAN of any length is checked exactly, with letters and with spaces", () => {
  for (const iban of [
    "DE89370400440532013000",
    "GB82 WEST 1234 5698 7654 32",
    "MT84MALT011000012345MTLCAST001S",
    "NO9386011117947",
  ])
    expect(isIban(iban), iban).toBe(true);
  for (const iban of [
    "DE89370400440532013001",
    "de89370400440532013000",
    "DE8937040044053201300-",
    "",
    "DE",
    `DE89${"3".repeat(31)}`,
  ])
    expect(isIban(iban), iban).toBe(false);
});

test("a Greek TIN is its first nine digits", () => {
  for (const tin of ["090000045", "094259216", "0942592161"]) expect(isGreekTin(tin), tin).toBe(true);
  for (const tin of ["094259217", "09425921", "EL094259216", ""]) expect(isGreekTin(tin), tin).toBe(false);
});

test("a number of a million digits is judged like any other", () => {
  const long = "1".repeat(1_000_000);
  const accepted = [...IDENTIFIER_CHECKS].filter(([, check]) => check(long)).map(([scheme]) => scheme);
  // The GS1 sum of 999,999 ones is 1,999,999, so that the last one is the right check digit; without IT nothing is Italian.
  expect(accepted).toEqual(["0088", "0211"]);
});
