-- Closed lists stand once: what a status means is said by a function, and what a column may hold by a constraint. A test
-- compares the lists here with those of the program, so that a word that only one of them knows is found.

-- Whether another attempt may still be made at a document or a message. Like the two below it is written into the
-- statements that use it, so that it costs nothing and indexes are found as if the list stood there.
create function document_is_open(p_status text) returns boolean language sql immutable parallel safe as $$
  select p_status in ('queued', 'sent')
$$;

-- Whether the firm that a received document belongs to may see it.
create function received_is_visible(p_status text) returns boolean language sql immutable parallel safe as $$
  select p_status in ('RECEIVED', 'ACKNOWLEDGED')
$$;

-- Whether a Message Level Status is the one that its document has: one that came too late to move anything is it as well.
create function status_counts(p_outcome text) returns boolean language sql immutable parallel safe as $$
  select p_outcome in ('applied', 'late')
$$;

alter table document drop constraint document_check;
alter table document add constraint document_check check (document_is_open(status) = (next_attempt_at is not null));
alter table service_message drop constraint service_message_check;
alter table service_message add constraint service_message_check check (document_is_open(status) = (next_attempt_at is not null));

alter table document_history add constraint document_history_status_check
  check (status in ('queued', 'sent', 'delivered', 'rejected', 'send_failed', 'delivery_failed', 'validation_failed'));
alter table document_history add constraint document_history_trigger_check check (trigger in (
  'accepted', 'rules_refused', 'transmitted', 'receipt_confirmed', 'attempts_exhausted', 'peer_refused', 'mls_ap', 'mls_ab', 'mls_re',
  'invoice_response'
));
alter table document_event add constraint document_event_kind_check check (kind in (
  'document.sent', 'document.delivered', 'document.delivery_failed', 'document.mls_received', 'document.rejected',
  'document.response_received', 'document.queued', 'document.attempt_failed', 'document.mls_ignored', 'document.response_ignored'
));

-- Takes one attempt at a document: the lease in database time, the attempt's row, and what is needed to make it.
-- No row: nothing to do now (final, not due, or another node is at it).
create or replace function take_attempt(p_id uuid, p_owner text, p_now timestamptz, p_lease_ms integer)
returns table (
  id uuid, firm_id uuid, sender text, receiver text, document_type_id text, process_id text, status text, version integer,
  attempt integer, as4_message_id text, sbdh_instance_id uuid, facts jsonb, created_at timestamptz, payload_key_id text, payload_sealed bytea
)
language sql volatile as $$
  with taken as (
    update document as d
    set attempts = d.attempts + 1, version = d.version + 1, lease_owner = p_owner,
      lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond'
    where d.id = p_id and document_is_open(d.status) and d.next_attempt_at <= p_now
      and (d.lease_until is null or d.lease_until < clock_timestamp())
    returning d.*
  ), begun as (
    insert into document_attempt (document_id, number, owner, started_at)
    select taken.id, taken.attempts, p_owner, p_now from taken
  )
  select taken.id, taken.firm_id, taken.sender, taken.receiver, taken.document_type_id, taken.process_id, taken.status, taken.version,
    taken.attempts, taken.as4_message_id, taken.sbdh_instance_id, taken.facts, taken.created_at, payload.key_id, payload.sealed
  from taken join payload on payload.document_id = taken.id
$$;

