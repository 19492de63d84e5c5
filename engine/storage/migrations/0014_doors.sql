-- Documents come in through several doors: SAPI, Enterprise, Box, Connector. What a caller calls a request (its idempotency key)
-- and a document (its external id) is the caller's own within one door, so that two doors never take each other's names for
-- repeats. SAPI counts by the participant that sends, the other doors by the firm; two equal payloads are SAPI's concern alone.

alter table document add column door text not null default 'sapi';
alter table document alter column door drop default;
alter table document add constraint document_door_check check (door in ('sapi', 'enterprise', 'box', 'connector'));
-- Both are optional at some doors, and always there at SAPI.
alter table document alter column idempotency_key drop not null;
alter table document alter column erp_document_id drop not null;
alter table document add constraint document_sapi_check
  check (door <> 'sapi' or (idempotency_key is not null and erp_document_id is not null));

drop index document_idempotency_key;
drop index document_erp_document_id;
drop index document_payload;
create unique index document_idempotency_key on document (sender_key, idempotency_key) where door = 'sapi';
create unique index document_erp_document_id on document (sender_key, erp_document_id) where door = 'sapi';
create unique index document_payload on document (sender_key, payload_sha256) where door = 'sapi';
create unique index document_door_idempotency_key on document (firm_id, door, idempotency_key) where door <> 'sapi';
create unique index document_door_external_id on document (firm_id, door, erp_document_id) where door <> 'sapi';

-- What an earlier acceptance says of a request at the same door, in order of precedence: the request was answered already, or
-- it takes a key, an external id or a payload that is taken. No row: nothing speaks against it. Each look-up has an index
-- of its own, because a plan over all of them might read everything that a sender ever sent.
create function find_precedent(
  p_id uuid, p_door text, p_firm_id uuid, p_sender text, p_idempotency_key text, p_erp_document_id text, p_request_sha256 text,
  p_payload_sha256 text
) returns table (outcome text, document_id uuid, reply_status smallint, reply_body text)
language sql stable as $$
  select
    case
      when f.taken = 'own_id' then 'replay'
      -- At SAPI a documentId names one document for ever; elsewhere the same request under the same external id is a repeat.
      when f.request_sha256 = decode(p_request_sha256, 'hex') and (f.taken = 'key_conflict' or p_door <> 'sapi') then 'replay'
      else f.taken
    end,
    f.id, f.reply_status, f.reply_body
  from (
    -- The same statement came again, because its first answer was lost.
    select 1 as precedence, 'own_id' as taken, d.id, d.request_sha256, d.reply_status, d.reply_body
    from document as d where d.id = p_id
    union all
    select 2, 'key_conflict', d.id, d.request_sha256, d.reply_status, d.reply_body
    from document as d
    where p_door = 'sapi' and d.door = 'sapi' and d.sender_key = lower(p_sender) and d.idempotency_key = p_idempotency_key
    union all
    select 3, 'duplicate_document', d.id, d.request_sha256, d.reply_status, d.reply_body
    from document as d
    where p_door = 'sapi' and d.door = 'sapi' and d.sender_key = lower(p_sender) and d.erp_document_id = p_erp_document_id
    union all
    select 4, 'duplicate_payload', d.id, d.request_sha256, d.reply_status, d.reply_body
    from document as d
    where p_door = 'sapi' and d.door = 'sapi' and d.sender_key = lower(p_sender) and d.payload_sha256 = decode(p_payload_sha256, 'hex')
    union all
    select 2, 'key_conflict', d.id, d.request_sha256, d.reply_status, d.reply_body
    from document as d
    where p_door <> 'sapi' and d.door <> 'sapi' and d.firm_id = p_firm_id and d.door = p_door and d.idempotency_key = p_idempotency_key
    union all
    select 3, 'duplicate_document', d.id, d.request_sha256, d.reply_status, d.reply_body
    from document as d
    where p_door <> 'sapi' and d.door <> 'sapi' and d.firm_id = p_firm_id and d.door = p_door and d.erp_document_id = p_erp_document_id
  ) as f
  order by f.precedence
  limit 1
$$;

drop function accept_documents(
  uuid[], uuid[], uuid[], text[], text[], text[], text[], text[], timestamptz[], jsonb[], text[], text[], text[], smallint[], text[], text[],
  uuid[], jsonb[], timestamptz[], text[], text[], integer[], uuid[]
);

-- Accepts documents, one row each in the answer, in the order of the arguments. No two of them may share a tenant at a door:
-- a sender at SAPI, a firm at the other doors. Rows go in sorted by that tenant, and only rows of one tenant can meet in a
-- unique index, so that no two calls can deadlock. A process of the last release names no door: its documents are SAPI's.
-- p_number_warning is added to the warnings of a document whose supplier, number and issue date were accepted before with
-- another payload; two such documents at the same moment may both go without it.
create function accept_documents(
  p_id uuid[], p_firm_id uuid[], p_key_id uuid[], p_sender text[], p_receiver text[], p_erp_document_id text[],
  p_document_type_id text[], p_process_id text[], p_creation_date_time timestamptz[], p_facts jsonb[],
  p_idempotency_key text[], p_request_sha256 text[], p_payload_sha256 text[], p_reply_status smallint[], p_reply_body text[],
  p_as4_message_id text[], p_sbdh_instance_id uuid[], p_validation_result jsonb[], p_accepted_at timestamptz[],
  p_payload_key_id text[], p_payload_sealed text[], p_payload_bytes integer[], p_event_id uuid[],
  p_door text[] default null, p_number_warning jsonb default '[]'
) returns table (ordinal bigint, outcome text, document_id uuid, reply_status smallint, reply_body text)
language plpgsql volatile as $$
declare
  accepted uuid[];
begin
  with added as (
    insert into document (
      id, door, firm_id, key_id, sender, sender_key, receiver, receiver_key, erp_document_id, document_type_id, process_id,
      creation_date_time, facts, status, version, idempotency_key, request_sha256, payload_sha256, reply_status, reply_body,
      as4_message_id, sbdh_instance_id, validation_result, next_attempt_at, created_at, updated_at
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
      a.accepted_at, a.accepted_at, a.accepted_at
    from unnest(
      p_id, p_firm_id, p_key_id, p_sender, p_receiver, p_erp_document_id, p_document_type_id, p_process_id, p_creation_date_time,
      p_facts, p_idempotency_key, p_request_sha256, p_payload_sha256, p_reply_status, p_reply_body, p_as4_message_id,
      p_sbdh_instance_id, p_validation_result, p_accepted_at, p_door
    ) as a (
      id, firm_id, key_id, sender, receiver, erp_document_id, document_type_id, process_id, creation_date_time,
      facts, idempotency_key, request_sha256, payload_sha256, reply_status, reply_body, as4_message_id,
      sbdh_instance_id, validation_result, accepted_at, door
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

  insert into outbox (stream, key, body)
  select 'dispatch', a.id::text, jsonb_build_object('documentId', a.id)
  from unnest(p_id) as a (id)
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
