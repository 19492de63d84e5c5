-- Whoever makes deliveries of a subscription holds it until they are committed, so that a change that is made meanwhile finds
-- them: it waits for them, or they are made as it has left the subscription.

-- As before; the subscription is locked before it is looked at.
create or replace function replay_webhook(p_delivery uuid, p_firm uuid, p_integrator uuid)
returns table (outcome text, delivery_id uuid, subscription_id uuid, event_id uuid)
language plpgsql volatile as $$
#variable_conflict use_column
declare
  v_dead webhook_delivery;
  v_subscription webhook_subscription;
begin
  select d.* into v_dead from webhook_delivery as d
    where d.id = p_delivery and d.owner_id = coalesce(p_integrator, p_firm) and d.firm_id = p_firm and d.status = 'FAILED'
      and d.test_run_id is null
    for update;
  if not found then return; end if;
  select s.* into v_subscription from webhook_subscription as s
    where s.id = v_dead.subscription_id and s.integrator_id is not distinct from p_integrator and s.deleted_at is null
    for key share;
  if not found then return; end if;
  if not v_subscription.active then
    return query select 'inactive', v_dead.id, v_dead.subscription_id, v_dead.event_id;
    return;
  end if;
  insert into webhook_delivery (
    id, subscription_id, endpoint_id, owner_id, firm_id, event_id, event, place, document_id, occurred_at, replay_of,
    status, due_at, created_at
  ) values (
    new_row_id(), v_dead.subscription_id, v_subscription.endpoint_id, v_dead.owner_id, v_dead.firm_id, v_dead.event_id,
    v_dead.event, v_dead.place, v_dead.document_id, v_dead.occurred_at, v_dead.id, 'PENDING',
    case when v_subscription.endpoint_id is not null then clock_timestamp() end, clock_timestamp()
  ) on conflict do nothing;
  update webhook_delivery as d set resolved_at = coalesce(d.resolved_at, clock_timestamp()),
      resolution = coalesce(d.resolution, 'replayed')
    where d.id = v_dead.id;
  return query
  select 'replayed', d.id, d.subscription_id, d.event_id from webhook_delivery as d
  where d.subscription_id = v_dead.subscription_id and d.event_id = v_dead.event_id and d.replay_of = v_dead.id;
end
$$;

-- As before; the subscription is locked while it is read.
create or replace function test_webhook(
  p_id uuid, p_firm uuid, p_integrator uuid, p_run uuid, p_event text, p_events uuid[], p_data jsonb[], p_owner text,
  p_lease_ms integer
) returns table (id uuid, event_id uuid)
language sql volatile as $$
  insert into webhook_delivery (
    id, subscription_id, endpoint_id, owner_id, firm_id, event_id, event, place, document_id, occurred_at, test_run_id,
    test_data, status, due_at, lease_owner, attempted_at, created_at
  )
  select new_row_id(), s.id, s.endpoint_id, coalesce(s.integrator_id, s.firm_id), s.firm_id, t.id, p_event,
    nextval(pg_get_serial_sequence('document_event', 'position')) * 2, (t.data ->> 'document_id')::uuid, clock_timestamp(),
    p_run, t.data, 'PENDING',
    case
      when s.endpoint_id is null then null
      when p_owner is null then clock_timestamp()
      else clock_timestamp() + p_lease_ms * interval '1 millisecond'
    end,
    case when s.endpoint_id is not null then p_owner end,
    case when s.endpoint_id is not null and p_owner is not null then clock_timestamp() end, clock_timestamp()
  from (
    select w.id, w.firm_id, w.integrator_id, w.endpoint_id from webhook_subscription as w
    where w.id = p_id and w.firm_id = p_firm and w.integrator_id is not distinct from p_integrator and w.deleted_at is null
    for key share
  ) as s cross join unnest(p_events, p_data) as t (id, data)
  returning id, event_id
$$;

