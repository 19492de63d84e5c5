/**
 * The commands of integrators and firms on keys, firms and consents, each answered when every node that is alive knows
 * of the change: it holds from the next request, wherever that goes.
 */
import { parseAllowlist } from "../allowlist.js";
import { OPERATOR, stampOf } from "../audit.js";
import type { Actor } from "../audit.js";
import type { Caller } from "../caller.js";
import { revokeConsent } from "../firms.js";
import { decideProduction } from "../operators/production.js";
import type { Approval } from "../operators/production.js";
import type { CreatedKey } from "../keys.js";
import type { Changes } from "../nodes/changes.js";
import { bindingKey } from "../nodes/memory.js";
import type { Memory } from "../nodes/memory.js";
import { Refusal } from "../../base/errors.js";
import type { FirmId, IntegratorId, KeyId } from "../../base/ids.js";
import type { ApprovalOutcome } from "../../storage/identity/firms.js";
import { deactivateKey, replaceIpAllowlist } from "../../storage/identity/keys.js";
import type { KeyDeactivation } from "../../storage/identity/keys.js";
import { orTemporary } from "../../storage/sql.js";
import { acceptConsentOffer, declineConsentOffer, offerConsent, openConsentOffer } from "./consents.js";
import type { ConsentAnswer, ConsentOutcome, ConsentPorts, MadeOffer, OfferWish, OpenedOffer } from "./consents.js";
import { addIdentifier, assignPartnerFirm } from "./firms.js";
import type { AddedIdentifier, AssignedFirm, WantedIdentifier } from "./firms.js";
import { endKey, issueKey, rotateSecret } from "./keys.js";
import type { IssuedKey, KeyWish, NamedKey, PartnerKeyPorts } from "./keys.js";
import { dropTemplate, keepTemplate } from "./templates.js";
import type { MapperTemplate, TemplateWish } from "./templates.js";

/** Commands of integrators and firms; what each refuses stands at the function of the same name. */
export interface PartnerOperations {
  issueKey(caller: Caller, wish: KeyWish, actor: Actor): Promise<IssuedKey>;
  /** @returns the id of the key that has ended */
  endKey(caller: Caller, named: NamedKey, actor: Actor): Promise<KeyId>;
  rotateSecret(caller: Caller, actor: Actor): Promise<CreatedKey>;
  /** Puts the calling key's own allowlist. @throws Refusal REQUEST_INVALID, KEY_CHANGED @returns the list as stored */
  replaceOwnAllowlist(caller: Caller, entries: readonly string[], actor: Actor): Promise<readonly string[]>;
  offerConsent(caller: Caller, wish: OfferWish, actor: Actor): Promise<MadeOffer>;
  /** Shows the offer behind a link, and notes that it was opened. @returns undefined when there is no such link */
  openConsentOffer(token: string): Promise<OpenedOffer | undefined>;
  acceptConsentOffer(answer: ConsentAnswer): Promise<ConsentOutcome>;
  declineConsentOffer(answer: ConsentAnswer): Promise<ConsentOutcome>;
  assignFirm(caller: Caller, ico: string, actor: Actor): Promise<AssignedFirm>;
  keepTemplate(
    caller: Caller,
    wish: TemplateWish,
  ): Promise<{ readonly isNew: boolean; readonly template: MapperTemplate }>;
  dropTemplate(caller: Caller, templateKey: string): Promise<void>;
  addIdentifier(caller: Caller, wanted: WantedIdentifier, actor: Actor): Promise<AddedIdentifier>;
  /**
   * On return every node refuses the integrator for that firm: tokens, keys made for the firm, everything. The firm's
   * account stays. @param actor  @default OPERATOR
   * @returns false when there was nothing to withdraw
   */
  revokeConsent(integratorId: IntegratorId, firmId: FirmId, actor?: Actor): Promise<boolean>;
  /** On return every node refuses the key's tokens. @param integratorId whose key it must be; an operator gives none */
  deactivateKey(keyId: KeyId, integratorId?: IntegratorId): Promise<KeyDeactivation>;
  /**
   * On return every node lets an integrator act for firms in production, or refuses it; see the function of the same
   * name.
   */
  decideProduction(approval: Approval, actor: Actor): Promise<ApprovalOutcome>;
  /** An operator's change of any key. @throws Refusal REQUEST_INVALID @returns undefined without such an active key */
  replaceIpAllowlist(keyId: KeyId, entries: readonly string[]): Promise<readonly string[] | undefined>;
}

