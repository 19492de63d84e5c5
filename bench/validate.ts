/**
 * `validate`: the full chain per document, in one thread, against libxml2-wasm's parse and XSD alone, against phive on
 * the JVM, and against itself on longer documents.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { systemClock } from "../engine/base/clock.js";
import { conformanceFolder } from "../engine/base/config.js";
import { loadXsd } from "../validators/schematron/release/xsd.js";
import type { ValidateOptions } from "../validators/protocol.js";
import { prepareRules } from "../validators/selection/builtin.js";
import { validateDocument } from "../validators/validate.js";
import { SCAN_LIMITS } from "../validators/xml/limits.js";
import { releaseDocument } from "../validators/xml/scanner.js";
import { invoiceWithLines } from "./documents.js";
import { preparePhive, timePhive } from "./peers/phive.js";
import type { PhiveTime } from "./peers/phive.js";
import type { Bench, BenchOptions, Figure } from "./runner.js";

const DAY = "2026-11-20";
const OPTIONS: ValidateOptions = { limits: SCAN_LIMITS, day: DAY };
/** For documents above the payload limit: growth is what they are for. */
const UNLIMITED: ValidateOptions = {
  day: DAY,
  limits: { ...SCAN_LIMITS, payloadBytes: 1_000_000_000, elements: 40_000_000 },
};
/** The JVM's time grows faster than the lines: ten thousand would take minutes a run. */
const PHIVE_LINES_MAX = 1_000;
/** Batches shorter than this say more about the clock than about the work. */
const BATCH_MS = 20;
const BATCHES_MIN = 5;

interface Subject {
  readonly name: string;
  readonly lines: number;
  readonly valid: boolean;
  readonly bytes: Buffer;
}

/** A document as it lies in a worker: with a NUL behind it, so that the scanner need not copy it. */
function asInWorker(text: string): Buffer {
  const bytes = Buffer.from(text);
  const ended = Buffer.alloc(bytes.length + 1);
  bytes.copy(ended);
  return ended.subarray(0, bytes.length);
}

/** The scheme 9950 is in the code lists of every release that a peer may have; 0245 came with the last ones. */
const invoice = (lines: number): Buffer =>
  asInWorker(invoiceWithLines(lines).toString().replaceAll('schemeID="0245"', 'schemeID="9950"'));

/**
 * The same invoice, right by the schema and wrong by rules: no line has a quantity, and the amount due is not the sum.
 */
const broken = (bytes: Buffer): Buffer =>
  asInWorker(
    bytes
      .toString()
      .replace(/\s*<cbc:InvoicedQuantity[^>]*>[^<]*<\/cbc:InvoicedQuantity>/gu, "")
      .replace(/(<cbc:PayableAmount currencyID="EUR">)[^<]*/u, "$11.00"),
  );

function subjects(sizes: readonly number[]): Subject[] {
  const example = join(conformanceFolder(), "documents", "peppol-3.0.21", "base-example.xml");
  const published: Subject[] = existsSync(example)
    ? [{ name: "official base example", lines: 2, valid: true, bytes: asInWorker(readFileSync(example, "utf8")) }]
    : [];
  return [
    ...published,
    ...sizes.flatMap((lines) => {
      const [bytes, name] = [invoice(lines), `${lines.toLocaleString("en")} lines`];
      return [
        { name, lines, valid: true, bytes },
        { name: `${name}, invalid`, lines, valid: false, bytes: broken(bytes) },
      ];
    }),
  ];
}

/**
 * Median time of one run in milliseconds, over batches of at least BATCH_MS, after a warm-up of a third of the time.
 */
function median(run: () => unknown, seconds: number): number {
  const now = (): number => systemClock.monotonic();
  const time = (times: number): number => {
    const start = now();
    for (let i = 0; i < times; i += 1) run();
    return (now() - start) / times;
  };
  const warm = now() + (seconds * 1_000) / 3;
  let once = time(1);
  while (now() < warm) once = time(Math.max(1, Math.floor(BATCH_MS / Math.max(once, 0.001))));
  const size = Math.max(1, Math.ceil(BATCH_MS / Math.max(once, 0.001)));
  const batches: number[] = [];
  for (const end = now() + seconds * 1_000; batches.length < BATCHES_MIN || now() < end;) batches.push(time(size));
  return batches.sort((a, b) => a - b)[Math.floor(batches.length / 2)] ?? 0;
}

/** libxml2-wasm with the UBL schema, where both are. */
async function openXsd(): Promise<{ validate(bytes: Buffer): boolean; dispose(): void } | undefined> {
  const folder = join(conformanceFolder(), "ubl-2.1-xsd");
  const file = join(folder, "maindoc", "UBL-Invoice-2.1.xsd");
  if (!existsSync(file)) return undefined;
  const validator = await loadXsd(file, folder, "schema");
  return {
    validate: (bytes) => validator.validate(bytes, 10).length === 0,
    dispose: () => {
      validator.dispose();
    },
  };
}

const kilobytes = (bytes: Buffer): string => `${(bytes.length / 1_000).toFixed(bytes.length < 100_000 ? 1 : 0)} KB`;

