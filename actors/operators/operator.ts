/**
 * The actor of one thing that operators touch at the console: the record of what they do is written in its turn, keys
 * end in it, and integrators are let into production. What has an actor of its own is done there.
 */
import type { Actor } from "../../engine/identity/audit.js";
import type { KeyId } from "../../engine/base/ids.js";
import type { Approval } from "../../engine/identity/operators/production.js";
import { noteOperator } from "../../engine/identity/operators/record.js";
import type { OperatorEntry } from "../../engine/identity/operators/record.js";
import type { PartnerOperations } from "../../engine/identity/partners/operations.js";
import type { ActorKind, ActorSystem } from "../system.js";

type KeyEnd = Awaited<ReturnType<PartnerOperations["deactivateKey"]>>;
type Outcome = Awaited<ReturnType<PartnerOperations["decideProduction"]>>;

type OperatorProtocol = {
  readonly Note: { readonly ask: { readonly actor: Actor; readonly entry: OperatorEntry }; readonly reply: null };
  readonly EndKey: { readonly ask: KeyId; readonly reply: KeyEnd };
  readonly DecideProduction: {
    readonly ask: { readonly approval: Approval; readonly actor: Actor };
    readonly reply: Outcome;
  };
};

/** What operators do through this actor. */
export interface OperatorCommands {
  /** @throws Refusal TEMPORARY, and then nothing may be done */
  note(actor: Actor, entry: OperatorEntry): Promise<void>;
  endKey(id: KeyId): Promise<KeyEnd>;
  /** Approves an integrator for production, or takes that back. */
  decideProduction(approval: Approval, actor: Actor): Promise<Outcome>;
}

type OperatorPorts = Parameters<typeof noteOperator>[0] & {
  readonly keys: Pick<PartnerOperations, "deactivateKey" | "decideProduction">;
};

/** The commands in the turn of what they are about. */
export function operatorThroughActors(actors: ActorSystem, ports: OperatorPorts): OperatorCommands {
  const kind: ActorKind<OperatorProtocol, null> = {
    name: "operator",
    idle_ms: 0,
    start: () => null,
    handlers: {
      Note: async (_, { actor, entry }) => {
        await noteOperator(ports, actor, entry);
        return { reply: null };
      },
      EndKey: async (_, id) => ({ reply: await ports.keys.deactivateKey(id) }),
      DecideProduction: async (_, { approval, actor }) => ({
        reply: await ports.keys.decideProduction(approval, actor),
      }),
    },
  };
  return {
    note: async (actor, entry) => {
      await actors.ask(kind, `${entry.targetType}/${entry.targetId}`, "Note", { actor, entry });
    },
    endKey: (id) => actors.ask(kind, `api_key/${id}`, "EndKey", id),
    decideProduction: (approval, actor) =>
      actors.ask(kind, `integrator/${approval.id}`, "DecideProduction", { approval, actor }),
  };
}
