-- Nothing is accepted for a firm that has been closed. A request that was let in before the firm's keys ended, and an
-- arrival whose participant was looked up before it went, wrote a row when nobody looked for rows any more: the firm's key
-- was destroyed behind it, and what it sealed waited for ever. Whoever writes for a firm now holds its row first, as the
-- foreign key does a moment later: close_firm waits for them and finds what they wrote, or they wait for it and find the
-- firm erased.

-- Whether a firm is there and not erased; one that is stays so until the transaction has ended.
create function lock_living_firm(p_firm uuid) returns boolean language plpgsql volatile as $$
begin
  perform 1 from firm as f where f.id = p_firm and f.erased_at is null for key share;
  return found;
end
$$;

-- As before, but a document of an erased firm is `firm_erased`, unless an earlier acceptance answers it. Firms are held in
-- the order of their ids, before any row goes in.
create or replace function accept_documents(
  p_id uuid[], p_firm_id uuid[], p_key_id uuid[], p_sender text[], p_receiver text[], p_erp_document_id text[],
  p_document_type_id text[], p_process_id text[], p_creation_date_time timestamptz[], p_facts jsonb[],
  p_idempotency_key text[], p_request_sha256 text[], p_payload_sha256 text[], p_reply_status smallint[], p_reply_body text[],
  p_as4_message_id text[], p_sbdh_instance_id uuid[], p_validation_result jsonb[], p_accepted_at timestamptz[],
  p_payload_key_id text[], p_payload_sealed text[], p_payload_bytes integer[], p_event_id uuid[],
  p_door text[] default null, p_number_warning jsonb default '[]', p_owner text[] default null, p_lease_ms integer default 0
) returns table (ordinal bigint, outcome text, document_id uuid, reply_status smallint, reply_body text)
language plpgsql volatile set plan_cache_mode = force_generic_plan as $$
declare
  accepted uuid[];
  living uuid[] := array(
    select f.id from firm as f where f.id = any (p_firm_id) and f.erased_at is null order by f.id for key share
  );
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
    where a.firm_id = any (living)
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
  select a.n, coalesce(p.outcome, case when a.firm_id = any (living) then 'lost_race' else 'firm_erased' end), p.document_id,
    p.reply_status, p.reply_body
  from unnest(p_id, p_door, p_firm_id, p_sender, p_idempotency_key, p_erp_document_id, p_request_sha256, p_payload_sha256)
    with ordinality as a (id, door, firm_id, sender, idempotency_key, erp_document_id, request_sha256, payload_sha256, n)
  left join lateral find_precedent(
    a.id, coalesce(a.door, 'sapi'), a.firm_id, a.sender, a.idempotency_key, a.erp_document_id, a.request_sha256, a.payload_sha256
  ) as p on true
  where a.id <> all (accepted);
end
$$;

-- As before, but an item of an erased firm is `firm_erased`, unless there is one of its external id.
create or replace function create_box_item(
  p_item jsonb, p_payload_sha256 bytea, p_payload_key_id text, p_payload_sealed bytea, p_metadata_sealed bytea, p_audit jsonb
) returns table (outcome text, id uuid) language plpgsql as $$
#variable_conflict use_column
declare
  v_id uuid := (p_item ->> 'id')::uuid;
  v_firm uuid := (p_item ->> 'firmId')::uuid;
  v_now timestamptz := (p_item ->> 'createdAt')::timestamptz;
  v_scheduled timestamptz := (p_item ->> 'scheduledFor')::timestamptz;
  v_status text := case when v_scheduled is null then 'ready' else 'scheduled' end;
  v_lives boolean := lock_living_firm(v_firm);
begin
  insert into box_item (
    id, firm_id, integrator_id, key_id, external_id, status, version, sender, receiver, document_type_id, process_id, payload_sha256,
    payload_bytes, scheduled_for, due_at, document_id, status_since, created_at, updated_at, binding_generation
  )
  select v_id, v_firm, (p_item ->> 'integratorId')::uuid, (p_item ->> 'keyId')::uuid, p_item ->> 'externalId', v_status, 1,
    p_item ->> 'sender', p_item ->> 'receiver', p_item ->> 'documentTypeId', p_item ->> 'processId', p_payload_sha256,
    (p_item ->> 'payloadBytes')::integer, v_scheduled, coalesce(v_scheduled, clock_timestamp()), v_id, clock_timestamp(), v_now, v_now,
    (select g.binding_generation from integrator as g where g.id = (p_item ->> 'integratorId')::uuid)
  where v_lives on conflict do nothing;
  if found then
    insert into box_payload (item_id, key_id, sealed, metadata_sealed)
    values (v_id, p_payload_key_id, p_payload_sealed, p_metadata_sealed);
    insert into box_event (item_id, version, kind, status, actor_type, actor_id, occurred_at)
    values (v_id, 1, 'created', v_status, p_audit ->> 'actorType', p_audit ->> 'actorId', v_now);
    return query select 'created', v_id;
    return;
  end if;
  return query
  select case when i.id = v_id then 'created' when i.payload_sha256 = p_payload_sha256 then 'existing' else 'conflict' end, i.id
  from box_item as i
  where i.id = v_id or (i.firm_id = v_firm and i.external_id = p_item ->> 'externalId')
  order by i.id = v_id desc limit 1;
  if not found and not v_lives then return query select 'firm_erased', v_id; end if;
