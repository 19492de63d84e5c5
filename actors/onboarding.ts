/**
 * The actor of one onboarding: what integrators, the tax authority and operators do about one company takes turns.
 * Between nodes the version of the request decides.
 */
import type { OnboardingId } from "../engine/base/ids.js";
import type { PfsConfirmation } from "../engine/identity/onboarding/confirmation.js";
import type {
  Onboarding,
  OnboardingDecision,
  OnboardingRequest,
  OnboardingWish,
} from "../engine/identity/onboarding/onboarding.js";
import type { ActorKind, ActorSystem } from "./system.js";

type Decision = {
  readonly id: OnboardingId;
  readonly decision: OnboardingDecision;
  readonly words: string | undefined;
};

type OnboardingProtocol = {
  readonly RequestOnboarding: { readonly ask: OnboardingWish; readonly reply: OnboardingRequest };
  readonly ConfirmFirm: { readonly ask: PfsConfirmation; readonly reply: null };
  readonly DecideOnboarding: { readonly ask: Decision; readonly reply: OnboardingRequest };
  readonly ActivateDue: { readonly ask: null; readonly reply: number };
};

/** Makes the kind of actor through which onboarding requests are made and move. */
const onboardingKind = (onboarding: Onboarding): ActorKind<OnboardingProtocol, null> => ({
  name: "onboarding",
  idle_ms: 0,
  start: () => null,
  handlers: {
    RequestOnboarding: async (_, wish) => ({ reply: await onboarding.create(wish) }),
    ConfirmFirm: async (_, confirmation) => {
      await onboarding.confirm(confirmation);
      return { reply: null };
    },
    DecideOnboarding: async (_, { id, decision, words }) => ({ reply: await onboarding.decide(id, decision, words) }),
    ActivateDue: async () => ({ reply: await onboarding.activateDue() }),
  },
});

/** The operations in their turns: of the company where it is known, of the request otherwise. */
export const onboardingThroughActors = (actors: ActorSystem, onboarding: Onboarding): Onboarding => {
  const kind = onboardingKind(onboarding);
  return {
    ...onboarding,
    create: (wish) => actors.ask(kind, `dic/${wish.dic}`, "RequestOnboarding", wish),
    confirm: async (confirmation) => {
      await actors.ask(kind, `dic/${confirmation.dic}`, "ConfirmFirm", confirmation);
    },
    decide: (id, decision, words) => actors.ask(kind, `request/${id}`, "DecideOnboarding", { id, decision, words }),
    activateDue: () => actors.ask(kind, "due", "ActivateDue", null),
  };
};
