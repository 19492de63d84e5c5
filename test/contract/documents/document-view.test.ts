/** spec/shapes.md, sections 6 and 9: documents as people read them, over HTTP on both forms of the server. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { Refusal } from "../../../engine/base/errors.js";
import { documentViewRoutes } from "../../../gateway/routes/documents/view.js";
import { http } from "../../support/engines/engine.js";
import type { HttpAnswer } from "../../support/engines/engine.js";
import { serverForms, startGateway, TEST_FIRM, testCaller } from "../../support/engines/gateway.js";
import type { TestGateway } from "../../support/engines/gateway.js";
import { drawn, invoiceSaying } from "../../support/documents/views.js";

const KNOWN = "018f6a3e-0000-7000-8000-000000000001";
const MISSING = "018f6a3e-0000-7000-8000-000000000002";
const BEARER = { authorization: "Bearer good" };

describe.each(serverForms)("documents to be read over %s", (form) => {
  let gateway: TestGateway;
  const asked: unknown[] = [];
  beforeAll(async () => {
    gateway = await startGateway(
      form,
      documentViewRoutes({
        document: async (firmId, id, { language, format }) => {
          asked.push([firmId, language, format]);
          if (id !== KNOWN) throw new Refusal("NOT_FOUND");
          return {
            kind: "shown",
            bytes: drawn(invoiceSaying({}), language, format),
            number: "Faktúra 2026/17\r\nX: 1",
          };
        },
        view: async (payload, { language, format }) =>
          payload.length < 100
            ? {
                kind: "refused",
                findings: [{ ruleId: "XML-TAG", layer: "xml", severity: "fatal", location: "/", message: "No XML." }],
              }
            : { kind: "shown", bytes: drawn(payload, language, format), number: "1" },
      }),
      { ports: { authenticate: () => testCaller({ scopes: new Set(["documents:read"]) }) } },
    );
  });
  afterAll(() => gateway.drain());
  const get = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<HttpAnswer> =>
    http("GET", `${gateway.origin}/api/v1${path}`, { ...BEARER, ...headers });
  const post = (body: string, headers: Readonly<Record<string, string>> = {}): Promise<HttpAnswer> =>
    http("POST", `${gateway.origin}/validate/view`, { "content-type": "application/xml", ...headers }, body);

  test("`GET /documents/{id}` … a picture of the invoice (HTML) beside its XML: a page of the firm's document, which can do nothing", async () => {
    const page = await get(`/documents/${KNOWN}/html`);
    expect(page.status).toBe(200);
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'sha256-.*; sandbox$/u);
    expect(page.headers.get("content-security-policy")).not.toMatch(/unsafe|https?:|\*/u);
    expect(page.headers.get("x-content-type-options")).toBe("nosniff");
    expect(page.headers.get("cache-control")).toBe("no-store");
    expect(page.text).toContain("<!DOCTYPE html>");
    expect(asked.at(-1)).toEqual([TEST_FIRM, "en", "html"]);
  });

  test.each([
    ["", undefined, "en"],
    ["", "sk-SK,sk;q=0.9,en;q=0.5", "sk"],
    ["", "cs", "sk"],
    ["", "de", "en"],
    ["?lang=en", "sk", "en"],
    ["?lang=sk", undefined, "sk"],
  ])("%s with Accept-Language %s is told in %s", async (query, accept, language) => {
    const page = await get(
      `/documents/${KNOWN}/html${query}`,
      accept === undefined ? {} : { "accept-language": accept },
    );
    expect([page.status, page.headers.get("content-language")]).toEqual([200, language]);
    expect(page.text).toContain(`<html lang="${language}">`);
  });

  test("`GET /documents/{id}` … `/pdf`: a file that is named after the number, whatever stands in it", async () => {
    const file = await get(`/documents/${KNOWN}/pdf?lang=sk`);
    expect([file.status, file.headers.get("content-type")]).toEqual([200, "application/pdf"]);
    expect(file.headers.get("content-disposition")).toBe('inline; filename="Fakt-ra-2026-17-X-1.pdf"');
    expect(file.headers.get("content-language")).toBe("sk");
    expect(file.text.startsWith("%PDF-1.7")).toBe(true);
    expect(asked.at(-1)).toEqual([TEST_FIRM, "sk", "pdf"]);
    expect((await get(`/documents/${MISSING}/pdf`)).status).toBe(404);
    expect((await get(`/documents/${KNOWN}/pdf?lang=xx`)).status).toBe(400);
  });

  test("a language that is none of ours is 400 and names its field; a document that is missing or no id is 404", async () => {
    const foreign = await get(`/documents/${KNOWN}/html?lang=de`);
    expect([foreign.status, foreign.text]).toEqual([400, expect.stringContaining("lang")]);
    expect((await get(`/documents/${MISSING}/html`)).status).toBe(404);
    expect((await get("/documents/1/html")).status).toBe(404);
  });

  test("anybody has a document drawn that is not stored; what is no invoice is 422 and says what is wrong", async () => {
    const page = await post(invoiceSaying({}).toString("utf8"), { "accept-language": "sk" });
    expect([page.status, page.headers.get("content-language")]).toEqual([200, "sk"]);
    expect(page.headers.get("content-security-policy")).toMatch(/sandbox$/u);
    expect(page.text).toContain("Dodávateľ");
    const refused = await post("hello");
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining("XML-TAG")]);
    expect((await post("{}", { "content-type": "application/json" })).status).toBe(415);
  });
});
