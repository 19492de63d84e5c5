/** What the processes of the clients are told, and what they tell back: a file there, a line of JSON back. */
import type { BenchFirm } from "../engine.js";

/** Keys that send and read at an even pace, for one phase. */
export interface WellBehavedJob {
  readonly kind: "well-behaved";
  readonly url: string;
  readonly seconds: number;
  readonly firms: readonly BenchFirm[];
  /** Requests a second of all keys together. */
  readonly sends: number;
  readonly polls: number;
  readonly lookUps: number;
}

/** Those who are in the way: slow uploads, garbage, logins, statuses of hostile XML, documents of one tenant. */
export const OFFENDERS = ["uploads", "garbage", "logins", "statuses", "documents"] as const;
/** One of them. */
export type Offender = (typeof OFFENDERS)[number];

/** Everybody who is in the way of the others, for one phase. */
export interface OffendersJob {
  readonly kind: "offenders";
  readonly url: string;
  readonly seconds: number;
  /** Which of them come. */
  readonly kinds: readonly Offender[];
  /** A tenant like the others, who sends documents as large as they may be. */
  readonly tenant: BenchFirm;
  readonly receiver: string;
  /** Octets of the file in each of these documents. */
  readonly fileBytes: number;
  /** Folders of the keys of an access point of the network, and of ours. */
  readonly peerKeys: string;
  readonly ownKeys: string;
}

/** What a client's requests were answered with. */
export type Statuses = Readonly<Record<string, number>>;

/** What one operation of the well-behaved has met in a phase. */
export interface Operation {
  readonly name: string;
  readonly answers: number;
  readonly errors: number;
  /** Requests that went twice, because their connection was reset. */
  readonly repeats: number;
  readonly perSecond: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly statuses: Statuses;
}

interface Told {
  /** Processor time of the client's process, seconds. */
  readonly processor_s: number;
}

/** What the well-behaved tell of a phase. */
export interface WellBehavedResult extends Told {
  readonly operations: readonly Operation[];
}

/** What the offenders tell of a phase: what each kind was answered, `cut` where its connection was. */
export interface OffendersResult extends Told {
  readonly kinds: Readonly<Record<string, Statuses>>;
}
