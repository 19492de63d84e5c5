/**
 * What every request goes through, in order; the first step that fails answers.
 *
 * Routing (404, 405) and the size of the body (413) come before these: the router and the server see to them. Steps
 * that need only the head run while the body still arrives, so that a stranger's 25 MB are not collected before his
 * token is refused.
 * @source spec/rulings.md, section 2
 */
import { inCidr, parseCidr } from "../../engine/base/addresses.js";
import type { Cidr } from "../../engine/base/addresses.js";
import { Refusal } from "../../engine/base/errors.js";
import { parseFirmId, parseParticipantId } from "../../engine/base/ids.js";
import { LIMITS } from "../../engine/base/limits.js";
import { firstChars } from "../../engine/base/text.js";
import { decodeSegment, parseQuery } from "./decode.js";
import type { RouteExchange } from "./request.js";
import { detailsOfIssues } from "./invalid.js";
import type { Admission } from "./pipeline.js";
import { IDEMPOTENCY, RATES } from "../contract/route.js";
import type { Route } from "../contract/route.js";

export interface Step {
  readonly name: string;
  readonly needs: "head" | "body";
  /** Whether a row has this step at all; asked once, at start. */
  applies(row: Route): boolean;
  /** @throws Refusal when the request ends here */
  run(exchange: RouteExchange, row: Route): void | Promise<void>;
}

export const STEPS: readonly Step[] = [
  { name: "credential (401)", needs: "head", applies: (row) => row.credential !== "none", run: credential },
  {
    name: "IP allowlist (403)",
    needs: "head",
    applies: (row) => row.credential !== "none" && row.credential !== "admin",
    run: allowlist,
  },
  {
    name: "rate limit by key or address (429)",
    needs: "head",
    applies: (row) => row.rate !== undefined && RATES[row.rate].key !== "client+address",
    run: rateLimit,
  },
  {
    name: "rate limit by client (429)",
    needs: "body",
    applies: (row) => row.rate !== undefined && RATES[row.rate].key === "client+address",
    run: rateLimitByClient,
  },
  {
    name: "kind of credential (403)",
    needs: "head",
    applies: (row) => row.credential === "partner" || row.credential === "partner_unrestricted",
    run: credentialKind,
  },
  {
    name: "firm context (400) and binding (403)",
    needs: "head",
    applies: (row) => row.context === "firm",
    run: firmContext,
  },
  {
    name: "no firm context (400)",
    needs: "head",
    applies: (row) => row.context === "forbidden" || row.context === "customer",
    run: noFirmContext,
  },
  {
    name: "customer (400, 404) and binding (403)",
    needs: "head",
    applies: (row) => row.context === "customer",
    run: customerContext,
  },
  {
    name: "participant (400) and binding (403)",
    needs: "head",
    applies: (row) => row.context === "participant",
    run: participantContext,
  },
  { name: "scope (403)", needs: "head", applies: (row) => row.scopes.length > 0, run: scopes },
  { name: "idempotency key (400)", needs: "head", applies: (row) => row.idempotency !== "none", run: idempotencyKey },
  { name: "path (404)", needs: "body", applies: (row) => row.request.params !== undefined, run: pathParameters },
  { name: "query (400)", needs: "body", applies: (row) => row.request.query !== undefined, run: queryParameters },
  { name: "body (400, 415)", needs: "body", applies: (row) => row.request.body !== undefined, run: body },
];

const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

function credential(exchange: RouteExchange, row: Route): void | Promise<void> {
  const { headers } = exchange.head;
  const header = headers.get("authorization");
  const token = header === undefined || header.length > LIMITS.token_bytes_max ? undefined : BEARER.exec(header)?.[1];
  if (token === undefined || headers.count("authorization") > 1) throw new Refusal("TOKEN_INVALID");
  exchange.presentedToken = true;
  if (row.credential === "admin") {
    if (!exchange.ports.authenticateAdmin(token)) throw new Refusal("TOKEN_INVALID");
    return;
  }
  const caller = exchange.ports.authenticate(token, exchange.receivedAt);
  if (caller instanceof Promise)
    return caller.then((late) => {
      exchange.caller = late;
    });
  exchange.caller = caller;
}

/** Parsed once per list: a cached caller brings the same list again. */
const parsedLists = new WeakMap<readonly string[], readonly Cidr[]>();

function allowlist(exchange: RouteExchange): void {
  const list = exchange.caller?.ipAllowlist ?? [];
  if (list.length === 0) return;
  let networks = parsedLists.get(list);
  // An entry that cannot be read allows nobody; it must not turn the list into an empty one, which allows everybody.
  if (networks === undefined)
    parsedLists.set(list, (networks = list.map(parseCidr).filter((cidr) => cidr !== undefined)));
  if (!networks.some((network) => inCidr(exchange.clientAddress, network))) throw new Refusal("IP_NOT_ALLOWED");
}

function rateLimit(exchange: RouteExchange, row: Route): void | Promise<void> {
  const name = row.rate;
  if (name === undefined) return;
  const key = RATES[name].key === "key" ? (exchange.caller?.keyId ?? "") : exchange.addressGroup;
  return admitted(exchange, row, exchange.ports.admit(name, key));
}

/** Characters of a client_id that count: ours are UUIDs or shorter prefixes. */
const CLIENT_ID_CHARS = 64;

