/**
 * The way over the network: look the recipient up, check whom we are about to trust, sign and encrypt, post, judge what
 * comes back, keep the evidence. One attempt in, one outcome of the closed list out; it never throws.
 */
import { randomUUID } from "node:crypto";

import { PoolBusy } from "../../../validators/pool.js";
import type { OwnKey } from "../../../validators/wss/protocol.js";
import { isoInstant } from "../../base/clock.js";
import type { Clock, Instant } from "../../base/clock.js";
import type { MlsType } from "../../base/config.js";
import { participantKey } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import { traced } from "../../base/tracing/tracing.js";
import type { OpenSpan } from "../../base/tracing/tracing.js";
import { WITH_ERROR } from "../../lifecycle/attempt.js";
import type { EvidenceArchive } from "../../storage/evidence/archive.js";
import type { NewEvidence } from "../../storage/evidence/evidence.js";
import type { EvidencePart } from "../../storage/evidence/record.js";
import type { ReadyMessage } from "./departure.js";
import { as4Jobs } from "./jobs.js";
import type { As4Jobs } from "./jobs.js";
import { commonName, OTHER_MESSAGE } from "./messages.js";
import type { Answer, As4Crypto } from "./messages.js";
import { looksUpAgain } from "./ebms-errors.js";
import { outcomeOfAnswer, outcomeOfFault, outcomeOfStatus, UNJUDGED } from "./outcomes.js";
import type { AnswerContext } from "./outcomes.js";
import { holdsRefusal } from "./signal.js";
import { metadataEvidence, trustEvidence } from "./trust.js";
import type { EndpointFound, Endpoints, OwnAccessPoint, PeerTrust, PeerVerdict } from "./ports.js";
import type { Http, HttpFault, HttpResult } from "../network/http.js";
import { outcomeOfRouting, ROUTING } from "../discovery/routing.js";
import { DOCUMENT_TYPE_SCHEME, PROCESS_SCHEME } from "../envelope/identifiers.js";
import { classifyInbound } from "../responses/inbound-kind.js";
import type { Begun, Later, Passage, Place, Receivers } from "./send-gate.js";
import { withoutEvidence, WORKERS_BUSY } from "../transport.js";
import type { Exchange, Outcome, Transport } from "../transport.js";

interface As4TransportPorts {
  readonly endpoints: Endpoints;
  readonly trust: PeerTrust;
  readonly own: OwnAccessPoint;
  readonly crypto: As4Crypto;
  /** Builds messages and judges answers in workers. @default done here, with `crypto` */
  readonly jobs?: Pick<As4Jobs, "build" | "judge">;
  readonly http: Http;
  readonly receivers: Receivers;
  readonly evidence: EvidenceArchive;
  /** Which status we ask for business documents; undefined says nothing, which means FAILURE_ONLY. */
  readonly mlsType?: MlsType;
  readonly clock: Clock;
  readonly log: Log;
}

/** The same, with whoever does the work. */
type Sending = As4TransportPorts & { readonly jobs: Pick<As4Jobs, "build" | "judge"> };

type Endpoint = Extract<EndpointFound, { readonly kind: "endpoint" }>;
type Trusted = Extract<PeerVerdict, { readonly kind: "trusted" }>;

/** Whom this attempt goes to, found and checked, and the attempt as its gate knows it. */
interface Target {
  readonly endpoint: Endpoint;
  readonly verdict: Trusted;
  readonly begun: Begun;
  /** Both clocks before it was looked up. */
  readonly since: Moment;
}

/** One moment by both clocks. */
interface Moment {
  readonly now: Instant;
  readonly monotonic: number;
}

const momentOf = (clock: Clock): Moment => ({ now: clock.now(), monotonic: clock.monotonic() });

