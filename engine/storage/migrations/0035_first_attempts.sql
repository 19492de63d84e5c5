-- A document that is accepted is due, and that is all that tells of it: the process that accepts it makes the first
-- attempt, under a lease that is committed with the document, or it is claimed like any other.

drop function accept_documents(
  uuid[], uuid[], uuid[], text[], text[], text[], text[], text[], timestamptz[], jsonb[], text[], text[], text[],
  smallint[], text[], text[], uuid[], jsonb[], timestamptz[], text[], text[], integer[], uuid[], text[], jsonb
);

-- Accepts documents, one row each in the answer, in the order of the arguments. No two of them may share a tenant at a door:
-- a sender at SAPI, a firm at the other doors. Rows go in sorted by that tenant, and only rows of one tenant can meet in a
-- unique index, so that no two calls can deadlock. A process of the last release names no door and no owner: its documents
-- are SAPI's, and are claimed.
-- p_number_warning is added to the warnings of a document whose supplier, number and issue date were accepted before with
-- another payload; two such documents at the same moment may both go without it.
-- p_owner: the process that makes the first attempt, for as long as p_lease_ms; null where the document is to be claimed.
create function accept_documents(
  p_id uuid[], p_firm_id uuid[], p_key_id uuid[], p_sender text[], p_receiver text[], p_erp_document_id text[],
  p_document_type_id text[], p_process_id text[], p_creation_date_time timestamptz[], p_facts jsonb[],
  p_idempotency_key text[], p_request_sha256 text[], p_payload_sha256 text[], p_reply_status smallint[], p_reply_body text[],
  p_as4_message_id text[], p_sbdh_instance_id uuid[], p_validation_result jsonb[], p_accepted_at timestamptz[],
  p_payload_key_id text[], p_payload_sealed text[], p_payload_bytes integer[], p_event_id uuid[],
  p_door text[] default null, p_number_warning jsonb default '[]', p_owner text[] default null, p_lease_ms integer default 0
) returns table (ordinal bigint, outcome text, document_id uuid, reply_status smallint, reply_body text)
language plpgsql volatile as $$
declare
  accepted uuid[];
begin
  with added as (
    insert into document (
      id, door, firm_id, key_id, sender, sender_key, receiver, receiver_key, erp_document_id, document_type_id, process_id,
      creation_date_time, facts, status, version, idempotency_key, request_sha256, payload_sha256, reply_status, reply_body,
      as4_message_id, sbdh_instance_id, validation_result, next_attempt_at, created_at, updated_at, attempts, lease_owner, lease_until,
      attempted_at
    )
    select a.id, coalesce(a.door, 'sapi'), a.firm_id, a.key_id, a.sender, lower(a.sender), a.receiver, lower(a.receiver),
      a.erp_document_id, a.document_type_id, a.process_id, a.creation_date_time, a.facts, 'queued', 1, a.idempotency_key,
      decode(a.request_sha256, 'hex'), decode(a.payload_sha256, 'hex'), a.reply_status, a.reply_body, a.as4_message_id,
      a.sbdh_instance_id,
      case
        when exists (
          select 1 from document as e
          where e.sender_key = lower(a.sender) and e.facts ->> 'documentNumber' = a.facts ->> 'documentNumber'
            and e.facts ->> 'issueDate' = a.facts ->> 'issueDate'
            and lower(e.facts ->> 'supplierEndpoint') is not distinct from lower(a.facts ->> 'supplierEndpoint')
            and e.payload_sha256 <> decode(a.payload_sha256, 'hex')
        ) then jsonb_set(a.validation_result, '{warnings}', (a.validation_result -> 'warnings') || p_number_warning)
        else a.validation_result
      end,
      a.accepted_at, a.accepted_at, a.accepted_at, (a.owner is not null)::integer, a.owner,
      case when a.owner is not null then clock_timestamp() + p_lease_ms * interval '1 millisecond' end,
      case when a.owner is not null then clock_timestamp() end
    from unnest(
      p_id, p_firm_id, p_key_id, p_sender, p_receiver, p_erp_document_id, p_document_type_id, p_process_id, p_creation_date_time,
      p_facts, p_idempotency_key, p_request_sha256, p_payload_sha256, p_reply_status, p_reply_body, p_as4_message_id,
      p_sbdh_instance_id, p_validation_result, p_accepted_at, p_door, p_owner
    ) as a (
      id, firm_id, key_id, sender, receiver, erp_document_id, document_type_id, process_id, creation_date_time,
      facts, idempotency_key, request_sha256, payload_sha256, reply_status, reply_body, as4_message_id,
      sbdh_instance_id, validation_result, accepted_at, door, owner
    )
    order by coalesce(a.door, 'sapi'), case when coalesce(a.door, 'sapi') = 'sapi' then lower(a.sender) else a.firm_id::text end
    on conflict do nothing
    returning id
  )
  select coalesce(array_agg(added.id), '{}') into accepted from added;

  insert into payload (document_id, key_id, sealed, bytes)
  select a.id, a.key_id, decode(a.sealed, 'base64'), a.bytes
  from unnest(p_id, p_payload_key_id, p_payload_sealed, p_payload_bytes) as a (id, key_id, sealed, bytes)
  where a.id = any (accepted);

  insert into document_history (document_id, version, status, trigger, occurred_at)
  select a.id, 1, 'queued', 'accepted', a.accepted_at
  from unnest(p_id, p_accepted_at) as a (id, accepted_at)
  where a.id = any (accepted);

  insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
  select a.event_id, a.id, a.firm_id, 'document.queued', 'api', false, a.accepted_at
  from unnest(p_event_id, p_id, p_firm_id, p_accepted_at) as a (event_id, id, firm_id, accepted_at)
  where a.id = any (accepted);

  -- A statement of its own sees what a concurrent winner has committed while the insert waited for it.
  return query
  select a.n, 'accepted', a.id, a.reply_status, a.reply_body
  from unnest(p_id, p_reply_status, p_reply_body) with ordinality as a (id, reply_status, reply_body, n)
  where a.id = any (accepted)
  union all
  select a.n, coalesce(p.outcome, 'lost_race'), p.document_id, p.reply_status, p.reply_body
  from unnest(p_id, p_door, p_firm_id, p_sender, p_idempotency_key, p_erp_document_id, p_request_sha256, p_payload_sha256)
    with ordinality as a (id, door, firm_id, sender, idempotency_key, erp_document_id, request_sha256, payload_sha256, n)
  left join lateral find_precedent(
    a.id, coalesce(a.door, 'sapi'), a.firm_id, a.sender, a.idempotency_key, a.erp_document_id, a.request_sha256, a.payload_sha256
  ) as p on true
  where a.id <> all (accepted);
end
$$;
