-- As before, but nothing is read by way of all that is open where it is looked up by its id, its document, its endpoint or its
-- lease: where statistics are of an hour in which nothing was, every index of it looks equally short, and the one whose order
-- is that of the table looks cheapest. A condition within a case is none of an index, and where nothing is sorted the index
-- that has the order is the one that is read.

create or replace function leased_webhooks() returns table (endpoint_id uuid, owner_id uuid, places bigint) language sql stable rows 64 as $$
  select l.endpoint_id, l.owner_id, count(*) from webhook_delivery as l
  where l.lease_owner is not null and case when l.due_at > now() then true end
  group by l.endpoint_id, l.owner_id
$$;

-- Whether a delivery is due at an endpoint, told by the index of an endpoint's deliveries in their order and by no other.
create function webhook_is_due(p_endpoint uuid) returns boolean
language plpgsql stable set plan_cache_mode = force_generic_plan set enable_bitmapscan = off set enable_sort = off as $$
begin
  perform 1 from webhook_delivery as d
  where d.endpoint_id = p_endpoint and d.due_at <= now() order by d.due_at limit 1;
  return found;
end
$$;

create or replace function due_webhooks(
  p_places integer, p_per_endpoint integer, p_per_owner integer, p_first integer, p_breaker integer
) returns table (id uuid, endpoint_id uuid)
language plpgsql volatile rows 64
set plan_cache_mode = force_generic_plan set enable_bitmapscan = off set enable_seqscan = off set enable_sort = off as $$
#variable_conflict use_column
begin
  perform begin_webhook_leases();
  return query
  with recursive waiting (id) as (
    (select d.endpoint_id from webhook_delivery as d where d.due_at is not null order by d.endpoint_id limit 1)
    union all
    select (
      select d.endpoint_id from webhook_delivery as d
      where d.due_at is not null and d.endpoint_id > waiting.id order by d.endpoint_id limit 1
    )
    from waiting where waiting.id is not null
  ), open as (
    select w.id, w.owner_id, w.failures from webhook_endpoint as w
    where w.id in (select waiting.id from waiting) and (w.rest_until is null or w.rest_until <= now())
  ), leased as materialized (
    select l.endpoint_id, l.owner_id, l.places from leased_webhooks() as l
  ), free as (
    select open.id, coalesce(leased.places, 0) as taken, least(
      p_places, case when open.failures >= p_breaker then 1 else p_per_endpoint end - coalesce(leased.places, 0)
    ) as places
    from open left join leased on leased.endpoint_id = open.id and leased.owner_id = open.owner_id
  ), due as materialized (
    select t.id, t.owner_id, t.endpoint_id, t.due_at, free.taken
    from free cross join lateral (
      select d.id, d.owner_id, d.endpoint_id, d.due_at from webhook_delivery as d
      where d.endpoint_id = free.id and d.due_at <= now()
      order by d.due_at limit greatest(free.places, 0)
    ) as t
  ), turns as (
    select due.id, due.owner_id, due.endpoint_id, due.due_at,
      due.taken + row_number() over (partition by due.endpoint_id order by due.due_at) as turn
    from due
  ), shares as (
    select turns.id, turns.endpoint_id, turns.due_at, turns.turn,
      row_number() over (partition by turns.owner_id order by turns.turn, turns.due_at) + coalesce(busy.places, 0) as share
    from turns left join (
      select leased.owner_id, sum(leased.places) as places from leased group by leased.owner_id
    ) as busy on busy.owner_id = turns.owner_id
  )
  select shares.id, shares.endpoint_id from shares
  where shares.share <= p_per_owner and (shares.turn = 1 or shares.share <= p_per_owner - p_first)
  order by shares.turn, shares.due_at limit p_places;
