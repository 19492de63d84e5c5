-- From the feed to deliveries, and from deliveries to their receivers. Due times and leases are database time.

insert into feed_consumer (name, transaction_id, position)
values ('webhooks', pg_snapshot_xmin(pg_current_snapshot()), 0);

-- Whether an integrator may still be told of a firm's documents.
create function webhook_is_allowed(p_integrator uuid, p_firm uuid) returns boolean language sql stable as $$
  select p_integrator is null or exists (
    select 1 from firm_binding as b
    where b.integrator_id = p_integrator and b.firm_id = p_firm and b.state = 'active' and 'enterprise' = any (b.interfaces)
  )
$$;

-- Makes deliveries of the next events of the feed, and moves the place of the consumer with them: one process at a time,
-- each event once. An event of a document waits behind those before it that are not delivered yet: their rows are locked
-- first, so that an end that is written meanwhile is either seen here or sees what is added here.
create function fan_out_webhooks(p_limit integer) returns table (read bigint, queued bigint)
language plpgsql volatile as $$
#variable_conflict use_column
declare
  v_from feed_consumer;
  v_to record;
  v_queued bigint;
begin
  select * into v_from from feed_consumer where name = 'webhooks' for update skip locked;
  if not found then return; end if;
  select f.transaction_id, f.feed_position, count(*) over () as events into v_to
    from read_feed(v_from.transaction_id, v_from.position, p_limit) as f
    order by f.transaction_id desc, f.feed_position desc limit 1;
  if not found then return; end if;

  perform 1 from webhook_delivery as h
    where h.due_at is not null
      and h.document_id in (select f.document_id from read_feed(v_from.transaction_id, v_from.position, p_limit) as f)
    order by h.id for update;

  with told as (
    select f.id, f.kind, f.document_id, f.occurred_at, f.feed_position * 2 + f.part as place, s.id as subscription_id,
      s.endpoint_id, s.firm_id, coalesce(s.integrator_id, s.firm_id) as owner_id
    from read_feed(v_from.transaction_id, v_from.position, p_limit) as f
    join webhook_subscription as s on s.firm_id = f.firm_id and s.deleted_at is null and s.active
      and f.kind = any (s.events) and not pg_visible_in_snapshot(f.transaction_id, s.seen_from)
      and webhook_is_allowed(s.integrator_id, s.firm_id)
    where (f.transaction_id, f.feed_position) <= (v_to.transaction_id, v_to.feed_position)
  ), added as (
    insert into webhook_delivery (
      id, subscription_id, endpoint_id, owner_id, firm_id, event_id, event, place, document_id, occurred_at, status,
      due_at, created_at
    )
    select new_row_id(), t.subscription_id, t.endpoint_id, t.owner_id, t.firm_id, t.id, t.kind, t.place, t.document_id,
      t.occurred_at, 'PENDING',
      case
        when t.endpoint_id is null then null
        when row_number() over (partition by t.subscription_id, t.document_id order by t.place) > 1 then 'infinity'
        when exists (
          select 1 from webhook_delivery as h
          where h.document_id = t.document_id and h.subscription_id = t.subscription_id and h.due_at is not null
        ) then 'infinity'
        else now()
      end,
      clock_timestamp()
    from told as t
    order by t.place
    on conflict do nothing
    returning 1
  )
  select count(*) into v_queued from added;

  update feed_consumer set transaction_id = v_to.transaction_id, position = v_to.feed_position where name = 'webhooks';
  return query select v_to.events, v_queued;
end
$$;

