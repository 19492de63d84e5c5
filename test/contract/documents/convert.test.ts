/**
 * POST /api/v1/payloads/convert from UBL to JSON, over HTTP: "Sent by this firm, the members come to the same type,
 * parties, VAT and amounts; a document of which they cannot is 422, and each finding names the element."
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import type { Clock } from "../../../engine/base/clock.js";
import { parseParticipantId } from "../../../engine/base/ids.js";
import { convertToJson } from "../../../validators/to-json.js";
import { SCAN_LIMITS } from "../../../validators/xml/limits.js";
import { accessToken, http, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { JSON_INVOICE } from "../../support/documents/json-invoices.js";

interface Shown {
  readonly ruleId: string;
  readonly severity: string;
  readonly location: string;
  readonly field: string;
  readonly message: string;
}

const ITEM = { description: "Papier A4", quantity: 10, unit: "ks", unitPrice: "2.35", vatRate: 5 };
/** Everything that an invoice as JSON can say. */
const RICH = {
  ...JSON_INVOICE,
  receiverDic: "2020202020",
  note: "Prvý riadok\nDruhý riadok",
  paymentTerms: "14 dní",
  taxPointDate: "2026-11-19",
  deliveryDate: "2026-11-18",
  precedingInvoiceRef: "2026/0001",
  documentDiscountPercent: 10,
  prepaidAmount: "4.00",
  items: [
    { ...ITEM, discount: 20 },
    { ...ITEM, quantity: "0.5", unit: "HUR", unitPrice: "24", vatRate: 23 },
  ],
  attachments: [{ fileName: "a.csv", mimeType: "text/csv", content: "YQ==", description: "Výkaz" }],
};

const CHARGE = (rate: string): string =>
  `<cac:AllowanceCharge><cbc:ChargeIndicator>true</cbc:ChargeIndicator><cbc:AllowanceChargeReason>Doprava</cbc:AllowanceChargeReason><cbc:Amount currencyID="EUR">100.00</cbc:Amount><cac:TaxCategory><cbc:ID>S</cbc:ID><cbc:Percent>${rate}</cbc:Percent><cac:TaxScheme><cbc:ID>VAT</cbc:ID></cac:TaxScheme></cac:TaxCategory></cac:AllowanceCharge>`;

/** A UBL with other texts in the elements of these names. */
const withTexts = (ubl: string, texts: Readonly<Record<string, string>>): string =>
  Object.entries(texts).reduce(
    (xml, [name, value]) => xml.replace(new RegExp(`(<cbc:${name}(?: [^>]*)?>)[^<]*`, "gu"), `$1${value}`),
    ubl,
  );
const sumOf = (ubl: string, name: string): string | undefined =>
  new RegExp(`<cbc:${name}[^>]*>([^<]*)<`, "u").exec(ubl)?.[1];