-- Writes one move, or the end of an attempt that moved nothing: state, version, history, events, outbox and attempt together.
-- Returns the new version, or no row when the document has another version than the one decided on.
create or replace function apply_move(
  p_id uuid, p_version integer, p_status text, p_trigger text, p_detail text, p_now timestamptz, p_next_attempt_at timestamptz,
  p_events jsonb, p_attempt jsonb, p_changes jsonb
) returns table (version integer)
language sql volatile as $$
  with moved as (
    update document as d
    set status = p_status, version = d.version + 1, updated_at = greatest(d.updated_at, p_now),
      next_attempt_at = case when document_is_open(p_status) then coalesce(p_next_attempt_at, d.next_attempt_at) end,
      lease_owner = case when p_attempt is null then d.lease_owner end,
      lease_until = case when p_attempt is null then d.lease_until end,
      delivered_at = coalesce(d.delivered_at, case when p_status = 'delivered' then greatest(d.updated_at, p_now) end),
      status_reason = coalesce(p_changes ->> 'statusReason', d.status_reason),
      invoice_response_status = coalesce(p_changes ->> 'invoiceResponseStatus', d.invoice_response_status),
      validation_result = coalesce(p_changes -> 'validationResult', d.validation_result)
    where d.id = p_id and d.version = p_version
    returning d.id, d.firm_id, d.version, d.status, d.updated_at
  ), history as (
    insert into document_history (document_id, version, status, trigger, detail, occurred_at)
    select moved.id, moved.version, moved.status, p_trigger, p_detail, moved.updated_at from moved where p_trigger is not null
  ), events as (
    insert into document_event (id, document_id, firm_id, kind, actor, feed, detail, meta, occurred_at)
    select (e.value ->> 'id')::uuid, moved.id, moved.firm_id, e.value ->> 'kind', 'system', (e.value ->> 'feed')::boolean,
      e.value ->> 'detail', e.value -> 'meta', moved.updated_at
    from moved cross join lateral jsonb_array_elements(p_events) with ordinality as e (value, n)
    order by e.n
  ), announced as (
    insert into outbox (stream, key, body)
    select 'events', e.value ->> 'id', jsonb_build_object('eventId', e.value ->> 'id', 'documentId', moved.id, 'kind', e.value ->> 'kind')
    from moved cross join lateral jsonb_array_elements(p_events) with ordinality as e (value, n)
    where (e.value ->> 'feed')::boolean
    order by e.n
  ), finished as (
    update document_attempt as a
    set finished_at = p_now, outcome = p_attempt ->> 'outcome', code = p_attempt ->> 'code',
      retryable = (p_attempt ->> 'retryable')::boolean, detail = p_attempt ->> 'detail'
    from moved
    where a.document_id = moved.id and a.number = (p_attempt ->> 'number')::integer
  )
  select moved.version from moved
$$;

-- Writes the end of an attempt at a service message: state, attempt, and with its receipt the exchange and M2 of the
-- document that it is about. No row: another node decided since.
create or replace function end_service_attempt(
  p_id uuid, p_version integer, p_status text, p_now timestamptz, p_next_attempt_at timestamptz, p_attempt jsonb, p_exchange jsonb
) returns table (received_at timestamptz)
language plpgsql volatile as $$
declare
  ended service_message;
begin
  update service_message as m
  set status = p_status, version = m.version + 1, lease_owner = null, lease_until = null,
    -- A deferred attempt was not made: its number is free again.
    attempts = m.attempts - (p_attempt ->> 'outcome' = 'deferred' and document_is_open(p_status))::integer,
    next_attempt_at = case when document_is_open(p_status) then p_next_attempt_at end,
    delivered_at = case when p_status = 'delivered' then p_now end,
    status_reason = case when document_is_open(p_status) or p_status = 'delivered' then m.status_reason else p_attempt ->> 'outcome' end
  where m.id = p_id and m.version = p_version
  returning m.* into ended;
  if not found then return; end if;
  if p_attempt ->> 'outcome' = 'deferred' and document_is_open(p_status) then
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

-- Marks a received document as processed; a second time answers the first time's instant. What the firm does not see it cannot mark.
create or replace function acknowledge_received(p_id uuid, p_participant_key text, p_now timestamptz)
returns table (acknowledged_at timestamptz)
language sql volatile as $$
  update received_document as r
  set status = 'ACKNOWLEDGED', acknowledged_at = coalesce(r.acknowledged_at, p_now)
  where r.id = p_id and r.participant_key = p_participant_key and received_is_visible(r.status)
  returning r.acknowledged_at
$$;
