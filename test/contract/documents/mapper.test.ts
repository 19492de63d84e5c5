/**
 * POST /connector/mapper over HTTP, on both forms of the server. Test names quote spec/enterprise.md, Connector, and
 * spec/rulings.md, section 11, Mapper.
 */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import type { Clock } from "../../../engine/base/clock.js";
import { connectorCreateBody } from "../../../engine/invoices/connector/create-body.js";
import { accessToken, http, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { serverForms } from "../../support/engines/gateway.js";
import { newPartner } from "../../support/callers/partners.js";

const SELLER = "demo-sender";
const SOURCE = {
  cisloFaktury: "2026-0042",
  datumVystavenia: "20. 11. 2026",
  datumSplatnosti: "04.12.2026",
  odberatel: {
    nazov: "Prijemca, a. s.",
    ico: "12345678",
    dic: "2020202020",
    adresa: "Hlavná 48, 040 01 Košice",
    krajina: "Slovensko",
  },
  polozky: [
    { nazov: "Papier A4", mnozstvo: "3", mj: "ks", cenaBezDph: "23,90", sadzbaDph: "23 %" },
    { nazov: "Účtovníctvo", mnozstvo: 1, mj: "ks", cenaBezDph: 32.8, sadzbaDph: 5 },
  ],
  sumaKUhrade: "122,63 €",
  interneCislo: "x-1",
};

const errorOf = (answer: HttpAnswer): Record<string, unknown> => answer.json["error"] as Record<string, unknown>;

describe.each(serverForms)("the mapper over %s", (form) => {
  let t: TestEngine;
  let token: string;
  let monotonic = 0;
  const clock: Clock = { now: () => Date.parse("2026-11-20T09:00:00.000Z"), monotonic: () => monotonic };

  beforeAll(async () => {
    t = await startTestEngine({ form, clock });
    token = await accessToken(t.sandbox, t.sandbox.integrator);
  });
  afterAll(() => t.stop());
  // Each test has a window of the rate limits of its own.
  beforeEach(() => {
    monotonic += 120_000;
  });

  const post = (body: unknown, headers: Record<string, string> = {}): Promise<HttpAnswer> =>
    http(
      "POST",
      `${t.sandbox.baseUrl}/connector/mapper`,
      { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
      JSON.stringify(body),
    );
  const json = (sourceJson: unknown, more: object = {}): Promise<HttpAnswer> =>
    post({ customerRef: SELLER, sourceType: "json", sourceJson, execute: "preview", ...more });

  // rulings §11: {templateKey?, sourceType, sourceText?, sourceJson?, customerRef, execute:"preview", fieldMap?, defaults?}
  // → {preview{document}, confidence per field, unmapped[], issues[]}; the preview's document is a valid create body
  test("POST /connector/mapper converts JSON into a sendable document: preview, confidence per field, unmapped, issues", async () => {
    const answer = await json(SOURCE);
    expect(answer.status, answer.text).toBe(200);
    const { preview, confidence, unmapped, issues } = answer.json as {
      preview: { document: unknown; ready: boolean };
      confidence: Record<string, number>;
      unmapped: string[];
      issues: { code: string; severity: string }[];
    };
    expect(connectorCreateBody.parse(preview.document)).toEqual({
      customerRef: SELLER,
      externalId: "2026-0042",
      number: "2026-0042",
      issueDate: "2026-11-20",
      dueDate: "2026-12-04",
      currency: "EUR",
      recipient: {
        country: "SK",
        name: "Prijemca, a. s.",
        companyId: "12345678",
        taxId: "2020202020",
        address: { street: "Hlavná 48", city: "Košice", postalCode: "040 01" },
      },
      lines: [
        { description: "Papier A4", quantity: 3, unit: "H87", unitPrice: 23.9, vatRate: 23 },
        { description: "Účtovníctvo", quantity: 1, unit: "H87", unitPrice: 32.8, vatRate: 5 },
      ],
    });
    expect(preview.ready).toBe(true);
    expect(confidence["lines[1].unitPrice"]).toBeGreaterThan(0.9);
    expect(Object.values(confidence).every((value) => value > 0 && value <= 1)).toBe(true);
    expect(unmapped).toEqual(["interneCislo"]);
    expect(issues.filter(({ severity }) => severity !== "information")).toEqual([]);
  });

  test("a source that leaves out what an invoice needs: each missing member is an issue, and the preview is not ready", async () => {
    const answer = await json({ faktura: { cislo: "1" }, polozky: [{ nazov: "Papier", cenaBezDph: "1,50" }] });
    expect(answer.status).toBe(200);
    expect((answer.json["preview"] as { ready: boolean }).ready).toBe(false);
    const missing = (answer.json["issues"] as { code: string; field: string }[])
      .filter(({ code }) => code === "MISSING")
      .map(({ field }) => field);
    expect(missing).toEqual(["recipient.name", "recipient.country", "recipient", "lines[0].vatRate"]);
  });

  const bodyOf = (recipient: object): object => ({
    externalId: `filled-${Object.entries(recipient).flat().join("-")}`,
    number: "F-9",
    recipient: { country: "SK", ...recipient },
    lines: [{ description: "Papier", quantity: 2, unitPrice: 10, vatRate: 23 }],
  });
  const issuesOf = (answer: HttpAnswer): readonly string[] =>
    (answer.json["issues"] as { code: string; severity: string; field?: string }[]).map(
      ({ code, severity, field = "" }) => `${severity} ${code} ${field}`,
    );

  // spec/enterprise.md, Connector, createDocument: the specification's own body names a recipient by country and one id.
  test.each([
    ["taxId", "2120000025"],
    ["taxId", "99000025"],
    ["companyId", "99000025"],
    ["vatId", "SK2120000025"],
    ["networkId", "0245:2120000025"],
  ])(
    "a body without name and dueDate whose recipient has a %s is ready, and the Connector accepts it",
    async (id, value) => {
      const answer = await json(bodyOf({ [id]: value }));
      expect(answer.status, answer.text).toBe(200);
      const { ready, document } = answer.json["preview"] as { ready: boolean; document: unknown };
      expect([ready, issuesOf(answer)]).toEqual([
        true,
        ["information FILLED_IN recipient.name", "information FILLED_IN dueDate"],
      ]);
      const made = await http(
        "POST",
        `${t.sandbox.baseUrl}/connector/documents`,
        { authorization: `Bearer ${token}`, "content-type": "application/json" },
        JSON.stringify(document),
      );
      expect(made.status, made.text).toBe(201);
    },
  );

  test("a Slovak tax id with another number of digits is an issue: the Connector would take it for nobody's", async () => {
    const answer = await json(bodyOf({ taxId: "212000002" }));
    expect((answer.json["preview"] as { ready: boolean }).ready).toBe(false);
    expect(issuesOf(answer)).toContain("error INVALID recipient.taxId");
    const elsewhere = await json(bodyOf({ taxId: "212000002", country: "CZ" }));
    expect(issuesOf(elsewhere)).not.toContain("error INVALID recipient.taxId");
  });

  test("a name is missing where no identifier leads to one", async () => {
    const answer = await json(bodyOf({}));
    expect((answer.json["preview"] as { ready: boolean }).ready).toBe(false);
    expect(issuesOf(answer)).toContain("error MISSING recipient.name");
  });

  test("a day that cannot be read is an error, and nothing is filled in for it", async () => {
    const answer = await json({ ...bodyOf({ taxId: "2120000025" }), dueDate: "soon" });
    expect(issuesOf(answer)).toEqual(["error NOT_A_DATE dueDate", "information FILLED_IN recipient.name"]);
  });

  test("sums are compared although the directory fills in the name", async () => {
    const answer = await json({ ...bodyOf({ taxId: "2120000025" }), issueDate: "2026-11-20", totalAmount: 99 });
    expect(issuesOf(answer)).toContain("error TOTALS_DIFFER lines");
  });

  test("fieldMap names what is called otherwise, defaults what the source leaves out", async () => {
    const answer = await json(
      { kopf: { a1: "F-1" }, teile: [{ w: "Papier", m: "2", p: "10" }] },
      {
        fieldMap: {
          number: "kopf.a1",
          lines: "teile",
          "lines[].description": "w",
          "lines[].quantity": "m",
          "lines[].unitPrice": "teile.p",
        },
        defaults: {
          "recipient.country": "SK",
          recipient: { name: "Prijemca", taxId: "2020202020" },
          lines: { vatRate: 23 },
          dueDate: "2026-12-04",
        },
      },
    );
    expect(answer.status, answer.text).toBe(200);
    expect(answer.json["preview"]).toEqual({
      ready: true,
      document: {
        customerRef: SELLER,
        externalId: "F-1",
        number: "F-1",
        dueDate: "2026-12-04",
        recipient: { country: "SK", name: "Prijemca", taxId: "2020202020" },
        lines: [{ description: "Papier", quantity: 2, unitPrice: 10, vatRate: 23 }],
      },
    });
    expect((answer.json["confidence"] as Record<string, number>)["lines[0].quantity"]).toBe(1);
  });

  test("a name that no create body has is 400 and named, in fieldMap and in defaults", async () => {
    const answer = await json(SOURCE, { fieldMap: { nummer: "x" }, defaults: { lines: { farbe: "rot" } } });
    expect([answer.status, errorOf(answer)["code"]]).toEqual([400, "VALIDATION_ERROR"]);
    const details = errorOf(answer)["details"] as { field: string }[];
    expect(details.map(({ field }) => field)).toEqual(["fieldMap.nummer", "defaults.lines[].farbe"]);
  });

  test.each([
    ["no sourceJson for json", { sourceType: "json" }, "sourceJson"],
    ["no sourceText for csv", { sourceType: "csv", sourceJson: {} }, "sourceText"],
    ["an unknown sourceType", { sourceType: "pdf", sourceText: "x" }, "sourceType"],
    ["another execute than preview", { sourceType: "json", sourceJson: {}, execute: "send" }, "execute"],
  ])("%s is 400 and names the member", async (_, members, field) => {
    const answer = await post({ customerRef: SELLER, ...members });
    expect([answer.status, errorOf(answer)["field"]]).toEqual([400, field]);
  });

  test("a number with more digits than one keeps is 400 and named by its place, not mapped as another", async () => {
    const body = `{"customerRef":"${SELLER}","sourceType":"json","sourceJson":{"a":[{"number":12345678901234567891}]}}`;
    const answer = await http(
      "POST",
      `${t.sandbox.baseUrl}/connector/mapper`,
      { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body,
    );
    expect([answer.status, errorOf(answer)["field"]]).toEqual([400, "sourceJson.a[0].number"]);
  });

  test("a list of documents is 422: one document a call", async () => {
    const answer = await json([SOURCE, SOURCE]);
    expect([answer.status, errorOf(answer)["code"], errorOf(answer)["field"]]).toEqual([
      422,
      "VALIDATION_FAILED",
      "sourceJson",
    ]);
  });

  const csv = (sourceText: string): Promise<HttpAnswer> =>
    post({ customerRef: SELLER, sourceType: "csv", sourceText, execute: "preview" });
  const HEADER =
    "Číslo faktúry;Splatnosť;Odberateľ;DIČ odberateľa;Krajina odberateľa;Popis;Množstvo;Cena bez DPH;Sadzba DPH";
  const ROW = "1;15.12.2026;Prijemca, a. s.;2020202020;SK;Papier;1;10,00;23";

  test("sourceType csv: a table of lines becomes a document", async () => {
    const answer = await csv(`\u{feff}${HEADER}\r\n${ROW}\r\n`);
    expect(answer.status, answer.text).toBe(200);
    expect(answer.json["preview"]).toMatchObject({
      ready: true,
      document: { number: "1", lines: [{ unitPrice: 10 }] },
    });
  });

  test.each([
    ["10 MB in one cell", () => `${HEADER}\n${ROW.replace("Papier", "x".repeat(10_000_000))}`, /octets/u],
    [
      "a cell longer than those of spreadsheets",
      () => `${HEADER}\n${ROW.replace("Papier", "x".repeat(40_000))}`,
      /32767 characters/u,
    ],
    ["100,000 lines", () => `${HEADER}\n${"1;;;;;a;1;1;23\n".repeat(100_000)}`, /5000 rows/u],
    ["a quote that is never closed", () => `${HEADER}\n"1;2`, /closing quote/u],
  ])("csv with %s is 422, and its message says why", async (_, source, why) => {
    const answer = await csv(source());
    expect([answer.status, errorOf(answer)["field"]]).toEqual([422, "sourceText"]);
    expect(JSON.stringify(errorOf(answer)["details"])).toMatch(why);
  });

  test.each([
    ["a DOCTYPE with entities", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "MAPPER-XML-DOCTYPE"],
    ["elements in elements without end", `${"<a>".repeat(100)}${"</a>".repeat(100)}`, "MAPPER-XML-DEPTH"],
    ["more elements than an invoice has", `<a>${"<b/>".repeat(200_001)}</a>`, "MAPPER-XML-ELEMENTS"],
    ["an end that is missing", "<a><b></a>", "MAPPER-XML-MALFORMED"],
  ])("xml with %s is 422 and says which", async (_, sourceText, ruleId) => {
    const answer = await post({ customerRef: SELLER, sourceType: "xml", sourceText });
    expect([answer.status, errorOf(answer)["field"]]).toEqual([422, "sourceText"]);
    expect((errorOf(answer)["details"] as { ruleId: string }[])[0]?.ruleId).toBe(ruleId);
  });

  test("UBL whose amount is owed to a payee is not ready: issues[] names the element, and why", async () => {
    const source = readFileSync(new URL("../../fixtures/mapper/xml-ubl/plain.xml", import.meta.url), "utf8");
    const payee = "<cac:PayeeParty><cac:PartyName><cbc:Name>Faktor, a. s.</cbc:Name></cac:PartyName></cac:PayeeParty>";
    const sourceText = source.replace("</cac:AccountingCustomerParty>", `$&${payee}`);
    const answer = await post({ customerRef: SELLER, sourceType: "xml", sourceText, execute: "preview" });
    expect((answer.json["preview"] as { ready: boolean }).ready).toBe(false);
    expect(answer.json["issues"]).toContainEqual({
      code: "UNSAYABLE",
      severity: "error",
      source: "PayeeParty",
      message: "A create body has no member for this, and the invoice would be another one without it.",
    });
  });

  test("customerRef of another integrator is the same 404 as one that never was; without one it is 400 and named", async () => {
    const never = await json(SOURCE, { customerRef: "never-was" });
    expect([never.status, errorOf(never)["code"]]).toEqual([404, "NOT_FOUND"]);
    const missing = await post({ sourceType: "json", sourceJson: SOURCE });
    expect([missing.status, errorOf(missing)["field"]]).toEqual([400, "customerRef"]);
    const number = await post({ customerRef: 7, sourceType: "json", sourceJson: SOURCE });
    expect([number.status, errorOf(number)["field"]]).toEqual([400, "customerRef"]);
  });

  test("X-Firm-Id is 400: the firm is selected by customerRef", async () => {
    const answer = await post(
      { customerRef: SELLER, sourceType: "json", sourceJson: SOURCE },
      { "x-firm-id": t.sandbox.sender.firmId },
    );
    expect([answer.status, errorOf(answer)["code"]]).toEqual([400, "FIRM_CONTEXT_FORBIDDEN"]);
  });

  test("nothing of the source gets into the log", async () => {
    await json({ ...SOURCE, tajne: "Veľmi tajný text 77" });
    expect(t.lines.join("\n")).not.toContain("tajný");
  });

  describe("templates: a fieldMap under a templateKey", () => {
    const call = (method: string, key: string, body?: unknown, as = token): Promise<HttpAnswer> =>
      http(
        method,
        `${t.sandbox.baseUrl}/connector/mapper/templates${key}`,
        { authorization: `Bearer ${as}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        body === undefined ? undefined : JSON.stringify(body),
      );
    const MAP = { number: "kopf.a1", lines: "teile", "lines[].description": "w", "lines[].quantity": "m" };
    const SOURCE_OF_MAP = { kopf: { a1: "F-1" }, teile: [{ w: "Papier", m: "2", p: "10" }] };

    test("PUT /connector/mapper/templates/{templateKey}: 201 the first time, 200 after; it is listed, read and deleted", async () => {
      const made = await call("PUT", "/erp-7", { fieldMap: MAP });
      expect([made.status, made.json["templateKey"], made.json["fieldMap"]]).toEqual([201, "erp-7", MAP]);
      const again = await call("PUT", "/erp-7", { fieldMap: { ...MAP, "lines[].unitPrice": "p" } });
      expect([again.status, again.json["createdAt"]]).toEqual([200, made.json["createdAt"]]);
      const read = await call("GET", "/erp-7");
      expect([read.status, read.json]).toEqual([200, again.json]);
      expect((await call("GET", "")).json["templates"]).toEqual([again.json]);
      expect([(await call("DELETE", "/erp-7")).status, (await call("DELETE", "/erp-7")).status]).toEqual([204, 404]);
      expect((await call("GET", "")).json["templates"]).toEqual([]);
    });

    // "." and ".." leave no client's URL as they are written; three dots do, and are refused with them.
    test("a templateKey of dots alone is 404: one that no client can name in a path is never kept", async () => {
      expect((await call("PUT", "/...", { fieldMap: MAP })).status).toBe(404);
      const kept = await call("PUT", "/..v1.", { fieldMap: MAP });
      expect([kept.status, kept.json["templateKey"]]).toEqual([201, "..v1."]);
      await call("DELETE", "/..v1.");
    });

    test("templateKey? of the mapper takes the map that was saved; entries of fieldMap go before its own", async () => {
      await call("PUT", "/kept", { fieldMap: MAP });
      const answer = await json(SOURCE_OF_MAP, { templateKey: "kept", fieldMap: { "lines[].unitPrice": "p" } });
      expect(answer.status, answer.text).toBe(200);
      expect(answer.json["preview"]).toMatchObject({
        document: { number: "F-1", lines: [{ description: "Papier", quantity: 2, unitPrice: 10 }] },
      });
      await call("DELETE", "/kept");
    });

    test("a template of another integrator is the same 404 as one that never was, and is not listed", async () => {
      await call("PUT", "/mine", { fieldMap: MAP });
      const other = await newPartner(t);
      const anonymous = ({ status, json: body }: HttpAnswer) => ({
        status,
        ...(body["error"] as object),
        requestId: "",
      });
      const foreign = anonymous(await call("GET", "/mine", undefined, other.key.token));
      expect(foreign).toEqual(anonymous(await call("GET", "/never", undefined, other.key.token)));
      expect(foreign.status).toBe(404);
      expect((await call("DELETE", "/mine", undefined, other.key.token)).status).toBe(404);
      expect((await call("GET", "", undefined, other.key.token)).json["templates"]).toEqual([]);
      const unknown = await json(SOURCE_OF_MAP, { templateKey: "never" });
      expect([unknown.status, errorOf(unknown)["field"]]).toEqual([404, "templateKey"]);
      await call("DELETE", "/mine");
    });

    test("a name that no create body has is 400 and named; a key of another form names nothing", async () => {
      const wrong = await call("PUT", "/erp-7", { fieldMap: { nummer: "x" } });
      expect([wrong.status, errorOf(wrong)["field"]]).toEqual([400, "fieldMap.nummer"]);
      expect((await call("PUT", `/${"x".repeat(65)}`, { fieldMap: MAP })).status).toBe(404);
    });

    test("the hundred and first template is 400, also when many come at once", async () => {
      const full = await newPartner(t);
      const own = await t.db.sql`
        insert into mapper_template (integrator_id, template_key, field_map, created_at, updated_at)
        select ${full.integratorId}, 'k' || i, '{}', now(), now() from generate_series(1, 98) as i`;
      expect(own.count).toBe(98);
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, at) => call("PUT", `/more-${at}`, { fieldMap: MAP }, full.key.token)),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 400, 400, 400, 400]);
      const refused = answers.find(({ status }) => status === 400);
      expect(refused === undefined ? "" : errorOf(refused)["code"]).toBe("TEMPLATE_LIMIT_REACHED");
      expect((await call("PUT", "/k1", { fieldMap: MAP }, full.key.token)).status).toBe(200);
    });
  });
});
