/**
 * The actor of one Box item: making it, handing it over and what clients do with it take turns. Between nodes the
 * version of the item decides, and the id under which its document is accepted.
 */
import type { Clock } from "../engine/base/clock.js";
import type { BoxItemId, FirmId } from "../engine/base/ids.js";
import { newBoxItemId } from "../engine/base/ids.js";
import type { DocumentWorkers } from "../engine/documents/accept/validators.js";
import { createItem } from "../engine/documents/box/create.js";
import type { BoxWish } from "../engine/documents/box/create.js";
import { dispatchItem } from "../engine/documents/box/dispatch.js";
import type { BoxDispatchPorts, ClaimedItem } from "../engine/documents/box/dispatch.js";
import { operate } from "../engine/documents/box/operate.js";
import type { BoxStep } from "../engine/documents/box/operate.js";
import { readBoxItem } from "../engine/documents/box/reads.js";
import type { BoxItem } from "../engine/documents/box/reads.js";
import type { DocumentKind } from "./document.js";
import type { ActorKind, ActorSystem } from "./system.js";

type BoxProtocol = {
  /** Makes an item, or finds the one that was made under this external id. */
  readonly Create: { readonly ask: BoxWish; readonly reply: { readonly item: BoxItem; readonly isNew: boolean } };
  /** Schedules, sends, retries or cancels the item of this actor's id. */
  readonly Operate: { readonly ask: BoxStep; readonly reply: BoxItem };
  /** Hands the item over that this node has leased. */
  readonly Dispatch: { readonly ask: ClaimedItem; readonly reply: null };
};

/** The kind of actor that holds the turn of one Box item. */
export type BoxKind = ActorKind<BoxProtocol, null>;

interface BoxPorts extends Omit<BoxDispatchPorts, "accept"> {
  readonly validators: DocumentWorkers;
  readonly actors: ActorSystem;
  readonly document: DocumentKind;
  /** Tells the dispatchers of the Box that something is due. */
  readonly poke: () => void;
  /** Tells the dispatchers of documents the same. */
  readonly pokeDocuments: () => void;
}

/** Makes the kind of actor through which items are made and leave. */
export function boxKind(ports: BoxPorts): BoxKind {
  const { sql, actors, document, validators } = ports;
  const dispatch: BoxDispatchPorts = {
    ...ports,
    accept: (id, request) => actors.ask(document, id, "Accept", request),
  };
  // The dispatcher does not know of what is taken for a caller that waits, and frees what it does not know of.
  const forCaller = `${ports.owner}#now`;
  return {
    name: "box",
    idle_ms: 0,
    start: () => null,
    handlers: {
      Create: async (_, wish) => {
        const { id, isNew } = await createItem({ ...ports, workers: validators }, wish);
        return { reply: { item: await readBoxItem(sql, wish.firmId, id), isNew } };
      },
      Operate: async (_, step) => {
        const taken = await operate({ ...ports, owner: forCaller }, step);
        if (taken !== undefined) await dispatchItem({ ...dispatch, owner: forCaller }, taken);
        return { reply: await readBoxItem(sql, step.firmId, step.id) };
      },
      Dispatch: async (_, item) => {
        await dispatchItem(dispatch, item);
        return { reply: null };
      },
    },
  };
}

/** The commands on items that clients give. */
export interface Box {
  /** @throws Refusal as `createItem` does */
  create(wish: BoxWish): Promise<{ readonly item: BoxItem; readonly isNew: boolean }>;
  /** @throws Refusal as the engine's `operate` does */
  operate(step: BoxStep): Promise<BoxItem>;
}

/** Whose turn a new item takes: that of its external id, where it has one. */
const turnOf = (firmId: FirmId, externalId: string | undefined, fresh: BoxItemId): string =>
  externalId === undefined ? fresh : `${firmId}/${externalId}`;

/** The commands, each in the turn of its item. */
export const boxThroughActors = (
  { actors, clock }: { readonly actors: ActorSystem; readonly clock: Clock },
  kind: BoxKind,
): Box => ({
  create: (wish) => actors.ask(kind, turnOf(wish.firmId, wish.externalId, newBoxItemId(clock)), "Create", wish),
  operate: (step) => actors.ask(kind, step.id, "Operate", step),
});
