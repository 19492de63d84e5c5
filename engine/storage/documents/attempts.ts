/** What earlier attempts at a document or service message came to. */
import type { DocumentId } from "../../base/ids.js";
import type { Sql } from "../sql.js";

/** Codes of the ebMS errors by which the receiving access point refused earlier attempts, the latest first. */
export async function earlierRefusals(sql: Sql, id: DocumentId): Promise<readonly string[]> {
  const rows = await sql<{ readonly code: string }[]>`
    select number, code from document_attempt where document_id = ${id} and outcome = 'peer_busy' and code like 'EBMS:%'
    union all select number, code from service_attempt where message_id = ${id} and outcome = 'peer_busy'
      and code like 'EBMS:%'
    order by number desc`;
  return rows.map(({ code }) => code);
}
