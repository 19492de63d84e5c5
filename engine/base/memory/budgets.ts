/**
 * What may be held at once, in octets, on the machine that there is: each bound of LIMITS, or a share of the memory
 * that this process may use where that is less. A process with little memory says 503 sooner, and does not die of it.
 */
import { totalmem } from "node:os";
import { getHeapStatistics } from "node:v8";

import { HEAP_SHARES, LIMITS } from "../limits.js";

/** Each by the name that it has in LIMITS. */
type Budgets = { readonly [Name in keyof typeof HEAP_SHARES]: number };

/** What a process may use, in octets. */
interface Machine {
  /** V8's heap as the process was started with it. */
  readonly heap_bytes: number;
  /** What the machine has, or the container around the process. */
  readonly memory_bytes: number;
}

/** Zero where nothing bounds the process, and on older kernels a number beyond any machine. */
const constrained = process.constrainedMemory();

const THIS_MACHINE: Machine = {
  heap_bytes: getHeapStatistics().heap_size_limit,
  memory_bytes: Math.min(constrained > 0 ? constrained : Infinity, totalmem()),
};

/**
 * One budget, which has room for the largest thing that there is.
 * @param machine  @default that of this process. Of its memory no more than half counts as heap: octets lie beside it.
 */
export function budget(name: keyof Budgets, { heap_bytes, memory_bytes }: Machine = THIS_MACHINE): number {
  const share = Math.floor(Math.min(heap_bytes, memory_bytes / 2) * HEAP_SHARES[name]);
  return Math.min(LIMITS[name], Math.max(LIMITS.as4_body_bytes_max, share));
}

/** All of them, to stand in the place of those of LIMITS. */
export const budgets = (machine: Machine = THIS_MACHINE): Budgets =>
  Object.fromEntries(
    (Object.keys(HEAP_SHARES) as (keyof Budgets)[]).map((name) => [name, budget(name, machine)]),
  ) as Budgets;

/** Threads that validate and sign, where nobody says how many: a container may have few octets on many processors. */
export const threadsFor = (cores: number, { memory_bytes }: Pick<Machine, "memory_bytes"> = THIS_MACHINE): number =>
  Math.max(1, Math.min(cores - 1, Math.floor(memory_bytes / LIMITS.validator_thread_memory_bytes)));
