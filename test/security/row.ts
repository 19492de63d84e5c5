/** A row of the tables of security: what is asked, whether it holds, and the tests that show it. */
import type { Shown } from "../faults/table/row.js";

export { by } from "../faults/table/row.js";

/** Whether a requirement holds. */
export const VERDICTS = ["met", "partly", "not met", "outside", "no such part"] as const;
type Verdict = (typeof VERDICTS)[number];

export interface SecurityRow {
  /** A threat's name, or the number of a requirement: `1.2.4`, or several of one section: `6.2.1–6.2.12`. */
  readonly id: string;
  /** In a few words of ours. */
  readonly what: string;
  readonly verdict: Verdict;
  readonly shown: readonly Shown[];
  /** What is missing, who does it, or why there is no such part; always there unless the verdict is `met`. */
  readonly why?: string;
}

export const met = (id: string, what: string, ...shown: readonly Shown[]): SecurityRow => ({
  ...{ id, what, verdict: "met", shown },
});

/** Holds but for what `why` says. */
export const partly = (id: string, what: string, why: string, ...shown: readonly Shown[]): SecurityRow => ({
  ...{ id, what, verdict: "partly", shown, why },
});

export const unmet = (id: string, what: string, why: string): SecurityRow => ({
  ...{ id, what, verdict: "not met", shown: [], why },
});

/** The operator's, or of what stands around the engine. */
export const outside = (id: string, what: string, why: string): SecurityRow => ({
  ...{ id, what, verdict: "outside", shown: [], why },
});

/** The engine has nothing that the row could be about. */
export const nothing = (id: string, why: string): SecurityRow => ({
  ...{ id, what: "", verdict: "no such part", shown: [], why },
});
