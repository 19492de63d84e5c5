-- Names of onboarding requests are held against those of White Label, and the other way about. Before, a name that waited
-- for the registry could be given to a firm that only sends, and what the registry had done then was bound by nobody.

-- Whether the name stands for another company, or the company under another name, among customers and open operations.
create function white_label_has_other_name(p_integrator uuid, p_customer_ref text, p_dic text) returns boolean
language sql stable as $$
  select exists (
    select 1 from white_label_customer c
    where c.integrator_id = p_integrator and c.customer_ref = p_customer_ref and c.dic <> p_dic
  ) or exists (
    select 1 from white_label_customer c
    where c.integrator_id = p_integrator and c.dic = p_dic and c.customer_ref <> p_customer_ref
  ) or exists (
    select 1 from white_label_operation o
    where o.integrator_id = p_integrator and o.status in ('processing', 'smp_succeeded', 'manual_review')
      and (o.customer_ref = p_customer_ref) <> (o.dic = p_dic)
  )
$$;

-- As before, and among requests that wait; for one that is active its binding speaks, whose name may have changed since.
create or replace function white_label_name_differs(p_integrator uuid, p_customer_ref text, p_dic text) returns boolean
language sql stable as $$
  select white_label_has_other_name(p_integrator, p_customer_ref, p_dic) or exists (
    select 1 from onboarding_request r
    where r.integrator_id = p_integrator and r.customer_ref = p_customer_ref and r.dic <> p_dic
      and r.status not in ('blocked', 'revoked') and r.status <> 'active'
  ) or exists (
    select 1 from onboarding_request r
    where r.integrator_id = p_integrator and r.dic = p_dic and r.customer_ref <> p_customer_ref
      and r.status not in ('blocked', 'revoked') and r.status <> 'active'
  ) or exists (
    select 1 from firm_binding b join firm f on f.id = b.firm_id
    where b.integrator_id = p_integrator and b.customer_ref = p_customer_ref and f.dic is distinct from p_dic
  ) or exists (
    select 1 from firm f join firm_binding b on b.firm_id = f.id
    where f.dic = p_dic and b.integrator_id = p_integrator and b.customer_ref <> p_customer_ref
  )
$$;

-- As before, and 'ref_conflict' also where the name or the company stands beside another among customers and operations.
-- A binding that was withdrawn does not count: what was revoked may be asked for again, also under another name.
create or replace function create_onboarding_request(
  p_request jsonb, p_body_sha256 bytea, p_production boolean, p_next_action text
) returns table (outcome text, id uuid) language plpgsql as $$
declare
  v_request onboarding_request;
  v_other onboarding_request;
  v_integrator integrator;
  v_firm uuid;
begin
  select * into v_request from jsonb_populate_record(null::onboarding_request, p_request);
  select i.* into v_integrator from integrator i where i.id = v_request.integrator_id for update;
  select r.* into v_other from onboarding_request r
    where r.integrator_id = v_request.integrator_id and r.idempotency_key = v_request.idempotency_key;
  if found then
    return query select case when v_other.body_sha256 = p_body_sha256 then 'replay' else 'key_conflict' end, v_other.id;
    return;
  end if;
  if p_production and not v_integrator.production_authorized then
    return query select 'not_authorized', null::uuid;
    return;
  end if;
  if v_request.relationship_mode = 'managed_service' and not v_integrator.managed_billing then
    return query select 'no_billing', null::uuid;
    return;
  end if;
  perform 1 from onboarding_request r where r.integrator_id = v_request.integrator_id and r.status not in ('blocked', 'revoked')
    and (r.customer_ref = v_request.customer_ref or r.dic = v_request.dic);
  if found then return query select 'ref_conflict', null::uuid; return; end if;
  perform 1 from firm_binding b join firm f on f.id = b.firm_id
    where b.integrator_id = v_request.integrator_id and (b.customer_ref = v_request.customer_ref) <> (f.dic = v_request.dic)
      and b.state <> 'revoked' and b.customer_ref is not null;
  if found or white_label_has_other_name(v_request.integrator_id, v_request.customer_ref, v_request.dic) then
    return query select 'ref_conflict', null::uuid;
    return;
  end if;
  select f.id into v_firm from firm f join firm_binding b on b.firm_id = f.id
    where b.integrator_id = v_request.integrator_id and f.dic = v_request.dic and covers_sending(b) limit 1;
  v_request.body_sha256 := p_body_sha256;
  v_request.firm_id := v_firm;
  v_request.status := case when v_firm is not null then 'active'
    when v_request.relationship_mode = 'managed_service' then 'activating' else 'awaiting_pfs' end;
  v_request.next_action := case when v_request.status = 'awaiting_pfs' then p_next_action end;
  v_request.version := 1;
  v_request.updated_at := v_request.created_at;
  insert into onboarding_request select v_request.*;
  insert into onboarding_history (request_id, version, status, trigger, occurred_at)
    values (v_request.id, 1, v_request.status, 'created', v_request.created_at);
  return query select 'created', v_request.id;
end
$$;

-- As before, and false also where the name was given to a firm meanwhile, by a consent or by an operator: the registry is
-- not asked for what could not be bound after it.
create or replace function vouch_white_label(p_id uuid, p_version integer, p_now timestamptz, p_audit jsonb) returns boolean
language plpgsql as $$
declare
  v_integrator uuid;
begin
  perform 1 from integrator i join white_label_operation o on o.integrator_id = i.id where o.id = p_id for update of i;
  update white_label_operation o set status = 'processing', error_code = null, due_at = p_now, claimed_until = null,
    asked_at = null, vouched_at = p_now, version = version + 1, updated_at = p_now
  where o.id = p_id and o.version = p_version and o.status = 'manual_review' and not exists (
    select 1 from firm_binding b where b.integrator_id = o.integrator_id and b.customer_ref = o.customer_ref
  )
  returning o.integrator_id into v_integrator;
  if not found then return false; end if;
  perform append_audit(p_audit, 'white_label.vouched', null, v_integrator, 'white_label_operation', p_id::text, '{}');
  return true;
end
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
