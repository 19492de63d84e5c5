-- A received document is held until it was judged: a firm sees what is good, never what was answered with a rejection.

-- HELD: stored, not judged yet. REFUSED: rejected, and its sender's provider is told so; the firm never had it.
alter table received_document drop constraint received_document_status_check;
alter table received_document add constraint received_document_status_check check (status in ('HELD', 'RECEIVED', 'ACKNOWLEDGED', 'REFUSED'));
-- Findings of a refused document, for operators.
alter table received_document add column findings jsonb;
alter table received_document add constraint received_document_findings_check check (findings is null or status = 'REFUSED');
create index received_document_held on received_document (received_at) where status = 'HELD';
create index received_document_refused on received_document (received_at) where status = 'REFUSED';

drop function receive_business(uuid, uuid, text, text, text, text, text, timestamptz, text, text, text, jsonb, timestamptz, text, text, integer, jsonb, jsonb);
drop function receive_document(uuid, uuid, text, text, text, text, text, timestamptz, text, text, text, jsonb, timestamptz, text, text, integer);

-- Stores a received document with its payload. No row comes back for one that is stored already.
create function receive_document(
  p_id uuid, p_firm_id uuid, p_participant_key text, p_sender text, p_receiver text, p_document_type_id text, p_process_id text,
  p_creation_date_time timestamptz, p_payload_sha256 text, p_as4_message_id text, p_sbdh_instance_id text, p_facts jsonb,
  p_received_at timestamptz, p_payload_key_id text, p_payload_sealed text, p_payload_bytes integer, p_status text default 'RECEIVED'
) returns table (id uuid)
language sql volatile as $$
  with added as (
    insert into received_document (
      id, firm_id, participant_key, sender, receiver, document_type_id, process_id, creation_date_time, status, payload_sha256,
      as4_message_id, sbdh_instance_id, facts, received_at
    ) values (
      p_id, p_firm_id, p_participant_key, p_sender, p_receiver, p_document_type_id, p_process_id, p_creation_date_time, p_status,
      decode(p_payload_sha256, 'hex'), p_as4_message_id, p_sbdh_instance_id, p_facts, p_received_at
    )
    on conflict do nothing
    returning received_document.id
  ), stored as (
    insert into payload (document_id, key_id, sealed, bytes)
    select added.id, p_payload_key_id, decode(p_payload_sealed, 'base64'), p_payload_bytes from added
  )
  select added.id from added
$$;

-- Stores a received document with its exchange and the status that it may owe, in one statement. No row: stored already.
create function receive_business(
  p_id uuid, p_firm_id uuid, p_participant_key text, p_sender text, p_receiver text, p_document_type_id text, p_process_id text,
  p_creation_date_time timestamptz, p_payload_sha256 text, p_as4_message_id text, p_sbdh_instance_id text, p_facts jsonb,
  p_received_at timestamptz, p_payload_key_id text, p_payload_sealed text, p_payload_bytes integer, p_exchange jsonb, p_duty jsonb,
  p_status text default 'RECEIVED'
) returns table (id uuid)
language plpgsql volatile as $$
begin
  return query select r.id from receive_document(
    p_id, p_firm_id, p_participant_key, p_sender, p_receiver, p_document_type_id, p_process_id, p_creation_date_time, p_payload_sha256,
    p_as4_message_id, p_sbdh_instance_id, p_facts, p_received_at, p_payload_key_id, p_payload_sealed, p_payload_bytes, p_status
  ) as r;
  if found then
    insert into exchange select (jsonb_populate_record(null::exchange, p_exchange)).*;
    insert into mls_duty select (jsonb_populate_record(null::mls_duty, p_duty)).* where p_duty is not null;
  end if;
end
$$;

-- Marks a received document as processed; a second time answers the first time's instant. What the firm does not see it cannot mark.
create or replace function acknowledge_received(p_id uuid, p_participant_key text, p_now timestamptz)
returns table (acknowledged_at timestamptz)
language sql volatile as $$
  update received_document as r
  set status = 'ACKNOWLEDGED', acknowledged_at = coalesce(r.acknowledged_at, p_now)
  where r.id = p_id and r.participant_key = p_participant_key and r.status in ('RECEIVED', 'ACKNOWLEDGED')
  returning r.acknowledged_at
$$;

-- Shows a document to its firm although nobody could judge it in time. No row: it is not held any more, or not since then.
create function release_received(p_id uuid, p_held_since timestamptz) returns table (id uuid)
language sql volatile as $$
  update received_document as r set status = 'RECEIVED'
  where r.id = p_id and r.status = 'HELD' and r.received_at <= p_held_since
  returning r.id
$$;

drop function take_mls_duties(timestamptz, integer, integer);

-- Takes received documents whose status is to be decided.
create function take_mls_duties(p_now timestamptz, p_lease_ms integer, p_limit integer)
returns table (
  id uuid, firm_id uuid, sbdh_instance_id text, document_type_id text, receiver text, always boolean, received_at timestamptz,
  acknowledged boolean, is_response boolean, held boolean, payload_key_id text, payload_sealed bytea
)
language sql volatile as $$
  with due as (
    select d.id from mls_duty as d
    where d.next_at <= p_now and (d.lease_until is null or d.lease_until < clock_timestamp())
    order by d.next_at limit p_limit
    for update skip locked
  ), taken as (
    update mls_duty as d set lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond'
    from due where d.id = due.id
    returning d.id, d.firm_id, d.sbdh_instance_id, d.document_type_id, d.receiver, d.always, d.received_at
  )
  select t.id, t.firm_id, t.sbdh_instance_id, t.document_type_id, t.receiver, t.always, t.received_at, coalesce(r.status = 'ACKNOWLEDGED', false),
    s.id is not null, coalesce(r.status = 'HELD', false), coalesce(s.payload_key_id, p.key_id), coalesce(s.payload_sealed, p.sealed)
  from taken as t
  left join received_document as r on r.id = t.id
  left join payload as p on p.document_id = t.id
  left join inbound_status as s on s.id = t.id
$$;

drop function end_mls_duty(uuid, timestamptz, text, jsonb);

-- Ends a duty: with the message that says so, or without one. p_next_at puts it off instead. p_document is what becomes of
-- the held document in the same step: one that its firm has seen already is never refused. No row: nothing was written,
-- because the duty was ended already or the document cannot be refused any more.
create function end_mls_duty(
  p_id uuid, p_next_at timestamptz, p_code text, p_message jsonb, p_document text default null, p_findings jsonb default null
) returns table (id uuid)
language plpgsql volatile as $$
begin
  perform 1 from mls_duty as d where d.id = p_id and d.next_at is not null for update;
  if not found then return; end if;
  if p_document is not null then
    update received_document as r set status = p_document, findings = p_findings where r.id = p_id and r.status = 'HELD';
    if not found and p_document = 'REFUSED' then return; end if;
  end if;
  return query update mls_duty as d set next_at = p_next_at, lease_until = null, code = p_code where d.id = p_id returning d.id;
  if p_message is not null then
    insert into service_message select (jsonb_populate_record(null::service_message, p_message)).* on conflict (subject) do nothing;
  end if;
end
$$;
