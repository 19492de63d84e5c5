/**
 * What a firm or an integrator may use, has used and will pay.
 * @source spec/enterprise.md, Licence information; spec/rulings.md, section 9; spec/shapes.md, section 4
 */
import { isoInstant, isoOrNull } from "../base/clock.js";
import type { Clock } from "../base/clock.js";
import { Refusal } from "../base/errors.js";
import type { FirmId, IntegratorId } from "../base/ids.js";
import { findPlan } from "../storage/billing/plans.js";
import type { PlanCode } from "../storage/billing/plans.js";
import { findIntegrator, findUsage, listPartnerUsage, sumPartnerUsage } from "../storage/billing/usage.js";
import type { PartnerFirmUsage, CountedUsage } from "../storage/billing/usage.js";
import { findFirm } from "../storage/identity/partner-firms.js";
import { orTemporary } from "../storage/sql.js";
import type { Sql } from "../storage/sql.js";
import { billingMonthOf } from "./months.js";
import { planState } from "./plans.js";
import type { FirmPlan } from "./plans.js";
import { chargeOf, euros, rateInEuros, SCHEDULE } from "./tariff.js";
import type { Tier } from "./tariff.js";

interface LicencePorts {
  readonly sql: Sql;
  readonly clock: Clock;
}

/** A band of a tariff as it is shown. */
interface ShownTier {
  readonly from: number;
  readonly to: number | null;
  readonly rate: number;
  readonly contactRequired: boolean;
}

const shownTiers = (tiers: readonly Tier[]): ShownTier[] =>
  tiers.map(({ from, to, rate_micro_eur }) => ({
    from,
    to: to ?? null,
    rate: rateInEuros(rate_micro_eur),
    contactRequired: false,
  }));

/** The licence of a firm. */
export interface FirmLicence {
  readonly firm: { readonly id: FirmId; readonly name: string; readonly sandbox: boolean };
  readonly plan: {
    readonly code: PlanCode;
    readonly name: string;
    readonly active: boolean;
    readonly expiresAt: string | null;
    readonly daysUntilExpiry: number | null;
    readonly gracePeriodActive: boolean;
    readonly monthlyBase: number;
    readonly outboundLimit: number | null;
    readonly overageRate: number | null;
    readonly inboundApiRate: number | null;
    readonly hasApiAccess: boolean;
  };
  readonly usage: {
    readonly period: string;
    readonly nextResetAt: string;
    readonly outboundCount: number;
    readonly inboundApiCount: number;
    readonly overageAmount: number;
    readonly quotaRemaining: number | null;
    readonly usagePercent: number | null;
    readonly estimatedMonthCost: number;
  };
  readonly pricing: {
    readonly currency: string;
    readonly model: "progressive";
    readonly outboundTiers: ShownTier[];
    readonly inboundApiTiers: ShownTier[];
  };
}

/** A plan as bands: what is in the base costs nothing more. */
function tiersOf(plan: FirmPlan): { readonly outbound: Tier[]; readonly inbound: Tier[] } {
  const { outboundLimit: limit, overage_micro_eur: overage, inboundApi_micro_eur: inbound = 0 } = plan;
  return {
    outbound:
      limit === undefined || overage === undefined
        ? [{ from: 1, to: undefined, rate_micro_eur: 0 }]
        : [
            { from: 1, to: limit, rate_micro_eur: 0 },
            { from: limit + 1, to: undefined, rate_micro_eur: overage },
          ],
    inbound: [{ from: 1, to: undefined, rate_micro_eur: inbound }],
  };
}

/** A share in percent with two decimals at most. */
const percentOf = (count: number, limit: number): number => Math.round((count * 10_000) / limit) / 100;

