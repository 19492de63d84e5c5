/** Firms, participants, integrators and bindings as an operator makes them. */
import type { Clock } from "../base/clock.js";
import { newId, participantKey } from "../base/ids.js";
import type { FirmId, IntegratorId, ParticipantId } from "../base/ids.js";
import type { Scope } from "../base/scopes.js";
import { assignSandboxFirm, putBinding, revokeBinding } from "../storage/identity/bindings.js";
import type { Interface, SandboxAssignment } from "../storage/identity/bindings.js";
import { insertFirm, insertIntegrator, insertParticipant } from "../storage/identity/firms.js";
import { orTemporary } from "../storage/sql.js";
import type { Json, Sql } from "../storage/sql.js";
import { OPERATOR, stampOf } from "./audit.js";
import type { Actor } from "./audit.js";

interface Ports {
  readonly sql: Sql;
  readonly clock: Clock;
}

interface NewFirm {
  readonly name: string;
  readonly ico?: string;
  /** Tax id. */
  readonly dic?: string;
  /** VAT id. */
  readonly icDph?: string;
  readonly address?: Json;
  readonly sandbox: boolean;
}

/** Writes a new firm. @returns its id */
export async function createFirm(ports: Ports, firm: NewFirm): Promise<FirmId> {
  const id = newId(ports.clock) as FirmId;
  const { name, ico = null, dic = null, icDph = null, address = null, sandbox } = firm;
  await insertFirm(
    ports.sql,
    { id, name, ico, dic, icDph, address, sandbox },
    ports.clock.now(),
    stampOf(OPERATOR, ports.clock),
  );
  return id;
}

/**
 * Gives a participant to a firm. Safe to repeat.
 * @returns false when it belongs to another firm
 */
export async function registerParticipant(
  ports: Ports,
  firmId: FirmId,
  participantId: ParticipantId,
): Promise<boolean> {
  const owner = await insertParticipant(
    ports.sql,
    { key: participantKey(participantId), id: participantId, firmId },
    ports.clock.now(),
  );
  return owner === firmId;
}

/** Writes a new integrator. @returns its id */
export async function createIntegrator(
  ports: Ports,
  integrator: { readonly name: string; readonly productionAuthorized: boolean },
): Promise<IntegratorId> {
  const id = newId(ports.clock) as IntegratorId;
  await insertIntegrator(ports.sql, { id, ...integrator }, ports.clock.now(), stampOf(OPERATOR, ports.clock));
  return id;
}

interface NewBinding {
  readonly integratorId: IntegratorId;
  readonly firmId: FirmId;
  /** The integrator's own name for the firm. */
  readonly customerRef?: string;
  readonly scopes: readonly Scope[];
  readonly interfaces: readonly Interface[];
  /** @default active */
  readonly state?: "required" | "pending" | "active";
}

/**
 * Binds a firm to an integrator, or changes the binding there is. Keys and tokens that a withdrawal has ended stay
 * ended.
 */
export async function bindFirm(ports: Ports, binding: NewBinding): Promise<void> {
  const { customerRef = null, state = "active", ...rest } = binding;
  await putBinding(ports.sql, { ...rest, customerRef, state }, ports.clock.now(), stampOf(OPERATOR, ports.clock));
}

/** A firm of the sandbox, and the integrator who may invite it. */
export interface Assignment {
  readonly integratorId: IntegratorId;
  readonly firmId: FirmId;
}

/**
 * Assigns a firm of the sandbox to an integrator, which is what its invitation needs there. Safe to repeat.
 * @source spec/enterprise.md, POST /consent-offers: in sandbox only an already assigned synthetic company
 */
export const assignFirmOfSandbox = ({ sql, clock }: Ports, assignment: Assignment): Promise<SandboxAssignment> =>
  orTemporary(assignSandboxFirm(sql, assignment, clock.now(), stampOf(OPERATOR, clock)));

/**
 * Withdraws the firm's consent: access ends at once, the keys made for that firm end, issued tokens never work for it
 * again.
 * @returns false when there was nothing to withdraw
 * @source spec/enterprise.md, States: firm and partner binding
 */
export async function revokeConsent(
  ports: Ports,
  integratorId: IntegratorId,
  firmId: FirmId,
  actor: Actor = OPERATOR,
): Promise<boolean> {
  return revokeBinding(ports.sql, { integratorId, firmId }, ports.clock.now(), stampOf(actor, ports.clock));
}
