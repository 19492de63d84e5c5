/**
 * A fuzz run: `node test/support/engines/run-ts.mjs test/fuzz/run.ts SECONDS [TARGET…] [--seed N] [--out FOLDER]`.
 *
 * One target after the other, each for its share of the time. Findings are printed and, with --out, written there. An
 * input that hangs is told by a second thread, which can read it from shared memory while this one is stuck.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isMainThread, Worker, workerData } from "node:worker_threads";
import { performance } from "node:perf_hooks";
import { Random } from "../support/random.js";
import { Fuzzer } from "./fuzzer.js";
import type { Target } from "./fuzzer.js";
import { instrumentValidators } from "./instrument.js";
import { openTarget, TARGET_NAMES } from "./targets.js";
import type { TargetName } from "./targets.js";

const HANG_MS = 15_000;
const SHARED_BYTES = 64_000;

interface Watched {
  readonly shared: SharedArrayBuffer;
  readonly out: string | undefined;
}

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** Second thread: the number of the input must change. */
function watch({ shared, out }: Watched): void {
  const head = new Int32Array(shared, 0, 2);
  let last = -1;
  let since = 0;
  setInterval(() => {
    const number = Atomics.load(head, 0);
    since = number === last ? since + 1_000 : 0;
    last = number;
    if (since < HANG_MS) return;
    const input = Buffer.from(new Uint8Array(shared, 8, Atomics.load(head, 1)));
    if (out !== undefined) writeFileSync(join(out, "hang.bin"), input);
    process.stdout.write(`HANG over ${HANG_MS} ms: ${input.toString("base64")}\n`);
    process.exit(3);
  }, 1_000);
}

/** The target, telling the second thread what it is given. */
function watched(target: Target, shared: SharedArrayBuffer): Target {
  const head = new Int32Array(shared, 0, 2);
  const bytes = new Uint8Array(shared, 8);
  return {
    ...target,
    run: (input) => {
      const told = input.subarray(0, bytes.length);
      bytes.set(told);
      Atomics.store(head, 1, told.length);
      Atomics.add(head, 0, 1);
      target.run(input);
    },
  };
}

async function main(args: readonly string[]): Promise<void> {
  const option = (name: string): string | undefined => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined);
  const seconds = Number(args[0] ?? 60);
  const seed = Number(option("--seed") ?? 20_261_125);
  const out = option("--out");
  if (out !== undefined) mkdirSync(out, { recursive: true });
  const chosen = TARGET_NAMES.filter((name) => args.includes(name));
  const names: readonly TargetName[] = chosen.length === 0 ? TARGET_NAMES : chosen;
  const copy = instrumentValidators();
  const shared = new SharedArrayBuffer(8 + SHARED_BYTES);
  const watchdog = new Worker(new URL(import.meta.url), {
    workerData: { shared, out } satisfies Watched,
    execArgv: process.execArgv,
  });
  let found = 0;
  for (const name of names) {
    const target = watched(await openTarget(name, copy, name === "document" ? documents() : []), shared);
    const fuzzer = new Fuzzer(target, {
      random: new Random(seed),
      counters: copy.counters,
      dictionary: copy.dictionary,
    });
    // Documents get half of the time: they are what strangers send.
    const share = names.length === 1 ? seconds : name === "document" ? seconds / 2 : seconds / 2 / (names.length - 1);
    const until = performance.now() + share * 1_000;
    while (performance.now() < until) for (let i = 0; i < 100; i += 1) fuzzer.step();
    const { executions, places, corpus, findings, slowest_ms, largest_bytes } = fuzzer.state;
    say(
      `${name}: ${executions} inputs, ${places} places of ${copy.counters.length}, corpus ${corpus.length}, slowest ${Math.round(slowest_ms)} ms, largest allocation ${Math.round(largest_bytes / 1e6)} MB, ${findings.length} findings (seed ${seed})`,
    );
    for (const [index, { problem, input }] of findings.entries()) {
      say(`  ${problem}\n  input: ${input.toString("base64").slice(0, 4_000)}`);
      if (out !== undefined) writeFileSync(join(out, `${name}-${index}.bin`), input);
    }
    found += findings.length;
  }
  await watchdog.terminate();
  copy.remove();
  process.exitCode = found === 0 ? 0 : 1;
}

/** Published documents as further seeds, where they are: `$KURIER_CONFORMANCE`, else beside the checkout. */
function documents(): Buffer[] {
  const root = join(process.env["KURIER_CONFORMANCE"] ?? "../shared/conformance", "documents");
  return ["peppol-3.0.21", "en16931", "invoice-response", "self-billing-3.0.21"]
    .map((folder) => join(root, folder))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder)
        .filter((name) => name.endsWith(".xml"))
        .sort()
        .map((name) => readFileSync(join(folder, name)))
        .filter((bytes) => bytes.length < 20_000)
        .slice(0, 12),
    );
}

if (isMainThread) await main(process.argv.slice(2));
else watch(workerData as Watched);
