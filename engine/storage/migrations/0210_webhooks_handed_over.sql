-- A delivery is under the lease of the process that makes it from its beginning, where that has a place for it; a claim is
-- for what had none, for repeats, and for what others have left. Whoever gives out leases does so one at a time, and counts
-- what is given out after it has its turn: the bounds of an endpoint and of an owner hold over all processes.

-- Waits until nobody else gives out leases of deliveries; the turn ends with the transaction. It is the last lock that a
-- transaction waits for: rows that it takes after that it takes only where nobody has them.
create function begin_webhook_leases() returns void language sql volatile as $$
  select pg_advisory_xact_lock(hashtextextended('webhook leases', 0))
$$;

-- What is under lease, by where it leads.
create function leased_webhooks() returns table (endpoint_id uuid, owner_id uuid, places bigint) language sql stable rows 64 as $$
  select l.endpoint_id, l.owner_id, count(*) from webhook_delivery as l
  where l.lease_owner is not null and l.due_at > now()
  group by l.endpoint_id, l.owner_id
$$;

-- What is due and may be taken: of each endpoint as many as it has places, the oldest first, one of each endpoint before a
-- second of any, with what is under lease counted as if it had been taken first. Of an owner no more than its share, whose
-- last p_first places are for endpoints that have nothing under lease: some that hang leave room for the others. An endpoint
-- that has failed p_breaker times in a row has one place, and none while it rests. The caller locks and takes them in the
-- same statement.
create function due_webhooks(
  p_places integer, p_per_endpoint integer, p_per_owner integer, p_first integer, p_breaker integer
) returns table (id uuid, endpoint_id uuid)
language plpgsql volatile rows 64 as $$
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

