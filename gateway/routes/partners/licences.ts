/** What firms and integrators may use, have used and will pay. @source spec/enterprise.md, Account and licence */
import { z } from "zod";

import { LIMITS } from "../../../engine/base/limits.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { PLAN_CODES } from "../../../engine/billing/plans.js";
import type { FirmLicence, IntegratorLicence } from "../../../engine/billing/licences.js";
import type { Caller } from "../../../engine/identity/caller.js";
import { wholeNumber } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

interface LicencePorts {
  firmLicence(firmId: FirmId): Promise<FirmLicence>;
  integratorLicence(
    caller: Caller,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<IntegratorLicence>;
}

const COMMON = {
  mounts: ["/api/v1"],
  family: "enterprise",
  method: "GET",
  rate: "enterprise",
  scopes: ["account:read"],
  tag: "Account",
} as const;

const count = z.int();
const amount = z.number().describe("EUR, rounded to cents.");
const rate = z.number().describe("EUR for each document.");
const period = z
  .string()
  .regex(/^\d{4}-\d{2}$/)
  .describe("Month of Europe/Bratislava.");
const nextResetAt = z.iso.datetime().describe("When the next month begins in Europe/Bratislava.");
const currency = z.literal("EUR");
const model = z.literal("progressive").describe("Each band costs its own rate.");

const tier = z
  .object({
    from: count.describe("First document of the band."),
    to: count.nullable().describe("Last document; null for no end."),
    rate,
    contactRequired: z.boolean(),
  })
  .meta({ id: "PriceTier", example: { from: 1, to: 1000, rate: 0.1, contactRequired: false } });

const firmLicence = z.object({
  firm: z.object({ id: z.uuid(), name: z.string(), sandbox: z.boolean() }),
  plan: z.object({
    code: z.enum(PLAN_CODES),
    name: z.string(),
    active: z.boolean().describe("Also in the days of grace after its end."),
    expiresAt: z.iso.datetime().nullable(),
    daysUntilExpiry: count.nullable(),
    gracePeriodActive: z.boolean(),
    monthlyBase: amount,
    outboundLimit: count.nullable().describe("Documents in the base; null for any number."),
    overageRate: rate.nullable(),
    inboundApiRate: rate.nullable(),
    hasApiAccess: z.boolean(),
  }),
  usage: z.object({
    period,
    nextResetAt,
    outboundCount: count.describe("Delivered documents."),
    inboundApiCount: count.describe("Received documents that an API showed for the first time."),
    overageAmount: amount,
    quotaRemaining: count.nullable(),
    usagePercent: z.number().nullable(),
    estimatedMonthCost: amount.describe("Of the month so far, with its base."),
  }),
  pricing: z.object({ currency, model, outboundTiers: z.array(tier), inboundApiTiers: z.array(tier) }),
});

const counts = z.object({ firms: count, outboundCount: count, inboundApiCount: count });
const charges = z
  .object({
    managedFirms: count,
    outboundCount: count,
    inboundApiCount: count,
    outboundCharge: amount,
    inboundApiCharge: amount,
    apiUsageCharge: amount,
    whiteLabelBaseCharge: amount,
    whiteLabelOverageCharge: amount,
    totalCharge: amount.describe("Rounded once, from the exact sum."),
    exceedsAutoTier: z.boolean(),
    currency,
  })
  .meta({ id: "LicenceCharges" });

const integratorLicence = z.object({
  integrator: z.object({
    id: z.uuid(),
    name: z.string(),
    plan: z.enum(["managed", "technical"]),
    monthlyDocumentLimit: count.nullable(),
  }),
  period,
  nextResetAt,
  billable: charges.describe("Firms for which the integrator pays."),
  nonManaged: counts.describe("Firms that pay for themselves."),
  sandbox: counts.describe("Synthetic firms, which nobody pays for."),
  productionEstimate: charges.describe("What it would cost if synthetic firms were real."),
  exceedsAutoTier: z.boolean().describe("Historical: false under this schedule."),
  contactThreshold: count,
  pricing: z.object({
    scheduleVersion: z.string(),
    model,
    currency,
    thresholdScope: z.enum(["combined", "per_direction"]),
    contactThreshold: count,
    marginalBandStartsAt: count,
    outboundTiers: z.array(tier),
    inboundApiTiers: z.array(tier),
  }),
  firms: z.array(
    z.object({
      firmId: z.uuid(),
      name: z.string(),
      ico: z.string().nullable(),
      managed: z.boolean(),
      sandbox: z.boolean(),
      billable: z.boolean(),
      outboundCount: count,
      inboundApiCount: count,
      rebillingEstimate: z
        .object({ outboundCharge: amount, inboundApiCharge: amount, totalCharge: amount, currency })
        .describe("The firm's share of the integrator's charges, by its documents."),
    }),
  ),
  pagination: z.object({ limit: count, offset: count, total: count }),
});

const {
  licence_firms_page_max: PAGE,
  licence_firms_page_default: PAGE_DEFAULT,
  licence_firms_offset_max: OFFSET,
} = LIMITS;

/** Rows of licences. */
export const licenceRoutes = (ports: LicencePorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "firmLicence",
    path: "/licenses/info",
    credential: "bearer",
    context: "firm",
    summary: "The firm's plan, what it has used this month and what that costs",
    errors: ["NOT_FOUND", "TEMPORARY"],
    responses: { 200: { description: "The licence.", schema: firmLicence } },
    handler: async ({ firm }) => ({
      status: 200,
      body: (await ports.firmLicence(firm.firmId)) as z.input<typeof firmLicence>,
    }),
  }),
  route({
    ...COMMON,
    operation: "integratorLicence",
    path: "/integrator/licenses/info",
    credential: "partner",
    context: "forbidden",
    summary: "What the integrator's firms have used this month, and what that costs",
    errors: ["REQUEST_INVALID", "NOT_FOUND", "TEMPORARY"],
    request: {
      query: z.object({
        offset: wholeNumber({ min: 0, max: OFFSET, byDefault: 0 }),
        limit: wholeNumber({ min: 1, max: PAGE, byDefault: PAGE_DEFAULT }),
      }),
    },
    responses: { 200: { description: "The licence, with one page of firms.", schema: integratorLicence } },
    handler: async ({ caller, query }) => ({
      status: 200,
      body: (await ports.integratorLicence(caller, {
        limit: query.limit ?? PAGE_DEFAULT,
        offset: query.offset ?? 0,
      })) as z.input<typeof integratorLicence>,
    }),
  }),
];