/** Makes the transport over AS4: one attempt looks up, signs, encrypts, posts, judges and archives. */
export function createAs4Transport(given: As4TransportPorts): Transport {
  const ports: Sending = { ...given, jobs: given.jobs ?? as4Jobs(given.crypto) };
  const { endpoints, trust, receivers, log } = ports;

  async function deliver(exchange: Exchange, signal: AbortSignal): Promise<Outcome> {
    const since = momentOf(given.clock);
    const found = await traced("look up", () => endpoints.find(exchange, signal));
    if (found.kind === "none") return outcomeOfRouting(found.status, found.reason);
    const verdict = found.verdict ?? (await trust.judge(found.certificate, signal));
    if (verdict.kind === "refused") {
      endpoints.forget(exchange.receiver);
      return { kind: "certificate_rejected", code: verdict.fault, detail: ROUTING.certificate_invalid.detail };
    }
    const begun = receivers.begin(found.url, participantKey(exchange.receiver));
    if (begun.kind === "later") return deferredBy(begun);
    try {
      const result = await send(ports, exchange, { endpoint: found, verdict, begun, since }, signal);
      if (result.stale) endpoints.forget(exchange.receiver);
      return result.outcome;
    } finally {
      begun.end();
    }
  }

  return {
    deliver: async (exchange, signal) => {
      try {
        return await deliver(exchange, signal);
      } catch (error) {
        log.error("as4.exchange_failed", {
          documentId: exchange.documentId,
          attempt: exchange.attempt,
          ...errorFields(error),
        });
        return { kind: "internal" };
      }
    },
  };
}

interface Sent {
  readonly outcome: Outcome;
  /** Whether what we know of the recipient seems to be out of date. */
  readonly stale: boolean;
}

async function send(ports: Sending, exchange: Exchange, target: Target, signal: AbortSignal): Promise<Sent> {
  if (signal.aborted) return { outcome: TIME_OVER, stale: false };
  const signer = ports.own.current();
  const message = await traced("seal", () => build(ports, { exchange, target, signer }).catch(busyOrThrow));
  if (message === "busy") return { outcome: WORKERS_BUSY, stale: false };
  if (message.kind === "refused")
    return {
      outcome: {
        kind: "unsendable",
        code: message.fault,
        detail: "The document cannot be put into an envelope of the network.",
      },
      stale: false,
    };
  const place = await new Promise<Place | Later>(target.begun.enter);
  if (place.kind === "later") return { outcome: deferredBy(place), stale: false };
  if (isSet(ports.clock, target.since)) {
    place.leave();
    return { outcome: CLOCK_SET, stale: false };
  }
  const sentAt = ports.clock.now();
  const result = await exchanged(target.endpoint, place, (onSending) =>
    ports.http({
      method: "POST",
      use: "as4",
      url: target.endpoint.url,
      ...(target.endpoint.target === undefined ? {} : { target: target.endpoint.target }),
      headers: { "content-type": message.contentType },
      body: message.body,
      signal,
      bytes_max: LIMITS.as4_answer_bytes_max,
      timeout_ms: LIMITS.as4_exchange_timeout_ms,
      onSending,
    }),
  );
  if (result === "not begun") return { outcome: TIME_OVER, stale: false };
  const answeredAt = ports.clock.now();
  const judged = await traced("judge the receipt", async (span) => {
    const found = await judge(ports, { exchange, target, message, result }).catch((error: unknown) =>
      unjudged(ports, { exchange, target, result }, error),
    );
    span?.set({ "kurier.outcome": found.outcome.kind });
    return found;
  });
  const transmitted = result.kind === "response" || result.uploaded;
  const stale = isStale(result, judged.answer);
  if (!transmitted) return { outcome: judged.outcome, stale };
  const evidence = await traced("keep evidence", () =>
    keep(ports, { exchange, target, message, result, signer, judged, sentAt, answeredAt }),
  );
  // An exchange without evidence proves nothing. The next attempt brings it: the peer answers "duplicate", and that
  // answer is archived.
  if (evidence === undefined) return { outcome: withoutEvidence(judged.outcome), stale };
  return { outcome: { ...judged.outcome, evidence }, stale };
}

/** Our own work took the whole time of the attempt, so that the receiver was not even asked. */
const TIME_OVER: Outcome = {
  kind: "internal",
  code: "TIME_OVER",
  detail: "The time of the attempt was over before anything was sent.",
};

/**
 * Whether the wall clock was set since then. Evidence says by it when the recipient was looked up and when the message
 * left: with a step in between the metadata and the revocation answer would for ever be those of another time.
 */
