/** A request to send a document, on its way from its door to the commit, and what is answered to it. */
import type { Instant } from "../../base/clock.js";
import type { Door } from "../../base/doors.js";
import type { FirmId, KeyId, ParticipantId } from "../../base/ids.js";

/** A send request as its door has read it. */
export interface SendRequest {
  readonly door: Door;
  readonly firmId: FirmId;
  readonly keyId: KeyId;
  /** Where no type is declared, another participant of the firm may be the one that the document names. */
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  /** What the caller calls the document; optional at some doors, never at SAPI. */
  readonly erpDocumentId: string | undefined;
  /** As declared; undefined where the document itself says of which type it is. */
  readonly documentTypeId: string | undefined;
  /** As declared; undefined where the document's ProfileID says it. */
  readonly processId: string | undefined;
  readonly creationDateTime: string | undefined;
  /** Optional at some doors, never at SAPI. */
  readonly idempotencyKey: string | undefined;
  /** UBL, exact bytes. */
  readonly payload: Buffer;
  /** What the caller says the payload's SHA-256 is, hex; undefined when it does not say. */
  readonly checksum: string | undefined;
  /** The members by which two requests are the same, with the hex digest of the payload in its place. */
  readonly meaning: (payloadSha256: string) => readonly (string | undefined)[];
  readonly receivedAt: Instant;
  /** What the caller should know of its own request, in a sentence. @default nothing */
  readonly warning?: string | undefined;
  /** Whether the document, once accepted, waits until its program sends it. @default it is sent */
  readonly staged?: boolean | undefined;
  /** How the recipient was found, at the door where it may be looked up: named by the caller, or told by its ids. */
  readonly resolution?: RecipientResolution | undefined;
}

/** Whether a directory has named the participant, or the caller has: by its id, or by the tax id that makes one. */
export type RecipientResolution = "verified" | "declared";

/** A request of which nothing is left to say: its door has declared it, or its document has. */
export interface CompleteRequest extends SendRequest {
  readonly documentTypeId: string;
  readonly processId: string;
}

/** A request whose payload has been hashed, once, by the worker that judged it. */
export interface HashedRequest extends CompleteRequest {
  /** Hex digest of the exact bytes. */
  readonly payloadSha256: string;
  /** Hex digest of the request's meaning. */
  readonly requestSha256: string;
}

/** The stored reply: the same bytes for every repeat. */
export interface SendReply {
  readonly status: number;
  readonly body: string;
  readonly replayed: boolean;
}