-- As before; an event that was taken from the next page already has no turn of its own on that page, where nothing would
-- wake what is behind it.
create or replace function fan_out_connector(p_limit integer) returns table (read bigint, queued bigint)
language plpgsql volatile as $$
#variable_conflict use_column
declare
  v_from feed_consumer;
  v_to record;
  v_queued bigint;
begin
  if not exists (select 1 from webhook_subscription where firm_id is null and deleted_at is null and active) then return; end if;
  select * into v_from from feed_consumer where name = 'connector' for update skip locked;
  if not found then return; end if;
  select f.transaction_id, f.feed_position, count(*) over () as events into v_to
    from read_feed(v_from.transaction_id, v_from.position, p_limit) as f
    order by f.transaction_id desc, f.feed_position desc limit 1;
  if not found then return; end if;

  perform 1 from webhook_subscription as s
    where s.firm_id is null and s.deleted_at is null and s.active order by s.id for key share;
  perform 1 from webhook_delivery as h
    where h.due_at is not null and h.customer_ref is not null
      and h.document_id in (select f.document_id from read_feed(v_from.transaction_id, v_from.position, p_limit) as f)
    order by h.id for update;

  with page as (
    select f.id, f.kind, f.document_id, f.firm_id, f.occurred_at, f.transaction_id, f.feed_position, f.part
    from read_feed(v_from.transaction_id, v_from.position, p_limit) as f
    where (f.transaction_id, f.feed_position) <= (v_to.transaction_id, v_to.feed_position)
  ), ahead as (
    select e.id, e.kind, e.document_id, e.firm_id, e.occurred_at, e.transaction_id, e.position as feed_position, 0::smallint as part
    from (select document_id, max(feed_position) as last from page group by document_id) as p
    join document_event as e on e.document_id = p.document_id and e.position < p.last
    where v_to.events >= p_limit and e.feed
      and (e.transaction_id, e.position) > (v_to.transaction_id, v_to.feed_position)
      and e.transaction_id < pg_snapshot_xmin(pg_current_snapshot())
  ), told as (
    select f.id, connector_event(f.kind, f.document_id) as event, f.document_id, f.firm_id, f.occurred_at,
      f.feed_position * 2 + f.part as place, s.id as subscription_id, s.endpoint_id, s.events, b.customer_ref
    from (
      select id, kind, document_id, firm_id, occurred_at, transaction_id, feed_position, part from page
      union all
      select id, kind, document_id, firm_id, occurred_at, transaction_id, feed_position, part from ahead
    ) as f
    join firm_binding as b on b.firm_id = f.firm_id and b.customer_ref is not null
    join webhook_subscription as s on s.integrator_id = b.integrator_id and s.firm_id is null and s.deleted_at is null
      and s.active and not pg_visible_in_snapshot(f.transaction_id, s.seen_from)
      and connector_is_told(s.integrator_id, f.firm_id)
    where (select 1 from webhook_delivery as x where x.subscription_id = s.id and x.event_id = f.id limit 1) is null
  ), added as (
    insert into webhook_delivery (
      id, subscription_id, endpoint_id, owner_id, firm_id, customer_ref, event_id, event, place, document_id, occurred_at,
      status, due_at, created_at
    )
    select new_row_id(), t.subscription_id, t.endpoint_id, t.subscription_id, t.firm_id, t.customer_ref, t.id, t.event,
      t.place, t.document_id, t.occurred_at, 'PENDING',
      case
        when row_number() over (partition by t.subscription_id, t.document_id order by t.place) > 1 then 'infinity'
        when exists (
          select 1 from webhook_delivery as h
          where h.document_id = t.document_id and h.subscription_id = t.subscription_id and h.due_at is not null
            and h.replay_of is null
        ) then 'infinity'
        else now()
      end,
      clock_timestamp()
    from told as t
    where t.event = any (t.events)
    order by t.place
    on conflict do nothing
    returning 1
  )
  select count(*) into v_queued from added;

  update feed_consumer set transaction_id = v_to.transaction_id, position = v_to.feed_position where name = 'connector';
  return query select v_to.events, v_queued;
end
$$;
