/** The jobs of an exchange of messages, given to the workers: see arrival-job.ts and engine/peppol/as4/jobs.ts. */
import { bratislavaDay } from "../../base/clock.js";
import type { Clock } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import type { Metrics } from "../../base/metrics.js";
import type { ArrivalInput, ArrivedMessage } from "../../peppol/as4/arrival.js";
import type { AnswerInput, As4Jobs } from "../../peppol/as4/jobs.js";
import type { DepartureInput } from "../../peppol/as4/departure.js";
import type { SmpReader } from "../../peppol/discovery/smp-document.js";
import { JobQuarantined } from "../../../validators/pool.js";
import type { JobOwner, ValidatorPool } from "../../../validators/pool.js";
import { measure, SCAN_LIMITS } from "../accept/validators.js";
import type { ArrivalWork } from "./arrival-job.js";

/** Every kind of job that the engine adds to those of the validators, with what each is asked. */
export interface EngineTasks {
  readonly "as4.arrival": ArrivalInput & { readonly work: ArrivalWork };
  /** The same, without a verdict: bytes that killed workers while they were judged are still opened. */
  readonly "as4.unjudged": ArrivalInput & { readonly work: ArrivalWork };
  readonly "as4.departure": DepartureInput;
  readonly "as4.answer": AnswerInput;
  readonly "smp.metadata": { readonly document: Uint8Array };
  readonly "smp.group": { readonly bytes: Uint8Array; readonly participant: string };
}

/** What the engine's workers answer, by kind. */
type Answers = {
  readonly "as4.arrival": Awaited<ReturnType<As4Jobs["open"]>>;
  readonly "as4.unjudged": Awaited<ReturnType<As4Jobs["open"]>>;
  readonly "as4.departure": Awaited<ReturnType<As4Jobs["build"]>>;
  readonly "as4.answer": Awaited<ReturnType<As4Jobs["judge"]>>;
  readonly "smp.metadata": Awaited<ReturnType<SmpReader["metadata"]>>;
  readonly "smp.group": Awaited<ReturnType<SmpReader["group"]>>;
};

interface WorkersOptions {
  readonly pool: Pick<ValidatorPool, "ask">;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** The operator's imported rule packs; default none. */
  readonly rulesDir?: string | undefined;
  /** Called with what each verdict on an arriving document took, in milliseconds. */
  readonly onJudged: (took_ms: number) => void;
}

/**
 * What is on its way out was accepted, and there are LIMITS.attempts_concurrent_max of it at most; of look-ups there
 * are LIMITS.smp_lookups_max.
 */
const OURS: JobOwner = { fairnessKey: "as4", own: true };

/** Octets that came from a thread, as a Buffer again. */
const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

type Ask = <K extends keyof EngineTasks>(kind: K, input: EngineTasks[K], owner: JobOwner) => Promise<Answers[K]>;

const askOf =
  (pool: WorkersOptions["pool"]): Ask =>
  <K extends keyof EngineTasks>(kind: K, input: EngineTasks[K], owner: JobOwner) =>
    pool.ask(kind, input, owner) as Promise<Answers[K]>;

/** Makes the port through which answers of SMPs are verified and read by workers. */
export function smpWorkers(pool: WorkersOptions["pool"]): SmpReader {
  const ask = askOf(pool);
  return {
    metadata: (document) => ask("smp.metadata", { document }, OURS),
    group: (bytes, participant) => ask("smp.group", { bytes, participant }, OURS),
  };
}

/** Makes the port through which messages are opened, built and judged by workers. */
export function as4Workers({ pool, clock, metrics, rulesDir, onJudged }: WorkersOptions): As4Jobs {
  const ask = askOf(pool);
  const work: ArrivalWork = {
    bytesMax: LIMITS.verdict_at_once_bytes_max,
    elementsMax: LIMITS.verdict_at_once_elements_max,
    gzipLevel: LIMITS.payload_gzip_level,
    unpackedBytesMax: LIMITS.as4_unpacked_bytes_max,
  };
  const judging = (): ArrivalWork => ({
    ...work,
    judge: {
      day: bratislavaDay(clock.now()),
      limits: SCAN_LIMITS,
      ...(rulesDir === undefined ? {} : { rulesDir }),
    },
  });
  const note = (opened: ArrivedMessage): ArrivedMessage => {
    const { content } = opened;
    if (content === undefined || "kind" in content) return opened;
    if (content.judged !== undefined) {
      measure(metrics, content.judged.report);
      onJudged(content.judged.took_ms);
    }
    const { payload } = content;
    return payload instanceof Uint8Array ? { ...opened, content: { ...content, payload: bufferOf(payload) } } : opened;
  };
  return {
    open: async (input, from) => {
      const owner = { fairnessKey: `as4/${from}` };
      const opened = await ask("as4.arrival", { ...input, work: judging() }, owner).catch((error: unknown) => {
        if (!(error instanceof JobQuarantined)) throw error;
        return ask("as4.unjudged", { ...input, work }, owner);
      });
      return opened.kind === "refused" ? opened : note(opened);
    },
    build: async (input) => {
      const built = await ask("as4.departure", input, OURS);
      return built.kind === "refused" ? built : { ...built, body: bufferOf(built.body) };
    },
    judge: (input) => ask("as4.answer", input, OURS),
  };
}
