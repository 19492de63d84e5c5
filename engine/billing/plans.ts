/** The plans of firms that pay for themselves, and how a plan stands. */
import { bratislavaSpan_ms, DAY_MS } from "../base/clock.js";
import type { Instant } from "../base/clock.js";
import { LIMITS } from "../base/limits.js";
import type { PlanCode, PlanRow } from "../storage/billing/plans.js";

export { PLAN_CODES } from "../storage/billing/plans.js";

/** A plan: rates are millionths of a euro. */
export interface FirmPlan {
  readonly name: string;
  readonly monthlyBase_micro_eur: number;
  /** Documents of a month in the base; undefined for any number. */
  readonly outboundLimit: number | undefined;
  /** Of each document above; undefined where there is no limit. */
  readonly overage_micro_eur: number | undefined;
  /** Of each received document that an API shows; undefined where it costs nothing. */
  readonly inboundApi_micro_eur: number | undefined;
  readonly hasApiAccess: boolean;
}

/** Every plan. */
export const PLANS: Readonly<Record<PlanCode, FirmPlan>> = {
  standard: {
    name: "Standard",
    monthlyBase_micro_eur: 0,
    outboundLimit: undefined,
    overage_micro_eur: undefined,
    inboundApi_micro_eur: undefined,
    hasApiAccess: true,
  },
  start: {
    name: "Start",
    monthlyBase_micro_eur: 5_000_000,
    outboundLimit: 50,
    overage_micro_eur: 120_000,
    inboundApi_micro_eur: 60_000,
    hasApiAccess: true,
  },
  business: {
    name: "Business",
    monthlyBase_micro_eur: 25_000_000,
    outboundLimit: 500,
    overage_micro_eur: 80_000,
    inboundApi_micro_eur: 40_000,
    hasApiAccess: true,
  },
};

/** How a plan stands at an instant. */
interface PlanState {
  readonly plan: FirmPlan;
  /** Also for some days after its end. */
  readonly active: boolean;
  readonly expiresAt: Instant | undefined;
  /** Whole days of Europe/Bratislava, begun ones included; 0 after the end. */
  readonly daysUntilExpiry: number | undefined;
  readonly gracePeriodActive: boolean;
}

/**
 * Judges a firm's plan. One that has ended works on for LIMITS.plan_grace_ms, so that nobody stops for an invoice.
 */
export function planState({ code, expiresAt }: PlanRow, now: Instant): PlanState {
  const plan = PLANS[code];
  if (expiresAt === null)
    return { plan, active: true, expiresAt: undefined, daysUntilExpiry: undefined, gracePeriodActive: false };
  const end = expiresAt.getTime();
  return {
    plan,
    active: now < end + LIMITS.plan_grace_ms,
    expiresAt: end,
    daysUntilExpiry: now < end ? Math.ceil(bratislavaSpan_ms(now, end) / DAY_MS) : 0,
    gracePeriodActive: end <= now && now < end + LIMITS.plan_grace_ms,
  };
}