-- Takes due deliveries under lease: of each endpoint as many as it has places, the oldest first, one of each endpoint
-- before a second of any. An endpoint that has failed p_breaker times in a row has one place, and none while it rests.
-- What another process looks at in this moment is left to it.
create function claim_webhooks(
  p_owner text, p_lease_ms integer, p_places integer, p_per_endpoint integer, p_breaker integer
) returns table (id uuid)
language sql volatile as $$
  with recursive waiting (id) as (
    (select d.endpoint_id from webhook_delivery as d where d.due_at is not null order by d.endpoint_id limit 1)
    union all
    select (
      select d.endpoint_id from webhook_delivery as d
      where d.due_at is not null and d.endpoint_id > waiting.id order by d.endpoint_id limit 1
    )
    from waiting where waiting.id is not null
  ), open as (
    select w.id, w.failures from webhook_endpoint as w
    where w.id in (select waiting.id from waiting) and (w.rest_until is null or w.rest_until <= now())
    for no key update skip locked
  ), free as (
    select open.id, least(p_places, case when open.failures >= p_breaker then 1 else p_per_endpoint end - (
      select count(*) from webhook_delivery as l
      where l.endpoint_id = open.id and l.lease_owner is not null and l.due_at > now()
    )) as places
    from open
  ), due as materialized (
    select t.id, t.endpoint_id, t.due_at
    from free cross join lateral (
      select d.id, d.endpoint_id, d.due_at from webhook_delivery as d
      where d.endpoint_id = free.id and d.due_at <= now()
      order by d.due_at limit greatest(free.places, 0)
      for update skip locked
    ) as t
  ), turns as (
    select due.id, due.due_at, row_number() over (partition by due.endpoint_id order by due.due_at) as turn from due
  ), chosen as (
    select turns.id from turns order by turns.turn, turns.due_at limit p_places
  )
  update webhook_delivery as d
  set lease_owner = p_owner, attempted_at = clock_timestamp(),
    due_at = clock_timestamp() + p_lease_ms * interval '1 millisecond'
  from chosen where d.id = chosen.id
  returning d.id
$$;

-- Writes the ends of attempts. p_wait_ms: until the next one, null when there is none. p_health: what an end says of its
-- endpoint, 'well', 'ill' or 'unknown'. No row for a delivery that is no longer under the lease of this attempt. Answers
-- whether the subscription has failed without a break for p_failing_ms.
create function settle_webhooks(
  p_owner text, p_id uuid[], p_attempt integer[], p_status text[], p_wait_ms bigint[], p_response_status integer[],
  p_response_body text[], p_cause text[], p_health text[], p_breaker integer, p_rest_ms integer, p_rest_max_ms integer,
  p_failing_ms bigint
) returns table (n bigint, failing boolean)
language plpgsql volatile as $$
#variable_conflict use_column
declare
  v_ended integer[];
begin
  -- Rows are locked in one order by everyone.
  perform 1 from webhook_delivery as d where d.id = any (p_id) order by d.id for update;

  with given as (
    select * from unnest(p_id, p_attempt, p_status, p_wait_ms, p_response_status, p_response_body, p_cause)
      with ordinality as g (id, attempt, status, wait_ms, response_status, response_body, cause, n)
  ), ended as (
    update webhook_delivery as d
    set status = g.status, attempts = g.attempt, lease_owner = null, response_status = g.response_status,
      response_body = g.response_body, cause = g.cause,
      due_at = clock_timestamp() + g.wait_ms * interval '1 millisecond',
      settled_at = case when g.wait_ms is null then clock_timestamp() end
    from given as g
    where d.id = g.id and d.lease_owner = p_owner and d.attempts = g.attempt - 1
    returning g.n::integer as n
  )
  select array_agg(ended.n) into v_ended from ended;
  if v_ended is null then return; end if;

  -- The next event of each document whose turn is over.
  update webhook_delivery as d set due_at = clock_timestamp()
  from (
    select distinct on (b.subscription_id, b.document_id) b.id
    from (
      select distinct e.subscription_id, e.document_id from webhook_delivery as e
      where e.id = any (p_id) and e.settled_at is not null and e.replay_of is null
    ) as over
    join webhook_delivery as b
      on b.document_id = over.document_id and b.subscription_id = over.subscription_id and b.due_at is not null
    order by b.subscription_id, b.document_id, b.place
  ) as next
  where d.id = next.id and d.due_at = 'infinity';

  update webhook_endpoint as w
  set failures = case when h.well then 0 else w.failures + h.ill end,
    rest_until = case when not h.well and w.failures + h.ill >= p_breaker then
      now() + least(p_rest_ms * 2 ^ least(w.failures + h.ill - p_breaker, 16), p_rest_max_ms) * interval '1 millisecond' end
  from (
    select d.endpoint_id, bool_or(p_health[d.n] = 'well') as well, count(*) filter (where p_health[d.n] = 'ill')::integer as ill
    from (
      select d.endpoint_id, e.n from unnest(v_ended) as e (n) join webhook_delivery as d on d.id = p_id[e.n]
    ) as d
    group by d.endpoint_id
    order by d.endpoint_id
  ) as h
  where w.id = h.endpoint_id and (h.well and w.failures > 0 or not h.well and h.ill > 0);

  update webhook_subscription as s
  set failed_attempts = case when o.succeeded then 0 else s.failed_attempts + o.failed end,
    failing_since = case when not o.succeeded then coalesce(s.failing_since, now()) end
  from (
    select d.subscription_id, bool_or(p_status[e.n] = 'SUCCESS') as succeeded, count(*)::integer as failed
    from unnest(v_ended) as e (n) join webhook_delivery as d on d.id = p_id[e.n]
    group by d.subscription_id
    order by d.subscription_id
  ) as o
  where s.id = o.subscription_id and (not o.succeeded or s.failed_attempts > 0);

  return query
  select e.n::bigint, coalesce(s.active and s.failing_since < now() - p_failing_ms * interval '1 millisecond', false)
  from unnest(v_ended) as e (n)
  join webhook_delivery as d on d.id = p_id[e.n]
  join webhook_subscription as s on s.id = d.subscription_id;
