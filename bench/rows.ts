/** Rows for benchmarks: many firms at once. */
import { createHash } from "node:crypto";

import type { Scope } from "../engine/base/scopes.js";
import type { Sql } from "../engine/storage/sql.js";

const SCOPES: readonly Scope[] = ["documents:send", "documents:read", "documents:write"];
const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Inserts firms, each with a participant, its capabilities and one key. */
export async function insertBenchFirms(
  sql: Sql,
  firms: readonly { readonly participantId: string; readonly clientId: string; readonly clientSecret: string }[],
  capabilities: readonly { readonly documentTypeId: string; readonly processId: string }[],
): Promise<void> {
  await sql`
    with given as (
      select * from unnest(
        ${firms.map((firm) => firm.participantId)}::text[], ${firms.map((firm) => firm.clientId)}::uuid[],
          ${firms.map((firm) => sha256(firm.clientSecret).toString("hex"))}::text[]
      ) as g (participant, key_id, secret)
    ), firms as (
      insert into firm (id, name, peppol_status, sandbox, created_at)
      select key_id, 'Bench ' || participant, 'registered', true, now() from given
    ), participants as (
      insert into participant (key, id, firm_id, registered_at) select participant, participant, key_id, now()
        from given
    ), keys as (
      insert into api_key (id, key_type, firm_id, prefix, secret_sha256, scopes, ip_allowlist, active, name, created_at)
      select key_id, 'sk_live', key_id, 'sk_live_bench_' || substr(participant, 6), decode(secret, 'hex'),
        ${[...SCOPES]}::text[], '{}', true, 'bench', now() from given
    )
    insert into participant_capability (participant_key, document_type_id, process_id)
    select given.participant, c.document_type_id, c.process_id
    from given cross join unnest(${capabilities.map((c) => c.documentTypeId)}::text[],
      ${capabilities.map((c) => c.processId)}::text[]) as c (document_type_id, process_id)`;
}

/** Puts `items` received documents into the inbox of each participant. */
export async function fillBenchInbox(
  sql: Sql,
  participants: readonly string[],
  items: number,
  next: () => { readonly id: string; readonly message: string },
): Promise<void> {
  for (const participant of participants) {
    const rows = Array.from({ length: items }, next);
    await sql`
      insert into received_document (
        id, firm_id, participant_key, sender, receiver, document_type_id, process_id, creation_date_time, status,
        payload_sha256, as4_message_id,
        sbdh_instance_id, facts, received_at
      )
      select r.id, p.firm_id, p.key, '0245:1234567890', p.id, c.document_type_id, c.process_id, now(), 'RECEIVED',
        sha256(r.message::bytea), r.message, r.message, '{}', now()
      from unnest(${rows.map((row) => row.id)}::uuid[], ${rows.map((row) => row.message)}::text[]) as r (id, message)
      cross join participant as p
      cross join lateral (select document_type_id, process_id from participant_capability where participant_key = p.key
        order by document_type_id limit 1) as c
      where p.key = ${participant}`;
  }
}
