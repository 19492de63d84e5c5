/**
 * Operations of White Label: an intermediary's wish is written first, then the registry is asked, then what it did is
 * made true here. An outcome that nobody knows waits for an operator, and nothing is asked twice to find out.
 * @source spec/enterprise.md, White Label; spec/rulings.md, section 12
 */
import { timingSafeEqual } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";

import type { Clock } from "../../base/clock.js";
import { keyReused, Refusal } from "../../base/errors.js";
import type { ErrorDetail, ErrorName } from "../../base/errors.js";
import { newId, parseParticipantId } from "../../base/ids.js";
import type { FirmId, IntegratorId, ParticipantId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { Log } from "../../base/log.js";
import { moveOf } from "../../lifecycle/machine.js";
import { whiteLabelLifecycle } from "../../lifecycle/white-label.js";
import type { WhiteLabelState, WhiteLabelTrigger } from "../../lifecycle/white-label.js";
import { PARTICIPANT_CAPABILITIES } from "../../peppol/discovery/capabilities.js";
import type { WhiteLabelOutcome, WhiteLabelRegistry } from "../../peppol/registry/registry.js";
import {
  bindWhiteLabel,
  findWhiteLabel,
  insertWhiteLabel,
  insertWhiteLabelLeave,
  isNameBound,
  moveWhiteLabel,
  UNVOUCHED,
} from "../../storage/identity/white-label.js";
import type { SealedText, WhiteLabelCreation, WhiteLabelRow } from "../../storage/identity/white-label.js";
import type { Sealer } from "../../storage/sealer.js";
import { orNotFound, orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { OPERATOR, stampOf } from "../audit.js";
import type { Actor } from "../audit.js";
import { CONSENT_SCOPES } from "../partners/consents.js";
import { sha256 } from "../tokens/secrets.js";
import type { SecretEnvironment } from "../tokens/secrets.js";

/** What operations need of the engine. */
export interface WhiteLabelPorts {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly sealer: Sealer;
  readonly registry: WhiteLabelRegistry;
  readonly environment: SecretEnvironment;
}

/** What an intermediary wishes: a new participant with the tax authority's token, or one of another provider. */
export interface WhiteLabelWish {
  readonly operationType: "registration" | "migration_in";
  readonly integratorId: IntegratorId;
  readonly idempotencyKey: string;
  readonly customerRef: string;
  readonly dic: string;
  readonly companyEmail: string;
  readonly legalName: string | undefined;
  /** The verification token or the migration code. */
  readonly secret: string;
}

/** The participant of a Slovak tax id. @throws Error when it is none; the gateway has checked its digits */
export function participantOfDic(dic: string): ParticipantId {
  const participant = parseParticipantId(`0245:${dic}`);
  if (participant === undefined) throw new Error("a tax id is the identifier of a participant");
  return participant;
}

/** What a secret or a request body of an operation is sealed for. */
export const operationContext = (id: string, what: "secret" | "body"): string => `white label ${id} ${what}`;
const seal = (sealer: Sealer, plain: Uint8Array, context: string): SealedText => ({
  keyId: sealer.keyId,
  sealed: sealer.seal(plain, context),
});

/** Why a wish is not written, and which of its members says so. */
const REFUSALS: Readonly<
  Record<Exclude<WhiteLabelCreation, "created" | "repeat">, readonly [ErrorName, ...ErrorDetail[]]>
> = {
  identity_taken: ["IDENTIFIER_TAKEN", { field: "dic", message: "Another firm here has this tax id." }],
  under_way: ["PARTICIPANT_UNDER_WAY", { field: "dic", message: "An operation on this tax id has not ended." }],
  ref_conflict: [
    "CUSTOMER_REF_CONFLICT",
    { field: "customerRef", message: "It stands for another company, or this company has another one." },
  ],
  not_authorized: ["PARTNER_NOT_AUTHORIZED"],
};

/** The digest that tells a repeat from another body under the same key. */
const digestOf = ({ operationType, customerRef, dic, companyEmail, legalName, secret }: WhiteLabelWish): Buffer =>
  sha256(JSON.stringify([operationType, customerRef, dic, companyEmail, legalName ?? null, secret]));

/**
 * Writes a wish as an operation, or finds the one that it was written as before.
 * @throws Refusal IDENTIFIER_TAKEN, PARTICIPANT_UNDER_WAY, CUSTOMER_REF_CONFLICT, PARTNER_NOT_AUTHORIZED,
 * IDEMPOTENCY_REUSED, TEMPORARY
 */
export async function writeWish(
  { sql, clock, sealer, registry, environment }: WhiteLabelPorts,
  wish: WhiteLabelWish,
  actor: Actor,
): Promise<{ readonly id: string; readonly isNew: boolean }> {
  const id = newId(clock);
  const { secret, ...row } = wish;
  const digest = digestOf(wish);
  const made = await orTemporary(
    insertWhiteLabel(
      sql,
      {
        ...row,
        id,
        participant: participantOfDic(wish.dic),
        secret: seal(sealer, Buffer.from(secret), operationContext(id, "secret")),
        body: seal(sealer, digest, operationContext(id, "body")),
        isUnvouched: !registry.verifies(wish.operationType),
      },
      { isProduction: environment === "production", audit: stampOf(actor, clock), now: clock.now() },
    ),
  );
  if (made === undefined) throw new Refusal("TEMPORARY");
  if (made.outcome === "created") return { id, isNew: true };
  if (made.outcome !== "repeat") {
    const [reason, ...details] = REFUSALS[made.outcome];
    throw new Refusal(reason, details);
  }
  if (made.id === null) throw new Refusal("TEMPORARY");
  const first = await orTemporary(findWhiteLabel(sql, made.id, wish.integratorId));
  const { bodyKeyId, bodySealed } = first ?? {};
  const isSame =
    typeof bodyKeyId === "string" &&
    bodySealed instanceof Uint8Array &&
    timingSafeEqual(sealer.open(bodyKeyId, bodySealed, operationContext(made.id, "body")), digest);
  if (!isSame) throw keyReused();
  return { id: made.id, isNew: false };
}

/**
 * Writes that a participant is to leave, or finds the operation by which it does.
 * @throws Refusal NOT_FOUND, PARTICIPANT_UNDER_WAY, TEMPORARY
 */
export async function writeLeave(
  { sql, clock }: WhiteLabelPorts,
  leave: { readonly integratorId: IntegratorId; readonly participantId: string },
  actor: Actor,
): Promise<string> {
  const made = await orTemporary(
    insertWhiteLabelLeave(sql, { ...leave, id: newId(clock), audit: stampOf(actor, clock) }, clock.now()),
  );
  if (made.outcome === "unknown" || made.id === null) throw new Refusal("NOT_FOUND");
  if (made.outcome === "under_review")
    throw new Refusal("PARTICIPANT_UNDER_WAY", [
      { field: "participantId", message: "An operation on this participant is under review." },
    ]);
  return made.id;
}

const ENDS: ReadonlySet<WhiteLabelState> = new Set(["succeeded", "rejected", "released", "manual_review"]);

/** Whether the registry could not be asked: the next question is further away than anybody waits. */
const isPutOff = ({ status, errorCode }: WhiteLabelRow): boolean => status === "processing" && errorCode !== null;

/** Waits some seconds for an operation's end. @returns it as it is then */
export async function untilEnded({ sql, clock }: WhiteLabelPorts, id: string): Promise<WhiteLabelRow> {
  const until = clock.monotonic() + LIMITS.white_label_wait_ms;
  for (;;) {
    const row = await orNotFound(findWhiteLabel(sql, id, undefined));
    if (ENDS.has(row.status) || isPutOff(row) || clock.monotonic() >= until) return row;
    await pause(LIMITS.white_label_poll_ms);
  }
}

/** The code of a migration out, once it has succeeded. */
export function migrationCodeOf({ sealer }: WhiteLabelPorts, row: WhiteLabelRow): string | null {
  const { id, operationType, status, secretKeyId, secretSealed } = row;
  if (operationType !== "migration_out" || status !== "succeeded" || secretKeyId === null || secretSealed === null)
    return null;
  return sealer.open(secretKeyId, secretSealed, operationContext(id, "secret")).toString("utf8");
}

/** What an outcome of the registry means for an operation that asked it; without a trigger it is asked again. */
const AFTER: Readonly<
  Record<
    WhiteLabelOutcome["kind"],
    { readonly trigger: WhiteLabelTrigger | undefined; readonly code: string | undefined }
  >
> = {
  done: { trigger: "written", code: undefined },
  conflict: { trigger: "refused", code: "REGISTRY_CONFLICT" },
  refused: { trigger: "refused", code: "REGISTRY_REFUSED" },
  unavailable: { trigger: undefined, code: "REGISTRY_UNAVAILABLE" },
  unknown: { trigger: "unknown", code: "REGISTRY_UNKNOWN" },
};

/** The state that a trigger leads to; without one, or where the life of an operation has no such move, the same. */
const after = (status: WhiteLabelState, trigger: WhiteLabelTrigger | undefined): WhiteLabelState =>
  (trigger === undefined ? undefined : moveOf(whiteLabelLifecycle, status, trigger)?.to) ?? status;

const askRegistry = (
  { registry, sealer }: WhiteLabelPorts,
  { id, operationType, participant, secretKeyId, secretSealed }: WhiteLabelRow,
): Promise<WhiteLabelOutcome> => {
  if (operationType === "migration_out") return registry.migrateOut(participant);
  if (secretKeyId === null || secretSealed === null) return Promise.resolve({ kind: "unknown", code: "no_secret" });
  const secret = sealer.open(secretKeyId, secretSealed, operationContext(id, "secret")).toString("utf8");
  return operationType === "registration"
    ? registry.register(participant, secret)
    : registry.migrateIn(participant, secret);
};

/** After how many milliseconds the loop looks at an operation that was moved: whoever moved it binds it before that. */
const DUE_AFTER_MS: Partial<Record<WhiteLabelState, number>> = {
  processing: LIMITS.white_label_again_ms,
  smp_succeeded: LIMITS.white_label_lease_ms,
};

/** Takes an operation that was claimed as far as it goes. */
export async function carryOut(ports: WhiteLabelPorts, claimed: WhiteLabelRow): Promise<void> {
  if (claimed.status === "smp_succeeded") {
    await bind(ports, claimed);
    return;
  }
  const { clock, sealer, log } = ports;
  const outcome = await askRegistry(ports, claimed);
  const now = clock.now();
  const isTooLate = now - (claimed.vouchedAt ?? claimed.createdAt).getTime() > LIMITS.white_label_give_up_ms;
  // Whoever lets a participant go takes nothing over: whatever stands against it, the registry does not do it.
  const isRefusedLeave = claimed.operationType === "migration_out" && outcome.kind === "conflict";
  const { trigger, code } = AFTER[isRefusedLeave ? "refused" : outcome.kind];
  const status = after(claimed.status, trigger ?? (isTooLate ? "refused" : undefined));
  const { migrationCode } = outcome;
  const isMoved = await moveTo(ports, claimed, {
    status,
    code,
    dueAt: DUE_AFTER_MS[status] === undefined ? undefined : now + DUE_AFTER_MS[status],
    secret:
      migrationCode === undefined
        ? undefined
        : seal(sealer, Buffer.from(migrationCode), operationContext(claimed.id, "secret")),
  });
  if (status === "manual_review") log.error("whitelabel.review", { code: outcome.code });
  if (isMoved && status === "smp_succeeded") await bind(ports, { ...claimed, status, version: claimed.version + 1 });
}

interface Move {
  readonly status: WhiteLabelState;
  readonly code: string | undefined;
  readonly dueAt?: number | undefined;
  readonly secret?: SealedText | undefined;
}

const moveTo = (
  { sql, clock }: WhiteLabelPorts,
  { id, version }: WhiteLabelRow,
  { status, code, dueAt, secret }: Move,
): Promise<boolean> => moveWhiteLabel(sql, { id, version, status, errorCode: code, dueAt, secret }, clock.now());

/** Why what the registry has done cannot be made true here: somebody else was given the identity or the name. */
const UNBOUND = { identity_taken: "IDENTIFIER_TAKEN", ref_conflict: "CUSTOMER_REF_CONFLICT" } as const;

/** Makes what the registry has done true here. */
async function bind(ports: WhiteLabelPorts, row: WhiteLabelRow): Promise<void> {
  const { sql, clock, log, environment } = ports;
  const outcome = await bindWhiteLabel(
    sql,
    {
      id: row.id,
      version: row.version,
      firmId: newId(clock) as FirmId,
      participantId: newId(clock),
      isSandbox: environment === "sandbox",
      scopes: CONSENT_SCOPES,
      capabilities: PARTICIPANT_CAPABILITIES,
      audit: stampOf(OPERATOR, clock),
    },
    clock.now(),
  );
  if (outcome === "bound" || outcome === "changed") return;
  log.error("whitelabel.review", { code: UNBOUND[outcome] });
  await moveTo(ports, row, { status: after(row.status, "unknown"), code: UNBOUND[outcome] });
}

/**
 * Ends a review: the registry is asked who has the participant now, and what it says is made true here, and there where
 * a write may have ended half-way.
 * @throws Refusal NOT_FOUND; WHITE_LABEL_STATE where nothing is under review; REGISTRY_SILENT where the registry does
 *   not say or does not take the rest; TEMPORARY
 */
export async function releaseReview(ports: WhiteLabelPorts, id: string): Promise<WhiteLabelRow> {
  const { sql, registry, clock } = ports;
  const row = await orNotFound(findWhiteLabel(sql, id, undefined));
  if (row.status !== "manual_review") throw new Refusal("WHITE_LABEL_STATE");
  // Where nobody vouched, the registry was not asked, and whatever it has is not this operation's.
  const holder = row.errorCode === UNVOUCHED ? "nobody" : await registry.holderOf(row.participant);
  if (holder === "unknown") throw new Refusal("REGISTRY_SILENT");
  // Who leaves is ours until the other provider has it; its code was lost, so that the next one is asked for anew. What
  // another firm of this engine has been given meanwhile is ours as well, and not by this operation. Where a firm
  // has its name it cannot be bound, and would come back to this review for ever.
  const isLost =
    row.errorCode === UNBOUND.identity_taken ||
    (row.errorCode === UNBOUND.ref_conflict && (await orTemporary(isNameBound(sql, id))));
  const isDone = row.operationType !== "migration_out" && holder === "us" && !isLost;
  if (isDone && !(await registry.complete(row.participant))) throw new Refusal("REGISTRY_SILENT");
  const isMoved = await orTemporary(
    moveTo(
      ports,
      row,
      isDone
        ? { status: after(row.status, "written"), code: undefined, dueAt: clock.now() + LIMITS.white_label_lease_ms }
        : { status: after(row.status, "released"), code: row.errorCode ?? undefined },
    ),
  );
  if (!isMoved) throw new Refusal("WHITE_LABEL_STATE");
  if (isDone) await bind(ports, { ...row, status: "smp_succeeded", version: row.version + 1 });
  return untilEnded(ports, id);
}

/** States to which the end of a review leads. */
const RELEASED: ReadonlySet<WhiteLabelState> = new Set(["succeeded", "released"]);

/**
 * Finishes what is left of a release that was killed on its way: what the registry has done is bound, and nothing is
 * asked. Safe beside whoever is at it: the first who binds wins.
 * @throws Refusal NOT_FOUND; WHITE_LABEL_STATE where the end of a review does not lead there; TEMPORARY
 */
export async function finishRelease(ports: WhiteLabelPorts, id: string): Promise<WhiteLabelRow> {
  const row = await orNotFound(findWhiteLabel(ports.sql, id, undefined));
  if (RELEASED.has(row.status)) return row;
  if (row.status !== "smp_succeeded") throw new Refusal("WHITE_LABEL_STATE");
  await bind(ports, row);
  return untilEnded(ports, id);
}
