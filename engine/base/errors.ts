/**
 * The error catalogue: everything the engine refuses, with its status, its code in each family and its sentence.
 *
 * A refusal is the caller's fault or the world's state. Anything else is a bug and becomes INTERNAL.
 */
import { constants } from "node:os";

import { LIMITS } from "./limits.js";

/** What Node says where it has no name for an error of the system: a quota's, or that of a share which lost a file. */
const NAMELESS = /^Unknown system error -(\d+)$/;

/** The system's own name of an error, which Node may not know: of a write at once it then says `UNKNOWN`. */
function systemName(code: string, errno: unknown): string {
  const number = code === "UNKNOWN" && typeof errno === "number" ? -errno : Number(NAMELESS.exec(code)?.[1]);
  // Nearly every error has a name, and the numbers of a system are more than a hundred.
  if (Number.isNaN(number)) return code;
  return Object.entries(constants.errno).find(([, value]) => value === number)?.[0] ?? code;
}

/** What the system, Postgres or Node calls an error, such as `ENOENT` or an SQLSTATE; undefined where it has none. */
export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string"
    ? systemName(error.code, "errno" in error ? error.errno : undefined)
    : undefined;

/** One finding or hint inside an error. @source spec/rulings.md, section 3 */
export interface ErrorDetail {
  readonly code?: string;
  readonly issue?: string;
  /** Path of the member or name of the header that is wrong. */
  readonly field?: string;
  readonly message: string;
  readonly ruleId?: string;
  readonly severity?: string;
  readonly location?: string;
}

interface ErrorRow {
  readonly status: number;
  /** Whether the same request can succeed later. */
  readonly retryable: boolean;
  /** What SAPI says of it: there every conflict is. @source spec/sapi.md, Errors, column Retryable */
  readonly sapiRetryable: boolean;
  /** `code` in the SAPI envelope. @source spec/sapi.md, Errors, column Code */
  readonly sapi: string;
  /** `code` in the auth family's envelope. @source spec/rulings.md, section 3 */
  readonly auth: string;
  /** `code` in the other Enterprise envelopes. */
  readonly enterprise: string;
  /** One sentence: what is wrong and what to do. */
  readonly message: string;
}

const row = (
  status: number,
  codes: {
    readonly sapi: string;
    readonly auth?: string;
    readonly enterprise?: string;
    readonly retryable?: boolean;
    readonly sapiRetryable?: boolean;
  },
  message: string,
): ErrorRow => ({
  status,
  retryable: codes.retryable ?? false,
  sapiRetryable: codes.sapiRetryable ?? codes.retryable ?? false,
  sapi: codes.sapi,
  auth: codes.auth ?? "INVALID_REQUEST",
  enterprise: codes.enterprise ?? codes.auth ?? codes.sapi,
  message,
});

