-- 0273, 0277 and 0280 had other texts in builds of a few hours: databases that took one of those get from here what they lack.
-- makes good 0273 as 0aed0fa6eac244ac84668889b295fd3ae0886cab96dbda14e7d4cdd49f005dcc
-- makes good 0273 as e638ddc346ca92221fb53dafdb5c36438b7b7b5a21fa83cc10e26b585a1ca13c
-- makes good 0273 as be445c7ebeabfa97eb2478fb2dab386cb8c04c0fbd387eda5f669a31f65e0e28
-- makes good 0277 as 0a2426a18d835fa90b6f6fe481e71ee21243173de59378f1de7065c54a8ac945
-- makes good 0277 as 07b09ee598a93f3b66d1e4784e8979fbf6e0c6630a877afe76a320c298405b62
-- makes good 0280 as c80e3f8b238282e162865ca8d159aab67c56b9c0957951c98dfc3e8a4ddaa7a2

-- Writes a customer: 'created'; 'repeat' or 'key_conflict' of the same key; 'ref_conflict' where the name or the company
-- is another customer's, or stands beside another among operations and firms; 'key_ended' for a late repeat of what made
-- a customer that was ended since: it would note again what was wrong. Audits of those builds have the key, no digest of it.
create or replace function create_white_label_customer(p_customer jsonb, p_body_sha256 bytea)
returns table (outcome text, id uuid) language plpgsql as $$
#variable_conflict use_column
declare
  v_new white_label_customer;
  v_other white_label_customer;
begin
  select * into v_new from jsonb_populate_record(null::white_label_customer, p_customer);
  perform 1 from integrator i where i.id = v_new.integrator_id for update;
  select c.* into v_other from white_label_customer c
    where c.integrator_id = v_new.integrator_id and c.idempotency_key = v_new.idempotency_key;
  if found then
    return query select case when v_other.body_sha256 = p_body_sha256 then 'repeat' else 'key_conflict' end, v_other.id;
    return;
  end if;
  perform 1 from audit_entry a where a.event = 'white_label.customer_ended' and a.integrator_id = v_new.integrator_id
    and (a.metadata ->> 'idempotencyKeySha256' = encode(sha256(convert_to(v_new.idempotency_key, 'UTF8')), 'hex')
      or a.metadata ->> 'idempotencyKey' = v_new.idempotency_key);
  if found then return query select 'key_ended', null::uuid; return; end if;
  perform 1 from white_label_customer c where c.integrator_id = v_new.integrator_id
    and (c.customer_ref = v_new.customer_ref or c.dic = v_new.dic);
  if found or white_label_name_differs(v_new.integrator_id, v_new.customer_ref, v_new.dic) then
    return query select 'ref_conflict', null::uuid;
    return;
  end if;
  v_new.body_sha256 := p_body_sha256;
  insert into white_label_customer select v_new.*;
  return query select 'created', v_new.id;
end
$$;

-- Takes a customer away: 'ended'; 'in_use' where its company is, was or is being bound under its name, which would not be
-- free; 'unknown'. Its audit has the digest of its key, by which a late repeat is known.
create or replace function end_white_label_customer(p_id uuid, p_audit jsonb) returns text language plpgsql as $$
declare
  v_customer white_label_customer;
begin
  perform 1 from integrator i join white_label_customer c on c.integrator_id = i.id where c.id = p_id for update of i;
  select c.* into v_customer from white_label_customer c where c.id = p_id for update;
  if not found then return 'unknown'; end if;
  perform 1 from firm_binding b join firm f on f.id = b.firm_id
    where b.integrator_id = v_customer.integrator_id and b.customer_ref = v_customer.customer_ref
      and f.dic = v_customer.dic;
  if not found then
    perform 1 from white_label_operation o
      where o.integrator_id = v_customer.integrator_id and o.customer_ref = v_customer.customer_ref
        and o.dic = v_customer.dic and o.status in ('processing', 'smp_succeeded', 'manual_review');
  end if;
  if found then return 'in_use'; end if;
  delete from white_label_customer c where c.id = p_id;
  perform append_audit(p_audit, 'white_label.customer_ended', null, v_customer.integrator_id, 'white_label_customer',
    p_id::text, jsonb_build_object('customerRef', v_customer.customer_ref, 'dic', v_customer.dic,
      'idempotencyKeySha256', encode(sha256(convert_to(v_customer.idempotency_key, 'UTF8')), 'hex')));
  return 'ended';
end
$$;

-- Removes what is old: deliveries that succeeded after p_success_ms, others after p_other_ms, tests of the Connector a
-- whole run at a time after p_other_ms, deliveries of deleted subscriptions, and at last the subscriptions and endpoints
-- that nothing is left of. A delivery that succeeded stays as long as a repeat of its event, and a repeat that succeeded as
-- long as one that did not: without it that one would count as dead, and be sent once more. Whether there is one is looked
-- up for each of them as they follow by age: a join, and a sort, would read all that are as old. Sets free whatever waits
-- behind nothing. Answers how many deliveries went.
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

-- Whether a name stands for another company among customers, operations, bindings and requests that wait; for one that is
-- active its binding speaks, whose name may have changed since.
create or replace function white_label_name_differs(p_integrator uuid, p_customer_ref text, p_dic text) returns boolean
language sql stable as $$
  select white_label_has_other_name(p_integrator, p_customer_ref, p_dic) or exists (
    select 1 from onboarding_request r
    where r.integrator_id = p_integrator and r.customer_ref = p_customer_ref and r.dic <> p_dic
      and r.status not in ('blocked', 'revoked', 'active')
  ) or exists (
    select 1 from onboarding_request r
    where r.integrator_id = p_integrator and r.dic = p_dic and r.customer_ref <> p_customer_ref
      and r.status not in ('blocked', 'revoked', 'active')
  ) or exists (
    select 1 from firm_binding b join firm f on f.id = b.firm_id
    where b.integrator_id = p_integrator and b.customer_ref = p_customer_ref and f.dic is distinct from p_dic
  ) or exists (
    select 1 from firm f join firm_binding b on b.firm_id = f.id
    where f.dic = p_dic and b.integrator_id = p_integrator and b.customer_ref <> p_customer_ref
  )
$$;
