-- Our own messages, the duties behind them and the statuses that we receive are due by the time of the database, and the
-- plan of a message counts answers, as that of a document does.

-- Attempts that were answered by the network: the plan counts these. Faults of ours in a row have waits of their own.
alter table service_message add column answers integer not null default 0 check (answers >= 0);
alter table service_message add column faults integer not null default 0 check (faults >= 0);
update service_message set answers = attempts where next_attempt_at is not null;

-- A message of a node whose clock is ahead is due now. The counts are those of a message that nobody has attempted: a row
-- that is made of an object without them has nulls there.
create function service_message_due_at_once() returns trigger language plpgsql as $$
begin
  new.next_attempt_at := least(new.next_attempt_at, clock_timestamp());
  new.answers := coalesce(new.answers, 0);
  new.faults := coalesce(new.faults, 0);
  return new;
end
$$;
create trigger service_message_due_at_once before insert on service_message
for each row execute function service_message_due_at_once();

-- What a node has received whose clock is ahead is due now.
create function received_due_at_once() returns trigger language plpgsql as $$
begin
  new.next_at := least(new.next_at, clock_timestamp());
  return new;
end
$$;
create trigger mls_duty_due_at_once before insert on mls_duty for each row execute function received_due_at_once();
create trigger inbound_status_due_at_once before insert on inbound_status
for each row execute function received_due_at_once();

drop function take_service_messages(text, timestamptz, integer, integer);

-- Takes due service messages, the longest due first: the lease and the due time are database time, the attempt's row, and
-- what is needed to make it. An attempt before it that never ended was cut.
create function take_service_messages(p_owner text, p_lease_ms integer, p_limit integer)
returns table (
  id uuid, kind text, status text, version integer, attempt integer, answers integer, faults integer, sender text,
  receiver text, document_type_id text, process_id text, as4_message_id text, sbdh_instance_id uuid,
  created_at timestamptz, payload_key_id text, payload_sealed bytea, firm_id uuid, about uuid
)
language sql volatile as $$
  with due as (
    select m.id from service_message as m
    where m.next_attempt_at <= now() and (m.lease_until is null or m.lease_until < now())
    order by m.next_attempt_at limit p_limit
    for update skip locked
  ), taken as (
    update service_message as m
    set attempts = m.attempts + 1, version = m.version + 1, lease_owner = p_owner,
      lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond'
    from due where m.id = due.id
    returning m.*
  ), begun as (
    insert into service_attempt (message_id, number, owner, started_at)
    select taken.id, taken.attempts, p_owner, clock_timestamp() from taken
  ), cut as (
    update service_attempt as a set finished_at = clock_timestamp(), outcome = 'cut'
    from taken
    where taken.attempts > 1 and a.message_id = taken.id and a.number = taken.attempts - 1 and a.finished_at is null
  )
  select taken.id, taken.kind, taken.status, taken.version, taken.attempts, taken.answers, taken.faults, taken.sender,
    taken.receiver, taken.document_type_id, taken.process_id, taken.as4_message_id, taken.sbdh_instance_id,
    taken.created_at, taken.payload_key_id, taken.payload_sealed, taken.firm_id, taken.about
  from taken
$$;

drop function end_service_attempt(uuid, integer, text, timestamptz, timestamptz, jsonb, jsonb);

-- Writes the end of an attempt at a service message: state, what its plan has used, when it is due again, the attempt, and
-- with its receipt the exchange and M2 of the document that it is about. No row: another node decided since.
create function end_service_attempt(
  p_id uuid, p_version integer, p_status text, p_now timestamptz, p_wait_ms bigint, p_plan text, p_attempt jsonb,
  p_exchange jsonb
) returns table (received_at timestamptz)
language plpgsql volatile as $$
declare
  ended service_message;
  -- A deferred attempt was not made: its number is free again.
  v_not_made boolean := p_attempt ->> 'outcome' = 'deferred' and document_is_open(p_status);
