-- Who may say what of a document: statuses count from the access point to which it was last transmitted, responses in their order.

-- Seat of the access point to which an attempt transmitted the document; null when it transmitted nothing.
alter table document_attempt add column seat text;

-- Ends an attempt; see 0017.
create or replace function end_attempt(
  p_id uuid, p_version integer, p_status text, p_now timestamptz, p_wait_ms bigint, p_plan text, p_moves jsonb,
  p_events jsonb, p_attempt jsonb, p_reason text, p_exchange jsonb
) returns table (version integer)
language sql volatile as $$
  with moved as (
    update document as d
    set status = p_status, version = d.version + greatest(1, jsonb_array_length(p_moves)),
      updated_at = greatest(d.updated_at, p_now), lease_owner = null, lease_until = null,
      next_attempt_at = case when document_is_open(p_status)
        then clock_timestamp() + p_wait_ms * interval '1 millisecond' end,
      answers = d.answers + (p_plan = 'answer')::integer,
      faults = case when p_plan = 'fault' then d.faults + 1 else 0 end,
      delivered_at = coalesce(d.delivered_at, case when p_status = 'delivered' then greatest(d.updated_at, p_now) end),
      status_reason = coalesce(p_reason, d.status_reason)
    where d.id = p_id and d.version = p_version
    returning d.id, d.firm_id, d.version, d.updated_at, d.sender_key, d.document_type_id, d.process_id
  ), history as (
    insert into document_history (document_id, version, status, trigger, detail, occurred_at)
    select moved.id, p_version + m.n, m.value ->> 'status', m.value ->> 'trigger', m.value ->> 'detail', moved.updated_at
    from moved cross join lateral jsonb_array_elements(p_moves) with ordinality as m (value, n)
    order by m.n
  ), events as (
    insert into document_event (id, document_id, firm_id, kind, actor, feed, detail, meta, occurred_at)
    select (e.value ->> 'id')::uuid, moved.id, moved.firm_id, e.value ->> 'kind', 'system',
      (e.value ->> 'feed')::boolean, e.value ->> 'detail', e.value -> 'meta', moved.updated_at
    from moved cross join lateral jsonb_array_elements(p_events) with ordinality as e (value, n)
    order by e.n
  ), announced as (
    insert into outbox (stream, key, body)
    select 'events', e.value ->> 'id',
      jsonb_build_object('eventId', e.value ->> 'id', 'documentId', moved.id, 'kind', e.value ->> 'kind')
    from moved cross join lateral jsonb_array_elements(p_events) with ordinality as e (value, n)
    where (e.value ->> 'feed')::boolean
    order by e.n
  ), exchanged as (
    insert into exchange (id, direction, kind, firm_id, c2_seat, c3_seat, document_type_id, process_id,
      transport_profile, c1_country, end_user, exchanged_at)
    select moved.id, 'outgoing', 'business', moved.firm_id, p_exchange ->> 'c2Seat', p_exchange ->> 'c3Seat',
      moved.document_type_id, moved.process_id, p_exchange ->> 'transportProfile', p_exchange ->> 'c1Country',
      moved.sender_key, p_now
    from moved where p_exchange is not null
    on conflict (id) do nothing
  ), finished as (
    update document_attempt as a
    set finished_at = p_now, outcome = p_attempt ->> 'outcome', code = p_attempt ->> 'code',
      retryable = (p_attempt ->> 'retryable')::boolean, detail = p_attempt ->> 'detail', seat = p_attempt ->> 'seat'
    from moved
    where a.document_id = moved.id and a.number = (p_attempt ->> 'number')::integer
  )
  select moved.version from moved
$$;


alter table inbound_status drop constraint inbound_status_outcome_check;
alter table inbound_status add constraint inbound_status_outcome_check check (outcome in ('applied', 'late', 'duplicate', 'contradicting', 'outdated', 'misdated', 'out_of_order', 'ambiguous', 'unknown', 'foreign', 'unreadable'));
