/** What a firm's statistics must say of a story, written for the test from the text of spec/rulings.md section 14. */
import type { SeenByFirm } from "./arrivals.js";
import { bratislavaDayOf, inboundVerdict } from "./claims.js";
import type { Claim } from "./claims.js";
import type { Counted } from "./model.js";

/** A question for statistics: the current month, a month by name, or days. */
export interface PeriodQuestion {
  readonly period?: string;
  readonly from?: string;
  readonly to?: string;
}

/** What is compared of an answer. */
export interface SeenStatistics {
  readonly period: { readonly from: string; readonly to: string };
  readonly incoming: number;
  readonly outgoing: number;
  readonly sent: { readonly total: number; readonly by_type: Readonly<Record<string, number>> };
  readonly received: { readonly total: number; readonly by_type: Readonly<Record<string, number>> };
  readonly delivery_rate: number;
  readonly top_recipients: readonly { readonly peppol_id: string; readonly count: number }[];
  readonly top_senders: readonly { readonly peppol_id: string; readonly count: number }[];
}

/** How often each text comes. */
export const tally = (texts: readonly string[]): Readonly<Record<string, number>> =>
  Object.fromEntries([...new Set(texts)].map((text) => [text, texts.filter((other) => other === text).length]));

/** Partners, the most frequent first, then by their id. */
export const ranked = (ids: readonly string[]): SeenStatistics["top_recipients"] =>
  Object.entries(tally(ids))
    .map(([peppol_id, count]) => ({ peppol_id, count }))
    .sort((a, b) => b.count - a.count || (a.peppol_id < b.peppol_id ? -1 : 1));

/** The first and the last day of what is asked for. */
function daysOf(question: PeriodQuestion, now: number): { readonly from: string; readonly to: string } {
  if (question.from !== undefined && question.to !== undefined) return { from: question.from, to: question.to };
  const month = question.period ?? bratislavaDayOf(now).slice(0, 7);
  const [year = 0, number = 0] = month.split("-").map(Number);
  return { from: `${month}-01`, to: new Date(Date.UTC(year, number, 0)).toISOString().slice(0, 10) };
}

/** The question of a seed, about the day on which its story began or the month in which it ended. */
export function questionOf(seed: number, beganOn: string): PeriodQuestion {
  const questions: readonly PeriodQuestion[] = [{}, { period: beganOn.slice(0, 7) }, { from: beganOn, to: beganOn }];
  return questions[seed % questions.length] ?? {};
}

const WORDS: Readonly<Record<string, string>> = {
  "380": "invoice",
  "381": "credit_note",
  "389": "self_billing",
  "261": "self_billing_credit_note",
};

/** @param receivers  participant ids of ours and of the foreign receiver */
export function expectedStatistics(
  counted: readonly Counted[],
  receivers: Readonly<Record<Counted["plan"]["receiver"], string>>,
  asked: { readonly question: PeriodQuestion; readonly now: number },
): SeenStatistics {
  const period = daysOf(asked.question, asked.now);
  const isInside = (at: number | undefined): boolean =>
    at !== undefined && bratislavaDayOf(at) >= period.from && bratislavaDayOf(at) <= period.to;
  const sent = counted.filter(({ receiptAt }) => isInside(receiptAt)).map(({ plan }) => plan);
  const failed = counted.filter(({ hasFailed, acceptedAt }) => hasFailed && isInside(acceptedAt)).length;
  return {
    period,
    incoming: 0,
    outgoing: sent.length,
    sent: { total: sent.length, by_type: tally(sent.map(({ typeCode }) => WORDS[typeCode] ?? "?")) },
    received: { total: 0, by_type: {} },
    delivery_rate: sent.length === 0 ? 0 : sent.length / (sent.length + failed),
    top_recipients: ranked(sent.map(({ receiver }) => receivers[receiver])),
    top_senders: [],
  };
}

/** Words for what is declared; the type decides, whatever process stands beside it. */
const DECLARED_WORDS = {
  Invoice: { billed: "invoice", selfBilled: "self_billing" },
  CreditNote: { billed: "credit_note", selfBilled: "self_billing_credit_note" },
} as const;
const wordOf = ({ declared: { root, customization } }: Claim): string =>
  DECLARED_WORDS[root][customization.includes(":selfbilling:") ? "selfBilled" : "billed"];

/** What a firm sees of claims that arrived for it, in the order of their lots. */
export function expectedByFirm(claims: readonly Claim[], sender: string): SeenByFirm {
  const arrived = claims.filter((claim) => inboundVerdict(claim) !== "not_serviced");
  const inState = (state: string): number[] =>
    arrived.filter((claim) => inboundVerdict(claim).startsWith(state)).map(({ seed }) => seed);
  return {
    received: inState("RECEIVED"),
    acknowledged: inState("ACKNOWLEDGED"),
    statistics: {
      incoming: arrived.length,
      outgoing: 0,
      sent: { total: 0, by_type: {} },
      received: { total: arrived.length, by_type: tally(arrived.map(wordOf)) },
      delivery_rate: 0,
      top_recipients: [],
      top_senders: ranked(arrived.map(() => sender)),
    },
  };
}