/** The chain on every document, its verdicts checked and hashed. */
function timeChain(
  all: readonly Subject[],
  seconds: number,
): { readonly times: readonly number[]; readonly digest: string } {
  const hash = createHash("sha256");
  const times = all.map(({ name, valid, bytes }) => {
    const options = bytes.length > SCAN_LIMITS.payloadBytes ? UNLIMITED : OPTIONS;
    const { findings, dropped, ...report } = validateDocument(bytes, options);
    if (report.valid !== valid)
      throw new Error(
        `${name}: expected ${valid ? "a valid" : "an invalid"} document, and ${findings[0]?.ruleId ?? "nothing"} was found`,
      );
    hash.update(
      JSON.stringify([name, report.valid, dropped, findings.map(({ ruleId, location }) => [ruleId, location])]),
    );
    return median(() => validateDocument(bytes, options), seconds);
  });
  return { times, digest: hash.digest("hex").slice(0, 12) };
}

async function timeXsd(all: readonly Subject[], seconds: number): Promise<readonly (number | undefined)[]> {
  const xsd = await openXsd();
  try {
    return all.map(({ name, bytes }) => {
      if (xsd === undefined) return undefined;
      if (!xsd.validate(bytes)) throw new Error(`${name}: libxml2 finds it invalid`);
      return median(() => xsd.validate(bytes), seconds);
    });
  } finally {
    xsd?.dispose();
  }
}

async function timeJvm(
  all: readonly Subject[],
  seconds: number,
  say: BenchOptions["say"],
): Promise<readonly (PhiveTime | undefined)[]> {
  const reason = await preparePhive();
  if (reason !== undefined) {
    say(`phive is left out: ${reason}.`);
    return all.map(() => undefined);
  }
  const timed = all.filter(({ lines }) => lines <= PHIVE_LINES_MAX);
  const times = await timePhive(
    timed.map(({ bytes }) => bytes),
    seconds,
  );
  for (const [index, { name, valid }] of timed.entries())
    if (times[index]?.valid !== valid) throw new Error(`${name}: phive does not share the verdict`);
  return all.map((subject) => times[timed.indexOf(subject)]);
}

function figuresOf(
  { name, bytes }: Subject,
  chain: number,
  xsd: number | undefined,
  jvm: PhiveTime | undefined,
): Figure[] {
  return [
    { name, value: chain, unit: "ms", note: kilobytes(bytes) },
    ...(xsd === undefined
      ? []
      : ([
          { name: "  libxml2-wasm: parse + XSD alone", value: xsd, unit: "ms" },
          { name: "  chain ÷ libxml2-wasm", value: chain / xsd, unit: "ratio" },
        ] as const)),
    ...(jvm === undefined
      ? []
      : ([
          { name: "  phive on the JVM", value: jvm.median_ms, unit: "ms" },
          { name: "  phive ÷ chain", value: jvm.median_ms / chain, unit: "ratio" },
        ] as const)),
  ];
}

/** Time per line of long documents against that of short ones. */
function growth(sizes: readonly [few: number, ...many: number[]], seconds: number, say: BenchOptions["say"]): Figure[] {
  const perLine = (lines: number): number => {
    const bytes = invoice(lines);
    say(`${lines.toLocaleString("en")} lines, ${kilobytes(bytes)} …`);
    if (!validateDocument(bytes, UNLIMITED).valid) throw new Error(`an invoice of ${lines} lines is not valid`);
    const time = median(() => validateDocument(bytes, UNLIMITED), seconds) / lines;
    releaseDocument();
    return time;
  };
  const [few, ...many] = sizes;
  const base = perLine(few);
  return many.map((lines) => ({
    name: `time per line: ${lines.toLocaleString("en")} ÷ ${few.toLocaleString("en")} lines`,
    value: perLine(lines) / base,
    unit: "ratio" as const,
    note: "1 is linear",
  }));
}

async function measure({ tiny, seconds, say }: BenchOptions): Promise<readonly Figure[]> {
  prepareRules();
  const each = tiny ? 0.02 : seconds;
  const all = subjects(tiny ? [2, 20] : [2, 20, 200, 1_000, 10_000]);
  say("the chain …");
  const { times, digest } = timeChain(all, each);
  say("libxml2-wasm …");
  const xsd = await timeXsd(all, each);
  if (!tiny) say("phive …");
  const jvm = tiny ? all.map(() => undefined) : await timeJvm(all, each, say);
  return [
    ...all.flatMap((subject, index) => figuresOf(subject, times[index] ?? 0, xsd[index], jvm[index])),
    ...growth(tiny ? [20, 200] : [1_000, 10_000, 100_000], each, say),
    { name: "documents judged", value: all.length, unit: "count", note: `verdicts ${digest}` },
  ];
}

/** Validations per second and what one takes, beside the peers. */
export const validateBench: Bench = {
  name: "validate",
  question:
    "How long does the full validation of one document take, against libxml2's parse and XSD alone and against phive on the JVM?",
  seconds: 1,
  run: measure,
};
