/**
 * The verdict on a received document: the rules of its type, and what its envelope declares of it. It is made while
 * the document waits to be stored, so that a good one is stored as its firm sees it; what cannot be judged at once is
 * stored first, and held.
 */
import type { Clock } from "../../base/clock.js";
import { participantKey } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { within } from "../../base/waiting/wake.js";
import type { InboundExchange } from "../../peppol/transport.js";
import type { DocumentFinding, Inspection, InspectOptions, Validators } from "../accept/facts.js";
import { inspectionOf } from "../accept/validators.js";
import { contradictionsOf } from "../declared.js";
import { isJudged } from "./judged.js";

export interface DocumentVerdict {
  readonly valid: boolean;
  readonly findings: readonly DocumentFinding[];
  /** What the document says of itself; undefined for one that cannot be read. */
  readonly facts?: Inspection["facts"];
}

/** A verdict with what its worker has found out on the way. */
interface Judgement extends DocumentVerdict {
  /** Digest of the document, hex. */
  readonly payloadSha256: string;
  /** The document as it is stored, before it is sealed; of a valid one only, and when it was asked for. */
  readonly compressed?: Uint8Array;
}

/** A verdict that was made before the document is stored. */
export interface JudgedArrival extends Judgement {
  readonly took_ms: number;
}

/**
 * Judges a received document by the rules, and by what its envelope declares: the type decides, and a document that
 * names another specification, process or party than its envelope is refused.
 * @throws Refusal TEMPORARY when the workers' queue is full
 */
export const verdictOn = async (
  validators: Validators,
  payload: Uint8Array,
  declared: Parameters<typeof contradictionsOf>[0],
  options: InspectOptions,
): Promise<Judgement> => compared(await validators.inspect(payload, options), declared);

/** Adds what contradicts the envelope. */
function compared(inspection: Inspection, declared: Parameters<typeof contradictionsOf>[0]): Judgement {
  if (inspection.facts === undefined) return inspection;
  const contradictions = contradictionsOf(declared, inspection.facts);
  return {
    ...inspection,
    valid: inspection.valid && contradictions.length === 0,
    findings: [...contradictions, ...inspection.findings],
  };
}

/**
 * The verdict on a customer's document that has just arrived: that of the worker that opened its message, or one that
 * takes a moment.
 * @returns undefined for what has no rules, is large, or could not be judged in LIMITS.verdict_at_once_ms: it is stored
 *   without a verdict, and whoever judges it then tells what was wrong
 */
export async function judgeArrival(
  { validators, clock }: { readonly validators?: Validators; readonly clock: Clock },
  exchange: InboundExchange,
): Promise<JudgedArrival | undefined> {
  const { documentTypeId, receiver, payload, judged: before } = exchange;
  if (before !== undefined) return { ...compared(inspectionOf(before.report), exchange), took_ms: before.took_ms };
  const isQuick = payload.length <= LIMITS.verdict_at_once_bytes_max;
  if (validators === undefined || !isQuick || !isJudged(documentTypeId) || !Buffer.isBuffer(payload)) return undefined;
  const begun = clock.monotonic();
  const verdict = verdictOn(validators, payload, exchange, {
    fairnessKey: `received/${participantKey(receiver)}`,
    receivedAt: clock.now(),
    compress: true,
  });
  const judged = await within(verdict, LIMITS.verdict_at_once_ms, undefined).catch(() => undefined);
  return judged === undefined ? undefined : { ...judged, took_ms: clock.monotonic() - begun };
}
