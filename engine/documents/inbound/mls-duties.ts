/**
 * The verdict on what we receive and the status that we owe for it: every document is judged before its firm sees it,
 * failures are always said, successes when they were asked for.
 */
import type { Clock, Instant } from "../../base/clock.js";
import { Refusal } from "../../base/errors.js";
import { within } from "../../events/wake.js";
import { newId, participantParts } from "../../base/ids.js";
import type { ReceivedDocumentId } from "../../base/ids.js";
import { receivedLifecycle } from "../../lifecycle/received.js";
import { LIMITS } from "../../base/limits.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import type { Metrics } from "../../base/metrics.js";
import { BILLING_CAPABILITIES, canonicalDocumentTypeId } from "../../peppol/envelope/identifiers.js";
import { INVOICE_RESPONSE_DOCUMENT_TYPE } from "../../peppol/responses/invoice-response.js";
import { buildMls } from "../../peppol/responses/mls-builder.js";
import { MLS_DOCUMENT_TYPE, MLS_PROCESS } from "../../peppol/responses/mls.js";
import type { MlsCode, MlsIssue } from "../../peppol/responses/mls.js";
import { findOverdueHeld, releaseReceived } from "../../storage/documents/received.js";
import { openPayload } from "../../storage/payloads/payloads.js";
import type { Sealer } from "../../storage/sealer.js";
import type { NewServiceMessage } from "../../storage/documents/service-messages.js";
import type { Sql } from "../../storage/sql.js";
import { endDuty, oldestPendingMls, takeDuties } from "../../storage/documents/duties.js";
import type { HeldEnd, TakenDuty } from "../../storage/documents/duties.js";
import type { DocumentFinding, Inspection, Validators } from "../accept/facts.js";
import { newServiceMessage } from "../provider.js";
import type { Provider } from "../provider.js";

export interface DutyPorts {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly validators: Validators;
  readonly provider: Provider;
}

/** Document types whose rules we have; of others we say nothing but that they arrived. */
const JUDGED: ReadonlySet<string> = new Set([
  ...BILLING_CAPABILITIES.map(({ documentTypeId }) => documentTypeId),
  INVOICE_RESPONSE_DOCUMENT_TYPE,
]);

export const isJudged = (documentTypeId: string): boolean => JUDGED.has(canonicalDocumentTypeId(documentTypeId));

type DutyDecision =
  | { readonly kind: "say"; readonly code: MlsCode }
  | { readonly kind: "silence" }
  | { readonly kind: "wait"; readonly until: Instant };

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
  const until = duty.receivedAt + LIMITS.mls_confirmation_wait_ms;
  return duty.kind === "business" && now < until ? { kind: "wait", until } : { kind: "say", code: "AB" };
}

/**
 * XML and grammar findings are violations of the syntax, all others of business rules; warnings are said beside a
 * failure only.
 */
const issueOf = ({ layer, severity, location, ruleId, message }: DocumentFinding): MlsIssue => ({
  location: location === "" ? "NA" : location,
  reason: severity === "warning" ? "BW" : layer === "xml" || layer === "schema" ? "SV" : "BV",
  description: `[${ruleId}] ${message}`,
});

function messageOf(
  ports: DutyPorts,
  duty: TakenDuty,
  code: MlsCode,
  issues: readonly MlsIssue[],
): Promise<NewServiceMessage> {
  const id = newId(ports.clock);
  const failures = issues.filter(({ reason }) => reason !== "BW").length;
  const payload = buildMls({
    id,
    issuedAt: ports.clock.now(),
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
  });
}

/** The verdict on the document; undefined when there was none in time. */
async function inspect(ports: DutyPorts, duty: TakenDuty): Promise<Inspection | undefined> {
  if (duty.payload === undefined) return undefined;
  const payload = await openPayload(ports.sealer, duty.id, duty.payload.keyId, duty.payload.sealed);
  return within(
    ports.validators.inspect(payload, { fairnessKey: `received/${duty.firmId}`, receivedAt: duty.receivedAt }),
    LIMITS.status_validation_ms,
    undefined,
  );
}

