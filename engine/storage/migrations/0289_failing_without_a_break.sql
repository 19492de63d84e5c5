-- A subscription has failed for days where its failures followed each other without a break. Two of them with quiet days
-- between, of one event each, switched it off; so did tests that were meant to fail, and events of a firm whose consent had
-- ended, of which the receiver was told nothing.
alter table webhook_subscription add column failed_at timestamptz;

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
