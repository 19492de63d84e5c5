-- What becomes of documents beyond the receipt: confirmed exchanges, statuses received, statuses owed, and the messages
-- that the access point sends of itself.

create unique index document_sbdh_instance on document (sbdh_instance_id);
create index document_number on document (sender_key, (facts ->> 'documentNumber'));

-- One row a message with a positive receipt. id: the document, received document, received status or service message.
-- exchanged_at is M1 of the service levels, status_at M2, status_received_at M3.
create table exchange (
  id uuid primary key,
  direction text not null check (direction in ('incoming', 'outgoing')),
  kind text not null check (kind in ('business', 'mls', 'invoice_response')),
  firm_id uuid references firm (id),
  c2_seat text not null,
  c3_seat text not null,
  document_type_id text not null,
  process_id text not null,
  transport_profile text not null,
  c1_country text not null,
  c4_country text,
  end_user text not null,
  exchanged_at timestamptz not null,
  status_at timestamptz,
  status_received_at timestamptz,
  check ((direction = 'incoming') = (c4_country is not null))
);
create index exchange_time on exchange (exchanged_at);
create index exchange_firm on exchange (firm_id, exchanged_at);

-- Message Level Statuses and invoice responses of others. Stored before they are answered, read afterwards.
create table inbound_status (
  id uuid primary key,
  kind text not null check (kind in ('mls', 'invoice_response')),
  sender text not null,
  receiver text not null,
  peer_seat text not null,
  as4_message_id text not null unique,
  sbdh_instance_id text not null unique,
  received_at timestamptz not null,
  payload_key_id text not null,
  payload_sealed bytea not null,
  payload_sha256 text not null,
  -- When it is looked at next; null once it is settled.
  next_at timestamptz,
  tries integer not null,
  outcome text check (outcome in ('applied', 'late', 'duplicate', 'contradicting', 'outdated', 'unknown', 'foreign', 'unreadable')),
  handled_at timestamptz,
  document_id uuid references document (id),
  code text,
  -- cbc:ID of the message.
  response_id text,
  issued_at timestamptz,
  fault text,
  check ((outcome is null) = (next_at is not null)),
  check ((outcome is null) = (handled_at is null))
);
alter table inbound_status alter column payload_sealed set storage external;
create index inbound_status_due on inbound_status (next_at) where next_at is not null;
create index inbound_status_document on inbound_status (document_id) where document_id is not null;
-- A document has one Message Level Status; a response counts once, however often it is sent.
create unique index inbound_status_one_mls on inbound_status (document_id) where kind = 'mls' and outcome in ('applied', 'late');
create unique index inbound_status_one_response on inbound_status (document_id, response_id) where kind = 'invoice_response' and outcome = 'applied';

-- Who is to be told what we made of a received document. next_at: when it is decided; null once it was. code: what was
-- said, null when nothing had to be.
create table mls_duty (
  id uuid primary key,
  firm_id uuid not null references firm (id),
  sbdh_instance_id text not null,
  document_type_id text not null,
  receiver text not null,
  always boolean not null,
  received_at timestamptz not null,
  next_at timestamptz,
  lease_until timestamptz,
  code text check (code in ('AP', 'AB', 'RE')),
  check (code is null or next_at is null)
);
create index mls_duty_due on mls_duty (next_at) where next_at is not null;

-- Messages of the access point itself: statuses, responses of its firms, reports. No customer's document, never billed.
-- subject says what the message is for and makes it the only one; code is what it says.
create table service_message (
  id uuid primary key,
  kind text not null check (kind in ('mls', 'invoice_response', 'report')),
  subject text not null unique,
  firm_id uuid references firm (id),
  about uuid,
  code text not null,
  note text,
  sender text not null,
  receiver text not null,
  document_type_id text not null,
  process_id text not null,
  as4_message_id text not null unique,
  sbdh_instance_id uuid not null unique,
  payload_key_id text not null,
  payload_sealed bytea not null,
  payload_sha256 text not null,
  status text not null check (status in ('queued', 'sent', 'delivered', 'rejected', 'send_failed', 'delivery_failed')),
  status_reason text,
  version integer not null check (version >= 1),
  attempts integer not null,
  next_attempt_at timestamptz,
  lease_owner text,
  lease_until timestamptz,
  created_at timestamptz not null,
  delivered_at timestamptz,
  check ((status in ('queued', 'sent')) = (next_attempt_at is not null)),
  check ((status = 'delivered') = (delivered_at is not null))
);
alter table service_message alter column payload_sealed set storage external;
create index service_message_due on service_message (next_attempt_at) where next_attempt_at is not null;
create index service_message_about on service_message (about, kind, created_at);

