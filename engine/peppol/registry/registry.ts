/** The registry in which participants are put for intermediaries: a port with two forms. */
import type { ParticipantId } from "../../base/ids.js";

/** Everything that can come of asking the registry. */
export const WHITE_LABEL_OUTCOMES = {
  /** What was asked for has been done. */
  done: { isKnown: true },
  /** The identity belongs to somebody else, or is there already. */
  conflict: { isKnown: true },
  /** The registry does not do it. Nothing has changed. */
  refused: { isKnown: true },
  /** The registry could not be asked. Nothing has changed; it is asked again. */
  unavailable: { isKnown: true },
  /** Nobody knows whether it was done. */
  unknown: { isKnown: false },
} as const satisfies Record<string, { readonly isKnown: boolean }>;

/** What came of asking the registry. */
export interface WhiteLabelOutcome {
  readonly kind: keyof typeof WHITE_LABEL_OUTCOMES;
  /** Short, of closed sets or a status. */
  readonly code: string;
  /** Of a migration out: for the provider that takes the participant over. */
  readonly migrationCode?: string;
}

/** Who speaks for a participant in the network, as far as the registry knows. */
export type WhiteLabelHolder = "us" | "other" | "nobody" | "unknown";

/** A document type in a process that a participant takes. */
export interface WhiteLabelCapability {
  readonly documentTypeId: string;
  readonly processId: string;
}

/** The registry. Its calls never throw. */
export interface WhiteLabelRegistry {
  /**
   * Whether it checks by itself that a token or a code was given out for this participant; where it does not, a person
   * has to, before it is asked.
   */
  verifies(operationType: "registration" | "migration_in"): boolean;
  /** Puts a new participant there. @param verificationToken what the tax authority has given the company for us */
  register(participant: ParticipantId, verificationToken: string): Promise<WhiteLabelOutcome>;
  /** Takes a participant over. @param migrationCode from the provider that lets it go */
  migrateIn(participant: ParticipantId, migrationCode: string): Promise<WhiteLabelOutcome>;
  /** Lets a participant go; a repeat answers the same code. */
  migrateOut(participant: ParticipantId): Promise<WhiteLabelOutcome>;
  /**
   * Publishes what a participant of ours takes, where a write may have ended half-way; a repeat changes nothing.
   * @returns whether all of it is there now
   */
  complete(participant: ParticipantId): Promise<boolean>;
  /** Asks who has the participant, and changes nothing. */
  holderOf(participant: ParticipantId): Promise<WhiteLabelHolder>;
}
