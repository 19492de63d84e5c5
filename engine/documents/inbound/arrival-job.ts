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
  /** So are those of messages of more octets, which beside their files have no more, in at most so many tags. */
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

const OPENS = "<".charCodeAt(0);
const CLOSES = ">".charCodeAt(0);
const DECLARATION = { begins: "<?xml ", ends: "?>" } as const;
/** Comments, sections and instructions, in which a tag may be written that is none. */
const NO_TAGS = ["<!", "<?"];
const FILE = /^<(?:[^\s:<>/]+:)?EmbeddedDocumentBinaryObject[\s>]/;
/** Octets in which the name of a tag ends that begins an attached file. */
const NAME_WITHIN = 128;

/**
 * Octets of a document without those of attached files, of which the rules ask nothing.
 * @returns undefined where it has more tags than `marksMax`, or something that may hide one
 */
function octetsBesideFiles(payload: Buffer, marksMax: number): number | undefined {
  const { begins, ends } = DECLARATION;
  const start = payload.indexOf(begins) === 0 ? payload.indexOf(ends) + ends.length : 0;
  if (NO_TAGS.some((beginning) => payload.indexOf(beginning, start) >= 0)) return undefined;
  let octets = payload.length;
  let at = payload.indexOf(OPENS, start);
  for (let marks = 0; at >= 0; marks += 1) {
    if (marks === marksMax) return undefined;
    const next = payload.indexOf(OPENS, at + 1);
    if (FILE.test(payload.toString("latin1", at, at + NAME_WITHIN)))
      octets -= Math.max(0, next - payload.indexOf(CLOSES, at) - 1);
    at = next;
  }
  return octets;
}

/**
 * Whether a document is judged quickly: what is long is so for its files. But where a message is short others are
 * judged in the same batch, and wait for what it unpacks to.
 */
function isQuick(payload: Buffer, bytes: number, { bytesMax, marksMax }: ArrivalWork): boolean {
  if (payload.length <= bytesMax) return true;
  return bytes > bytesMax && (octetsBesideFiles(payload, marksMax) ?? Infinity) <= bytesMax;
}

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
