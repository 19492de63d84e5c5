-- What the end of an attempt writes less of. Documents that end with one statement are tallied once for each state, not
-- once for each document; and a row of the outbox that was published becomes the row that tells of the next ends, under
-- a new id, where it was removed and another one added. A relay that had taken the earlier row finds its id no more.
create function tally_moved_documents() returns trigger language plpgsql as $$
declare
  v record;
begin
  for v in
    select s.status, sum(s.change) as change from (
      select tallied_as(b.status, b.staged, b.status_reason) as status, -1 as change
      from before as b join after as a on a.id = b.id where a.status <> b.status and not document_is_open(b.status)
      union all
      select tallied_as(a.status, a.staged, a.status_reason), 1
      from before as b join after as a on a.id = b.id where a.status <> b.status and not document_is_open(a.status)
    ) as s group by s.status having sum(s.change) <> 0 order by s.status
  loop
    update document_tally as t set n = t.n + v.change where t.status = v.status
      and t.share = (select f.share from document_tally as f where f.status = v.status limit 1 for update skip locked);
    if not found then insert into document_tally (status, n) values (v.status, v.change); end if;
  end loop;
  return null;
end $$;
drop trigger document_tallied on document;
create trigger document_tallied after update on document
  referencing old table as before new table as after for each statement execute function tally_moved_documents();

create or replace function end_attempts(
  p_id uuid[], p_version integer[], p_status text[], p_now timestamptz[], p_wait_ms bigint[], p_plan text[],
  p_moves jsonb[], p_events jsonb[], p_attempt jsonb[], p_reason text[], p_exchange jsonb[], p_owner text[],
  p_claim_ms integer, p_published bigint[] default '{}', p_evidence jsonb default '[]'
)
 returns table (n bigint, version integer, outbox_id bigint, outbox_body jsonb)
 language plpgsql
 set plan_cache_mode = force_generic_plan
as $$
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
  ), telling as (
    select min(moved.id::text) as key,
      jsonb_agg(jsonb_build_object('key', e.value ->> 'id', 'body', jsonb_build_object('eventId', e.value ->> 'id',
        'documentId', moved.id, 'kind', e.value ->> 'kind')) order by moved.n, e.n) as body,
      clock_timestamp() + p_claim_ms * interval '1 millisecond' as claimed_until
    from moved cross join lateral jsonb_array_elements(moved.events) with ordinality as e (value, n)
    where (e.value ->> 'feed')::boolean
    having count(*) > 0
  ), reused as (
    update outbox as o
    set id = default, stream = 'events', key = t.key, body = t.body, created_at = clock_timestamp(),
      claimed_until = t.claimed_until
    from telling as t where o.id = p_published[1]
    returning o.id, o.body
  ), added as (
    insert into outbox (stream, key, body, claimed_until)
    select 'events', t.key, t.body, t.claimed_until from telling as t where not exists (select 1 from reused)
    returning outbox.id, outbox.body
  ), told as (
    select * from reused union all select * from added
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
    delete from outbox
    where outbox.id = any (case when exists (select 1 from telling) then p_published[2:] else p_published end)
  )
  select moved.n, moved.version, told.id, told.body
  from moved left join told on moved.n = (select min(first.n) from moved as first);
  if jsonb_array_length(p_evidence) > 0 then
    perform 1 from append_evidence(p_evidence);
  end if;
end
$$;
