-- An erasure holds the meter while it removes what may have to be counted; at its end it looks for half an hour at what no index finds,
-- with nothing to count, and no firm was metered for so long.
create or replace function meter_erased(p_ids uuid[]) returns void language plpgsql as $$
declare
  v_sent feed_consumer;
  v_received feed_consumer;
begin
  if cardinality(p_ids) = 0 then return; end if;
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