end
$$;

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
      where h.id = any (array(
        select o.id from (select distinct f.id from unnest(v_document) as f (id)) as f
        cross join lateral (
          select w.id from webhook_delivery as w where w.document_id = f.id and w.due_at is not null offset 0
        ) as o
      ))
      order by h.id for update;
    if p_places > 0 then perform begin_webhook_leases(); end if;
    -- What a full page leaves behind of its documents.
    if v_events >= p_limit then
      select v_id || array_agg(e.id), v_kind || array_agg(e.kind), v_document || array_agg(e.document_id),
          v_firm || array_agg(e.firm_id), v_occurred || array_agg(e.occurred_at),
          v_transaction || array_agg(e.transaction_id), v_position || array_agg(e.position),
          v_part || array_agg(0::smallint)
        into v_id, v_kind, v_document, v_firm, v_occurred, v_transaction, v_position, v_part
        from (
          select f.document_id, max(f.feed_position) as last
          from unnest(v_document, v_position) as f (document_id, feed_position) group by f.document_id
        ) as p
        join document_event as e on e.document_id = p.document_id and e.position < p.last
        where e.feed and (e.transaction_id, e.position) > (v_transaction[v_events], v_position[v_events])
          and e.transaction_id < pg_snapshot_xmin(pg_current_snapshot());
    end if;

    with page as (
      select f.id, f.kind, f.document_id, f.firm_id, f.occurred_at, f.transaction_id, f.feed_position, f.part
      from unnest(v_id, v_kind, v_document, v_firm, v_occurred, v_transaction, v_position, v_part)
        as f (id, kind, document_id, firm_id, occurred_at, transaction_id, feed_position, part)
    ), told as materialized (
      select f.id, f.kind, f.document_id, f.occurred_at, f.feed_position * 2 + f.part as place, s.id as subscription_id,
        s.endpoint_id, s.firm_id, coalesce(s.integrator_id, s.firm_id) as owner_id
      from page as f
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
    ), free as materialized (
      select w.id, w.owner_id from webhook_endpoint as w
      where p_places > 0 and w.id = any (array(select distinct o.endpoint_id from ordered as o where o.is_first))
        and w.failures = 0 and w.rest_until is null and not webhook_is_due(w.id)
    ), turns as (
      select o.n, o.owner_id, o.place,
        coalesce(l.places, 0) + row_number() over (partition by o.endpoint_id order by o.place) as turn
      from ordered as o
      join free as w on w.id = o.endpoint_id
      left join leased as l on l.endpoint_id = w.id and l.owner_id = w.owner_id
      where o.is_first
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

create or replace function fan_out_connector(p_limit integer) returns table (read bigint, queued bigint)
language plpgsql volatile set plan_cache_mode = force_generic_plan set enable_bitmapscan = off set enable_seqscan = off as $$
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
    where h.id = any (array(
      select o.id from (
        select distinct f.document_id from read_feed(v_from.transaction_id, v_from.position, p_limit) as f
      ) as f
      cross join lateral (
        select w.id from webhook_delivery as w
        where w.document_id = f.document_id and w.due_at is not null and w.customer_ref is not null
        offset 0
      ) as o
    ))
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

create or replace function settle_webhooks(
  p_owner text[], p_head uuid[], p_id uuid[], p_attempt integer[], p_status text[], p_wait_ms bigint[],
  p_response_status integer[], p_response_body text[], p_cause text[], p_health text[], p_breaker integer,
  p_rest_ms integer, p_rest_max_ms integer, p_failing_ms bigint
) returns table (n bigint, failing boolean, freed boolean)
language plpgsql volatile set plan_cache_mode = force_generic_plan set enable_bitmapscan = off set enable_seqscan = off
set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  v_subscriptions uuid[];
  v_behind boolean;
  v_freed boolean := false;
  v_ended integer[];
  v_failed boolean := not p_status <@ array['SUCCESS'];
  v_unwell boolean := not p_health <@ array['well'];
  v_ailing boolean := v_failed or v_unwell;
  -- Longer than all attempts at one event take: failures that lie further apart are not one failure that goes on.
  v_apart constant interval := '48 hours';
begin
  -- Mostly all is well and was so before: then nothing but deliveries is written. A failure that commits after this look
  -- counts as one that came after these ends.
  if not v_ailing then
    v_ailing := exists (
      select 1 from unnest(p_id) as g (id) join webhook_delivery as d on d.id = g.id
      join webhook_subscription as s on s.id = d.subscription_id left join webhook_endpoint as w on w.id = d.endpoint_id
      where s.failed_attempts > 0 or w.failures > 0
    );
  end if;
  -- A subscription changes when an attempt fails, and when the first one succeeds after that. Only those that are locked
  -- here are changed below: who switches one off locks it first, and its deliveries after it.
  if v_ailing then
    select array_agg(s.id) into v_subscriptions from (
      select s.id from webhook_subscription as s
      where s.id in (select d.subscription_id from webhook_delivery as d where d.id = any (p_id))
        and (s.failed_attempts > 0 or v_failed)
      order by s.id for no key update
    ) as s;
  end if;
  -- The deliveries, and what waits behind them.
  perform 1 from webhook_delivery as d
  where d.id in (
    select unnest(p_id)
    union
    select b.id from unnest(p_id) as g (id) join webhook_delivery as e on e.id = g.id
    cross join lateral (
      select o.id from webhook_delivery as o
      where o.document_id = e.document_id and o.subscription_id is not distinct from e.subscription_id
        and o.due_at is not null
      offset 0
    ) as b
  )
  order by d.id for update;

  -- What the fan-out has added while its lock was waited for is seen from here on only; from now on it waits.
  with given as (
    select g.owner, g.head, g.id, g.attempt, g.status, g.wait_ms, g.response_status, g.response_body, g.cause, g.n
    from unnest(p_owner, p_head, p_id, p_attempt, p_status, p_wait_ms, p_response_status, p_response_body, p_cause)
      with ordinality as g (owner, head, id, attempt, status, wait_ms, response_status, response_body, cause, n)
  ), held as (
    select g.head from given as g
    join webhook_delivery as d on d.id = g.id and d.lease_owner = g.owner and d.attempts = g.attempt - 1
    where g.id = g.head
  ), ended as (
    update webhook_delivery as d
    set status = g.status, attempts = g.attempt, begun = 0, lease_owner = null, response_status = g.response_status,
      response_body = g.response_body, cause = g.cause, attempted_at = coalesce(d.attempted_at, clock_timestamp()),
      due_at = clock_timestamp() + g.wait_ms * interval '1 millisecond',
      settled_at = case when g.wait_ms is null then clock_timestamp() end
    from given as g join held as h on h.head = g.head
    where d.id = g.id and d.attempts = g.attempt - 1
      and (g.id = g.head or (d.due_at = 'infinity' and d.lease_owner is null))
    returning g.n::integer as n
  )
  select array_agg(ended.n), exists (
      select 1 from unnest(p_id) as g (id) join webhook_delivery as e on e.id = g.id
      cross join lateral (
        select o.id from webhook_delivery as o
        where o.document_id = e.document_id and o.subscription_id is not distinct from e.subscription_id
          and o.due_at is not null
        offset 0
      ) as b
      where b.id <> all (p_id)
    )
    into v_ended, v_behind from ended;
  if v_ended is null then return; end if;

  -- The next event of each document whose turn is over; repeats have no turn.
  if v_behind or cardinality(v_ended) < cardinality(p_id) then
    update webhook_delivery as d set due_at = clock_timestamp()
    from (
      select distinct on (b.subscription_id, b.document_id) b.id
      from (
        select distinct e.subscription_id, e.document_id from webhook_delivery as e
        where e.id = any (p_id) and e.settled_at is not null and e.replay_of is null
      ) as over
      cross join lateral (
        select o.id, o.subscription_id, o.document_id, o.place from webhook_delivery as o
        where o.document_id = over.document_id and o.subscription_id is not distinct from over.subscription_id
          and o.due_at is not null and o.replay_of is null
        offset 0
      ) as b
      order by b.subscription_id, b.document_id, b.place
    ) as next
    where d.id = next.id and case when d.due_at = 'infinity' then true end;
    v_freed := found;
  end if;

  if not v_ailing then
    foreach n in array v_ended loop
      failing := false;
      freed := v_freed;
      return next;
    end loop;
    return;
  end if;

  perform 1 from webhook_endpoint as w
    where w.id in (select d.endpoint_id from unnest(v_ended) as e (n) join webhook_delivery as d on d.id = p_id[e.n])
      and (w.failures > 0 or v_unwell)
    order by w.id for no key update;
  if found then
    update webhook_endpoint as w
    set failures = case when h.well then 0 else w.failures + h.ill end,
      rest_until = case when not h.well and w.failures + h.ill >= p_breaker then
        now() + least(p_rest_ms * 2 ^ least(w.failures + h.ill - p_breaker, 16), p_rest_max_ms) * interval '1 millisecond' end
    from (
      select d.endpoint_id, bool_or(p_health[d.n] = 'well') as well,
        count(*) filter (where p_health[d.n] = 'ill')::integer as ill
      from (
        select d.endpoint_id, e.n from unnest(v_ended) as e (n) join webhook_delivery as d on d.id = p_id[e.n]
      ) as d
      group by d.endpoint_id
    ) as h
    where w.id = h.endpoint_id and (h.well and w.failures > 0 or not h.well and h.ill > 0);
  end if;

  if v_subscriptions is null then
    return query select e.n::bigint, false, v_freed from unnest(v_ended) as e (n);
    return;
  end if;

  update webhook_subscription as s
  set failed_attempts = case when o.succeeded then 0 else s.failed_attempts + o.failed end,
    failing_since = case
      when o.succeeded then null
      when s.failed_at >= now() - v_apart then coalesce(s.failing_since, now())
      else now()
    end,
    failed_at = case when not o.succeeded then now() end
  from (
    select d.subscription_id, bool_or(p_status[e.n] = 'SUCCESS') as succeeded,
      (count(*) filter (where d.test_data is null and p_cause[e.n] is distinct from 'consent_withdrawn'))::integer as failed
    from unnest(v_ended) as e (n) join webhook_delivery as d on d.id = p_id[e.n]
    group by d.subscription_id
  ) as o
  where s.id = o.subscription_id and s.id = any (v_subscriptions)
    and case when o.succeeded then s.failed_attempts > 0 else o.failed > 0 end;

  return query
  select e.n::bigint, coalesce(
      s.active and s.failed_at = now() and s.failing_since < now() - p_failing_ms * interval '1 millisecond', false
    ), v_freed
  from unnest(v_ended) as e (n)
  join webhook_delivery as d on d.id = p_id[e.n]
  join webhook_subscription as s on s.id = d.subscription_id;
end
$$;

create or replace function end_webhooks_further(p_limit integer) returns boolean language plpgsql volatile as $$
declare
  v_subscription webhook_subscription;
  v_last bigint;
  v_ids uuid[];
begin
  select * into v_subscription from webhook_subscription
    where ending is not null order by id limit 1 for no key update skip locked;
  if not found then return false; end if;
  select max(w.position), array_agg(w.id) filter (
      where case when v_subscription.deleted_at is null then w.due_at is not null else w.settled_at is null end
    ) into v_last, v_ids
    from (
      select d.id, d.position, d.due_at, d.settled_at from webhook_delivery as d
      where d.subscription_id = v_subscription.id
        and d.position > v_subscription.ending_from and d.position <= v_subscription.ending_to
      order by d.position limit p_limit
    ) as w;
  if v_ids is not null then
    if v_subscription.active then
      perform 1 from webhook_delivery as d
      where d.id in (
        select unnest(v_ids)
        union
        select b.id from unnest(v_ids) as g (id) join webhook_delivery as e on e.id = g.id
        cross join lateral (
          select o.id from webhook_delivery as o
          where o.document_id = e.document_id and o.subscription_id = e.subscription_id and o.due_at is not null
          offset 0
        ) as b
      )
      order by d.id for update;
    end if;
    perform end_webhooks_named(v_ids, v_subscription.ending);
    if v_subscription.active then
      update webhook_delivery as d set due_at = clock_timestamp()
      from (
        select distinct on (b.document_id) b.id
        from (
          select distinct e.document_id from webhook_delivery as e where e.id = any (v_ids) and e.replay_of is null
        ) as over
        cross join lateral (
          select o.id, o.document_id, o.place from webhook_delivery as o
          where o.document_id = over.document_id and o.subscription_id = v_subscription.id
            and o.due_at is not null and o.replay_of is null
          offset 0
        ) as b
        order by b.document_id, b.place
      ) as next
      where d.id = next.id and case when d.due_at = 'infinity' then d.position > v_subscription.ending_to end;
    end if;
  end if;
  update webhook_subscription as s set
    ending = case when v_last is not null then s.ending end,
    ending_from = v_last,
    ending_to = case when v_last is not null then s.ending_to end
  where s.id = v_subscription.id;
  return true;
end
$$;

create or replace function free_webhook_leases(p_owner text, p_working uuid[], p_young_ms integer, p_dead_ms integer) returns integer
language sql volatile as $$
  with idle as (
    select d.id from webhook_delivery as d
    where d.lease_owner is not null and case when d.due_at > now() then true end
      and (
        (d.lease_owner = p_owner and d.id <> all (p_working)
          and d.attempted_at < clock_timestamp() - p_young_ms * interval '1 millisecond')
        or (d.lease_owner <> p_owner and strpos(d.lease_owner, '#') = 0
          and d.attempted_at < clock_timestamp() - p_dead_ms * interval '1 millisecond'
          and not exists (select 1 from dispatcher as p where p.owner = d.lease_owner))
      )
    for update skip locked
  ), freed as (
    update webhook_delivery as d set lease_owner = null, due_at = clock_timestamp() from idle where d.id = idle.id
    returning 1
  )
  select count(*)::integer from freed
$$;

create or replace function free_box_leases(p_owner text, p_node text, p_working uuid[], p_young_ms integer, p_dead_ms integer)
returns integer language sql as $$
  with idle as (
    select i.id from box_item as i
    where case when i.due_at > clock_timestamp() then true end and i.status = 'sending' and i.lease_owner is not null
      and (starts_with(i.lease_owner, p_node || '/')
        or (i.lease_owner = p_owner and i.id <> all (p_working)
          and i.locked_at < clock_timestamp() - p_young_ms * interval '1 millisecond')
        or (i.locked_at < clock_timestamp() - p_dead_ms * interval '1 millisecond' and split_part(i.lease_owner, '#', 1) <> p_owner
          and not exists (select 1 from dispatcher as d where d.owner = split_part(i.lease_owner, '#', 1))))
    for update skip locked
  ), freed as (
    update box_item as i set due_at = clock_timestamp(), version = i.version + 1 from idle where i.id = idle.id returning 1
  )
  select count(*)::integer from freed
$$;

-- When the next item of the Box is due, read from the index of their times, which another one may look shorter than.
create function next_box_due() returns timestamptz
language plpgsql stable set plan_cache_mode = force_generic_plan set enable_bitmapscan = off set enable_sort = off as $$
begin
  return (select i.due_at from box_item as i where i.due_at is not null order by i.due_at limit 1);
end
$$;

create or replace function send_held(p_id uuid, p_firm uuid, p_version integer, p_integrator uuid, p_audit jsonb) returns boolean
language plpgsql as $$
begin
  update document as d
  set staged = 'sent', staged_at = clock_timestamp(), next_attempt_at = clock_timestamp(), version = d.version + 1,
    updated_at = greatest(d.updated_at, clock_timestamp())
  where d.id = p_id and d.firm_id = p_firm and d.version = p_version and case when d.staged = 'held' then true end;
  if not found then return false; end if;
  perform append_audit(p_audit, 'connector.sent', p_firm, p_integrator, 'document', p_id::text, '{}');
  return true;
end
$$;

create or replace function cancel_held(
  p_id uuid, p_firm uuid, p_version integer, p_move jsonb, p_event uuid, p_integrator uuid, p_audit jsonb
) returns boolean language plpgsql as $$
declare
  v_version integer;
begin
  update document as d set staged = 'cancelled', staged_at = clock_timestamp(), next_attempt_at = clock_timestamp()
  where d.id = p_id and d.firm_id = p_firm and d.version = coalesce(p_version, d.version) and case when d.staged = 'held' then true end
  returning d.version into v_version;
  if not found then return false; end if;
  perform 1 from apply_move(p_id, v_version, p_move ->> 'status', 'cancelled', p_move ->> 'reason', clock_timestamp(), null,
    jsonb_build_array(jsonb_build_object('id', p_event, 'kind', 'document.cancelled', 'feed', true, 'detail', p_move ->> 'reason')), null,
    jsonb_build_object('statusReason', p_move ->> 'reason'));
  perform append_audit(p_audit, 'connector.cancelled', p_firm, p_integrator, 'document', p_id::text, '{}');
  return true;
end
$$;

-- A sweep asks the index for what is old enough, and not for everything that waits: now() is one instant for all rows.
create or replace function end_held(p_kept_days integer, p_limit integer, p_move jsonb) returns integer language sql as $$
  with ended as materialized (
    select d.id, d.firm_id from document as d
    where d.staged = 'held' and d.staged_at < now() - make_interval(days => p_kept_days)
    order by d.staged_at limit p_limit for update skip locked
  )
  select count(*) filter (where cancel_held(e.id, e.firm_id, null, p_move, new_row_id(), null, null))::integer
  from ended as e
$$;

create or replace function delete_cancelled(p_kept_days integer, p_limit integer) returns integer language plpgsql as $$
declare
  v_ids uuid[];
begin
  select coalesce(array_agg(c.id), '{}') into v_ids from (
    select d.id from document as d
    where d.staged = 'cancelled' and d.staged_at < now() - make_interval(days => p_kept_days)
    order by d.staged_at limit p_limit for update skip locked
  ) as c;
  return remove_documents(v_ids);
end
$$;

-- As claims of documents: where statistics know of a backlog, the index of what is due looks as good for one firm as that of
-- firms, and all that is due for others for longer is read before the first item of this one.
create or replace function box_firms(p_after uuid, p_max integer) returns table (firm_id uuid, due boolean)
language plpgsql stable set enable_sort = off set enable_incremental_sort = off as $$
declare
  v_firm uuid := p_after;
  v_round boolean := p_after is null;
begin
  for v_count in 1..p_max loop
    select i.firm_id into v_firm from box_item as i
    where i.due_at is not null and i.firm_id > coalesce(v_firm, '00000000-0000-0000-0000-000000000000')
    order by i.firm_id, i.due_at limit 1;
    if not found then
      exit when v_round;
      v_round := true;
      v_firm := null;
      continue;
    end if;
    exit when v_round and p_after is not null and v_firm > p_after;
    firm_id := v_firm;
    perform 1 from box_item as i
    where i.due_at is not null and (i.firm_id, i.due_at) >= (v_firm, '-infinity') and (i.firm_id, i.due_at) <= (v_firm, now())
    order by i.firm_id, i.due_at limit 1;
    due := found;
    return next;
  end loop;
end
$$;

create or replace function claim_box_items(
  p_firms uuid[], p_max integer, p_owner text, p_lease_ms integer, p_bytes_max bigint, p_one boolean
) returns table (
  id uuid, firm_id uuid, key_id uuid, external_id text, version integer, sender text, receiver text, document_type_id text,
  process_id text, document_id uuid, tries integer, late_ms double precision, allowed boolean, payload_key_id text,
  payload_sealed bytea, payload_bytes integer
) language sql set enable_sort = off set enable_incremental_sort = off set enable_hashjoin = off set enable_mergejoin = off as $$
  with candidate as (
    select c.id, firm.n as lane, c.due_at, c.payload_bytes
    from unnest(p_firms) with ordinality as firm (id, n)
    cross join lateral (
      select i.id, i.due_at, i.payload_bytes from box_item as i
      where i.due_at is not null and (i.firm_id, i.due_at) >= (firm.id, '-infinity')
        and (i.firm_id, i.due_at) <= (firm.id, now())
      order by i.firm_id, i.due_at limit greatest(1, (p_max + cardinality(p_firms) - 1) / greatest(1, cardinality(p_firms)))
      for update skip locked
    ) as c
  ), ranked as (
    select c.id, c.lane, c.payload_bytes, row_number() over (partition by c.lane order by c.due_at) as rank from candidate as c
  ), weighed as (
    select r.id, row_number() over w as n, sum(r.payload_bytes) over w as octets
    from ranked as r window w as (order by r.rank, r.lane rows between unbounded preceding and current row)
  ), chosen as (
    select w.id, w.n from weighed as w where w.n <= p_max and (w.octets <= p_bytes_max or (p_one and w.n = 1))
  ), taken as (
    update box_item as i
    set status = 'sending', version = i.version + 1, lease_owner = p_owner, locked_at = clock_timestamp(),
      due_at = clock_timestamp() + p_lease_ms * interval '1 millisecond',
      status_since = case when i.status = 'sending' then i.status_since else clock_timestamp() end,
      updated_at = greatest(i.updated_at, clock_timestamp())
    from box_item as before, chosen
    where i.id = chosen.id and before.id = i.id
    returning i.*, before.due_at as was_due, chosen.n
  )
  select t.id, t.firm_id, t.key_id, t.external_id, t.version, t.sender, t.receiver, t.document_type_id, t.process_id, t.document_id,
    t.tries, extract(epoch from t.locked_at - t.was_due)::double precision * 1000,
    box_is_allowed(t.firm_id, t.key_id, t.integrator_id, t.binding_generation, t.sender),
    p.key_id, p.sealed, t.payload_bytes
  from taken as t join box_payload as p on p.item_id = t.id
  order by t.n
$$;
