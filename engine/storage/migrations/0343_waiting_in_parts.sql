-- What waits behind nothing is looked for in parts, and apart from what is old: beside three million open deliveries it took
-- twice the time of a statement, and what is old stayed with it. prune_webhooks stays for the release before.
create function prune_ended_webhooks(p_success_ms bigint, p_other_ms bigint, p_limit integer) returns bigint
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
    where s.deleted_at is not null
      and (select 1 from webhook_delivery as d where d.subscription_id = s.id limit 1) is null;
  delete from webhook_endpoint as w
    where not exists (select 1 from webhook_subscription as s where s.endpoint_id = w.id)
      and (
        select 1 from webhook_delivery as d
        where d.endpoint_id = w.id and d.due_at is not null order by d.due_at limit 1
      ) is null;
  return v_gone;
end
$$;

create or replace function prune_webhooks(p_success_ms bigint, p_other_ms bigint, p_limit integer) returns bigint
language plpgsql volatile set enable_bitmapscan = off set enable_sort = off as $$
declare
  v_gone bigint := prune_ended_webhooks(p_success_ms, p_other_ms, p_limit);
begin
  update webhook_delivery as d set due_at = clock_timestamp()
    where d.id in (
      select w.id from webhook_delivery as w
      where w.due_at = 'infinity' and (
        select 1 from webhook_delivery as h
        where h.document_id = w.document_id and h.subscription_id = w.subscription_id and h.due_at is not null
          and h.replay_of is null and h.place < w.place
        limit 1
      ) is null
      for update skip locked
    );
  return v_gone;
end
$$;

-- Frees what waits behind nothing among so many open deliveries behind a place in their order, and answers the last of them;
-- no row when the end was reached.
create function free_waiting_webhooks(p_document uuid, p_subscription uuid, p_place bigint, p_limit integer) returns table (
  document_id uuid, subscription_id uuid, place bigint
) language plpgsql volatile set enable_bitmapscan = off set enable_seqscan = off set enable_sort = off as $$
#variable_conflict use_column
begin
  return query
  with part as materialized (
    select d.id, d.document_id, d.subscription_id, d.place, d.due_at from webhook_delivery as d
    where d.due_at is not null and (d.document_id, d.subscription_id, d.place) > (p_document, p_subscription, p_place)
    order by d.document_id, d.subscription_id, d.place limit p_limit
  ), free as (
    select w.id from part cross join lateral (
      select o.id from webhook_delivery as o
      where o.id = part.id and case when o.due_at = 'infinity' then (
        select 1 from webhook_delivery as h
        where h.document_id = o.document_id and h.subscription_id = o.subscription_id and h.due_at is not null
          and h.replay_of is null and h.place < o.place
        limit 1
      ) is null end
      for update skip locked
    ) as w
    where part.due_at = 'infinity'
  ), freed as (
    update webhook_delivery as d set due_at = clock_timestamp() from free where d.id = free.id
  )
  select part.document_id, part.subscription_id, part.place from part offset p_limit - 1;
end
$$;
