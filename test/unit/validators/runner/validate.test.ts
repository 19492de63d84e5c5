/** The chain as its callers see it: one report with the findings of all layers, the rules that judged, and the facts. */
import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { invoiceWithLines } from "../../../../bench/documents.js";
import type { RulesVersion } from "../../../../validators/selection/builtin.js";
import { CUSTOMIZATION, SELECTION, versionInForce } from "../../../../validators/selection/builtin.js";
import { validateDocument } from "../../../../validators/validate.js";
import { NS } from "../../../../validators/xml/names.js";
import { SCAN_LIMITS } from "../../../../validators/xml/limits.js";

const OPTIONS = { limits: SCAN_LIMITS, day: "2026-11-20" } as const;
const sample = invoiceWithLines(3).toString();
const judge = (xml: string) => validateDocument(Buffer.from(xml), OPTIONS);
const rulesOf = (xml: string): string[] => judge(xml).ruleSets.map(({ id, version }) => `${id} ${version}`);
const withCustomization = (id: string): string => sample.replace(CUSTOMIZATION.billing, id);
const response = (customization: string): string =>
  `<ApplicationResponse xmlns="${NS.ApplicationResponse}" xmlns:cbc="${NS.cbc}"><cbc:CustomizationID>${customization}</cbc:CustomizationID></ApplicationResponse>`;

