/** Coverage-guided fuzzing: what reaches a new place joins the corpus, and the corpus is what is damaged next. */
import { performance } from "node:perf_hooks";
import type { Random } from "../support/random.js";

/** What is fuzzed. It throws when something is wrong; how long it takes and what it allocates is looked at here. */
export interface Target {
  readonly name: string;
  readonly seeds: readonly Buffer[];
  /** Pieces that inputs are made of, beside those of the sources. */
  readonly pieces: readonly string[];
  run(input: Buffer): void;
  /** Damages that know the form of the input; each is taken as often as a blind one. */
  readonly damages?: readonly ((input: Buffer, random: Random) => Buffer)[];
}

/** The promises for one input. */
const BOUNDS = { time_ms: 1_000, memory_bytes: 100_000_000 } as const;
/** Longer inputs find nothing that these do not, more slowly. */
const INPUT_BYTES_MAX = 48_000;
const CORPUS_MAX = 20_000;

export interface Finding {
  readonly problem: string;
  readonly input: Buffer;
}

export interface FuzzState {
  executions: number;
  /** Places reached, by how often: each of eight classes counts once. */
  places: number;
  readonly corpus: Buffer[];
  readonly findings: Finding[];
  slowest_ms: number;
  largest_bytes: number;
}

/** How often a place was passed, as one of eight bits. */
const CLASS_OF = Uint8Array.from({ length: 256 }, (_, n) =>
  n === 0 ? 0 : n === 1 ? 1 : n === 2 ? 2 : n === 3 ? 4 : n < 8 ? 8 : n < 16 ? 16 : n < 32 ? 32 : n < 128 ? 64 : 128,
);

export class Fuzzer {
  readonly state: FuzzState = { executions: 0, places: 0, corpus: [], findings: [], slowest_ms: 0, largest_bytes: 0 };
  readonly #target: Target;
  readonly #random: Random;
  readonly #counters: Uint8Array;
  readonly #seen: Uint8Array;
  readonly #pieces: readonly string[];
  readonly #problems = new Set<string>();

  constructor(
    target: Target,
    options: { readonly random: Random; readonly counters: Uint8Array; readonly dictionary: readonly string[] },
  ) {
    this.#target = target;
    this.#random = options.random;
    this.#counters = options.counters;
    this.#seen = new Uint8Array(options.counters.length);
    this.#pieces = [...target.pieces, ...options.dictionary];
    for (const seed of target.seeds) {
      this.try(seed);
      // A seed stays, whatever it reaches: its text is what others are spliced from.
      if (!this.state.corpus.includes(seed)) this.state.corpus.push(seed);
    }
  }

  /** Damages one input of the corpus and tries it. */
  step(): void {
    this.try(this.#damaged(this.#random.pick(this.state.corpus)));
  }

  /** Runs one input, keeps it when it is new, and notes what is wrong with it. */
  try(input: Buffer): void {
    const { state } = this;
    this.#counters.fill(0);
    const memory = allocated();
    const start = performance.now();
    let problem: string | undefined;
    try {
      this.#target.run(input);
    } catch (error) {
      problem =
        error instanceof Error
          ? `${error.name}: ${error.message.slice(0, 200)}\n${(error.stack ?? "").split("\n").slice(1, 4).join("\n")}`
          : String(error);
    }
    const time_ms = performance.now() - start;
    const bytes = allocated() - memory;
    state.executions += 1;
    state.slowest_ms = Math.max(state.slowest_ms, time_ms);
    state.largest_bytes = Math.max(state.largest_bytes, bytes);
    if (time_ms > BOUNDS.time_ms && this.#takesLong(input)) problem ??= `takes ${Math.round(time_ms)} ms`;
    if (bytes > BOUNDS.memory_bytes) problem ??= `allocates ${Math.round(bytes / 1e6)} MB`;
    if (problem !== undefined) this.#note(problem, input);
    if (this.#isNew() && state.corpus.length < CORPUS_MAX) state.corpus.push(input);
  }

  /** Once more, alone: the machine may have been busy. */
  #takesLong(input: Buffer): boolean {
    const start = performance.now();
    try {
      this.#target.run(input);
    } catch {
      /* told already */
    }
    return performance.now() - start > BOUNDS.time_ms;
  }

  #note(problem: string, input: Buffer): void {
    // One finding a place: the same fault has many inputs.
    const key = problem.replace(/\d+/gu, "0").slice(0, 300);
    if (this.#problems.has(key)) return;
    this.#problems.add(key);
    this.state.findings.push({ problem, input });
  }

  #isNew(): boolean {
    const { length } = this.#counters;
    let fresh = false;
    for (let i = 0; i < length; i += 1) {
      const bit = CLASS_OF[this.#counters[i] ?? 0] ?? 0;
      const seen = this.#seen[i] ?? 0;
      if (bit === 0 || (seen & bit) !== 0) continue;
      if (seen === 0) this.state.places += 1;
      this.#seen[i] = seen | bit;
      fresh = true;
    }
    return fresh;
  }

  #damaged(source: Buffer): Buffer {
    const random = this.#random;
    let input = source;
    for (let n = 1 + random.int(5); n > 0; n -= 1) {
      const own = this.#target.damages ?? [];
      const kind = random.int(8 + own.length);
      const damage = own[kind - 8];
      input = damage === undefined ? this.#blind(input, kind) : damage(input, random);
    }
    return input.subarray(0, INPUT_BYTES_MAX);
  }

  #blind(input: Buffer, kind: number): Buffer {
    const random = this.#random;
    const at = random.int(input.length + 1);
    const until = Math.min(input.length, at + (random.int(3) === 0 ? random.int(400) : random.int(12)));
    const [head, piece, tail] = [input.subarray(0, at), input.subarray(at, until), input.subarray(until)];
    switch (kind) {
      case 0:
        return Buffer.concat([head, tail]);
      case 1:
        return Buffer.concat([head, Buffer.from([random.int(256)]), tail]);
      case 2: {
        const copy = Buffer.from(input);
        if (copy.length > 0) copy[random.int(copy.length)] = random.int(256);
        return copy;
      }
      case 3:
        return Buffer.concat([
          head,
          ...Array.from({ length: 1 + random.int(random.int(8) === 0 ? 60 : 3) }, () => piece),
          piece,
          tail,
        ]);
      case 4: {
        const other = random.pick(this.state.corpus);
        const from = random.int(other.length + 1);
        return Buffer.concat([head, other.subarray(from, from + random.int(600)), tail]);
      }
      case 5: {
        const other = random.pick(this.state.corpus);
        return Buffer.concat([head, other.subarray(random.int(other.length + 1))]);
      }
      case 6:
        return Buffer.concat([head, Buffer.from(random.pick(this.#pieces)), tail]);
      default:
        return Buffer.concat([head, Buffer.from(random.pick(this.#pieces)), piece, tail]);
    }
  }
}

const allocated = (): number => {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};
