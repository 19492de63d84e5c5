/**
 * The dispatcher of one node: claims due documents for the places that are free and gives them to their actors. It
 * looks when it is told that there is work, when an attempt ends, and once in LIMITS.due_poll_ms; nothing that is told
 * to it is the work itself, so that nothing is lost with a message.
 */
import { Answers } from "../../engine/documents/delivery/answers.js";
import { createPlaces } from "../../engine/documents/delivery/claims.js";
import { claimForgotten } from "../../engine/documents/delivery/due.js";
import type { Reserve } from "../../engine/documents/delivery/first-attempt.js";
import { within } from "../../engine/base/waiting/wake.js";
import { LIMITS } from "../../engine/base/limits.js";
import { Claims } from "./claims.js";
import { Doubt } from "./doubt.js";
import { reserving } from "./first-attempts.js";
import { createGiver } from "./giving.js";
import type { GiverPorts } from "./giving.js";
import { keepLeases, sayAlive } from "./leases.js";
import type { LeasePorts } from "./leases.js";
import { startLoop } from "./loop.js";
import { AttemptOctets } from "./octets.js";
import { Working } from "./working.js";

/** The loop of one node that claims due documents and gives them to their actors. */
export interface Dispatcher {
  /** There is work: look at once. Costs nothing. */
  poke(): void;
  /** A place for the first attempt at a document that is being accepted, unless others wait to be claimed. */
  readonly reserve: Reserve;
  /**
   * Begins nothing more, and waits for the attempts under way, at most LIMITS.drain_timeout_ms. The others still hear
   * that this process is alive. Safe to repeat.
   */
  drain(): Promise<void>;
  /**
   * Drains, and lets the others hear of this process and keeps its leases until the last attempt has ended, however
   * long that takes: sooner they would send what it is still sending. Safe to repeat.
   */
  stop(): Promise<void>;
}

/** Starts to claim. Resolves when the other processes know that this one is alive. */
export async function startDispatcher(ports: GiverPorts & LeasePorts): Promise<Dispatcher> {
  await sayAlive(ports);
  const [places, octets] = [createPlaces(), new AttemptOctets()];
  const working = new Working(octets, ({ isTakenAgain }) => {
    // Nobody works on the lease that the document was given meanwhile.
    if (isTakenAgain) doubt.raise();
    claims.placeFreed();
    claiming.poke();
  });
  const doubt = new Doubt(ports.clock, () => {
    leases.poke();
  });
  const answers = new Answers(ports, () => {
    doubt.raise();
  });
  const giver = createGiver(ports, { working, places, doubt });
  const claims = new Claims(ports, { places, octets, answers, giver });
  const claiming = startLoop(ports, "claims", () => claims.turn());
  const poke = (): void => {
    claims.tell();
    claiming.poke();
  };
  const leases = keepLeases(ports, { working, doubt, onFreed: poke });
  const forgotten = startLoop(ports, "forgotten", async () => {
    giver.giveAll(await answers.inTime(() => claimForgotten(ports, octets.room())));
    return LIMITS.lease_look_ms;
  });
  const reserve = reserving(ports, { queue: claims, places, octets, working, answers, doubt, giver });
  let drained: Promise<void> | undefined;
  const drain = async (): Promise<void> => {
    await Promise.all([claiming.stop(), forgotten.stop()]);
    await within(working.whenIdle(), LIMITS.drain_timeout_ms, undefined);
  };
  return {
    poke,
    // What is accepted during a stop is claimed by another process, or after the next start.
    reserve: (...document) => (drained === undefined ? reserve(...document) : undefined),
    drain: () => (drained ??= drain()),
    stop: async () => {
      await (drained ??= drain());
      await working.whenIdle();
      await leases.stop();
    },
  };
}