/** @source spec/sapi.md, Errors; spec/enterprise.md, Errors; spec/rulings.md, sections 2 and 3 */
export const ERRORS = {
  ROUTE_UNKNOWN: row(
    404,
    { sapi: "NOT_FOUND", auth: "NOT_FOUND" },
    "There is no such path; see the API reference at /docs.",
  ),
  METHOD_NOT_ALLOWED: row(
    405,
    { sapi: "METHOD_NOT_ALLOWED", auth: "METHOD_NOT_ALLOWED" },
    "This path does not offer that method; the Allow header lists those it does.",
  ),
  BODY_TOO_LARGE: row(
    413,
    { sapi: "PAYLOAD_TOO_LARGE", auth: "PAYLOAD_TOO_LARGE" },
    "The request body is larger than this operation accepts.",
  ),
  LENGTH_REQUIRED: row(
    411,
    { sapi: "VALIDATION", auth: "INVALID_REQUEST", enterprise: "VALIDATION_ERROR" },
    "Bodies in chunks are not taken here; send the request with a Content-Length.",
  ),
  HEADERS_TOO_LARGE: row(
    431,
    { sapi: "VALIDATION", auth: "INVALID_REQUEST", enterprise: "VALIDATION_ERROR" },
    "The request's headers are too many or too long; send at most 16 KB of them.",
  ),
  MEDIA_TYPE: row(
    415,
    { sapi: "VALIDATION", auth: "INVALID_REQUEST", enterprise: "UNSUPPORTED_MEDIA_TYPE" },
    "Send the body in a content type that this operation reads.",
  ),
  BODY_MALFORMED: row(
    400,
    { sapi: "VALIDATION", auth: "INVALID_REQUEST", enterprise: "VALIDATION_ERROR" },
    "The body cannot be read as a JSON object.",
  ),
  REQUEST_INVALID: row(
    400,
    { sapi: "VALIDATION", auth: "INVALID_REQUEST", enterprise: "VALIDATION_ERROR" },
    "The request has missing or wrong members; details name each of them.",
  ),
  GRANT_TYPE: row(400, { sapi: "VALIDATION", auth: "UNSUPPORTED_GRANT_TYPE" }, "This grant_type is not offered here."),

  OAUTH_GRANT: row(
    400,
    { sapi: "VALIDATION", auth: "INVALID_REQUEST", enterprise: "INVALID_GRANT" },
    "The code is unknown, used up or expired, or redirect_uri and code_verifier do not belong to it; ask for a new one.",
  ),

  TOKEN_INVALID: row(
    401,
    { sapi: "AUTH", auth: "INVALID_TOKEN" },
    "The access token is missing, invalid, expired or revoked; get a new one from the token endpoint.",
  ),
  CREDENTIALS_INVALID: row(
    401,
    { sapi: "AUTH", auth: "INVALID_CREDENTIALS" },
    "client_id and client_secret do not match an active key of this environment.",
  ),
  REFRESH_TOKEN_INVALID: row(
    401,
    { sapi: "AUTH", auth: "INVALID_REFRESH_TOKEN" },
    "The refresh token is invalid, expired or already used; request a new token with the client secret.",
  ),
  SIGNATURE_INVALID: row(
    401,
    { sapi: "AUTH", enterprise: "SIGNATURE_INVALID" },
    "The signature does not belong to these bytes.",
  ),
  IP_NOT_ALLOWED: row(
    403,
    { sapi: "FORBIDDEN", auth: "IP_NOT_ALLOWED" },
    "This key may not be used from your address.",
  ),
  SCOPE_NOT_ALLOWED: row(
    403,
    { sapi: "FORBIDDEN", auth: "SCOPE_NOT_ALLOWED" },
    "The requested scope is not among the scopes of this key.",
  ),
  SCOPE_MISSING: row(
    403,
    { sapi: "FORBIDDEN", auth: "SCOPE_NOT_ALLOWED", enterprise: "INSUFFICIENT_SCOPE" },
    "The token lacks the scope that this operation needs.",
  ),
  CREDENTIAL_CLASS: row(
    403,
    { sapi: "FORBIDDEN", enterprise: "PARTNER_NOT_AUTHORIZED" },
    "This operation takes the token of an integrator's key only, some of an unrestricted one; use that key.",
  ),
  PARTICIPANT_FORBIDDEN: row(
    403,
    { sapi: "FORBIDDEN", enterprise: "FORBIDDEN" },
    "The token does not own the participant named in X-Peppol-Participant-Id.",
  ),
  FIRM_FORBIDDEN: row(
    403,
    { sapi: "FORBIDDEN", enterprise: "FORBIDDEN" },
    "The token has no active binding to this firm.",
  ),
  RECEIVING_FORBIDDEN: row(
    403,
    { sapi: "FORBIDDEN", enterprise: "RECEIVING_FORBIDDEN" },
    "This firm only sends: it has no mailbox here.",
  ),
  PARTNER_NOT_AUTHORIZED: row(
    403,
    { sapi: "FORBIDDEN", enterprise: "PARTNER_NOT_AUTHORIZED" },
    "The partner is not authorized for this; ask the operator for the agreement that it needs.",
  ),
  FIRM_CONTEXT_FORBIDDEN: row(
    400,
    { sapi: "VALIDATION", enterprise: "FIRM_CONTEXT_FORBIDDEN" },
    "Remove the header X-Firm-Id: this operation or this key does not accept it.",
  ),
  FIRM_CONTEXT_REQUIRED: row(
    400,
    { sapi: "VALIDATION", enterprise: "FIRM_CONTEXT_REQUIRED" },
    "Name the firm in the header X-Firm-Id (a UUID, once).",
  ),
  PARTICIPANT_REQUIRED: row(
    400,
    { sapi: "VALIDATION", enterprise: "VALIDATION_ERROR" },
    "Name the participant in the header X-Peppol-Participant-Id as <scheme>:<id>, once.",
  ),
  IDEMPOTENCY_KEY: row(
    400,
    { sapi: "VALIDATION", enterprise: "VALIDATION_ERROR" },
    "Send one header Idempotency-Key in the form that this operation asks for.",
  ),
  CREDENTIALS_LOCKED: row(
    423,
    { sapi: "LOCKED", auth: "CREDENTIALS_LOCKED" },
    "Too many failed attempts with this client_id; wait, or use the valid secret.",
  ),
  RATE_LIMITED: row(
    429,
    { sapi: "RATE_LIMITED", auth: "RATE_LIMITED", retryable: true },
    "The rate limit is exceeded; repeat after the seconds that Retry-After names.",
  ),

  SCOPE_EXCEEDS: row(
    403,
    { sapi: "FORBIDDEN", enterprise: "INSUFFICIENT_SCOPE" },
    "A requested scope is more than the calling key, or the firm's consent, allows; ask for fewer.",
  ),
  FIRM_KEY_ISSUANCE_DISABLED: row(
    403,
    { sapi: "FORBIDDEN", enterprise: "FIRM_KEY_ISSUANCE_DISABLED" },
    "The operator does not let integrators make keys for single firms; use the central key with X-Firm-Id.",
  ),
  ROTATION_FORBIDDEN: row(
    403,
    { sapi: "FORBIDDEN", enterprise: "FORBIDDEN" },
    "An sk_int_* key is not rotated; create a new one with POST /integrator/keys and delete this one.",
  ),
  KEY_LIMIT_REACHED: row(
    400,
    { sapi: "VALIDATION", enterprise: "KEY_LIMIT_REACHED" },
    "There are as many active keys of this kind as may be; delete one first.",
  ),
  WEBHOOK_LIMIT_REACHED: row(
    400,
    { sapi: "VALIDATION", enterprise: "WEBHOOK_LIMIT_REACHED" },
    "There are as many subscriptions as may be; delete one first, or change one with PATCH.",
  ),
  WEBHOOK_INACTIVE: row(
    409,
    { sapi: "CONFLICT", enterprise: "WEBHOOK_INACTIVE" },
    "The subscription is switched off; switch it on with PATCH and isActive, then repeat.",
  ),
  CONNECTOR_WEBHOOK_INACTIVE: row(
    409,
    { sapi: "CONFLICT", enterprise: "WEBHOOK_INACTIVE" },
    "There is no webhook that is switched on; send PUT /connector/webhook with active true, then repeat.",
  ),
  CONNECTOR_DELIVERY_PENDING: row(
    409,
    { sapi: "CONFLICT", enterprise: "WEBHOOK_DELIVERY_PENDING", retryable: true },
    "A delivery of this event is still under way; replay it when its status is SUCCESS or FAILED.",
  ),
  CONNECTOR_REPLAY_UNCONFIRMED: row(
    409,
    { sapi: "CONFLICT", enterprise: "REPLAY_CONFIRMATION_REQUIRED" },
    "The receiver took this event already; send confirmSuccessfulReplay true if it may come a second time.",
  ),
  MAPPER_TEMPLATES_FULL: row(
    400,
    { sapi: "VALIDATION", enterprise: "TEMPLATE_LIMIT_REACHED" },
    `There are ${LIMITS.mapper_templates_max} templates already, which is the most; delete one first.`,
  ),
  KEY_INACTIVE: row(
    400,
    { sapi: "VALIDATION", enterprise: "KEY_ALREADY_INACTIVE" },
    "The key is inactive already and stays so.",
  ),
  KEY_LAST_MAIN: row(
    400,
    { sapi: "VALIDATION", enterprise: "LAST_ACTIVE_KEY" },
    "This is the last active unrestricted key; create another one first.",
  ),
  KEY_CHANGED: row(
    409,
    { sapi: "CONCURRENT_UPDATE" },
    "The calling key was changed by another request meanwhile; get a new token and look at the present state first.",
  ),
  PARTNER_OFFER_UNAVAILABLE: row(
    403,
    { sapi: "FORBIDDEN", enterprise: "PARTNER_OFFER_UNAVAILABLE" },
    "This company cannot be invited: in the sandbox it must be a synthetic one that is assigned to you, in production your agreement must cover it.",
  ),
  PARTNER_OFFER_CONFIGURATION_ERROR: row(
    503,
    { sapi: "TEMPORARY", enterprise: "PARTNER_OFFER_CONFIGURATION_ERROR", retryable: true },
    "Invitations cannot be made, because this deployment has no address that browsers can open safely; tell its operator.",
  ),
  FIRM_NOT_REGISTERED: row(
    404,
    { sapi: "NOT_FOUND", enterprise: "FIRM_NOT_REGISTERED" },
    "No firm with this company id is registered here.",
  ),
  CONSENT_REQUIRED: row(
    403,
    { sapi: "FORBIDDEN", enterprise: "CONSENT_REQUIRED" },
    "The firm has not consented; invite it and let its owner accept.",
  ),
  ALREADY_LINKED: row(409, { sapi: "ALREADY_LINKED" }, "The firm is linked to you already; there is nothing to do."),
  IDENTIFIER_FOREIGN: row(
    403,
    { sapi: "FORBIDDEN", enterprise: "IDENTIFIER_NOT_OWNED" },
    "A firm can have its own tax id under scheme 0245 only; name that one.",
  ),
  IDENTIFIER_TAKEN: row(409, { sapi: "IDENTIFIER_TAKEN" }, "Another firm has this identifier; ask the operator."),

  NOT_FOUND: row(404, { sapi: "NOT_FOUND", auth: "NOT_FOUND" }, "There is no such object."),
  FORM_FOREIGN: row(
    403,
    { sapi: "FORBIDDEN", enterprise: "FORBIDDEN" },
    "The form is out of date or came from another page; open the page again.",
  ),
  CHECKSUM: row(
    400,
    { sapi: "VALIDATION", enterprise: "VALIDATION_ERROR" },
    "checksum is not the SHA-256 hex digest of the payload's exact bytes.",
  ),

  "SAPI-PROC-002": row(
    409,
    { sapi: "CONFLICT", enterprise: "IDEMPOTENCY_IN_FLIGHT", retryable: true },
    "A request with this Idempotency-Key is still in flight; repeat it in a moment.",
  ),
  "SAPI-PROC-003": row(
    409,
    { sapi: "CONFLICT", enterprise: "IDEMPOTENCY_CONFLICT", sapiRetryable: true },
    "This Idempotency-Key was used with another body; send new content under a new key.",
  ),
  "SAPI-DOC-018": row(
    409,
    { sapi: "CONFLICT", enterprise: "DOCUMENT_ID_CONFLICT", sapiRetryable: true },
    "A document with this metadata.documentId was already accepted.",
  ),
  DUPLICATE_INVOICE_NUMBER: row(
    409,
    { sapi: "DUPLICATE_INVOICE_NUMBER" },
    "A document with this invoice number was already accepted from this firm.",
  ),
  BOX_EXTERNAL_ID_CONFLICT: row(
    409,
    { sapi: "BOX_EXTERNAL_ID_CONFLICT" },
    "This externalId was used with another payload; use another one.",
  ),
  BOX_ITEM_STATE: row(
    409,
    { sapi: "BOX_ITEM_STATE" },
    "The state of this item allows no such step; read the item again and choose another one.",
  ),
  BOX_DISPATCH_UNAVAILABLE: row(
    409,
    { sapi: "BOX_DISPATCH_UNAVAILABLE" },
    "This item has nothing left to send: it was received, sent, cancelled or has expired.",
  ),
  BOX_SCHEDULE_IN_PAST: row(
    422,
    { sapi: "VALIDATION", enterprise: "BOX_SCHEDULE_IN_PAST" },
    "scheduledFor is not in the future; name a later time, or leave it out to send at once.",
  ),
  BOX_SCHEDULE_TOO_FAR: row(
    422,
    { sapi: "VALIDATION", enterprise: "BOX_SCHEDULE_TOO_FAR" },
    "scheduledFor is more than a year ahead; name an earlier time.",
  ),
  EXTERNAL_ID_CONFLICT: row(
    409,
    { sapi: "EXTERNAL_ID_CONFLICT" },
    "This externalId was used with another body; use another one.",
  ),
  IDEMPOTENCY_REUSED: row(
    409,
    { sapi: "CONFLICT", enterprise: "IDEMPOTENCY_CONFLICT" },
    "This Idempotency-Key was used with another body; send new content under a new key.",
  ),
  CUSTOMER_REF_CONFLICT: row(
    409,
    { sapi: "CUSTOMER_REF_CONFLICT" },
    "Another open request or binding has this customerRef or this company; each stands for the other alone.",
  ),
  REGISTRY_CONFLICT: row(
    409,
    { sapi: "REGISTRY_CONFLICT" },
    "The registry has this participant already, which does not prove whose it is; take it over with a migration code.",
  ),
  REGISTRY_REFUSED: row(
    422,
    { sapi: "REGISTRY_REFUSED" },
    "The registry does not accept this participant, the verification token or the migration code; correct it under a new key.",
  ),
  REGISTRY_UNAVAILABLE: row(
    503,
    { sapi: "REGISTRY_UNAVAILABLE" },
    "The registry could not be asked for so long that the operation has ended; send it again under a new key.",
  ),
  PARTICIPANT_UNDER_WAY: row(
    409,
    { sapi: "PARTICIPANT_UNDER_WAY" },
    "Another operation on this participant is open or under review; wait for its end.",
  ),
  WHITE_LABEL_STATE: row(
    409,
    { sapi: "WHITE_LABEL_STATE" },
    "Only an operation under review is released, and only one that waits for it is vouched for; read it again.",
  ),
  VERIFICATION_MISMATCH: row(
    422,
    { sapi: "VERIFICATION_MISMATCH" },
    "The operation came with another token than this; nothing has changed. Vouch with the token that was checked, or release the operation.",
  ),
  INTEGRATOR_UNAPPROVED: row(
    409,
    { sapi: "INTEGRATOR_UNAPPROVED" },
    "The integrator of the operation is not approved for production any more; nothing has changed. Release the operation, or approve the integrator again with kurier integrators approve and vouch then.",
  ),
  REGISTRY_SILENT: row(
    503,
    { sapi: "REGISTRY_SILENT", retryable: true },
    "The registry does not say who has the participant, or does not take what is missing of it; the review stays open. Ask again when the registry answers.",
  ),
  ONBOARDING_STATE: row(
    409,
    { sapi: "ONBOARDING_STATE" },
    "The request has moved on, or its state allows no such decision; read it again.",
  ),
  RESPONSE_STATE: row(
    409,
    { sapi: "RESPONSE_STATE" },
    "The answer that was given to this document allows no such next one.",
  ),
  DOCUMENT_STATE: row(
    409,
    { sapi: "DOCUMENT_STATE" },
    "The document's state allows no such step; read it again, its actions name what can be done.",
  ),
  "SAPI-DOC-024": row(
    409,
    { sapi: "CONFLICT", enterprise: "DUPLICATE_PAYLOAD", sapiRetryable: true },
    "This UBL payload was already accepted under another key or documentId.",
  ),
  "SAPI-DOC-025": row(
    422,
    { sapi: "SAPI-DOC-025", enterprise: "ENDPOINT_MISMATCH" },
    "An EndpointID in the UBL does not match the participant that is named beside it.",
  ),
  "SAPI-DOC-027": row(
    422,
    { sapi: "SAPI-DOC-027", enterprise: "HANDOFF_DATE_MISMATCH" },
    "The UBL IssueDate must be the day of hand-off in Europe/Bratislava.",
  ),
  "SAPI-DOC-028": row(
    422,
    { sapi: "SAPI-DOC-028", enterprise: "ISSUE_DEADLINE_EXCEEDED" },
    "The day of hand-off is later than the legal deadline for issuing this invoice.",
  ),
  "SAPI-DOC-029": row(
    422,
    { sapi: "SAPI-DOC-029", enterprise: "DEBIT_NOTE_REFERENCE" },
    "A debit note (InvoiceTypeCode 383) must name the original invoice in BillingReference/InvoiceDocumentReference/ID (BT-25).",
  ),
  DOCUMENT_TYPE_MISMATCH: row(
    422,
    { sapi: "VALIDATION", enterprise: "VALIDATION_FAILED" },
    "The payload is not what metadata.documentTypeId and metadata.processId declare; make them say the same.",
  ),
  DOCUMENT_INVALID: row(
    422,
    { sapi: "VALIDATION", enterprise: "VALIDATION_FAILED" },
    "The document breaks the rules that details name; correct it and send it again.",
  ),
  SENDER_UNREGISTERED: row(
    422,
    { sapi: "VALIDATION", enterprise: "SENDER_NOT_REGISTERED" },
    "The firm has no participant id in the network yet; register one before it sends.",
  ),
  RECIPIENT_CAPABILITY: row(
    422,
    { sapi: "BUSINESS", enterprise: "DOCUMENT_TYPE_NOT_SUPPORTED" },
    "The recipient is registered but does not accept this document type, or not in this process.",
  ),

  INTERNAL: row(
    500,
    { sapi: "INTERNAL_ERROR", auth: "INTERNAL_ERROR" },
    "Something went wrong on our side; quote the request id to support.",
  ),
  PREVIEW_DISABLED: row(503, { sapi: "PREVIEW_DISABLED" }, "This preview is not switched on here; ask the operator."),
  TEMPORARY: row(
    503,
    { sapi: "TEMPORARY", auth: "TEMPORARY", retryable: true },
    "The service is briefly unavailable; repeat the same request after a pause.",
  ),
} as const satisfies Record<string, ErrorRow>;

