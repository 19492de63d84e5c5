/**
 * The verdict on what we receive and the status that we owe for it: every document is judged before its firm sees it,
 * failures are always said, successes when they were asked for.
 */
import type { Clock, Instant } from "../../base/clock.js";
import { Refusal } from "../../base/errors.js";
import { newId, participantParts } from "../../base/ids.js";
import { receivedLifecycle } from "../../lifecycle/received.js";
import { LIMITS } from "../../base/limits.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import { budget } from "../../base/memory/budgets.js";
import { createOctets } from "../../base/memory/octets.js";
import type { Octets } from "../../base/memory/octets.js";
import { freeOctets } from "../../base/memory/release.js";
import type { Metrics } from "../../base/metrics.js";
import { within } from "../../base/waiting/wake.js";
import { buildMls } from "../../peppol/responses/mls-builder.js";
import { MLS_DOCUMENT_TYPE, MLS_PROCESS } from "../../peppol/responses/mls.js";
import type { MlsCode, MlsIssue } from "../../peppol/responses/mls.js";
import { FirmKeyGone } from "../../storage/keyring/firm-key-files.js";
import { openPayload } from "../../storage/payloads/payloads.js";
import type { Sealer } from "../../storage/sealer.js";
import type { NewServiceMessage } from "../../storage/documents/service-messages.js";
import { isPassing } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { endDuty, findDutyPayload, oldestPendingMls, takeDuties } from "../../storage/documents/duties.js";
import type { DutySize, HeldEnd, TakenDuty } from "../../storage/documents/duties.js";
import type { DocumentFinding, Validators } from "../accept/facts.js";
import { keptFacts } from "../kept-facts.js";
import { newServiceMessage } from "../provider.js";
import type { Provider } from "../provider.js";
import { countVerdict } from "./held.js";
import { isJudged } from "./judged.js";
import { verdictOn } from "./verdict.js";
import type { DocumentVerdict } from "./verdict.js";

export type { TakenDuty } from "../../storage/documents/duties.js";

export interface DutyPorts {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly validators: Validators;
  readonly provider: Provider;
  /** Octets that large documents have that are read to be judged; others wait. @default a part of the workers' queue */
  readonly judged_bytes_max?: number;
}

/** The same, with the octets that all who judge share. */
type Judging = DutyPorts & { readonly room: Octets };

type DutyDecision =
  | { readonly kind: "say"; readonly code: MlsCode }
  | { readonly kind: "silence" }
  | { readonly kind: "wait"; readonly wait_ms: number };

/**
 * Decides without I/O. A firm that confirms the document in time makes the status AP; the others get AB, which claims
 * no more than that it lies in their inbox. A response is in its document's record, which is its place.
 * @source design/as4.md, section 11, MLS-3
 */
function decideDuty(
  duty: Pick<TakenDuty, "always" | "acknowledged" | "kind" | "receivedAt">,
  valid: boolean,
  now: Instant,
): DutyDecision {
  if (!valid) return { kind: "say", code: "RE" };
  if (!duty.always) return { kind: "silence" };
  if (duty.acknowledged) return { kind: "say", code: "AP" };
  const wait_ms = duty.receivedAt + LIMITS.mls_confirmation_wait_ms - now;
  return duty.kind === "business" && wait_ms > 0 ? { kind: "wait", wait_ms } : { kind: "say", code: "AB" };
}

/**
 * XML and grammar findings are violations of the syntax, all others of business rules; warnings are said beside a
 * failure only.
 */
const issueOf = ({ layer, severity, location, ruleId, message }: DocumentFinding): MlsIssue => ({
  location: location === "" ? "NA" : location,
  reason:
    severity === "warning" || severity === "information" ? "BW" : layer === "xml" || layer === "schema" ? "SV" : "BV",
  description: `[${ruleId}] ${message}`,
});

function messageOf(
  ports: DutyPorts,
  duty: TakenDuty,
  code: MlsCode,
  issues: readonly MlsIssue[],
): Promise<NewServiceMessage> {
  const id = newId(ports.clock);
  const now = ports.clock.now();
  const failures = issues.filter(({ reason }) => reason !== "BW").length;
  const payload = buildMls({
    id,
    issuedAt: now,
    sender: participantParts(ports.provider.participant).value,
    receiver: participantParts(duty.receiver).value,
    code,
    description:
      code === "RE" ? `The document breaks ${failures} rule${failures === 1 ? "" : "s"} and was rejected.` : undefined,
    reference: duty.sbdhInstanceId,
    issues: code === "RE" ? issues : [],
  });
  return newServiceMessage(ports, {
    id,
    kind: "mls",
    subject: `mls/${duty.id}`,
    firmId: duty.firmId,
    about: duty.id,
    code,
    sender: ports.provider.participant,
    receiver: duty.receiver,
    documentTypeId: MLS_DOCUMENT_TYPE,
    processId: MLS_PROCESS,
    payload,
    createdAt: now,
  });
}

