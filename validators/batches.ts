/**
 * Runs batches of jobs in a thread, by a table of loaders. Handlers are loaded when their kind is first asked for, so
 * that a thread that only signs never compiles the rules, and the other way round.
 */
import { isMainThread, workerData } from "node:worker_threads";
import { openPort } from "./lanes/ports.js";
import { ownBuffers, withoutBackingStore } from "./plain.js";
import { giveWay } from "./priority.js";
import type { ActivePacks } from "./selection/active-packs.js";
import { BATCH, PROGRESS } from "./protocol.js";
import type { Batch, Job, JobOutcome, TaskKind, Tasks, ValidateInput } from "./protocol.js";
import { StopWatch } from "./stopwatch.js";
import type { SignatureTaskKind, SignatureTasks } from "./wss/protocol.js";

/** Runs one job. */
type Handler = (input: never) => unknown;
/** Makes the handler of one kind ready; `of` gives the handler of another, which is made once for both. */
export type Loader = (of: (kind: string) => Promise<Handler>) => Promise<Handler>;
type TypedLoader<K extends TaskKind> = () => Promise<
  (input: Tasks[K]["input"]) => Tasks[K]["output"] | Promise<Tasks[K]["output"]>
>;

/** The kinds of this package. */
export const LOADERS: { readonly [K in TaskKind]: TypedLoader<K> } = {
  validate: async () => {
    const [{ validateDocument }, { prepareRules }] = await Promise.all([
      import("./validate.js"),
      import("./selection/builtin.js"),
    ]);
    prepareRules();
    let active: ActivePacks | undefined;
    return async ({ bytes, options }: ValidateInput) => {
      const { rulesDir } = options;
      if (rulesDir !== undefined && active?.rulesDir !== rulesDir)
        active = new (await import("./selection/active-packs.js")).ActivePacks(rulesDir);
      const packs = rulesDir === undefined ? undefined : await active?.current();
      return validateDocument(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), options, packs);
    };
  },
  parse: async () => (await import("./summary.js")).parseDocument,
  view: async () => {
    const { renderDocument } = await import("./view/render.js");
    return (input) => withoutBackingStore(renderDocument(input));
  },
  response: async () => (await import("./responses.js")).readResponse,
  map: async () => (await import("../engine/invoices/mapper/map.js")).mapSource,
  convert: async () => (await import("./to-json.js")).convertToJson,
  "as4.seal": () => signature("as4.seal"),
  "as4.open": () => signature("as4.open"),
  "as4.sign": () => signature("as4.sign"),
  "as4.check": () => signature("as4.check"),
  "as4.audit": () => signature("as4.audit"),
  "enveloped.sign": () => signature("enveloped.sign"),
  "enveloped.verify": () => signature("enveloped.verify"),
};

/** A handler of signature.ts whose results take no foreign buffers along. */
async function signature<K extends SignatureTaskKind>(
  kind: K,
): Promise<(input: SignatureTasks[K]["input"]) => SignatureTasks[K]["output"]> {
  const { signatureTasks } = await import("./signature.js");
  const handler = signatureTasks[kind];
  return (input) => withoutBackingStore(handler(input));
}

/** Kinds after which a thread holds a document. */
const SCANNING: readonly TaskKind[] = ["validate", "parse", "view", "convert"];

/** Runs the jobs of a batch and says after each how many are done. */
type RunBatch = (batch: Pick<Batch, "jobs" | "progress">) => Promise<JobOutcome[]>;
/** What an entry does with a batch. */
type Run = (batch: Batch) => Promise<JobOutcome[]>;

/**
 * Makes what a worker's entry exports, with those kinds ready that its owner named in `workerData.preload`.
 * @param abreast  kinds of several steps with an await between two of them: the jobs of a batch take each step
 *   together, so that its code and tables are warm for all but the first. Measured with messages that are opened,
 *   judged and receipted on a busy machine: 2.1 and 2.7 ms of the threads a message instead of 2.6 and 3.1. Others run
 *   one after the other.
 */
