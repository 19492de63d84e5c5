/**
 * Message Level Statuses and invoice responses on their way to the documents that we sent: those that are due are read,
 * and what they do is written, once.
 */
import { isoInstant } from "../../base/clock.js";
import type { Clock } from "../../base/clock.js";
import { newId, parseUuid, participantKey } from "../../base/ids.js";
import type { DocumentId } from "../../base/ids.js";
import type { OutboundState, OutboundTrigger, TimelineKind } from "../../lifecycle/document.js";
import type { ResponseCode } from "../../lifecycle/response.js";
import { LIMITS } from "../../base/limits.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import type { Metrics } from "../../base/metrics.js";
import { firstChars } from "../../base/text.js";
import { backoff, within } from "../../base/waiting/wake.js";
import type { ResponseReader, Validators } from "../accept/facts.js";
import { dateInstant } from "../../peppol/responses/application-response.js";
import { readInvoiceResponse } from "../../peppol/responses/invoice-response.js";
import { readMls } from "../../peppol/responses/mls.js";
import type { Mls } from "../../peppol/responses/mls.js";
import type { NewEvent } from "../../storage/documents/documents.js";
import { openPayload } from "../../storage/payloads/payloads.js";
import { factDigests } from "../../storage/keyring/facts.js";
import { FirmKeyGone } from "../../storage/keyring/firm-key-files.js";
import { SEALED_WORDS, sealWords } from "../../storage/keyring/words.js";
import type { Sealer } from "../../storage/sealer.js";
import type { Json, Sql } from "../../storage/sql.js";
import {
  applyStatus,
  countSettled,
  deferStatus,
  findDueStatuses,
  findMlsTarget,
  findResponseTarget,
  findStoredStatus,
  isStatusSettled,
  settleStatus,
} from "../../storage/documents/received-responses.js";
import type {
  PendingStatus,
  StatusContent,
  StatusKind,
  StatusOutcome,
  StatusTarget,
} from "../../storage/documents/received-responses.js";
import { countFenced } from "../fencing.js";
import { decideMls, decideResponse, isOtherSeat } from "./status-decisions.js";
import type { Said, SaidResponse, StatusDecision } from "./status-decisions.js";

export interface StatusPorts {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Tells the relay that an outbox row was committed. */
  readonly poke: () => void;
}

/**
 * A due status that was read, and the document of ours that it is about. Plain data: it travels to that document's
 * actor.
 */
export interface ReadStatus {
  readonly status: PendingStatus;
  readonly said: Said;
  readonly subject: DocumentId | undefined;
  /** Whether an attempt at that document is under way, whose end this may have to wait for. */
  readonly isUnderWay: boolean;
}

/** The actor that a status belongs to: that of its document, or the status itself when it is about none of ours. */
export const keyOfStatus = ({ subject, status }: ReadStatus): string => subject ?? status.id;

/** What a status does to its document as that stands now. */
interface Reading {
  readonly content: StatusContent;
  readonly decision: StatusDecision;
  /** For the document's timeline. */
  readonly detail: string | undefined;
  readonly meta: Json;
  readonly changes: { readonly statusReason?: string; readonly invoiceResponseStatus?: ResponseCode };
}

/** A stranger's words as a timeline shows them. */
const shown = (text: string): string => firstChars(text, LIMITS.status_text_chars_max);

async function findTarget(
  { sql, sealer }: Pick<StatusPorts, "sql" | "sealer">,
  status: PendingStatus,
  said: Said,
): Promise<StatusTarget | undefined> {
  if (said.kind === "mls") {
    const reference = parseUuid(said.mls.reference);
    return reference === undefined ? undefined : findMlsTarget(sql, reference);
  }
  if (said.kind !== "invoice_response") return undefined;
  const { id, invoice, otherReferences } = said.response;
  const senderKey = participantKey(status.receiver);
  /** Facts that were stored before they were sealed are found too. */
  const forms = (texts: readonly string[]): string[] => [...texts, ...factDigests(sealer, senderKey, texts)];
  return findResponseTarget(sql, {
    senderKey,
    receiverKey: participantKey(status.sender),
    // As it is kept of the invoice.
    numbers: forms([firstChars(invoice.number, LIMITS.document_number_chars_max)]),
    issueDate: invoice.issueDate,
    typeCode: invoice.typeCode,
    otherReferences: forms(otherReferences),
    responseId: id,
  });
}