-- Makes deliveries of the next events of the feed, and moves the place of the consumer with them: one process at a time,
-- each event once. The subscriptions are locked first, so that one that is changed meanwhile is seen as it is then; then what
-- is open of these documents, so that an end that is written meanwhile is either seen here or sees what is added here. An
-- event of a document waits behind those before it that are not delivered yet, repeats apart. Two transactions can write of
-- one document in another order than that in which they began: where a page ends between them, what comes first is taken
-- from the next page, and is passed over there.
--
-- Of what goes first of its document, up to p_places are under the lease of p_owner at once, within the bounds that
-- due_webhooks keeps; only at endpoints that answer and where nothing waits that came before. waiting: what is due and has
-- no lease. taken: what p_owner sends, each with those of its document that wait behind it, in the order of the feed.
drop function fan_out_webhooks(integer);
create function fan_out_webhooks(
  p_limit integer, p_owner text default null, p_lease_ms integer default 0, p_places integer default 0,
  p_per_endpoint integer default 0, p_per_owner integer default 0, p_first integer default 0
) returns table (read bigint, queued bigint, waiting bigint, taken uuid[])
language plpgsql volatile as $$
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

  perform 1 from webhook_subscription as s
    where s.deleted_at is null and s.active and s.firm_id = any (v_firm) order by s.id for key share;
  if not found then
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
      join webhook_subscription as s on s.firm_id = f.firm_id and s.deleted_at is null and s.active
        and f.kind = any (s.events) and not pg_visible_in_snapshot(f.transaction_id, s.seen_from)
        and (s.integrator_id is null or webhook_is_allowed(s.integrator_id, s.firm_id))
      where (select 1 from webhook_delivery as x where x.subscription_id = s.id and x.event_id = f.id limit 1) is null
    ), ordered as materialized (
      select t.id, t.kind, t.document_id, t.occurred_at, t.place, t.subscription_id, t.endpoint_id, t.firm_id, t.owner_id,
        row_number() over (partition by t.subscription_id, t.document_id order by t.place) = 1 and not exists (
          select 1 from webhook_delivery as h
          where h.document_id = t.document_id and h.subscription_id = t.subscription_id and h.due_at is not null
            and h.replay_of is null
        ) as is_first
      from told as t
    ), leased as materialized (
      select l.endpoint_id, l.owner_id, l.places from leased_webhooks() as l where p_places > 0
    ), turns as (
      select o.id, o.subscription_id, o.owner_id, o.place,
        coalesce(l.places, 0) + row_number() over (partition by o.endpoint_id order by o.place) as turn
      from ordered as o
      join webhook_endpoint as w on w.id = o.endpoint_id and w.failures = 0 and w.rest_until is null
      left join leased as l on l.endpoint_id = w.id and l.owner_id = w.owner_id
      where p_places > 0 and o.is_first
        and not exists (select 1 from webhook_delivery as d where d.endpoint_id = w.id and d.due_at <= now())
    ), shares as (
      select t.id, t.subscription_id, t.turn, t.place,
        row_number() over (partition by t.owner_id order by t.turn, t.place) + coalesce(busy.places, 0) as share
      from turns as t left join (
        select l.owner_id, sum(l.places) as places from leased as l group by l.owner_id
      ) as busy on busy.owner_id = t.owner_id
    ), chosen as (
      select c.id, c.subscription_id from shares as c
      where c.turn <= p_per_endpoint and c.share <= p_per_owner and (c.turn = 1 or c.share <= p_per_owner - p_first)
      order by c.turn, c.place limit p_places
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
          when c.id is not null then clock_timestamp() + p_lease_ms * interval '1 millisecond'
          else now()
        end,
        case when c.id is not null then p_owner end, case when c.id is not null then clock_timestamp() end,
        (c.id is not null)::integer, clock_timestamp()
      from ordered as t left join chosen as c on c.id = t.id and c.subscription_id = t.subscription_id
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

-- Writes the ends of attempts. p_head: of several that were made in a row at events of one document, the first, under whose
-- lease all of them were made; the others still wait behind it. p_wait_ms: until the next one, null when there is none.
-- p_health: what an end says of its endpoint, 'well', 'ill' or 'unknown'. No row for a delivery whose head is no longer under
-- the lease of this attempt. Answers whether the subscription has failed without a break for p_failing_ms, and whether
-- something that waited behind is due now.
drop function settle_webhooks(
  text[], uuid[], integer[], text[], bigint[], integer[], text[], text[], text[], integer, integer, integer, bigint
);
create function settle_webhooks(
  p_owner text[], p_head uuid[], p_id uuid[], p_attempt integer[], p_status text[], p_wait_ms bigint[],
  p_response_status integer[], p_response_body text[], p_cause text[], p_health text[], p_breaker integer,
  p_rest_ms integer, p_rest_max_ms integer, p_failing_ms bigint
) returns table (n bigint, failing boolean, freed boolean)
language plpgsql volatile as $$
#variable_conflict use_column
declare
  v_subscriptions uuid[];
  v_behind boolean;
  v_freed boolean := false;
  v_ended integer[];
begin
  -- A subscription changes when an attempt fails, and when the first one succeeds after that. Only those that are locked
  -- here are changed below: who switches one off locks it first, and its deliveries after it.
  select array_agg(s.id) into v_subscriptions from (
    select s.id from webhook_subscription as s
    where s.id in (select d.subscription_id from webhook_delivery as d where d.id = any (p_id))
      and (s.failed_attempts > 0 or not p_status <@ array['SUCCESS'])
    order by s.id for no key update
  ) as s;
  -- The deliveries, and what waits behind them.
  perform 1 from webhook_delivery as d
  where d.id in (
    select unnest(p_id)
    union
    select b.id from webhook_delivery as e
    join webhook_delivery as b
      on b.document_id = e.document_id and b.subscription_id = e.subscription_id and b.due_at is not null
    where e.id = any (p_id)
  )
  order by d.id for update;
  -- What the fan-out has added while its lock was waited for is seen by the next statement only; from now on it waits.
  v_behind := exists (
    select 1 from webhook_delivery as e
    join webhook_delivery as b
      on b.document_id = e.document_id and b.subscription_id = e.subscription_id and b.due_at is not null
    where e.id = any (p_id) and b.id <> all (p_id)
  );

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
  select array_agg(ended.n) into v_ended from ended;
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
        on b.document_id = over.document_id and b.subscription_id = over.subscription_id and b.due_at is not null
        and b.replay_of is null
      order by b.subscription_id, b.document_id, b.place
    ) as next
    where d.id = next.id and d.due_at = 'infinity';
    v_freed := found;
  end if;

  perform 1 from webhook_endpoint as w
    where w.id in (select d.endpoint_id from unnest(v_ended) as e (n) join webhook_delivery as d on d.id = p_id[e.n])
      and (w.failures > 0 or not p_health <@ array['well'])
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