function rateLimitByClient(exchange: RouteExchange, row: Route): void | Promise<void> {
  if (row.rate === undefined) return;
  // A body that cannot be read counts for its address alone; that it cannot be read is said by its own step.
  const claimed = exchange.decodedOrNothing()["client_id"];
  const client = typeof claimed === "string" ? firstChars(claimed, CLIENT_ID_CHARS) : "";
  return admitted(exchange, row, exchange.ports.admit(row.rate, `${exchange.addressGroup}\n${client}`));
}

function admitted(
  exchange: RouteExchange,
  row: Route,
  admission: Admission | Promise<Admission>,
): void | Promise<void> {
  if (admission instanceof Promise) return admission.then((late) => admitted(exchange, row, late));
  exchange.admission = admission;
  if (admission.allowed) return;
  exchange.ports.metrics.count("rate_limited_total", { row: row.rate ?? "" });
  throw new Refusal("RATE_LIMITED", [], { retryAfter_s: admission.retryAfter_s });
}

function credentialKind(exchange: RouteExchange, row: Route): void {
  const { caller } = exchange;
  if (caller?.kind !== "integrator" || (row.credential === "partner_unrestricted" && caller.scopedFirmId !== undefined))
    throw new Refusal("CREDENTIAL_CLASS");
}

function firmContext(exchange: RouteExchange): void | Promise<void> {
  const { headers } = exchange.head;
  const { caller } = exchange;
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
  const firm = exchange.ports.firmContext(caller, firmId);
  if (firm instanceof Promise)
    return firm.then((late) => {
      exchange.firm = late;
    });
  exchange.firm = firm;
}

function noFirmContext(exchange: RouteExchange): void {
  if (exchange.head.headers.get("x-firm-id") !== undefined) throw new Refusal("FIRM_CONTEXT_FORBIDDEN");
}

/** Unlike the rest of the query it is read here: what may be done depends on it. */
function customerContext(exchange: RouteExchange): void | Promise<void> {
  const { caller } = exchange;
  if (caller === undefined) throw new Refusal("TOKEN_INVALID");
  const customerRef = parseQuery(exchange.head.query)["customerRef"] ?? "";
  if (customerRef === "")
    throw new Refusal("REQUEST_INVALID", [
      { field: "customerRef", message: "Name the firm in the query: customerRef=<your own id of it>." },
    ]);
  const customer = exchange.ports.customerContext(caller, customerRef);
  if (customer instanceof Promise)
    return customer.then((late) => {
      exchange.firm = late;
    });
  exchange.firm = customer;
}

function participantContext(exchange: RouteExchange): void | Promise<void> {
  const { headers } = exchange.head;
  const { caller } = exchange;
  if (caller === undefined) throw new Refusal("TOKEN_INVALID");
  const participantId = parseParticipantId(headers.get("x-peppol-participant-id") ?? "");
  if (participantId === undefined || headers.count("x-peppol-participant-id") > 1)
    throw new Refusal("PARTICIPANT_REQUIRED");
  const participant = exchange.ports.participantContext(caller, participantId);
  if (participant instanceof Promise)
    return participant.then((late) => {
      exchange.participant = late;
    });
  exchange.participant = participant;
}

function scopes(exchange: RouteExchange, row: Route): void {
  const effective = exchange.participant?.scopes ?? exchange.firm?.scopes ?? exchange.caller?.scopes;
  for (const scope of row.scopes)
    if (effective?.has(scope) !== true) throw new Refusal("SCOPE_MISSING", [], { requiredScope: scope });
}

function idempotencyKey(exchange: RouteExchange, row: Route): void {
  const { headers } = exchange.head;
  const form = IDEMPOTENCY[row.idempotency];
  const key = headers.get("idempotency-key") ?? "";
  if (headers.count("idempotency-key") !== 1 || !form.pattern.test(key)) {
    throw new Refusal("IDEMPOTENCY_KEY", [
      { field: "Idempotency-Key", message: `Idempotency-Key must be ${form.words}, sent once.` },
    ]);
  }
  exchange.idempotencyKey = row.idempotency === "uuid" ? key.toLowerCase() : key;
}

/** An id of the wrong form names nothing that exists: the same answer as an unknown one. */
function pathParameters(exchange: RouteExchange, row: Route): void {
  const values: Record<string, string> = {};
  for (const [i, name] of exchange.pathNames.entries()) {
    const value = decodeSegment(exchange.pathValues[i] ?? "");
    if (value === undefined) throw new Refusal("NOT_FOUND");
    values[name] = value;
  }
  const parsed = row.request.params?.safeParse(values);
  if (parsed?.success !== true) throw new Refusal("NOT_FOUND");
  exchange.params = parsed.data;
}

function queryParameters(exchange: RouteExchange, row: Route): void {
  const parsed = row.request.query?.safeParse(parseQuery(exchange.head.query), { reportInput: true });
  if (parsed === undefined) return;
  if (!parsed.success) throw new Refusal("REQUEST_INVALID", detailsOfIssues(parsed.error.issues, "query"));
  exchange.query = parsed.data;
}

function body(exchange: RouteExchange, row: Route): void {
  const decoded = exchange.decoded();
  if (decoded instanceof Uint8Array) {
    exchange.body = decoded;
    return;
  }
  const parsed = row.request.body?.safeParse(decoded, { reportInput: true });
  if (parsed === undefined) return;
  if (!parsed.success) throw new Refusal("REQUEST_INVALID", detailsOfIssues(parsed.error.issues, "body"));
  exchange.body = parsed.data;
}