begin
  update service_message as m
  set status = p_status, version = m.version + 1, lease_owner = null, lease_until = null,
    attempts = m.attempts - v_not_made::integer,
    next_attempt_at = case when document_is_open(p_status)
      then clock_timestamp() + p_wait_ms * interval '1 millisecond' end,
    answers = m.answers + (p_plan = 'answer')::integer,
    faults = case p_plan when 'fault' then m.faults + 1 when 'answer' then 0 else m.faults end,
    delivered_at = case when p_status = 'delivered' then p_now end,
    status_reason = case when document_is_open(p_status) or p_status = 'delivered' then m.status_reason
      else p_attempt ->> 'outcome' end
  where m.id = p_id and m.version = p_version
  returning m.* into ended;
  if not found then return; end if;
  if v_not_made then
    delete from service_attempt as a where a.message_id = p_id and a.number = (p_attempt ->> 'number')::integer;
  end if;
  update service_attempt as a
  set finished_at = p_now, outcome = p_attempt ->> 'outcome', code = p_attempt ->> 'code',
    detail = p_attempt ->> 'detail'
  where a.message_id = p_id and a.number = (p_attempt ->> 'number')::integer;
  if p_status = 'delivered' and p_exchange is not null then
    insert into exchange select (jsonb_populate_record(null::exchange, p_exchange)).* on conflict do nothing;
  end if;
  if p_status = 'delivered' and ended.kind = 'mls' then
    update exchange as e set status_at = p_now where e.id = ended.about and e.status_at is null;
  end if;
  return query
    select d.received_at from service_message as m
    left join mls_duty as d on d.id = m.about and m.kind = 'mls' where m.id = p_id;
end
$$;

drop function take_mls_duties(timestamptz, integer, integer, text);

-- Takes received documents whose status is to be decided, the longest due first, by database time.
create function take_mls_duties(p_owner text, p_lease_ms integer, p_limit integer)
returns table (
  id uuid, firm_id uuid, sbdh_instance_id text, document_type_id text, receiver text, always boolean,
  received_at timestamptz, acknowledged boolean, is_response boolean, held boolean, payload_key_id text,
  payload_sealed bytea, process_id text, document_sender text, document_receiver text
)
language sql volatile as $$
  with due as (
    select d.id from mls_duty as d
    where d.next_at <= now() and (d.lease_until is null or d.lease_until < now())
    order by d.next_at limit p_limit
    for update skip locked
  ), taken as (
    update mls_duty as d
    set lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond', lease_owner = p_owner
    from due where d.id = due.id
    returning d.id, d.firm_id, d.sbdh_instance_id, d.document_type_id, d.receiver, d.always, d.received_at
  )
  select t.id, t.firm_id, t.sbdh_instance_id, t.document_type_id, t.receiver, t.always, t.received_at,
    coalesce(r.status = 'ACKNOWLEDGED', false), s.id is not null, coalesce(r.status = 'HELD', false),
    coalesce(s.payload_key_id, p.key_id), coalesce(s.payload_sealed, p.sealed), coalesce(r.process_id, e.process_id),
    coalesce(r.sender, s.sender), coalesce(r.receiver, s.receiver)
  from taken as t
  left join received_document as r on r.id = t.id
  left join payload as p on p.document_id = t.id
  left join inbound_status as s on s.id = t.id
  left join exchange as e on e.id = t.id
$$;

drop function end_mls_duty(uuid, timestamptz, text, jsonb, text, jsonb);

-- Ends a duty: with the message that says so, or without one. p_wait_ms puts it off instead, for so long in database time.
-- p_document is what becomes of the held document in the same step: one that its firm has seen already is never refused.
-- No row: nothing was written, because the duty was ended already or the document cannot be refused any more.
create function end_mls_duty(
  p_id uuid, p_wait_ms bigint, p_code text, p_message jsonb, p_document text default null, p_findings jsonb default null
) returns table (id uuid)
language plpgsql volatile as $$
begin
  perform 1 from mls_duty as d where d.id = p_id and d.next_at is not null for update;
  if not found then return; end if;
  if p_document is not null then
    update received_document as r set status = p_document, findings = p_findings
    where r.id = p_id and r.status = 'HELD';
    if not found and p_document = 'REFUSED' then return; end if;
  end if;
  return query
    update mls_duty as d
    set next_at = clock_timestamp() + p_wait_ms * interval '1 millisecond', lease_until = null, code = p_code
    where d.id = p_id returning d.id;
  if p_message is not null then
    insert into service_message select (jsonb_populate_record(null::service_message, p_message)).*
    on conflict (subject) do nothing;
  end if;
end
$$;