describe("report", () => {
  test.each([1, 2, 3, 50])("the sample invoice with %d lines is valid in every layer", (lines) => {
    const report = validateDocument(invoiceWithLines(lines), OPTIONS);
    expect(report.findings).toEqual([]);
    expect(report).toMatchObject({ valid: true, wellFormed: true, dropped: 0, profile: "peppol-billing" });
  });

  test("the hash is that of the exact bytes, byte order mark included", () => {
    const bytes = Buffer.from(`\ufeff${sample}`);
    expect(validateDocument(bytes, OPTIONS)).toMatchObject({
      valid: true,
      payloadSha256: createHash("sha256").update(bytes).digest("hex"),
    });
  });

  test("the exact bytes of a valid document come back compressed when that is asked for; of an invalid one never", () => {
    const bytes = Buffer.from(`\ufeff${sample}`);
    const { compressed } = validateDocument(bytes, { ...OPTIONS, compressLevel: 1 });
    expect(gunzipSync(compressed ?? new Uint8Array(0)).equals(bytes)).toBe(true);
    // Nothing larger than the bytes themselves travels between the threads.
    expect(compressed?.buffer.byteLength).toBe(compressed?.byteLength);
    expect(validateDocument(bytes, OPTIONS).compressed).toBeUndefined();
    const invalid = Buffer.from(sample.replace(/<cbc:BuyerReference>[^<]*<\/cbc:BuyerReference>/, "<cbc:Wrong/>"));
    expect(validateDocument(invalid, { ...OPTIONS, compressLevel: 1 })).toMatchObject({ valid: false });
    expect(validateDocument(invalid, { ...OPTIONS, compressLevel: 1 }).compressed).toBeUndefined();
  });

  test("all layers run on a well-formed document: a wrong order, a wrong total and a missing buyer reference are found at once", () => {
    const xml = sample
      .replace(/(<cbc:DueDate>[^<]*<\/cbc:DueDate>)\s*(<cbc:InvoiceTypeCode>380<\/cbc:InvoiceTypeCode>)/, "$2$1")
      .replace(/(<cbc:PayableAmount currencyID="EUR">)/, "$19")
      .replace(/<cbc:BuyerReference>[^<]*<\/cbc:BuyerReference>/, "")
      .replace(/<cac:OrderReference>[^]*?<\/cac:OrderReference>/, "");
    const { findings, valid } = judge(xml);
    expect(valid).toBe(false);
    expect(findings.map(({ layer, ruleId }) => `${layer} ${ruleId}`)).toEqual(
      expect.arrayContaining(["schema UBL-GRAMMAR-ORDER", "en16931 BR-CO-16", "peppol PEPPOL-EN16931-R003"]),
    );
    const order = ["xml", "schema", "en16931", "peppol"];
    const layers = findings.map(({ layer }) => order.indexOf(layer));
    expect(layers).toEqual([...layers].sort((a, b) => a - b));
    expect(findings.find(({ ruleId }) => ruleId === "BR-CO-16")).toMatchObject({
      severity: "fatal",
      location: "/Invoice/cac:LegalMonetaryTotal",
      btIds: expect.arrayContaining(["BT-115"]) as unknown,
    });
  });

  test("a document that is not well-formed has one finding and no facts", () => {
    expect(judge(sample.slice(0, -3))).toMatchObject({
      valid: false,
      wellFormed: false,
      profile: "none",
      ruleSets: [],
      facts: undefined,
      findings: [{ ruleId: "XML-TRUNCATED", layer: "xml" }],
    });
  });

  test("a fragment is judged without the schema layer", () => {
    const xml = sample.replace(/<cbc:IssueDate>[^<]*<\/cbc:IssueDate>/, "");
    expect(judge(xml).findings.some(({ layer }) => layer === "schema")).toBe(true);
    const fragment = validateDocument(Buffer.from(xml), { ...OPTIONS, fragment: true });
    expect(fragment.findings.some(({ layer }) => layer === "schema")).toBe(false);
    expect(fragment.findings.map(({ ruleId }) => ruleId)).toContain("BR-03");
  });

  test("the number of findings is bounded and the rest counted; dropped errors make a document invalid, dropped warnings do not", () => {
    const xml = invoiceWithLines(100).toString().replaceAll("<cbc:LineID>", '<cbc:LineID x="1">');
    const report = validateDocument(Buffer.from(xml), { ...OPTIONS, limits: { ...SCAN_LIMITS, findings: 30 } });
    expect(report.findings.length).toBeLessThanOrEqual(30);
    expect(report).toMatchObject({ dropped: 90, valid: false });
    const warned = invoiceWithLines(100)
      .toString()
      .replaceAll(
        "<cac:OrderLineReference>",
        "<cbc:FreeOfChargeIndicator>false</cbc:FreeOfChargeIndicator><cac:OrderLineReference>",
      )
      .replaceAll(
        /<cbc:AccountingCost>[^<]*<\/cbc:AccountingCost>/g,
        "<cbc:TaxPointDate>2026-11-20</cbc:TaxPointDate>",
      );
    const warnings = validateDocument(Buffer.from(warned), { ...OPTIONS, limits: { ...SCAN_LIMITS, findings: 3 } });
    expect(warnings.findings.map(({ severity }) => severity)).toEqual(["warning"]);
    expect(warnings.dropped).toBeGreaterThan(0);
    expect(warnings.valid).toBe(true);
  });

  test("the time of each layer is told when it is asked for, and only then", () => {
    expect(judge(sample).timings).toBeUndefined();
    const { timings } = validateDocument(Buffer.from(sample), { ...OPTIONS, timings: true });
    expect(Object.keys(timings ?? {})).toEqual(["scan", "schema", "en16931", "peppol", "advice"]);
  });

  test("a warning alone leaves a document valid", () => {
    const report = judge(
      sample.replace("<cbc:IssueDate>", "<cbc:CopyIndicator>false</cbc:CopyIndicator><cbc:IssueDate>"),
    );
    expect(report.findings.map(({ severity }) => severity)).toEqual(["warning"]);
    expect(report.valid).toBe(true);
  });
});

