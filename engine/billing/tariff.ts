/**
 * What documents cost. Money is a whole number of millionths of a euro; only what is shown is rounded, once, to cents.
 * @source spec/rulings.md, section 9; spec/enterprise.md, Limits (the price schedule of integrators)
 */

/** One band of a progressive tariff: documents `from` to `to` of a month cost `rate_micro_eur` each. */
export interface Tier {
  readonly from: number;
  /** Undefined for the last. */
  readonly to: number | undefined;
  readonly rate_micro_eur: number;
}

const tier = (from: number, to: number | undefined, rate_micro_eur: number): Tier => ({ from, to, rate_micro_eur });

/** From this document on, in either direction, the last band counts. @source spec/enterprise.md, Limits */
const LAST_BAND_FROM = 20_001;

/** The price schedule of integrators: each direction has bands of its own. */
export const SCHEDULE = {
  version: "2026-11",
  currency: "EUR",
  lastBandFrom: LAST_BAND_FROM,
  outbound: [
    tier(1, 1_000, 100_000),
    tier(1_001, 5_000, 80_000),
    tier(5_001, LAST_BAND_FROM - 1, 60_000),
    tier(LAST_BAND_FROM, undefined, 40_000),
  ],
  inbound: [
    tier(1, 1_000, 60_000),
    tier(1_001, 5_000, 50_000),
    tier(5_001, LAST_BAND_FROM - 1, 45_000),
    tier(LAST_BAND_FROM, undefined, 40_000),
  ],
} as const satisfies {
  readonly version: string;
  readonly currency: string;
  readonly lastBandFrom: number;
  readonly outbound: readonly Tier[];
  readonly inbound: readonly Tier[];
};

/** What `count` documents of a month cost, in millionths of a euro. */
export const chargeOf = (count: number, tiers: readonly Tier[]): number =>
  tiers.reduce((sum, { from, to = Infinity, rate_micro_eur }) => {
    const inBand = Math.max(0, Math.min(count, to) - from + 1);
    return sum + inBand * rate_micro_eur;
  }, 0);

const MICRO_PER_CENT = 10_000;

/** An amount as it is shown: euros, rounded half up to cents. */
export const euros = (micro_eur: number): number => Math.floor((micro_eur + MICRO_PER_CENT / 2) / MICRO_PER_CENT) / 100;

/** A rate as it is shown: euros with all their digits. */
export const rateInEuros = (micro_eur: number): number => micro_eur / 1_000_000;
