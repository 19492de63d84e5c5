-- A key that was used answers what it made, whatever became of the webhook since; and a suite of tests keeps its verdict as
-- long as it can be read.

-- Makes test deliveries, one for each scenario, of an event that never happened. p_made: their run. A key that was used
-- before answers as keep_connector_request does, also while the webhook is switched off; otherwise 'inactive' where there
-- is no webhook that is switched on.
create or replace function test_connector(
  p_integrator uuid, p_firm uuid, p_customer_ref text, p_event text, p_data jsonb, p_id uuid[], p_event_id uuid[],
  p_document_id uuid[], p_scenario text[], p_made uuid, p_key text, p_sha256 text
) returns table (outcome text, made uuid) language plpgsql volatile as $$
#variable_conflict use_column
declare
  v_subscription webhook_subscription;
  v_kept record;
begin
  select * into v_subscription from webhook_subscription
    where integrator_id = p_integrator and firm_id is null and deleted_at is null for key share;
  if v_subscription.active is not true and not exists (
    select 1 from connector_request as r where r.subscription_id = v_subscription.id and r.idempotency_key = p_key
  ) then
    return query select 'inactive', null::uuid;
    return;
  end if;
  if p_key is not null then
    select * into v_kept from keep_connector_request(v_subscription.id, p_key, p_sha256, p_made);
    if v_kept.outcome <> 'new' then
      return query select v_kept.outcome, v_kept.made;
      return;
    end if;
  end if;
  insert into webhook_delivery (
    id, subscription_id, endpoint_id, owner_id, firm_id, customer_ref, event_id, event, place, document_id, occurred_at,
    test_run_id, test_data, scenario, status, due_at, created_at
  )
  select t.id, v_subscription.id, v_subscription.endpoint_id, v_subscription.id, p_firm, p_customer_ref, t.event_id, p_event,
    nextval(pg_get_serial_sequence('document_event', 'position')) * 2, t.document_id, clock_timestamp(), p_made, p_data,
    t.scenario, 'PENDING', clock_timestamp(), clock_timestamp()
  from unnest(p_id, p_event_id, p_document_id, p_scenario) as t (id, event_id, document_id, scenario);
  return query select 'new', p_made;
end
$$;

-- What goes by its age alone is found without a look at the tests, and tests without a look at the others.
drop index webhook_delivery_age_taken;
drop index webhook_delivery_age_other;
create index webhook_delivery_age_taken on webhook_delivery (created_at) where status = 'SUCCESS' and scenario is null;
create index webhook_delivery_age_other on webhook_delivery (created_at) where status <> 'SUCCESS' and scenario is null;
create index webhook_delivery_age_test on webhook_delivery (created_at) where scenario is not null;

-- Removes what is old: deliveries that succeeded after p_success_ms, others after p_other_ms, tests of the Connector a
-- whole run at a time after p_other_ms, deliveries of deleted subscriptions, and at last the subscriptions and endpoints
-- that nothing is left of. Sets free whatever waits behind nothing. Answers how many deliveries went.
create or replace function prune_webhooks(p_success_ms bigint, p_other_ms bigint, p_limit integer) returns bigint
language plpgsql volatile as $$
declare
  v_gone bigint;
begin
  with gone as (
    delete from webhook_delivery as d where d.id in (
      (
        select o.id from webhook_delivery as o
        where o.status = 'SUCCESS' and o.scenario is null
          and o.created_at < now() - p_success_ms * interval '1 millisecond'
        order by o.created_at limit p_limit
      )
      union all
      (
        select o.id from webhook_delivery as o
        where o.status <> 'SUCCESS' and o.scenario is null
          and o.created_at < now() - p_other_ms * interval '1 millisecond'
        order by o.created_at limit p_limit
      )
      union all
      (
        select t.id
        from (
          select o.test_run_id from webhook_delivery as o
          where o.scenario is not null and o.created_at < now() - p_other_ms * interval '1 millisecond'
          order by o.created_at limit p_limit
        ) as old
        join webhook_delivery as t on t.test_run_id = old.test_run_id and t.scenario is not null
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