create table service_attempt (
  message_id uuid not null references service_message (id),
  number integer not null,
  owner text not null,
  started_at timestamptz not null,
  finished_at timestamptz,
  outcome text,
  code text,
  detail text,
  primary key (message_id, number)
);

-- Stores a received document with its exchange and the status that it may owe, in one statement. No row: stored already.
create function receive_business(
  p_id uuid, p_firm_id uuid, p_participant_key text, p_sender text, p_receiver text, p_document_type_id text, p_process_id text,
  p_creation_date_time timestamptz, p_payload_sha256 text, p_as4_message_id text, p_sbdh_instance_id text, p_facts jsonb,
  p_received_at timestamptz, p_payload_key_id text, p_payload_sealed text, p_payload_bytes integer, p_exchange jsonb, p_duty jsonb
) returns table (id uuid)
language plpgsql volatile as $$
begin
  return query select r.id from receive_document(
    p_id, p_firm_id, p_participant_key, p_sender, p_receiver, p_document_type_id, p_process_id, p_creation_date_time, p_payload_sha256,
    p_as4_message_id, p_sbdh_instance_id, p_facts, p_received_at, p_payload_key_id, p_payload_sealed, p_payload_bytes
  ) as r;
  if found then
    insert into exchange select (jsonb_populate_record(null::exchange, p_exchange)).*;
    insert into mls_duty select (jsonb_populate_record(null::mls_duty, p_duty)).* where p_duty is not null;
  end if;
end
$$;

-- Stores a received status with its exchange and, for a response, the status that it may owe itself. No row: stored already.
create function receive_status(p_status jsonb, p_exchange jsonb, p_duty jsonb) returns table (id uuid)
language plpgsql volatile as $$
begin
  return query
    insert into inbound_status select (jsonb_populate_record(null::inbound_status, p_status)).*
    on conflict do nothing returning inbound_status.id;
  if found then
    insert into exchange select (jsonb_populate_record(null::exchange, p_exchange)).*;
    insert into mls_duty select (jsonb_populate_record(null::mls_duty, p_duty)).* where p_duty is not null;
  end if;
end
$$;

-- Settles a status together with the move that it makes, or neither. No row: the document has another version than the
-- one decided on, or the status was settled meanwhile.
create function apply_status(
  p_status uuid, p_outcome text, p_code text, p_response_id text, p_issued_at timestamptz, p_id uuid, p_version integer, p_state text, p_trigger text,
  p_detail text, p_now timestamptz, p_events jsonb, p_changes jsonb
) returns table (version integer)
language plpgsql volatile as $$
declare
  written integer;
begin
  perform 1 from inbound_status as s where s.id = p_status and s.outcome is null for update;
  if not found then return; end if;
  select m.version into written from apply_move(p_id, p_version, p_state, p_trigger, p_detail, p_now, null, p_events, null, p_changes) as m;
  if written is null then return; end if;
  update inbound_status as s
  set outcome = p_outcome, code = p_code, response_id = p_response_id, issued_at = p_issued_at, document_id = p_id, handled_at = p_now, next_at = null
  where s.id = p_status;
  update exchange as e
  set status_at = p_issued_at, status_received_at = s.received_at
  from inbound_status as s
  where e.id = p_id and s.id = p_status and s.kind = 'mls' and p_outcome = 'applied';
  return query select written;
end
$$;

