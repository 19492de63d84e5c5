/**
 * What the rulings say of outbound documents, statuses and answers, written for the test from the text of
 * spec/rulings.md sections 5 and 14 alone: no decision of the engine is imported. Days are `YYYY-MM-DD`.
 */

import { bratislavaDayOf } from "./claims.js";

/** How an attempt at a document ended. */
export type AttemptOutcome = "receipt" | "unconfirmed" | "transport_failed" | "peer_refused";
export type MlsSaid = "AP" | "AB" | "RE";
export type Answer = "AB" | "IP" | "UQ" | "CA" | "RE" | "AP" | "PD";

/** One document that we sent. */
export interface OutboundPlan {
  readonly selfBilling: boolean;
  /** BT-3. */
  readonly typeCode: string;
  /** BT-1. */
  readonly number: string;
  /** BT-2. */
  readonly issueDate: string;
  readonly supplierCountry: string;
  readonly customerCountry: string;
  readonly receiver: "ours" | "foreign";
  /** BT-13. */
  readonly order: string | undefined;
}

export interface AttemptStep {
  readonly kind: "attempt";
  /** Index of the document. */
  readonly document: number;
  readonly outcome: AttemptOutcome;
  /** Seat that answered. */
  readonly seat: string;
}
export interface MlsStep {
  readonly kind: "mls";
  /** Index of the document; undefined for an InstanceIdentifier of nobody. */
  readonly document: number | undefined;
  readonly code: MlsSaid;
  /** Seat that signed it. */
  readonly seat: string;
  /** Seat that the status itself names as sender. */
  readonly says: string;
}
export interface ResponseStep {
  readonly kind: "response";
  /** cbc:ID. */
  readonly id: string;
  readonly code: Answer;
  readonly number: string;
  readonly typeCode: string;
  /** Day of the invoice that the response names, if it does. */
  readonly invoiceDay: string | undefined;
  /** IssueDate of the response. */
  readonly day: string;
  readonly seat: string;
  /** Who the envelope says has sent it. */
  readonly from: "ours" | "foreign";
  /** Whether the response itself names another party as its sender than its envelope. */
  readonly lies: boolean;
  /** Documents that it names beside the invoice. */
  readonly otherReferences: readonly string[];
}
export type StatusStep = MlsStep | ResponseStep;
export type Step = AttemptStep | StatusStep;

/** What must be seen of a document. */
export interface Seen {
  readonly states: readonly string[];
  /** Without failed attempts. */
  readonly events: readonly string[];
  readonly response: string | null;
  /** Why statuses were not applied, in order. */
  readonly notApplied: readonly string[];
  /** COUNTRY_C1 of every attempt. */
  readonly countries: readonly string[];
  /** COUNTRY_C1 of what the reports to the network count; null for what they do not. */
  readonly reported: string | null;
  readonly evidence: SeenEvidence;
}

/** What the evidence of a document shows. */
export interface SeenEvidence {
  readonly state: string;
  readonly isSent: boolean;
  readonly isDelivered: boolean;
  readonly hasReceipt: boolean;
  readonly hasEnvelope: boolean;
  /** Code of the status that it has. */
  readonly mls: string | null;
  readonly invoiceResponse: string | null;
}

interface Life {
  readonly plan: OutboundPlan;
  readonly states: string[];
  readonly events: string[];
  readonly notApplied: string[];
  readonly countries: string[];
  readonly answered: Map<string, string>;
  acceptedAt: number;
  receiptAt: number | undefined;
  seat: string | undefined;
  mls: MlsSaid | undefined;
  answer: { readonly code: Answer; readonly day: string } | undefined;
}

/** A document as statistics count it. */
export interface Counted {
  readonly plan: OutboundPlan;
  readonly acceptedAt: number;
  readonly receiptAt: number | undefined;
  /** Whether its life is over and it was never delivered. */
  readonly hasFailed: boolean;
}

