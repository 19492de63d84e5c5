-- Leases that nobody works on end early, attempts that are cut off again and again end for good, and rows are locked in
-- one order by everyone: subscriptions, then deliveries by their ids, then endpoints.

-- Attempts that were begun since the last one that ended: those that were cut off with their process, and the one under way.
alter table webhook_delivery add column begun integer not null default 0 check (begun >= 0);

-- The endpoint of an owner at an origin, made where there is none. It is held against its removal and no more, for who
-- writes the ends of attempts changes endpoints last.
create or replace function webhook_endpoint_of(p_owner uuid, p_origin text) returns uuid language plpgsql volatile as $$
declare
  v_id uuid;
begin
  if p_origin is null then return null; end if;
  insert into webhook_endpoint (id, owner_id, origin)
  select new_row_id(), p_owner, p_origin
  where not exists (select 1 from webhook_endpoint as w where w.owner_id = p_owner and w.origin = p_origin)
  on conflict (owner_id, origin) do nothing;
  select w.id into strict v_id from webhook_endpoint as w where w.owner_id = p_owner and w.origin = p_origin for key share;
  return v_id;
end
$$;

-- A claim is a statement of its own, so that what it takes and what it answers are seen at one moment.
drop function claim_webhooks(text, integer, integer, integer, integer);

-- Whether an integrator may still be told of a firm's documents: the firm consents to its webhooks, and outside the sandbox
-- the integrator is authorized for production.
create or replace function webhook_is_allowed(p_integrator uuid, p_firm uuid) returns boolean language sql stable as $$
  select p_integrator is null or exists (
    select 1 from firm_binding as b
    join integrator as i on i.id = b.integrator_id
    join firm as f on f.id = b.firm_id
    where b.integrator_id = p_integrator and b.firm_id = p_firm and b.state = 'active' and 'enterprise' = any (b.interfaces)
      and b.scopes && array['webhooks:read', 'webhooks:write'] and (f.sandbox or i.production_authorized)
  )
$$;

