/**
 * The one job in which a worker takes a message in: opens it, reads what is in it, packs it for the store and judges a
 * document that is judged quickly. Runs in worker threads alone; who asks for it is arrival-workers.ts.
 */
import { systemClock } from "../../base/clock.js";
import { openArrival } from "../../peppol/as4/arrival.js";
import type { ArrivalInput, ArrivedMessage, RefusedArrival } from "../../peppol/as4/arrival.js";
import type { As4Crypto } from "../../peppol/as4/messages.js";
import { classifyInbound } from "../../peppol/responses/inbound-kind.js";
import type { InboundExchange } from "../../peppol/transport.js";
import { sha256Hex } from "../../storage/evidence/record.js";
import type { Report, ValidateInput, ValidateOptions } from "../../../validators/protocol.js";
import { isJudged } from "./judged.js";
import { Unpacked } from "./unpacked.js";

/** What the job is asked beside the message. */
export interface ArrivalWork {
  /** Payloads of at most so many octets are judged here. */
  readonly bytesMax: number;
  /** So are those of messages of more octets, which beside their files have no more, in at most so many elements. */
  readonly elementsMax: number;
  /** How documents are judged; absent where they are to be stored without a verdict. */
  readonly judge?: ValidateOptions;
  readonly gzipLevel: number;
  /** Octets that messages of one batch may have unpacked before another of them is opened. */
  readonly unpackedBytesMax: number;
}

/** What judges a document, tells whether that takes long, and compresses it. */
interface Validators {
  readonly validate: (input: ValidateInput) => Report | Promise<Report>;
  readonly octetsBesideFiles: (
    bytes: Buffer,
    limits: ValidateOptions["limits"],
    elementsMax: number,
  ) => number | undefined;
  readonly compress: (bytes: Uint8Array, level: number) => Buffer;
}

/**
 * Makes what takes one message in, beside others of its batch.
 * @param cryptoOf  runs tasks of signatures in this thread at once, and says what they have unpacked
 */
export function arrivalJob(
  cryptoOf: (unpacked: (octets: number) => void) => As4Crypto,
  validators: Validators,
  held = new Unpacked(),
) {
  return ({
    work,
    ...input
  }: ArrivalInput & { readonly work: ArrivalWork }): Promise<ArrivedMessage | RefusedArrival> =>
    held.within(work.unpackedBytesMax, async (unpacked) => {
      const opened = await openArrival(input, cryptoOf(unpacked));
      if (opened.kind === "refused" || opened.content === undefined || "kind" in opened.content) return opened;
      return { ...opened, content: await judgedAndPacked(opened.content, input.bytes.length, work, validators) };
    });
}

/**
 * Whether a document is judged quickly: what is long is so for its files. But where a message is short others are
 * judged in the same batch, and wait for what it unpacks to.
 */
function isQuick(
  payload: Buffer,
  bytes: number,
  { bytesMax, elementsMax, judge }: ArrivalWork,
  validators: Validators,
): boolean {
  if (payload.length <= bytesMax) return true;
  if (bytes <= bytesMax || judge === undefined) return false;
  return (validators.octetsBesideFiles(payload, judge.limits, elementsMax) ?? Infinity) <= bytesMax;
}

async function judgedAndPacked(
  content: InboundExchange,
  bytes: number,
  work: ArrivalWork,
  validators: Validators,
): Promise<InboundExchange> {
  const { payload, documentTypeId } = content;
  if (!Buffer.isBuffer(payload)) return content;
  const pack = (packed: { readonly sha256: string; readonly compressed: Uint8Array }): InboundExchange => ({
    ...content,
    payload: { ...packed, length: payload.length },
  });
  const { judge, gzipLevel: level } = work;
  const isRuled = classifyInbound(documentTypeId) === "business" && isJudged(documentTypeId);
  if (judge === undefined || !isRuled || !isQuick(payload, bytes, work, validators))
    return pack({ sha256: sha256Hex(payload), compressed: validators.compress(payload, level) });
  const begun = systemClock.monotonic();
  const judging = validators.validate({ bytes: payload, options: { ...judge, compressLevel: level } });
  // Between a verdict and what follows it other messages of the batch are judged: that is not its time.
  const took_ms = systemClock.monotonic() - begun;
  const { compressed, ...report } = await judging;
  return {
    ...pack({ sha256: report.payloadSha256, compressed: compressed ?? validators.compress(payload, level) }),
    judged: { report, took_ms },
  };
}