export type ErrorName = keyof typeof ERRORS;

/** What an envelope may carry beyond the catalogue row. */
interface RefusalExtras {
  /** Seconds after which a repeat makes sense; becomes the header Retry-After. */
  readonly retryAfter_s?: number;
  /** The scope that is missing. @source spec/rulings.md, section 3 */
  readonly requiredScope?: string;
  readonly nextAction?: string;
  /** A sentence that says more than the catalogue's, without any value of a document or a secret. */
  readonly message?: string;
  /** For the log alone, and never in an envelope: the code of what failed behind TEMPORARY, such as an SQLSTATE. */
  readonly failure?: string;
  /** Methods that the path does offer, for METHOD_NOT_ALLOWED. */
  readonly allow?: readonly string[];
  /** Members of its own that the error of the JSON interfaces has, such as the object that is in the way. */
  readonly members?: Readonly<Record<string, unknown>>;
}

/** The caller's fault or the world's state, by its catalogue name. Everything else that is thrown is a bug. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly reason: ErrorName;
  readonly details: readonly ErrorDetail[];
  readonly extras: RefusalExtras;

  constructor(reason: ErrorName, details: readonly ErrorDetail[] = [], extras: RefusalExtras = {}) {
    super(extras.message ?? ERRORS[reason].message);
    this.reason = reason;
    this.details = details;
    this.extras = extras;
  }
}

/** @source spec/rulings.md, section 3: issue codes of details[0] */
const ISSUES: Partial<Record<ErrorName, string>> = {
  "SAPI-DOC-024": "duplicate_payload",
  "SAPI-DOC-027": "handoff_date_mismatch",
  "SAPI-DOC-028": "handoff_date_mismatch",
};

/** The details that the caller sees. For SAPI codes the first one also names the code and the issue. */
export function shownDetails(refusal: Refusal): readonly ErrorDetail[] {
  const { reason, details } = refusal;
  if (!reason.startsWith("SAPI-")) return details;
  const issue = ISSUES[reason];
  const first = details[0] ?? { message: refusal.message };
  return [{ code: reason, ...(issue === undefined ? {} : { issue }), ...first }, ...details.slice(1)];
}

/** The refusal of whoever sends a key again with another body. */
export const keyReused = (): Refusal =>
  new Refusal("IDEMPOTENCY_REUSED", [{ field: "Idempotency-Key", message: "This key was used with another body." }]);

/**
 * The refusal of whoever came while the node had no place for it: nothing was done, and a repeat may succeed.
 * @param failure  the code of what failed, for the log
 */
export const temporary = (failure?: string): Refusal =>
  new Refusal("TEMPORARY", [], {
    retryAfter_s: LIMITS.temporary_retry_after_s,
    ...(failure === undefined ? {} : { failure }),
  });
