/** A number of octets that many share: taken before something is held in memory, given back when it is gone. */
import { temporary } from "../errors.js";

/** What somebody has taken. */
export interface Taken {
  /** So many are held from now on. More than before are never refused: who holds them cannot wait for room. */
  resize(bytes: number): void;
  /** Nothing is held any more. Safe to repeat. */
  giveBack(): void;
}

export interface Octets {
  /** How many are taken now. */
  taken(): number;
  /** Takes them at once. What is larger than all of them goes alone. @returns undefined where there is no room */
  tryTake(bytes: number): Taken | undefined;
  /**
   * Waits for room behind those who came before.
   * @throws Refusal TEMPORARY when too many wait
   */
  take(bytes: number): Promise<Taken>;
}

interface Waiting {
  readonly bytes: number;
  readonly enter: (taken: Taken) => void;
}

/** @param waitingMax who may wait at once. @default nobody */
export function createOctets(max: number, waitingMax = 0): Octets {
  let sum = 0;
  // Bounded by waitingMax.
  const waiting: Waiting[] = [];
  const hasRoom = (bytes: number): boolean => sum === 0 || sum + bytes <= max;
  const enter = (bytes: number): Taken => {
    sum += bytes;
    let held = bytes;
    const resize = (to: number): void => {
      sum += to - held;
      held = to;
      letIn();
    };
    return {
      resize,
      giveBack: () => {
        resize(0);
      },
    };
  };
  const letIn = (): void => {
    for (let next = waiting[0]; next !== undefined && hasRoom(next.bytes); next = waiting[0]) {
      waiting.shift();
      next.enter(enter(next.bytes));
    }
  };
  const tryTake = (bytes: number): Taken | undefined =>
    waiting.length === 0 && hasRoom(bytes) ? enter(bytes) : undefined;
  return {
    taken: () => sum,
    tryTake,
    take: (bytes) => {
      const taken = tryTake(bytes);
      if (taken !== undefined) return Promise.resolve(taken);
      if (waiting.length >= waitingMax) return Promise.reject(temporary());
      return new Promise((resolve) => {
        waiting.push({ bytes, enter: resolve });
      });
    },
  };
}
