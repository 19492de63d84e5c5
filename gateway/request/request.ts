/** One request on its way through the steps to its handler, and its answer. */
import { addressGroup, formatAddress } from "../../engine/base/addresses.js";
import type { Address, Cidr } from "../../engine/base/addresses.js";
import type { Instant } from "../../engine/base/clock.js";
import { Refusal } from "../../engine/base/errors.js";
import type { ErrorName } from "../../engine/base/errors.js";
import type { Caller, FirmContext, ParticipantContext } from "../../engine/identity/caller.js";
import { newRequestId, parseRequestId } from "../../engine/base/ids.js";
import type { RequestId } from "../../engine/base/ids.js";
import { errorFields } from "../../engine/base/log.js";
import { LIMITS } from "../../engine/base/limits.js";
import type { Log } from "../../engine/base/log.js";
import { utf8InSlices } from "../../engine/base/memory/slices.js";
import { isTracing, openRequestSpan, traced, withinSpan } from "../../engine/base/tracing/tracing.js";
import type { RequestSpan } from "../../engine/base/tracing/tracing.js";
import { clientAddress } from "../http/client-address.js";
import type { AnswerRoom, Head, Outgoing, PipelineRequest, ServerFault } from "../http/conversation.js";
import type { ShareName } from "../http/shares.js";
import { decodeBody, decodeLargeBody } from "./decode.js";
import type { LargeJson } from "./large-json.js";
import type { Inflated, Inflater } from "./inflate.js";
import type { Found, Plan, Step, SteppedRequest } from "./plan.js";
import type { Admission, PipelinePorts } from "./ports.js";
import { problem } from "./problem.js";
import { unreadMembers } from "./unread.js";
import { consoleRefusal } from "../web/console/frame.js";
import { refusalPage } from "../web/pages/faults.js";
import type { PageReply } from "../web/pages/page.js";
import { RATES } from "../contract/route.js";
import type { Family, RawBody, Reply, Route } from "../contract/route.js";

interface Shared {
  readonly ports: PipelinePorts;
  /** The log of what can happen to every request at once. */
  readonly often: { readonly log: Pick<Log, "warn"> };
  readonly trustedProxies: readonly Cidr[];
  readonly inflater: Inflater;
}

/** Names of the path's parameters and their values as sent, in the same order. */
interface PathValues {
  readonly names: readonly string[];
  readonly values: readonly string[];
}

const JSON_TYPE = "application/json; charset=utf-8";
const NOTHING: Readonly<Record<string, unknown>> = {};
const NO_BYTES = Buffer.alloc(0);

const FAULTS: Readonly<Record<ServerFault, ErrorName>> = {
  body_too_large: "BODY_TOO_LARGE",
  overloaded: "TEMPORARY",
  bodies_full: "TEMPORARY",
  answers_full: "TEMPORARY",
  malformed: "BODY_MALFORMED",
  length_required: "LENGTH_REQUIRED",
  headers_too_large: "HEADERS_TOO_LARGE",
  timeout: "TEMPORARY",
};

/** Faults that turn work away to protect what is under way. */
const SHED: ReadonlySet<ServerFault> = new Set(["overloaded", "bodies_full", "answers_full"]);

const FAULT_MESSAGES: Partial<Record<ServerFault, string>> = {
  malformed:
    "The request is not HTTP: its address (percent-encoded), its Host, Content-Length, Transfer-Encoding or another header is not as it must be.",
};

export class RoutedRequest implements PipelineRequest, SteppedRequest {
  readonly requestId: RequestId;
  readonly receivedAt: Instant;
  readonly head: Head;
  readonly ports: PipelinePorts;
  readonly pathNames: readonly string[];
  readonly pathValues: readonly string[];
  readonly bodyBytesMax: number;
  readonly readsBody: boolean;
  readonly share: ShareName;

  caller: Caller | undefined;
  firm: FirmContext | undefined;
  participant: ParticipantContext | undefined;
  idempotencyKey: string | undefined;
  params: unknown;
  query: unknown;
  body: unknown;
  admission: Admission | undefined;
  /** Whether an Authorization header came that could be a token. */
  presentedToken = false;