const isSet = (clock: Clock, since: Moment): boolean =>
  Math.abs(clock.now() - since.now - (clock.monotonic() - since.monotonic)) > LIMITS.clock_step_ms;

/** Nothing was sent: the next try uses what is believed by the clock as it is then. */
const CLOCK_SET = {
  kind: "deferred",
  code: "CLOCK_SET",
  retryAfter_ms: LIMITS.clock_set_retry_ms,
  keepsPlace: true,
} as const satisfies Outcome;

function busyOrThrow(error: unknown): "busy" {
  if (error instanceof PoolBusy) return "busy";
  throw error;
}

const deferredBy = ({ reason, retryAfter_ms, down_ms }: Later): Outcome => ({
  ...{ kind: "deferred", code: reason, retryAfter_ms },
  keepsPlace: reason === "full",
  mayBeBack: reason === "down" && down_ms < LIMITS.receiver_gone_ms,
});

/** The exchange over the network, which is told nothing of the trace: the other side finds it by the message's id. */
const exchanged = (
  { url }: Pick<Endpoint, "url">,
  place: Place,
  post: (onSending: () => void) => Promise<HttpResult>,
): Promise<HttpResult | "not begun"> =>
  traced("as4 exchange", async (span) => {
    const { result, hasBegun } = await onPlace(place, post);
    span?.set(saidOf(url, result));
    return hasBegun ? result : "not begun";
  });

const saidOf = (url: string, result: HttpResult): Parameters<OpenSpan["set"]>[0] => ({
  "server.address": URL.canParse(url) ? new URL(url).host : "",
  ...(result.kind === "response" ? { "http.response.status_code": result.status } : { "error.type": result.code }),
});

/**
 * Posts while it holds a place on the wire, and frees the place with the answer: judging and archiving take our own
 * time and must not keep the next message waiting. It has not begun where our time was over before the first octet.
 */
async function onPlace(
  place: Place,
  post: (onSending: () => void) => Promise<HttpResult>,
): Promise<{ readonly result: HttpResult; readonly hasBegun: boolean }> {
  let passage: Passage | undefined = "failed";
  let isSending = false;
  try {
    const result = await post(() => {
      isSending = true;
      place.sending();
    });
    const hasBegun = isSending || result.kind === "response" || result.fault !== "aborted";
    passage = hasBegun ? passageOf(result) : undefined;
    return { result, hasBegun };
  } finally {
    place.leave(passage);
  }
}

/**
 * Whether the receiver is up: a refusal in ebMS is an answer whatever its HTTP status, any other 5xx says that nobody
 * is at home.
 */
const passageOf = (result: HttpResult): Passage =>
  result.kind === "response" && (result.status < 500 || isSoap(result.contentType)) ? "passed" : "failed";

const isSoap = (contentType: string): boolean =>
  /^\s*(?:application\/soap\+xml|multipart\/related)\b/i.test(contentType);

/**
 * A status is asked for business documents alone: statuses are not answered by statuses, and of our responses and
 * reports we need to hear only failures.
 */
const statusAsked = ({ mlsType }: As4TransportPorts, { documentTypeId }: Exchange): { readonly mlsType?: MlsType } =>
  mlsType === undefined || classifyInbound(documentTypeId) !== "business" ? {} : { mlsType };

/**
 * Faults after which the access point may have moved: nobody is there, or somebody else. One that is only slow or busy
 * has not.
 */
const STALE_FAULTS: ReadonlySet<HttpFault> = new Set(["name_unknown", "connect_refused", "tls", "protocol"]);
const STALE_STATUSES: ReadonlySet<number> = new Set([301, 302, 307, 308, 404, 410]);

/** Whether the recipient should be looked up anew before the next attempt. */
function isStale(result: HttpResult, answer: Answer | undefined): boolean {
  if (result.kind === "failed") return STALE_FAULTS.has(result.fault);
  return answer?.kind === "error"
    ? answer.errors.some(({ code }) => looksUpAgain(code))
    : STALE_STATUSES.has(result.status);
}