/** What the commands need of the node that runs them. */
interface PartnerNode {
  readonly ports: PartnerKeyPorts & ConsentPorts;
  readonly memory: Memory;
  readonly changes: Pick<Changes, "settled">;
}

/** The commands of one node. */
export function partnerOperations(node: PartnerNode): PartnerOperations {
  return { ...keyOperations(node), ...consentOperations(node) };
}

type KeyOperation =
  | "issueKey"
  | "endKey"
  | "rotateSecret"
  | "replaceOwnAllowlist"
  | "deactivateKey"
  | "decideProduction"
  | "replaceIpAllowlist";

function keyOperations({ ports, memory, changes }: PartnerNode): Pick<PartnerOperations, KeyOperation> {
  const { sql, clock } = ports;
  const keyChanged = async (id: KeyId): Promise<void> => {
    memory.keys.drop(id);
    await changes.settled();
  };
  const putAllowlist = async (id: KeyId, entries: readonly string[], actor: Actor) => {
    const parsed = parseAllowlist(entries);
    const found = await orTemporary(replaceIpAllowlist(sql, id, parsed, stampOf(actor, clock)));
    if (found) await keyChanged(id);
    return found ? parsed : undefined;
  };
  return {
    // A new key needs nobody to know of it: a node that does not looks it up.
    issueKey: (caller, wish, actor) => issueKey(ports, caller, wish, actor),
    endKey: async (caller, named, actor) => {
      const id = await endKey(ports, caller, named, actor);
      await keyChanged(id);
      return id;
    },
    rotateSecret: async (caller, actor) => {
      const made = await rotateSecret(ports, caller, actor);
      await keyChanged(caller.keyId);
      return made;
    },
    replaceOwnAllowlist: async (caller, entries, actor) => {
      const stored = await putAllowlist(caller.keyId, entries, actor);
      if (stored === undefined) throw new Refusal("KEY_CHANGED");
      return stored;
    },
    replaceIpAllowlist: (keyId, entries) => putAllowlist(keyId, entries, OPERATOR),
    deactivateKey: async (id, integratorId) => {
      const end = { id, integratorId, issuer: undefined, audit: stampOf(OPERATOR, clock) };
      const outcome = await orTemporary(deactivateKey(sql, end, clock.now()));
      memory.keys.drop(id);
      if (outcome === "deactivated") await changes.settled();
      return outcome;
    },
    decideProduction: async (approval, actor) => {
      const outcome = await decideProduction(ports, approval, actor);
      // Keys carry what their integrator may.
      memory.keys.clear();
      if (outcome === "changed") await changes.settled();
      return outcome;
    },
  };
}

function consentOperations({ ports, memory, changes }: PartnerNode): Omit<PartnerOperations, KeyOperation> {
  const bindingChanged = async (integratorId: IntegratorId, firmId: FirmId): Promise<void> => {
    memory.bindings.drop(bindingKey(integratorId, firmId));
    await changes.settled();
  };
  return {
    keepTemplate: (caller, wish) => keepTemplate(ports, caller, wish),
    dropTemplate: (caller, templateKey) => dropTemplate(ports, caller, templateKey),
    offerConsent: (caller, wish, actor) => offerConsent(ports, caller, wish, actor),
    openConsentOffer: (token) => openConsentOffer(ports, token),
    acceptConsentOffer: async (answer) => {
      const outcome = await acceptConsentOffer(ports, answer);
      // Whose binding it is stands in the offer; what this node remembers of bindings is dropped by the announcement.
      if (outcome === "accepted") {
        memory.bindings.clear();
        await changes.settled();
      }
      return outcome;
    },
    declineConsentOffer: (answer) => declineConsentOffer(ports, answer),
    assignFirm: async (caller, ico, actor) => {
      const assigned = await assignPartnerFirm(ports, caller, ico, actor);
      if (caller.integratorId !== undefined) await bindingChanged(caller.integratorId, assigned.firm.id);
      return assigned;
    },
    addIdentifier: async (caller, wanted, actor) => {
      const added = await addIdentifier(ports, caller, wanted, actor);
      memory.participants.drop(added.peppolId.toLowerCase());
      await changes.settled();
      return added;
    },
    revokeConsent: async (integratorId, firmId, actor = OPERATOR) => {
      const revoked = await orTemporary(revokeConsent(ports, integratorId, firmId, actor));
      memory.bindings.drop(bindingKey(integratorId, firmId));
      memory.keys.clear();
      if (revoked) await changes.settled();
      return revoked;
    },
  };
}
