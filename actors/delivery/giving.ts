/** Gives documents under lease to their actors, which make the attempts. */
import type { Places, ReceiverCapacity } from "../../engine/documents/delivery/claims.js";
import type { TakenAttempt } from "../../engine/documents/delivery/due.js";
import { give } from "../../engine/documents/delivery/leases.js";
import { participantKey } from "../../engine/base/ids.js";
import { errorFields } from "../../engine/base/log.js";
import type { Log } from "../../engine/base/log.js";
import { tracedAttempt } from "../../engine/base/tracing/tracing.js";
import type { DocumentKind } from "../document.js";
import type { ActorSystem } from "../system.js";
import type { Doubt } from "./doubt.js";
import type { Working } from "./working.js";

/** What giving documents to their actors needs. */
export interface GiverPorts {
  readonly actors: ActorSystem;
  readonly document: DocumentKind;
  readonly log: Log;
  /** What there is room for at the access point of a participant, given in lower case. */
  readonly capacityOf: (receiver: string) => ReceiverCapacity;
}

interface GiverParts {
  readonly working: Pick<Working, "add">;
  readonly places: Pick<Places, "take">;
  readonly doubt: Pick<Doubt, "raise">;
}

/** Gives documents to their actors, and waits for none of them. */
export interface Giver {
  /** @param giveBack gives its place back when the attempt is over */
  give(taken: TakenAttempt, giveBack: () => void): void;
  /** Gives what was claimed, the smallest first: no more than one goes beyond the octets that are left. */
  giveAll(taken: readonly TakenAttempt[]): void;
}

/** Makes the giver of one node. */
export function createGiver(
  { actors, document, log, capacityOf }: GiverPorts,
  { working, places, doubt }: GiverParts,
): Giver {
  async function giveOne(taken: TakenAttempt, giveBack: () => void): Promise<void> {
    const attempt = working.add(taken, giveBack);
    if (attempt === undefined) return;
    try {
      await tracedAttempt({ messageId: taken.as4MessageId, attempt: taken.attempt, documentId: taken.id }, () =>
        give(attempt, (held) => actors.ask(document, taken.id, "Attempt", held)),
      );
    } catch (error) {
      // An attempt that has begun goes on although its asker has given up: its peer is slow, and nothing is wrong.
      if (attempt.isUnderWay()) return;
      // One that has not is never made. One that is over may have left its lease: its end could not be written.
      doubt.raise();
      log.warn("dispatch.delayed", { documentId: taken.id, ...errorFields(error) });
    }
  }

  return {
    give: (taken, giveBack) => void giveOne(taken, giveBack),
    giveAll: (taken) => {
      for (const attempt of taken.toSorted((left, right) => left.payloadBytes - right.payloadBytes))
        void giveOne(attempt, places.take(capacityOf(participantKey(attempt.receiver))));
    },
  };
}