function build(
  ports: Sending,
  { exchange, target: { endpoint }, signer }: Pick<Exchanged, "exchange" | "target" | "signer">,
): ReturnType<As4Jobs["build"]> {
  return ports.jobs.build({
    sbd: {
      sender: exchange.sender,
      receiver: exchange.receiver,
      documentType: exchange.documentTypeId,
      process: exchange.processId,
      instanceId: exchange.sbdhInstanceId,
      createdAt: exchange.createdAt,
      countryC1: exchange.countryC1,
      payload: exchange.payload,
      ...statusAsked(ports, exchange),
    },
    message: {
      messageId: exchange.as4MessageId,
      timestamp: isoInstant(ports.clock.now()),
      fromParty: commonName(signer.certificate) ?? "",
      toParty: commonName(endpoint.certificate) ?? "",
      service: exchange.processId,
      serviceType: PROCESS_SCHEME,
      action: `${DOCUMENT_TYPE_SCHEME}::${exchange.documentTypeId}`,
      conversationId: exchange.documentId,
      originalSender: exchange.sender,
      finalRecipient: exchange.receiver,
    },
    id: randomUUID(),
    signer,
    recipient: endpoint.certificate,
  });
}

interface Judged {
  readonly outcome: Outcome;
  readonly answer: Answer | undefined;
  /** The judgement of the answer's signer, where it is not the certificate that we encrypted to. */
  readonly answerVerdict?: PeerVerdict;
}

async function judge(
  ports: Sending,
  { exchange, target: { endpoint }, message, result }: Pick<Exchanged, "exchange" | "target" | "message" | "result">,
): Promise<Judged> {
  const named = (outcome: Outcome): Outcome => ({ ...outcome, ...seatOf(endpoint) });
  if (result.kind === "failed") {
    const outcome = outcomeOfFault(result.fault, result.uploaded);
    // Who may have it without ever having said so may still tell what became of it; who was not reached has not got it.
    return { outcome: result.uploaded ? named(outcome) : outcome, answer: undefined };
  }
  const sent = { messageId: exchange.as4MessageId, references: message.references, recipient: endpoint.certificate };
  const answer = await ports.jobs.judge({ bytes: result.body, contentType: result.contentType, sent });
  if (answer.kind === "unconfirmed" && answer.error === "EBMS:0301")
    return { outcome: named(withError(outcomeOfStatus(result.status, answer.reason, result), result, answer)), answer };
  const answerVerdict =
    answer.kind !== "unconfirmed" && answer.signer !== undefined && !answer.sameCertificate
      ? await ports.trust.judge(answer.signer)
      : undefined;
  const context: AnswerContext = {
    answers: exchange.answers,
    secure: result.connection.tlsVersion !== undefined,
    signerTrusted: answerVerdict?.kind === "trusted",
  };
  return {
    outcome: {
      ...named(withError(outcomeOfAnswer(answer, context), result, answer)),
      ...lookedUpOf(endpoint),
      ...(result.isRepeated === undefined ? {} : { isRepeated: result.isRepeated }),
    },
    answer,
    ...(answerVerdict === undefined ? {} : { answerVerdict }),
  };
}

/** Marks what came of an answer that may have refused the message, and that nobody could judge. */
function withError(outcome: Outcome, result: HttpResult, answer?: Answer): Outcome {
  const isJudged = answer !== undefined && (answer.kind !== "unconfirmed" || answer.reason === OTHER_MESSAGE);
  if (isJudged || result.kind === "failed" || !holdsRefusal(result.body)) return outcome;
  return { ...outcome, code: `${outcome.code ?? ""} ${WITH_ERROR}` };
}

const lookedUpOf = ({ metadata }: Endpoint): Pick<Outcome, "lookedUpAt"> =>
  metadata === undefined ? {} : { lookedUpAt: metadata.fetchedAt };

const seatOf = ({ certificate }: Endpoint): Pick<Outcome, "peerSeat"> => {
  const peerSeat = commonName(certificate);
  return peerSeat === undefined ? {} : { peerSeat };
};

/**
 * What an answer is worth whose judgement has failed. It was transmitted: as a fault of ours it would stay with the
 * documents that nobody has, which may be cancelled and sent anew. What is no SOAP is no receipt, whoever reads it.
 */
