/**
 * Events that wait to be pulled: read oldest first, and gone when they are confirmed.
 * @source spec/enterprise.md, Events; spec/rulings.md, section 10; spec/shapes.md, section 5
 */
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import { Refusal } from "../../base/errors.js";
import type { FirmId } from "../../base/ids.js";
import { mapInSlices } from "../../base/memory/slices.js";
import type { FeedKind } from "../../lifecycle/feed.js";
import { confirmEvents, confirmEventsOfAll, listPending, listPendingOfAll } from "../../storage/events/pulls.js";
import type { PendingPage, PullPartner } from "../../storage/events/pulls.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { envelopeOf } from "./envelope.js";
import type { EventEnvelope } from "./envelope.js";
import type { SubscriptionOwner } from "./subscriptions.js";

export type { PullPartner };

/** One event of a pull. */
interface PulledEvent {
  readonly event_id: string;
  readonly firm_id: FirmId;
  readonly event: FeedKind;
  readonly payload: EventEnvelope;
  readonly created_at: string;
}

/** A page of events, oldest first. */
export interface PulledEvents {
  readonly events: PulledEvent[];
  readonly has_more: boolean;
}

const pulled = async ({ rows, hasMore }: PendingPage): Promise<PulledEvents> => ({
  events: await mapInSlices(rows, (row) => ({
    event_id: row.eventId,
    firm_id: row.firmId,
    event: row.event,
    payload: envelopeOf(row),
    created_at: isoInstant(row.occurredAt),
  })),
  has_more: hasMore,
});

/** Events of one owner that are not confirmed, but for what does not open for now. @throws Refusal TEMPORARY */
export async function pullEvents(
  sql: Sql,
  owner: SubscriptionOwner,
  asked: { readonly limit: number; readonly kind: FeedKind | undefined },
): Promise<PulledEvents> {
  return pulled(await orTemporary(listPending(sql, owner, asked)));
}

/** The same over all firms of an integrator that consent to it. @throws Refusal TEMPORARY */
export async function pullEventsOfAll(
  sql: Sql,
  partner: PullPartner,
  asked: { readonly limit: number; readonly since: Instant | undefined },
): Promise<PulledEvents> {
  return pulled(await orTemporary(listPendingOfAll(sql, partner, asked)));
}

/** Confirms one event; again is as good as once. @throws Refusal NOT_FOUND for one of somebody else; TEMPORARY */
export async function acknowledgeEvent(sql: Sql, owner: SubscriptionOwner, id: string): Promise<void> {
  const known = await orTemporary(confirmEvents(sql, owner, [id]));
  if (known.length === 0) throw new Refusal("NOT_FOUND");
}

/** Confirms many. @returns how many of the ids are the owner's, confirmed now or before @throws Refusal TEMPORARY */
export const acknowledgeEvents = async (sql: Sql, owner: SubscriptionOwner, ids: readonly string[]): Promise<number> =>
  (await orTemporary(confirmEvents(sql, owner, ids))).length;

/** Confirms events of any firm of an integrator. @returns and throws as acknowledgeEvents does */
export const acknowledgeEventsOfAll = async (sql: Sql, partner: PullPartner, ids: readonly string[]): Promise<number> =>
  (await orTemporary(confirmEventsOfAll(sql, partner, ids))).length;
