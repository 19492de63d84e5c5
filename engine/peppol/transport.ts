/** The way to another access point: one attempt in, one outcome of a closed list out. */
import type { Instant } from "../base/clock.js";
import type { DocumentId, FirmId, ParticipantId } from "../base/ids.js";
import { LIMITS } from "../base/limits.js";
import { WITH_ERROR } from "../lifecycle/attempt.js";
import type { AttemptOutcome } from "../lifecycle/attempt.js";
import type { OutboundTrigger } from "../lifecycle/document.js";
import type { NewEvidence } from "../storage/evidence/evidence.js";
import type { Report } from "../../validators/report.js";

/** One document on its way. MessageId and InstanceIdentifier are the same in every attempt. */
export interface Exchange {
  readonly documentId: DocumentId;
  /** The firm that sends it; undefined for messages of the access point itself. */
  readonly firmId: FirmId | undefined;
  readonly attempt: number;
  /** How many attempts before it the network has answered; a fault of ours, or our own death, ended the others. */
  readonly answers: number;
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  readonly documentTypeId: string;
  readonly processId: string;
  readonly as4MessageId: string;
  readonly sbdhInstanceId: string;
  /** When the document was accepted; SBDH CreationDateAndTime. */
  readonly createdAt: Instant;
  /** Country of the supplier, two capitals; SBDH COUNTRY_C1. */
  readonly countryC1: string;
  /** UBL, exact bytes as accepted. */
  readonly payload: Buffer;
}

interface OutcomeRow {
  /** The move of the document's state that it triggers; undefined leaves the state as it is. */
  readonly trigger: OutboundTrigger | undefined;
  /** Whether another attempt is made while the plan has one. */
  readonly retryable: boolean;
}

/** Everything that can come of an attempt. @source spec/rulings.md, section 5; design/reliability.md, S-08, S-09 */
export const OUTCOMES = {
  /** A valid signed receipt for what was sent. */
  receipt: { trigger: "receipt_confirmed", retryable: false },
  /** The peer answers that it has this MessageId already: an earlier attempt arrived and its receipt was lost. */
  already_handed_over: { trigger: "receipt_confirmed", retryable: false },
  /** Fully transmitted, but no receipt came, or one that does not prove this message. */
  unconfirmed: { trigger: "transmitted", retryable: true },
  /** The recipient is not on the network. */
  recipient_unregistered: { trigger: undefined, retryable: true },
  /** The recipient has no endpoint for this document type. */
  recipient_capability: { trigger: undefined, retryable: true },
  /** The look-up did not answer, or not with something that can be believed. */
  lookup_failed: { trigger: undefined, retryable: true },
  /** The recipient's access point has a certificate that is not trusted now: nothing is sent to it. */
  certificate_rejected: { trigger: undefined, retryable: true },
  /** Nothing or only part of it was transmitted. */
  transport_failed: { trigger: undefined, retryable: true },
  /** The peer refused it for now. */
  peer_busy: { trigger: undefined, retryable: true },
  /** The peer refused it for good: a permanent ebMS error. */
  peer_refused: { trigger: "peer_refused", retryable: false },
  /** The receiving access point is full or down: nothing was tried, and the plan of attempts is not used up. */
  deferred: { trigger: undefined, retryable: true },
  /** It cannot be put into an envelope: its encoding or its document type has no form on the network. */
  unsendable: { trigger: "rules_refused", retryable: true },
  /** A fault of ours: logged, and tried again. */
  internal: { trigger: undefined, retryable: true },
} as const satisfies Record<AttemptOutcome, OutcomeRow>;

/** How an attempt ended, with what the operator may want to know. */
export interface Outcome {
  readonly kind: AttemptOutcome;
  /** Common name in the certificate of the access point that answered, `POP000123`: its seat. */
  readonly peerSeat?: string;
  /** `EBMS:0004`, `HTTP 503`, `NXDOMAIN`: short, from a closed set or a number. */
  readonly code?: string;
  /** One sentence for the operator, without text of the peer or the document. */
  readonly detail?: string;
  /** The message had gone out whole before in this attempt, so that it may have been taken then. @default it had not */
  readonly isRepeated?: true;
  /** When the metadata came that named the access point; undefined where the operator's own routes did. */
  readonly lookedUpAt?: Instant;
  /** Whether something of ours failed, so that no answer of the network is used up. @default for `internal` alone */
  readonly isOurs?: boolean;
  /** Whether a fault of ours stays for ever, so that no other try is made. @default it is repaired */
  readonly isLast?: boolean;
  /** How long to wait before the next try, where the outcome is `deferred`. */
  readonly retryAfter_ms?: number;
  /** Whether only a place was wanting, so that it stays before those that are due after it. @default it does not */
  readonly keepsPlace?: boolean;
  /** Whether the receiver has just gone down, so that a document of any age waits for it. @default it has not */
  readonly mayBeBack?: boolean;
  /**
   * The record of what was exchanged: it is stored, and has no place in the chain yet. Whoever writes what becomes of
   * the attempt gives it one by the same statement.
   */
  readonly evidence?: NewEvidence;
}