const ALL: readonly Answer[] = ["AB", "IP", "UQ", "CA", "RE", "AP", "PD"];
const MAY_FOLLOW: Readonly<Record<Answer, readonly Answer[]>> = {
  AB: ALL,
  IP: ALL.filter((code) => code !== "AB"),
  UQ: ALL.filter((code) => code !== "AB"),
  CA: ["AP", "RE", "PD"],
  AP: ["PD"],
  RE: [],
  PD: [],
};

const stateOf = ({ states }: Life): string => states.at(-1) ?? "";
const isOpen = (life: Life): boolean => ["queued", "sent"].includes(stateOf(life));

/** The day after that of an instant in Bratislava. */
export const tomorrowInBratislava = (now: number): string =>
  new Date(Date.parse(`${bratislavaDayOf(now)}T12:00:00Z`) + 86_400_000).toISOString().slice(0, 10);

/** Whether what a status says can be decided now: `wait` until the document was sent or received. */
type Verdict = "applied" | "wait" | "nothing" | "late" | (string & {});

/** One firm's documents and everything that is said about them. */
export class TruthModel {
  readonly #lives: readonly Life[];
  #waiting: { readonly step: StatusStep; readonly receivedAt: number }[] = [];

  constructor(plans: readonly OutboundPlan[]) {
    this.#lives = plans.map((plan) => ({
      plan,
      states: ["queued"],
      events: ["document.queued"],
      notApplied: [],
      countries: [],
      answered: new Map<string, string>(),
      acceptedAt: 0,
      receiptAt: undefined,
      seat: undefined,
      mls: undefined,
      answer: undefined,
    }));
  }

  seen(): readonly Seen[] {
    return this.#lives.map((life) => ({
      states: life.states,
      events: life.events,
      response: life.answer?.code ?? null,
      notApplied: life.notApplied,
      countries: life.countries,
      reported: life.receiptAt === undefined ? null : (life.countries.at(-1) ?? null),
      evidence: {
        state: stateOf(life),
        isSent: life.seat !== undefined,
        isDelivered: life.states.includes("delivered"),
        hasReceipt: life.receiptAt !== undefined,
        hasEnvelope: life.seat !== undefined,
        mls: life.mls ?? null,
        invoiceResponse: life.answer?.code ?? null,
      },
    }));
  }

  /** What a firm's statistics are built from. */
  counted(): readonly Counted[] {
    return this.#lives.map((life) => ({
      plan: life.plan,
      acceptedAt: life.acceptedAt,
      receiptAt: life.receiptAt,
      hasFailed: !isOpen(life) && !life.states.includes("delivered"),
    }));
  }

  accepted(document: number, now: number): void {
    this.#life(document).acceptedAt = now;
  }

  attempt({ document, outcome, seat }: AttemptStep, now: number): void {
    const life = this.#life(document);
    if (!isOpen(life)) return;
    if (outcome === "receipt") life.receiptAt = now;
    const { selfBilling, supplierCountry, customerCountry } = life.plan;
    life.countries.push(selfBilling ? customerCountry : supplierCountry);
    if (outcome !== "transport_failed") life.seat = seat;
    const wasQueued = stateOf(life) === "queued";
    if (outcome === "unconfirmed" && wasQueued) this.#move(life, "sent", ["document.sent"]);
    if (outcome === "receipt")
      this.#move(life, "delivered", [...(wasQueued ? ["document.sent"] : []), "document.delivered"]);
    if (outcome === "peer_refused") this.#move(life, "rejected", ["document.rejected"]);
  }

  /** What waits is decided again. */
  timePasses(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { step, receivedAt } of waiting) this.status(step, receivedAt);
  }

  /** Whether a status would wait beside another that waits: then their order is nobody's promise. */
  wouldCrowd(step: StatusStep, receivedAt: number): boolean {
    return this.#waiting.length > 0 && this.#judge(step, receivedAt).verdict === "wait";
  }

  status(step: StatusStep, receivedAt: number): void {
    const { life, verdict } = this.#judge(step, receivedAt);
    if (verdict === "wait") this.#waiting.push({ step, receivedAt });
    if (life === undefined || verdict === "wait" || verdict === "nothing") return;
    if (step.kind === "mls" && (verdict === "applied" || verdict === "late")) life.mls = step.code;
    if (verdict !== "applied") {
      life.events.push(step.kind === "mls" ? "document.mls_ignored" : "document.response_ignored");
      life.notApplied.push(verdict);
      return;
    }
    if (step.kind === "response") {
      life.answer = { code: step.code, day: step.day };
      life.answered.set(step.id, step.code);
      life.events.push("document.response_received");
      return;
    }
    life.events.push("document.mls_received");
    if (step.code === "RE") this.#move(life, "rejected", ["document.rejected"]);
    if (step.code === "AP" && stateOf(life) === "sent") this.#move(life, "delivered", ["document.delivered"]);
  }

  #life(index: number): Life {
    const life = this.#lives[index];
    if (life === undefined) throw new RangeError("no such document");
    return life;
  }

  #move(life: Life, state: string, events: readonly string[]): void {
    if (stateOf(life) !== state) life.states.push(state);
    life.events.push(...events);
  }

  #judge(step: StatusStep, receivedAt: number): { readonly life?: Life; readonly verdict: Verdict } {
    return step.kind === "mls" ? this.#judgeMls(step) : this.#judgeResponse(step, receivedAt);
  }

  #judgeMls({ document, code, seat, says }: MlsStep): { readonly life?: Life; readonly verdict: Verdict } {
    if (document === undefined) return { verdict: "nothing" };
    const life = this.#life(document);
    if (says !== seat) return { life, verdict: "foreign" };
    if (life.seat === undefined) return { life, verdict: isOpen(life) ? "wait" : "foreign" };
    if (life.seat !== seat) return { life, verdict: "foreign" };
    if (life.mls !== undefined) return { life, verdict: life.mls === code ? "nothing" : "contradicting" };
    return { life, verdict: ["sent", "delivered"].includes(stateOf(life)) ? "applied" : "late" };
  }

  #judgeResponse(step: ResponseStep, receivedAt: number): { readonly life?: Life; readonly verdict: Verdict } {
    const fitting = this.#lives.filter(
      ({ plan }) =>
        plan.number === step.number &&
        plan.typeCode === step.typeCode &&
        plan.receiver === step.from &&
        (step.invoiceDay === undefined || step.invoiceDay === plan.issueDate),
    );
    const groups = [["sent", "delivered"], ["queued"], ["rejected"]].map((states) =>
      fitting.filter((life) => states.includes(stateOf(life))),
    );
    const alike = groups.find((lives) => lives.length > 0) ?? [];
    const isNamed = ({ plan }: Life): boolean => plan.order !== undefined && step.otherReferences.includes(plan.order);
    const named = alike.filter(isNamed);
    const best = named.length === 1 ? named : alike;
    const repeated = groups
      .flatMap((lives) => [...lives.filter(isNamed).reverse(), ...lives.filter((life) => !isNamed(life)).reverse()])
      .find(({ answered }) => answered.has(step.id));
    const life = repeated ?? named.at(-1) ?? best.at(-1);
    if (life === undefined) return { verdict: "nothing" };
    if (step.lies) return { life, verdict: "foreign" };
    if (step.from === "ours" && life.seat !== undefined && life.seat !== step.seat) return { life, verdict: "foreign" };
    const before = repeated?.answered.get(step.id);
    if (before !== undefined) return before === step.code ? { verdict: "nothing" } : { life, verdict: "contradicting" };
    if (best.length > 1) return { life, verdict: "ambiguous" };
    if (step.day < life.plan.issueDate || step.day > tomorrowInBratislava(receivedAt))
      return { life, verdict: "misdated" };
    if (life.answer !== undefined && step.day < life.answer.day) return { life, verdict: "outdated" };
    if (life.answer !== undefined && !MAY_FOLLOW[life.answer.code].includes(step.code))
      return { life, verdict: "out_of_order" };
    if (isOpen(life)) return { life, verdict: "wait" };
    return { life, verdict: stateOf(life) === "delivered" ? "applied" : "late" };
  }
}
