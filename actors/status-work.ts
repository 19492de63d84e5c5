/**
 * The timers behind statuses and reports: each takes what is due from Postgres, gives it to the actor that owns it
 * until nothing is left, then waits for a poke or its time. What is due stays due, or leased, until its actor has
 * written.
 */
import { alertOverdueHeld } from "../engine/documents/inbound/held.js";
import { leaseDuties } from "../engine/documents/inbound/mls-duties.js";
import type { TakenDuty } from "../engine/documents/inbound/mls-duties.js";
import type { DueStatusWork } from "../engine/documents/provider.js";
import { give, Leases, tendHeld } from "../engine/documents/delivery/leases.js";
import { leaseMessages } from "../engine/documents/delivery/service-dispatch.js";
import type { attemptMessage } from "../engine/documents/delivery/service-dispatch.js";
import { keyOfStatus, readDueStatuses } from "../engine/documents/inbound/statuses.js";
import type { ReadStatus, StatusReadPorts } from "../engine/documents/inbound/statuses.js";
import { createWatch, within } from "../engine/base/waiting/wake.js";
import type { Wake } from "../engine/base/waiting/wake.js";
import { LIMITS } from "../engine/base/limits.js";
import { errorFields } from "../engine/base/log.js";
import type { DocumentKind } from "./document.js";
import type { MessageKind, MessagePorts } from "./message.js";
import type { ActorSystem } from "./system.js";

/** What working through due statuses and messages needs. */
export interface StatusWorkPorts
  extends Pick<MessagePorts, "sql" | "sealer" | "clock" | "log" | "owner" | "provider">, StatusReadPorts {
  readonly actors: ActorSystem;
  readonly document: DocumentKind;
  readonly message: MessageKind;
  /** What this process works on. @default nobody asks for it */
  readonly hand?: Hand;
}

type Message = Parameters<typeof attemptMessage>[1];

/** The leases of this process, by their kind, and what waits for an attempt to end. */
interface Hand {
  readonly duties: Leases<TakenDuty>;
  readonly messages: Leases<Message>;
  /** Statuses in the mailbox of their document, by id. Bounded by LIMITS.statuses_waiting_max. */
  readonly statuses: Map<string, Promise<unknown>>;
}

/** A hand that is empty yet. */
export const newHand = (): Hand => ({ duties: new Leases(), messages: new Leases(), statuses: new Map() });

/** Waits for all of them. @returns how many were answered; the others are still due and are told in the log */
async function answered(
  ports: Pick<StatusWorkPorts, "log">,
  component: string,
  asks: readonly Promise<unknown>[],
): Promise<number> {
  let count = 0;
  for (const outcome of await Promise.allSettled(asks)) {
    if (outcome.status === "fulfilled") count += 1;
    else ports.log.warn("statuses.delayed", { component, ...errorFields(outcome.reason) });
  }
  return count;
}

/** Leases duties of a size and gives them to the actors of their documents. @returns how many were answered */
async function judge(ports: StatusWorkPorts, size: "small" | "large"): Promise<number> {
  const { duties } = ports.hand ?? newHand();
  const asks = (await leaseDuties(ports, size)).map((duty) =>
    give(duties.hold(duty), (held) => ports.actors.ask(ports.document, duty.id, "Judge", held)),
  );
  return answered(ports, "duties", asks);
}

const follow = ({ actors, document, message }: StatusWorkPorts, read: ReadStatus): Promise<unknown> =>
  read.subject === undefined
    ? actors.ask(message, keyOfStatus(read), "Settle", read)
    : actors.ask(document, keyOfStatus(read), "Follow", read);

/**
 * The same, but nobody waits for the end of an attempt: its receiver takes a minute over it if it likes, and has told
 * us of the document meanwhile. Outside of its document's turn a status is put off.
 * @returns 1 when it was followed, or waits, and 0 when that failed
 */
async function followApart(
  ports: StatusWorkPorts,
  statuses: Map<string, Promise<unknown>>,
  read: ReadStatus,
): Promise<number> {
  const { id } = read.status;
  if (statuses.size >= LIMITS.statuses_waiting_max) {
    const asked = read.isUnderWay ? ports.actors.ask(ports.message, id, "Settle", read) : follow(ports, read);
    return answered(ports, "statuses", [asked]);
  }
  const ended = answered(ports, "statuses", [follow(ports, read)]).finally(() => statuses.delete(id));
  statuses.set(id, ended);
  // An attempt may have begun since the status was read.
  return read.isUnderWay ? 1 : within(ended, LIMITS.statuses_patience_ms, 1);
}

/** Leases messages that are to be sent and gives them to their actors. @returns what is under way with that */
async function beginMessages(ports: StatusWorkPorts): Promise<readonly Promise<void>[]> {
  const { messages } = ports.hand ?? newHand();
  return (await leaseMessages(ports, messages.all())).map((leased) =>
    give(messages.hold(leased), (held) => ports.actors.ask(ports.message, leased.id, "Attempt", held)),
  );
}