/** What becomes of a held document: its firm sees it, or never does. */
const heldEnd = (valid: boolean, findings: readonly DocumentFinding[]): HeldEnd =>
  valid
    ? { to: receivedLifecycle.HELD.rules_passed.to }
    : {
        to: receivedLifecycle.HELD.rules_refused.to,
        findings: findings
          .slice(0, LIMITS.mls_issues_max)
          .map(({ ruleId, layer, severity, location, message }) => ({ ruleId, layer, severity, location, message })),
      };

async function decide(ports: DutyPorts, duty: TakenDuty): Promise<void> {
  // What its firm has seen is not rejected any more: its sender would send a second one of what is booked already.
  const isOpen = (duty.held || duty.kind === "invoice_response") && isJudged(duty.documentTypeId);
  const inspection = isOpen ? await inspect(ports, duty) : { valid: true, findings: [] };
  const now = ports.clock.now();
  if (inspection === undefined) {
    await putOff(ports, duty, now);
    return;
  }
  const decision = decideDuty(duty, inspection.valid, now);
  const document = duty.held ? heldEnd(inspection.valid, inspection.findings) : undefined;
  const said =
    decision.kind === "say"
      ? { code: decision.code, message: await messageOf(ports, duty, decision.code, inspection.findings.map(issueOf)) }
      : {};
  const written = await endDuty(ports.sql, duty.id, {
    document,
    nextAt: decision.kind === "wait" ? decision.until : undefined,
    ...said,
  });
  if (!written || document === undefined) return;
  ports.metrics.count("received_verdicts_total", { verdict: inspection.valid ? "passed" : "refused" });
  ports.metrics.observe(
    "received_verdict_duration_seconds",
    {},
    Math.max(0, ports.clock.now() - duty.receivedAt) / 1_000,
  );
}

/**
 * A document that cannot be judged for days, one that kills its worker each time, is given up: nobody waits for its
 * status any more.
 */
async function putOff(ports: DutyPorts, duty: TakenDuty, now: Instant): Promise<void> {
  if (now - duty.receivedAt > LIMITS.status_early_ms) {
    ports.log.error("inbound.verdict_impossible");
    await endDuty(ports.sql, duty.id, {});
  } else {
    await endDuty(ports.sql, duty.id, {
      nextAt: now + (duty.held ? LIMITS.held_again_ms : LIMITS.mls_decide_again_ms),
    });
  }
}

/** Judges a received document and decides what is said of it. Runs in the turn of its actor, under the duty's lease. */
export async function judge(ports: DutyPorts, duty: TakenDuty): Promise<void> {
  try {
    await decide(ports, duty);
  } catch (error) {
    if (!(error instanceof Refusal)) ports.log.error("inbound.verdict_failed", errorFields(error));
    await putOff(ports, duty, ports.clock.now());
  }
}

/** Documents that have waited LIMITS.held_max_ms for their verdict. Changes nothing. */
export const overdueHeld = ({ sql, clock }: Pick<DutyPorts, "sql" | "clock">): Promise<readonly ReceivedDocumentId[]> =>
  findOverdueHeld(sql, { heldSince: clock.now() - LIMITS.held_max_ms, limit: LIMITS.status_batch });

/**
 * Shows a document to its firm although nobody could judge it in time: a late invoice is worse than one that breaks a
 * rule. From then on it is not rejected. Runs in the turn of its actor.
 * @returns whether it was still held
 */
export async function release({ sql, clock, log, metrics }: DutyPorts, id: ReceivedDocumentId): Promise<boolean> {
  const released = await releaseReceived(sql, id, clock.now() - LIMITS.held_max_ms);
  if (released) {
    metrics.count("received_verdicts_total", { verdict: "not_in_time" });
    log.warn("inbound.verdict_late", { documentId: id });
  }
  return released;
}

/** Leases the duties whose time has come to this node. A lease that ends with its node is taken again. */
export const leaseDuties = ({
  sql,
  clock,
  owner,
}: Pick<DutyPorts, "sql" | "clock"> & { readonly owner: string }): Promise<readonly TakenDuty[]> =>
  takeDuties(sql, { owner, now: clock.now(), lease_ms: LIMITS.status_lease_ms, limit: LIMITS.duties_taken_max });

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
