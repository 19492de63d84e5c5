/**
 * The participants of the sandbox with a fate: who they are, and what becomes of a document that is sent to them. This
 * table is all that there is of them: they are in no database.
 */
import { LIMITS } from "../base/limits.js";
import type { ParticipantId } from "../base/ids.js";
import type { ResponseCode } from "../lifecycle/response.js";
import { PARTICIPANT_CAPABILITIES } from "../peppol/discovery/capabilities.js";
import { BILLING_CAPABILITIES, SELF_BILLING_PROCESS } from "../peppol/envelope/identifiers.js";
import { MLS_DOCUMENT_TYPE, MLS_PROCESS } from "../peppol/responses/mls.js";

type Capabilities = typeof PARTICIPANT_CAPABILITIES;

/** What the access point of a participant answers to a message. */
export type PeerAnswer =
  | "receipt"
  /** An ebMS error that is for good. */
  | "refusal"
  /** HTTP 200 and nothing else: whether it has arrived cannot be known. */
  | "silence"
  /** HTTP 503 until LIMITS.sandbox_down_ms have passed since the document was made. */
  | "down_at_first";

/** What follows a receipt. */
type Sequel =
  | { readonly kind: "nothing" }
  | { readonly kind: "response"; readonly code: ResponseCode }
  /** A Message Level Status that rejects the document by this rule. */
  | { readonly kind: "status"; readonly rule: string };

export interface Fate {
  readonly name: string;
  /** For people: what a sender sees. */
  readonly description: string;
  /** What is published of the participant; undefined for one that is not registered. */
  readonly capabilities: Capabilities | undefined;
  readonly certificate: "valid" | "expired";
  readonly answer: PeerAnswer;
  /** How long it thinks before it answers, milliseconds. */
  readonly delay_ms: number;
  readonly sequel: Sequel;
  /** Waits between attempts, where they are not the usual ones. */
  readonly plan?: readonly number[];
}

const DELIVERED = {
  capabilities: PARTICIPANT_CAPABILITIES,
  certificate: "valid",
  answer: "receipt",
  delay_ms: 0,
  sequel: { kind: "nothing" },
} as const;

const answered = (code: ResponseCode, meaning: string): Fate => ({
  ...DELIVERED,
  name: `answered_${code.toLowerCase()}`,
  description: `Delivered, then answered by an Invoice Response ${code}: ${meaning}.`,
  sequel: { kind: "response", code },
});

const invoices = BILLING_CAPABILITIES.filter(({ documentTypeId }) => documentTypeId.includes("::Invoice##"));

/** Participant → fate. The ids are made up; no firm can have one of them. */
export const FATES: ReadonlyMap<ParticipantId, Fate> = new Map(
  (
    [
      ["0245:2199000001", { ...DELIVERED, name: "delivered", description: "Delivered at once." }],
      ["0245:2199000002", answered("AB", "received")],
      ["0245:2199000003", answered("IP", "in process")],
      ["0245:2199000004", answered("AP", "accepted")],
      ["0245:2199000005", answered("RE", "rejected by the buyer")],
      ["0245:2199000006", answered("PD", "paid")],
      [
        "0245:2199000007",
        {
          ...DELIVERED,
          name: "mls_re",
          description: "Delivered, then rejected by a Message Level Status RE that names the rule BR-CO-15.",
          sequel: { kind: "status", rule: "BR-CO-15" },
        },
      ],
      [
        "0245:2199000008",
        {
          ...DELIVERED,
          name: "not_registered",
          description:
            "Not registered in the network: accepted, and send_failed within a minute, when its attempts found nobody.",
          capabilities: undefined,
          plan: LIMITS.sandbox_retry_plan_ms,
        },
      ],
      [
        "0245:2199000009",
        {
          ...DELIVERED,
          name: "type_not_accepted",
          description: "Takes credit notes and no invoices: the send of an invoice is refused before it is accepted.",
          capabilities: BILLING_CAPABILITIES.filter((capability) => !invoices.includes(capability)),
        },
      ],
      [
        "0245:2199000010",
        {
          ...DELIVERED,
          name: "process_not_accepted",
          description: "Takes invoices in the process of self-billing only: an ordinary send is refused.",
          capabilities: invoices.map(({ documentTypeId }) => ({ documentTypeId, processId: SELF_BILLING_PROCESS })),
        },
      ],
      [
        "0245:2199000011",
        {
          ...DELIVERED,
          name: "down_then_up",
          description: "Its access point is down until ten minutes after the send, then delivered by a later attempt.",
          answer: "down_at_first",
          plan: LIMITS.sandbox_down_plan_ms,
        },
      ],
      [
        "0245:2199000012",
        {
          ...DELIVERED,
          name: "refused",
          description: "Its access point refuses for good: the document becomes rejected.",
          answer: "refusal",
        },
      ],
      [
        "0245:2199000013",
        {
          ...DELIVERED,
          name: "never_confirmed",
          description: "Takes the message and never confirms it: sent, and delivery_failed within a minute.",
          answer: "silence",
          plan: LIMITS.sandbox_retry_plan_ms,
        },
      ],
      [
        "0245:2199000014",
        {
          ...DELIVERED,
          name: "certificate_expired",
          description: "The certificate of its access point has expired: nothing is sent, attempts go on by the plan.",
          certificate: "expired",
        },
      ],
      [
        "0245:2199000015",
        {
          ...DELIVERED,
          name: "slow",
          description: "Delivered, but its access point takes five seconds to answer.",
          delay_ms: LIMITS.sandbox_slow_ms,
        },
      ],
    ] satisfies readonly (readonly [string, Fate])[]
  ).map(([id, fate]) => [id as ParticipantId, fate]),
);

/** Who sends documents to firms of the sandbox when an operator asks for it: the first of the table. */
export const SANDBOX_SELLER = "0245:2199000001" as ParticipantId;

/** The provider behind the participants, who takes statuses about what was sent to firms from outside. */
export const PROVIDER_FATE: Fate = {
  ...DELIVERED,
  name: "provider",
  description: "The service provider of these participants.",
  capabilities: [{ documentTypeId: MLS_DOCUMENT_TYPE, processId: MLS_PROCESS }],
};
