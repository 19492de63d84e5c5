-- What the statements of deliveries cost. An end looks once whether anything but deliveries is to be written, which mostly
-- nothing is, and writes no more than three statements then instead of six. What waits behind an end is looked up for each
-- end by itself; before, each open delivery was compared with each end. What a full page of the feed leaves behind is
-- looked for after a full page only, and what is due at an endpoint by that endpoint.

-- As before, but for that.
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
    ), turns as (
      select o.n, o.owner_id, o.place,
        coalesce(l.places, 0) + row_number() over (partition by o.endpoint_id order by o.place) as turn
      from ordered as o
      join webhook_endpoint as w on w.id = o.endpoint_id and w.failures = 0 and w.rest_until is null
      left join leased as l on l.endpoint_id = w.id and l.owner_id = w.owner_id
      where p_places > 0 and o.is_first
        and (select 1 from webhook_delivery as d where d.endpoint_id = w.id and d.due_at <= now() limit 1) is null
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

-- As before, but for that.
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
      join webhook_delivery as b
        on b.document_id = over.document_id and b.subscription_id is not distinct from over.subscription_id
        and b.due_at is not null and b.replay_of is null
      order by b.subscription_id, b.document_id, b.place
    ) as next
    where d.id = next.id and d.due_at = 'infinity';
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
    failing_since = case when not o.succeeded then coalesce(s.failing_since, now()) end
  from (
    select d.subscription_id, bool_or(p_status[e.n] = 'SUCCESS') as succeeded, count(*)::integer as failed
    from unnest(v_ended) as e (n) join webhook_delivery as d on d.id = p_id[e.n]
    group by d.subscription_id
  ) as o
  where s.id = o.subscription_id and s.id = any (v_subscriptions) and (not o.succeeded or s.failed_attempts > 0);

  return query
  select e.n::bigint, coalesce(s.active and s.failing_since < now() - p_failing_ms * interval '1 millisecond', false), v_freed
  from unnest(v_ended) as e (n)
  join webhook_delivery as d on d.id = p_id[e.n]
  join webhook_subscription as s on s.id = d.subscription_id;
end
$$;
