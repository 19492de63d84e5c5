/**
 * What documents cost. Money is a whole number of millionths of a euro; only what is shown is rounded, once, to cents.
 * @source spec/sapi.md, Limits (usage prices); spec/enterprise.md, Limits (from document 20,001 on); spec/rulings.md,
 *   section 9
 */

/** One band of a progressive tariff: documents `from` to `to` of a month cost `rate_micro_eur` each. */
export interface Tier {
  readonly from: number;
  /** Undefined for the last. */
  readonly to: number | undefined;
  readonly rate_micro_eur: number;
}

/** Bands of the specification: the last document of each, and its price sent and received, in millionths of a euro. */
const BANDS = [
  { to: 1_000, sent: 100_000, received: 80_000 },
  { to: 2_000, sent: 80_000, received: 70_000 },
  { to: 5_000, sent: 60_000, received: 60_000 },
  { to: 20_000, sent: 50_000, received: 50_000 },
  { to: undefined, sent: 40_000, received: 40_000 },
] as const;

const tiersOf = (direction: "sent" | "received"): readonly Tier[] =>
  BANDS.map(({ to, [direction]: rate_micro_eur }, n) => ({ from: (BANDS[n - 1]?.to ?? 0) + 1, to, rate_micro_eur }));

/** The price schedule of integrators: each direction has bands of its own. */
export const SCHEDULE = {
  version: "2026-11-25",
  currency: "EUR",
  /** From this document on, in either direction, the last band counts. */
  lastBandFrom: BANDS[3].to + 1,
  outbound: tiersOf("sent"),
  inbound: tiersOf("received"),
} as const;

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
