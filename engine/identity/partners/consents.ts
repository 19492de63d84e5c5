/**
 * Consent: an integrator invites a company, whose owner or admin accepts or declines on a page of ours. The link of an
 * invitation is shown once; only a digest of its secret is kept.
 */
import { randomBytes } from "node:crypto";

import { isoInstant } from "../../base/clock.js";
import type { Clock } from "../../base/clock.js";
import { Refusal } from "../../base/errors.js";
import type { ErrorName } from "../../base/errors.js";
import { newId } from "../../base/ids.js";
import type { FirmId, IntegratorId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { SCOPES } from "../../base/scopes.js";
import type { Scope } from "../../base/scopes.js";
import { findBinding, findBindingByCustomerRef } from "../../storage/identity/bindings.js";
import type { Interface } from "../../storage/identity/bindings.js";
import {
  decideOffer,
  findOffer,
  findOfferByToken,
  hasOpenOffer,
  insertOffer,
  markOfferViewed,
} from "../../storage/identity/consents.js";
import type {
  OfferAnswer,
  OfferOutcome,
  OfferRow,
  OfferStatus,
  RelationshipMode,
  RequestedInterface,
} from "../../storage/identity/consents.js";
import { orNotFound, orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { stampOf } from "../audit.js";
import type { Actor } from "../audit.js";
import type { Caller } from "../caller.js";
import { sha256 } from "../tokens/secrets.js";
import type { SecretEnvironment } from "../tokens/secrets.js";
import { integratorOf } from "../caller.js";

export { OFFER_STATUSES, RELATIONSHIP_MODES, REQUESTED_INTERFACES } from "../../storage/identity/consents.js";

/** What the commands on consents need of the engine. */
export interface ConsentPorts {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly environment: SecretEnvironment;
  /** Base of the links. */
  readonly publicUrl: string;
}

/** Scopes that a firm can consent to. @source spec/shapes.md, section 3 */
export const CONSENT_SCOPES = [
  "firms:manage",
  "documents:send",
  "documents:read",
  "documents:write",
  "events:read",
  "webhooks:read",
  "webhooks:write",
  "evidence:read",
  "account:read",
] as const satisfies readonly Scope[];

/** What each requested interface opens. One invitation covers Enterprise and SAPI together, as clients need both. */
const INTERFACES_OF: Readonly<Record<RequestedInterface, readonly Interface[]>> = {
  enterprise_api: ["enterprise", "sapi"],
  sapi: ["sapi"],
  connector: ["connector"],
  all: ["enterprise", "sapi", "connector"],
};

/** What an integrator asks of a company. */
export interface OfferWish {
  /** Company id (8 digits) or tax id (10 digits). */
  readonly targetIdentifier: string;
  readonly customerReference: string | undefined;
  readonly relationshipMode: RelationshipMode;
  readonly requestedInterface: RequestedInterface;
  readonly requestedScopes: readonly Scope[];
}

/** An offer as its integrator reads it. @source spec/rulings.md, section 8 */
export interface ConsentOffer {
  readonly id: string;
  readonly targetIdentifier: string;
  readonly customerReference: string | null;
  readonly relationshipMode: RelationshipMode;
  readonly requestedInterface: RequestedInterface;
  readonly requestedScopes: Scope[];
  readonly status: OfferStatus;
  readonly expiresAt: string;
  readonly createdAt: string;
}

/** A new offer with its link, which is told once. */
export interface MadeOffer extends ConsentOffer {
  readonly consentUrl: string;
}

/** An offer as the page behind its link shows it. */
export interface OpenedOffer extends ConsentOffer {
  readonly integratorId: IntegratorId;
  /** Who asks. */
  readonly integratorName: string;
}

const offerOf = (row: OfferRow): ConsentOffer => ({
  id: row.id,
  targetIdentifier: row.targetIdentifier,
  customerReference: row.customerReference,
  relationshipMode: row.relationshipMode,
  requestedInterface: row.requestedInterface,
  requestedScopes: [...row.requestedScopes],
  status: row.status,
  expiresAt: isoInstant(row.expiresAt),
  createdAt: isoInstant(row.createdAt),
});

/** Bytes of the secret in a link: 256 bits, written as 43 characters. */
const LINK_SECRET_BYTES = 32;
/** Below it stands the secret of a link. */
const CONSENT_PATH = "/consent/";

const OFFER_REFUSALS: Readonly<Record<Exclude<OfferOutcome, "created">, ErrorName>> = {
  caller_changed: "KEY_CHANGED",
  scope_exceeds: "SCOPE_EXCEEDS",
  unavailable: "PARTNER_OFFER_UNAVAILABLE",
};

/**
 * Invites a company. Not safe to repeat: each call makes an invitation with a link of its own.
 * @throws Refusal SCOPE_EXCEEDS, PARTNER_OFFER_UNAVAILABLE, PARTNER_OFFER_CONFIGURATION_ERROR where links would not be
 *   safe to open, KEY_CHANGED, TEMPORARY
 * @source spec/enterprise.md, POST /consent-offers
 */
export async function offerConsent(
  ports: ConsentPorts,
  caller: Caller,
  wish: OfferWish,
  actor: Actor,
): Promise<MadeOffer> {
  const { clock, sql } = ports;
  if (ports.environment === "production" && !ports.publicUrl.startsWith("https:"))
    throw new Refusal("PARTNER_OFFER_CONFIGURATION_ERROR");
  const requestedScopes = SCOPES.filter((scope) => wish.requestedScopes.includes(scope));
  const beyond = requestedScopes.filter((scope) => !caller.scopes.has(scope));
  if (beyond.length > 0)
    throw new Refusal(
      "SCOPE_EXCEEDS",
      beyond.map((scope) => ({ field: "requestedScopes", message: `The calling key does not have ${scope}.` })),
    );
  const token = randomBytes(LINK_SECRET_BYTES).toString("base64url");
  const createdAt = clock.now();
  const offer = {
    ...wish,
    requestedScopes,
    id: newId(clock),
    integratorId: integratorOf(caller),
    keyId: caller.keyId,
    customerReference: wish.customerReference ?? null,
    interfaces: INTERFACES_OF[wish.requestedInterface],
    createdAt,
    expiresAt: createdAt + LIMITS.consent_offer_ms,
  };
  const outcome = await orTemporary(
    insertOffer(sql, offer, {
      tokenSha256: sha256(token),
      keyGeneration: caller.generation,
      sandbox: ports.environment === "sandbox",
      audit: stampOf(actor, clock),
    }),
  );
  if (outcome !== "created") throw new Refusal(OFFER_REFUSALS[outcome]);
  return {
    id: offer.id,
    consentUrl: `${ports.publicUrl}${CONSENT_PATH}${token}`,
    targetIdentifier: offer.targetIdentifier,
    customerReference: offer.customerReference,
    relationshipMode: offer.relationshipMode,
    requestedInterface: offer.requestedInterface,
    requestedScopes,
    status: "issued",
    expiresAt: isoInstant(offer.expiresAt),
    createdAt: isoInstant(createdAt),
  };
}

/** An offer of an integrator. @throws Refusal NOT_FOUND for one of nobody or of somebody else; TEMPORARY */
export async function readOffer(
  ports: Pick<ConsentPorts, "sql" | "clock">,
  integratorId: IntegratorId,
  id: string,
): Promise<ConsentOffer> {
  return offerOf(await orNotFound(findOffer(ports.sql, integratorId, id, ports.clock.now())));
}

/**
 * The offer behind a link, and notes that it was opened. Safe to repeat.
 * @param token the last part of the consentUrl, as the browser sent it
 * @returns undefined when there is no such link
 * @throws Refusal TEMPORARY
 */
export async function openConsentOffer(ports: ConsentPorts, token: string): Promise<OpenedOffer | undefined> {
  const digest = sha256(token);
  await orTemporary(markOfferViewed(ports.sql, digest));
  const row = await orTemporary(findOfferByToken(ports.sql, digest, ports.clock.now()));
  return row === undefined
    ? undefined
    : { ...offerOf(row), integratorId: row.integratorId, integratorName: row.integratorName };
}

/** A person's answer to an offer. Whoever calls has made sure that the person is owner or admin of the firm. */
export interface ConsentAnswer {
  readonly offerId: string;
  /** The firm in whose name the person answers; an offer to another company is unknown to it. */
  readonly firmId: FirmId;
  readonly personId: string;
  /** `type` is `user` and `id` the person's. */
  readonly actor: Actor;
}

/**
 * What became of an answer. `accepted`, `declined`: it counts now. `already`: it was answered so before, and nothing
 * changed. `expired`, `withdrawn` (its key has ended or lost a scope, or the firm has withdrawn its consent since),
 * `unavailable` (the integrator may not act for firms): it cannot be accepted any more. `unknown`: there is no such
 * offer for this firm. A declined offer that is accepted stays `declined`, and the other way round.
 */
export type ConsentOutcome = OfferAnswer;

const decide = (ports: ConsentPorts, answer: ConsentAnswer, accept: boolean): Promise<ConsentOutcome> =>
  orTemporary(
    decideOffer(
      ports.sql,
      {
        offerId: answer.offerId,
        firmId: answer.firmId,
        personId: answer.personId,
        accept,
        sandbox: ports.environment === "sandbox",
        audit: stampOf(answer.actor, ports.clock),
      },
      ports.clock.now(),
    ),
  );

/**
 * Accepts an offer: the firm is bound to the integrator with exactly the scopes and interfaces of the offer, instead of
 * those of an earlier consent. The issuing key and its scopes are checked in the same statement, so that a key that is
 * just being deleted and an acceptance have one outcome. Two people at once make one acceptance.
 * @throws Refusal TEMPORARY
 * @source spec/enterprise.md, Consent offers, rules; spec/rulings.md, section 8
 */
export const acceptConsentOffer = (ports: ConsentPorts, answer: ConsentAnswer): Promise<ConsentOutcome> =>
  decide(ports, answer, true);

/** Declines an offer. A binding that there is stays as it is. @throws Refusal TEMPORARY */
export const declineConsentOffer = (ports: ConsentPorts, answer: ConsentAnswer): Promise<ConsentOutcome> =>
  decide(ports, answer, false);

/** How consent stands. @source spec/rulings.md, section 8 */
export interface ConsentStatus {
  readonly state: "required" | "pending" | "active" | "revoked";
  readonly interface: RequestedInterface | null;
  readonly scopes: string[];
  readonly customerReference: string | null;
  readonly firmId: FirmId | null;
  readonly updatedAt: string | null;
}

/** The firm that is asked about. */
export interface ConsentSubject {
  readonly firmId: FirmId | undefined;
  readonly customerReference: string | undefined;
}

/** The narrowest word that covers what a binding opens. */
const interfaceOf = (interfaces: readonly string[]): RequestedInterface =>
  (["sapi", "connector", "enterprise_api"] as const).find((name) =>
    interfaces.every((one) => INTERFACES_OF[name].some((opened) => opened === one)),
  ) ?? "all";

/**
 * How the consent of a firm stands. A firm that the integrator has nothing to do with is `required`, whether it exists
 * or not.
 * @throws Refusal TEMPORARY
 * @source spec/enterprise.md, States: firm and partner binding
 */
export async function readConsentStatus(
  ports: Pick<ConsentPorts, "sql" | "clock">,
  caller: Caller,
  { firmId, customerReference }: ConsentSubject,
): Promise<ConsentStatus> {
  const { sql, clock } = ports;
  const integratorId = integratorOf(caller);
  const found = await orTemporary(
    firmId === undefined
      ? findBindingByCustomerRef(sql, integratorId, customerReference ?? "")
      : findBinding(sql, integratorId, firmId),
  );
  const binding =
    found !== undefined && (caller.scopedFirmId === undefined || caller.scopedFirmId === found.firmId)
      ? found
      : undefined;
  const isOpen =
    binding?.state !== "active" &&
    caller.scopedFirmId === undefined &&
    (await orTemporary(
      hasOpenOffer(
        sql,
        integratorId,
        {
          firmId: binding?.firmId ?? firmId ?? null,
          customerReference: customerReference ?? null,
          // An older one to another company under the same name does not hide that the firm has withdrawn.
          after: binding?.state === "revoked" ? binding.updatedAt.getTime() : null,
        },
        clock.now(),
      ),
    ));
  return {
    state: isOpen ? "pending" : (binding?.state ?? "required"),
    // Of a firm that is only assigned nothing is opened.
    interface: binding === undefined || binding.state === "required" ? null : interfaceOf(binding.interfaces),
    scopes: binding?.state === "active" ? [...binding.scopes] : [],
    customerReference: binding?.customerRef ?? customerReference ?? null,
    firmId: binding?.firmId ?? firmId ?? null,
    updatedAt: binding === undefined ? null : isoInstant(binding.updatedAt),
  };
}