/** Each takes one batch and answers how much of it was done: the caller asks again while there was any. */
export const STATUS_STEPS = {
  /** Statuses that were received. Those of one document are given to it in the order in which they became due. */
  statuses: async (ports: StatusWorkPorts): Promise<number> => {
    const { statuses } = ports.hand ?? newHand();
    const due = await readDueStatuses(ports, [...statuses.keys()]);
    let count = 0;
    for (let i = 0; i < due.length; i += LIMITS.statuses_concurrent) {
      const asked = due.slice(i, i + LIMITS.statuses_concurrent).map((read) => followApart(ports, statuses, read));
      for (const one of await Promise.all(asked)) count += one;
    }
    return count;
  },
  /** Received documents that are to be judged, but for large ones. */
  duties: (ports: StatusWorkPorts): Promise<number> => judge(ports, "small"),
  /** Large ones, which wait for room: whoever takes these takes no others, which would wait with them. */
  largeDuties: (ports: StatusWorkPorts): Promise<number> => judge(ports, "large"),
  /** Received documents that could not be judged in time: said again and again until an operator has seen to them. */
  held: async (ports: StatusWorkPorts): Promise<number> => {
    await alertOverdueHeld(ports);
    return 0;
  },
  /** Messages of ours that are to be sent. */
  messages: async (ports: StatusWorkPorts): Promise<number> => answered(ports, "messages", await beginMessages(ports)),
  /** Leases of this process: what it does not work on is due again at once, what it works on stays its own. */
  leases: async (ports: StatusWorkPorts): Promise<number> => {
    const { duties, messages } = ports.hand ?? newHand();
    const count = await tendHeld(ports, { duties: duties.ids(), messages: messages.ids() });
    if (count > 0) ports.log.warn("dispatch.leases_freed", { component: "nobody", count });
    return count;
  },
  /** Monthly reports: one actor makes them, that of the provider itself. */
  reports: async ({ actors, message, provider }: StatusWorkPorts): Promise<number> =>
    actors.ask(message, provider.participant, "Report", null),
} as const;

interface Timing {
  /** How often it looks by itself. */
  readonly every_ms: number;
  /** What wakes it before its time. */
  readonly wokenBy?: DueStatusWork;
  /** What one of its batches may have made due. */
  readonly makesDue: readonly DueStatusWork[];
  /**
   * How many take batches beside each other: a firm's document does not wait behind another's that takes a minute to
   * judge.
   */
  readonly abreast: number;
}
const TIMINGS: Readonly<Record<keyof typeof STATUS_STEPS, Timing>> = {
  statuses: { every_ms: LIMITS.status_poll_ms, wokenBy: "statuses", makesDue: [], abreast: 1 },
  duties: { every_ms: LIMITS.status_poll_ms, wokenBy: "duties", makesDue: ["messages"], abreast: 2 },
  largeDuties: { every_ms: LIMITS.status_poll_ms, wokenBy: "duties", makesDue: ["messages"], abreast: 2 },
  held: { every_ms: LIMITS.mls_decide_again_ms, makesDue: [], abreast: 1 },
  messages: { every_ms: LIMITS.status_poll_ms, wokenBy: "messages", makesDue: [], abreast: 1 },
  leases: { every_ms: LIMITS.service_lease_look_ms, makesDue: ["duties", "messages"], abreast: 1 },
  reports: { every_ms: LIMITS.report_look_ms, makesDue: ["messages"], abreast: 1 },
};

/** The work on statuses and messages that fall due on this node. */
export interface StatusWork {
  /** Something was stored that may be due now. */
  poke(due: DueStatusWork): void;
  /** Waits for what is under way. */
  stop(): Promise<void>;
}

/** Starts the timers of one node; any number of nodes may run them. */
export function startStatusWork(given: StatusWorkPorts): StatusWork {
  const hand = newHand();
  const ports: StatusWorkPorts = { ...given, hand };
  /** Bounded by LIMITS.service_messages_concurrent. */
  const sending = new Set<Promise<unknown>>();
  const names = Object.keys(STATUS_STEPS) as (keyof typeof STATUS_STEPS)[];
  let stopping = false;
  const runners = names.flatMap((name) => createWatch(TIMINGS[name].abreast).map((wake) => ({ name, wake })));
  const poke = (due: DueStatusWork): void => {
    for (const { name, wake } of runners) if (TIMINGS[name].wokenBy === due) wake.poke();
  };
  let lookedAround = -Infinity;
  /**
   * A message that is answered makes room for the next: none waits until the slowest of a batch is done. To pass over
   * who has its share took 50 ms behind ten thousand of its messages, on a busy machine: once a second is enough.
   */
  async function send(): Promise<number> {
    const begun = await beginMessages(ports);
    for (const one of begun) {
      const ended = answered(ports, "messages", [one]).finally(() => {
        sending.delete(ended);
        poke("messages");
      });
      sending.add(ended);
    }
    const now = ports.clock.monotonic();
    if (now - lookedAround < LIMITS.status_poll_ms) return 0;
    lookedAround = now;
    return begun.length;
  }
  const steps: typeof STATUS_STEPS = { ...STATUS_STEPS, messages: send };
  async function run({ name, wake }: { readonly name: keyof typeof STATUS_STEPS; readonly wake: Wake }): Promise<void> {
    while (!stopping) {
      try {
        if ((await steps[name](ports)) > 0 && !stopping) {
          for (const due of TIMINGS[name].makesDue) poke(due);
          continue;
        }
      } catch (error) {
        ports.log.warn("statuses.due_unreadable", { component: name, ...errorFields(error) });
      }
      if (!stopping) await wake.wait(TIMINGS[name].every_ms);
    }
  }
  const ended = Promise.all(runners.map(run));
  return {
    poke,
    stop: async () => {
      stopping = true;
      for (const { wake } of runners) wake.poke();
      await ended;
      await Promise.all([...sending, ...hand.statuses.values()]);
    },
  };
}