/**
 * What a document has in memory at the most: as it is stored, opened beside that, and unpacked. 20 KB in the database
 * may be 21 MB, and 15 MB that do not shrink are 45.
 */
const bytesOf = ({ bytes, sealedBytes }: NonNullable<TakenDuty["payload"]>): number => bytes + 2 * sealedBytes;

/** Reads and unpacks. @returns undefined when it is gone */
async function unpack({ sql, sealer }: DutyPorts, id: string, sealedBytes: number): Promise<Buffer | undefined> {
  const payload = await findDutyPayload(sql, { id, sealedBytes });
  if (payload === undefined) return undefined;
  const plain = await openPayload(sealer, id, payload.keyId, payload.sealed);
  freeOctets(payload.sealed);
  return plain;
}

/**
 * The verdict on the document of a duty. A large one is read only where there is room for it, and the room is its own
 * for as long as a worker may hold it. A small one needs none.
 * @returns undefined where the verdict did not come in time
 * @throws Refusal TEMPORARY when too many wait for room, or the workers' queue is full
 */
async function inspect(ports: Judging, duty: TakenDuty): Promise<DocumentVerdict | undefined> {
  const { clock, room, validators } = ports;
  const { id, firmId, payload, declared, receivedAt } = duty;
  if (payload === undefined) return undefined;
  const until = clock.monotonic() + LIMITS.status_validation_ms;
  const over = new AbortController();
  const inspected = async (): Promise<DocumentVerdict | undefined> => {
    const isLarge = payload.bytes > LIMITS.verdict_at_once_bytes_max;
    const taken = isLarge ? await room.take(bytesOf(payload), firmId, over.signal) : undefined;
    try {
      // Its lease may be over, and somebody else judges it.
      if (clock.monotonic() >= until) return undefined;
      const plain = await unpack(ports, id, payload.sealedBytes);
      if (plain === undefined) return undefined;
      taken?.resize(plain.length);
      return await verdictOn(validators, plain, declared, { fairnessKey: `received/${firmId}`, receivedAt });
    } finally {
      taken?.giveBack();
    }
  };
  try {
    return await within(inspected(), LIMITS.status_validation_ms, undefined);
  } finally {
    // Its room is for those who wait behind it, and for its next try.
    over.abort();
  }
}

const refusedFor = (findings: readonly DocumentFinding[]): HeldEnd => ({
  to: receivedLifecycle.HELD.rules_refused.to,
  findings: findings
    .slice(0, LIMITS.mls_issues_max)
    .map(({ ruleId, layer, severity, location, message }) => ({ ruleId, layer, severity, location, message })),
});

/**
 * What becomes of a held document: its firm sees it, with what lists show of it, which nobody knew before its verdict;
 * or never does.
 */
async function heldEnd(
  ports: DutyPorts,
  duty: TakenDuty,
  { valid, findings, facts }: DocumentVerdict,
): Promise<HeldEnd> {
  if (!valid) return refusedFor(findings);
  const { to } = receivedLifecycle.HELD.rules_passed;
  if (facts === undefined) return { to };
  const sealer = await ports.sealer.forFirm(duty.firmId);
  return { to, facts: keptFacts(sealer, { id: duty.id, sender: duty.declared.sender }, facts) };
}

/** What is said when the findings themselves cannot be. */
const UNWRITTEN: readonly DocumentFinding[] = [
  {
    ruleId: "ENGINE-FINDINGS",
    layer: "peppol",
    severity: "fatal",
    location: "",
    message: "The document breaks rules, and what was found in it could not be written down.",
  },
];

/** Ends the duty with a verdict, or puts its last word off. @returns whether it was written */
async function write(ports: DutyPorts, duty: TakenDuty, verdict: DocumentVerdict): Promise<boolean> {
  const { valid, findings } = verdict;
  const decision = decideDuty(duty, valid, ports.clock.now());
  const said =
    decision.kind === "say"
      ? { code: decision.code, message: await messageOf(ports, duty, decision.code, findings.map(issueOf)) }
      : {};
  return endDuty(ports.sql, duty.id, {
    document: duty.held ? await heldEnd(ports, duty, verdict) : undefined,
    wait_ms: decision.kind === "wait" ? decision.wait_ms : undefined,
    ...said,
  });
}

