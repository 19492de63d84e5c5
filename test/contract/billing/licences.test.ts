/**
 * Licences over HTTP, one test for each line of spec/enterprise.md, Licence information and Account and licence, and of
 * spec/shapes.md, section 4, on a whole engine that meters.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { isoInstant, systemClock } from "../../../engine/base/clock.js";
import { billingMonthOf } from "../../../engine/billing/months.js";
import { putPlan } from "../../../engine/storage/billing/plans.js";
import { OPERATOR, stampOf } from "../../../engine/identity/audit.js";
import {
  INVOICE_TYPE,
  invoiceXml,
  send,
  sendParts,
  startTestEngine,
  accessToken,
} from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { serverForms } from "../../support/engines/gateway.js";
import {
  answerOffer,
  api,
  bindClient,
  faultOf,
  newClient,
  newFirmKey,
  newPartner,
  tokenOf,
} from "../../support/callers/partners.js";
import type { Client, Partner } from "../../support/callers/partners.js";
import { addCapabilities } from "../../../engine/storage/documents/received.js";
import { BILLING_CAPABILITIES } from "../../../engine/peppol/envelope/identifiers.js";

const [HOUR, DAY] = [3_600_000, 86_400_000];
const CHARGES = [
  "managedFirms",
  "outboundCount",
  "inboundApiCount",
  "outboundCharge",
  "inboundApiCharge",
  "apiUsageCharge",
  "whiteLabelBaseCharge",
  "whiteLabelOverageCharge",
  "totalCharge",
  "exceedsAutoTier",
  "currency",
];
const membersOf = (value: unknown): string[] => Object.keys(value as object);

describe.each(serverForms)("licences in the %s form", (form) => {
  let t: TestEngine;
  let firm: Client;
  let token: string;
  let partner: Partner;
  const licence = (path = "/licenses/info"): Promise<HttpAnswer> => api(t, token, `GET ${path}`);
  const month = billingMonthOf(systemClock.now());

  beforeAll(async () => {
    t = await startTestEngine({ form });
    firm = await newClient(t);
    await addCapabilities(t.db.sql, firm.participantId, BILLING_CAPABILITIES);
    token = (await newFirmKey(t, firm.firmId)).token;
    partner = await newPartner(t);
    await bindClient(t, partner, firm);
  });
  afterAll(() => t.stop());

  const plan = (code: "standard" | "start" | "business", endsIn_ms?: number): Promise<boolean> =>
    putPlan(
      t.db.sql,
      {
        firmId: firm.firmId,
        code,
        expiresAt: endsIn_ms === undefined ? undefined : systemClock.now() + endsIn_ms,
        audit: stampOf(OPERATOR, systemClock),
      },
      systemClock.now(),
    );
  const used = (outbound: number, inbound: number): Promise<unknown> =>
    t.db.sql`
      insert into usage_month (firm_id, month, outbound, inbound)
      values (${firm.firmId}, ${month.first}::date, ${outbound}, ${inbound})
      on conflict (firm_id, month) do update set outbound = ${outbound}, inbound = ${inbound}`;

  // "Firm licence: firm {id, name, sandbox}; plan {code, …, hasApiAccess}; usage {period (YYYY-MM), nextResetAt, …}; pricing {currency, model, outboundTiers[], inboundApiTiers[]}"
  test("a firm without a plan of its own has every member, no limit and no cost", async () => {
    const { status, json } = await licence();
    expect(status).toBe(200);
    expect(json).toEqual({
      firm: { id: firm.firmId, name: "Pekáreň s. r. o.", sandbox: true },
      plan: {
        code: "standard",
        name: "Standard",
        active: true,
        expiresAt: null,
        daysUntilExpiry: null,
        gracePeriodActive: false,
        monthlyBase: 0,
        outboundLimit: null,
        overageRate: null,
        inboundApiRate: null,
        hasApiAccess: true,
      },
      usage: {
        period: month.name,
        nextResetAt: isoInstant(month.ends),
        outboundCount: 0,
        inboundApiCount: 0,
        overageAmount: 0,
        quotaRemaining: null,
        usagePercent: null,
        estimatedMonthCost: 0,
      },
      pricing: {
        currency: "EUR",
        model: "progressive",
        outboundTiers: [{ from: 1, to: null, rate: 0, contactRequired: false }],
        inboundApiTiers: [{ from: 1, to: null, rate: 0, contactRequired: false }],
      },
    });
  });

  test("a plan with a limit tells quota, share, what is above and what the month costs; the account tells the same", async () => {
    // Summer time may begin or end until then.
    await plan("start", 10 * DAY - 2 * HOUR);
    await used(53, 7);
    const { json } = await licence();
    expect(json).toMatchObject({
      plan: {
        code: "start",
        name: "Start",
        active: true,
        daysUntilExpiry: 10,
        gracePeriodActive: false,
        monthlyBase: 5,
        outboundLimit: 50,
        overageRate: 0.12,
        inboundApiRate: 0.06,
        hasApiAccess: true,
      },
      usage: {
        outboundCount: 53,
        inboundApiCount: 7,
        overageAmount: 0.36,
        quotaRemaining: 0,
        usagePercent: 106,
        estimatedMonthCost: 5.78,
      },
      pricing: {
        outboundTiers: [
          { from: 1, to: 50, rate: 0 },
          { from: 51, to: null, rate: 0.12 },
        ],
        inboundApiTiers: [{ from: 1, to: null, rate: 0.06 }],
      },
    });
    const account = await licence("/account");
    expect(account.json).toMatchObject({
      plan: { name: "Start", status: "active" },
      usage: { outbound: 53, inbound: 7, ocr_extractions: 0 },
      limits: { documents_per_month: 50, ocr_per_month: -1 },
    });
    const status = await licence("/auth/status");
    expect(status.json["plan"]).toMatchObject({ name: "Start", active: true });
  });

  test.each([
    ["has ended a moment ago works on in its grace", -60_000, true, true],
    [
      "has ended long ago gives no access to the API any more, and its licence can still be read",
      -15 * DAY,
      false,
      false,
    ],
  ])("a plan that %s", async (_, endsIn_ms, active, gracePeriodActive) => {
    await plan("start", endsIn_ms);
    const { status, json } = await licence();
    expect([status, json["plan"]]).toMatchObject([
      200,
      { active, gracePeriodActive, hasApiAccess: active, daysUntilExpiry: 0 },
    ]);
    expect((await licence("/account")).json["plan"]).toEqual({ name: "Start", status: active ? "active" : "expired" });
    await plan("standard");
  });

  // "401, 403, 404", "X-Firm-Id with a central key"
  test("a licence is read with account:read, by an integrator for a firm that it names", async () => {
    const lacking = await newFirmKey(t, firm.firmId, ["documents:send"]);
    const refused = await api(t, lacking.token, "GET /licenses/info");
    expect([refused.status, (refused.json["error"] as Record<string, unknown>)["required_scope"]]).toEqual([
      403,
      "account:read",
    ]);
    const central = await tokenOf(t, partner.key);
    expect(faultOf(await api(t, central, "GET /licenses/info"))).toEqual([400, "FIRM_CONTEXT_REQUIRED"]);
    const named = await api(t, central, "GET /licenses/info", { headers: { "x-firm-id": firm.firmId } });
    expect([named.status, named.json["firm"]]).toMatchObject([200, { id: firm.firmId }]);
  });

  // "Integrator licence: integrator {…}; period; nextResetAt; billable {…}; nonManaged {…}; exceedsAutoTier; contactThreshold; pricing {…}"; shapes: "sandbox{…}; productionEstimate{as billable}; firms[…]; pagination{limit,offset,total}"
  test("an integrator's licence has every member; a firm that agreed to be managed is its cost, synthetic ones an estimate", async () => {
    await used(1_500, 200);
    const central = await tokenOf(t, partner.key);
    const before = await api(t, central, "GET /integrator/licenses/info");
    expect(before.json["nonManaged"]).toEqual({ firms: 1, outboundCount: 1_500, inboundApiCount: 200 });
    const offer = await api(t, central, "POST /consent-offers", {
      body: {
        targetIdentifier: firm.ico,
        relationshipMode: "managed_service",
        requestedScopes: ["documents:send", "documents:read"],
      },
    });
    expect(offer.status).toBe(201);
    await answerOffer(t, String(offer.json["id"]), firm.firmId);
    const { status, json } = await api(t, central, "GET /integrator/licenses/info?limit=1&offset=0");
    expect(status).toBe(200);
    expect(membersOf(json).sort()).toEqual(
      [
        "integrator",
        "period",
        "nextResetAt",
        "billable",
        "nonManaged",
        "sandbox",
        "productionEstimate",
        "exceedsAutoTier",
        "contactThreshold",
        "pricing",
        "firms",
        "pagination",
      ].sort(),
    );
    expect(membersOf(json["billable"])).toEqual(CHARGES);
    expect(membersOf(json["productionEstimate"])).toEqual(CHARGES);
    expect(json).toMatchObject({
      integrator: { id: partner.integratorId, name: "Účtovníctvo Plus", plan: "technical", monthlyDocumentLimit: null },
      period: month.name,
      nextResetAt: isoInstant(month.ends),
      billable: { managedFirms: 0, totalCharge: 0, currency: "EUR" },
      nonManaged: { firms: 0, outboundCount: 0, inboundApiCount: 0 },
      sandbox: { firms: 1, outboundCount: 1_500, inboundApiCount: 200 },
      productionEstimate: { managedFirms: 1, outboundCharge: 140, inboundApiCharge: 16, totalCharge: 156 },
      exceedsAutoTier: false,
      contactThreshold: 20_000,
      pricing: {
        scheduleVersion: expect.stringMatching(/./) as unknown,
        model: "progressive",
        currency: "EUR",
        thresholdScope: "per_direction",
        contactThreshold: 20_000,
        marginalBandStartsAt: 20_001,
      },
      firms: [
        {
          firmId: firm.firmId,
          name: "Pekáreň s. r. o.",
          ico: firm.ico,
          managed: true,
          sandbox: true,
          billable: false,
          outboundCount: 1_500,
          inboundApiCount: 200,
          rebillingEstimate: { outboundCharge: 0, inboundApiCharge: 0, totalCharge: 0, currency: "EUR" },
        },
      ],
      pagination: { limit: 1, offset: 0, total: 1 },
    });
  });

  // sapi.md, Limits: "1 to 1,000 | 0.10 EUR | 0.08 EUR", "1,001 to 2,000 | 0.08 EUR | 0.07 EUR", "2,001 to 5,000 | 0.06 EUR | 0.06 EUR",
  // "5,001 to 20,000 | 0.05 EUR | 0.05 EUR"; enterprise.md: "Document 20,001 and every later one in either direction cost 0.04 EUR"
  test("the price schedule of an integrator is the published one, row by row", async () => {
    const { json } = await api(t, await tokenOf(t, partner.key), "GET /integrator/licenses/info");
    const { outboundTiers, inboundApiTiers } = json["pricing"] as Record<string, Record<string, unknown>[]>;
    const published = [
      [1, 1_000, 0.1, 0.08],
      [1_001, 2_000, 0.08, 0.07],
      [2_001, 5_000, 0.06, 0.06],
      [5_001, 20_000, 0.05, 0.05],
      [20_001, null, 0.04, 0.04],
    ] as const;
    expect(outboundTiers).toEqual(published.map(([from, to, rate]) => ({ from, to, rate, contactRequired: false })));
    expect(inboundApiTiers).toEqual(
      published.map(([from, to, , rate]) => ({ from, to, rate, contactRequired: false })),
    );
  });

  // "no X-Firm-Id. Query offset (integer, min 0, default 0), limit (integer, 1 to 100, default 50)"
  test("an integrator's licence takes offset and limit within their bounds, and no X-Firm-Id", async () => {
    const central = await tokenOf(t, partner.key);
    const get = (query: string, headers = {}): Promise<HttpAnswer> =>
      api(t, central, `GET /integrator/licenses/info${query}`, { headers });
    expect((await get("")).json["pagination"]).toEqual({ limit: 50, offset: 0, total: 1 });
    expect((await get("?limit=100&offset=5")).json).toMatchObject({ firms: [], pagination: { limit: 100, offset: 5 } });
    for (const [query, field] of [
      ["?limit=0", "limit"],
      ["?limit=101", "limit"],
      ["?offset=-1", "offset"],
      ["?offset=x", "offset"],
    ] as const) {
      const answer = await get(query);
      expect([faultOf(answer), JSON.stringify(answer.json).includes(`"field":"${field}"`)]).toEqual([
        [400, "VALIDATION_ERROR"],
        true,
      ]);
    }
    expect(faultOf(await get("", { "x-firm-id": firm.firmId }))).toEqual([400, "FIRM_CONTEXT_FORBIDDEN"]);
    expect(faultOf(await api(t, token, "GET /integrator/licenses/info"))).toEqual([403, "PARTNER_NOT_AUTHORIZED"]);
  });

  // spec/rulings.md, section 5: "Only `delivered` counts as a billable outbound document"
  test("a delivered document counts for its sender, soon after", async () => {
    const { sender } = t.sandbox;
    const sapiToken = await accessToken(t.sandbox, sender);
    const mailbox = { participantId: sender.participantId, token: sapiToken };
    const xml = invoiceXml(sender.participantId, firm.participantId);
    const sent = await send(t.sandbox, mailbox, sendParts(sender.participantId, firm.participantId, xml));
    expect([sent.status, INVOICE_TYPE.length > 0]).toEqual([202, true]);
    await eventually("the meter has counted it", async () => {
      const rows = await t.db.sql<{ readonly outbound: number }[]>`
        select outbound from usage_month where firm_id = (select firm_id from participant where id = ${sender.participantId})`;
      return rows[0]?.outbound === 1;
    });
    const { json } = await api(t, sapiToken, "GET /licenses/info");
    expect(json["usage"]).toMatchObject({ outboundCount: 1, inboundApiCount: 0 });
  });
});
