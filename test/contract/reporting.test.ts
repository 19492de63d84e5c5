/** spec/rulings.md, section 13, Reporting, over HTTP on both forms of the server. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { reportingRoutes } from "../../gateway/routes/reporting.js";
import { http } from "../support/engine.js";
import { serverForms, startGateway, TEST_FIRM, testCaller } from "../support/gateway.js";
import type { TestGateway } from "../support/gateway.js";

const ID = "018f6a3e-0000-7000-8000-000000000009";
const BEARER = { authorization: "Bearer good" };

describe.each(serverForms)("reporting over %s", (form) => {
  let gateway: TestGateway;
  const asked: unknown[] = [];
  beforeAll(async () => {
    gateway = await startGateway(
      form,
      reportingRoutes({
        statistics: (firmId, month) => {
          asked.push([firmId, month]);
          return Promise.resolve({
            period: month ?? "2026-11",
            from: "2026-11-01T00:00:00.000Z",
            to: "2026-12-01T00:00:00.000Z",
            incoming: 1,
            outgoing: 2,
            documentTypes: [],
          });
        },
        submissions: (type) =>
          Promise.resolve({
            submissions:
              type === "EUSR"
                ? []
                : [
                    {
                      id: ID,
                      reportType: "TSR",
                      period: "2026-10",
                      status: "delivered",
                      sha256: "ab",
                      createdAt: "2026-11-01T06:00:00.000Z",
                      submittedAt: null,
                    },
                  ],
          }),
      }),
    );
  });
  afterAll(() => gateway.drain());
  const get = (path: string, headers: Record<string, string> = BEARER): ReturnType<typeof http> =>
    http("GET", `${gateway.origin}/api/v1${path}`, headers);

  test("GET /reporting/statistics?period: the caller's firm, the named month or the current one", async () => {
    expect((await get("/reporting/statistics?period=2026-10")).json).toMatchObject({
      period: "2026-10",
      incoming: 1,
      outgoing: 2,
    });
    expect((await get("/reporting/statistics")).status).toBe(200);
    expect(asked).toEqual([
      [TEST_FIRM, "2026-10"],
      [TEST_FIRM, undefined],
    ]);
  });

  test.each(["2026", "2026-13", "2026-1", "2026-10-01", "x", "0000-01", "9999-12"])(
    "period=%s is 400",
    async (period) => {
      expect((await get(`/reporting/statistics?period=${period}`)).status).toBe(400);
    },
  );

  test("GET /reporting/submissions?report_type=EUSR|TSR", async () => {
    expect((await get("/reporting/submissions")).json).toMatchObject({
      submissions: [{ id: ID, reportType: "TSR", submittedAt: null }],
    });
    expect((await get("/reporting/submissions?report_type=EUSR")).json).toEqual({ submissions: [] });
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