/** A firm's licence. @throws Refusal NOT_FOUND, TEMPORARY */
export async function readFirmLicence({ sql, clock }: LicencePorts, firmId: FirmId): Promise<FirmLicence> {
  const now = clock.now();
  const month = billingMonthOf(now);
  const [firm, row, used] = await orTemporary(
    Promise.all([findFirm(sql, firmId), findPlan(sql, firmId), findUsage(sql, firmId, month.first)]),
  );
  if (firm === undefined) throw new Refusal("NOT_FOUND");
  const state = planState(row, now);
  const { plan } = state;
  const tiers = tiersOf(plan);
  const overage = chargeOf(used.outbound, tiers.outbound);
  const { outboundLimit: limit } = plan;
  return {
    firm: { id: firm.id, name: firm.name, sandbox: firm.sandbox },
    plan: {
      code: row.code,
      name: plan.name,
      active: state.active,
      expiresAt: isoOrNull(state.expiresAt),
      daysUntilExpiry: state.daysUntilExpiry ?? null,
      gracePeriodActive: state.gracePeriodActive,
      monthlyBase: euros(plan.monthlyBase_micro_eur),
      outboundLimit: limit ?? null,
      overageRate: plan.overage_micro_eur === undefined ? null : rateInEuros(plan.overage_micro_eur),
      inboundApiRate: plan.inboundApi_micro_eur === undefined ? null : rateInEuros(plan.inboundApi_micro_eur),
      hasApiAccess: plan.hasApiAccess && state.active,
    },
    usage: {
      period: month.name,
      nextResetAt: isoInstant(month.ends),
      outboundCount: used.outbound,
      inboundApiCount: used.inbound,
      overageAmount: euros(overage),
      quotaRemaining: limit === undefined ? null : Math.max(0, limit - used.outbound),
      usagePercent: limit === undefined ? null : percentOf(used.outbound, limit),
      estimatedMonthCost: euros(plan.monthlyBase_micro_eur + overage + chargeOf(used.inbound, tiers.inbound)),
    },
    pricing: {
      currency: SCHEDULE.currency,
      model: "progressive",
      outboundTiers: shownTiers(tiers.outbound),
      inboundApiTiers: shownTiers(tiers.inbound),
    },
  };
}

/** What the firms of an integrator cost together. */
interface Charges {
  readonly managedFirms: number;
  readonly outboundCount: number;
  readonly inboundApiCount: number;
  readonly outboundCharge: number;
  readonly inboundApiCharge: number;
  readonly apiUsageCharge: number;
  readonly whiteLabelBaseCharge: number;
  readonly whiteLabelOverageCharge: number;
  readonly totalCharge: number;
  readonly exceedsAutoTier: boolean;
  readonly currency: string;
}

/** Counts without a price. */
interface Counts {
  readonly firms: number;
  readonly outboundCount: number;
  readonly inboundApiCount: number;
}

/** The licence of an integrator. */
export interface IntegratorLicence {
  readonly integrator: {
    readonly id: IntegratorId;
    readonly name: string;
    readonly plan: "managed" | "technical";
    readonly monthlyDocumentLimit: number | null;
  };
  readonly period: string;
  readonly nextResetAt: string;
  readonly billable: Charges;
  readonly nonManaged: Counts;
  readonly sandbox: Counts;
  readonly productionEstimate: Charges;
  readonly exceedsAutoTier: boolean;
  readonly contactThreshold: number;
  readonly pricing: {
    readonly scheduleVersion: string;
    readonly model: "progressive";
    readonly currency: string;
    readonly thresholdScope: "per_direction";
    readonly contactThreshold: number;
    readonly marginalBandStartsAt: number;
    readonly outboundTiers: ShownTier[];
    readonly inboundApiTiers: ShownTier[];
  };
  readonly firms: {
    readonly firmId: FirmId;
    readonly name: string;
    readonly ico: string | null;
    readonly managed: boolean;
    readonly sandbox: boolean;
    readonly billable: boolean;
    readonly outboundCount: number;
    readonly inboundApiCount: number;
    readonly rebillingEstimate: {
      readonly outboundCharge: number;
      readonly inboundApiCharge: number;
      readonly totalCharge: number;
      readonly currency: string;
    };
  }[];
  readonly pagination: { readonly limit: number; readonly offset: number; readonly total: number };
}

interface Summed extends CountedUsage {
  readonly firms: number;
}

const total = (sums: readonly Summed[]): Summed => ({
  firms: sums.reduce((sum, { firms }) => sum + firms, 0),
  outbound: sums.reduce((sum, { outbound }) => sum + outbound, 0),
  inbound: sums.reduce((sum, { inbound }) => sum + inbound, 0),
});

const countsOf = ({ firms, outbound, inbound }: Summed): Counts => ({
  firms,
  outboundCount: outbound,
  inboundApiCount: inbound,
});

