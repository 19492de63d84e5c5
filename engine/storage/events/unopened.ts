/** Deliveries whose words do not open while a key cannot be read, or is others': the others go on without them. */
import { Refusal } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";
import { KeyMissing } from "../sealer.js";
import type { Sql } from "../sql.js";

/** What a row says; undefined where the key that it needs is away for a moment, or others have it. */
export function unlessAway<T>(open: () => T): T | undefined {
  try {
    return open();
  } catch (error) {
    if (error instanceof Refusal || error instanceof KeyMissing) return undefined;
    throw error;
  }
}

/** A delivery that was given back, and whose places it had. */
export interface GivenBack {
  readonly deliveryId: string;
  readonly endpointId: string;
  readonly ownerId: string;
}

/** Hears of deliveries that were given back, of all of a claim at once. */
export type OnGivenBack = (given: readonly GivenBack[]) => void;

/**
 * Gives back deliveries that were taken under lease and cannot be opened. They are due again after
 * LIMITS.webhook_unopened_ms, and have used nothing; what waits behind them of their document waits on.
 */
export async function giveBack(
  sql: Sql,
  owner: string,
  unopened: readonly GivenBack[],
  onGivenBack: OnGivenBack = () => undefined,
): Promise<void> {
  if (unopened.length === 0) return;
  await sql`
    with held as materialized (
      select d.id from webhook_delivery as d
      where d.id = any (${unopened.map(({ deliveryId }) => deliveryId)}::uuid[])
        and case when d.lease_owner = ${owner} then true end
      order by d.id for update
    )
    update webhook_delivery as d
    set lease_owner = null, begun = greatest(d.begun - 1, 0),
      due_at = clock_timestamp() + ${LIMITS.webhook_unopened_ms}::integer * interval '1 millisecond'
    from held where d.id = held.id`;
  onGivenBack(unopened);
}
