/**
 * A route is data: one row says how an operation is called, who may call it, what goes in and what comes out.
 *
 * The server routes by it, the pipeline checks by it, the OpenAPI documents are drawn from it. Adding an operation
 * means adding a row with a handler of a few lines; a handler contains no status of an error, it throws a Refusal.
 */
import type { z } from "zod";

import type { Instant } from "../../engine/base/clock.js";
import type { ErrorName } from "../../engine/base/errors.js";
import type { Caller, CustomerContext, FirmContext, ParticipantContext } from "../../engine/identity/caller.js";
import type { RequestId } from "../../engine/base/ids.js";
import { LIMITS } from "../../engine/base/limits.js";
import type { Scope } from "../../engine/base/scopes.js";

export { SCOPES } from "../../engine/base/scopes.js";
export type { Scope } from "../../engine/base/scopes.js";

export const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
type Method = (typeof METHODS)[number];

/** Decides the error envelope and the OpenAPI document. @source spec/rulings.md, section 3 */
export const FAMILIES = [
  "sapi",
  "auth",
  "enterprise",
  "connector",
  "oauth",
  "public",
  "page",
  "console",
  "admin",
  "as4",
] as const;
export type Family = (typeof FAMILIES)[number];

/**
 * Who may call: anybody; any access token; the token of an integrator's key; the same of a key without `scopedFirmId`;
 * the operator's admin token.
 */
export const CREDENTIALS = ["none", "bearer", "partner", "partner_unrestricted", "admin"] as const;
type Credential = (typeof CREDENTIALS)[number];

/**
 * For whom the call is made. `participant`: X-Peppol-Participant-Id names it, the firm follows from it. `firm`:
 * X-Firm-Id names it for a central key, the key itself otherwise. `customer`: the query's customerRef names the firm,
 * X-Firm-Id is 400. `customer_body`: the same with the body's customerRef. `forbidden`: X-Firm-Id is 400. `none`: the
 * header is not looked at.
 * @source spec/enterprise.md, Endpoints, conventions; Connector; spec/rulings.md, sections 1 and 11
 */
export const CONTEXTS = ["participant", "firm", "customer", "customer_body", "forbidden", "none"] as const;
type Context = (typeof CONTEXTS)[number];

export interface IdempotencyForm {
  readonly pattern: RegExp;
  /** What the error says the header must be. */
  readonly words: string;
  /** Whether a request without the header is taken, too. @default false */
  readonly isOptional?: true;
}

/**
 * Forms of the header Idempotency-Key; `none` does not look at it. @source spec/sapi.md, Endpoints; spec/enterprise.md,
 * Limits; spec/rulings.md, sections 11, 12
 */
export const IDEMPOTENCY = {
  uuid: { pattern: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i, words: "a UUID" },
  token: { pattern: /^[A-Za-z0-9_.:-]{8,128}$/, words: "8 to 128 characters of A-Z a-z 0-9 _ . : -" },
  text: { pattern: /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/, words: "1 to 255 printable ASCII characters" },
  /** The same where a repeat is told by the document's own number, too. */
  optional: {
    pattern: /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/,
    words: "1 to 255 printable ASCII characters",
    isOptional: true,
  },
  none: { pattern: /^/, words: "anything" },
} as const satisfies Record<string, IdempotencyForm>;
type Idempotency = keyof typeof IDEMPOTENCY;

/** Content types a body may come in: each names the media types that mean it. `raw` takes anything, unread. */
export const BODY_KINDS = {
  json: ["application/json"],
  form: ["application/x-www-form-urlencoded"],
  xml: ["application/xml", "text/xml"],
  raw: [],
} as const satisfies Record<string, readonly string[]>;
export type BodyKind = keyof typeof BODY_KINDS;

export interface RateRow {
  /** Admissions per `window_ms`. */
  readonly limit: number;
  readonly window_ms: number;
  /** Whose requests are counted together. */
  readonly key: "key" | "client+address" | "address";
  /** When X-RateLimit-* headers are sent. */
  readonly headers: "on_429" | "always";
  /** Rows that name the same bucket are counted together. */
  readonly bucket: string;
}

const rate = (limit: number, key: RateRow["key"], headers: RateRow["headers"], bucket: string): RateRow => ({
  limit,
  window_ms: LIMITS.rate_window_ms,
  key,
  headers,
  bucket,
});

