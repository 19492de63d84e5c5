/**
 * Threads that the machine refuses. Node.js throws as one is asked for, which Piscina does in the events of others:
 * what is thrown there ends the process, and a job in whose call it is thrown stays in its queue with nobody waiting.
 * Here such a thread is one that ends before its first job, with the same error, as one does whose file cannot be
 * loaded.
 */
import { EventEmitter } from "node:events";
import workerThreads from "node:worker_threads";

import { isRefusedThread } from "./job.js";

/** As much of a thread as Piscina uses of one that never ran. */
class RefusedThread extends EventEmitter {
  readonly threadId = -1;

  constructor(error: unknown) {
    super();
    // Who asked has not begun to listen.
    process.nextTick(() => this.emit("error", error));
  }

  postMessage(): void {
    // Nobody is there to hear it.
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  terminate(): Promise<number> {
    return Promise.resolve(1);
  }
}

let isToldLater = false;
let ours: typeof workerThreads.Worker | undefined;

/** Puts ours around what asks for threads, once, or again where somebody has put another in its place. */
function install(): void {
  if (workerThreads.Worker === ours) return;
  ours = new Proxy(workerThreads.Worker, {
    construct: (target, args, newTarget): object => {
      try {
        return Reflect.construct(target, args, newTarget) as object;
      } catch (error) {
        if (!isToldLater || !isRefusedThread(error)) throw error;
        return new RefusedThread(error);
      }
    },
  });
  // The module as Piscina has it: what others import by name stays as it is.
  Object.assign(workerThreads, { Worker: ours });
}

/**
 * Makes a pool whose threads end instead of being refused, once it stands.
 * @throws what the machine refuses its first threads with: Piscina would ask for them again without a pause
 */
export function withRefusalsTold<T>(make: () => T): T {
  install();
  isToldLater = false;
  try {
    return make();
  } finally {
    isToldLater = true;
  }
}