  readonly #shared: Shared;
  readonly #plan: Plan;
  readonly #startedAt: number;
  #bytes: Buffer = NO_BYTES;
  #decodedBody: { readonly value: unknown } | undefined;
  #octets: LargeJson["octets"];
  #knownAddress: Address | undefined;
  #knownGroup: string | undefined;
  #controller: AbortController | undefined;
  #room: AnswerRoom | undefined;
  #inflated: Inflated | undefined;
  #abandoned = false;
  /** Undefined when nobody collects traces. */
  readonly #span: RequestSpan | undefined;
  #isCounted = false;
  /** Set when a step of the head takes time: resolves to the answer that refuses the request, or to undefined. */
  #headResult: Promise<Outgoing | undefined> | undefined;

  constructor(shared: Shared, plan: Plan, head: Head, path: PathValues) {
    this.#shared = shared;
    this.#plan = plan;
    this.head = head;
    this.ports = shared.ports;
    this.pathNames = path.names;
    this.pathValues = path.values;
    this.bodyBytesMax = plan.row?.request.body_bytes_max ?? Infinity;
    this.readsBody = plan.row?.request.body !== undefined;
    this.share = plan.share;
    const { clock } = shared.ports;
    this.receivedAt = clock.now();
    this.#startedAt = clock.monotonic();
    this.#span = spanOf(plan);
    const claimed = head.headers.get("x-request-id");
    this.requestId = (claimed === undefined ? undefined : parseRequestId(claimed)) ?? newRequestId();
  }

  get clientAddress(): Address {
    return (this.#knownAddress ??= clientAddress(this.head.peer, this.head.headers, this.#shared.trustedProxies));
  }

  get address(): string {
    return formatAddress(this.clientAddress);
  }

  get addressGroup(): string {
    return (this.#knownGroup ??= addressGroup(this.clientAddress));
  }

  get holder(): string {
    return this.caller?.keyId ?? this.addressGroup;
  }

  get unread(): readonly string[] {
    return unreadMembers(this.decoded(), this.body);
  }

  get givesBody(): boolean {
    return this.head.method !== "HEAD";
  }

  /** The abort signal of the request. It is made when a handler first asks for it, and most never do. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#abandoned) this.#controller.abort();
    return this.#controller.signal;
  }

  header(name: string): string | undefined {
    return this.head.headers.get(name);
  }

  learn(found: Partial<Found>): void {
    Object.assign(this, found);
    if (found.caller !== undefined) this.#span?.follow(this.head.headers.get("traceparent"));
  }

  get bodyIsEmpty(): boolean {
    return this.#bytes.length === 0;
  }

  async inflate(bytesMax: number): Promise<void> {
    const inflated = await this.#shared.inflater.inflate(this.#bytes, bytesMax, this);
    this.#bytes = inflated.bytes;
    this.#inflated = inflated;
    // The client may have gone meanwhile; nobody would release the bytes any more.
    if (this.#abandoned || this.#isCounted) inflated.release();
  }

  /** @throws Refusal when the body cannot be read */
  decoded(): unknown {
    const { row } = this.#plan;
    if (row === undefined) return undefined;
    this.#decodedBody ??= { value: decodeBody(row, this.head.headers, this.#bytes) };
    return this.#decodedBody.value;
  }

  /** @throws Refusal when the body cannot be read */
  decodeLarge(): Promise<void> | undefined {
    const { row } = this.#plan;
    if (row === undefined || this.#decodedBody !== undefined) return undefined;
    return decodeLargeBody(row, this.head.headers, this.#bytes)?.then(({ value, octets }) => {
      this.#decodedBody = { value };
      this.#octets = octets;
    });
  }

  octetsOf(text: string): Promise<Buffer> {
    return this.#octets?.standIn === text ? Promise.resolve(this.#octets.bytes) : utf8InSlices(text);
  }

  /** The body as an object, or an empty one when it is none or cannot be read. */
  decodedOrNothing(): Readonly<Record<string, unknown>> {
    try {
      const value = this.decoded();
      return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : NOTHING;
    } catch {
      return NOTHING;
    }
  }

  roomForAnswer(bytes: number): Promise<void> {
    return this.#waited(this.#room?.take(bytes));
  }

  lineForAnswer(): Promise<void> {
    return this.#waited(this.#room?.line());
  }

  /** Waits for others; whose rights have ended meanwhile is shown nothing. */
  async #waited(turn: Promise<void> | undefined): Promise<void> {
    const { clock } = this.ports;
    const since = clock.monotonic();
    await turn;
    if (clock.monotonic() - since > LIMITS.authority_believed_ms) await this.#run(this.#plan.ends);
  }

  begin(room?: AnswerRoom): Outgoing | undefined | Promise<Outgoing | undefined> {
    this.#room = room;
    try {
      const pending = withinSpan(this.#span, () => this.#run(this.#plan.head));
      if (pending === undefined) return undefined;
      this.#headResult = pending.then(
        () => (room?.ownBody() === false ? this.refuse("bodies_full") : undefined),
        (error: unknown) => this.#failed(error),
      );
      return this.#headResult;
    } catch (error) {
      return this.#failed(error);
    }
  }

  finish(bytes: Buffer): Outgoing | Promise<Outgoing> {
    this.#bytes = bytes;
    // As of now: where a step of the head is long in coming, a database that is slow is not asked everything twice.
    const steps = this.#isLate() ? this.#plan.lateBody : this.#plan.body;
    const handle = (): Outgoing | Promise<Outgoing> => withinSpan(this.#span, () => this.#handle(steps));
    return this.#headResult === undefined ? handle() : this.#headResult.then((refusal) => refusal ?? handle());
  }

  refuse(fault: ServerFault): Outgoing {
    if (SHED.has(fault)) this.ports.metrics.count("http_requests_shed_total", { reason: fault });
    const message = FAULT_MESSAGES[fault];
    return this.#failed(new Refusal(FAULTS[fault], [], message === undefined ? {} : { message }));
  }

  abandon(): void {
    this.#abandoned = true;
    this.#inflated?.release();
    this.#controller?.abort();
  }

  /** Runs steps in order. It returns a promise only if a step did, because most requests need to wait for nothing. */
  #run(steps: readonly Step[]): Promise<void> | undefined {
    const { row } = this.#plan;
    for (let i = 0; i < steps.length; i++) {
      const pending = this.#step(steps[i], row as Route);
      if (pending !== undefined) return this.#runRest(steps, i + 1, pending);
    }
    return undefined;
  }

  async #runRest(steps: readonly Step[], from: number, pending: Promise<void>): Promise<void> {
    await pending;
    for (let i = from; i < steps.length; i++) await this.#step(steps[i], this.#plan.row as Route);
  }