/** The rate table: a route names its row. @source spec/rulings.md, section 4; spec/enterprise.md, Limits */
export const RATES = {
  sapi: rate(LIMITS.rate_sapi, "key", "on_429", "sapi"),
  sapi_send: rate(LIMITS.rate_sapi_send, "key", "on_429", "sapi_send"),
  sapi_token: rate(LIMITS.rate_token, "client+address", "on_429", "token"),
  token: rate(LIMITS.rate_token, "client+address", "always", "token"),
  /** Counted before those two, from the head alone: whoever makes up clients is counted all the same. */
  token_address: rate(LIMITS.rate_token_address, "address", "on_429", "token_address"),
  /** spec/shapes.md, section 1: clients read the headers from successes too. */
  enterprise: rate(LIMITS.rate_enterprise, "key", "always", "enterprise"),
  /** A renewal does not name its client, so it is counted by address, with the Enterprise default. */
  renew: rate(LIMITS.rate_enterprise, "address", "always", "renew"),
  sapi_renew: rate(LIMITS.rate_enterprise, "address", "on_429", "renew"),
  consent_create: rate(LIMITS.rate_consent_create, "key", "always", "consent_create"),
  consent_read: rate(LIMITS.rate_consent_read, "key", "always", "consent_read"),
  pfs: rate(LIMITS.rate_pfs, "address", "on_429", "pfs"),
  /** Who asks for a sign-in code or gives one, and who sends any other form of a page. */
  sign_in: rate(LIMITS.rate_sign_in, "address", "on_429", "sign_in"),
  forms: rate(LIMITS.rate_forms, "address", "on_429", "forms"),
  public_validate: rate(LIMITS.rate_public_validate, "address", "on_429", "public_validate"),
  /** Who validates a document on the page looks at it too. */
  public_view: rate(LIMITS.rate_public_validate, "address", "on_429", "public_view"),
} as const satisfies Record<string, RateRow>;
export type RateName = keyof typeof RATES;

/** A reply given byte for byte: stored replies, files, XML. Without it the body is written as JSON. */
export interface RawBody {
  readonly raw: string | Uint8Array;
}

interface ResponseSpec {
  readonly description: string;
  /** Of the JSON body; left out for an empty or raw one. */
  readonly schema?: z.ZodType;
  /** Of a raw body, for the description only. */
  readonly contentType?: string;
  /** Response headers worth describing: name → meaning. */
  readonly headers?: Readonly<Record<string, string>>;
}
type ResponseSpecs = Readonly<Record<number, ResponseSpec>>;

/** What the server puts on the wire, before the headers that every response has. */
export interface Reply {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** @default application/json; charset=utf-8 for a JSON body, application/octet-stream for raw bytes */
  readonly contentType?: string;
}

type BodyOf<Spec extends ResponseSpec> = Spec["schema"] extends z.ZodType
  ? { readonly body: z.input<Spec["schema"]> | RawBody }
  : { readonly body?: RawBody };

/** What a handler may return: one of the responses that its row describes. */
type ReplyOf<Responses extends ResponseSpecs> = {
  [Status in keyof Responses & number]: { readonly status: Status } & BodyOf<Responses[Status]> &
    Pick<Reply, "headers" | "contentType">;
}[keyof Responses & number];

/** What every handler may know of its request, whatever its row says. */
interface RequestFacts {
  readonly requestId: RequestId;
  /** The one instant that decides every rule on dates. @source spec/rulings.md, section 1 */
  readonly receivedAt: Instant;
  /** The client's address: of the socket, or what a trusted proxy says it is. Canonical text. */
  readonly address: string;
  /** Addresses that are counted together where no key tells callers apart. */
  readonly addressGroup: string;
  /** Aborts when the client goes away or the request runs out of time. A commit under way must not listen to it. */
  readonly signal: AbortSignal;
  /** The UTF-8 octets of a text of the body; where the row names its member as `octets`, the text stands for them. */
  octetsOf(text: string): Promise<Buffer>;
  /** Paths of members of the JSON body that its schema does not read; asked for before the handler waits. */
  readonly unread: readonly string[];
  /** Whether the caller is given the body of the answer: not of one to HEAD. */
  readonly givesBody: boolean;
  /** Value of a request header by its lower-case name; of repeated ones the first. */
  header(name: string): string | undefined;
}

/** The request as its handler sees it: everything in it has been checked and has the type that the row promises. */
interface RouteRequest<
  Params,
  Query,
  Body,
  C extends Credential,
  X extends Context,
  I extends Idempotency,
> extends RequestFacts {
  readonly params: Params;
  readonly query: Query;
  /** The parsed body; for `xml` and `raw` its exact bytes. */
  readonly body: Body;
  readonly caller: C extends "none" | "admin" ? undefined : Caller;
  readonly firm: X extends "firm" ? FirmContext : X extends "customer" | "customer_body" ? CustomerContext : undefined;
  readonly participant: X extends "participant" ? ParticipantContext : undefined;
  readonly idempotencyKey: I extends "none" ? undefined : I extends "optional" ? string | undefined : string;
}

/** The same request where the compiler does not know the row, as in the pipeline. */
export interface AnyRequest extends RequestFacts {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly caller: Caller | undefined;
  readonly firm: FirmContext | undefined;
  readonly participant: ParticipantContext | undefined;
  readonly idempotencyKey: string | undefined;
}

type ObjectSchema = z.ZodType<Readonly<Record<string, unknown>>>;
type Out<Schema> = [Schema] extends [never] ? undefined : Schema extends z.ZodType ? z.output<Schema> : undefined;

