/**
 * What every request goes through, in order; the first step that fails answers.
 *
 * Routing (404, 405) and the size of the body (413) come before these: the router and the server see to them. Steps
 * that need only the head run while the body still arrives, so that a stranger's 25 MB are not collected before his
 * token is refused. Those that say who may do it run again when the body was long in coming: a client that takes its
 * time with it would otherwise act for minutes after its key or a consent has ended.
 * @source spec/rulings.md, section 2
 */
import { inCidr, parseCidr } from "../../engine/base/addresses.js";
import type { Cidr } from "../../engine/base/addresses.js";
import { Refusal } from "../../engine/base/errors.js";
import type { ErrorName } from "../../engine/base/errors.js";
import { parseFirmId, parseParticipantId } from "../../engine/base/ids.js";
import { LIMITS } from "../../engine/base/limits.js";
import { firstChars } from "../../engine/base/text.js";
import { bodyKind, decodeSegment, parseQuery } from "./decode.js";
import { detailsOfIssues } from "./invalid.js";
import { isGzip } from "./inflate.js";
import type { Step, SteppedRequest } from "./plan.js";
import type { Admission } from "./ports.js";
import { leaveOutNulls } from "../contract/null-members.js";
import { IDEMPOTENCY, RATES } from "../contract/route.js";
import type { IdempotencyForm, Route } from "../contract/route.js";

/** Kinds of body that a schema judges; the others are handed on as bytes. */
const hasFields = (row: Route): boolean => row.request.accepts.includes("json") || row.request.accepts.includes("form");

export const STEPS: readonly Step[] = [
  {
    name: "credential (401)",
    needs: "head",
    ends: true,
    applies: (row) => row.credential !== "none",
    refuses: ["TOKEN_INVALID"],
    run: credential,
  },
  {
    name: "IP allowlist (403)",
    needs: "head",
    ends: true,
    applies: (row) => row.credential !== "none" && row.credential !== "admin",
    refuses: ["IP_NOT_ALLOWED"],
    run: allowlist,
  },
  {
    name: "rate limit by key or address (429)",
    needs: "head",
    applies: (row) => row.rate !== undefined && RATES[row.rate].key !== "client+address",
    refuses: ["RATE_LIMITED"],
    run: rateLimit,
  },
  {
    name: "rate limit of logins by address (429)",
    needs: "head",
    applies: (row) => row.rate !== undefined && RATES[row.rate].key === "client+address",
    refuses: ["RATE_LIMITED"],
    run: rateLimitOfLogins,
  },
  {
    // This comes before the limit by client, because the client is named in the body, which must be readable by then.
    name: "coding of the body (415), its form (400) and size (413)",
    needs: "body",
    applies: (row) => row.request.body !== undefined,
    refuses: ["MEDIA_TYPE", "BODY_MALFORMED", "BODY_TOO_LARGE"],
    run: coding,
  },
  {
    name: "rate limit by client (429)",
    needs: "body",
    applies: (row) => row.rate !== undefined && RATES[row.rate].key === "client+address",
    refuses: ["RATE_LIMITED"],
    run: rateLimitByClient,
  },
  {
    name: "kind of credential (403)",
    needs: "head",
    applies: (row) => row.credential === "partner" || row.credential === "partner_unrestricted",
    refuses: ["CREDENTIAL_CLASS"],
    run: credentialKind,
  },
  {
    name: "firm context (400) and binding (403)",
    needs: "head",
    ends: true,
    applies: (row) => row.context === "firm",
    refuses: ["FIRM_CONTEXT_FORBIDDEN", "FIRM_CONTEXT_REQUIRED", "FIRM_FORBIDDEN"],
    run: firmContext,
  },
  {
    name: "no firm context (400)",
    needs: "head",
    applies: (row) => ["forbidden", "customer", "customer_body"].includes(row.context),
    refuses: ["FIRM_CONTEXT_FORBIDDEN"],
    run: noFirmContext,
  },
  {
    name: "customer (400, 404) and binding (403)",
    needs: "head",
    ends: true,
    applies: (row) => row.context === "customer",
    refuses: ["REQUEST_INVALID", "NOT_FOUND", "FIRM_FORBIDDEN"],
    run: customerContext,
  },
  {
    name: "customer of the body (400, 404) and binding (403)",
    needs: "body",
    gates: true,
    applies: (row) => row.context === "customer_body",
    refuses: ["MEDIA_TYPE", "BODY_MALFORMED", "REQUEST_INVALID", "NOT_FOUND", "FIRM_FORBIDDEN"],
    run: customerOfBody,
  },
  {
    name: "participant (400) and binding (403)",
    needs: "head",
    ends: true,
    applies: (row) => row.context === "participant",
    refuses: ["PARTICIPANT_REQUIRED", "PARTICIPANT_FORBIDDEN"],
    run: participantContext,
  },
  {
    name: "scope (403)",
    needs: "head",
    ends: true,
    applies: (row) => row.scopes.length > 0,
    refuses: ["SCOPE_MISSING"],
    run: scopes,
  },
  {
    name: "mailbox of the firm (403)",
    needs: "head",
    ends: true,
    applies: (row) => row.receives === true,
    refuses: ["RECEIVING_FORBIDDEN"],
    run: mailbox,
  },
  {
    name: "idempotency key (400)",
    needs: "head",
    applies: (row) => row.idempotency !== "none",
    refuses: ["IDEMPOTENCY_KEY"],
    run: idempotencyKey,
  },
  {
    name: "path (404)",
    needs: "body",
    applies: (row) => row.request.params !== undefined,
    refuses: ["NOT_FOUND"],
    run: pathParameters,
  },
  {
    name: "query (400)",
    needs: "body",
    applies: (row) => row.request.query !== undefined,
    refuses: ["REQUEST_INVALID"],
    run: queryParameters,
  },
  {
    name: "content type (415)",
    needs: "body",
    applies: (row) => row.request.body !== undefined && !row.request.accepts.includes("raw"),
    refuses: ["MEDIA_TYPE"],
    run: contentType,
  },
  {
    name: "members of the body (400)",
    needs: "body",
    applies: (row) => row.request.body !== undefined && hasFields(row),
    refuses: ["BODY_MALFORMED", "REQUEST_INVALID"],
    run: body,
  },
  {
    name: "bytes of the body",
    needs: "body",
    applies: (row) => row.request.body !== undefined && !hasFields(row),
    refuses: [],
    run: body,
  },
  {
    name: "line of the key's long answers",
    needs: "body",
    applies: (row) => row.showsMany === true,
    refuses: [],
    run: lineForAnswer,
  },
  {
    name: "room for the answer",
    needs: "body",
    applies: (row) => row.showsDocument === true,
    refuses: [],
    run: roomForAnswer,
  },
];

