/** Tenants as an operator makes them: a firm with its first participant and key, an integrator with its first key. */
import type { Clock } from "../base/clock.js";
import { participantKey, participantParts } from "../base/ids.js";
import type { FirmId, IntegratorId, KeyId, ParticipantId } from "../base/ids.js";
import { PARTICIPANT_CAPABILITIES } from "../peppol/discovery/capabilities.js";
import { isProviderParticipant } from "../peppol/seats.js";
import { SCOPES } from "../base/scopes.js";
import { addCapabilities, findOwnParticipant } from "../storage/documents/received.js";
import type { Sql } from "../storage/sql.js";
import { columnsOf } from "./firm-facts.js";
import type { FirmFacts } from "./firm-facts.js";
import { createFirm, createIntegrator, registerParticipant } from "./firms.js";
import { createKey } from "./keys.js";
import { FIRM_KEY_SCOPES } from "./scopes.js";
import type { SecretEnvironment } from "./tokens/secrets.js";

/** What making firms and integrators needs of the engine. */
export interface TenantPorts {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly environment: SecretEnvironment;
}

/** A tenant's first key; the secret is known at this moment only. */
interface FirstKey {
  readonly clientId: KeyId;
  readonly clientSecret: string;
}

/** A new firm with its first key, whose secret is shown once. */
export type MadeFirm = FirstKey & { readonly firmId: FirmId };
/** A new integrator with its first key, whose secret is shown once. */
export type MadeIntegrator = FirstKey & { readonly integratorId: IntegratorId };

async function firstKey(ports: TenantPorts, key: Omit<Parameters<typeof createKey>[1], "name">): Promise<FirstKey> {
  const made = await createKey(ports, { ...key, name: "First key" });
  if (typeof made === "string") throw new Error(`no key for a new tenant: ${made}`);
  return { clientId: made.id, clientSecret: made.secret };
}

/** Why a participant cannot be a new firm's: another firm has it, or it is the way to a service provider itself. */
export type ParticipantFault = "participant_taken" | "participant_of_provider";

/** A firm as an operator makes it. */
export type NewTenantFirm = FirmFacts & { readonly name: string; readonly participantId: ParticipantId };

/** A firm with one participant that takes billing documents and answers to them, and one key. */
export async function makeFirm(
  ports: TenantPorts,
  { name, participantId, ...given }: NewTenantFirm,
): Promise<MadeFirm | ParticipantFault> {
  if (isProviderParticipant(participantId)) return "participant_of_provider";
  if ((await findOwnParticipant(ports.sql, participantKey(participantId))) !== undefined) return "participant_taken";
  const { scheme, value } = participantParts(participantId);
  const firmId = await createFirm(ports, {
    name,
    sandbox: ports.environment === "sandbox",
    // The Slovak scheme is that of the tax id.
    ...(scheme === "0245" ? { dic: value } : {}),
    ...columnsOf(given),
  });
  if (!(await registerParticipant(ports, firmId, participantId))) return "participant_taken";
  await addCapabilities(ports.sql, participantKey(participantId), PARTICIPANT_CAPABILITIES);
  return { firmId, ...(await firstKey(ports, { owner: { firmId }, scopes: FIRM_KEY_SCOPES })) };
}

/** An integrator with one central key. */
export async function makeIntegrator(ports: TenantPorts, { name }: { readonly name: string }): Promise<MadeIntegrator> {
  const integratorId = await createIntegrator(ports, {
    name,
    productionAuthorized: ports.environment === "production",
  });
  return { integratorId, ...(await firstKey(ports, { owner: { integratorId }, scopes: SCOPES })) };
}
