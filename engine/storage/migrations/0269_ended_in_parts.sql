-- What waits at a subscription that is switched off or deleted ends in parts. An endpoint that is dead for five days may
-- have hundreds of thousands of deliveries waiting, which one statement does not end in the time that a statement has: it
-- was never switched off, and each call to it held the feed of everybody up once more. Now the statement ends the first
-- ones; the rest is marked at its subscription, is sent no more, and ends part by part by whichever process is next.
alter table webhook_subscription add column ending text;
-- Positions of deliveries: those behind the first up to the second are still to be looked at.
alter table webhook_subscription add column ending_from bigint;
alter table webhook_subscription add column ending_to bigint;
alter table webhook_subscription add constraint webhook_subscription_ending_check
  check ((ending is null) = (ending_from is null) and (ending is null) = (ending_to is null)) not valid;
alter table webhook_subscription validate constraint webhook_subscription_ending_check;

-- Ends deliveries by their ids, those that have not ended yet.
create function end_webhooks_named(p_ids uuid[], p_cause text) returns void language plpgsql volatile as $$
begin
  perform 1 from webhook_delivery as d where d.id = any (p_ids) order by d.id for update;
  update webhook_delivery as d
  set status = 'FAILED', due_at = null, lease_owner = null, settled_at = clock_timestamp(), cause = p_cause
  where d.id = any (p_ids) and d.settled_at is null;
end $$;

-- Its caller has the lock of the subscription, for which the fan-out waits: nothing is added meanwhile. What waits to be
-- pulled ends with a subscription that is deleted only. Two thousand take a tenth of a second.
create or replace function end_webhook_deliveries(p_id uuid, p_cause text) returns void language plpgsql volatile as $$
declare
  v_first constant integer := 2000;
  v_subscription webhook_subscription;
  v_ids uuid[];
begin
  select * into v_subscription from webhook_subscription as s where s.id = p_id;
  if v_subscription.deleted_at is null then
    v_ids := array(
      select d.id from webhook_delivery as d
      where d.endpoint_id = v_subscription.endpoint_id and d.due_at is not null and d.subscription_id = p_id limit v_first
    );
  else
    v_ids := array(
      select d.id from webhook_delivery as d where d.subscription_id = p_id and d.settled_at is null limit v_first
    );
  end if;
  perform end_webhooks_named(v_ids, p_cause);
  if cardinality(v_ids) = v_first then
    update webhook_subscription as s set ending = p_cause, ending_from = 0,
      ending_to = (select max(d.position) from webhook_delivery as d where d.subscription_id = p_id)
    where s.id = p_id;
  end if;
end $$;

-- Ends the next part of what is marked. Answers whether more may be left.
create function end_webhooks_further(p_limit integer) returns boolean language plpgsql volatile as $$
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
  if v_ids is not null then perform end_webhooks_named(v_ids, v_subscription.ending); end if;
  update webhook_subscription as s set
    ending = case when v_last is not null then s.ending end,
    ending_from = v_last,
    ending_to = case when v_last is not null then s.ending_to end
  where s.id = v_subscription.id;
  return true;
end $$;

create or replace function delete_webhook(
  p_id uuid, p_firm uuid, p_integrator uuid, p_now timestamptz, p_audit jsonb
) returns boolean language plpgsql volatile as $$
begin
  perform 1 from webhook_subscription
    where id = p_id and firm_id = p_firm and integrator_id is not distinct from p_integrator and deleted_at is null for update;
  if not found then return false; end if;
  update webhook_subscription set deleted_at = p_now, active = false where id = p_id;
  perform end_webhook_deliveries(p_id, 'subscription_deleted');
  perform append_audit(p_audit, 'webhook.deleted', p_firm, p_integrator, 'webhook', p_id::text, '{}');
  return true;
end $$;
