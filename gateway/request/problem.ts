/** Writes a refusal in the error form of its API family. Only our own words get out: no library text and no secret. */
import { ERRORS, shownDetails } from "../../engine/base/errors.js";
import type { ErrorName, Refusal } from "../../engine/base/errors.js";
import type { Family } from "../contract/route.js";
import { LIMITS } from "../../engine/base/limits.js";

/** What is put on the wire for an error, before the headers that every response has. */
interface Problem {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

export const CATEGORIES = ["VALIDATION", "AUTH", "PROCESSING", "TEMPORARY"] as const;
type Category = (typeof CATEGORIES)[number];

/**
 * @source spec/rulings.md, section 3: `category` of the SAPI row; the auth family has the same. Statuses not named
 * there are ours.
 */
const CATEGORY_OF_STATUS: Readonly<Record<number, Category>> = {
  400: "VALIDATION",
  404: "VALIDATION",
  405: "VALIDATION",
  411: "VALIDATION",
  413: "VALIDATION",
  415: "VALIDATION",
  422: "VALIDATION",
  431: "VALIDATION",
  401: "AUTH",
  403: "AUTH",
  423: "AUTH",
  409: "PROCESSING",
  500: "PROCESSING",
  429: "TEMPORARY",
  503: "TEMPORARY",
};

/** RFC 6749, section 5.2 and 4.1.2.1; a name that is not listed is `invalid_request`. */
const OAUTH_CODES: Partial<Record<ErrorName, string>> = {
  GRANT_TYPE: "unsupported_grant_type",
  CREDENTIALS_INVALID: "invalid_client",
  TOKEN_INVALID: "invalid_client",
  REFRESH_TOKEN_INVALID: "invalid_grant",
  OAUTH_GRANT: "invalid_grant",
  SCOPE_NOT_ALLOWED: "invalid_scope",
  CREDENTIALS_LOCKED: "temporarily_unavailable",
  RATE_LIMITED: "temporarily_unavailable",
  TEMPORARY: "temporarily_unavailable",
  INTERNAL: "server_error",
};

type Envelope = (refusal: Refusal, requestId: string) => unknown;

const some = <T>(name: string, value: T | undefined): Record<string, T> =>
  value === undefined ? {} : { [name]: value };
const nonEmpty = <T>(list: readonly T[]): readonly T[] | undefined => (list.length === 0 ? undefined : list);

const sapi: Envelope = (refusal, requestId) => {
  const row = ERRORS[refusal.reason];
  return {
    error: {
      category: CATEGORY_OF_STATUS[row.status] ?? "PROCESSING",
      code: row.sapi,
      message: refusal.message,
      retryable: row.sapiRetryable,
      correlation_id: requestId,
      requestId,
      ...some("details", nonEmpty(shownDetails(refusal))),
    },
  };
};

const auth: Envelope = (refusal, requestId) => {
  const row = ERRORS[refusal.reason];
  return {
    error: {
      category: CATEGORY_OF_STATUS[row.status] ?? "PROCESSING",
      code: row.auth,
      message: refusal.message,
      retryable: row.retryable,
      correlation_id: requestId,
      ...some("details", nonEmpty(shownDetails(refusal))),
    },
  };
};

/** The code of RFC 6749 that a refusal has at OAuth. */
export const oauthCodeOf = (name: ErrorName): string => OAUTH_CODES[name] ?? "invalid_request";

/** RFC 6749, section 5.2: what a description must not hold. */
const UNDESCRIBABLE = /[^\x20-\x21\x23-\x5B\x5D-\x7E]/g;

/** There is no member for details beside a description, so that it names what is wrong itself. */
const describedBy = ({ message, details }: Refusal): string =>
  details.length === 0
    ? message
    : details.map((one) => (one.field === undefined ? one.message : `${one.field}: ${one.message}`)).join(" ");

const oauth: Envelope = (refusal) => ({
  error: oauthCodeOf(refusal.reason),
  error_description: describedBy(refusal).replace(UNDESCRIBABLE, "'"),
});

const enterprise: Envelope = (refusal, requestId) => {
  const row = ERRORS[refusal.reason];
  const { requiredScope, nextAction, members = {} } = refusal.extras;
  const details = shownDetails(refusal);
  const fixHint =
    requiredScope === undefined
      ? undefined
      : `Request a token whose scope contains ${requiredScope}, from a key and for a firm that allow it.`;
  return {
    error: {
      code: row.enterprise,
      message: refusal.message,
      requestId,
      ...some("field", details.length === 1 ? details[0]?.field : undefined),
      ...some("details", nonEmpty(details)),
      ...members,
      ...some("nextAction", nextAction),
      // Said also where it is not, of what SAPI calls retryable: clients of both take the word of the body.
      ...(row.sapiRetryable ? { retryable: row.retryable } : {}),
      ...some("required_scope", requiredScope),
      ...some("fix_hint", fixHint),
    },
  };
};

/** @source spec/rulings.md, section 3 */
const ENVELOPES: Readonly<Record<Family, Envelope>> = {
  sapi,
  auth,
  oauth,
  enterprise,
  connector: enterprise,
  public: enterprise,
  page: enterprise,
  console: enterprise,
  admin: enterprise,
  as4: enterprise,
};

/** @param presented whether the request carried a bearer token, which WWW-Authenticate then calls invalid */
export function problem(refusal: Refusal, family: Family, requestId: string, presented: boolean): Problem {
  const { status } = ERRORS[refusal.reason];
  const { retryAfter_s, requiredScope, allow } = refusal.extras;
  const headers: Record<string, string> = {};
  const retryAfter =
    retryAfter_s ?? (status === 503 && ERRORS[refusal.reason].retryable ? LIMITS.temporary_retry_after_s : undefined);
  if (retryAfter !== undefined) headers["Retry-After"] = String(Math.max(1, Math.ceil(retryAfter)));
  if (allow !== undefined) headers["Allow"] = allow.join(", ");
  // RFC 6749, 5.1: nothing of the exchange is kept by a cache.
  if (family === "oauth") headers["Cache-Control"] = "no-store";
  if (status === 401 && family === "oauth") headers["WWW-Authenticate"] = 'Basic realm="kurier"';
  else if (status === 401)
    headers["WWW-Authenticate"] =
      presented && refusal.reason === "TOKEN_INVALID" ? 'Bearer error="invalid_token"' : "Bearer";
  if (requiredScope !== undefined)
    headers["WWW-Authenticate"] = `Bearer error="insufficient_scope" scope="${requiredScope}"`;
  return { status, body: ENVELOPES[family](refusal, requestId), headers };
}