-- Takes due service messages: the lease in database time, the attempt's row, and what is needed to make it.
create function take_service_messages(p_owner text, p_now timestamptz, p_lease_ms integer, p_limit integer)
returns table (
  id uuid, kind text, status text, version integer, attempt integer, sender text, receiver text, document_type_id text, process_id text,
  as4_message_id text, sbdh_instance_id uuid, created_at timestamptz, payload_key_id text, payload_sealed bytea, firm_id uuid, about uuid
)
language sql volatile as $$
  with due as (
    select m.id from service_message as m
    where m.next_attempt_at <= p_now and (m.lease_until is null or m.lease_until < clock_timestamp())
    order by m.next_attempt_at limit p_limit
    for update skip locked
  ), taken as (
    update service_message as m
    set attempts = m.attempts + 1, version = m.version + 1, lease_owner = p_owner,
      lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond'
    from due where m.id = due.id
    returning m.id, m.kind, m.status, m.version, m.attempts, m.sender, m.receiver, m.document_type_id, m.process_id, m.as4_message_id,
      m.sbdh_instance_id, m.created_at, m.payload_key_id, m.payload_sealed, m.firm_id, m.about
  ), begun as (
    insert into service_attempt (message_id, number, owner, started_at)
    select taken.id, taken.attempts, p_owner, p_now from taken
  )
  select taken.id, taken.kind, taken.status, taken.version, taken.attempts, taken.sender, taken.receiver, taken.document_type_id, taken.process_id,
    taken.as4_message_id, taken.sbdh_instance_id, taken.created_at, taken.payload_key_id, taken.payload_sealed, taken.firm_id, taken.about
  from taken
$$;

-- Writes the end of an attempt at a service message: state, attempt, and with its receipt the exchange and M2 of the
-- document that it is about. No row: another node decided since.
create function end_service_attempt(
  p_id uuid, p_version integer, p_status text, p_now timestamptz, p_next_attempt_at timestamptz, p_attempt jsonb, p_exchange jsonb
) returns table (received_at timestamptz)
language plpgsql volatile as $$
declare
  ended service_message;
begin
  update service_message as m
  set status = p_status, version = m.version + 1, lease_owner = null, lease_until = null,
    -- A deferred attempt was not made: its number is free again.
    attempts = m.attempts - (p_attempt ->> 'outcome' = 'deferred' and p_status in ('queued', 'sent'))::integer,
    next_attempt_at = case when p_status in ('queued', 'sent') then p_next_attempt_at end,
    delivered_at = case when p_status = 'delivered' then p_now end,
    status_reason = case when p_status in ('queued', 'sent', 'delivered') then m.status_reason else p_attempt ->> 'outcome' end
  where m.id = p_id and m.version = p_version
  returning m.* into ended;
  if not found then return; end if;
  if p_attempt ->> 'outcome' = 'deferred' and p_status in ('queued', 'sent') then
    delete from service_attempt as a where a.message_id = p_id and a.number = (p_attempt ->> 'number')::integer;
  end if;
  update service_attempt as a
  set finished_at = p_now, outcome = p_attempt ->> 'outcome', code = p_attempt ->> 'code', detail = p_attempt ->> 'detail'
  where a.message_id = p_id and a.number = (p_attempt ->> 'number')::integer;
  if p_status = 'delivered' and p_exchange is not null then
    insert into exchange select (jsonb_populate_record(null::exchange, p_exchange)).* on conflict do nothing;
  end if;
  if p_status = 'delivered' and ended.kind = 'mls' then
    update exchange as e set status_at = p_now where e.id = ended.about and e.status_at is null;
  end if;
  return query select d.received_at from service_message as m left join mls_duty as d on d.id = m.about and m.kind = 'mls' where m.id = p_id;
end
$$;

-- Takes received documents whose status is to be decided.
create function take_mls_duties(p_now timestamptz, p_lease_ms integer, p_limit integer)
returns table (
  id uuid, firm_id uuid, sbdh_instance_id text, document_type_id text, receiver text, always boolean, received_at timestamptz,
  acknowledged boolean, is_response boolean, payload_key_id text, payload_sealed bytea
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
    s.id is not null, coalesce(s.payload_key_id, p.key_id), coalesce(s.payload_sealed, p.sealed)
  from taken as t
  left join received_document as r on r.id = t.id
  left join payload as p on p.document_id = t.id
  left join inbound_status as s on s.id = t.id
$$;

-- Ends a duty: with the message that says so, or without one. p_next_at puts it off instead. No row: it was ended already.
create function end_mls_duty(p_id uuid, p_next_at timestamptz, p_code text, p_message jsonb) returns table (id uuid)
language plpgsql volatile as $$
begin
  return query update mls_duty as d set next_at = p_next_at, lease_until = null, code = p_code
    where d.id = p_id and d.next_at is not null returning d.id;
  if found and p_message is not null then
    insert into service_message select (jsonb_populate_record(null::service_message, p_message)).* on conflict (subject) do nothing;
  end if;
end
$$;