/** What is answered outside the steps: by the server while the request arrives, and for what goes wrong on our side. */
export const SERVER_REFUSALS: readonly Pick<Step, "name" | "applies" | "refuses">[] = [
  { name: "size of the body (413)", applies: (row) => row.request.body !== undefined, refuses: ["BODY_TOO_LARGE"] },
  { name: "load and time (503)", applies: () => true, refuses: ["TEMPORARY"] },
  { name: "a bug of ours (500)", applies: () => true, refuses: ["INTERNAL"] },
];

/** Refusals that follow from a row's columns rather than from its handler, in the order of the steps. */
export const refusalsOfColumns = (row: Route): readonly ErrorName[] =>
  [...STEPS, ...SERVER_REFUSALS].filter((step) => step.applies(row)).flatMap((step) => step.refuses);

const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

function credential(request: SteppedRequest, row: Route): void | Promise<void> {
  const { headers } = request.head;
  const header = headers.get("authorization");
  const token = header === undefined || header.length > LIMITS.token_bytes_max ? undefined : BEARER.exec(header)?.[1];
  if (token === undefined || headers.count("authorization") > 1) throw new Refusal("TOKEN_INVALID");
  request.learn({ presentedToken: true });
  if (row.credential === "admin") {
    if (!request.ports.authenticateAdmin(token)) throw new Refusal("TOKEN_INVALID");
    return;
  }
  // Not as of `receivedAt`: a revoked token is forgotten when it expires, and a late body would bring it to life again.
  const caller = request.ports.authenticate(token, request.ports.clock.now());
  if (caller instanceof Promise)
    return caller.then((late) => {
      request.learn({ caller: late });
    });
  request.learn({ caller });
}

/** Parsed allowlists. A caller is cached, so the same list object comes with each of its requests. */
const parsedLists = new WeakMap<readonly string[], readonly Cidr[]>();

function allowlist(request: SteppedRequest): void {
  const list = request.caller?.ipAllowlist ?? [];
  if (list.length === 0) return;
  let networks = parsedLists.get(list);
  // An entry that cannot be read allows nobody; it must not turn the list into an empty one, which allows everybody.
  if (networks === undefined)
    parsedLists.set(list, (networks = list.map(parseCidr).filter((cidr) => cidr !== undefined)));
  if (!networks.some((network) => inCidr(request.clientAddress, network))) throw new Refusal("IP_NOT_ALLOWED");
}

function rateLimit(request: SteppedRequest, row: Route): void | Promise<void> {
  const name = row.rate;
  if (name === undefined) return;
  const key = RATES[name].key === "key" ? (request.caller?.keyId ?? "") : request.addressGroup;
  return admitted(request, row, request.ports.admit(name, key));
}