function mlsReading(status: PendingStatus, mls: Mls, target: StatusTarget | undefined): Reading {
  const issues = mls.issues.slice(0, LIMITS.status_issues_shown).map(({ location, reason, description }) => ({
    location: shown(location),
    reason: shown(reason),
    description: shown(description),
  }));
  const description = mls.description === undefined ? undefined : shown(mls.description);
  return {
    content: { code: mls.code, responseId: mls.id, issuedAt: mls.issuedAt },
    decision: decideMls(mls, status, target),
    detail: description,
    meta: { mls: mls.code, issuedAt: isoInstant(mls.issuedAt), issues },
    changes: mls.code === "RE" && description !== undefined ? { statusReason: description } : {},
  };
}

function responseReading(status: PendingStatus, said: SaidResponse, target: StatusTarget | undefined): Reading {
  const { response } = said;
  const reasons = response.reasons
    .slice(0, LIMITS.status_issues_shown)
    .map(({ list, code, text }) => ({ list, code: shown(code), text: text === undefined ? null : shown(text) }));
  return {
    // Its day alone puts it in order.
    content: {
      code: response.code,
      responseId: response.id,
      issuedAt: dateInstant(response.issuedOn) ?? response.issuedAt,
    },
    decision: decideResponse(said, status, target),
    detail: reasons.find(({ text }) => text !== null)?.text ?? undefined,
    meta: {
      response: response.code,
      issuedAt: isoInstant(response.issuedAt),
      reasons,
      ...(target !== undefined && isOtherSeat(target, status.peerSeat) ? { seat: status.peerSeat } : {}),
    },
    changes: { invoiceResponseStatus: response.code },
  };
}

/** What the timeline says of a status that does not move its document; why stands beside it. */
const IGNORED_KINDS = {
  mls: "document.mls_ignored",
  invoice_response: "document.response_ignored",
} as const satisfies Record<StatusKind, TimelineKind>;

/** Members of an entry that hold what was written, beside its detail, as they are where nothing is shown of it. */
const NO_WORDS = {
  mls: { issues: [] },
  invoice_response: { reasons: [] },
} as const satisfies Record<StatusKind, Readonly<Record<string, readonly string[]>>>;

/** An event with what was said; what people wrote is sealed. */
function eventOf(
  { clock, sealer }: Pick<StatusPorts, "clock" | "sealer">,
  kind: TimelineKind,
  { detail, meta }: { readonly detail: string | null; readonly meta: Json },
): NewEvent {
  const id = newId(clock);
  if (SEALED_WORDS.includes(kind)) return { id, kind, meta: sealWords(sealer, id, { detail, meta }) };
  return { id, kind, meta, ...(detail === null ? {} : { detail }) };
}

/** What a status leaves at its document. */
interface Entry extends Pick<Reading, "changes"> {
  readonly status: OutboundState;
  readonly trigger: OutboundTrigger | undefined;
  readonly kinds: readonly TimelineKind[];
  readonly words: { readonly detail: string | null; readonly meta: Json };
}

/** Why a status moves nothing, and yet leaves a mark. */
type NotApplied = Exclude<StatusOutcome, "applied" | "duplicate" | "unreadable">;

/** @param isLast  whether it is the last of its reason that has a mark */
function markOf(status: PendingStatus, { meta, detail }: Reading, reason: NotApplied, isLast: boolean): Entry["words"] {
  // A stranger's words do not stand in the timeline of a firm.
  const isForeign = reason === "foreign";
  return {
    meta: {
      ...(meta as Record<string, Json>),
      ...(isForeign ? NO_WORDS[status.kind] : {}),
      notApplied: reason,
      seat: status.peerSeat,
      ...(isLast ? { lastShown: true } : {}),
    },
    detail: isForeign ? null : (detail ?? null),
  };
}

/** Writes a status with its document's move or mark. @returns false when the decision was stale */
async function write(
  ports: StatusPorts,
  { status, outcome, content }: Pick<Found, "status"> & Pick<Reading, "content"> & { readonly outcome: StatusOutcome },
  target: StatusTarget,
  { kinds, words, ...entry }: Entry,
): Promise<boolean> {
  const now = ports.clock.now();
  const sealer = await ports.sealer.forFirm(target.firmId);
  const events = kinds.map((kind) => eventOf({ clock: ports.clock, sealer }, kind, words));
  const { id, version } = target;
  return applyStatus(
    ports.sql,
    { status: status.id, outcome, content },
    { id, version, ...entry, detail: `${status.kind} ${content.code}`, now, events },
  );
}

