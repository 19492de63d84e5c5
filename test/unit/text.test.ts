/** Cutting text of strangers: never between the halves of a character, never more than asked for. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { createLog } from "../../engine/base/log.js";
import { firstChars } from "../../engine/base/text.js";
import { validateDocument } from "../../validators/validate.js";
import { firstChars as firstCharsOfWorkers, lastChars } from "../../validators/text.js";
import { SCAN_LIMITS } from "../../validators/xml/limits.js";
import { invoiceWithLines } from "../../bench/documents.js";

const anyText = fc.string({ unit: "binary", maxLength: 40 });
const isText = (text: string): boolean => !/\p{Surrogate}/u.test(text);

describe("cutting", () => {
  test.each([
    ["engine", firstChars],
    ["workers", firstCharsOfWorkers],
  ])("the first characters are a prefix in whole characters, as many as asked for: %s", (_, cut) => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 0, max: 50 }), (text, max) => {
        expect(cut(text, max).replaceAll("\u{fffd}", "\0")).toBe(
          [...text].slice(0, max).join("").replaceAll("\u{fffd}", "\0"),
        );
      }),
    );
  });

  test("the last characters are a suffix in whole characters", () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 50 }), (text, max) => {
        expect(lastChars(text, max)).toBe([...text].slice(-max).join(""));
      }),
    );
  });

  test("what no database takes, half a character or U+0000, becomes U+FFFD in the engine", () => {
    expect(firstChars("a\ud83d\0b\ude00", 10)).toBe("a\u{fffd}\u{fffd}b\u{fffd}");
  });
});

const OPTIONS = { limits: SCAN_LIMITS, day: "2026-11-20" } as const;
const sample = invoiceWithLines(1).toString();
/** 1,023 characters and one of two halves: cut by halves at 1,024 it would end in the middle. */
const LONG = `${"x".repeat(1_023)}😀😀`;

describe("what leaves a worker is text", () => {
  test.each([
    ["BT-1", /(<cbc:ID>)[^<]*(<\/cbc:ID>)/],
    ["BT-10", /(<cbc:BuyerReference>)[^<]*(<\/cbc:BuyerReference>)/],
    ["an endpoint", /(<cbc:EndpointID schemeID="0245">)[^<]*(<\/cbc:EndpointID>)/],
  ])("%s that is longer than what is kept ends with a whole character", (_, pattern) => {
    expect(sample).toMatch(pattern);
    const { facts } = validateDocument(Buffer.from(sample.replace(pattern, `$1${LONG}$2`)), OPTIONS);
    expect(JSON.stringify(facts)).toContain('xxx😀"');
    expect(isText(JSON.stringify(facts))).toBe(true);
  });

  test("the path of a finding deep in a stranger's extension loses its middle between characters", () => {
    const wide = `x:a${"\u{10000}".repeat(60)}`;
    const first = wide.replace("x:a", "x:aa");
    const nest = (names: readonly string[]): string =>
      names.map((name, i) => `<${name}${i === 0 ? ' xmlns:x="urn:x"' : ""}>`).join("") +
      [...names]
        .reverse()
        .map((name) => `</${name}>`)
        .join("");
    const names = [first, ...Array.from({ length: 39 }, () => wide)];
    const extension = `<ext:UBLExtensions xmlns:ext="urn:oasis:names:specification:ubl:schema:xsd:CommonExtensionComponents-2"><ext:UBLExtension><ext:ExtensionContent>${nest(names)}</ext:ExtensionContent></ext:UBLExtension></ext:UBLExtensions>`;
    const { findings } = validateDocument(
      Buffer.from(sample.replace(/(<cbc:CustomizationID>)/, `${extension}$1`)),
      OPTIONS,
    );
    const longest = findings.reduce((found, { location }) => (location.length > found.length ? location : found), "");
    expect(longest).toContain("…");
    expect(findings.every(({ location }) => isText(location))).toBe(true);
  });
});

test("a log field that is longer than what is logged ends with a whole character", () => {
  const lines: string[] = [];
  createLog("info", { write: (line) => lines.push(line) }).info("engine.ready", {
    component: `${"x".repeat(199)}😀😀`,
  });
  expect((JSON.parse(lines[0] ?? "{}") as { component: string }).component).toBe(`${"x".repeat(199)}😀`);
});
