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
  /**
   * Takes them at once. What is larger than all of them goes alone.
   * @param holder  whose share they count for. @default one that all have together
   * @returns undefined where there is no room
   */
  tryTake(bytes: number, holder?: string): Taken | undefined;
  /**
   * Waits for room behind those who came before, but for those whose own share is what they wait for.
   * @param holder  whose share they count for. @default one that all have together
   * @param gone  aborted when nobody waits any more: who cannot use the room must not stand before others
   * @throws Refusal TEMPORARY when too many wait, of all or of this holder, and when nobody waits any more
   */
  take(bytes: number, holder?: string, gone?: AbortSignal): Promise<Taken>;
}

interface Waiting {
  readonly bytes: number;
  readonly holder: string;
  readonly enter: (taken: Taken) => void;
}

/**
 * @param waitingMax who may wait at once. @default nobody
 * @param holderShare part of the octets, and of those who wait, that is the most of one holder; what is larger than it
 * goes alone. @default all
 */
export function createOctets(max: number, waitingMax = 0, holderShare = 1): Octets {
  let sum = 0;
  // Bounded by those who hold octets now.
  const byHolder = new Map<string, number>();
  // Bounded by waitingMax.
  const waiting: Waiting[] = [];
  const count = (holder: string, bytes: number): void => {
    sum += bytes;
    const held = (byHolder.get(holder) ?? 0) + bytes;
    if (held > 0) byHolder.set(holder, held);
    else byHolder.delete(holder);
  };
  const isHeldUp = ({ bytes, holder }: Pick<Waiting, "bytes" | "holder">): boolean => {
    const held = byHolder.get(holder) ?? 0;
    return holderShare < 1 && held > 0 && held + bytes > max * holderShare;
  };
  const hasRoom = (bytes: number): boolean => sum === 0 || sum + bytes <= max;
  const enter = (bytes: number, holder: string): Taken => {
    count(holder, bytes);
    let held = bytes;
    const resize = (to: number): void => {
      count(holder, to - held);
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
    for (let at = 0; at < waiting.length;) {
      const next = waiting[at] as Waiting;
      if (isHeldUp(next)) at += 1;
      else if (hasRoom(next.bytes)) {
        waiting.splice(at, 1);
        next.enter(enter(next.bytes, next.holder));
      } else return;
    }
  };
  const tryTake = (bytes: number, holder = ""): Taken | undefined =>
    hasRoom(bytes) && !isHeldUp({ bytes, holder }) && waiting.every(isHeldUp) ? enter(bytes, holder) : undefined;
  return {
    taken: () => sum,
    tryTake,
    take: (bytes, holder = "", gone) => {
      const taken = tryTake(bytes, holder);
      if (taken !== undefined) return Promise.resolve(taken);
      const own = waiting.filter((other) => other.holder === holder).length;
      const isFull = waiting.length >= waitingMax || own >= waitingMax * holderShare;
      if (isFull || gone?.aborted === true) return Promise.reject(temporary());
      return new Promise((resolve, reject) => {
        const leave = (): void => {
          const at = waiting.indexOf(waits);
          if (at === -1) return;
          waiting.splice(at, 1);
          reject(temporary());
          letIn();
        };
        const begin = (entered: Taken): void => {
          // A page of many documents waits again and again for the same reader.
          gone?.removeEventListener("abort", leave);
          resolve(entered);
        };
        const waits = { bytes, holder, enter: begin };
        waiting.push(waits);
        gone?.addEventListener("abort", leave, { once: true });
      });
    },
  };
}