/** What became of a status that was followed; null when another node has settled it or put it off since. */
type Followed = StatusOutcome | "early" | null;

/** Ends a status that leaves nothing at a document; undefined when it had ended, or the decision was stale. */
async function settleUnmarked<Outcome extends StatusOutcome>(
  { sql, clock }: StatusPorts,
  { id }: PendingStatus,
  end: { readonly outcome: Outcome } & Partial<Omit<Parameters<typeof settleStatus>[2], "outcome" | "now">>,
): Promise<Outcome | undefined> {
  const nothing = { content: undefined, documentId: undefined, fault: undefined };
  return (await settleStatus(sql, id, { ...nothing, ...end, now: clock.now() })) ? end.outcome : undefined;
}

/** Of several nodes that have read a status, one puts it off: its wait is doubled once. */
async function putOff(ports: StatusPorts, status: PendingStatus): Promise<"early" | null> {
  const isPutOff = await deferStatus(
    ports.sql,
    status,
    backoff(status.tries + 1, LIMITS.status_early_first_ms, LIMITS.status_early_max_ms),
  );
  return isPutOff ? "early" : null;
}

/** One decision and its write; undefined when the decision was stale, or another node has settled the status. */
async function settle(ports: StatusPorts, key: string, { status, said }: ReadStatus): Promise<Followed | undefined> {
  if (said.kind === "unread") return putOff(ports, status);
  if (said.kind === "unreadable") return settleUnmarked(ports, status, { outcome: "unreadable", fault: said.fault });
  const now = ports.clock.now();
  const target = await findTarget(ports, status, said);
  // Another document than the one whose turn this is: it is read again, for that one's actor.
  if ((target?.id ?? status.id) !== key) return putOff(ports, status);
  const reading = said.kind === "mls" ? mlsReading(status, said.mls, target) : responseReading(status, said, target);
  const { decision, content } = reading;
  if (decision.outcome === "early")
    return now - status.receivedAt > LIMITS.status_early_ms
      ? settleUnmarked(ports, status, { outcome: "late", content })
      : putOff(ports, status);
  if (target === undefined || decision.outcome === "duplicate")
    return settleUnmarked(ports, status, { outcome: decision.outcome, content, documentId: target?.id });
  // A move or a mark under an attempt's feet would lose the attempt's own end.
  if (target.leased) return putOff(ports, status);
  return decision.outcome === "applied"
    ? move(ports, { status, reading, target }, decision)
    : mark(ports, { status, reading, target }, decision.outcome);
}

/** A status whose document is found, and whose decision leaves something there. */
interface Found {
  readonly status: PendingStatus;
  readonly reading: Reading;
  readonly target: StatusTarget;
}

/** Moves the document; undefined when the decision was stale. */
async function move(
  ports: StatusPorts,
  { status, reading: { content, meta, detail, changes }, target }: Found,
  { trigger, move: { to, emits } }: Extract<StatusDecision, { readonly outcome: "applied" }>,
): Promise<"applied" | undefined> {
  const words = { meta, detail: detail ?? null };
  const entry = { status: to, trigger, kinds: emits, words, changes };
  if (!(await write(ports, { status, outcome: "applied", content }, target, entry))) return undefined;
  ports.poke();
  if (status.kind === "mls" && target.exchangedAt !== undefined) {
    const after_ms = Math.max(0, status.receivedAt - target.exchangedAt);
    ports.metrics.observe("mls_received_duration_seconds", {}, after_ms / 1000);
  }
  return "applied";
}

/** Marks the document, as long as not too many of one reason have done so; undefined when the decision was stale. */
async function mark(
  ports: StatusPorts,
  { status, reading, target }: Found,
  reason: NotApplied,
): Promise<NotApplied | undefined> {
  const { content } = reading;
  // Of this document, kind and reason: one that was written meanwhile has made this decision stale.
  const shownBefore = await countSettled(ports.sql, target.id, { kind: status.kind, outcome: reason });
  const { id: documentId, version } = target;
  // What leaves an entry is fenced by its version, and so is what would have left one.
  if (shownBefore >= LIMITS.statuses_ignored_shown)
    return settleUnmarked(ports, status, { outcome: reason, content, documentId, version });
  const isLast = shownBefore + 1 === LIMITS.statuses_ignored_shown;
  const words = markOf(status, reading, reason, isLast);
  const kinds = [IGNORED_KINDS[status.kind]];
  const entry = { status: target.status, trigger: undefined, kinds, words, changes: {} };
  return (await write(ports, { status, outcome: reason, content }, target, entry)) ? reason : undefined;
}

