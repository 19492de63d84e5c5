/**
 * The one job in which a worker takes a message in: opens it, reads what is in it, packs it for the store and judges a
 * document of ordinary size. Runs in worker threads alone; who asks for it is arrival-workers.ts.
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
  /** How documents are judged; absent where they are to be stored without a verdict. */
  readonly judge?: ValidateOptions;
  readonly gzipLevel: number;
}

type Validate = (input: ValidateInput) => Report | Promise<Report>;

/** Takes one message in. */
export async function takeArrival(
  opening: ReturnType<As4Jobs["open"]>,
  work: ArrivalWork,
  validate: Validate,
): Promise<ArrivedMessage | RefusedArrival> {
  const opened = await opening;
  if (opened.kind === "refused" || opened.content === undefined || "kind" in opened.content) return opened;
  return { ...opened, content: await judgedAndPacked(opened.content, work, validate) };
}

async function judgedAndPacked(
  content: InboundExchange,
  { bytesMax, judge, gzipLevel: level }: ArrivalWork,
  validate: Validate,
): Promise<InboundExchange> {
  const { payload, documentTypeId } = content;
  if (!Buffer.isBuffer(payload)) return content;
  const pack = (packed: { readonly sha256: string; readonly compressed: Uint8Array }): InboundExchange => ({
    ...content,
    payload: { ...packed, length: payload.length },
  });
  const isQuick = payload.length <= bytesMax;
  if (judge === undefined || !isQuick || classifyInbound(documentTypeId) !== "business" || !isJudged(documentTypeId))
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
