/** The life of an onboarding request: a firm that only sends, from an integrator's wish to the firm's activation. */
import type { LifecycleTable } from "./machine.js";

/** @source spec/enterprise.md, Onboarding request: status */
export const ONBOARDING_STATES = [
  "awaiting_pfs",
  "action_required",
  "activating",
  "active",
  "blocked",
  "revoked",
] as const;
export type OnboardingState = (typeof ONBOARDING_STATES)[number];

/**
 * What moves a request: the tax authority's confirmation, an operator's approval, a fault that can be corrected and its
 * correction, the firm that stands ready, a refusal, the end of the consent.
 */
export const ONBOARDING_TRIGGERS = [
  "confirmed",
  "approved",
  "returned",
  "corrected",
  "activated",
  "refused",
  "revoked",
] as const;
export type OnboardingTrigger = (typeof ONBOARDING_TRIGGERS)[number];

const revoked = { to: "revoked", emits: [] } as const;

/** @source spec/rulings.md, section 8, Onboarding transitions */
export const onboardingLifecycle = {
  awaiting_pfs: {
    confirmed: { to: "activating", emits: [] },
    approved: { to: "activating", emits: [] },
    returned: { to: "action_required", emits: [] },
    refused: { to: "blocked", emits: [] },
    revoked,
  },
  action_required: { corrected: { to: "awaiting_pfs", emits: [] }, revoked },
  activating: {
    // A managed service begins here; whoever vouches for the firm then only makes its activation due.
    confirmed: { to: "activating", emits: [] },
    approved: { to: "activating", emits: [] },
    activated: { to: "active", emits: [] },
    refused: { to: "blocked", emits: [] },
    revoked,
  },
  active: { revoked },
  blocked: { revoked },
  revoked: {},
} as const satisfies LifecycleTable<OnboardingState, OnboardingTrigger, never>;