describe("which rules judge", () => {
  test.each([
    ["Peppol billing", sample, "peppol-billing", ["ubl 2.1", "en16931 1.3.16", "peppol-billing 3.0.21"]],
    [
      "self-billing",
      withCustomization(CUSTOMIZATION.selfBilling),
      "peppol-self-billing",
      ["ubl 2.1", "en16931 1.3.16", "peppol-self-billing 3.0.21"],
    ],
    ["EN 16931 alone", withCustomization(CUSTOMIZATION.en16931), "en16931", ["ubl 2.1", "en16931 1.3.16"]],
    [
      "Invoice Response",
      response(CUSTOMIZATION.invoiceResponse),
      "peppol-invoice-response",
      ["ubl 2.1", expect.stringMatching(/^\S*invoice-response/) as unknown],
    ],
    [
      "Message Level Status",
      response(CUSTOMIZATION.mls),
      "peppol-mls",
      ["ubl 2.1", expect.stringMatching(/mls 1\.0\.1$/) as unknown],
    ],
  ] as const)("a document is judged by the rules that it names: %s", (_, xml, profile, sets) => {
    expect(judge(xml).profile).toBe(profile);
    expect(rulesOf(xml)).toEqual(sets);
  });

  test("an invoice that names an unknown specification is judged by Peppol billing, which says what it must name", () => {
    const report = judge(withCustomization("urn:example:mine"));
    expect(report).toMatchObject({ valid: false, profile: "peppol-billing" });
    expect(report.findings.map(({ ruleId }) => ruleId)).toContain("PEPPOL-EN16931-R004");
  });

  test("an application response that names an unknown specification is refused by name", () => {
    expect(judge(response("urn:example:mine"))).toMatchObject({ valid: false, profile: "none" });
    expect(judge(response("urn:example:mine")).findings).toContainEqual(
      expect.objectContaining({ ruleId: "UBL-CUSTOMIZATION", location: "/ApplicationResponse/cbc:CustomizationID" }),
    );
  });

  test.each([
    ["another UBL document", '<Order xmlns="urn:oasis:names:specification:ubl:schema:xsd:Order-2"/>'],
    ["an invoice in the wrong namespace", "<Invoice/>"],
  ])("%s has a root that is not known", (_, xml) => {
    const report = judge(xml);
    expect(report.findings).toMatchObject([{ ruleId: "UBL-ROOT", layer: "schema", severity: "fatal" }]);
    expect(report).toMatchObject({ valid: false, wellFormed: true, profile: "none" });
  });

  test("a release takes over by itself on the day it becomes mandatory, once its tables exist", () => {
    const make: RulesVersion["make"] = () => [];
    const versions: RulesVersion[] = [
      { version: "1", mandatoryFrom: "2026-08-17", make },
      { version: "2", mandatoryFrom: "2027-02-24", make },
      { version: "3", mandatoryFrom: "2027-08-01", make: undefined },
    ];
    const inForce = (day: string, preview = false) => versionInForce(versions, day, preview)?.version;
    expect([inForce("2026-01-01"), inForce("2027-02-23"), inForce("2027-02-24"), inForce("2030-01-01")]).toEqual([
      "1",
      "1",
      "2",
      "2",
    ]);
    expect(inForce("2026-11-20", true)).toBe("2");
  });

  test("3.0.22 has its place in the billing rows, mandatory from 2027-02-24", () => {
    for (const profile of ["peppol-billing", "peppol-self-billing"]) {
      expect(
        SELECTION.find((row) => row.profile === profile)?.versions.map(
          ({ version, mandatoryFrom }) => `${version} ${mandatoryFrom}`,
        ),
      ).toEqual(["3.0.21 2026-08-17", "3.0.22 2027-02-24"]);
    }
  });
});