interface RowBase {
  /** Unique, camel case: the operationId of the OpenAPI document and the label of metrics. */
  readonly operation: string;
  readonly method: Method;
  /** Template below a mount: `/document/receive/{documentId}`. */
  readonly path: string;
  /** Prefixes under which the path is served; the first is the documented one. */
  readonly mounts: readonly string[];
  readonly family: Family;
  /** One line for the reference. */
  readonly summary: string;
  /** More for the reference, Markdown. */
  readonly description?: string;
  /** Heading in the reference. */
  readonly tag?: string;
  /** All of them must be in the effective scopes. @default none */
  readonly scopes?: readonly Scope[];
  /** Whether the operation is about received documents, which a firm that only sends has not. @default false */
  readonly receives?: boolean;
  /** Whether a consent to SAPI alone opens a row with context `firm` to an integrator, too. @default false */
  readonly servesSapi?: boolean;
  /**
   * Whether the answer holds the document that the path names, and is as large as it: it waits for room.
   * @default false
   */
  readonly showsDocument?: boolean;
  /**
   * Whether the answer can list so much that making it holds others up: of one key few are made at once, and the next
   * waits for its turn.
   * @default false
   */
  readonly showsMany?: boolean;
  /** Row of RATES. @default no limit */
  readonly rate?: RateName;
  /** Refusals that the handler throws; those of the pipeline follow from the columns. */
  readonly errors: readonly ErrorName[];
  /** Left out of the OpenAPI documents. @default false */
  readonly hidden?: boolean;
  /** Whether it also answers every path below its mounts that no row has. @default false */
  readonly elsewhere?: boolean;
}

interface RequestSpec<P, Q, B> {
  /** Strings of the path. A value that its schema refuses names nothing that exists: 404. */
  readonly params?: P;
  /** Strings of the query. Repeated names are 400; unknown ones are ignored unless the schema is strict. */
  readonly query?: Q;
  /** @default no body is read; one that comes is discarded */
  readonly body?: B;
  /** What the body may come in. @default ["json"] */
  readonly accepts?: readonly BodyKind[];
  /** Bytes; beyond: 413. @default LIMITS.request_small_body_bytes_max */
  readonly body_bytes_max?: number;
  /** A member of the JSON body that the handler asks for by `octetsOf`: a long one is never a text. @default none */
  readonly octets?: string;
}

interface RouteSpec<
  P extends ObjectSchema,
  Q extends ObjectSchema,
  B extends z.ZodType,
  C extends Credential,
  X extends Context,
  I extends Idempotency,
  R extends ResponseSpecs,
> extends RowBase {
  readonly credential: C;
  /** @default none */
  readonly context?: X;
  /** @default none */
  readonly idempotency?: I;
  readonly request?: RequestSpec<P, Q, B>;
  readonly responses: R;
  /** A handler that throws a Refusal answers with it; anything else it throws is a bug and answers 500. */
  handler(request: RouteRequest<Out<P>, Out<Q>, Out<B>, C, X, I>): Promise<ReplyOf<NoInfer<R>>> | ReplyOf<NoInfer<R>>;
}

/** A row as the pipeline and the OpenAPI writer see it, with every default filled in. */
export interface Route extends RowBase {
  readonly credential: Credential;
  readonly context: Context;
  readonly idempotency: Idempotency;
  readonly scopes: readonly Scope[];
  readonly tag: string;
  readonly hidden: boolean;
  readonly request: {
    readonly params: ObjectSchema | undefined;
    readonly query: ObjectSchema | undefined;
    readonly body: z.ZodType | undefined;
    readonly accepts: readonly BodyKind[];
    readonly body_bytes_max: number;
    readonly octets: string | undefined;
  };
  readonly responses: ResponseSpecs;
  handler(request: AnyRequest): Promise<Reply> | Reply;
}

/**
 * Makes a row. The handler's `params`, `query` and `body` have the output types of the row's zod schemas; `caller`,
 * `firm`, `participant` and `idempotencyKey` are there exactly when the row's columns promise them; what it returns
 * must be one of `responses`.
 */
export function route<
  P extends ObjectSchema = never,
  Q extends ObjectSchema = never,
  B extends z.ZodType = never,
  C extends Credential = Credential,
  X extends Context = "none",
  I extends Idempotency = "none",
  const R extends ResponseSpecs = ResponseSpecs,
>(spec: RouteSpec<P, Q, B, C, X, I, R>): Route {
  const { context = "none", idempotency = "none", request = {} } = spec;
  return {
    ...spec,
    context,
    idempotency,
    scopes: spec.scopes ?? [],
    tag: spec.tag ?? "Other",
    hidden: spec.hidden ?? false,
    request: {
      params: request.params,
      query: request.query,
      body: request.body,
      accepts: request.accepts ?? ["json"],
      body_bytes_max: request.body_bytes_max ?? LIMITS.request_small_body_bytes_max,
      octets: request.octets,
    },
    handler: (any: AnyRequest) => spec.handler(any as RouteRequest<Out<P>, Out<Q>, Out<B>, C, X, I>),
  };
}
