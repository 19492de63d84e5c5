/**
 * The actor of one participant that comes or leaves by White Label: what is done about it takes turns. A turn may wait
 * for the registry, and nothing else of the participant waits behind it. Between nodes the claim in Postgres decides.
 */
import type { Actor } from "../../engine/identity/audit.js";
import {
  carryOut,
  finishRelease,
  participantOfDic,
  releaseReview,
  writeLeave,
  writeWish,
} from "../../engine/identity/white-label/operations.js";
import type { WhiteLabelPorts, WhiteLabelWish } from "../../engine/identity/white-label/operations.js";
import { vouchFor } from "../../engine/identity/white-label/vouching.js";
import type { Vouching } from "../../engine/identity/white-label/vouching.js";
import type { IntegratorId } from "../../engine/base/ids.js";
import type { ActorKind, ActorSystem } from "../system.js";

/** An operation that was claimed. */
type Claimed = Parameters<typeof carryOut>[1];
type Leave = { readonly integratorId: IntegratorId; readonly participantId: string };

type WhiteLabelProtocol = {
  readonly WriteWish: {
    readonly ask: { readonly wish: WhiteLabelWish; readonly actor: Actor };
    readonly reply: { readonly id: string; readonly isNew: boolean };
  };
  readonly WriteLeave: { readonly ask: { readonly leave: Leave; readonly actor: Actor }; readonly reply: string };
  readonly CarryOut: { readonly ask: Claimed; readonly reply: null };
  readonly Vouch: { readonly ask: Vouching; readonly reply: null };
  readonly ReleaseReview: { readonly ask: string; readonly reply: Claimed };
  readonly FinishRelease: { readonly ask: string; readonly reply: Claimed };
};

type WhiteLabelKind = ActorKind<WhiteLabelProtocol, null>;

/** Makes the kind of actor through which participants come and leave. */
export const whiteLabelKind = (ports: WhiteLabelPorts): WhiteLabelKind => ({
  name: "white_label",
  idle_ms: 0,
  start: () => null,
  handlers: {
    WriteWish: async (_, { wish, actor }) => ({ reply: await writeWish(ports, wish, actor) }),
    WriteLeave: async (_, { leave, actor }) => ({ reply: await writeLeave(ports, leave, actor) }),
    CarryOut: async (_, claimed) => {
      await carryOut(ports, claimed);
      return { reply: null };
    },
    Vouch: async (_, vouching) => {
      await vouchFor(ports, vouching);
      return { reply: null };
    },
    ReleaseReview: async (_, id) => ({ reply: await releaseReview(ports, id) }),
    FinishRelease: async (_, id) => ({ reply: await finishRelease(ports, id) }),
  },
});

/** The commands of White Label, each in the turn of its participant or of the object that names it. */
interface WhiteLabelCommands {
  wish(wish: WhiteLabelWish, actor: Actor): Promise<{ readonly id: string; readonly isNew: boolean }>;
  /** @returns the id of the operation */
  leave(leave: Leave, actor: Actor): Promise<string>;
  carryOut(claimed: Claimed): Promise<null>;
  /** Lets an operation go on whose token an operator has checked. */
  vouch(vouching: Vouching): Promise<null>;
  release(id: string): Promise<Claimed>;
  /** Finishes a release that was killed on its way. */
  finishRelease(id: string): Promise<Claimed>;
}

/** The commands through their actors. */
export const whiteLabelThroughActors = (actors: ActorSystem, kind: WhiteLabelKind): WhiteLabelCommands => ({
  wish: (wish, actor) => actors.ask(kind, participantOfDic(wish.dic), "WriteWish", { wish, actor }),
  leave: (leave, actor) => actors.ask(kind, `leave/${leave.participantId}`, "WriteLeave", { leave, actor }),
  carryOut: (claimed) => actors.ask(kind, claimed.participant, "CarryOut", claimed),
  vouch: (vouching) => actors.ask(kind, `operation/${vouching.id}`, "Vouch", vouching),
  release: (id) => actors.ask(kind, `operation/${id}`, "ReleaseReview", id),
  finishRelease: (id) => actors.ask(kind, `operation/${id}`, "FinishRelease", id),
});
