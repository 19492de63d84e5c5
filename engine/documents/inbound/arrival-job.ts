/**
 * The one job in which a worker takes a message in: opens it, reads what is in it, packs it for the store and judges a
 * document that is judged quickly. Runs in worker threads alone; who asks for it is arrival-workers.ts.
 */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";

import { systemClock } from "../../base/clock.js";
import type { ArrivedMessage, RefusedArrival } from "../../peppol/as4/arrival.js";
import type { As4Jobs } from "../../peppol/as4/jobs.js";
import { classifyInbound } from "../../peppol/responses/inbound-kind.js";
import type { InboundExchange } from "../../peppol/transport.js";
import type { Report, ValidateInput, ValidateOptions } from "../../../validators/protocol.js";
import { isJudged } from "./judged.js";

/** What the job is asked beside the message. */
export interface ArrivalWork {
  /** Payloads of at most so many octets are judged here. */
  readonly bytesMax: number;
  /** So are longer ones with at most so many marks, of messages of more octets than that. */
  readonly marksMax: number;
  /** How documents are judged; absent where they are to be stored without a verdict. */
  readonly judge?: ValidateOptions;
  readonly gzipLevel: number;
}

type Validate = (input: ValidateInput) => Report | Promise<Report>;

/** Takes one message in. @param bytes  octets of the message */
export async function takeArrival(
  opening: ReturnType<As4Jobs["open"]>,
  bytes: number,
  work: ArrivalWork,
  validate: Validate,
): Promise<ArrivedMessage | RefusedArrival> {
  const opened = await opening;
  if (opened.kind === "refused" || opened.content === undefined || "kind" in opened.content) return opened;
  return { ...opened, content: await judgedAndPacked(opened.content, bytes, work, validate) };
}

const MARK = "<".charCodeAt(0);

/** Whether there are more of the mark that begins each tag. */
function hasMoreMarks(payload: Buffer, marksMax: number): boolean {
  let at = -1;
  for (let marks = 0; marks <= marksMax; marks += 1) {
    at = payload.indexOf(MARK, at + 1);
    if (at < 0) return false;
  }
  return true;
}

/**
 * Whether a document is judged quickly. What is long and has few marks is an attachment for the most part, of which the
 * rules ask little; but where a message is small others are judged in the same batch, and wait for what it unpacks to.
 */
const isQuick = (payload: Buffer, bytes: number, { bytesMax, marksMax }: ArrivalWork): boolean =>
  payload.length <= bytesMax || (bytes > bytesMax && !hasMoreMarks(payload, marksMax));

async function judgedAndPacked(
  content: InboundExchange,
  bytes: number,
  work: ArrivalWork,
  validate: Validate,
): Promise<InboundExchange> {
  const { payload, documentTypeId } = content;
  if (!Buffer.isBuffer(payload)) return content;
  const pack = (packed: { readonly sha256: string; readonly compressed: Uint8Array }): InboundExchange => ({
    ...content,
    payload: { ...packed, length: payload.length },
  });
  const { judge, gzipLevel: level } = work;
  const isRuled = classifyInbound(documentTypeId) === "business" && isJudged(documentTypeId);
  if (judge === undefined || !isRuled || !isQuick(payload, bytes, work))
    return pack({ sha256: sha256Hex(payload), compressed: gzipSync(payload, { level }) });
  const begun = systemClock.monotonic();
  const judging = validate({ bytes: payload, options: { ...judge, compressLevel: level } });
  // Between a verdict and what follows it other messages of the batch are judged: that is not its time.
  const took_ms = systemClock.monotonic() - begun;
  const { compressed, ...report } = await judging;
  return {
    ...pack({ sha256: report.payloadSha256, compressed: compressed ?? gzipSync(payload, { level }) }),
    judged: { report, took_ms },
  };
}

const sha256Hex = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