/** No worker took the message, or what the SMP says of its recipient: nothing was sent, and it comes again soon. */
export const WORKERS_BUSY = {
  kind: "deferred",
  code: "WORKERS_BUSY",
  retryAfter_ms: LIMITS.workers_busy_retry_ms,
  keepsPlace: true,
} as const satisfies Outcome;

/** Transmitted, and the record of it is not stored: nothing proves it, and the next attempt brings the record. */
export const EVIDENCE_NOT_STORED = {
  kind: "unconfirmed",
  code: "EVIDENCE",
  detail: "The evidence could not be stored.",
  isOurs: true,
} as const satisfies Outcome;

/** Outcomes by which nobody has the message. */
const NOT_TAKEN: ReadonlySet<AttemptOutcome> = new Set(["transport_failed", "peer_busy", "peer_refused"]);

/**
 * What an exchange is worth of which no record is stored: it proves nothing and ends nothing. Yet what the peer has
 * refused it may call a duplicate the next time, which a refusal that was forgotten would make a delivery.
 */
export function withoutEvidence({ evidence: _, ...outcome }: Outcome): Outcome {
  const { kind, code, peerSeat, detail } = outcome;
  if (NOT_TAKEN.has(kind))
    return {
      ...outcome,
      kind: kind === "peer_refused" ? "peer_busy" : kind,
      detail: [detail, EVIDENCE_NOT_STORED.detail].filter((part) => part !== undefined).join(" "),
      isOurs: true,
    };
  return {
    ...EVIDENCE_NOT_STORED,
    ...(code?.endsWith(WITH_ERROR) === true ? { code: `${EVIDENCE_NOT_STORED.code} ${WITH_ERROR}` } : {}),
    ...(peerSeat === undefined ? {} : { peerSeat }),
  };
}

/** A way to other access points: AS4 over the network, or the loopback of a sandbox. */
export interface Transport {
  /** Makes one attempt. Never throws; ends at the latest when `signal` aborts. */
  deliver(exchange: Exchange, signal: AbortSignal): Promise<Outcome>;
}

/** A payload as the worker that opened its message has left it: hashed and compressed, ready to be sealed. */
interface PackedPayload {
  /** Of the exact bytes, hex. */
  readonly sha256: string;
  /** gzip of the exact bytes. */
  readonly compressed: Uint8Array;
  /** How long the exact bytes are. */
  readonly length: number;
}

/** A verdict on an arriving document, made by the worker that opened its message. */
interface ArrivalReport {
  readonly report: Report;
  readonly took_ms: number;
}

/** What arrives for one of our participants, however it travelled. */
export interface InboundExchange {
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  readonly documentTypeId: string;
  readonly processId: string;
  readonly as4MessageId: string;
  readonly sbdhInstanceId: string;
  readonly createdAt: Instant;
  readonly payload: Buffer | PackedPayload;
  /** Absent where nobody has judged it yet. */
  readonly judged?: ArrivalReport;
  /** Absent when it travelled without an envelope. */
  readonly envelope?: EnvelopeFacts;
}

/** What the envelope of a message says beyond its addresses. */
export interface EnvelopeFacts {
  /** Which Message Level Status the sender wants, and where; undefined `to`: at the service provider that sent it. */
  readonly mls: { readonly type: "FAILURE_ONLY" | "ALWAYS_SEND"; readonly to: string | undefined };
  /** COUNTRY_C1. */
  readonly countryC1: string;
  /** Common name in the certificate that signed the message, `POP000123`: the sender's access point. */
  readonly peerSeat: string;
}

/** What became of an inbound document. `stored` and `duplicate` are both answered with a receipt. */
export type InboundOutcome =
  | {
      readonly kind: "stored" | "duplicate";
      /** The id of the stored document, whether it was stored now or by its first delivery. */
      readonly id: string;
      /** Undefined for messages to the access point itself. */
      readonly firmId: FirmId | undefined;
    }
  /** Its MessageId or InstanceIdentifier is stored with other content: it is no repeat. */
  | { readonly kind: "conflict" }
  /** The participant is not ours, or does not take this type of document. */
  | { readonly kind: "not_serviced" };

/**
 * Makes the receipt for a document that is about to be stored, and the record of the exchange, which takes its place in
 * the chain by the statement that stores the document. Called at most once.
 */
export type Prove = (stored: { readonly id: string; readonly firmId: FirmId }) => Promise<NewEvidence>;

/** The inbound path: stores before it answers. @param prove where evidence is kept; a repeat is not proved again */
export type Receive = (exchange: InboundExchange, prove?: Prove) => Promise<InboundOutcome>;
