-- As before, but what is looked up by its id is looked up by nothing else: where statistics are of an hour in which nothing was
-- held, due or waiting, the index of what is looks shorter than the primary key, and is read to its end for each of them. A
-- condition within a case is none of an index, and joins by loops read no table whole. To the deliveries that wait at an
-- endpoint leads the one index that has them in the order of their times, where nothing else is sorted.

create or replace function release_received(p_id uuid) returns table (id uuid)
language sql volatile as $$
  update received_document as r set status = 'RECEIVED'
  where r.id = p_id and case when r.status = 'HELD' then true end
  returning r.id
$$;

create or replace function end_mls_duty(
  p_id uuid, p_wait_ms bigint, p_code text, p_message jsonb, p_document text default null, p_findings jsonb default null,
  p_facts jsonb default null
) returns table (id uuid)
language plpgsql volatile as $$
begin
  perform 1 from mls_duty as d where d.id = p_id and case when d.next_at is not null then true end for update;
  if not found then return; end if;
  if p_document is not null then
    update received_document as r set status = p_document, findings = p_findings, facts = coalesce(p_facts, r.facts)
    where r.id = p_id and case when r.status = 'HELD' then true end;
    if not found and p_document = 'REFUSED' then return; end if;
  end if;
  return query
    update mls_duty as d
    set next_at = clock_timestamp() + p_wait_ms * interval '1 millisecond', lease_until = null, code = p_code
    where d.id = p_id returning d.id;
  if p_message is not null then
    insert into service_message select (jsonb_populate_record(null::service_message, p_message)).*
    on conflict (subject) do nothing;
  end if;
end
$$;

create or replace function claim_mls_duties(
  p_owner text, p_lease_ms integer, p_limit integer, p_firm_max integer, p_looked_max integer, p_small_bytes_max integer,
  p_large boolean
) returns table (
  id uuid, firm_id uuid, sbdh_instance_id text, document_type_id text, receiver text, always boolean, received_at timestamptz,
  acknowledged boolean, is_response boolean, held boolean, has_payload boolean, payload_bytes integer, sealed_bytes integer,
  process_id text, document_sender text, document_receiver text
) language sql volatile set enable_hashjoin = off set enable_mergejoin = off as $$
  with due as (
    select d.id, d.firm_id, d.next_at, coalesce(d.lease_until >= now(), false) as is_leased
    from mls_duty as d
    where d.next_at <= now() and coalesce(d.payload_bytes > p_small_bytes_max, true) = p_large
      and (d.lease_until is null or d.lease_until < now() or d.lease_owner = p_owner)
    order by d.next_at limit p_looked_max
  ), ranked as (
    -- What the claimer is at already is its firm's first share.
    select due.id, due.next_at, due.is_leased,
      row_number() over (partition by due.firm_id order by due.is_leased desc, due.next_at) as share
    from due
  ), chosen as (
    select d.id from ranked as r join mls_duty as d on d.id = r.id
    where not r.is_leased and r.share <= p_firm_max
      and case when d.next_at <= now() then d.lease_until is null or d.lease_until < now() end
    order by r.share, r.next_at limit p_limit
    for update of d skip locked
  ), taken as (
    update mls_duty as d
    set lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond', lease_owner = p_owner
    from chosen where d.id = chosen.id
    returning d.id, d.firm_id, d.sbdh_instance_id, d.document_type_id, d.receiver, d.always, d.received_at, d.payload_bytes
  )
  select t.id, t.firm_id, t.sbdh_instance_id, t.document_type_id, t.receiver, t.always, t.received_at,
    coalesce(r.status = 'ACKNOWLEDGED', false), s.id is not null, coalesce(r.status = 'HELD', false),
    s.id is not null or p.document_id is not null, coalesce(t.payload_bytes, p.bytes),
    octet_length(coalesce(s.payload_sealed, p.sealed)), coalesce(r.process_id, e.process_id),
    coalesce(r.sender, s.sender), coalesce(r.receiver, s.receiver)
  from taken as t
  left join received_document as r on r.id = t.id
  left join payload as p on p.document_id = t.id
  left join inbound_status as s on s.id = t.id
  left join exchange as e on e.id = t.id
$$;

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
    where s.deleted_at is not null
      and (select 1 from webhook_delivery as d where d.subscription_id = s.id limit 1) is null;
  delete from webhook_endpoint as w
    where not exists (select 1 from webhook_subscription as s where s.endpoint_id = w.id)
      and (
        select 1 from webhook_delivery as d
        where d.endpoint_id = w.id and d.due_at is not null order by d.due_at limit 1
      ) is null;
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
