-- 0282 and 0280 had other texts in builds of a few hours: databases that took one of those get from here what they lack.
-- makes good 0280 as 3647dbb43e686f42ae4158c786de4b801a1727c420ba6d9f60213c6e73fc4942
-- makes good 0282 as 1e7b4b7e54c72db9e832cee7d89812c34819e196c0f078b9f6ed0c2976de5e1d

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

-- Ends the next part of what is marked, and sets free what waits behind it. A subscription that was switched on again is
-- told of what happened since: an event of a document whose earlier one was still to end waited behind it, and behind
-- nobody once that had ended. What is behind the mark only is set free; what is marked ends in its part. The locks are
-- those of settle_webhooks, in its order. Answers whether more may be left.
create or replace function end_webhooks_further(p_limit integer) returns boolean language plpgsql volatile as $$
declare
  v_subscription webhook_subscription;
  v_last bigint;
  v_ids uuid[];
begin
  select * into v_subscription from webhook_subscription
    where ending is not null order by id limit 1 for no key update skip locked;
  if not found then return false; end if;
  select max(w.position), array_agg(w.id) filter (
      where case when v_subscription.deleted_at is null then w.due_at is not null else w.settled_at is null end
    ) into v_last, v_ids
    from (
      select d.id, d.position, d.due_at, d.settled_at from webhook_delivery as d
      where d.subscription_id = v_subscription.id
        and d.position > v_subscription.ending_from and d.position <= v_subscription.ending_to
      order by d.position limit p_limit
    ) as w;
  if v_ids is not null then
    if v_subscription.active then
      perform 1 from webhook_delivery as d
      where d.id in (
        select unnest(v_ids)
        union
        select b.id from unnest(v_ids) as g (id) join webhook_delivery as e on e.id = g.id
        cross join lateral (
          select o.id from webhook_delivery as o
          where o.document_id = e.document_id and o.subscription_id = e.subscription_id and o.due_at is not null
          offset 0
        ) as b
      )
      order by d.id for update;
    end if;
    perform end_webhooks_named(v_ids, v_subscription.ending);
    if v_subscription.active then
      update webhook_delivery as d set due_at = clock_timestamp()
      from (
        select distinct on (b.document_id) b.id
        from (
          select distinct e.document_id from webhook_delivery as e where e.id = any (v_ids) and e.replay_of is null
        ) as over
        cross join lateral (
          select o.id, o.document_id, o.place from webhook_delivery as o
          where o.document_id = over.document_id and o.subscription_id = v_subscription.id
            and o.due_at is not null and o.replay_of is null
          offset 0
        ) as b
        order by b.document_id, b.place
      ) as next
      where d.id = next.id and d.due_at = 'infinity' and d.position > v_subscription.ending_to;
    end if;
  end if;
  update webhook_subscription as s set
    ending = case when v_last is not null then s.ending end,
    ending_from = v_last,
    ending_to = case when v_last is not null then s.ending_to end
  where s.id = v_subscription.id;
  return true;
end
$$;
