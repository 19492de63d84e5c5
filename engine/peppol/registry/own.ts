/** Our own SMP as the registry: it publishes what the engine knows, and the SML makes the network find it. */
import { participantKey } from "../../base/ids.js";
import type { ParticipantId } from "../../base/ids.js";
import type { RegistrationRequest, RegistrationResult } from "../discovery/registrations.js";
import type { WhiteLabelHolder, WhiteLabelOutcome, WhiteLabelRegistry } from "./registry.js";

interface OwnRegistryPorts {
  /** Undefined where this engine is in no network: what it publishes is all that there is. */
  readonly registrations:
    | {
        change(participant: ParticipantId, request: RegistrationRequest): Promise<RegistrationResult>;
        check(participant: ParticipantId): Promise<RegistrationResult>;
      }
    | undefined;
  /** In a sandbox every token is good: companies are made up there. */
  readonly isProduction: boolean;
  /** Whether a participant, given in lower case, is one of ours. */
  readonly isOwn: (participantKey: string) => Promise<boolean>;
  /** A code for a migration where there is no SML that could be told of one. */
  readonly newMigrationCode: () => string;
}

const KINDS: Readonly<Record<RegistrationResult["kind"], WhiteLabelOutcome["kind"]>> = {
  done: "done",
  already: "done",
  conflict: "conflict",
  refused: "refused",
  unavailable: "unavailable",
  manual_review: "unknown",
  busy: "unavailable",
  not_published: "unavailable",
  not_registered: "refused",
};

const HOLDERS: Readonly<Record<"registered" | "unregistered" | "manual_review", WhiteLabelHolder>> = {
  registered: "us",
  unregistered: "nobody",
  manual_review: "unknown",
};

/**
 * Makes the registry over our own SMP. The verification token has no place in the SML and goes no further, so that
 * nothing here checks it; the code of a migration is checked by the SML.
 */
export function ownRegistry({
  registrations,
  isProduction,
  isOwn,
  newMigrationCode,
}: OwnRegistryPorts): WhiteLabelRegistry {
  async function ask(participant: ParticipantId, request: RegistrationRequest): Promise<WhiteLabelOutcome> {
    if (registrations === undefined)
      return request.operation === "prepare_migration"
        ? { kind: "done", code: "no_network", migrationCode: newMigrationCode() }
        : { kind: "done", code: "no_network" };
    try {
      const { kind, code = "", migrationKey } = await registrations.change(participant, request);
      return { kind: KINDS[kind], code, ...(migrationKey === undefined ? {} : { migrationCode: migrationKey }) };
    } catch {
      // The question may have reached the SML before this process lost its answer.
      return { kind: "unknown", code: "internal" };
    }
  }
  return {
    verifies: (operationType) => !isProduction || (operationType === "migration_in" && registrations !== undefined),
    register: (participant) => ask(participant, { operation: "register" }),
    migrateIn: (participant, migrationKey) => ask(participant, { operation: "migrate", migrationKey }),
    migrateOut: (participant) => ask(participant, { operation: "prepare_migration" }),
    // What our SMP publishes is what the engine knows.
    complete: () => Promise.resolve(true),
    holderOf: async (participant) => {
      try {
        if (registrations === undefined) return (await isOwn(participantKey(participant))) ? "us" : "nobody";
        const { state } = await registrations.check(participant);
        return state === undefined ? "nobody" : HOLDERS[state];
      } catch {
        return "unknown";
      }
    },
  };
}
