-- What was billed of an erased firm stays: nothing counts it anew, and what the meter has not come to is counted before it goes.

create function meter_erased(p_ids uuid[]) returns void language plpgsql as $$
declare
  v_sent feed_consumer;
  v_received feed_consumer;
begin
  -- Waits for a meter that counts at this moment: its place is then behind all that it has counted.
  select * into v_sent from feed_consumer where name = 'meter' for update;
  select * into v_received from feed_consumer where name = 'meter receipts' for update;
  with due as (
    select e.id, e.firm_id, 'outbound' as direction, billing_month(e.occurred_at) as month
    from document_event as e
    where e.document_id = any (p_ids) and e.kind = 'document.delivered'
      and (e.transaction_id, e.position) > (v_sent.transaction_id, v_sent.position)
    union all
    select r.id, r.firm_id, 'inbound', billing_month(r.api_received_at)
    from received_document as r
    where r.id = any (p_ids) and r.api_transaction_id is not null
      and (r.api_transaction_id, r.position) > (v_received.transaction_id, v_received.position)
  ), counted as (
    insert into metered_event (event_id, firm_id, direction, month) select id, firm_id, direction, month from due
    on conflict (event_id) do nothing
    returning firm_id, direction, month
  )
  insert into usage_month as u (firm_id, month, outbound, inbound)
  select firm_id, month, count(*) filter (where direction = 'outbound'), count(*) filter (where direction = 'inbound')
  from counted group by firm_id, month order by firm_id, month
  on conflict (firm_id, month) do update
    set outbound = u.outbound + excluded.outbound, inbound = u.inbound + excluded.inbound;
end $$;

create or replace function erase_firm_rows(p_firm uuid, p_limit integer) returns integer language plpgsql as $$
declare
  v_ids uuid[];
  v_gone integer := 0;
  v_some integer;
begin
  if not exists (select 1 from firm where id = p_firm and erased_at is not null) then return 0; end if;
  v_ids := array(
    select d.id from document as d where d.firm_id = p_firm and not document_is_open(d.status) order by d.created_at limit p_limit for update
  );
  delete from inbound_status where document_id = any (v_ids);
  perform meter_erased(v_ids);
  v_gone := v_gone + remove_documents(v_ids);
  v_ids := array(select r.id from received_document as r where r.firm_id = p_firm order by r.id limit p_limit for update);
  perform meter_erased(v_ids);
  v_gone := v_gone + remove_received(v_ids);
  v_ids := array(
    select m.id from service_message as m where m.firm_id = p_firm and not document_is_open(m.status) order by m.id limit p_limit for update
  );
  v_gone := v_gone + remove_service_messages(v_ids);
  delete from box_item where id in (select i.id from box_item as i where i.firm_id = p_firm order by i.id limit p_limit for update);
  get diagnostics v_some = row_count;
  v_gone := v_gone + v_some;
  v_ids := array(
    select x.id from exchange as x where x.firm_id = p_firm order by x.exchanged_at limit p_limit for update
  );
  delete from inbound_status where id = any (v_ids);
  update exchange set firm_id = null, end_user = encode(sha256(convert_to(end_user, 'UTF8')), 'hex')
    where id = any (v_ids);
  get diagnostics v_some = row_count;
  v_gone := v_gone + v_some;
  delete from document_event where id in (select e.id from document_event as e where e.firm_id = p_firm limit p_limit)
    and not exists (select 1 from document as d where d.id = document_event.document_id);
  get diagnostics v_some = row_count;
  v_gone := v_gone + v_some;
  delete from webhook_delivery where id in (
    select w.id from webhook_subscription as s join webhook_delivery as w on w.subscription_id = s.id where s.firm_id = p_firm limit p_limit
  );
  get diagnostics v_some = row_count;
  v_gone := v_gone + v_some;
  if v_gone > 0 then return v_gone; end if;

  -- What no index finds by its firm is looked for once, when nothing else is left.
  delete from mls_duty where firm_id = p_firm;
  get diagnostics v_some = row_count;
  v_gone := v_gone + v_some;
  delete from webhook_delivery where firm_id = p_firm and customer_ref is not null;
  get diagnostics v_some = row_count;
  v_gone := v_gone + v_some;
  -- Whoever is telling receivers of events holds their subscriptions: those are left to the upkeep of the engines.
  v_ids := array(select s.id from webhook_subscription as s where s.firm_id = p_firm for update skip locked);
  delete from webhook_subscription as s
    where s.id = any (v_ids) and not exists (select 1 from webhook_delivery as d where d.subscription_id = s.id);
  get diagnostics v_some = row_count;
  v_gone := v_gone + v_some;
  delete from webhook_endpoint as w
    where w.owner_id = p_firm and not exists (select 1 from webhook_subscription as s where s.endpoint_id = w.id)
      and not exists (select 1 from webhook_delivery as d where d.endpoint_id = w.id and d.due_at is not null);
  get diagnostics v_some = row_count;
  return v_gone + v_some;
end $$;

create or replace function recount_usage(p_firm uuid, p_kept_since date) returns void
language plpgsql as $$
declare
  v_sent feed_consumer;
  v_received feed_consumer;
begin
  -- Held against its erasure, which removes what is counted here.
  perform 1 from firm where id = p_firm and erased_at is null for share;
  if not found then return; end if;
  select * into v_sent from feed_consumer where name = 'meter' for update;
  select * into v_received from feed_consumer where name = 'meter receipts' for update;
  delete from metered_event where firm_id = p_firm and month >= p_kept_since;
  insert into metered_event (event_id, firm_id, direction, month)
  select due.id, p_firm, due.direction, due.month
  from (
    select e.id, 'outbound' as direction, billing_month(e.occurred_at) as month
    from document as d join document_event as e on e.document_id = d.id
    where d.firm_id = p_firm and e.kind = 'document.delivered'
      and (e.transaction_id, e.position) <= (v_sent.transaction_id, v_sent.position)
    union all
    select r.id, 'inbound', billing_month(r.api_received_at)
    from received_document as r
    where r.firm_id = p_firm and r.api_transaction_id is not null
      and (r.api_transaction_id, r.position) <= (v_received.transaction_id, v_received.position)
  ) as due
  where due.month >= p_kept_since
  on conflict (event_id) do nothing;
  delete from usage_month where firm_id = p_firm and month >= p_kept_since;
  insert into usage_month (firm_id, month, outbound, inbound)
  select p_firm, month, count(*) filter (where direction = 'outbound'), count(*) filter (where direction = 'inbound')
  from metered_event where firm_id = p_firm and month >= p_kept_since group by month;
end
$$;
