-- An attempt under way when its receiver moves keeps its number, and the one at the new place has the next: by the number an
-- end of the old place is told from one of the new, also where one process makes both.
create or replace function change_webhook(
  p_id uuid, p_firm uuid, p_integrator uuid, p_with_url boolean, p_url text, p_origin text, p_events text[],
  p_active boolean, p_audit jsonb
) returns boolean language plpgsql as $$
declare
  v_before webhook_subscription;
begin
  select * into v_before from webhook_subscription
    where id = p_id and firm_id = p_firm and integrator_id is not distinct from p_integrator and deleted_at is null for update;
  if not found then return false; end if;
  update webhook_subscription set
    url = case when p_with_url then p_url else url end,
    endpoint_id = case when p_with_url then webhook_endpoint_of(coalesce(p_integrator, p_firm), p_origin) else endpoint_id end,
    events = coalesce(p_events, events), active = coalesce(p_active, active),
    disabled_reason = case when p_active is not null then null else disabled_reason end,
    failed_attempts = case when p_active then 0 else failed_attempts end,
    failing_since = case when p_active then null else failing_since end,
    seen_from = case when p_active and not v_before.active then pg_current_snapshot() else seen_from end
  where id = p_id;
  if p_with_url and p_url is distinct from v_before.url then
    perform 1 from webhook_delivery as d where d.subscription_id = p_id and d.settled_at is null order by d.id for update;
    -- What waits goes to the new place, each document's events in their order, or waits to be pulled there. An attempt under
    -- way says nothing of the new place, so that its end is not written any more, and the event goes there too.
    update webhook_delivery as d set endpoint_id = s.endpoint_id, lease_owner = null, begun = 0,
      attempts = d.attempts + (d.lease_owner is not null and s.endpoint_id is not null)::integer,
      status = case when s.endpoint_id is null then 'PENDING' else d.status end,
      due_at = case
        when s.endpoint_id is null then null
        when d.due_at is null and o.turn > 1 then 'infinity'
        when d.due_at is null or d.lease_owner is not null then clock_timestamp()
        else d.due_at
      end
    from webhook_subscription as s cross join (
      select w.id, case when w.replay_of is null
        then row_number() over (partition by w.document_id, w.replay_of is null order by w.place) else 1 end as turn
      from webhook_delivery as w where w.subscription_id = p_id and w.settled_at is null
    ) as o
    where s.id = p_id and d.id = o.id;
  end if;
  if p_active = false then perform end_webhook_deliveries(p_id, 'subscription_inactive'); end if;
  perform append_audit(p_audit, 'webhook.changed', p_firm, p_integrator, 'webhook', p_id::text,
    jsonb_build_object('origin', p_origin, 'events', p_events, 'active', p_active));
  return true;
end $$;

-- As before; what waits has a new beginning at the new place, however often the old one has cut attempts off.
create or replace function put_connector_webhook(
  p_id uuid, p_integrator uuid, p_url text, p_origin text, p_events text[], p_active boolean, p_secret_key_id text,
  p_secret_sealed bytea, p_now timestamptz, p_audit jsonb
) returns boolean language plpgsql as $$
declare
  v_before webhook_subscription;
begin
  -- The consumer is locked first, as the fan-out locks it: all that switch a webhook on take turns, and only the first sets
  -- the place. It is set before the snapshot of the subscription is taken, so that nothing lies between the two.
  perform 1 from feed_consumer where name = 'connector' for update;
  select * into v_before from webhook_subscription
    where integrator_id = p_integrator and firm_id is null and deleted_at is null for update;
  if p_active and not exists (
    select 1 from webhook_subscription where firm_id is null and deleted_at is null and active
  ) then
    update feed_consumer set transaction_id = pg_snapshot_xmin(pg_current_snapshot()), position = 0 where name = 'connector';
  end if;

  if v_before.id is null then
    insert into webhook_subscription (
      id, integrator_id, url, endpoint_id, events, active, secret_key_id, secret_sealed, seen_from, created_at, updated_at
    ) values (
      p_id, p_integrator, p_url, webhook_endpoint_of(p_id, p_origin), p_events, p_active, p_secret_key_id,
      p_secret_sealed, pg_current_snapshot(), p_now, p_now
    );
    perform append_audit(p_audit, 'webhook.created', null, p_integrator, 'webhook', p_id::text,
      jsonb_build_object('origin', p_origin, 'events', p_events, 'interface', 'connector'));
    return true;
  end if;

  update webhook_subscription set
    url = p_url, endpoint_id = webhook_endpoint_of(v_before.id, p_origin), events = p_events, active = p_active,
    disabled_reason = null,
    failed_attempts = case when p_active then 0 else failed_attempts end,
    failing_since = case when p_active then null else failing_since end,
    seen_from = case when p_active and not v_before.active then pg_current_snapshot() else seen_from end,
    updated_at = p_now
  where id = v_before.id;
  if p_url <> v_before.url then
    perform 1 from webhook_delivery as d
      where d.subscription_id = v_before.id and d.settled_at is null order by d.id for update;
    -- What waits goes to the new place. An attempt under way says nothing of the new place, so that its end is not written
    -- any more, and the event goes there too.
    update webhook_delivery as d set endpoint_id = s.endpoint_id, lease_owner = null, begun = 0,
      attempts = d.attempts + (d.lease_owner is not null and s.endpoint_id is not null)::integer,
      due_at = case when d.lease_owner is null then d.due_at else clock_timestamp() end
    from webhook_subscription as s
    where s.id = v_before.id and d.subscription_id = s.id and d.settled_at is null;
  end if;
  if not p_active then perform end_webhook_deliveries(v_before.id, 'subscription_inactive'); end if;
  perform append_audit(p_audit, 'webhook.changed', null, p_integrator, 'webhook', v_before.id::text,
    jsonb_build_object('origin', p_origin, 'events', p_events, 'active', p_active, 'interface', 'connector'));
  return false;
end $$;
