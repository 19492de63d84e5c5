/** spec/rulings.md, section 13, Reporting, over HTTP on both forms of the server. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { reportingRoutes } from "../../../gateway/routes/reporting.js";
import { http } from "../../support/engines/engine.js";
import { serverForms, startGateway, TEST_FIRM, testCaller } from "../../support/engines/gateway.js";
import { publishedDocuments } from "../../support/engines/published-rows.js";
import type { TestGateway } from "../../support/engines/gateway.js";

const ID = "018f6a3e-0000-7000-8000-000000000009";
const BEARER = { authorization: "Bearer good" };

const SUBMISSION = {
  id: ID,
  reportType: "TSR",
  period: "2026-10",
  status: "delivered",
  sha256: "ab",
  createdAt: "2026-11-01T06:00:00.000Z",
  submittedAt: null,
} as const;

describe.each(serverForms)("reporting over %s", (form) => {
  let gateway: TestGateway;
  const asked: unknown[] = [];
  beforeAll(async () => {
    gateway = await startGateway(
      form,
      reportingRoutes({
        statistics: (firmId, period) => {
          asked.push([firmId, period]);
          return Promise.resolve({
            period: { from: "2026-11-01", to: "2026-11-30" },
            month: "2026-11",
            from: "2026-11-01T00:00:00.000Z",
            to: "2026-12-01T00:00:00.000Z",
            incoming: 1,
            outgoing: 2,
            documentTypes: [],
            sent: { total: 2, by_type: { invoice: 2 } },
            received: { total: 1, by_type: { credit_note: 1 } },
            delivery_rate: 0.5,
            top_recipients: [{ peppol_id: "0245:1", count: 2 }],
            top_senders: [],
            upcoming: [{ mandatory_from: "2027-02-24", judged: 2, failing: 1 }],
          });
        },
        submissions: (type, page) => {
          const items = type === "EUSR" ? [] : [SUBMISSION];
          return Promise.resolve({ submissions: items, items, total: items.length, ...page });
        },
      }),
    );
  });
  afterAll(() => gateway.drain());
  const get = (path: string, headers: Record<string, string> = BEARER): ReturnType<typeof http> =>
    http("GET", `${gateway.origin}/api/v1${path}`, headers);

  test("GET /reporting/statistics: the caller's firm and the period asked for, with the members that clients read", async () => {
    const queries = ["period=2026-10", "period=quarter", "from=2026-10-01&to=2026-10-31", ""];
    for (const query of queries) {
      const { status, json } = await get(`/reporting/statistics?${query}`);
      expect([query, status]).toEqual([query, 200]);
      expect(json).toMatchObject({
        period: { from: "2026-11-01", to: "2026-11-30" },
        incoming: 1,
        outgoing: 2,
        sent: { total: 2, by_type: { invoice: 2 } },
        received: { total: 1 },
        delivery_rate: 0.5,
        top_recipients: [{ peppol_id: "0245:1", count: 2 }],
        top_senders: [],
        upcoming: [{ mandatory_from: "2027-02-24", judged: 2, failing: 1 }],
      });
    }
    expect(asked).toEqual([
      [TEST_FIRM, { period: "2026-10" }],
      [TEST_FIRM, { period: "quarter" }],
      [TEST_FIRM, { from: "2026-10-01", to: "2026-10-31" }],
      [TEST_FIRM, {}],
    ]);
  });

  test.each([
    ["period=2026", "period"],
    ["period=2026-13", "period"],
    ["period=2026-1", "period"],
    ["period=2026-10-01", "period"],
    ["period=week", "period"],
    ["period=toString", "period"],
    ["period=0000-01", "period"],
    ["period=9999-12", "period"],
    ["period=1899-12", "period"],
    ["from=1899-12-31&to=1900-01-01", "from"],
    ["from=9998-12-31&to=9999-01-01", "to"],
    ["period=", "period"],
    ["period=2026-10&from=2026-10-01&to=2026-10-31", "period"],
    ["from=2026-02-30&to=2026-03-01", "from"],
    ["from=x&to=2026-03-01", "from"],
    ["to=2026-03-01", "from"],
    ["from=2026-03-01", "to"],
    ["from=2026-03-01&to=2026-3-2", "to"],
    ["from=2026-03-02&to=2026-03-01", "to"],
  ])("statistics of a period that is none, %s, are 400 naming %s", async (query, field) => {
    const { status, json } = await get(`/reporting/statistics?${query}`);
    expect(status).toBe(400);
    expect(JSON.stringify(json)).toContain(`"${field}"`);
  });

  test("GET /reporting/submissions pages by limit and offset; a bad value is 400 naming it", async () => {
    expect((await get("/reporting/submissions?limit=5&offset=10")).json).toMatchObject({
      items: [{ id: ID }],
      total: 1,
      limit: 5,
      offset: 10,
    });
    expect((await get("/reporting/submissions")).json).toMatchObject({ limit: 100, offset: 0 });
    // As it is described, so that a generated client sends no number that is refused.
    const described = publishedDocuments as unknown as Record<
      string,
      { paths: Record<string, { get: { parameters: { name?: string; schema?: object }[] } }> }
    >;
    const { parameters = [] } = described["enterprise"]?.paths["/api/v1/reporting/submissions"]?.get ?? {};
    expect(Object.fromEntries(parameters.map(({ name, schema }) => [name, schema]))).toMatchObject({
      limit: { type: "integer", minimum: 1, maximum: 100 },
      offset: { type: "integer", minimum: 0 },
    });
    for (const [query, field] of [
      ["limit=0", "limit"],
      ["limit=101", "limit"],
      ["limit=x", "limit"],
      ["offset=-1", "offset"],
      ["offset=1.5", "offset"],
    ] as const) {
      const { status, json } = await get(`/reporting/submissions?${query}`);
      expect([query, status]).toEqual([query, 400]);
      expect(JSON.stringify(json)).toContain(`"${field}"`);
    }
  });

  test("GET /reporting/submissions?report_type=EUSR|TSR", async () => {
    expect((await get("/reporting/submissions")).json).toMatchObject({
      submissions: [{ id: ID, reportType: "TSR", submittedAt: null }],
    });
    expect((await get("/reporting/submissions?report_type=EUSR")).json).toMatchObject({
      submissions: [],
      items: [],
      total: 0,
    });
    expect((await get("/reporting/submissions?report_type=tsr")).status).toBe(400);
  });

  test("without a token 401, without documents:read 403", async () => {
    expect((await get("/reporting/statistics", {})).status).toBe(401);
    const narrow = await startGateway(
      form,
      reportingRoutes({
        statistics: () => Promise.reject(new Error("asked")),
        submissions: () => Promise.reject(new Error("asked")),
      }),
      {
        ports: { authenticate: () => testCaller({ scopes: new Set(["documents:send"]) }) },
      },
    );
    expect((await http("GET", `${narrow.origin}/api/v1/reporting/submissions`, BEARER)).status).toBe(403);
    await narrow.drain();
  });
});