/** A rejection that cannot be written with its findings is written without: nobody escapes it by what was found. */
async function writeVerdict(ports: DutyPorts, duty: TakenDuty, verdict: DocumentVerdict): Promise<boolean> {
  try {
    return await write(ports, duty, verdict);
  } catch (error) {
    if (verdict.valid || error instanceof Refusal || isPassing(error)) throw error;
    ports.log.error("inbound.findings_unwritable", { documentId: duty.id, ...errorFields(error) });
    return write(ports, duty, { valid: false, findings: UNWRITTEN });
  }
}

async function decide(ports: Judging, duty: TakenDuty): Promise<void> {
  // What its firm has seen is not rejected any more: its sender would send a second one of what is booked already.
  const isOpen = (duty.held || duty.kind === "invoice_response") && isJudged(duty.declared.documentTypeId);
  const verdict = isOpen ? await inspect(ports, duty) : { valid: true, findings: [] };
  if (verdict === undefined) {
    await putOff(ports, duty, ports.clock.now());
    return;
  }
  if (!(await writeVerdict(ports, duty, verdict)) || !duty.held) return;
  const after_ms = Math.max(0, ports.clock.now() - duty.receivedAt);
  countVerdict(ports.metrics, verdict.valid ? "passed" : "refused", after_ms);
}

/** The part of its age that a held document waits again. */
const HELD_GROWTH = 24;

/**
 * A held document is tried again for as long as it is held, in longer and longer steps. One whose status alone is owed
 * is given up after days: nobody waits for it any more.
 */
async function putOff(ports: DutyPorts, duty: TakenDuty, now: Instant): Promise<void> {
  const age = now - duty.receivedAt;
  if (!duty.held && age > LIMITS.status_early_ms) {
    ports.log.error("inbound.verdict_impossible", { documentId: duty.id });
    await endDuty(ports.sql, duty.id, {});
    return;
  }
  const wait = duty.held
    ? Math.min(Math.max(LIMITS.held_again_ms, age / HELD_GROWTH), LIMITS.status_early_max_ms)
    : LIMITS.mls_decide_again_ms;
  await endDuty(ports.sql, duty.id, { wait_ms: wait });
}

const FIRM_ERASED: readonly DocumentFinding[] = [
  {
    ruleId: "ENGINE-FIRM-ERASED",
    layer: "peppol",
    severity: "fatal",
    location: "",
    message: "The firm was erased, and its key with it: nobody can open the document any more.",
  },
];

/**
 * In a database from before an erasure nobody opens what a firm received, and its firm never sees what is held. Nothing
 * is said of it: after a restore nobody knows what was said of it before.
 */
async function endForGood({ sql }: DutyPorts, { id, held }: TakenDuty): Promise<void> {
  await endDuty(sql, id, held ? { document: refusedFor(FIRM_ERASED) } : {});
}

/**
 * Makes what judges a received document and decides what is said of it. It runs in the turn of the document's actor,
 * under the duty's lease.
 */
export function createJudge(given: DutyPorts): (duty: TakenDuty) => Promise<void> {
  const bytes_max = given.judged_bytes_max ?? budget("validator_queue_bytes_max") * LIMITS.judged_queue_share;
  const ports = { ...given, room: createOctets(bytes_max, LIMITS.judged_waiting_max, LIMITS.judged_firm_share) };
  return (duty) => judge(ports, duty);
}

async function judge(ports: Judging, duty: TakenDuty): Promise<void> {
  try {
    await decide(ports, duty);
  } catch (error) {
    if (!(error instanceof Refusal))
      ports.log.error("inbound.verdict_failed", { documentId: duty.id, ...errorFields(error) });
    await (error instanceof FirmKeyGone ? endForGood(ports, duty) : putOff(ports, duty, ports.clock.now()));
  }
}

/**
 * Leases duties of a size whose time has come to this node. A lease that ends with its node is taken again.
 * @param size  @default small
 */
export const leaseDuties = (
  { sql, owner }: Pick<DutyPorts, "sql"> & { readonly owner: string },
  size: DutySize = "small",
): Promise<readonly TakenDuty[]> =>
  takeDuties(sql, { owner, lease_ms: LIMITS.status_lease_ms, limit: LIMITS.duties_taken_max, size });

/** Sets mls_pending_oldest_seconds before an exposition. */
export async function observePendingMls(ports: {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly metrics: Metrics;
}): Promise<void> {
  const oldest = await oldestPendingMls(ports.sql);
  ports.metrics.set(
    "mls_pending_oldest_seconds",
    {},
    oldest === undefined ? 0 : Math.max(0, (ports.clock.now() - oldest) / 1000),
  );
}
