import { expect, test } from "vitest";
import { describeConformance } from "../../../support/conformance.js";
import {
  expectedDocuments,
  expectedResults,
  marksBroken,
  readTestSet,
  readUnitFolder,
  UNIT_FOLDERS,
} from "../../../support/validators/testset.js";

test("an embedded document keeps its bytes and gains the namespaces that were in scope", () => {
  const set = `\n<?xml version="1.0"?><testSet xmlns="http://difi.no/xsd/vefa/validator/1.0" xmlns:cbc="urn:b" configuration="tc434-ubl">
    <assert><scope>BR-01</scope></assert><!-- <test/> -->
    <test><assert><success>BR-02</success><error number="2"> BR-01 </error></assert><Invoice xmlns="urn:i" a='1'><cbc:ID>ä &amp; <![CDATA[<]]></cbc:ID></Invoice></test></testSet>`;
  const [only, ...others] = readTestSet(set, "en16931-invoice", "BR-01.xml");
  expect(others).toEqual([]);
  expect(only).toMatchObject({ key: "units/en16931-invoice/BR-01.xml#1", configuration: "tc434-ubl" });
  expect(only?.marks).toEqual([
    { kind: "success", rule: "BR-02" },
    { kind: "error", rule: "BR-01", number: 2 },
  ]);
  expect(only?.document.toString()).toBe(
    `<Invoice xmlns:cbc="urn:b" xmlns="urn:i" a='1'><cbc:ID>ä &amp; <![CDATA[<]]></cbc:ID></Invoice>`,
  );
});

test("a mark is broken when its rule is silent, fires too often, or fires although it should not", () => {
  expect(
    marksBroken(
      [
        { kind: "error", rule: "A" },
        { kind: "warning", rule: "B", number: 2 },
        { kind: "success", rule: "C" },
      ],
      ["A", "A", "B", "B", "X"],
    ),
  ).toEqual([]);
  expect(marksBroken([{ kind: "error", rule: "A" }], ["B"])).toHaveLength(1);
  expect(marksBroken([{ kind: "error", rule: "A", number: 1 }], ["A", "A"])).toHaveLength(1);
  expect(marksBroken([{ kind: "success", rule: "A" }], ["A"])).toHaveLength(1);
});

describeConformance("the official unit tests", "units", () => {
  test("every folder has tests, and every stored result has its document", () => {
    const tests = UNIT_FOLDERS.flatMap(readUnitFolder);
    for (const folder of UNIT_FOLDERS) expect(tests.some((unit) => unit.folder === folder)).toBe(true);
    expect(new Set(tests.map((unit) => unit.key)).size).toBe(tests.length);
    const stored = Object.keys(expectedResults());
    expect(tests.filter((unit) => !stored.includes(unit.key))).toEqual([]);
    expect([...expectedDocuments()]).toHaveLength(stored.length);
  });

  test("the marks agree with the stored results", () => {
    const expected = expectedResults();
    const broken = UNIT_FOLDERS.flatMap(readUnitFolder).flatMap((unit) => {
      const lists = expected[unit.key];
      return marksBroken(unit.marks, [...(lists?.en16931 ?? []), ...(lists?.peppol ?? [])]).map(
        (problem) => `${unit.key}: ${problem}`,
      );
    });
    expect(broken).toEqual([]);
  });
});
