/** A month with as many exchanges as a test wants, written by one statement. */
import type { Sql } from "../../../engine/storage/sql.js";

/** The month. */
export const MONTH = "2024-11";
const DAYS = 30;

/**
 * Writes exchanges of the month, as many out as in, evenly over its time, over end users and over types of documents;
 * an end user has one type, sends and receives.
 */
export async function addExchanges(
  sql: Sql,
  { exchanges, users, types }: { readonly exchanges: number; readonly users: number; readonly types: number },
): Promise<void> {
  await sql`
    insert into exchange (id, direction, kind, firm_id, c2_seat, c3_seat, document_type_id, process_id,
      transport_profile, c1_country, c4_country, end_user, exchanged_at)
    select gen_random_uuid(), direction, 'business', gen_random_uuid(), 'POP000001', 'POP000002', 'urn:t' || type, 'urn:p',
      'peppol-transport-as4-v2_0', 'SK', case direction when 'incoming' then 'SK' end, '0245:' || number,
      ${`${MONTH}-01T00:00:00Z`}::timestamptz + n * ${DAYS / exchanges}::float8 * interval '1 day'
    from generate_series(0, ${exchanges - 1}::integer) as n
      cross join lateral (select n / 2 % ${users}::integer as number,
        case n % 2 when 0 then 'outgoing' else 'incoming' end as direction) as u
      cross join lateral (select number % ${types}::integer as type) as t`;
  await sql`analyze exchange`;
}
