/**
 * The actor of one integrator, or of one firm with keys of its own: commands on its keys, firms and consents take
 * turns. Its turns touch Postgres only; between nodes the statements decide.
 */
import type { Caller } from "../engine/identity/caller.js";
import type { PartnerOperations } from "../engine/identity/partners/operations.js";
import { hiddenName } from "./names.js";
import type { ActorKind, ActorSystem } from "./system.js";

/** What integrators and firms can do, each in its turn; what is left out is for operators. */
export type Partners = Omit<PartnerOperations, "deactivateKey" | "decideProduction" | "replaceIpAllowlist">;

type PartnerProtocol = {
  readonly [C in keyof Partners]: {
    readonly ask: Parameters<Partners[C]>;
    readonly reply: Awaited<ReturnType<Partners[C]>>;
  };
};

type PartnerKind = ActorKind<PartnerProtocol, null>;

/** Makes the kind of actor through which partners' keys, firms and consents change. */
export const partnerKind = (partners: Partners): PartnerKind => ({
  name: "partner",
  idle_ms: 0,
  start: () => null,
  handlers: {
    issueKey: async (_, asked) => ({ reply: await partners.issueKey(...asked) }),
    endKey: async (_, asked) => ({ reply: await partners.endKey(...asked) }),
    rotateSecret: async (_, asked) => ({ reply: await partners.rotateSecret(...asked) }),
    replaceOwnAllowlist: async (_, asked) => ({ reply: await partners.replaceOwnAllowlist(...asked) }),
    offerConsent: async (_, asked) => ({ reply: await partners.offerConsent(...asked) }),
    openConsentOffer: async (_, asked) => ({ reply: await partners.openConsentOffer(...asked) }),
    acceptConsentOffer: async (_, asked) => ({ reply: await partners.acceptConsentOffer(...asked) }),
    declineConsentOffer: async (_, asked) => ({ reply: await partners.declineConsentOffer(...asked) }),
    assignFirm: async (_, asked) => ({ reply: await partners.assignFirm(...asked) }),
    addIdentifier: async (_, asked) => ({ reply: await partners.addIdentifier(...asked) }),
    keepTemplate: async (_, asked) => ({ reply: await partners.keepTemplate(...asked) }),
    dropTemplate: async (_, asked) => ({ reply: await partners.dropTemplate(...asked) }),
    revokeConsent: async (_, asked) => ({ reply: await partners.revokeConsent(...asked) }),
  },
});

/** Whose turn a caller takes: its integrator's, or its firm's. */
const ownerOf = (caller: Caller): string => caller.integratorId ?? caller.firmId ?? caller.keyId;

/**
 * The commands through their actors. A link's secret names no actor, its digest does; an offer's answers take turns of
 * the offer, because whoever answers does not know whose it is.
 */
export const partnersThroughActors = (actors: ActorSystem, kind: PartnerKind): Partners => ({
  issueKey: (...asked) => actors.ask(kind, ownerOf(asked[0]), "issueKey", asked),
  endKey: (...asked) => actors.ask(kind, ownerOf(asked[0]), "endKey", asked),
  rotateSecret: (...asked) => actors.ask(kind, ownerOf(asked[0]), "rotateSecret", asked),
  replaceOwnAllowlist: (...asked) => actors.ask(kind, ownerOf(asked[0]), "replaceOwnAllowlist", asked),
  offerConsent: (...asked) => actors.ask(kind, ownerOf(asked[0]), "offerConsent", asked),
  openConsentOffer: (token) => actors.ask(kind, `link/${hiddenName(token)}`, "openConsentOffer", [token]),
  acceptConsentOffer: (answer) => actors.ask(kind, `offer/${answer.offerId}`, "acceptConsentOffer", [answer]),
  declineConsentOffer: (answer) => actors.ask(kind, `offer/${answer.offerId}`, "declineConsentOffer", [answer]),
  assignFirm: (...asked) => actors.ask(kind, ownerOf(asked[0]), "assignFirm", asked),
  addIdentifier: (...asked) => actors.ask(kind, ownerOf(asked[0]), "addIdentifier", asked),
  keepTemplate: (...asked) => actors.ask(kind, ownerOf(asked[0]), "keepTemplate", asked),
  dropTemplate: (...asked) => actors.ask(kind, ownerOf(asked[0]), "dropTemplate", asked),
  revokeConsent: (...asked) => actors.ask(kind, asked[0], "revokeConsent", asked),
});
