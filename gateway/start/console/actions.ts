/**
 * What operators do at the console: each row is written down with its reason and then done by the function that /admin
 * or the command line has for it. What is refused is written down, too.
 */
import type { OperatorCommands } from "../../../actors/operators/operator.js";
import { Refusal } from "../../../engine/base/errors.js";
import type { ErrorName } from "../../../engine/base/errors.js";
import {
  parseDocumentId,
  parseFirmId,
  parseIntegratorId,
  parseKeyId,
  parseOnboardingId,
  parseReceivedDocumentId,
  parseUuid,
} from "../../../engine/base/ids.js";
import type { Actor } from "../../../engine/identity/audit.js";
import type { SubscriptionOwner } from "../../../engine/events/webhooks/subscriptions.js";
import type { OnboardingDecision } from "../../../engine/identity/onboarding/onboarding.js";
import type { OperatorEvent } from "../../../engine/identity/operators/record.js";
import { findSubscriptionOf, findWebhook } from "../../../engine/storage/operators/tenants.js";
import { orTemporary } from "../../../engine/storage/sql.js";
import type { Work } from "../work/work.js";

type Parts = Pick<Work, "sql" | "onboarding" | "whiteLabel" | "release" | "hasten" | "webhooks" | "withdraw"> & {
  readonly operators: OperatorCommands;
};

interface Doing {
  readonly id: string;
  readonly reason: string;
  readonly actor: Actor;
}

interface ActionRow {
  readonly event: OperatorEvent;
  /** What it is done to. */
  readonly targetType: string;
  /** @returns the page that shows what came of it @throws Refusal */
  run(parts: Parts, doing: Doing): Promise<string>;
}

const known = <T>(value: T | undefined): T => {
  if (value === undefined) throw new Refusal("NOT_FOUND");
  return value;
};

/** What another operator may have done a moment before is not there any more. @param message  what is so */
const gone = (message: string): Refusal => new Refusal("NOT_FOUND", [], { message });

/** Whose a subscription is; the Connector's webhook is of no firm. @throws Refusal NOT_FOUND */
async function holderOf({ sql }: Parts, id: string) {
  const webhook = known(await orTemporary(findWebhook(sql, id)));
  return { firmId: parseFirmId(webhook.firmId ?? ""), integratorId: parseIntegratorId(webhook.integratorId ?? "") };
}

/** The owner of a subscription to the events of one firm. @throws Refusal NOT_FOUND, also for one of the Connector */
async function ownerOf(parts: Parts, id: string): Promise<SubscriptionOwner> {
  const { firmId, integratorId } = await holderOf(parts, id);
  return { firmId: known(firmId), integratorId };
}

/** Sends a dead delivery again, repeated forms once. @throws Refusal, as the interface of its owner does */
async function sendAgain(parts: Parts, subscription: string, id: string): Promise<void> {
  const { firmId, integratorId } = await holderOf(parts, subscription);
  if (firmId !== undefined) await parts.webhooks.replay({ owner: { firmId, integratorId }, id });
  else
    await parts.webhooks.replayAccountDelivery(known(integratorId), {
      deliveryId: id,
      // Whether an event may come twice is known by whose receiver it is.
      confirmSuccessfulReplay: false,
      // One key for all forms about one delivery, because a dead letter of a firm is sent again once as well.
      idempotencyKey: `console/${id}`,
    });
}

const decision = (name: OnboardingDecision): ActionRow => ({
  event: "operator.decided",
  targetType: "onboarding_request",
  run: async ({ onboarding }, { id, reason }) => {
    const request = known(parseOnboardingId(id));
    await onboarding.decide(request, name, reason);
    return `/console/onboarding/${request}?done=${name}`;
  },
});

const approval = (isAuthorized: boolean): ActionRow => ({
  event: isAuthorized ? "operator.integrator_approved" : "operator.integrator_withdrawn",
  targetType: "integrator",
  run: async ({ operators }, { id, actor }) => {
    const integrator = known(parseIntegratorId(id));
    const outcome = await operators.decideProduction({ id: integrator, isAuthorized }, actor);
    if (outcome === "unknown") throw new Refusal("NOT_FOUND");
    return `/console/integrators/${integrator}?done=${isAuthorized ? "approve" : "withdraw"}-integrator`;
  },
});

