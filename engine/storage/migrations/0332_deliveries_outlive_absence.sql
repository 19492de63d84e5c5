-- Removes what is old: deliveries that succeeded after p_success_ms, others after p_other_ms, tests of the Connector a
-- whole run at a time after p_other_ms, deliveries of deleted subscriptions, and at last the subscriptions and endpoints
-- that nothing is left of. One that is still to be sent has no age: after weeks in which no engine ran it would go before
-- its plan has had a chance, and nobody would know; and a dead letter counts from the day on which it became one. A
-- delivery that succeeded stays as long as a repeat of its event, and a repeat that succeeded as long as one that did not:
-- without it that one would count as dead, and be sent once more. Whether there is one is looked up for each of them as
-- they follow by age: a join, and a sort, would read all that are as old. Sets free whatever waits behind nothing. Answers
-- how many deliveries went.
create or replace function prune_webhooks(p_success_ms bigint, p_other_ms bigint, p_limit integer) returns bigint
language plpgsql volatile set enable_bitmapscan = off set enable_sort = off as $$
declare
  v_gone bigint;
begin
  with gone as (
    delete from webhook_delivery as d where d.id = any (array(
      (
        select o.id from webhook_delivery as o
        where o.status = 'SUCCESS' and o.replay_of is null and o.scenario is null
          and o.created_at < now() - p_success_ms * interval '1 millisecond'
          and (
            select 1 from webhook_delivery as r
            where r.subscription_id = o.subscription_id and r.event_id = o.event_id and r.replay_of is not null limit 1
          ) is null
        order by o.created_at limit p_limit
      )
      union all
      (
        select o.id from webhook_delivery as o
        where (o.status <> 'SUCCESS' or o.replay_of is not null) and o.scenario is null
          and o.created_at < now() - p_other_ms * interval '1 millisecond'
          and o.due_at is null
          and (o.status <> 'FAILED' or coalesce(o.settled_at, o.created_at) < now() - p_other_ms * interval '1 millisecond')
          and (o.status <> 'SUCCESS' or (
            select 1 from webhook_delivery as r
            where r.subscription_id = o.subscription_id and r.event_id = o.event_id and r.status <> 'SUCCESS' limit 1
          ) is null)
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
    )) returning 1
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