function unjudged(
  { log }: Sending,
  { exchange, target: { endpoint }, result }: Pick<Exchanged, "exchange" | "target" | "result">,
  error: unknown,
): Judged {
  log.error("as4.answer_unjudged", {
    documentId: exchange.documentId,
    attempt: exchange.attempt,
    ...errorFields(error),
  });
  const outcome =
    result.kind === "failed" || isSoap(result.contentType)
      ? UNJUDGED
      : outcomeOfStatus(result.status, "unjudged", result);
  return { outcome: { ...withError(outcome, result), ...seatOf(endpoint) }, answer: undefined };
}

/** Adds the issuers of the answer's signer where its certificate was renewed since our look-up. */
function withIssuersOf(verdict: Trusted, other: PeerVerdict | undefined): Trusted {
  const known = verdict.issuers ?? [];
  const more = (other?.kind === "trusted" ? (other.issuers ?? []) : []).filter(
    (issuer) => !known.some((one) => Buffer.from(one).equals(issuer)),
  );
  return more.length === 0 ? verdict : { ...verdict, issuers: [...known, ...more] };
}

interface Exchanged {
  readonly exchange: Exchange;
  readonly target: Target;
  readonly message: ReadyMessage;
  readonly result: HttpResult;
  readonly signer: OwnKey;
  readonly judged: Judged;
  readonly sentAt: Instant;
  readonly answeredAt: Instant;
}

/**
 * Archives what was exchanged.
 * @returns its record, which is stored safely; undefined when it could not be
 */
async function keep({ evidence, log }: As4TransportPorts, exchanged: Exchanged): Promise<NewEvidence | undefined> {
  const {
    exchange,
    target: { endpoint, verdict },
    message,
    result,
    judged,
    sentAt,
    answeredAt,
  } = exchanged;
  const id = randomUUID();
  const response = result.kind === "response" ? result : undefined;
  const optional = (name: EvidencePart["name"], bytes: Uint8Array | undefined): EvidencePart[] =>
    bytes === undefined ? [] : [{ name, bytes }];
  const facts = {
    direction: "outbound" as const,
    id,
    outcome: judged.outcome.kind,
    documentId: exchange.documentId,
    ...(exchange.firmId === undefined ? {} : { firmId: exchange.firmId }),
    messageId: exchange.as4MessageId,
    instanceId: exchange.sbdhInstanceId,
    sender: exchange.sender,
    receiver: exchange.receiver,
    documentTypeId: exchange.documentTypeId,
    processId: exchange.processId,
    attempt: exchange.attempt,
    requestAt: sentAt,
    requestContentType: message.contentType,
    requestUrl: endpoint.url,
    ...(judged.outcome.code === undefined ? {} : { code: judged.outcome.code }),
    ...(response === undefined
      ? {}
      : {
          answerAt: answeredAt,
          answerStatus: response.status,
          answerContentType: response.contentType,
          connection: defined(response.connection),
        }),
  };
  try {
    const metadata = metadataEvidence(endpoint.metadata);
    const trusted = await trustEvidence(evidence, withIssuersOf(verdict, judged.answerVerdict));
    return await evidence.keep({
      referencesSha256: message.referencesSha256,
      record: {
        facts: { ...facts, ...trusted.facts, ...metadata.facts },
        parts: [
          { name: "request", bytes: message.body, sha256: message.sha256 },
          { name: "payload", ...(await evidence.seal(id, message.compressed, message.compressedSha256)) },
          ...optional("answer", response?.body),
          { name: "signer", bytes: exchanged.signer.certificate },
          { name: "recipient", bytes: endpoint.certificate },
          ...optional("answer-signer", judged.answer?.kind === "receipt" ? judged.answer.signer : undefined),
          ...metadata.parts,
          ...trusted.parts,
        ],
      },
    });
  } catch (error) {
    log.error("as4.evidence_not_stored", {
      documentId: exchange.documentId,
      attempt: exchange.attempt,
      ...errorFields(error),
    });
    return undefined;
  }
}

const defined = <T extends object>(object: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