const KEY_REFUSALS: Readonly<Record<string, ErrorName>> = {
  already_inactive: "KEY_INACTIVE",
  last_main_key: "KEY_LAST_MAIN",
  caller_changed: "KEY_CHANGED",
};

/** By the name that a form's address has. */
const ACTIONS: Readonly<Record<string, ActionRow>> = {
  retry: {
    event: "operator.retried",
    targetType: "document",
    run: async ({ hasten }, { id }) => {
      const document = known(parseDocumentId(id));
      if (!(await hasten(document)))
        throw new Refusal("REQUEST_INVALID", [
          { field: "id", message: "This document does not wait: it has ended, is due already, or is being tried." },
        ]);
      return `/console/documents/${document}?done=retry`;
    },
  },
  "release-document": {
    event: "operator.released",
    targetType: "document",
    run: async ({ release }, { id }) => {
      const document = known(parseReceivedDocumentId(id));
      if (!(await release(document)))
        throw gone(
          "No document of this id waits for a verdict: it was refused, it is shown to its firm already, or there is none.",
        );
      return `/console/documents/${document}?done=release`;
    },
  },
  "release-white-label": {
    event: "operator.reviewed",
    targetType: "white_label_operation",
    run: async ({ whiteLabel }, { id }) => {
      await whiteLabel.release(known(parseUuid(id)));
      return "/console/reviews?done=release-white-label";
    },
  },
  "approve-onboarding": decision("approve"),
  "return-onboarding": decision("return"),
  "refuse-onboarding": decision("refuse"),
  "replay-delivery": {
    event: "operator.replayed",
    targetType: "webhook_delivery",
    run: async (parts, { id }) => {
      const delivery = known(parseUuid(id));
      const subscription = known(await orTemporary(findSubscriptionOf(parts.sql, delivery)));
      await sendAgain(parts, subscription, delivery);
      return `/console/webhooks/${subscription}?done=replay`;
    },
  },
  "switch-off-webhook": {
    event: "operator.switched_off",
    targetType: "webhook_subscription",
    run: async (parts, { id, actor }) => {
      const subscription = known(parseUuid(id));
      const named = { owner: await ownerOf(parts, subscription), id: subscription };
      await parts.webhooks.change(named, { url: undefined, events: undefined, isActive: false }, actor);
      return `/console/webhooks/${subscription}?done=switch-off`;
    },
  },
  "end-key": {
    event: "operator.key_ended",
    targetType: "api_key",
    run: async ({ operators }, { id }) => {
      const key = known(parseKeyId(id));
      const outcome = await operators.endKey(key);
      if (outcome !== "deactivated") throw new Refusal(KEY_REFUSALS[outcome] ?? "NOT_FOUND");
      return `/console/keys/${key}?done=end-key`;
    },
  },
  "approve-integrator": approval(true),
  "withdraw-integrator": approval(false),
  "withdraw-consent": {
    event: "operator.consent_withdrawn",
    targetType: "firm_binding",
    run: async ({ withdraw }, { id, actor }) => {
      const [integrator = "", firm = ""] = id.split("/");
      const firmId = known(parseFirmId(firm));
      if (!(await withdraw(known(parseIntegratorId(integrator)), firmId, actor)))
        throw gone("This firm has no consent with that integrator: it was withdrawn already, or never given.");
      return `/console/firms/${firmId}?done=withdraw-consent`;
    },
  },
};

/** What is asked of the console. */
interface Act {
  readonly name: string;
  readonly id: string;
  readonly reason: string;
}

/** Writes an action down and does it. @throws Refusal NOT_FOUND for an unknown name, and what the action refuses */
export const consoleActions =
  (parts: Parts) =>
  async (actor: Actor, { name, id, reason }: Act): Promise<string> => {
    const row = known(Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined);
    const entry = { targetType: row.targetType, targetId: id, reason, refusal: null };
    await parts.operators.note(actor, { ...entry, event: row.event });
    try {
      return await row.run(parts, { id, reason, actor });
    } catch (error) {
      const refusal = error instanceof Refusal ? error.reason : "INTERNAL";
      await parts.operators.note(actor, { ...entry, event: "operator.failed", refusal });
      throw error;
    }
  };
