/**
 * The first attempt at a document by the process that accepts it: a place is taken before the commit, the lease is
 * committed with the document, and nobody has to look for it. What cannot have a place is claimed like anything else.
 */
import type { ParticipantId } from "../../base/ids.js";
import type { TakenAttempt } from "../../storage/documents/attempts.js";
import type { NewDocument } from "../../storage/documents/documents.js";

/** A place for the first attempt at a document that is being accepted. */
interface FirstAttempt {
  /** Names the process in the lease. */
  readonly owner: string;
  /** The document is committed under that lease: its attempt is made. */
  begin(taken: TakenAttempt): void;
  /** Gives the place back when nothing was committed. Safe to repeat, and does nothing after `begin`. */
  release(): void;
  /** The same when nobody knows whether it was committed: the lease is looked for soon. */
  lose(): void;
}

/**
 * Takes a place for a document of so many octets to this receiver; undefined where none is free, or others have waited
 * for it longer.
 */
export type Reserve = (receiver: ParticipantId, payloadBytes: number) => FirstAttempt | undefined;

/** The attempt of a document that was just committed under lease, as a claim would give it. */
export const firstAttemptAt = (document: NewDocument, payload: Buffer): TakenAttempt => ({
  id: document.id,
  firmId: document.firmId,
  sender: document.sender,
  receiver: document.receiver,
  documentTypeId: document.documentTypeId,
  processId: document.processId,
  status: "queued",
  version: 1,
  attempt: 1,
  answers: 0,
  faults: 0,
  as4MessageId: document.as4MessageId,
  sbdhInstanceId: document.sbdhInstanceId,
  facts: document.facts,
  createdAt: document.acceptedAt,
  payloadKeyId: document.payloadKeyId,
  payloadSealed: document.payloadSealed,
  payloadBytes: document.payloadBytes,
  payload,
});