/** Says nothing of its count where it lets a login pass: clients hear what is left to them, not to their address. */
function rateLimitOfLogins(request: SteppedRequest, row: Route): void | Promise<void> {
  const judged = (admission: Admission): void | Promise<void> =>
    admission.allowed ? undefined : admitted(request, row, admission);
  const admission = request.ports.admit("token_address", request.addressGroup);
  return admission instanceof Promise ? admission.then(judged) : judged(admission);
}

function rateLimitByClient(request: SteppedRequest, row: Route): void | Promise<void> {
  if (row.rate === undefined) return;
  // A body that cannot be read names no client and counts for its address alone. A later step refuses it.
  const claimed = request.decodedOrNothing()["client_id"];
  const client = typeof claimed === "string" ? firstChars(claimed, LIMITS.rate_client_id_chars) : "";
  return admitted(request, row, request.ports.admit(row.rate, `${request.addressGroup}\n${client}`));
}

function admitted(
  request: SteppedRequest,
  row: Route,
  admission: Admission | Promise<Admission>,
): void | Promise<void> {
  if (admission instanceof Promise) return admission.then((late) => admitted(request, row, late));
  request.learn({ admission });
  if (admission.allowed) return;
  request.ports.metrics.count("rate_limited_total", { row: row.rate ?? "" });
  throw new Refusal("RATE_LIMITED", [], { retryAfter_s: admission.retryAfter_s });
}

function credentialKind(request: SteppedRequest, row: Route): void {
  const { caller } = request;
  if (caller?.kind !== "integrator" || (row.credential === "partner_unrestricted" && caller.scopedFirmId !== undefined))
    throw new Refusal("CREDENTIAL_CLASS");
}

function firmContext(request: SteppedRequest, row: Route): void | Promise<void> {
  const { headers } = request.head;
  const { caller } = request;
  if (caller === undefined) throw new Refusal("TOKEN_INVALID");
  const header = headers.get("x-firm-id");
  if (caller.kind === "firm" && header !== undefined)
    throw new Refusal("FIRM_CONTEXT_FORBIDDEN", [
      { field: "X-Firm-Id", message: "A firm's own key does not send X-Firm-Id." },
    ]);
  const firmId = header === undefined ? undefined : parseFirmId(header);
  const isMissing = header === undefined && caller.kind === "integrator" && caller.scopedFirmId === undefined;
  if (isMissing || (header !== undefined && firmId === undefined) || headers.count("x-firm-id") > 1)
    throw new Refusal("FIRM_CONTEXT_REQUIRED");
  const firm = request.ports.firmContext(caller, firmId, row.servesSapi === true);
  if (firm instanceof Promise)
    return firm.then((late) => {
      request.learn({ firm: late });
    });
  request.learn({ firm });
}

function noFirmContext(request: SteppedRequest): void {
  if (request.head.headers.get("x-firm-id") !== undefined) throw new Refusal("FIRM_CONTEXT_FORBIDDEN");
}

/**
 * Reads customerRef from the query, ahead of the other parameters, because the caller's rights depend on it.
 * White space at its ends is not part of it, as where it was given to the firm: invitations, onboarding, White Label.
 */
function customerContext(request: SteppedRequest): void | Promise<void> {
  const customerRef = (parseQuery(request.head.query)["customerRef"] ?? "").trim();
  if (customerRef === "")
    throw new Refusal("REQUEST_INVALID", [
      { field: "customerRef", message: "Name the firm in the query: customerRef=<your own id of it>." },
    ]);
  return customerNamed(request, customerRef);
}

/** The same where the body names the firm, as it does when something is made for it. */
function customerOfBody(request: SteppedRequest): void | Promise<void> {
  const decoded = request.decoded();
  const members = typeof decoded === "object" && decoded !== null ? (decoded as Readonly<Record<string, unknown>>) : {};
  const customerRef = typeof members["customerRef"] === "string" ? members["customerRef"].trim() : "";
  if (customerRef === "")
    throw new Refusal("REQUEST_INVALID", [
      { field: "customerRef", message: "Name the firm in the body: customerRef is your own id of it, as text." },
    ]);
  return customerNamed(request, customerRef);
}

function customerNamed(request: SteppedRequest, customerRef: string): void | Promise<void> {
  const { caller } = request;
  if (caller === undefined) throw new Refusal("TOKEN_INVALID");
  const customer = request.ports.customerContext(caller, customerRef);
  if (customer instanceof Promise)
    return customer.then((late) => {
      request.learn({ firm: late });
    });
  request.learn({ firm: customer });
}

function participantContext(request: SteppedRequest): void | Promise<void> {
  const { headers } = request.head;
  const { caller } = request;
  if (caller === undefined) throw new Refusal("TOKEN_INVALID");
  const participantId = parseParticipantId(headers.get("x-peppol-participant-id") ?? "");
  if (participantId === undefined || headers.count("x-peppol-participant-id") > 1)
    throw new Refusal("PARTICIPANT_REQUIRED");
  const participant = request.ports.participantContext(caller, participantId);
  if (participant instanceof Promise)
    return participant.then((late) => {
      request.learn({ participant: late });
    });
  request.learn({ participant });
}