describe("facts", () => {
  test("the facts of an invoice are read", () => {
    expect(judge(sample).facts).toEqual({
      rootNamespace: NS.Invoice,
      rootLocal: "Invoice",
      customizationId: CUSTOMIZATION.billing,
      profileId: "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0",
      documentNumber: "K-3",
      issueDate: "2026-11-20",
      dueDate: "2026-11-20",
      taxPointDate: undefined,
      deliveryDate: "2026-11-20",
      invoicePeriodEnd: undefined,
      typeCode: "380",
      supplierEndpoint: { schemeId: "0245", value: "2020202020" },
      customerEndpoint: { schemeId: "0245", value: "2021212121" },
      precedingInvoiceIds: [],
      currency: "EUR",
      payableAmount: expect.stringMatching(/^\d+\.\d\d$/) as unknown,
      buyerReference: "PO-2026-17",
      orderReference: "PO-2026-17",
      supplierCountry: "SK",
      customerCountry: "SK",
      supplierName: "Regály s. r. o.",
      customerName: "Sklady a. s.",
    });
  });

  test("facts name the preceding invoices, all of them; empty values count as absent; long values are cut", () => {
    const reference = (id: string): string =>
      `<cac:BillingReference><cac:InvoiceDocumentReference><cbc:ID>${id}</cbc:ID></cac:InvoiceDocumentReference></cac:BillingReference>`;
    const xml = sample
      .replace(
        "<cac:AccountingSupplierParty>",
        `${reference(" A-1 ")}${reference("")}${reference("A-2")}<cac:AccountingSupplierParty>`,
      )
      .replace(/<cbc:ID>K-3</, `<cbc:ID>${"9".repeat(5_000)}<`);
    expect(judge(xml).facts).toMatchObject({ precedingInvoiceIds: ["A-1", "A-2"], documentNumber: "9".repeat(1_024) });
  });

  test("an application response has its sender and receiver", () => {
    const party = (role: string, id: string): string =>
      `<cac:${role}Party><cbc:EndpointID schemeID="0245">${id}</cbc:EndpointID></cac:${role}Party>`;
    const xml = response(CUSTOMIZATION.mls)
      .replace("xmlns:cbc", `xmlns:cac="${NS.cac}" xmlns:cbc`)
      .replace("</ApplicationResponse>", `${party("Sender", "1")}${party("Receiver", "2")}</ApplicationResponse>`);
    expect(judge(xml).facts).toMatchObject({
      supplierEndpoint: { schemeId: "0245", value: "1" },
      customerEndpoint: { schemeId: "0245", value: "2" },
    });
  });
});

test("processing instructions before the document element change nothing", () => {
  const [, declaration = "", rest = ""] = /^(<\?xml[^>]*>\s*)?(.*)$/s.exec(invoiceWithLines(1).toString()) ?? [];
  const instructed = `${declaration}<?xml-stylesheet type="text/xsl" href="a.xsl"?>\n<?xml-model href="b.rnc"?>${rest}`;
  expect(validateDocument(Buffer.from(instructed), OPTIONS).findings).toEqual([]);
});

test.each([
  [
    "white space around a date is no fault of the schema; Peppol has a rule on it",
    "<cbc:DueDate>\n 2027-01-31 </cbc:DueDate>",
    ["PEPPOL-EN16931-F001"],
  ],
  [
    "base64 with other characters is refused",
    '<cac:AdditionalDocumentReference><cbc:ID>1</cbc:ID><cac:Attachment><cbc:EmbeddedDocumentBinaryObject mimeCode="text/csv" filename="a.csv">####</cbc:EmbeddedDocumentBinaryObject></cac:Attachment></cac:AdditionalDocumentReference>',
    ["UBL-GRAMMAR-VALUE"],
  ],
])("values are taken as XML Schema says where libxml2 departs from it: %s", (_, inserted, ids) => {
  const text = invoiceWithLines(1).toString();
  const document = inserted.startsWith("<cbc:DueDate")
    ? text.replace(/<cbc:DueDate>[^<]*<\/cbc:DueDate>/u, inserted)
    : text.replace("<cac:AccountingSupplierParty>", `${inserted}<cac:AccountingSupplierParty>`);
  expect(document).not.toBe(text);
  expect(validateDocument(Buffer.from(document), OPTIONS).findings.map(({ ruleId }) => ruleId)).toEqual(ids);
});
