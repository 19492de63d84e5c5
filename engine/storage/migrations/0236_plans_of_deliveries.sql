-- What a delivery costs Postgres. Plans of its functions are made once for a connection, as those of documents are: a plan
-- of the fan-out takes six milliseconds, and of two milliseconds in which the ends of eight attempts were written half a
-- millisecond was planning. None of them reads an index by way of a bitmap: only a plain scan marks the entries of rows that
-- have ended, so that the next one passes over them; otherwise each claim looks at all that has been under lease since the
-- last vacuum. A function that is replaced loses these settings.

-- As before; what is chosen to be sent is told from the rest without a comparison of each with each, and the subscriptions
-- are those that are locked, and no others: one that is switched on meanwhile was off when these events happened.
create or replace function fan_out_webhooks(
  p_limit integer, p_owner text default null, p_lease_ms integer default 0, p_places integer default 0,
  p_per_endpoint integer default 0, p_per_owner integer default 0, p_first integer default 0
) returns table (read bigint, queued bigint, waiting bigint, taken uuid[])
language plpgsql volatile set plan_cache_mode = force_generic_plan set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_from feed_consumer;
  v_id uuid[];
  v_kind text[];
  v_document uuid[];
  v_firm uuid[];
  v_occurred timestamptz[];
  v_transaction xid8[];
  v_position bigint[];
  v_part smallint[];
  v_subscriptions webhook_subscription[];
  v_events integer;
  v_queued bigint;
  v_waiting bigint;
  v_taken uuid[];