function scopes(request: SteppedRequest, row: Route): void {
  const effective = request.participant?.scopes ?? request.firm?.scopes ?? request.caller?.scopes;
  for (const scope of row.scopes)
    if (effective?.has(scope) !== true) throw new Refusal("SCOPE_MISSING", [], { requiredScope: scope });
}

function mailbox(request: SteppedRequest): void | Promise<void> {
  const firmId = request.participant?.firmId ?? request.firm?.firmId;
  const may = firmId === undefined ? true : request.ports.mayReceive(firmId);
  if (may === true) return;
  return may.then((late) => {
    if (!late) throw new Refusal("RECEIVING_FORBIDDEN");
  });
}

function idempotencyKey(request: SteppedRequest, row: Route): void {
  const { headers } = request.head;
  const form: IdempotencyForm = IDEMPOTENCY[row.idempotency];
  if (form.isOptional === true && headers.count("idempotency-key") === 0) return;
  const key = headers.get("idempotency-key") ?? "";
  if (headers.count("idempotency-key") !== 1 || !form.pattern.test(key)) {
    throw new Refusal("IDEMPOTENCY_KEY", [
      { field: "Idempotency-Key", message: `Idempotency-Key must be ${form.words}, sent once.` },
    ]);
  }
  request.learn({ idempotencyKey: row.idempotency === "uuid" ? key.toLowerCase() : key });
}

/** An id of a wrong form is answered like an unknown id, with 404: both name nothing that exists. */
function pathParameters(request: SteppedRequest, row: Route): void {
  const values: Record<string, string> = {};
  for (const [i, name] of request.pathNames.entries()) {
    const value = decodeSegment(request.pathValues[i] ?? "");
    if (value === undefined) throw new Refusal("NOT_FOUND");
    values[name] = value;
  }
  const parsed = row.request.params?.safeParse(values);
  if (parsed?.success !== true) throw new Refusal("NOT_FOUND");
  request.learn({ params: parsed.data });
}

function queryParameters(request: SteppedRequest, row: Route): void {
  const parsed = row.request.query?.safeParse(parseQuery(request.head.query), { reportInput: true });
  if (parsed === undefined) return;
  if (!parsed.success) throw new Refusal("REQUEST_INVALID", detailsOfIssues(parsed.error.issues, "query"));
  request.learn({ query: parsed.data });
}

/** Operations that take raw bytes accept no coding: those bytes were signed, or are kept as evidence, as they came. */
function coding(request: SteppedRequest, row: Route): void | Promise<void> {
  const { headers } = request.head;
  if (headers.get("content-encoding") === undefined || request.bodyIsEmpty) return;
  if (!isGzip(headers) || row.request.accepts.includes("raw")) throw new Refusal("MEDIA_TYPE");
  return request.inflate(row.request.body_bytes_max);
}

function contentType(request: SteppedRequest, row: Route): void {
  bodyKind(row, request.head.headers, request.bodyIsEmpty);
}

function body(request: SteppedRequest, row: Route): void | Promise<void> {
  const large = request.decodeLarge();
  if (large === undefined) judgeBody(request, row);
  else
    return large.then(() => {
      judgeBody(request, row);
    });
}

function judgeBody(request: SteppedRequest, row: Route): void {
  const decoded = request.decoded();
  if (decoded instanceof Uint8Array) {
    request.learn({ body: decoded });
    return;
  }
  const schema = row.request.body;
  if (schema === undefined) return;
  // An operator who writes null is asked what it means: nothing is taken away there.
  if (row.family !== "admin") leaveOutNulls(schema, decoded);
  const parsed = schema.safeParse(decoded, { reportInput: true });
  if (!parsed.success) throw new Refusal("REQUEST_INVALID", detailsOfIssues(parsed.error.issues, "body"));
  request.learn({ body: parsed.data });
}

/** A page of hundreds takes as long to make as a hundred answers of others: one key makes few of them at once. */
function lineForAnswer(request: SteppedRequest): Promise<void> {
  return request.lineForAnswer();
}

/** A document of 20 MB is many times as much while it is read: before anything is read, there is room for it. */
async function roomForAnswer(request: SteppedRequest): Promise<void> {
  const [id] = Object.values((request.params ?? {}) as Readonly<Record<string, unknown>>);
  const firmId = (request.firm ?? request.participant)?.firmId;
  const bytes = LIMITS.response_copies * (await request.ports.documentBytes(String(id), firmId));
  if (bytes > LIMITS.response_streamed_bytes) await request.roomForAnswer(bytes);
}