describe("POST /api/v1/payloads/convert, ubl to json", () => {
  let t: TestEngine;
  let token: string;
  let monotonic = 0;
  const clock: Clock = { now: () => Date.parse("2026-11-20T09:00:00.000Z"), monotonic: () => monotonic };
  beforeAll(async () => {
    t = await startTestEngine({ clock });
    token = await accessToken(t.sandbox, t.sandbox.sender);
  });
  afterAll(() => t.stop());
  // Each test has a window of the rate limits of its own.
  beforeEach(() => {
    monotonic += 120_000;
  });

  const post = (path: string, body: unknown, language = "en"): Promise<HttpAnswer> =>
    http(
      "POST",
      `${t.engine.publicUrl}${path}`,
      { "content-type": "application/json", authorization: `Bearer ${token}`, "accept-language": language },
      JSON.stringify(body),
    );
  const toJson = (document: string, language?: string): Promise<HttpAnswer> =>
    post("/api/v1/payloads/convert", { input_format: "ubl", output_format: "json", document }, language);
  async function toUbl(document: unknown): Promise<string> {
    const answer = await post("/api/v1/payloads/convert", { input_format: "json", output_format: "ubl", document });
    expect(answer.status, answer.text).toBe(200);
    return String(answer.json["document"]);
  }
  const errorsOf = ({ json }: HttpAnswer): readonly (readonly string[])[] =>
    (json["errors"] as readonly Shown[]).map(({ ruleId, field, location }) => [ruleId, field, location]);
  const warningsOf = ({ json }: HttpAnswer): readonly (readonly string[])[] =>
    (json["warnings"] as readonly Shown[]).map(({ ruleId, location }) => [ruleId, location]);

  test("what JSON can say comes back whole: the same UBL, octet by octet, and nothing to warn of", async () => {
    const ubl = await toUbl(RICH);
    expect([sumOf(ubl, "PayableAmount"), sumOf(ubl, "PrepaidAmount")]).toEqual(["27.05", "4.00"]);
    const answer = await toJson(ubl);
    expect([answer.status, answer.json["warnings"]], answer.text).toEqual([200, []]);
    expect(await toUbl(answer.json["document"])).toBe(ubl);
    expect(answer.json["document"]).toMatchObject({
      documentType: "invoice",
      receiverDic: "2020202020",
      receiverStreet: "Hlavná 48",
      receiverCity: "Košice",
      receiverPostalCode: "040 01",
      iban: "SK3112000000198742637541",
      variableSymbol: "20260042",
      note: "Prvý riadok\nDruhý riadok",
      paymentTerms: "14 dní",
      documentDiscountPercent: "10",
      prepaidAmount: "4",
      totalAmount: "27.05",
      supplierPeppolId: t.sandbox.sender.participantId,
      items: [
        { quantity: "10", unit: "H87", unitPrice: "2.35", vatRate: "5", vatCategoryCode: "S", discount: "20" },
        { quantity: "0.5", unit: "HUR", unitPrice: "24", vatRate: "23", vatCategoryCode: "S", discount: null },
      ],
      attachments: RICH.attachments,
    });
  });

  test("the sandbox's sample invoice names the demo firms by their company ids, and its sender reads it as JSON", async () => {
    const sample = await http("GET", `${t.sandbox.adminUrl}/admin/sandbox/invoice?lines=5`, {
      authorization: `Bearer ${t.sandbox.admin.token}`,
    });
    expect(sample.status, sample.text).toBe(200);
    const answer = await toJson(sample.text);
    expect([answer.status, answer.json["document"]], answer.text).toMatchObject([
      200,
      { supplierIco: "99000017", receiverIco: "99000025" },
    ]);
  });

  test.each([
    ["credit_note", {}],
    ["self_billing", { receiverIcDph: "SK2020202020" }],
    ["self_billing_credit_note", { receiverIcDph: "SK2020202020" }],
  ])("a %s stays one, and the other party its receiver", async (documentType, more) => {
    const ubl = await toUbl({ ...JSON_INVOICE, ...more, documentType });
    const answer = await toJson(ubl);
    expect([answer.status, answer.json["warnings"]], answer.text).toEqual([200, []]);
    expect(answer.json["document"]).toMatchObject({ documentType, receiverPeppolId: JSON_INVOICE.receiverPeppolId });
    expect(await toUbl(answer.json["document"])).toBe(ubl);
  });

  test("the price of a hundred becomes the price of one, with a warning, and what is to be paid stays", async () => {
    const ubl = await toUbl({ ...JSON_INVOICE, items: [{ ...ITEM, quantity: 1_000, unitPrice: "0.0294" }] });
    const hundred = ubl.replace(
      /<cbc:PriceAmount currencyID="EUR">0\.0294<\/cbc:PriceAmount>/u,
      '<cbc:PriceAmount currencyID="EUR">2.94</cbc:PriceAmount><cbc:BaseQuantity unitCode="H87">100</cbc:BaseQuantity>',
    );
    expect(hundred).not.toBe(ubl);
    const answer = await toJson(hundred);
    expect(warningsOf(answer), answer.text).toContainEqual([
      "JSON-CHANGED",
      "/Invoice/cac:InvoiceLine/cac:Price/cbc:BaseQuantity",
    ]);
    const again = await toUbl(answer.json["document"]);
    expect([sumOf(again, "PayableAmount"), sumOf(again, "PriceAmount")]).toEqual(["30.87", "0.0294"]);

    const parsed = await post("/api/v1/payloads/parse", { xml: hundred });
    expect(parsed.json["lines"]).toMatchObject([{ price: "2.94", baseQuantity: "100" }]);
    expect(parsed.json["invoice"]).toMatchObject({ items: [{ unitPrice: "0.0294" }] });
  });

  test("a charge on the document becomes a line, with a warning, and what is to be paid stays", async () => {
    const ubl = await toUbl({ ...JSON_INVOICE, items: [{ ...ITEM, unitPrice: "20", vatRate: 23 }] });
    const charged = withTexts(ubl, {
      TaxableAmount: "300.00",
      TaxAmount: "69.00",
      TaxExclusiveAmount: "300.00",
      TaxInclusiveAmount: "369.00",
      PayableAmount: "369.00",
    })
      .replace("<cac:TaxTotal>", `${CHARGE("23")}<cac:TaxTotal>`)
      .replace(
        "<cbc:PayableAmount",
        '<cbc:ChargeTotalAmount currencyID="EUR">100.00</cbc:ChargeTotalAmount><cbc:PayableAmount',
      );
    const answer = await toJson(charged);
    expect(warningsOf(answer), answer.text).toContainEqual(["JSON-CHANGED", "/Invoice/cac:AllowanceCharge"]);
    expect(sumOf(await toUbl(answer.json["document"]), "PayableAmount")).toBe("369.00");
  });

  test("what has no member and changes nothing that is owed is a warning with its place", async () => {
    const ubl = await toUbl(JSON_INVOICE);
    const more = ubl
      .replace(
        "<cac:AccountingSupplierParty>",
        "<cac:ContractDocumentReference><cbc:ID>Z-1</cbc:ID></cac:ContractDocumentReference><cac:AccountingSupplierParty>",
      )
      .replace("<cac:Item>", "<cac:Item><cbc:Description>Biely</cbc:Description>");
    expect(warningsOf(await toJson(more))).toEqual(
      expect.arrayContaining([
        ["JSON-UNSAID", "/Invoice/cac:ContractDocumentReference/cbc:ID"],
        ["JSON-UNSAID", "/Invoice/cac:InvoiceLine/cac:Item/cbc:Description"],
      ]),
    );
  });

  test("prepayments keep their sum; the days of their invoices are a warning", async () => {
    const prepayments = [{ amount: "4.00", invoiceNumber: "Z1", date: "2026-11-01" }];
    const answer = await toJson(await toUbl({ ...JSON_INVOICE, prepayments }));
    expect(answer.json["document"]).toMatchObject({ prepaidAmount: "4", precedingInvoiceRef: "Z1" });
    expect(warningsOf(answer)).toEqual([
      ["JSON-UNSAID", "/Invoice/cac:BillingReference/cac:InvoiceDocumentReference/cbc:IssueDate"],
    ]);
  });

  test.each([
    ["the invoice of another firm", {}],
    ["the self-billing of another firm", { documentType: "self_billing", receiverIcDph: "SK2020202020" }],
  ])("%s can be read, and a warning says that the firm of the token would send it", async (_, more) => {
    const sent = { ...JSON_INVOICE, ...more };
    const ubl = await toUbl(sent);
    const role = "documentType" in more ? "AccountingCustomerParty" : "AccountingSupplierParty";
    const foreign = ubl.replace(new RegExp(`(${role}>[^]*?<cbc:EndpointID[^>]*>)[^<]*`, "u"), "$12999999999");
    expect(foreign).not.toBe(ubl);
    const answer = await toJson(foreign);
    expect(warningsOf(answer), answer.text).toContainEqual([
      "JSON-SENDER",
      `/Invoice/cac:${role}/cac:Party/cbc:EndpointID`,
    ]);
    expect([answer.status, answer.json["document"]]).toMatchObject([
      200,
      { receiverPeppolId: JSON_INVOICE.receiverPeppolId, totalAmount: "113.81" },
    ]);
  });

  test("a firm without a VAT id can read the invoice with VAT that it was sent", async () => {
    const bytes = Buffer.from(await toUbl(JSON_INVOICE));
    const nobody = { ico: undefined, dic: undefined, street: undefined, city: undefined, postalCode: undefined };
    const participant = parseParticipantId(JSON_INVOICE.receiverPeppolId);
    const own = { ...nobody, participant, name: "Prijemca", icDph: undefined, country: "SK" };
    const read = convertToJson({ bytes, limits: SCAN_LIMITS, own });
    expect(read).toMatchObject({ kind: "converted", isAnother: false, invoice: { totalAmount: "113.81" } });
  });

  const MONEY = "/Invoice/cac:LegalMonetaryTotal";
  test.each<readonly [string, (ubl: string) => string, readonly (readonly string[])[]]>([
    [
      "an amount that is rounded",
      (ubl) =>
        ubl.replace(
          "<cbc:PayableAmount",
          '<cbc:PayableRoundingAmount currencyID="EUR">0.03</cbc:PayableRoundingAmount><cbc:PayableAmount',
        ),
      [["JSON-SUMS", "items", `${MONEY}/cbc:PayableRoundingAmount`]],
    ],
    [
      "a sum that its lines do not come to",
      (ubl) => ubl.replace(/(<cbc:PayableAmount[^>]*>)[^<]*/u, "$11.00"),
      [["JSON-SUMS", "document", `${MONEY}/cbc:PayableAmount`]],
    ],
    [
      "a corrective invoice",
      (ubl) => ubl.replace("Code>380<", "Code>384<"),
      [["JSON-KIND", "documentType", "/Invoice/cbc:InvoiceTypeCode"]],
    ],
    [
      "an account that is no IBAN",
      (ubl) => ubl.replace("SK3112000000198742637541", "12-345"),
      [["JSON-OTHER", "iban", "/Invoice/cac:PaymentMeans/cac:PayeeFinancialAccount/cbc:ID"]],
    ],
    [
      "a price in the second line that is no exact number",
      (ubl) => ubl.replace(/(<cbc:PriceAmount[^>]*>)32\.8/u, "$10.123456789"),
      [["JSON-OTHER", "items[1].unitPrice", "/Invoice/cac:InvoiceLine[2]/cac:Price/cbc:PriceAmount"]],
    ],
    [
      "a tax of the Canaries",
      (ubl) => ubl.replaceAll("<cbc:ID>S</cbc:ID>", "<cbc:ID>L</cbc:ID>"),
      [["JSON-SUMS", "items", "/Invoice/cac:InvoiceLine/cac:Item/cac:ClassifiedTaxCategory/cbc:ID"]],
    ],
    [
      "a payee, to whom the amount is owed",
      (ubl) =>
        ubl.replace(
          "</cac:AccountingCustomerParty>",
          "$&<cac:PayeeParty><cac:PartyName><cbc:Name>Faktor, a. s.</cbc:Name></cac:PartyName></cac:PayeeParty>",
        ),
      [["JSON-ELEMENT", "document", "/Invoice/cac:PayeeParty"]],
    ],
    [
      "a tax representative of the seller",
      (ubl) =>
        ubl.replace(
          "</cac:AccountingCustomerParty>",
          "$&<cac:TaxRepresentativeParty><cac:PartyName><cbc:Name>Zástupca</cbc:Name></cac:PartyName></cac:TaxRepresentativeParty>",
        ),
      [["JSON-ELEMENT", "document", "/Invoice/cac:TaxRepresentativeParty"]],
    ],
    [
      "VAT in a second currency",
      (ubl) =>
        ubl
          .replace("</cbc:DocumentCurrencyCode>", "$&<cbc:TaxCurrencyCode>CZK</cbc:TaxCurrencyCode>")
          .replace(
            "</cac:TaxTotal>",
            '$&<cac:TaxTotal><cbc:TaxAmount currencyID="CZK">500.00</cbc:TaxAmount></cac:TaxTotal>',
          ),
      [["JSON-ELEMENT", "document", "/Invoice/cac:TaxTotal[2]"]],
    ],
  ])("%s is 422, and the finding names the element", async (_, changed, expected) => {
    const ubl = await toUbl(JSON_INVOICE);
    expect(changed(ubl)).not.toBe(ubl);
    const answer = await toJson(changed(ubl));
    expect([answer.status, answer.json["valid"], answer.json["document"]], answer.text).toEqual([
      422,
      false,
      undefined,
    ]);
    expect(errorsOf(answer)).toEqual(expected);
  });

  test("1,500 lines are 422: none of them is dropped in silence", async () => {
    const ubl = await toUbl({ ...JSON_INVOICE, items: [ITEM] });
    const line = /<cac:InvoiceLine>[^]*<\/cac:InvoiceLine>/u.exec(ubl)?.[0] ?? "";
    const answer = await toJson(ubl.replace(line, line.repeat(1_500)));
    expect(answer.status).toBe(422);
    expect(errorsOf(answer)).toContainEqual(["JSON-LIST", "items", "/"]);
  });

  test("an answer to an invoice is none, and what is said about it is in the language that is asked for", async () => {
    const ubl = await toUbl(JSON_INVOICE);
    const answer = await toJson(ubl.replace("Code>380<", "Code>384<"), "sk");
    expect([answer.headers.get("content-language"), (answer.json["errors"] as Shown[])[0]?.message]).toEqual([
      "sk",
      "Tomuto typu dokladu nezodpovedá žiadny documentType.",
    ]);
    const other = await toJson(
      '<ApplicationResponse xmlns="urn:oasis:names:specification:ubl:schema:xsd:ApplicationResponse-2"/>',
    );
    expect([other.status, other.json["error"]]).toMatchObject([422, { details: [{ ruleId: "UBL-ROOT" }] }]);
  });
});
