/**
 * What each door has of its own on the one path by which documents are accepted: its checks, its reply, its word for a
 * conflict.
 */
import { LIMITS } from "../../base/limits.js";
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { Door } from "../../base/doors.js";
import { Refusal } from "../../base/errors.js";
import type { ErrorDetail, ErrorName } from "../../base/errors.js";
import type { DocumentId } from "../../base/ids.js";
import type { Conflict } from "../../storage/documents/documents.js";
import { FirmKeyGone } from "../../storage/keyring/firm-key-files.js";
import type { RecipientResolution } from "./request.js";
import { INVOICE_CHECKS, SEND_CHECKS } from "./send-checks.js";
import type { Check } from "./send-checks.js";

/** What a reply may say of an acceptance. */
interface Acceptance {
  readonly id: DocumentId;
  readonly externalId: string | undefined;
  readonly messageId: string;
  /** Hex. */
  readonly payloadSha256: string;
  readonly receivedAt: Instant;
  /** What the caller should know, though the document is accepted; undefined when there is nothing. */
  readonly warning: string | undefined;
  readonly resolution: RecipientResolution | undefined;
}

interface ConflictRow {
  readonly reason: ErrorName;
  readonly detail: ErrorDetail;
}

interface DoorRow {
  /** What a document is checked for before it is accepted; the order is the order of precedence. */
  readonly checks: readonly Check[];
  /** The reply that is stored with the document, so that every repeat gets its bytes. */
  readonly reply: {
    readonly status: number;
    readonly body: (acceptance: Acceptance) => Readonly<Record<string, unknown>>;
  };
  /** HTTP status of the same reply when it is given to a repeat. */
  readonly repeatStatus: number;
  /**
   * Whether a document that the rules refuse is kept as `validation_failed`, under no name: at doors where nobody waits
   * for the answer. @default false
   */
  readonly keepsRefused?: true;
  /** What a request is told whose external id another document has. */
  readonly externalIdTaken: ConflictRow;
  /** Whether the document's number is its external id. */
  readonly isNamedByNumber: boolean;
}

/** Rules of the SAPI profile on the day of hand-off and on debit notes; no other door's specification has them. */
const SAPI_ONLY: ReadonlySet<ErrorName> = new Set(["SAPI-DOC-027", "SAPI-DOC-028", "SAPI-DOC-029"]);
const COMMON_CHECKS = SEND_CHECKS.filter(({ reason }) => !SAPI_ONLY.has(reason));
const [IS_READ, ...FURTHER_CHECKS] = COMMON_CHECKS;
/** Where no type is declared, the document must first be one that is sent at all. */
const UNDECLARED_CHECKS = [...(IS_READ === undefined ? [] : [IS_READ]), ...INVOICE_CHECKS, ...FURTHER_CHECKS];

/**
 * Conflicts that every door words alike; the families' codes are columns of the catalogue.
 * @source spec/rulings.md, section 3
 */
const CONFLICTS: Readonly<Record<Exclude<Conflict, "duplicate_document">, ConflictRow>> = {
  in_flight: {
    reason: "SAPI-PROC-002",
    detail: { field: "Idempotency-Key", message: "A request with this key is still being answered." },
  },
  key_conflict: {
    reason: "SAPI-PROC-003",
    detail: { field: "Idempotency-Key", message: "This key was used with another body." },
  },
  duplicate_payload: {
    reason: "SAPI-DOC-024",
    detail: {
      issue: "duplicate_payload",
      field: "payload",
      message: "The same payload was already accepted; this says nothing of its delivery.",
    },
  },
};

const takenElsewhere = (reason: ErrorName, field: string): ConflictRow => ({
  reason,
  detail: { field, message: "It was used with other content; use another one, or repeat the first request." },
});

/**
 * One row a door. Box and Connector store what is known when a document is accepted; their operations answer with
 * their own records, which change afterwards.
 * @source spec/sapi.md, Send response; spec/rulings.md, sections 7, 11 and 13
 */
export const DOORS: Readonly<Record<Door, DoorRow>> = {
  sapi: {
    checks: SEND_CHECKS,
    reply: {
      status: 202,
      body: ({ id, receivedAt }) => {
        const instant = isoInstant(receivedAt);
        return { providerDocumentId: id, status: "ACCEPTED", receivedAt: instant, timestamp: instant };
      },
    },
    repeatStatus: 202,
    externalIdTaken: {
      reason: "SAPI-DOC-018",
      detail: { field: "metadata.documentId", message: "A document with this documentId was already accepted." },
    },
    isNamedByNumber: false,
  },
  enterprise: {
    checks: UNDECLARED_CHECKS,
    reply: {
      status: 201,
      body: ({ id, messageId, payloadSha256, warning }) => {
        const document = `/api/v1/documents/${id}`;
        return {
          documentId: id,
          messageId,
          status: "queued",
          payloadSha256,
          ...(warning === undefined ? {} : { warning }),
          links: {
            document,
            status: `${document}/status`,
            events: `${document}/events`,
            ubl: `${document}/ubl`,
            evidence: `${document}/evidence`,
          },
        };
      },
    },
    repeatStatus: 200,
    externalIdTaken: takenElsewhere("DUPLICATE_INVOICE_NUMBER", "invoiceNumber"),
    isNamedByNumber: true,
  },
  box: {
    checks: COMMON_CHECKS,
    reply: {
      status: 201,
      body: ({ id, externalId }) => ({ documentId: id, externalId: externalId ?? null, status: "sending" }),
    },
    repeatStatus: 200,
    keepsRefused: true,
    externalIdTaken: takenElsewhere("BOX_EXTERNAL_ID_CONFLICT", "externalId"),
    isNamedByNumber: false,
  },
  connector: {
    checks: UNDECLARED_CHECKS,
    reply: {
      status: 201,
      body: ({ id, externalId, resolution }) => ({ id, externalId: externalId ?? null, state: "queued", resolution }),
    },
    repeatStatus: 200,
    externalIdTaken: takenElsewhere("EXTERNAL_ID_CONFLICT", "externalId"),
    isNamedByNumber: false,
  },
};

/**
 * The refusal of a request that is in conflict with another one at its door.
 * @param members  what the error says of the document that is in the way
 */
export function refuseConflict(door: Door, kind: Conflict, members: Readonly<Record<string, unknown>> = {}): Refusal {
  const { reason, detail } = kind === "duplicate_document" ? DOORS[door].externalIdTaken : CONFLICTS[kind];
  const extras = kind === "in_flight" ? { retryAfter_s: LIMITS.in_flight_retry_after_s } : { members };
  return new Refusal(reason, [detail], extras);
}

/**
 * The refusal of a request whose firm was erased after it had been let in: what its key is answered from then on. An
 * integrator signs in again, and is told then that the firm is none of its own.
 */
export const refuseErased = (): Refusal => new Refusal("TOKEN_INVALID");

/** That refusal in the place of what says that a firm's key is gone; any other error as it is. */
export const orErased = (error: unknown): unknown => (error instanceof FirmKeyGone ? refuseErased() : error);

/** Refuses so where nothing can be sealed for a firm any more: a database from before its erasure has its API keys. */
export function refuseGone(error: unknown): never {
  throw orErased(error);
}