end
$$;

-- As before, but what has arrived for an erased firm is not stored.
create or replace function receive_businesses(
  p_id uuid[], p_firm_id uuid[], p_participant_key text[], p_sender text[], p_receiver text[],
  p_document_type_id text[], p_process_id text[], p_creation_date_time timestamptz[], p_payload_sha256 text[],
  p_as4_message_id text[], p_sbdh_instance_id text[], p_facts jsonb[], p_received_at timestamptz[],
  p_payload_key_id text[], p_payload_sealed text[], p_payload_bytes integer[], p_exchange jsonb[], p_duty jsonb[],
  p_status text[], p_evidence jsonb[]
) returns table (n bigint) language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_new uuid[];
  v_evidence jsonb;
  v_living uuid[] := array(
    select f.id from firm as f where f.id = any (p_firm_id) and f.erased_at is null order by f.id for key share
  );
begin
  with added as (
    insert into received_document (
      id, firm_id, participant_key, sender, receiver, document_type_id, process_id, creation_date_time, status,
      payload_sha256, as4_message_id, sbdh_instance_id, facts, received_at, peer_seat
    )
    select r.id, r.firm_id, r.participant_key, r.sender, r.receiver, r.document_type_id, r.process_id,
      r.creation_date_time, r.status, decode(r.payload_sha256, 'hex'), r.as4_message_id, r.sbdh_instance_id, r.facts,
      r.received_at, r.exchange ->> 'c2_seat'
    from unnest(
      p_id, p_firm_id, p_participant_key, p_sender, p_receiver, p_document_type_id, p_process_id, p_creation_date_time,
      p_status, p_payload_sha256, p_as4_message_id, p_sbdh_instance_id, p_facts, p_received_at, p_exchange
    ) with ordinality as r (
      id, firm_id, participant_key, sender, receiver, document_type_id, process_id, creation_date_time, status,
      payload_sha256, as4_message_id, sbdh_instance_id, facts, received_at, exchange, n
    )
    -- Rows without a seat are as old as this function and change no more, so that looking is enough.
    where r.firm_id = any (v_living) and not exists (
      select 1 from received_document as o where o.as4_message_id = r.as4_message_id and o.peer_seat = ''
    ) and not exists (
      select 1 from received_document as o where o.sbdh_instance_id = r.sbdh_instance_id and o.peer_seat = ''
    )
    order by r.n
    on conflict do nothing
    returning received_document.id
  )
  select array_agg(added.id) into v_new from added;
  if v_new is null then return; end if;

  with given as (
    select r.* from unnest(p_id, p_payload_key_id, p_payload_sealed, p_payload_bytes, p_exchange, p_duty)
      as r (id, key_id, sealed, bytes, exchange, duty)
    where r.id = any (v_new)
  ), stored as (
    insert into payload (document_id, key_id, sealed, bytes)
    select given.id, given.key_id, decode(given.sealed, 'base64'), given.bytes from given
  ), exchanged as (
    insert into exchange select e.* from given cross join lateral jsonb_populate_record(null::exchange, given.exchange) as e
  )
  insert into mls_duty
  select d.* from given cross join lateral jsonb_populate_record(null::mls_duty, given.duty) as d
  where given.duty is not null;

  select jsonb_agg(r.evidence order by r.n) into v_evidence
  from unnest(p_id, p_evidence) with ordinality as r (id, evidence, n)
  where r.id = any (v_new) and r.evidence is not null;
  if v_evidence is not null then
    perform 1 from append_evidence(v_evidence);
  end if;

  return query select r.n from unnest(p_id) with ordinality as r (id, n) where r.id = any (v_new);
end
$$;

-- As before, but an answer to an erased firm is not stored.
create or replace function receive_status(p_status jsonb, p_exchange jsonb, p_duty jsonb) returns table (id uuid)
language plpgsql volatile as $$
begin
  if p_exchange ->> 'firm_id' is not null and not lock_living_firm((p_exchange ->> 'firm_id')::uuid) then return; end if;
  return query
    insert into inbound_status select (jsonb_populate_record(null::inbound_status, p_status)).*
    on conflict do nothing returning inbound_status.id;
  if found then
    insert into exchange select (jsonb_populate_record(null::exchange, p_exchange)).*;
    insert into mls_duty select (jsonb_populate_record(null::mls_duty, p_duty)).* where p_duty is not null;
  end if;
end
$$;
