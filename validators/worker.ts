/**
 * Entry of a worker thread: runs batches of jobs. Handlers are loaded when their kind is first asked for, so that a
 * thread that only signs never compiles the rules, and the other way round.
 */
import { isMainThread, workerData } from "node:worker_threads";
import { withoutBackingStore } from "./plain.js";
import type { Packs } from "./selection/packs.js";
import { PROGRESS } from "./protocol.js";
import type { Batch, Job, JobOutcome, TaskKind, Tasks, ValidateInput } from "./protocol.js";
import { StopWatch } from "./stopwatch.js";
import type { SignatureTaskKind, SignatureTasks } from "./wss/protocol.js";

/** Runs one job. The table below types each handler by its kind. */
type Handler = (input: never) => unknown;
type Loader<K extends TaskKind> = () => Promise<
  (input: Tasks[K]["input"]) => Tasks[K]["output"] | Promise<Tasks[K]["output"]>
>;

const LOADERS: { readonly [K in TaskKind]: Loader<K> } = {
  validate: async () => {
    const [{ validateDocument }, { prepareRules }] = await Promise.all([
      import("./validate.js"),
      import("./selection/builtin.js"),
    ]);
    prepareRules();
    let loaded: { readonly rulesDir: string; readonly packs: Packs } | undefined;
    return async ({ bytes, options }: ValidateInput) => {
      const { rulesDir } = options;
      if (rulesDir !== undefined && loaded?.rulesDir !== rulesDir) {
        const { loadPacks } = await import("./selection/load-packs.js");
        loaded = { rulesDir, packs: await loadPacks(rulesDir) };
      }
      const packs = rulesDir === undefined ? undefined : loaded?.packs;
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
const SCANNING: readonly TaskKind[] = ["validate", "parse", "view"];
const isTaskKind = (kind: string): kind is TaskKind => Object.hasOwn(LOADERS, kind);
/** Handlers in use, bounded by the kinds of LOADERS. */
const handlers = new Map<string, Handler>();

async function handlerOf(kind: string): Promise<Handler> {
  let handler = handlers.get(kind);
  if (handler === undefined) {
    if (!isTaskKind(kind)) throw new TypeError(`no handler for tasks of kind ${kind}`);
    handler = (await LOADERS[kind]()) as Handler;
    handlers.set(kind, handler);
  }
  return handler;
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

/** Runs the jobs of a batch one after the other and says after each how far it is. */
export default async function runBatch({ jobs, progress }: Batch): Promise<JobOutcome[]> {
  const outcomes: JobOutcome[] = [];
  Atomics.store(progress, PROGRESS.started, 1);
  for (const job of jobs) {
    outcomes.push(await runJob(job));
    Atomics.add(progress, PROGRESS.done, 1);
  }
  if (SCANNING.some((kind) => handlers.has(kind))) (await import("./xml/scanner.js")).releaseDocument();
  return outcomes;
}

/** Kinds that the owner wants ready before the first job: `workerData.preload`. */
function preload(): readonly string[] {
  const data: unknown = workerData;
  // Piscina wraps the data of its owner; both shapes are looked at.
  const candidates: unknown[] = Array.isArray(data) ? data : [data];
  for (const candidate of candidates) {
    if (
      typeof candidate === "object" &&
      candidate !== null &&
      "preload" in candidate &&
      Array.isArray(candidate.preload)
    ) {
      return candidate.preload.filter((kind): kind is string => typeof kind === "string");
    }
  }
  return [];
}

if (!isMainThread) for (const kind of preload()) await handlerOf(kind);
