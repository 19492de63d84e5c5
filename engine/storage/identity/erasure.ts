/** Statements on the erasure of a firm. */
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { FirmId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { BoxOutboundState } from "../../lifecycle/box.js";
import type { OutboundState } from "../../lifecycle/document.js";
import type { Sql } from "../sql.js";
import { stampParameter } from "./audit.js";
import type { AuditStamp } from "./audit.js";

/** Whether a firm was closed, or why not. */
export type FirmClosure = "closed" | "missing" | "under_way" | "registered";

/** Ends everything that acts for a firm, and everything that says who it is. Safe to repeat. */
export async function closeFirm(sql: Sql, firmId: FirmId, now: Instant, audit: AuditStamp): Promise<FirmClosure> {
  const [row] = await sql<{ readonly outcome: FirmClosure }[]>`
    select close_firm(${firmId}, ${isoInstant(now)}, ${stampParameter(sql, audit)}) as outcome`;
  return row?.outcome ?? "missing";
}

/** How what waits under a key that is gone ends. */
interface GoneEnd {
  /** Of documents that wait to be sent. */
  readonly document: OutboundState;
  /** Of items of the Box. */
  readonly item: BoxOutboundState;
  readonly reason: string;
}

/** Cancels what waits for its hour or for somebody who sends it. What was handed over ends with its own attempts. */
export async function cancelWaiting(sql: Sql, firmId: FirmId, { document, item, reason }: GoneEnd): Promise<void> {
  await sql`
    with items as (
      update box_item as i
      set status = ${item}, version = i.version + 1, tries = 0, due_at = null, last_error = null,
        cancelled_at = clock_timestamp(), status_since = clock_timestamp(),
        updated_at = greatest(i.updated_at, clock_timestamp())
      where i.firm_id = ${firmId} and i.status in ('ready', 'scheduled', 'retrying')
        and not exists (select 1 from document as d where d.id = i.document_id)
      returning i.id, i.version, i.status, i.updated_at
    ), told as (
      insert into box_event (item_id, version, kind, status, actor_type, detail, occurred_at)
      select items.id, items.version, 'cancel', items.status, 'operator', ${reason}, items.updated_at from items
    )
    select cancel_held(d.id, d.firm_id, null, ${sql.json({ status: document, reason })}, new_row_id(), null, null)
    from document as d where d.firm_id = ${firmId} and d.staged = 'held'`;
}

/** Whether an answer of a firm is still on its way: it is sealed under the firm's key where firms have keys. */
export async function owesAnswers(sql: Sql, firmId: FirmId): Promise<boolean> {
  const [row] = await sql<{ readonly owes: boolean }[]>`
    select exists (select 1 from service_message where firm_id = ${firmId} and next_attempt_at is not null) as owes`;
  return row?.owes ?? false;
}

/**
 * Whether anything is left of a firm that its key opens. Nothing is written for a firm that is closed, so that this
 * stays so once it is false.
 */
export async function leavesRows(sql: Sql, firmId: FirmId): Promise<boolean> {
  const [row] = await sql<{ readonly leaves: boolean }[]>`
    select exists (select 1 from document where firm_id = ${firmId})
      or exists (select 1 from box_item where firm_id = ${firmId})
      or exists (select 1 from received_document where firm_id = ${firmId})
      or exists (select 1 from service_message where firm_id = ${firmId}) as leaves`;
  return row?.leaves ?? true;
}

/** Removes a part of what a closed firm sent and received. @returns how many rows; 0 when nothing is left */
export async function eraseFirmRows(sql: Sql, firmId: FirmId): Promise<number> {
  const [row] = await sql<{ readonly gone: number }[]>`
    select erase_firm_rows(${firmId}, ${LIMITS.sweep_batch}) as gone`;
  return row?.gone ?? 0;
}

/**
 * Takes what was removed out of what Postgres keeps of columns to plan with: their usual values and steps between them
 * stand there in clear, and it looks again only when a tenth of a table has changed. A table that is being looked at or
 * tidied is passed over, and so is one that has no row left.
 */
export async function forgetStatistics(sql: Sql): Promise<void> {
  await sql`
    analyze (skip_locked) firm, participant, participant_capability, person, sign_in, sign_in_place, membership,
      api_key, firm_binding, consent_offer, onboarding_request, onboarding_history, pfs_confirmation, registration,
      registration_operation, white_label_customer, white_label_operation, white_label_participant,
      webhook_subscription, webhook_endpoint, webhook_delivery, webhook_attempt, box_item, box_event, document,
      document_attempt, document_event, document_history, document_mark, received_document, inbound_status,
      service_message, service_attempt, exchange`;
}