/** What operators are told of. */
const NOT_FOLLOWED: ReadonlySet<StatusOutcome | "early"> = new Set([
  "contradicting",
  "foreign",
  "invalid",
  "unreadable",
  "ambiguous",
  "misdated",
  "out_of_order",
]);

async function settleInTurn(ports: StatusPorts, key: string, read: ReadStatus): Promise<Followed> {
  for (let i = 0; i < LIMITS.stale_version_retries; i += 1) {
    const outcome = await settle(ports, key, read);
    if (outcome !== undefined) return outcome;
    if (await isStatusSettled(ports.sql, read.status.id)) return null;
    countFenced(ports.metrics, "status");
  }
  return putOff(ports, read.status);
}

/**
 * Does what a status says, once, however often and by however many nodes it is called. Runs in the turn of `key`'s
 * actor; the status stays due until its move is written.
 * @returns what became of it
 */
export async function followStatus(ports: StatusPorts, key: string, read: ReadStatus): Promise<Followed> {
  let outcome: Followed;
  try {
    outcome = await settleInTurn(ports, key, read);
  } catch (error) {
    ports.log.error("statuses.handling_failed", errorFields(error));
    return putOff(ports, read.status);
  }
  if (outcome === null) return null;
  ports.metrics.count("statuses_received_total", { kind: read.status.kind, outcome });
  if (NOT_FOLLOWED.has(outcome)) ports.log.warn("statuses.not_followed", { outcome });
  return outcome;
}

/** What reading what is due needs. */
export interface StatusReadPorts extends Pick<StatusPorts, "sql" | "sealer" | "log" | "clock"> {
  readonly validators: ResponseReader & Validators;
}

/** Whether a response keeps the rules of its type. @throws Error where the verdict did not come in time */
async function keepsRules(validators: Validators, status: PendingStatus, payload: Uint8Array): Promise<boolean> {
  const inspected = await within(
    validators.inspect(payload, {
      fairnessKey: `received/${participantKey(status.receiver)}`,
      receivedAt: status.receivedAt,
    }),
    LIMITS.status_validation_ms,
    undefined,
  );
  if (inspected === undefined) throw new Error("the verdict on a response did not come in time");
  return inspected.valid;
}

/** What could not be fetched is fetched later, but for what nobody will ever open: its firm's key is gone. */
const unopened = (error: unknown): Said =>
  error instanceof FirmKeyGone ? { kind: "unreadable", fault: "its firm was erased" } : { kind: "unread" };

async function readStatus(
  { sql, sealer, log, validators }: StatusReadPorts,
  status: PendingStatus,
): Promise<ReadStatus> {
  try {
    const stored = await findStoredStatus(sql, status.id);
    if (stored === undefined) throw new Error("a received status has no payload");
    const payload = await openPayload(sealer, status.id, stored.keyId, stored.sealed);
    const facts = await validators.response(payload);
    const read = status.kind === "mls" ? readMls(facts) : readInvoiceResponse(facts, stored.declared);
    const said: Said =
      typeof read === "string"
        ? { kind: "unreadable", fault: read }
        : "invoice" in read
          ? { kind: "invoice_response", response: read, valid: await keepsRules(validators, status, payload) }
          : { kind: "mls", mls: read };
    const target = await findTarget({ sql, sealer }, status, said);
    return { status, said, subject: target?.id, isUnderWay: target?.leased === true };
  } catch (error) {
    log.error("statuses.unreadable", errorFields(error));
    return { status, said: unopened(error), subject: undefined, isUnderWay: false };
  }
}

/**
 * The statuses whose time has come, longest due first, LIMITS.status_batch at most. Changes nothing.
 * @param waiting  ids of those that were given to their documents already. @default none
 */
export async function readDueStatuses(
  ports: StatusReadPorts,
  waiting: readonly string[] = [],
): Promise<readonly ReadStatus[]> {
  const due = await findDueStatuses(ports.sql, LIMITS.status_batch, waiting);
  const read: ReadStatus[] = [];
  // One after another: the payload of one status, which may be large, is in memory at a time.
  for (const status of due) read.push(await readStatus(ports, status));
  return read;
}
