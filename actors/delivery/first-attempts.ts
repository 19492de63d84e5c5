/** Places for first attempts at documents that are being accepted: none overtakes one that waits to be claimed. */
import type { Answers } from "../../engine/documents/delivery/answers.js";
import type { Places, ReceiverCapacity } from "../../engine/documents/delivery/claims.js";
import type { TakenAttempt } from "../../engine/documents/delivery/due.js";
import type { Reserve } from "../../engine/documents/delivery/first-attempt.js";
import type { Clock } from "../../engine/base/clock.js";
import { participantKey } from "../../engine/base/ids.js";
import { errorFields } from "../../engine/base/log.js";
import type { Log } from "../../engine/base/log.js";
import type { Doubt } from "./doubt.js";
import type { Giver } from "./giving.js";
import type { AttemptOctets } from "./octets.js";
import type { Working } from "./working.js";

interface ReservePorts {
  readonly clock: Pick<Clock, "monotonic">;
  readonly log: Log;
  readonly owner: string;
  readonly capacityOf: (receiver: string) => ReceiverCapacity;
}

interface ReserveParts {
  readonly queue: { readonly waits: () => boolean };
  readonly places: Pick<Places, "isFree" | "take">;
  readonly octets: Pick<AttemptOctets, "room">;
  readonly working: Pick<Working, "setAside">;
  readonly answers: Pick<Answers, "isLate" | "giveBack">;
  readonly doubt: Pick<Doubt, "raise">;
  readonly giver: Pick<Giver, "give">;
}

/** Takes places for first attempts. */
export const reserving =
  (ports: ReservePorts, parts: ReserveParts): Reserve =>
  (receiver, payloadBytes) => {
    const { queue, places, octets, working, answers, doubt, giver } = parts;
    const asked = ports.clock.monotonic();
    const capacity = ports.capacityOf(participantKey(receiver));
    const room = octets.room();
    if (queue.waits() || !places.isFree(capacity) || (payloadBytes > room.bytes && !room.one)) return undefined;
    const giveBack = places.take(capacity);
    const giveOctetsBack = working.setAside(payloadBytes);
    let settled = false;
    const settle = (then: () => void): void => {
      if (settled) return;
      settled = true;
      giveOctetsBack();
      then();
    };
    return {
      owner: ports.owner,
      begin: (taken) => {
        settle(() => {
          if (!answers.isLate(asked)) {
            giver.give(taken, giveBack);
            return;
          }
          giveBack();
          void giveUnbegun(ports, parts, taken);
        });
      },
      release: () => {
        settle(giveBack);
      },
      lose: () => {
        settle(giveBack);
        doubt.raise();
      },
    };
  };

/** Gives a first attempt back that came too late to be begun: nothing was sent, and nothing is to be called cut. */
async function giveUnbegun(
  { log }: Pick<ReservePorts, "log">,
  { answers, doubt }: Pick<ReserveParts, "answers" | "doubt">,
  taken: TakenAttempt,
): Promise<void> {
  try {
    await answers.giveBack([taken]);
  } catch (error) {
    doubt.raise();
    log.warn("dispatch.delayed", { documentId: taken.id, ...errorFields(error) });
  }
}