end
$$;

-- Gives back what a process that is gone has under lease; p_node names all processes of its node before this one.
create function release_webhooks(p_node text) returns void language sql volatile as $$
  update webhook_delivery set lease_owner = null, due_at = clock_timestamp()
  where lease_owner is not null and starts_with(lease_owner, p_node || '/')
$$;

-- An event is once in a subscription, and each of its deliveries is repeated once.
drop index webhook_delivery_event;
create unique index webhook_delivery_event on webhook_delivery (
  subscription_id, event_id, coalesce(replay_of, '00000000-0000-0000-0000-000000000000')
);

-- Repeats a delivery that has failed; it leaves the dead letters. One that was repeated already answers what it was
-- repeated by.
create function replay_webhook(p_delivery uuid, p_firm uuid, p_integrator uuid)
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
    where s.id = v_dead.subscription_id and s.integrator_id is not distinct from p_integrator and s.deleted_at is null;
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

-- Makes test deliveries of an event that never happened, one for each id. p_owner: the process that sends them at once,
-- null where they wait like any other.
create function test_webhook(
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
    case when s.endpoint_id is not null then p_owner end, case when s.endpoint_id is not null and p_owner is not null then clock_timestamp() end, clock_timestamp()
  from webhook_subscription as s cross join unnest(p_events, p_data) as t (id, data)
  where s.id = p_id and s.firm_id = p_firm and s.integrator_id is not distinct from p_integrator and s.deleted_at is null
  returning id, event_id
$$;

-- Removes what is old: deliveries that succeeded after p_success_ms, others after p_other_ms, those of deleted
-- subscriptions, and at last the subscriptions and endpoints that nothing is left of. Sets free whatever waits behind
-- nothing. Answers how many deliveries went.
create function prune_webhooks(p_success_ms bigint, p_other_ms bigint, p_limit integer) returns bigint
language plpgsql volatile as $$
declare
  v_gone bigint;
begin
  with gone as (
    delete from webhook_delivery as d where d.id in (
      (
        select o.id from webhook_delivery as o
        where o.created_at < now() - p_success_ms * interval '1 millisecond'
          and (o.status = 'SUCCESS' or o.created_at < now() - p_other_ms * interval '1 millisecond')
        order by o.created_at limit p_limit
      )
      union all
      (
        select o.id from webhook_subscription as s join webhook_delivery as o on o.subscription_id = s.id
        where s.deleted_at is not null limit p_limit
      )
    ) returning 1
  ) select count(*) into v_gone from gone;
  delete from webhook_subscription as s
    where s.deleted_at is not null and not exists (select 1 from webhook_delivery as d where d.subscription_id = s.id);
  delete from webhook_endpoint as w
    where not exists (select 1 from webhook_subscription as s where s.endpoint_id = w.id)
      and not exists (select 1 from webhook_delivery as d where d.endpoint_id = w.id and d.due_at is not null);
  update webhook_delivery as d set due_at = clock_timestamp()
    where d.due_at = 'infinity' and not exists (
      select 1 from webhook_delivery as h
      where h.document_id = d.document_id and h.subscription_id = d.subscription_id and h.due_at is not null
        and h.place < d.place
    );
  return v_gone;
end
$$;
