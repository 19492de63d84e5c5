/**
 * Onboarding requests: an integrator asks for a firm that only sends; the tax authority or an operator vouches for it;
 * then the firm, its participant and the integrator's binding are made in one statement.
 *
 * The two facts that decide are kept apart: that somebody vouches for the firm, and that it is activated. A process
 * that dies in between leaves a request that is due, which the next pass activates.
 * @source spec/enterprise.md, Onboarding; spec/rulings.md, section 8
 */
import type { Clock } from "../../base/clock.js";
import { keyReused, Refusal } from "../../base/errors.js";
import { newId, parseParticipantId, participantKey } from "../../base/ids.js";
import type { FirmId, IntegratorId, OnboardingId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { firstChars } from "../../base/text.js";
import { moveOf } from "../../lifecycle/machine.js";
import { onboardingLifecycle } from "../../lifecycle/onboarding.js";
import type { OnboardingState, OnboardingTrigger } from "../../lifecycle/onboarding.js";
import {
  activateOnboarding,
  findOnboarding,
  insertOnboarding,
  listDueActivations,
  listOnboardings,
  moveOnboarding,
  noteConfirmation,
} from "../../storage/identity/onboarding/requests.js";
import type {
  OnboardingCreation,
  OnboardingRelationship,
  OnboardingRow,
} from "../../storage/identity/onboarding/requests.js";
import { orNotFound, orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { OPERATOR, stampOf } from "../audit.js";
import type { Actor } from "../audit.js";
import type { Identity } from "../identity.js";
import { sha256 } from "../tokens/secrets.js";
import type { SecretEnvironment } from "../tokens/secrets.js";
import type { PfsConfirmation } from "./confirmation.js";

export { ONBOARDING_RELATIONSHIPS } from "../../storage/identity/onboarding/requests.js";

/** What an integrator asks for. */
export interface OnboardingWish {
  readonly integratorId: IntegratorId;
  readonly idempotencyKey: string;
  readonly customerRef: string;
  readonly dic: string;
  readonly contactEmail: string;
  readonly relationshipMode: OnboardingRelationship;
}

/** A request as its integrator and operators read it. */
export type OnboardingRequest = OnboardingRow;

/** Operators' decisions on a request, by the name of their command. */
export const ONBOARDING_DECISIONS = {
  approve: "approved",
  refuse: "refused",
  return: "returned",
  resume: "corrected",
  revoke: "revoked",
} as const satisfies Record<string, OnboardingTrigger>;
/** The name of an operator's decision. */
export type OnboardingDecision = keyof typeof ONBOARDING_DECISIONS;

/** What is done with onboarding requests. */
export interface Onboarding {
  /** @throws Refusal PREVIEW_DISABLED, PARTNER_NOT_AUTHORIZED, IDEMPOTENCY_REUSED, CUSTOMER_REF_CONFLICT, TEMPORARY */
  create(wish: OnboardingWish): Promise<OnboardingRequest>;
  /** @throws Refusal PREVIEW_DISABLED, NOT_FOUND for one of nobody and of another integrator, TEMPORARY */
  read(integratorId: IntegratorId, id: OnboardingId): Promise<OnboardingRequest>;
  /** The tax authority's word. Safe to repeat. @throws Refusal PREVIEW_DISABLED, TEMPORARY */
  confirm(confirmation: PfsConfirmation): Promise<void>;
  /**
   * An operator's decision.
   * @param words for people: why, or what is to be done
   * @throws Refusal NOT_FOUND, ONBOARDING_STATE where the request's state allows no such decision, TEMPORARY
   */
  decide(id: OnboardingId, decision: OnboardingDecision, words: string | undefined): Promise<OnboardingRequest>;
  list(status: OnboardingState | undefined): Promise<readonly OnboardingRequest[]>;
  /** Activates what was vouched for and is not active yet. @returns how many were tried */
  activateDue(): Promise<number>;
}

interface Ports {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly environment: SecretEnvironment;
  /** Whether the preview is on. */
  readonly isOn: boolean;
  readonly identity: Pick<Identity, "revokeConsent">;
}

/** Who acts where the tax authority's word moves a request. */
const AUTHORITY: Actor = { type: "system", id: null, address: null, userAgent: null };

/** The sentence that a request shows while it waits for the tax authority. */
const AWAITING =
  "The company must name this provider at the tax authority's portal; the confirmation arrives by itself.";
const RETURNED = "The operator has returned this request; ask the support what is to be corrected.";

/** Why a request is not written, and which member or header says so where one does. */
const CREATION_REFUSALS: Readonly<Record<Exclude<OnboardingCreation, "created" | "replay">, () => Refusal>> = {
  key_conflict: keyReused,
  ref_conflict: () =>
    new Refusal("CUSTOMER_REF_CONFLICT", [
      {
        field: "customerRef",
        message: "It or this tax id has a request that is open or active, or stands for another firm of yours.",
      },
    ]),
  not_authorized: () => new Refusal("PARTNER_NOT_AUTHORIZED"),
  no_billing: () => new Refusal("PARTNER_NOT_AUTHORIZED"),
};

/** Why an activation that cannot succeed ends the request. */
const BLOCKED = {
  firm_elsewhere: "The company has a mailbox here; ask for its consent with POST /consent-offers.",
  ref_taken: "This customerRef names another firm of the integrator.",
} as const;

/** The digest that tells a repeat from another body under the same key. */
const digestOf = ({ customerRef, dic, contactEmail, relationshipMode }: OnboardingWish): Buffer =>
  sha256(JSON.stringify([customerRef, dic, contactEmail, relationshipMode]));

/** Puts onboarding together for one node. */
export function createOnboarding(ports: Ports): Onboarding {
  const { sql, clock } = ports;
  const requireOn = (): void => {
    if (!ports.isOn) throw new Refusal("PREVIEW_DISABLED");
  };
  const find = (id: OnboardingId, integratorId?: IntegratorId): Promise<OnboardingRequest> =>
    orNotFound(findOnboarding(sql, id, integratorId));
  return {
    create: async (wish) => {
      requireOn();
      const now = clock.now();
      const made = await orTemporary(
        insertOnboarding(
          sql,
          { ...wish, id: newId(clock) as OnboardingId, createdAt: now },
          { bodySha256: digestOf(wish), isProduction: ports.environment === "production", nextAction: AWAITING },
        ),
      );
      if (made === undefined) throw new Refusal("TEMPORARY");
      if (made.outcome !== "created" && made.outcome !== "replay") throw CREATION_REFUSALS[made.outcome]();
      if (made.id === null) throw new Refusal("TEMPORARY");
      return find(made.id, wish.integratorId);
    },
    read: async (integratorId, id) => {
      requireOn();
      return find(id, integratorId);
    },
    confirm: async ({ dic, tokenSha256, legalName }) => {
      requireOn();
      const id = await orTemporary(noteConfirmation(sql, { dic, tokenSha256, legalName }, clock.now()));
      if (id === undefined) return;
      const request = await find(id);
      const isMoved = await move(ports, request, "confirmed", {
        isVouchedFor: true,
        legalName,
        confirmation: tokenSha256,
      });
      if (isMoved) await activate(ports, await find(id), AUTHORITY);
    },
    decide: async (id, decision, words) => {
      const request = await find(id);
      const trigger = ONBOARDING_DECISIONS[decision];
      if (moveOf(onboardingLifecycle, request.status, trigger) === undefined)
        throw new Refusal("ONBOARDING_STATE", [], {
          message: `A request that is ${request.status} allows no ${decision}.`,
        });
      // The consent goes with the request; ending it ends the request, too.
      if (decision === "revoke" && request.firmId !== null) {
        await ports.identity.revokeConsent(request.integratorId, request.firmId);
        const ended = await find(id);
        if (ended.status === "revoked") return ended;
      }
      const detail = words === undefined ? null : firstChars(words, LIMITS.onboarding_words_chars_max);
      const isMoved = await move(ports, request, trigger, { isVouchedFor: decision === "approve", detail });
      if (!isMoved) throw new Refusal("ONBOARDING_STATE");
      if (decision === "approve") await activate(ports, await find(id), OPERATOR);
      return find(id);
    },
    list: (status) => orTemporary(listOnboardings(sql, status, LIMITS.operator_page_max)),
    activateDue: async () => {
      const due = await orTemporary(
        listDueActivations(sql, clock.now() - LIMITS.onboarding_activation_ms, LIMITS.operator_page_max),
      );
      for (const request of due) await activate(ports, request, AUTHORITY);
      return due.length;
    },
  };
}

interface MoveFacts {
  readonly isVouchedFor?: boolean;
  readonly legalName?: string | null;
  readonly confirmation?: Uint8Array;
  readonly detail?: string | null;
}

/** What a request says is to be done next; only two states have something. */
const nextActionOf = (to: OnboardingState, detail: string | null): string | null =>
  to === "awaiting_pfs" ? AWAITING : to === "action_required" ? (detail ?? RETURNED) : null;

/** Makes one move. @returns false when the table has none or somebody else has moved the request meanwhile */
async function move(
  { sql, clock }: Ports,
  request: OnboardingRequest,
  trigger: OnboardingTrigger,
  facts: MoveFacts,
): Promise<boolean> {
  const to = moveOf(onboardingLifecycle, request.status, trigger)?.to;
  if (to === undefined) return false;
  const { isVouchedFor = false, legalName = null, confirmation = null, detail = null } = facts;
  const { id, version } = request;
  const nextAction = nextActionOf(to, detail);
  return orTemporary(
    moveOnboarding(
      sql,
      { id, version, to, trigger, detail, nextAction, isVouchedFor, legalName, confirmation },
      clock.now(),
    ),
  );
}

/** Makes the firm of a request that somebody vouches for; one that cannot be made is blocked, with the reason kept. */
async function activate(ports: Ports, request: OnboardingRequest, actor: Actor): Promise<void> {
  const { sql, clock } = ports;
  const participant = parseParticipantId(`0245:${request.dic}`);
  if (request.status !== "activating" || request.vouchedAt === null || participant === undefined) return;
  const outcome = await orTemporary(
    activateOnboarding(
      sql,
      {
        id: request.id,
        version: request.version,
        firmId: newId(clock) as FirmId,
        participantKey: participantKey(participant),
        isSandbox: ports.environment === "sandbox",
        audit: [stampOf(actor, clock), stampOf(actor, clock)],
      },
      clock.now(),
    ),
  );
  if (outcome === "firm_elsewhere" || outcome === "ref_taken")
    await move(ports, request, "refused", { detail: BLOCKED[outcome] });
}
