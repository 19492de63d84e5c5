/** Loops that wait: for a poke, for a time, or for their end. */

/** Lets a loop wait for the next work, and be woken before its time. */
export interface Wake {
  /** Ends the wait under way, or the next one at once when none is. */
  poke(): void;
  /**
   * Resolves after a poke or after that time, whichever comes first. One waiter at a time.
   * @returns whether it was a poke
   */
  wait(timeout_ms: number): Promise<boolean>;
}

/** Makes a wake for one loop. */
export function createWake(): Wake {
  let poked = false;
  let wakeUp: (() => void) | undefined;
  return {
    poke: () => {
      poked = true;
      wakeUp?.();
    },
    wait: async (timeout_ms) => {
      if (!poked) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, timeout_ms);
          wakeUp = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        wakeUp = undefined;
      }
      const wasPoked = poked;
      poked = false;
      return wasPoked;
    },
  };
}

/**
 * Makes the wakes of several loops that wait for the same work. A poke ends the wait of whoever it is for; the time
 * ends that of the first alone, since one look finds what there is for all. While the first is at work longer than
 * that time, the next one is the first.
 */
export function createWatch(count: number): readonly Wake[] {
  const loops = Array.from({ length: count }, () => ({ wake: createWake(), isWaiting: false, waits: 0 }));
  return loops.map((loop, nth) => {
    const before = loops.slice(0, nth);
    const ended = (): number => before.reduce((sum, { waits }) => sum + waits, 0);
    return {
      poke: loop.wake.poke,
      wait: async (timeout_ms) => {
        loop.isWaiting = true;
        for (;;) {
          const known = ended();
          const wasPoked = await loop.wake.wait(timeout_ms);
          if (!wasPoked && (ended() !== known || before.some(({ isWaiting }) => isWaiting))) continue;
          loop.isWaiting = false;
          loop.waits += 1;
          return wasPoked;
        }
      },
    };
  });
}

/** A loop that runs until it is stopped. */
export interface Loop {
  /** Ends the wait for the next step. Costs nothing. */
  poke(): void;
  /** Begins no step any more, and waits for the one under way. Safe to repeat. */
  stop(): Promise<void>;
}

/**
 * Runs a step again and again, also after one that has failed.
 * @param step  answers how long to wait for the next, in milliseconds, unless somebody pokes
 * @param failed  is told why a step has failed, and answers the same
 */
export function repeat(step: () => Promise<number>, failed: (error: unknown) => number): Loop {
  const wake = createWake();
  let stopping = false;
  const run = async (): Promise<void> => {
    while (!stopping) {
      let wait_ms: number;
      try {
        wait_ms = await step();
      } catch (error) {
        wait_ms = failed(error);
      }
      if (wait_ms > 0 && !stopping) await wake.wait(wait_ms);
    }
  };
  const ended = run();
  return {
    poke: wake.poke,
    stop: () => {
      stopping = true;
      wake.poke();
      return ended;
    },
  };
}

/** The wait before the try after `failures` failures: doubles from `first_ms` to `max_ms`. */
export const backoff = (failures: number, first_ms: number, max_ms: number): number =>
  Math.min(first_ms * 2 ** Math.min(Math.max(failures - 1, 0), 30), max_ms);

/** Resolves with the promise's value, or with `otherwise` after that time; what the promise does later is ignored. */
export function within<T, U>(promise: Promise<T>, timeout_ms: number, otherwise: U): Promise<T | U> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      resolve(otherwise);
    }, timeout_ms);
    promise.then(resolve, reject).finally(() => {
      clearTimeout(timer);
    });
  });
}
