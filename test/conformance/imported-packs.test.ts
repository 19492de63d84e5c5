// Goal: rule sets of other shapes than the billing rules compile and judge: MLS, and the two reporting rule sets.
import { expect, test } from "vitest";
import { conformanceBytes, conformanceFiles, describeConformance } from "../support/conformance.js";
import { documentOf, failedIds, FINDINGS_MAX, importedPack, ruleSetOf } from "../support/validators/packs.js";

describeConformance("imported Message Level Status 1.0.1", "as4/mls", () => {
  const rules = (): ReturnType<typeof ruleSetOf> => ruleSetOf(importedPack("mls-1.0.1"), "peppol-mls-1.0.1.sch");

  test("every good document passes", () => {
    const set = rules();
    const files = conformanceFiles("as4/mls/good", ".xml");
    expect(files.length).toBeGreaterThan(0);
    expect(
      files.flatMap((file) =>
        failedIds(set, documentOf(conformanceBytes("as4/mls/good", file))).map((id) => `${file} ${id}`),
      ),
    ).toEqual([]);
  });

  test("every bad document fails the rule it is named after", () => {
    const set = rules();
    const files = conformanceFiles("as4/mls/bad", ".xml").filter((file) => /^mls-\d/.test(file));
    expect(files.length).toBeGreaterThan(0);
    const silent = files.filter((file) => {
      const rule = `SCH-MLS-${/^mls-(\d\d)/.exec(file)?.[1] ?? ""}`;
      return !failedIds(set, documentOf(conformanceBytes("as4/mls/bad", file))).includes(rule);
    });
    expect(silent).toEqual([]);
  });

  test("a message that quotes a value is filled in, in one line", () => {
    const set = rules();
    const findings = set.run(documentOf(conformanceBytes("as4/mls/bad", "mls-09a.xml")), FINDINGS_MAX).findings;
    const message = findings.find(({ ruleId }) => ruleId === "SCH-MLS-09")?.message ?? "";
    expect(message).toMatch(/\([^…)]+\)/);
    expect(message).not.toMatch(/\s{2}/);
  });
});

/** A report in the shape of Peppol's end user statistics; `subsets` are put in as they are. */
const statistics = (total: string, subsets: string): Buffer =>
  Buffer.from(`<EndUserStatisticsReport xmlns="urn:fdc:peppol:end-user-statistics-report:1.1">
  <CustomizationID>urn:fdc:peppol.eu:edec:trns:end-user-statistics-report:1.1</CustomizationID><ProfileID>urn:fdc:peppol.eu:edec:bis:reporting:1.0</ProfileID>
  <Header><ReportPeriod><StartDate>2026-01-01</StartDate><EndDate>2026-01-31</EndDate></ReportPeriod><ReporterID schemeID="CertSubjectCN">PSK000001</ReporterID></Header>
  <FullSet><SendingEndUsers>${total}</SendingEndUsers><ReceivingEndUsers>${total}</ReceivingEndUsers><SendingOrReceivingEndUsers>${total}</SendingOrReceivingEndUsers></FullSet>${subsets}
</EndUserStatisticsReport>`);
const subset = (type: string, count: number, keys: string): string =>
  `<Subset type="${type}">${keys}<SendingEndUsers>${count}</SendingEndUsers><ReceivingEndUsers>${count}</ReceivingEndUsers><SendingOrReceivingEndUsers>${count}</SendingOrReceivingEndUsers></Subset>`;
const DT = '<Key metaSchemeID="DT" schemeID="busdox-docid-qns">a</Key>';
const PR = '<Key metaSchemeID="PR" schemeID="cenbii-procid-ubl">b</Key>';
const CC = (country: string): string => `<Key metaSchemeID="CC" schemeID="EndUserCountry">${country}</Key>`;

describeConformance("imported reporting rules", "schematron/reporting", () => {
  const rules = (): ReturnType<typeof ruleSetOf> =>
    ruleSetOf(importedPack("reporting"), "peppol-end-user-statistics-reporting-1.1.4.sch");
  const good = (count: number): string =>
    subset("PerDT-PR", count, DT + PR) +
    subset("PerDT-PR-EUC", count, DT + PR + CC("SK")) +
    subset("PerDT-EUC", count, DT + CC("SK")) +
    subset("PerEUC", count, CC("SK"));

  test("a correct end user report passes", () => {
    expect(failedIds(rules(), documentOf(statistics("5", good(5))))).toEqual([]);
  });

  test("a repeated combination, an unknown country and a subset above the total are found", () => {
    const set = rules();
    expect(failedIds(set, documentOf(statistics("5", good(5) + subset("PerEUC", 5, CC("SK")))))).toEqual([
      "SCH-EUSR-40",
    ]);
    expect(failedIds(set, documentOf(statistics("5", good(5) + subset("PerEUC", 5, CC("QQ")))))).toEqual([
      "SCH-EUSR-30",
    ]);
    expect(failedIds(set, documentOf(statistics("5", good(6))))).toEqual(["SCH-EUSR-03", "SCH-EUSR-04", "SCH-EUSR-22"]);
  });

  test("a count that is no number aborts the layer with its error code", () => {
    expect(failedIds(rules(), documentOf(statistics("five", good(5))))).toEqual(["!err:FORG0001"]);
  });

  test("the transaction rules find the missing identifiers of an empty report", () => {
    const set = ruleSetOf(importedPack("reporting"), "peppol-transaction-statistics-reporting-1.0.4.sch");
    const failed = failedIds(
      set,
      documentOf(
        Buffer.from(
          '<TransactionStatisticsReport xmlns="urn:fdc:peppol:transaction-statistics-report:1.0"><Total><Incoming>0</Incoming><Outgoing>0</Outgoing></Total></TransactionStatisticsReport>',
        ),
      ),
    );
    expect(failed).toContain("SCH-TSR-01");
    expect(failed).not.toContain("SCH-TSR-04");
  });
});