-- Frees leases that nobody works on: of this process on deliveries that are not among p_working, because a claim's answer
-- was lost or an end could not be written; and of processes that have not been seen for p_dead_ms. A lease that is younger
-- than p_young_ms may still be on its way to its process. What is sent while its caller waits (its owner has a '#') is left
-- alone. Answers how many were freed.
create function free_webhook_leases(p_owner text, p_working uuid[], p_young_ms integer, p_dead_ms integer) returns integer
language sql volatile as $$
  with idle as (
    select d.id from webhook_delivery as d
    where d.lease_owner is not null and d.due_at > now()
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

-- Ends what is still to be sent for a subscription that is told of nothing any more; it can be replayed.
create or replace function end_webhook_deliveries(p_id uuid, p_cause text) returns void language plpgsql volatile as $$
begin
  perform 1 from webhook_delivery as d where d.subscription_id = p_id and d.due_at is not null order by d.id for update;
  update webhook_delivery
  set status = 'FAILED', due_at = null, lease_owner = null, settled_at = clock_timestamp(), cause = p_cause
  where subscription_id = p_id and due_at is not null;
end $$;

-- Changes a subscription; null leaves a member as it is. One that is switched on again is told of nothing that happened
-- while it was off. Its row is locked for update, for which the fan-out waits, and which waits for the fan-out.
create or replace function change_webhook(
  p_id uuid, p_firm uuid, p_integrator uuid, p_with_url boolean, p_url text, p_origin text, p_events text[],
  p_active boolean, p_audit jsonb
) returns boolean language plpgsql as $$
declare
  v_before webhook_subscription;
begin
  select * into v_before from webhook_subscription
    where id = p_id and firm_id = p_firm and integrator_id is not distinct from p_integrator and deleted_at is null for update;
  if not found then return false; end if;
  update webhook_subscription set
    url = case when p_with_url then p_url else url end,
    endpoint_id = case when p_with_url then webhook_endpoint_of(coalesce(p_integrator, p_firm), p_origin) else endpoint_id end,
    events = coalesce(p_events, events), active = coalesce(p_active, active),
    disabled_reason = case when p_active is not null then null else disabled_reason end,
    failed_attempts = case when p_active then 0 else failed_attempts end,
    failing_since = case when p_active then null else failing_since end,
    seen_from = case when p_active and not v_before.active then pg_current_snapshot() else seen_from end
  where id = p_id;
  if p_with_url and p_url is distinct from v_before.url then
    perform 1 from webhook_delivery as d where d.subscription_id = p_id and d.settled_at is null order by d.id for update;
    -- What waits goes to the new place, each document's events in their order, or waits to be pulled there. An attempt under
    -- way says nothing of the new place, so that its end is not written any more, and the event goes there too.
    update webhook_delivery as d set endpoint_id = s.endpoint_id, lease_owner = null, begun = 0,
      status = case when s.endpoint_id is null then 'PENDING' else d.status end,
      due_at = case
        when s.endpoint_id is null then null
        when d.due_at is null and o.turn > 1 then 'infinity'
        when d.due_at is null or d.lease_owner is not null then clock_timestamp()
        else d.due_at
      end
    from webhook_subscription as s cross join (
      select w.id, case when w.replay_of is null
        then row_number() over (partition by w.document_id, w.replay_of is null order by w.place) else 1 end as turn
      from webhook_delivery as w where w.subscription_id = p_id and w.settled_at is null
    ) as o
    where s.id = p_id and d.id = o.id;
  end if;
  if p_active = false then perform end_webhook_deliveries(p_id, 'subscription_inactive'); end if;
  perform append_audit(p_audit, 'webhook.changed', p_firm, p_integrator, 'webhook', p_id::text,
    jsonb_build_object('origin', p_origin, 'events', p_events, 'active', p_active));
  return true;
end $$;

create or replace function delete_webhook(p_id uuid, p_firm uuid, p_integrator uuid, p_now timestamptz, p_audit jsonb)
returns boolean language plpgsql as $$
begin
  perform 1 from webhook_subscription
    where id = p_id and firm_id = p_firm and integrator_id is not distinct from p_integrator and deleted_at is null for update;
  if not found then return false; end if;
  update webhook_subscription set deleted_at = p_now, active = false where id = p_id;
  perform 1 from webhook_delivery as d where d.subscription_id = p_id and d.settled_at is null order by d.id for update;
  update webhook_delivery set status = 'FAILED', due_at = null, lease_owner = null, settled_at = clock_timestamp(),
      cause = 'subscription_deleted'
    where subscription_id = p_id and settled_at is null;
  perform append_audit(p_audit, 'webhook.deleted', p_firm, p_integrator, 'webhook', p_id::text, '{}');
  return true;
end $$;

-- Switches a subscription off whose receiver is gone, or has failed for days.
create or replace function disable_webhook(p_id uuid, p_reason text, p_audit jsonb) returns boolean language plpgsql as $$
declare
  v_subscription webhook_subscription;
begin
  perform 1 from webhook_subscription where id = p_id and active for update;
  if not found then return false; end if;
  update webhook_subscription set active = false, disabled_reason = p_reason where id = p_id returning * into v_subscription;
  perform end_webhook_deliveries(p_id, 'subscription_disabled');
  perform append_audit(p_audit, 'webhook.disabled', v_subscription.firm_id, v_subscription.integrator_id, 'webhook', p_id::text,
    jsonb_build_object('reason', p_reason));
  return true;
end $$;

-- Makes deliveries of the next events of the feed, and moves the place of the consumer with them: one process at a time,
-- each event once. The subscriptions are locked first, so that one that is changed meanwhile is seen as it is then; then what
-- is open of these documents, so that an end that is written meanwhile is either seen here or sees what is added here. An
-- event of a document waits behind those before it that are not delivered yet, repeats apart. Two transactions can write of
-- one document in another order than that in which they began: where a page ends between them, what comes first is taken
-- from the next page, and is passed over there.
create or replace function fan_out_webhooks(p_limit integer) returns table (read bigint, queued bigint)
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

  perform 1 from webhook_subscription as s
    where s.deleted_at is null and s.active
      and s.firm_id in (select f.firm_id from read_feed(v_from.transaction_id, v_from.position, p_limit) as f)
    order by s.id for key share;
  perform 1 from webhook_delivery as h
    where h.due_at is not null
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
    select f.id, f.kind, f.document_id, f.occurred_at, f.feed_position * 2 + f.part as place, s.id as subscription_id,
      s.endpoint_id, s.firm_id, coalesce(s.integrator_id, s.firm_id) as owner_id
    from (
      select id, kind, document_id, firm_id, occurred_at, transaction_id, feed_position, part from page
      union all
      select id, kind, document_id, firm_id, occurred_at, transaction_id, feed_position, part from ahead
    ) as f
    join webhook_subscription as s on s.firm_id = f.firm_id and s.deleted_at is null and s.active
      and f.kind = any (s.events) and not pg_visible_in_snapshot(f.transaction_id, s.seen_from)
      and webhook_is_allowed(s.integrator_id, s.firm_id)
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
            and h.replay_of is null
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

-- Writes the ends of attempts. p_wait_ms: until the next one, null when there is none. p_health: what an end says of its
-- endpoint, 'well', 'ill' or 'unknown'. No row for a delivery that is no longer under the lease of this attempt. Answers
-- whether the subscription has failed without a break for p_failing_ms.
drop function settle_webhooks(
  text, uuid[], integer[], text[], bigint[], integer[], text[], text[], text[], integer, integer, integer, bigint
);
create function settle_webhooks(
  p_owner text[], p_id uuid[], p_attempt integer[], p_status text[], p_wait_ms bigint[], p_response_status integer[],
  p_response_body text[], p_cause text[], p_health text[], p_breaker integer, p_rest_ms integer, p_rest_max_ms integer,
  p_failing_ms bigint
) returns table (n bigint, failing boolean)
language plpgsql volatile as $$
#variable_conflict use_column
declare
  v_ended integer[];
begin
  -- A subscription changes when an attempt fails, and when the first one succeeds after that.
  perform 1 from webhook_subscription as s
    where s.id in (select d.subscription_id from webhook_delivery as d where d.id = any (p_id))
      and (s.failed_attempts > 0 or not p_status <@ array['SUCCESS'])
    order by s.id for no key update;
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

  with given as (
    select * from unnest(p_owner, p_id, p_attempt, p_status, p_wait_ms, p_response_status, p_response_body, p_cause)
      with ordinality as g (owner, id, attempt, status, wait_ms, response_status, response_body, cause, n)
  ), ended as (
    update webhook_delivery as d
    set status = g.status, attempts = g.attempt, begun = 0, lease_owner = null, response_status = g.response_status,
      response_body = g.response_body, cause = g.cause,
      due_at = clock_timestamp() + g.wait_ms * interval '1 millisecond',
      settled_at = case when g.wait_ms is null then clock_timestamp() end
    from given as g
    where d.id = g.id and d.lease_owner = g.owner and d.attempts = g.attempt - 1
    returning g.n::integer as n
  )
  select array_agg(ended.n) into v_ended from ended;
  if v_ended is null then return; end if;

  -- The next event of each document whose turn is over; repeats have no turn.
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

-- What goes soon is found without a look at what stays longer.
drop index webhook_delivery_age;
create index webhook_delivery_age_taken on webhook_delivery (created_at) where status = 'SUCCESS';
create index webhook_delivery_age_other on webhook_delivery (created_at) where status <> 'SUCCESS';

-- Removes what is old: deliveries that succeeded after p_success_ms, others after p_other_ms, those of deleted
-- subscriptions, and at last the subscriptions and endpoints that nothing is left of. Sets free whatever waits behind
-- nothing. Answers how many deliveries went.
create or replace function prune_webhooks(p_success_ms bigint, p_other_ms bigint, p_limit integer) returns bigint
language plpgsql volatile as $$
declare
  v_gone bigint;
begin
  with gone as (
    delete from webhook_delivery as d where d.id in (
      (
        select o.id from webhook_delivery as o
        where o.status = 'SUCCESS' and o.created_at < now() - p_success_ms * interval '1 millisecond'
        order by o.created_at limit p_limit
      )
      union all
      (
        select o.id from webhook_delivery as o
        where o.status <> 'SUCCESS' and o.created_at < now() - p_other_ms * interval '1 millisecond'
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
    where d.id in (
      select w.id from webhook_delivery as w
      where w.due_at = 'infinity' and not exists (
        select 1 from webhook_delivery as h
        where h.document_id = w.document_id and h.subscription_id = w.subscription_id and h.due_at is not null
          and h.replay_of is null and h.place < w.place
      )
      for update skip locked
    );
  return v_gone;
end
$$;
