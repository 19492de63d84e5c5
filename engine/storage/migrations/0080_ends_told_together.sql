-- Attempts that end together are told together: one row of the outbox for a statement, not one for each document. Its key
-- names one of them; the messages that it lists name their own.

-- Writes the ends of attempts of different documents in one step: state, history, events, attempt, what it used of the
-- plan, the exchange that a receipt proves, and one row of the outbox for all of them, which carries what the streams
-- are told. p_moves: the moves in order, the last leads to p_status; none when nothing moved. The next attempt is due
-- p_wait_ms from now. No row for a document that has another version than the one decided on. The outbox row is answered
-- with the first document that was written. It is the caller's for p_claim_ms: it publishes it, and whoever finds it
-- later does when it could not; p_published are those it has published since. p_evidence: records of exchanges that are
-- safe in the store, which take their places in the chain even when nothing else is written. Their lock is the last to
-- be taken, so that it is held for the commit alone.
create or replace function end_attempts(
  p_id uuid[], p_version integer[], p_status text[], p_now timestamptz[], p_wait_ms bigint[], p_plan text[],
  p_moves jsonb[], p_events jsonb[], p_attempt jsonb[], p_reason text[], p_exchange jsonb[], p_owner text[],
  p_claim_ms integer, p_published bigint[] default '{}', p_evidence jsonb default '[]'
) returns table (n bigint, version integer, outbox_id bigint, outbox_body jsonb)
language plpgsql volatile as $$
#variable_conflict use_column
begin
  return query
  with given as (
    select g.* from unnest(
      p_id, p_version, p_status, p_now, p_wait_ms, p_plan, p_moves, p_events, p_attempt, p_reason, p_exchange, p_owner
    ) with ordinality as g (id, version, status, now, wait_ms, plan, moves, events, attempt, reason, exchange, owner, n)
  ), moved as (
    update document as d
    set status = g.status, version = d.version + greatest(1, jsonb_array_length(g.moves)),
      updated_at = greatest(d.updated_at, g.now), lease_owner = null, lease_until = null,
      next_attempt_at = case when document_is_open(g.status)
        then clock_timestamp() + g.wait_ms * interval '1 millisecond' end,
      answers = d.answers + (g.plan = 'answer')::integer,
      faults = case when g.plan = 'fault' then d.faults + 1 else 0 end,
      delivered_at = coalesce(d.delivered_at, case when g.status = 'delivered' then greatest(d.updated_at, g.now) end),
      status_reason = coalesce(g.reason, d.status_reason)
    from given as g
    where d.id = g.id and d.version = g.version
    returning g.n, d.id, d.firm_id, d.version, g.version as version_before, d.updated_at, d.attempted_at, d.sender_key,
      d.document_type_id, d.process_id, g.now, g.moves, g.events, g.attempt, g.exchange, g.owner
  ), history as (
    insert into document_history (document_id, version, status, trigger, detail, occurred_at)
    select moved.id, moved.version_before + m.n, m.value ->> 'status', m.value ->> 'trigger', m.value ->> 'detail',
      moved.updated_at
    from moved cross join lateral jsonb_array_elements(moved.moves) with ordinality as m (value, n)
    order by moved.n, m.n
  ), events as (
    insert into document_event (id, document_id, firm_id, kind, actor, feed, detail, meta, occurred_at)
    select (e.value ->> 'id')::uuid, moved.id, moved.firm_id, e.value ->> 'kind', 'system',
      (e.value ->> 'feed')::boolean, e.value ->> 'detail', e.value -> 'meta', moved.updated_at
    from moved cross join lateral jsonb_array_elements(moved.events) with ordinality as e (value, n)
    order by moved.n, e.n
  ), told as (
    insert into outbox (stream, key, body, claimed_until)
    select 'events', min(moved.id::text),
      jsonb_agg(jsonb_build_object('key', e.value ->> 'id', 'body', jsonb_build_object('eventId', e.value ->> 'id',
        'documentId', moved.id, 'kind', e.value ->> 'kind')) order by moved.n, e.n),
      clock_timestamp() + p_claim_ms * interval '1 millisecond'
    from moved cross join lateral jsonb_array_elements(moved.events) with ordinality as e (value, n)
    where (e.value ->> 'feed')::boolean
    having count(*) > 0
    returning outbox.id, outbox.body
  ), exchanged as (
    insert into exchange (id, direction, kind, firm_id, c2_seat, c3_seat, document_type_id, process_id,
      transport_profile, c1_country, end_user, exchanged_at)
    select moved.id, 'outgoing', 'business', moved.firm_id, moved.exchange ->> 'c2Seat', moved.exchange ->> 'c3Seat',
      moved.document_type_id, moved.process_id, moved.exchange ->> 'transportProfile', moved.exchange ->> 'c1Country',
      moved.sender_key, moved.now
    from moved where moved.exchange is not null
    on conflict (id) do nothing
  ), ended as (
    insert into document_attempt (document_id, number, owner, started_at, finished_at, outcome, code, retryable,
      detail, seat)
    select moved.id, (moved.attempt ->> 'number')::integer, moved.owner, coalesce(moved.attempted_at, moved.now),
      greatest(moved.attempted_at, moved.now), moved.attempt ->> 'outcome', moved.attempt ->> 'code',
      (moved.attempt ->> 'retryable')::boolean, moved.attempt ->> 'detail', moved.attempt ->> 'seat'
    from moved
  ), published as (
    delete from outbox where outbox.id = any (p_published)
  )
  select moved.n, moved.version, told.id, told.body
  from moved left join told on moved.n = (select min(first.n) from moved as first);
  if jsonb_array_length(p_evidence) > 0 then
    perform 1 from append_evidence(p_evidence);
  end if;
end
$$;