export async function createRunner(
  loaders: Readonly<Record<string, Loader>>,
  abreast: ReadonlySet<string> = new Set(),
): Promise<RunBatch> {
  // Bounded by the kinds of the table.
  const handlers = new Map<string, Promise<Handler>>();

  function handlerOf(kind: string): Promise<Handler> {
    const known = handlers.get(kind);
    if (known !== undefined) return known;
    const loader = Object.hasOwn(loaders, kind) ? loaders[kind] : undefined;
    if (loader === undefined) throw new TypeError(`no handler for tasks of kind ${kind}`);
    const loading = loader(handlerOf);
    handlers.set(kind, loading);
    return loading;
  }

  async function runJob({ kind, input }: Job): Promise<JobOutcome> {
    try {
      const handler = await handlerOf(kind);
      const watch = new StopWatch();
      return { kind: "done", output: await handler(input as never), time_ms: watch.elapsed_ms() };
    } catch (error) {
      const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
      return { kind: "failed", name, message, stack: stack ?? "" };
    }
  }

  if (!isMainThread) {
    const { niceness = 0, preload = [] } = owners();
    // Before anything is loaded: compiling it takes half a second.
    giveWay(niceness);
    for (const kind of preload) await handlerOf(kind);
  }
  return async ({ jobs, progress }) => {
    const outcomes: JobOutcome[] = [];
    Atomics.store(progress, PROGRESS.state, BATCH.begun);
    const run = async (job: Job, at: number): Promise<void> => {
      outcomes[at] = await runJob(job);
      Atomics.add(progress, PROGRESS.done, 1);
    };
    await Promise.all(jobs.map((job, at) => (abreast.has(job.kind) ? run(job, at) : undefined)));
    for (const [at, job] of jobs.entries()) if (!abreast.has(job.kind)) await run(job, at);
    if (SCANNING.some((kind) => handlers.has(kind))) (await import("./xml/scanner.js")).releaseDocument();
    return outcomes;
  };
}

/**
 * What an entry of small jobs exports: the batch that lies ready when another ends is begun at once, and the outcomes
 * go to the owner meanwhile. Those of the last one are the answer.
 */
function inShifts(run: Run): Run {
  const { thread, say, begin } = openPort();
  return async (first) => {
    Atomics.store(first.progress, PROGRESS.thread, thread);
    Atomics.store(first.progress, PROGRESS.state, BATCH.begun);
    say({ batch: first.number });
    for (let batch = first; ;) {
      const outcomes = await run(batch);
      const next = begin();
      if (next === undefined) return outcomes;
      Atomics.store(next.progress, PROGRESS.thread, thread);
      try {
        say({ batch: batch.number, outcomes });
      } catch (error) {
        // What cannot be cloned fails its own batch: nobody behind it has been run.
        Atomics.store(next.progress, PROGRESS.state, BATCH.waits);
        throw error;
      }
      batch = next;
    }
  };
}

/**
 * What an entry exports. In the lane of large jobs a shift has one batch, of one job, and its outcome takes the buffers
 * of long byte arrays along, which nobody here needs any more. Clones of a message of 14 MB and its payload were made
 * in one turn of the event loop that received them, of up to 55 ms.
 */
export function handingOver(run: Run): (batch: Batch) => Promise<unknown> {
  const { handsOver = false } = owners();
  if (!handsOver) return inShifts(run);
  return async (batch) => {
    const outcomes = await run(batch);
    // Threads of small jobs never load it.
    const { handedOver } = await import("./lanes/lane.js");
    return handedOver(outcomes, ownBuffers(outcomes));
  };
}

/** What the owner has said to all threads of a lane: `workerData`. */
interface OwnersWishes {
  /** Kinds that are to be ready before the first job. */
  readonly preload?: readonly string[];
  /** Steps behind the event loop; see `giveWay`. */
  readonly niceness?: number;
  /** Whether long byte arrays of results are handed over instead of cloned. Default false. */
  readonly handsOver?: boolean;
}

/** Piscina wraps the data of its owner; both shapes are looked at. */
const owners = (): OwnersWishes =>
  ((Array.isArray(workerData) ? (workerData as readonly unknown[]).find(isWishes) : workerData) ?? {}) as OwnersWishes;

const isWishes = (value: unknown): boolean => typeof value === "object" && value !== null && "preload" in value;