function chargesOf({ firms, outbound, inbound }: Summed): Charges {
  const [out, into] = [chargeOf(outbound, SCHEDULE.outbound), chargeOf(inbound, SCHEDULE.inbound)];
  return {
    managedFirms: firms,
    outboundCount: outbound,
    inboundApiCount: inbound,
    outboundCharge: euros(out),
    inboundApiCharge: euros(into),
    apiUsageCharge: euros(out + into),
    whiteLabelBaseCharge: 0,
    whiteLabelOverageCharge: 0,
    totalCharge: euros(out + into),
    exceedsAutoTier: false,
    currency: SCHEDULE.currency,
  };
}

/** A part of a charge by its share of the documents, in whole millionths of a euro. */
const shareOf = (charge: number, count: number, of: number): number =>
  of === 0 ? 0 : Number((BigInt(charge) * BigInt(count)) / BigInt(of));

/** What a firm's documents are of what its integrator pays: bands are reached by all firms together. */
function rebillingOf(
  firm: PartnerFirmUsage,
  billable: Summed,
): IntegratorLicence["firms"][number]["rebillingEstimate"] {
  const isBilled = firm.managed && !firm.sandbox;
  const [out, into] = isBilled
    ? [
        shareOf(chargeOf(billable.outbound, SCHEDULE.outbound), firm.outbound, billable.outbound),
        shareOf(chargeOf(billable.inbound, SCHEDULE.inbound), firm.inbound, billable.inbound),
      ]
    : [0, 0];
  return {
    outboundCharge: euros(out),
    inboundApiCharge: euros(into),
    totalCharge: euros(out + into),
    currency: SCHEDULE.currency,
  };
}

/** Whose licence, and which page of its firms. */
interface LicenceAsked {
  readonly integratorId: IntegratorId;
  /** The only firm that the key sees. */
  readonly onlyFirmId: FirmId | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** An integrator's licence. @throws Refusal NOT_FOUND, TEMPORARY */
export async function readIntegratorLicence(
  { sql, clock }: LicencePorts,
  { integratorId, onlyFirmId, limit, offset }: LicenceAsked,
): Promise<IntegratorLicence> {
  const month = billingMonthOf(clock.now());
  const query = { integratorId, onlyFirmId, month: month.first };
  const [integrator, sums, page] = await orTemporary(
    Promise.all([
      findIntegrator(sql, integratorId),
      sumPartnerUsage(sql, query),
      listPartnerUsage(sql, { ...query, limit, offset }),
    ]),
  );
  if (integrator === undefined) throw new Refusal("NOT_FOUND");
  const managed = sums.filter((sum) => sum.managed);
  const billable = total(managed.filter(({ sandbox }) => !sandbox));
  return {
    integrator: {
      id: integratorId,
      name: integrator.name,
      plan: integrator.managedBilling ? "managed" : "technical",
      monthlyDocumentLimit: null,
    },
    period: month.name,
    nextResetAt: isoInstant(month.ends),
    billable: chargesOf(billable),
    nonManaged: countsOf(total(sums.filter((sum) => !sum.managed))),
    sandbox: countsOf(total(sums.filter(({ sandbox }) => sandbox))),
    productionEstimate: chargesOf(total(managed)),
    exceedsAutoTier: false,
    contactThreshold: SCHEDULE.lastBandFrom - 1,
    pricing: {
      scheduleVersion: SCHEDULE.version,
      model: "progressive",
      currency: SCHEDULE.currency,
      thresholdScope: "per_direction",
      contactThreshold: SCHEDULE.lastBandFrom - 1,
      marginalBandStartsAt: SCHEDULE.lastBandFrom,
      outboundTiers: shownTiers(SCHEDULE.outbound),
      inboundApiTiers: shownTiers(SCHEDULE.inbound),
    },
    firms: page.map((firm) => ({
      firmId: firm.id,
      name: firm.name,
      ico: firm.ico,
      managed: firm.managed,
      sandbox: firm.sandbox,
      billable: firm.managed && !firm.sandbox,
      outboundCount: firm.outbound,
      inboundApiCount: firm.inbound,
      rebillingEstimate: rebillingOf(firm, billable),
    })),
    pagination: { limit, offset, total: total(sums).firms },
  };
}
