/** The monthly reports that we build against the published rules and schemas, also when nothing was exchanged. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { XmlDocument, XsdValidator } from "libxml2-wasm";
import { expect, test } from "vitest";

import { buildEusr, buildTsr } from "../../engine/peppol/reporting.js";
import type { EndUserCount, TransactionCount } from "../../engine/peppol/reporting.js";
import { conformance, describeConformance } from "../support/conformance.js";
import { documentOf, failedIds, importedPack, ruleSetOf } from "../support/validators/packs.js";

const SEED = Number(process.env["SEED"] ?? "20261120");
const HEAD = { month: "2026-11", reporter: "PSK000001" };

const seat = fc.constantFrom("POP000777", "PAT000002", "PSK000001");
const type = fc.constantFrom(
  "urn:a::Invoice##x::2.1",
  "urn:b::Invoice##<&\"'>::2.1",
  "peppol-doctype-wildcard::urn:a::Invoice##x@pint*::2.1",
);
const process_ = fc.constantFrom("urn:p:1", "urn:p:2");
const transaction: fc.Arbitrary<TransactionCount> = fc.record({
  direction: fc.constantFrom("incoming", "outgoing"),
  peerSeat: seat,
  documentTypeId: type,
  processId: process_,
  transportProfile: fc.constantFrom("peppol-transport-as4-v2_0", "busdox-transport-x"),
  c1Country: fc.constantFrom("SK", "AT", "QQ", "", "EL"),
  c4Country: fc.constantFrom("SK", undefined),
  count: fc.integer({ min: 1, max: 2_000_000 }),
});

interface Use {
  readonly direction: "incoming" | "outgoing";
  readonly user: number;
  readonly documentTypeId: string;
  readonly processId: string;
  readonly country: string;
}
const use: fc.Arbitrary<Use> = fc.record({
  direction: fc.constantFrom("incoming", "outgoing"),
  user: fc.integer({ min: 1, max: 6 }),
  documentTypeId: type,
  processId: process_,
  country: fc.constantFrom("SK", "CZ"),
});

/** Distinct users of every combination, counted the slow way. */
function countUsers(uses: readonly Use[]): EndUserCount[] {
  const masks = [
    [true, true, false],
    [true, true, true],
    [true, false, true],
    [false, false, true],
    [false, false, false],
  ] as const;
  const counts = masks.flatMap(([byType, byProcess, byCountry]) => {
    const groups = new Map<string, Use[]>();
    for (const one of uses) {
      const at = JSON.stringify([
        byType ? one.documentTypeId : "",
        byProcess ? one.processId : "",
        byCountry ? one.country : "",
      ]);
      groups.set(at, [...(groups.get(at) ?? []), one]);
    }
    return [...groups.values()].map((group): EndUserCount => {
      const users = (of: (one: Use) => boolean): number => new Set(group.filter(of).map(({ user }) => user)).size;
      return {
        documentTypeId: byType ? group[0]?.documentTypeId : undefined,
        processId: byProcess ? group[0]?.processId : undefined,
        country: byCountry ? group[0]?.country : undefined,
        sending: users(({ direction }) => direction === "outgoing"),
        receiving: users(({ direction }) => direction === "incoming"),
        either: users(() => true),
      };
    });
  });
  return counts;
}

/** Whether libxml2 takes a report by its schema. */
function schemaOf(file: string): (bytes: Buffer) => string {
  const validator = XsdValidator.fromDoc(
    XmlDocument.fromBuffer(readFileSync(conformance("schematron", "reporting", file))),
  );
  return (bytes) => {
    const document = XmlDocument.fromBuffer(bytes);
    try {
      validator.validate(document);
      return "valid";
    } catch (error) {
      return error instanceof Error ? error.message : "invalid";
    } finally {
      document.dispose();
    }
  };
}

describeConformance("monthly reports", "schematron/reporting", () => {
  test("an empty month is reported, and valid by rules and schema", () => {
    const pack = importedPack("reporting");
    const [tsr, eusr] = [buildTsr(HEAD, []), buildEusr(HEAD, [])];
    expect(failedIds(ruleSetOf(pack, "peppol-transaction-statistics-reporting-1.0.4.sch"), documentOf(tsr))).toEqual(
      [],
    );
    expect(failedIds(ruleSetOf(pack, "peppol-end-user-statistics-reporting-1.1.4.sch"), documentOf(eusr))).toEqual([]);
    expect(schemaOf("peppol-transaction-statistics-reporting-1.0.xsd")(tsr)).toBe("valid");
    expect(schemaOf("peppol-end-user-statistics-reporting-1.1.xsd")(eusr)).toBe("valid");
    expect(tsr.toString()).toContain("<StartDate>2026-11-01</StartDate><EndDate>2026-11-30</EndDate>");
  });

  test(`whatever was exchanged, the transaction report is valid (SEED=${SEED})`, () => {
    const rules = ruleSetOf(importedPack("reporting"), "peppol-transaction-statistics-reporting-1.0.4.sch");
    const schema = schemaOf("peppol-transaction-statistics-reporting-1.0.xsd");
    fc.assert(
      fc.property(fc.array(transaction, { maxLength: 12 }), (counts) => {
        const report = buildTsr(HEAD, counts);
        expect(failedIds(rules, documentOf(report))).toEqual([]);
        expect(schema(report)).toBe("valid");
        expect(buildTsr(HEAD, counts.toReversed()).equals(report)).toBe(true);
      }),
      { seed: SEED, numRuns: 100 },
    );
  });

  test(`whoever took part, the end user report is valid (SEED=${SEED})`, () => {
    const rules = ruleSetOf(importedPack("reporting"), "peppol-end-user-statistics-reporting-1.1.4.sch");
    const schema = schemaOf("peppol-end-user-statistics-reporting-1.1.xsd");
    fc.assert(
      fc.property(fc.array(use, { maxLength: 14 }), (uses) => {
        const report = buildEusr(HEAD, countUsers(uses));
        expect(failedIds(rules, documentOf(report))).toEqual([]);
        expect(schema(report)).toBe("valid");
      }),
      { seed: SEED, numRuns: 100 },
    );
  });

  test("the rules are awake: a report with a wrong total is refused", () => {
    const rules = ruleSetOf(importedPack("reporting"), "peppol-transaction-statistics-reporting-1.0.4.sch");
    const count: TransactionCount = {
      direction: "incoming",
      peerSeat: "POP000777",
      documentTypeId: "d",
      processId: "p",
      transportProfile: "t",
      c1Country: "SK",
      c4Country: "SK",
      count: 3,
    };
    const wrong = buildTsr(HEAD, [count]).toString().replace("<Incoming>3<", "<Incoming>4<");
    expect(failedIds(rules, documentOf(Buffer.from(wrong)))).toEqual(["SCH-TSR-04", "SCH-TSR-08", "SCH-TSR-12"]);
  });
});
