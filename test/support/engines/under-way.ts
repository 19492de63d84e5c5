/** What an engine still has to do, read from its database, and how a test spares itself the waits between attempts. */
import type { Sql } from "../../../engine/storage/sql.js";

/** Rows that are brought forward have had fewer attempts: an attempt that fails again and again is left to its plan. */
const HURRIED_ATTEMPTS = 8;

/** Documents, messages, statuses, duties and entries of the outbox that are not at their end, a sentence each. */
export async function openWork(sql: Sql): Promise<readonly string[]> {
  const rows = await sql<{ what: string }[]>`
    select concat_ws(' ', 'document', id, status, 'attempts', attempts, 'due', next_attempt_at, 'leased', lease_until) as what
      from document where status in ('queued', 'sent')
    union all select concat_ws(' ', 'service message', id, status, 'attempts', attempts, 'due', next_attempt_at, 'leased', lease_until)
      from service_message where status in ('queued', 'sent')
    union all select concat_ws(' ', 'inbound status', id, 'due', next_at) from inbound_status where outcome is null
    union all select concat_ws(' ', 'duty', 'due', next_at) from mls_duty where next_at <= clock_timestamp()
    union all select concat_ws(' ', 'outbox', id) from outbox`;
  return rows.map(({ what }) => what);
}

/** Makes due now what waits for its next attempt. */
export async function hurryWork(sql: Sql): Promise<void> {
  await sql`update document set next_attempt_at = clock_timestamp()
    where next_attempt_at > clock_timestamp() and attempts between 1 and ${HURRIED_ATTEMPTS} and (lease_until > clock_timestamp()) is not true`;
  await sql`update service_message set next_attempt_at = clock_timestamp()
    where next_attempt_at > clock_timestamp() and attempts <= ${HURRIED_ATTEMPTS} and (lease_until > clock_timestamp()) is not true`;
  await sql`update inbound_status set next_at = clock_timestamp() where next_at > clock_timestamp()`;
}