  #step(step: Step | undefined, row: Route): void | Promise<void> {
    return this.#span === undefined ? step?.run(this, row) : traced(`step ${step?.name}`, () => step?.run(this, row));
  }

  #handle(steps: readonly Step[]): Outgoing | Promise<Outgoing> {
    try {
      const pending = this.#run(steps);
      if (pending !== undefined)
        return pending.then(() => this.#callHandler()).catch((error: unknown) => this.#failed(error));
      const reply = this.#callHandler();
      return reply instanceof Promise ? reply.catch((error: unknown) => this.#failed(error)) : reply;
    } catch (error) {
      return this.#failed(error);
    }
  }

  #isLate(): boolean {
    return this.ports.clock.monotonic() - this.#startedAt > LIMITS.authority_believed_ms;
  }

  #callHandler(): Outgoing | Promise<Outgoing> {
    const { row } = this.#plan;
    if (row === undefined) throw new Refusal("ROUTE_UNKNOWN");
    const reply =
      this.#span === undefined ? row.handler(this) : traced(`handle ${row.operation}`, () => row.handler(this));
    if (!(reply instanceof Promise)) return this.#succeeded(reply);
    this.#forgetBody();
    return reply.then((late) => this.#succeeded(late));
  }

  #succeeded(reply: Reply): Outgoing {
    const { body } = reply;
    const raw = isRaw(body) ? body.raw : undefined;
    const text = raw ?? (body === undefined ? "" : JSON.stringify(body));
    const fallbackType = raw !== undefined && typeof raw !== "string" ? "application/octet-stream" : JSON_TYPE;
    const contentType = text.length === 0 ? reply.contentType : (reply.contentType ?? fallbackType);
    return this.#settled(reply.status, this.#headersOf(reply.headers, reply.status), contentType, text);
  }

  /**
   * The handler has what it wants of the body. While it waits for others, a document of 20 MB would lie in memory as
   * octets, as text and as a member.
   */
  #forgetBody(): void {
    this.body = undefined;
    this.#decodedBody = undefined;
    this.#octets = undefined;
    this.#bytes = NO_BYTES;
  }

  /**
   * A refusal becomes its envelope; anything else is a bug: its place goes to the log, nothing of it to the client. A
   * firm that is erased while its request is under way is answered what its key is from then on.
   */
  #failed(thrown: unknown): Outgoing {
    const error = this.ports.asRefusal(thrown);
    let refusal: Refusal;
    if (error instanceof Refusal) {
      refusal = error;
      const { failure } = error.extras;
      if (failure !== undefined) this.#shared.often.log.warn("database.failed", { code: failure });
    } else {
      this.ports.log.error("request.failed", {
        requestId: this.requestId,
        route: this.#plan.label,
        ...errorFields(error),
      });
      refusal = new Refusal("INTERNAL");
    }
    const page = REFUSAL_PAGES[this.#plan.family]?.(refusal, this.requestId, this.header("accept-language"));
    if (page !== undefined) return this.#failedPage(refusal, page);
    const { status, body, headers } = problem(refusal, this.#plan.family, this.requestId, this.presentedToken);
    return this.#settled(status, this.#headersOf(headers, status), JSON_TYPE, JSON.stringify(body));
  }

  /** People read a page, not JSON. */
  #failedPage(refusal: Refusal, shown: PageReply<number>): Outgoing {
    const { headers } = problem(refusal, this.#plan.family, this.requestId, this.presentedToken);
    return this.#settled(
      shown.status,
      this.#headersOf({ ...shown.headers, ...headers }, shown.status),
      shown.contentType,
      shown.body.raw,
    );
  }

  #settled(
    status: number,
    headers: Readonly<Record<string, string>> | undefined,
    contentType: string | undefined,
    body: string | Uint8Array,
  ): Outgoing {
    const answer = { status, requestId: this.requestId, contentType, headers: this.#named(headers), body };
    // When the request ran out of time it was counted then; the handler's late answer must not count again.
    if (this.#isCounted) return answer;
    this.#isCounted = true;
    this.#inflated?.release();
    const { metrics, clock } = this.ports;
    const { label, method } = this.#plan;
    metrics.count("http_requests_total", { route: label, method, status: String(status) });
    metrics.observe("http_request_duration_seconds", { route: label }, (clock.monotonic() - this.#startedAt) / 1000);
    this.#span?.set({ "http.response.status_code": status });
    this.#span?.end();
    return answer;
  }

  /** Tells the caller which trace its request was; other access points are told nothing of ours. */
  #named(headers: Readonly<Record<string, string>> | undefined): Readonly<Record<string, string>> | undefined {
    const span = this.#plan.family === "as4" ? undefined : this.#span;
    return span === undefined ? headers : { ...headers, traceresponse: span.header };
  }

  /** Response headers: what the reply brings and what the rate row promises. */
  #headersOf(
    given: Readonly<Record<string, string>> | undefined,
    status: number,
  ): Readonly<Record<string, string>> | undefined {
    const { admission } = this;
    const rate = this.#plan.row?.rate;
    const showsRate =
      admission !== undefined && rate !== undefined && (status === 429 || RATES[rate].headers === "always");
    if (given === undefined && !showsRate) return undefined;
    const headers: Record<string, string> = { ...given };
    for (const name in headers)
      if (UNSAFE.test(headers[name] ?? "")) throw new TypeError("a header value with a control or non-ASCII character");
    if (showsRate) {
      headers["X-RateLimit-Limit"] = String(admission.limit);
      headers["X-RateLimit-Remaining"] = String(admission.remaining);
      headers["X-RateLimit-Reset"] = String(admission.resetAt);
    }
    return headers;
  }
}

/** Probes and pages of operators are no work of tenants, and would be most of what is recorded. */
const UNTRACED: ReadonlySet<Family> = new Set(["admin", "console"]);

/** Begins the trace of a request. */
function spanOf({ family, label, method, row }: Plan): RequestSpan | undefined {
  if (!isTracing() || UNTRACED.has(family)) return undefined;
  return openRequestSpan(`${method} ${label}`, {
    "http.request.method": method,
    "http.route": label,
    ...(row === undefined ? {} : { "kurier.operation": row.operation }),
  });
}

/** Families whose callers are people, and how each is told that something did not work. */
const REFUSAL_PAGES: Partial<
  Record<Family, (refusal: Refusal, requestId: string, acceptLanguage: string | undefined) => PageReply<number>>
> = { page: refusalPage, console: consoleRefusal };

/** Characters that would end a header line early, or that two programs could read differently. */
const UNSAFE = /[^\t\x20-\x7e]/;

const isRaw = (body: unknown): body is RawBody =>
  typeof body === "object" &&
  body !== null &&
  "raw" in body &&
  (typeof body.raw === "string" || body.raw instanceof Uint8Array);