begin
  select * into v_from from feed_consumer where name = 'webhooks' for update skip locked;
  if not found then return; end if;
  select count(*), array_agg(f.id), array_agg(f.kind), array_agg(f.document_id), array_agg(f.firm_id),
      array_agg(f.occurred_at), array_agg(f.transaction_id), array_agg(f.feed_position), array_agg(f.part)
    into v_events, v_id, v_kind, v_document, v_firm, v_occurred, v_transaction, v_position, v_part
    from (
      select * from read_feed(v_from.transaction_id, v_from.position, p_limit) as f
      order by f.transaction_id, f.feed_position, f.part
    ) as f;
  if v_events = 0 then return; end if;

  select array_agg(t.locked) into v_subscriptions from (
    select s as locked from webhook_subscription as s
    where s.deleted_at is null and s.active and s.firm_id = any (v_firm) order by s.id for key share
  ) as t;
  if v_subscriptions is null then
    v_queued := 0;
    v_waiting := 0;
  else
    perform 1 from webhook_delivery as h
      where h.due_at is not null and h.document_id = any (v_document) order by h.id for update;
    if p_places > 0 then perform begin_webhook_leases(); end if;

    with page as (
      select f.id, f.kind, f.document_id, f.firm_id, f.occurred_at, f.transaction_id, f.feed_position, f.part
      from unnest(v_id, v_kind, v_document, v_firm, v_occurred, v_transaction, v_position, v_part)
        as f (id, kind, document_id, firm_id, occurred_at, transaction_id, feed_position, part)
    ), ahead as (
      select e.id, e.kind, e.document_id, e.firm_id, e.occurred_at, e.transaction_id, e.position as feed_position,
        0::smallint as part
      from (select document_id, max(feed_position) as last from page group by document_id) as p
      join document_event as e on e.document_id = p.document_id and e.position < p.last
      where v_events >= p_limit and e.feed
        and (e.transaction_id, e.position) > (v_transaction[v_events], v_position[v_events])
        and e.transaction_id < pg_snapshot_xmin(pg_current_snapshot())
    ), told as materialized (
      select f.id, f.kind, f.document_id, f.occurred_at, f.feed_position * 2 + f.part as place, s.id as subscription_id,
        s.endpoint_id, s.firm_id, coalesce(s.integrator_id, s.firm_id) as owner_id
      from (
        select id, kind, document_id, firm_id, occurred_at, transaction_id, feed_position, part from page
        union all
        select id, kind, document_id, firm_id, occurred_at, transaction_id, feed_position, part from ahead
      ) as f
      join unnest(v_subscriptions) as s on s.firm_id = f.firm_id and f.kind = any (s.events)
        and not pg_visible_in_snapshot(f.transaction_id, s.seen_from)
        and (s.integrator_id is null or webhook_is_allowed(s.integrator_id, s.firm_id))
      where (select 1 from webhook_delivery as x where x.subscription_id = s.id and x.event_id = f.id limit 1) is null
    ), ordered as materialized (
      select t.id, t.kind, t.document_id, t.occurred_at, t.place, t.subscription_id, t.endpoint_id, t.firm_id, t.owner_id,
        row_number() over (order by t.place, t.subscription_id) as n,
        row_number() over (partition by t.subscription_id, t.document_id order by t.place) = 1 and not exists (
          select 1 from webhook_delivery as h
          where h.document_id = t.document_id and h.subscription_id = t.subscription_id and h.due_at is not null
            and h.replay_of is null
        ) as is_first
      from told as t
    ), leased as materialized (
      select l.endpoint_id, l.owner_id, l.places from leased_webhooks() as l where p_places > 0
    ), turns as (
      select o.n, o.owner_id, o.place,
        coalesce(l.places, 0) + row_number() over (partition by o.endpoint_id order by o.place) as turn
      from ordered as o
      join webhook_endpoint as w on w.id = o.endpoint_id and w.failures = 0 and w.rest_until is null
      left join leased as l on l.endpoint_id = w.id and l.owner_id = w.owner_id
      where p_places > 0 and o.is_first
        and not exists (select 1 from webhook_delivery as d where d.endpoint_id = w.id and d.due_at <= now())
    ), shares as (
      select t.n, t.turn, t.place,
        row_number() over (partition by t.owner_id order by t.turn, t.place) + coalesce(busy.places, 0) as share
      from turns as t left join (
        select l.owner_id, sum(l.places) as places from leased as l group by l.owner_id
      ) as busy on busy.owner_id = t.owner_id
    ), chosen as materialized (
      select coalesce(array_agg(c.n), '{}') as ns from (
        select s.n from shares as s
        where s.turn <= p_per_endpoint and s.share <= p_per_owner and (s.turn = 1 or s.share <= p_per_owner - p_first)
        order by s.turn, s.place limit p_places
      ) as c
    ), added as (
      insert into webhook_delivery (
        id, subscription_id, endpoint_id, owner_id, firm_id, event_id, event, place, document_id, occurred_at, status,
        due_at, lease_owner, attempted_at, begun, created_at
      )
      select new_row_id(), t.subscription_id, t.endpoint_id, t.owner_id, t.firm_id, t.id, t.kind, t.place, t.document_id,
        t.occurred_at, 'PENDING',
        case
          when t.endpoint_id is null then null
          when not t.is_first then 'infinity'
          when t.is_taken then clock_timestamp() + p_lease_ms * interval '1 millisecond'
          else now()
        end,
        case when t.is_taken then p_owner end, case when t.is_taken then clock_timestamp() end, t.is_taken::integer,
        clock_timestamp()
      from (
        select o.id, o.kind, o.document_id, o.occurred_at, o.place, o.subscription_id, o.endpoint_id, o.firm_id, o.owner_id,
          o.is_first, o.n = any ((select c.ns from chosen as c)::bigint[]) as is_taken
        from ordered as o
      ) as t
      order by t.place
      on conflict do nothing
      returning id, subscription_id, document_id, place, due_at, lease_owner
    )
    select count(*), count(*) filter (where isfinite(a.due_at) and a.lease_owner is null),
        array_agg(a.id order by a.place) filter (where (a.subscription_id, a.document_id) in (
          select h.subscription_id, h.document_id from added as h where h.lease_owner is not null
        ))
      into v_queued, v_waiting, v_taken
      from added as a;
  end if;

  update feed_consumer set transaction_id = v_transaction[v_events], position = v_position[v_events] where name = 'webhooks';
  return query select v_events::bigint, v_queued, v_waiting, v_taken;
end
$$;

alter function fan_out_connector set plan_cache_mode = force_generic_plan;
alter function fan_out_connector set enable_bitmapscan = off;
alter function settle_webhooks set plan_cache_mode = force_generic_plan;
alter function settle_webhooks set enable_bitmapscan = off;
alter function due_webhooks set plan_cache_mode = force_generic_plan;
alter function due_webhooks set enable_bitmapscan = off;
