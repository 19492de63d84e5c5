/**
 * The validation operations, row by row, over HTTP, on both forms of the server.
 * @source spec/rulings.md, section 13, Validation
 */
import { createHash, randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { invoiceWithLines } from "../../../bench/documents.js";
import type { Clock } from "../../../engine/base/clock.js";
import { createKey } from "../../../engine/identity/keys.js";
import { parseFirmId } from "../../../engine/base/ids.js";
import type { Scope } from "../../../engine/base/scopes.js";
import { accessToken, http, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { JSON_INVOICE } from "../../support/documents/json-invoices.js";
import { serverForms } from "../../support/engines/gateway.js";

const VALID = invoiceWithLines(2).toString();
const INVALID = VALID.replace(/(<cbc:PayableAmount currencyID="EUR">)[^<]*/u, "$11.00").replace(
  "<cbc:BuyerReference>",
  "<cbc:Unheard/><cbc:BuyerReference>",
);
/** UBL allows the element, EN 16931 has no use for it: warnings and nothing else. */
const WARNED = VALID.replace("<cbc:IssueDate>", "<cbc:UUID>1</cbc:UUID><cbc:IssueDate>");

const ITEM = { description: "Papier A4", quantity: 1, unit: "ks", unitPrice: "23.90", vatRate: 23 };

interface Shown {
  ruleId: string;
  layer: string;
  severity: string;
  location: string;
  line?: number;
  message: string;
  btIds?: string[];
}
interface Layer {
  valid: boolean;
  messages: Shown[];
}
interface ErrorBody {
  code: string;
  message: string;
  requestId: string;
  required_scope?: string;
  details?: { field?: string; ruleId?: string; message: string }[];
}
const errorOf = (answer: HttpAnswer): ErrorBody => answer.json["error"] as ErrorBody;

describe.each(serverForms)("validation over %s", (form) => {
  let t: TestEngine;
  let token: string;
  let monotonic = 0;
  const clock: Clock = { now: () => Date.parse("2026-11-20T09:00:00.000Z"), monotonic: () => monotonic };

  beforeAll(async () => {
    t = await startTestEngine({ form, clock });
    token = await accessToken(t.sandbox, t.sandbox.sender);
  });
  afterAll(() => t.stop());
  // Each test has a window of the rate limits of its own.
  beforeEach(() => {
    monotonic += 120_000;
  });

  const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<HttpAnswer> =>
    http(
      "POST",
      `${t.engine.publicUrl}${path}`,
      { "content-type": "application/json", authorization: `Bearer ${token}`, ...headers },
      JSON.stringify(body),
    );
  const judge = (xml: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}): Promise<HttpAnswer> =>
    http("POST", `${t.engine.publicUrl}/api/validate`, { "content-type": "application/xml", ...headers }, xml);
  const tokenWith = async (scopes: readonly Scope[]): Promise<string> => {
    const firmId = parseFirmId(t.sandbox.sender.firmId);
    if (firmId === undefined) throw new Error("no firm");
    const key = await createKey({ sql: t.db.sql, clock, environment: "sandbox" }, { owner: { firmId }, scopes });
    if (typeof key === "string") throw new Error(key);
    return accessToken(t.sandbox, { clientId: key.id, clientSecret: key.secret });
  };

  describe("POST /api/v1/payloads/validate {format, document} → {valid, errorCount, warningCount, errors[], warnings[]}", () => {
    test("a valid document: 200 and nothing found", async () => {
      const answer = await post("/api/v1/payloads/validate", { format: "ubl", document: VALID });
      expect([answer.status, answer.json]).toEqual([
        200,
        { valid: true, errorCount: 0, warningCount: 0, errors: [], warnings: [] },
      ]);
    });

    test("an invalid document: 422 with the same body, every layer's findings at once", async () => {
      const answer = await post("/api/v1/payloads/validate", { format: "ubl", document: INVALID });
      const { valid, errorCount, warningCount, errors, warnings } = answer.json as unknown as {
        valid: boolean;
        errorCount: number;
        warningCount: number;
        errors: Shown[];
        warnings: Shown[];
      };
      expect([answer.status, valid, errorCount, warningCount]).toEqual([422, false, errors.length, warnings.length]);
      expect(errors.map(({ ruleId, layer }) => [layer, ruleId])).toEqual(
        expect.arrayContaining([
          ["schema", "UBL-GRAMMAR-UNEXPECTED"],
          ["en16931", "BR-CO-16"],
        ]),
      );
      expect(errors.find(({ ruleId }) => ruleId === "BR-CO-16")).toMatchObject({
        severity: "fatal",
        location: "/Invoice/cac:LegalMonetaryTotal",
        btIds: expect.arrayContaining(["BT-115"]) as unknown,
        line: expect.any(Number) as unknown,
      });
      expect(errors.every(({ message, location }) => message.length > 10 && location.startsWith("/"))).toBe(true);
    });

    test("warnings do not make a document invalid", async () => {
      const answer = await post("/api/v1/payloads/validate", { format: "ubl", document: WARNED });
      expect([answer.status, answer.json["valid"], answer.json["errorCount"], answer.json["warningCount"]]).toEqual([
        200,
        true,
        0,
        1,
      ]);
      expect(answer.json["warnings"]).toMatchObject([{ ruleId: "UBL-CR-005", severity: "warning" }]);
    });

    test("what is no XML is invalid, not an error of the request", async () => {
      const answer = await post("/api/v1/payloads/validate", { format: "ubl", document: "hello" });
      expect([answer.status, answer.json["valid"], (answer.json["errors"] as Shown[])[0]?.layer]).toEqual([
        422,
        false,
        "xml",
      ]);
    });

    test("more findings than one report keeps: what is left out is counted", async () => {
      const document = VALID.replace("<cbc:BuyerReference>", `${"<cbc:Unheard/>".repeat(3_000)}<cbc:BuyerReference>`);
      const answer = await post("/api/v1/payloads/validate", { format: "ubl", document });
      expect([answer.status, Number(answer.json["omittedCount"]) > 1_000]).toEqual([422, true]);
    });

    // spec/shapes.md, section 6: `POST /payloads/validate` {format json|ubl, document}, 422 when invalid
    test("format json: an invoice by its members is judged as the UBL that it becomes", async () => {
      const answer = await post("/api/v1/payloads/validate", { format: "json", document: JSON_INVOICE });
      expect([answer.status, answer.json]).toEqual([
        200,
        { valid: true, errorCount: 0, warningCount: 0, errors: [], warnings: [] },
      ]);
    });

    test.each(["credit_note", "self_billing", "self_billing_credit_note"])(
      "format json: a %s is valid",
      async (kind) => {
        const document = { ...JSON_INVOICE, documentType: kind, precedingInvoiceRef: "2026/0041" };
        const answer = await post("/api/v1/payloads/validate", { format: "json", document });
        expect([answer.status, answer.json["errors"]]).toEqual([200, []]);
      },
    );

    test.each([
      ["a float that was computed", { prepaidAmount: 0.1 + 0.2 }, "prepaidAmount", "JSON-NUMBER"],
      ["a number that is none", { prepaidAmount: "NaN" }, "prepaidAmount", "JSON-NUMBER"],
      [
        "a number beyond all bounds",
        { items: [{ ...ITEM, unitPrice: `1${"0".repeat(400)}` }] },
        "items[0].unitPrice",
        "JSON-NUMBER",
      ],
      ["an unknown rate", { items: [ITEM, { ...ITEM, vatRate: 21 }] }, "items[1].vatRate", "JSON-VAT-RATE"],
      ["too many lines", { items: Array.from({ length: 1_000 }, () => ITEM) }, "items", "JSON-LIST"],
      ["no receiver", { receiverPeppolId: undefined }, "receiverPeppolId", "JSON-MISSING"],
      ["a sum to be paid on no day", { dueDate: undefined }, "dueDate", "JSON-MISSING"],
      ["a currency that nobody has", { currency: "QQQ" }, "currency", "PEPPOL-EN16931-CL007"],
      ["a unit that nobody has", { items: [{ ...ITEM, unit: "ZZ9" }] }, "items[0].unit", "BR-CL-23"],
    ])("format json: %s is 422 that names the member", async (_, change, field, ruleId) => {
      const document = { ...JSON_INVOICE, ...change };
      const answer = await post("/api/v1/payloads/validate", { format: "json", document });
      expect([answer.status, answer.json["valid"]]).toEqual([422, false]);
      expect(answer.json["errors"]).toContainEqual(expect.objectContaining({ field, ruleId }));
    });

    test.each(["1e400", "0.1e-400", "33.333333333333333333333333333"])(
      "format json: %s in the body itself is 422 that names the member",
      async (written) => {
        const body = JSON.stringify({ format: "json", document: { ...JSON_INVOICE, prepaidAmount: 7 } });
        const answer = await http(
          "POST",
          `${t.engine.publicUrl}/api/v1/payloads/validate`,
          { "content-type": "application/json", authorization: `Bearer ${token}` },
          body.replace('"prepaidAmount":7', `"prepaidAmount":${written}`),
        );
        expect([answer.status, answer.json["errors"]]).toMatchObject([
          422,
          [{ field: "prepaidAmount", ruleId: "JSON-NUMBER" }],
        ]);
      },
    );

    test("format json: a member that nobody reads is a warning, in the language of the client", async () => {
      const document = { ...JSON_INVOICE, discountAmount: 5 };
      const answer = await post("/api/v1/payloads/validate", { format: "json", document }, { "accept-language": "sk" });
      expect([answer.status, answer.json["warnings"]]).toMatchObject([
        200,
        [{ layer: "json", field: "discountAmount", message: "Tento údaj sa nečíta." }],
      ]);
    });

    test.each([
      ["no format", { document: VALID }, "format"],
      ["another format", { format: "xml", document: VALID }, "format"],
      ["no document", { format: "ubl" }, "document"],
      ["an empty document", { format: "ubl", document: "" }, "document"],
      ["an object as UBL", { format: "ubl", document: {} }, "document"],
      ["text as JSON", { format: "json", document: "{}" }, "document"],
      ["a list as JSON", { format: "json", document: [] }, "document"],
      // No text that could be judged: the reader of JSON refuses it.
      ["half of a surrogate pair", { format: "ubl", document: `${VALID}\ud800` }, undefined],
    ])("%s: 400 that names the member", async (_, body, field) => {
      const answer = await post("/api/v1/payloads/validate", body);
      expect([answer.status, errorOf(answer).details?.[0]?.field]).toEqual([400, field]);
    });

    test("401 without a token, 403 without documents:send", async () => {
      expect(
        (await post("/api/v1/payloads/validate", { format: "ubl", document: VALID }, { authorization: "" })).status,
      ).toBe(401);
      const answer = await post(
        "/api/v1/payloads/validate",
        { format: "ubl", document: VALID },
        { authorization: `Bearer ${await tokenWith(["documents:read"])}` },
      );
      expect([answer.status, errorOf(answer).required_scope]).toEqual([403, "documents:send"]);
    });
  });

  // reviews/contract.md: parse sends `{xml}` (and, older ones, application/xml) and reads `{invoice,extras,allowances}`
  describe("POST /api/v1/payloads/parse as clients of the public service call it", () => {
    const withAllowance = VALID.replace(
      "<cac:TaxTotal>",
      "<cac:AllowanceCharge><cbc:ChargeIndicator>false</cbc:ChargeIndicator><cbc:AllowanceChargeReason>Discount</cbc:AllowanceChargeReason><cbc:Amount>1.00</cbc:Amount><cac:TaxCategory><cbc:ID>S</cbc:ID><cbc:Percent>19</cbc:Percent></cac:TaxCategory></cac:AllowanceCharge><cac:TaxTotal>",
    );

    test("xml in JSON and the XML itself are read like the document member", async () => {
      const { json } = await post("/api/v1/payloads/parse", { document: withAllowance });
      expect((await post("/api/v1/payloads/parse", { xml: withAllowance })).json).toEqual(json);
      const raw = await http(
        "POST",
        `${t.engine.publicUrl}/api/v1/payloads/parse`,
        { authorization: `Bearer ${token}`, "content-type": "application/xml" },
        withAllowance,
      );
      expect([raw.status, raw.json]).toEqual([200, json]);
    });

    test("the answer holds the invoice in the names of a send, the rest, and the allowances", async () => {
      const { json } = await post("/api/v1/payloads/parse", { xml: withAllowance });
      expect(json["invoice"]).toMatchObject({
        documentType: "invoice",
        invoiceNumber: "K-2",
        currency: "EUR",
        receiverName: "Sklady a. s.",
        receiverPeppolId: "0245:2021212121",
        totalAmount: "50.55",
        items: [
          {
            description: "Shelf 1",
            quantity: "2",
            unit: "C62",
            unitPrice: "10.10",
            vatRate: "19",
            vatCategoryCode: "S",
          },
          { description: "Shelf 2" },
        ],
      });
      expect(json["extras"]).toMatchObject({
        typeCode: "380",
        orderReference: "PO-2026-17",
        totals: { payable: "50.55" },
      });
      expect(json["allowances"]).toEqual([
        {
          isCharge: false,
          reason: "Discount",
          reasonCode: null,
          percent: null,
          amount: "1.00",
          baseAmount: null,
          taxCategory: "S",
          taxPercent: "19",
        },
      ]);
    });

    test("a charge is told as one, whichever word of XML Schema says so", async () => {
      for (const [indicator, isCharge] of Object.entries({ true: true, 1: true, false: false, 0: false })) {
        const xml = withAllowance.replace("<cbc:ChargeIndicator>false", `<cbc:ChargeIndicator>${indicator}`);
        const { json } = await post("/api/v1/payloads/parse", { xml });
        expect(json["allowances"]).toMatchObject([{ isCharge }]);
      }
    });

    test.each([{}, { xml: "<a/>", document: "<a/>" }, { xml: "" }])("a body of %j is 400", async (body) => {
      expect((await post("/api/v1/payloads/parse", body)).status).toBe(400);
    });

    test.each([{}, { xml: "<a/>", document: "<a/>" }])(
      "what is wrong with a body of %j is one sentence",
      async (body) => {
        const { json } = await post("/api/v1/payloads/parse", body);
        expect(json).toMatchObject({
          error: { field: "document", details: [{ message: "document must be given, or xml, but not both." }] },
        });
      },
    );
  });

  describe("`/payloads/convert {input_format,output_format,document}`", () => {
    const convert = (input_format: string, output_format: string, document: unknown): Promise<HttpAnswer> =>
      post("/api/v1/payloads/convert", { input_format, output_format, document });

    test("an invoice as JSON becomes UBL that is valid, and that says the same when it is made JSON again", async () => {
      const { status, json } = await convert("json", "ubl", JSON_INVOICE);
      expect([status, json["input_format"], json["output_format"]]).toEqual([200, "json", "ubl"]);
      const verdict = await post("/api/v1/payloads/validate", { format: "ubl", document: json["document"] });
      expect([verdict.status, verdict.json["valid"]]).toEqual([200, true]);
      const back = await convert("ubl", "json", json["document"]);
      const said = back.json["document"] as Record<string, unknown>;
      expect(back.status).toBe(200);
      expect([said["invoiceNumber"], said["receiverPeppolId"], (said["items"] as unknown[]).length]).toEqual([
        JSON_INVOICE.invoiceNumber,
        JSON_INVOICE.receiverPeppolId,
        JSON_INVOICE.items.length,
      ]);
    });

    test("an invoice as JSON that breaks a rule is 422 with every finding, and no document", async () => {
      const { status, json } = await convert("json", "ubl", { ...JSON_INVOICE, items: [] });
      expect([status, json["valid"], json["document"]]).toEqual([422, false, undefined]);
      expect((json["errors"] as Shown[]).length).toBeGreaterThan(0);
    });

    test("what is no UBL is 422 with the finding", async () => {
      const answer = await convert("ubl", "json", "<a/>");
      expect([answer.status, errorOf(answer).details?.[0]?.ruleId]).toEqual([422, "UBL-ROOT"]);
    });

    test.each([
      ["json", "json", JSON_INVOICE, "output_format"],
      ["ubl", "ubl", VALID, "output_format"],
      ["xml", "json", VALID, "input_format"],
      ["json", "ubl", VALID, "document"],
      ["ubl", "json", JSON_INVOICE, "document"],
    ])("%s to %s with another document: 400 names the member", async (input, output, document, field) => {
      const answer = await convert(input, output, document);
      expect([answer.status, errorOf(answer).details?.[0]?.field]).toEqual([400, field]);
    });
  });

  describe("POST /api/v1/payloads/parse → what the document says", () => {
    test("an invoice: parties, dates, totals, taxes, lines; numbers as written, null for what is not said", async () => {
      const answer = await post("/api/v1/payloads/parse", { format: "ubl", document: VALID });
      expect(answer.status).toBe(200);
      const { invoice: _invoice, extras: _extras, allowances: _allowances, ...said } = answer.json;
      expect(said).toEqual({
        documentType: "Invoice",
        customizationId: "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0",
        profileId: "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0",
        number: "K-2",
        typeCode: "380",
        issueDate: "2026-11-20",
        dueDate: "2026-11-20",
        taxPointDate: null,
        deliveryDate: "2026-11-20",
        currency: "EUR",
        buyerReference: "PO-2026-17",
        orderReference: "PO-2026-17",
        precedingInvoices: [],
        supplier: {
          name: "Regály s. r. o.",
          participantId: "0245:2020202020",
          companyId: "31333333",
          vatId: "SK2020202020",
          country: "SK",
        },
        customer: {
          name: "Sklady a. s.",
          participantId: "0245:2021212121",
          companyId: "35757575",
          vatId: "SK2021212121",
          country: "SK",
        },
        totals: {
          lineNet: "45.72",
          allowances: null,
          charges: null,
          taxExclusive: "45.72",
          tax: "4.83",
          taxInclusive: "50.55",
          prepaid: null,
          rounding: null,
          payable: "50.55",
        },
        taxes: [
          { category: "S", percent: "19", taxableAmount: "18.18", taxAmount: "3.45" },
          { category: "S", percent: "5", taxableAmount: "27.54", taxAmount: "1.38" },
        ],
        lineCount: 2,
        lines: [
          {
            id: "1",
            name: "Shelf 1",
            quantity: "2",
            unitCode: "C62",
            price: "10.10",
            baseQuantity: "1",
            netAmount: "18.18",
            taxCategory: "S",
            taxPercent: "19",
          },
          {
            id: "2",
            name: "Shelf 2",
            quantity: "3",
            unitCode: "C62",
            price: "10.20",
            baseQuantity: "1",
            netAmount: "27.54",
            taxCategory: "S",
            taxPercent: "5",
          },
        ],
      });
    });

    // BT-110 is the total of VAT in the invoice's currency, BT-111 that in the accounting currency; UBL orders neither.
    test("VAT is that of the document's currency, with its breakdown, also behind VAT in the accounting currency", async () => {
      const accounting = '<cac:TaxTotal><cbc:TaxAmount currencyID="EUR">0.20</cbc:TaxAmount></cac:TaxTotal>';
      const converted = VALID.replaceAll("EUR", "CZK").replace(
        "</cbc:DocumentCurrencyCode>",
        "$&<cbc:TaxCurrencyCode>EUR</cbc:TaxCurrencyCode>",
      );
      const before = converted.replace("<cac:TaxTotal>", `${accounting}$&`);
      const behind = converted.replace("</cac:TaxTotal>", `$&${accounting}`);
      for (const document of [before, behind]) {
        const verdict = await post("/api/v1/payloads/validate", { format: "ubl", document });
        expect([verdict.status, verdict.json["errors"]]).toEqual([200, []]);
        const { json } = await post("/api/v1/payloads/parse", { document });
        expect(json).toMatchObject({
          currency: "CZK",
          totals: { tax: "4.83", taxInclusive: "50.55" },
          taxes: [{ taxAmount: "3.45" }, { taxAmount: "1.38" }],
        });
      }
      const misplaced = before.replace("</cac:TaxTotal>", `<cac:TaxSubtotal/>$&`).replace(/CZK">4.83/u, 'EUR">4.83');
      const { json } = await post("/api/v1/payloads/parse", { document: misplaced });
      expect(json).toMatchObject({ totals: { tax: "0.20" }, taxes: [{ taxAmount: null }] });
    });

    test("format may be left out; a document that breaks rules is read all the same", async () => {
      const answer = await post("/api/v1/payloads/parse", { document: INVALID });
      expect([answer.status, (answer.json["totals"] as { payable: string }).payable]).toEqual([200, "1.00"]);
    });

    test("a long document: the first 1,000 lines and their number", async () => {
      const answer = await post("/api/v1/payloads/parse", { document: invoiceWithLines(1_200).toString() });
      expect([answer.json["lineCount"], (answer.json["lines"] as unknown[]).length]).toEqual([1_200, 1_000]);
    });

    test.each([
      ["no XML", "hello", "XML-"],
      ["another document", "<a/>", "UBL-ROOT"],
    ])("%s: 422 VALIDATION_FAILED with the finding", async (_, document, ruleId) => {
      const answer = await post("/api/v1/payloads/parse", { document });
      expect([answer.status, errorOf(answer).code]).toEqual([422, "VALIDATION_FAILED"]);
      expect(errorOf(answer).details?.[0]?.ruleId).toContain(ruleId);
    });

    test("401 without a token, 403 without documents:read", async () => {
      expect((await post("/api/v1/payloads/parse", { document: VALID }, { authorization: "" })).status).toBe(401);
      const answer = await post(
        "/api/v1/payloads/parse",
        { document: VALID },
        { authorization: `Bearer ${await tokenWith(["documents:send"])}` },
      );
      expect([answer.status, errorOf(answer).required_scope]).toEqual([403, "documents:read"]);
    });
  });

  describe("POST /api/validate (XML body) → {valid, xsd, en16931, peppol}", () => {
    test("a valid document: 200, no token, no header of ours needed or looked at", async () => {
      const answer = await judge(VALID, {
        "x-firm-id": "nobody",
        "x-peppol-participant-id": "nonsense",
        authorization: "Bearer nonsense",
      });
      const clean = { valid: true, messages: [] };
      const expected = {
        valid: true,
        profile: "peppol-billing",
        ruleSet: ["ubl 2.1", "en16931 1.3.16", "peppol-billing 3.0.21"],
        xsd: clean,
        en16931: clean,
        peppol: clean,
        advice: clean,
      };
      expect([answer.status, answer.json]).toEqual([200, expected]);
    });

    test.each([
      ["sk", "sk", /sa musí rovnať/u],
      ["SK-sk, en;q=0.9", "sk", /sa musí rovnať/u],
      ["en;q=0.5, sk;q=0.7", "sk", /sa musí rovnať/u],
      ["de, en;q=0.2", "en", /must equal/u],
      ["sk;q=0", "en", /must equal/u],
      ["*", "en", /must equal/u],
      ["", "en", /must equal/u],
    ])("Accept-Language %j is answered in %s", async (asked, told, sentence) => {
      const answer = await judge(INVALID, { "accept-language": asked });
      expect(answer.headers.get("content-language")).toBe(told);
      expect(answer.headers.get("vary")).toMatch(/Accept-Language/u);
      const { en16931 } = answer.json as unknown as { en16931: Layer };
      expect(en16931.messages[0]?.message).toMatch(sentence);
    });

    test("a finding has its column and the value that is wrong; a store of documents gets neither", async () => {
      const { en16931 } = (await judge(INVALID)).json as unknown as { en16931: { messages: object[] } };
      expect(en16931.messages[0]).toMatchObject({
        ruleId: "BR-CO-16",
        column: 3,
        value: expect.stringMatching(/BT-115 1\.00/u),
      });
    });

    test("rules of later days are told when they are asked for: none, where none are known", async () => {
      const asked = await http(
        "POST",
        `${t.engine.publicUrl}/api/validate?upcoming=true`,
        { "content-type": "application/xml" },
        VALID,
      );
      expect(asked.json["upcoming"]).toEqual([]);
      expect((await judge(VALID)).json["upcoming"]).toBeUndefined();
    });

    test("findings that are not listed are counted by rule", async () => {
      const many = invoiceWithLines(400)
        .toString()
        .replace(/<cbc:InvoicedQuantity[^>]*>[^<]*<\/cbc:InvoicedQuantity>/gu, "");
      const { omittedCount = 0, omittedRules = {} } = (await judge(many)).json as unknown as {
        omittedCount?: number;
        omittedRules?: Record<string, number>;
      };
      expect(omittedCount).toBeGreaterThan(0);
      expect(Object.values(omittedRules).reduce((sum, count) => sum + count, 0)).toBe(omittedCount);
      expect(Object.keys(omittedRules)).toContain("BR-22");
    });

    test("an invalid document: 200, and each layer says what it found", async () => {
      const answer = await judge(
        INVALID.replace("<cbc:BuyerReference>PO-2026-17</cbc:BuyerReference>", "").replace(
          /<cac:OrderReference>.*?<\/cac:OrderReference>/su,
          "",
        ),
      );
      const { valid, xsd, en16931, peppol } = answer.json as unknown as {
        valid: boolean;
        xsd: Layer;
        en16931: Layer;
        peppol: Layer;
      };
      expect([answer.status, valid, xsd.valid, en16931.valid, peppol.valid]).toEqual([200, false, false, false, false]);
      expect([xsd, en16931, peppol].map(({ messages }) => messages[0]?.ruleId)).toEqual([
        "UBL-GRAMMAR-UNEXPECTED",
        "BR-CO-16",
        "PEPPOL-EN16931-R003",
      ]);
    });

    test("one layer's error leaves the others valid; a warning leaves its own valid", async () => {
      const broken = (await judge(VALID.replace(/(<cbc:PayableAmount currencyID="EUR">)[^<]*/u, "$11.00")))
        .json as unknown as Record<string, Layer>;
      expect([broken["xsd"]?.valid, broken["en16931"]?.valid, broken["peppol"]?.valid]).toEqual([true, false, true]);
      const warned = (await judge(WARNED)).json as unknown as Record<string, Layer>;
      expect([warned["valid"], warned["en16931"]?.valid, warned["en16931"]?.messages.length]).toEqual([true, true, 1]);
    });

    test("what cannot be read is valid in no layer", async () => {
      const answer = (await judge("<Invoice>")).json as unknown as Record<string, Layer>;
      expect([answer["valid"], answer["xsd"]?.valid, answer["en16931"]?.valid, answer["peppol"]?.valid]).toEqual([
        false,
        false,
        false,
        false,
      ]);
      expect(answer["xsd"]?.messages[0]?.ruleId).toBe("XML-TRUNCATED");
    });

    test("text/xml is read too; another content type is 415, more than 20 MB 413, nothing at all is no valid document", async () => {
      expect((await judge(VALID, { "content-type": "text/xml; charset=utf-8" })).status).toBe(200);
      expect((await judge(VALID, { "content-type": "application/json" })).status).toBe(415);
      expect((await judge("")).json).toMatchObject({ valid: false, xsd: { valid: false } });
      expect((await judge(new Uint8Array(20 * 1_048_576 + 1).fill(32))).status).toBe(413);
    });

    test("20 per minute per address: the twenty-first is 429 with Retry-After, and a minute later it is welcome again", async () => {
      const statuses: number[] = [];
      for (let i = 0; i < 20; i += 1) statuses.push((await judge("<a/>")).status);
      expect(new Set(statuses)).toEqual(new Set([200]));
      const refused = await judge(VALID);
      expect([refused.status, errorOf(refused).code]).toEqual([429, "RATE_LIMITED"]);
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
      // The limit is the address's own: callers with a token are not counted.
      expect((await post("/api/v1/payloads/validate", { format: "ubl", document: VALID })).status).toBe(200);
      monotonic += 61_000;
      expect((await judge(VALID)).status).toBe(200);
    });
  });

  test("nothing of a judged document is stored or logged", async () => {
    const secret = `M${randomBytes(8).toString("hex")}`;
    const document = VALID.replace("Shelf 1", secret).replace("<cbc:DueDate>", "<cbc:DueDate>x");
    await judge(document);
    await post("/api/v1/payloads/validate", { format: "ubl", document });
    await post("/api/v1/payloads/parse", { document });
    expect(t.lines.join("")).not.toContain(secret);
    const rows = await t.db.sql<
      { count: number }[]
    >`select count(*)::int as count from document where payload_sha256 = ${createHash("sha256").update(document).digest("hex")}`;
    expect(rows[0]?.count).toBe(0);
  });
});
