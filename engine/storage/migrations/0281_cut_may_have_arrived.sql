-- An attempt that was cut may have transmitted its document. Such a document cannot be cancelled as one that was never sent;
-- and where its node comes back with the receipt, what it learned takes the place of the mark.

create function document_was_cut(p_id uuid) returns boolean language sql stable as $$
  select exists (select 1 from document_attempt as a where a.document_id = p_id and a.outcome = 'cut')
$$;

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
    on conflict (document_id, number) do update
    set finished_at = excluded.finished_at, outcome = excluded.outcome, code = excluded.code,
      retryable = excluded.retryable, detail = excluded.detail, seat = excluded.seat
    where document_attempt.outcome = 'cut'
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

-- As before, but for what was cut.
create or replace function move_box_item(p_move jsonb, p_events jsonb, p_audit jsonb) returns boolean language plpgsql as $$
declare
  v_id uuid := (p_move ->> 'id')::uuid;
  v_firm uuid := (p_move ->> 'firmId')::uuid;
  v_trigger text := p_move ->> 'trigger';
  v_to text := p_move ->> 'to';
  v_scheduled timestamptz := (p_move ->> 'scheduledFor')::timestamptz;
  v_document document;
  v_item box_item;
  v_waits boolean;
  v_leaves boolean;
  v_key uuid := case when v_to <> 'cancelled' and p_audit ->> 'actorType' = 'api_key' then (p_audit ->> 'actorId')::uuid end;
  v_generation integer;
begin
  select d.* into v_document from document as d join box_item as i on i.document_id = d.id
  where i.id = v_id and i.firm_id = v_firm for update of d;
  select * into v_item from box_item as i
  where i.id = v_id and i.firm_id = v_firm and i.version = (p_move ->> 'version')::integer for update;
  if not found then return false; end if;
  v_waits := v_document.id is not null and document_is_open(v_document.status);
  v_leaves := v_document.id is not null and not v_waits and v_to <> 'cancelled';
  -- Somebody has begun an attempt: the item is not what it was decided on.
  if v_waits and v_document.lease_owner is not null then return false; end if;
  -- An attempt that was cut may have arrived: the document is ours to see to its end.
  if v_waits and v_to = 'cancelled' and document_was_cut(v_document.id) then return false; end if;
  if v_waits and v_to = 'cancelled' then
    perform 1 from apply_move(v_document.id, v_document.version, p_move ->> 'documentStatus', 'cancelled', p_move ->> 'reason',
      clock_timestamp(), null, p_events, null, jsonb_build_object('statusReason', p_move ->> 'reason'));
  elsif v_waits then
    update document as d set next_attempt_at = least(d.next_attempt_at, clock_timestamp()), version = d.version + 1
    where d.id = v_document.id;
  end if;
  select g.binding_generation into v_generation from integrator as g where g.id = (p_move ->> 'integratorId')::uuid;
  update box_item as i
  set status = v_to, version = i.version + 1, tries = 0, last_error = null,
    scheduled_for = coalesce(v_scheduled, i.scheduled_for),
    due_at = case v_to
      when 'scheduled' then v_scheduled
      when 'retrying' then case when not v_waits then clock_timestamp() end
      when 'sending' then clock_timestamp() + (p_move ->> 'leaseMs')::integer * interval '1 millisecond'
    end,
    lease_owner = case when v_to = 'sending' then p_move ->> 'owner' end,
    locked_at = case when v_to = 'sending' then clock_timestamp() end,
    document_id = case when v_leaves then (p_move ->> 'freshId')::uuid else i.document_id end,
    attempts_before = i.attempts_before + case when v_leaves then v_document.attempts else 0 end,
    sent_at = case when v_leaves then null else i.sent_at end,
    key_id = coalesce(v_key, i.key_id),
    integrator_id = case when v_key is null then i.integrator_id else (p_move ->> 'integratorId')::uuid end,
    binding_generation = case when v_key is null then i.binding_generation else v_generation end,
    cancelled_at = case when v_to = 'cancelled' then clock_timestamp() end,
    status_since = case when v_item.status = v_to then i.status_since else clock_timestamp() end,
    updated_at = greatest(i.updated_at, clock_timestamp())
  where i.id = v_id
  returning * into v_item;
  insert into box_event (item_id, version, kind, status, actor_type, actor_id, detail, document_id, occurred_at)
  values (v_id, v_item.version, v_trigger, v_to, p_audit ->> 'actorType', p_audit ->> 'actorId', p_move ->> 'scheduledFor',
    case when v_leaves then v_document.id end, clock_timestamp());
  perform append_audit(
    p_audit,
    case v_trigger when 'schedule' then 'box.scheduled' when 'send_now' then 'box.sent_now' when 'retry' then 'box.retried'
      when 'cancel' then 'box.cancelled' end,
    v_firm, (p_move ->> 'integratorId')::uuid, 'box_item', v_id::text,
    jsonb_build_object('status', v_to, 'scheduledFor', p_move ->> 'scheduledFor'));
  return true;
end
$$;
