-- Subscriptions to the feed, and what is delivered or waits to be pulled for them.

-- Where subscriptions of one owner lead: they share the places that there are for it and its breaker. It rests while what
-- is behind it fails.
create table webhook_endpoint (
  id uuid primary key,
  owner_id uuid not null,
  origin text not null,
  failures integer not null default 0 check (failures >= 0),
  rest_until timestamptz,
  unique (owner_id, origin)
) with (fillfactor = 70);

-- A subscription is a firm's own, or an integrator's about one firm; neither sees the other's. Without a url its events
-- wait to be pulled. seen_from: it is told of what had not committed by then. A deleted one stays until its deliveries
-- are removed.
create table webhook_subscription (
  id uuid primary key,
  firm_id uuid not null references firm (id),
  integrator_id uuid references integrator (id),
  url text,
  endpoint_id uuid references webhook_endpoint (id),
  events text[] not null check (cardinality(events) >= 1),
  constraint webhook_subscription_events_check1 check (events <@ array[
    'document.sent', 'document.delivered', 'document.delivery_failed', 'document.mls_received', 'document.rejected',
    'document.response_received', 'document.created', 'document.validated', 'document.received'
  ]),
  active boolean not null,
  disabled_reason text check (disabled_reason in ('gone', 'failing')),
  failed_attempts integer not null default 0 check (failed_attempts >= 0),
  failing_since timestamptz,
  secret_key_id text not null,
  secret_sealed bytea not null,
  old_secret_key_id text,
  old_secret_sealed bytea,
  old_secret_until timestamptz,
  seen_from pg_snapshot not null,
  created_at timestamptz not null,
  deleted_at timestamptz,
  check ((url is null) = (endpoint_id is null)),
  check ((old_secret_sealed is null) = (old_secret_key_id is null) and (old_secret_sealed is null) = (old_secret_until is null)),
  check ((failed_attempts = 0) = (failing_since is null)),
  check (deleted_at is null or not active)
) with (fillfactor = 70);
create index webhook_subscription_firm on webhook_subscription (firm_id, integrator_id) where deleted_at is null;
create index webhook_subscription_integrator on webhook_subscription (integrator_id)
  where integrator_id is not null and deleted_at is null;
create index webhook_subscription_endpoint on webhook_subscription (endpoint_id) where endpoint_id is not null;
create index webhook_subscription_deleted on webhook_subscription (deleted_at) where deleted_at is not null;

-- One event for one subscription. due_at: when it is to be sent, while a lease lasts when that ends, 'infinity' behind an
-- earlier event of the same document, null when there is nothing more to do or it waits to be pulled. place: the order of
-- the feed. test_data: the members of an event that never happened.
create table webhook_delivery (
  id uuid primary key,
  position bigint generated always as identity,
  subscription_id uuid not null references webhook_subscription (id),
  endpoint_id uuid,
  owner_id uuid not null,
  firm_id uuid not null,
  event_id uuid not null,
  event text not null,
  place bigint not null,
  document_id uuid not null,
  occurred_at timestamptz not null,
  test_run_id uuid,
  test_data jsonb,
  replay_of uuid,
  status text not null check (status in ('PENDING', 'RETRYING', 'SUCCESS', 'FAILED')),
  attempts integer not null default 0 check (attempts >= 0),
  due_at timestamptz,
  lease_owner text,
  attempted_at timestamptz,
  response_status integer,
  response_body text,
  cause text,
  created_at timestamptz not null,
  settled_at timestamptz,
  resolved_at timestamptz,
  resolution text,
  check ((status in ('SUCCESS', 'FAILED')) = (settled_at is not null)),
  check (settled_at is null or (due_at is null and lease_owner is null)),
  check (due_at is null or endpoint_id is not null),
  check (lease_owner is null or due_at is not null),
  check (resolved_at is null or status = 'FAILED')
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
create unique index webhook_delivery_event on webhook_delivery (subscription_id, event_id) where replay_of is null;
create index webhook_delivery_due on webhook_delivery (endpoint_id, due_at) where due_at is not null;
create index webhook_delivery_leased on webhook_delivery (endpoint_id) where lease_owner is not null;
create index webhook_delivery_document on webhook_delivery (document_id, subscription_id, place) where due_at is not null;
create index webhook_delivery_page on webhook_delivery (subscription_id, position);
create index webhook_delivery_pull on webhook_delivery (owner_id, firm_id, place)
  where endpoint_id is null and settled_at is null;
create index webhook_delivery_pull_all on webhook_delivery (owner_id, place) where endpoint_id is null and settled_at is null;
create index webhook_delivery_dead on webhook_delivery (owner_id, firm_id, position)
  where status = 'FAILED' and resolved_at is null;
create index webhook_delivery_age on webhook_delivery (created_at);

-- A new id for a row, in the order of time.
create function new_row_id() returns uuid language sql volatile as $$
  select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1),
    'hex')::uuid
$$;

-- The endpoint of an owner at an origin, made where there is none.
create function webhook_endpoint_of(p_owner uuid, p_origin text) returns uuid language sql volatile as $$
  insert into webhook_endpoint as e (id, owner_id, origin) select new_row_id(), p_owner, p_origin where p_origin is not null
  on conflict (owner_id, origin) do update set origin = excluded.origin
  returning e.id
$$;

-- Makes a subscription, unless the firm has p_firm_max of this owner already, or an integrator p_owner_max of all firms.
create function create_webhook(
  p_id uuid, p_firm uuid, p_integrator uuid, p_url text, p_origin text, p_events text[], p_active boolean,
  p_secret_key_id text, p_secret_sealed bytea, p_now timestamptz, p_firm_max integer, p_owner_max integer, p_audit jsonb
) returns boolean language plpgsql as $$
begin
  -- Two that are made at once take turns, so that the bounds hold.
  perform pg_advisory_xact_lock(hashtextextended('webhooks:' || coalesce(p_integrator, p_firm), 0));
  if (
    select count(*) >= p_owner_max or count(*) filter (where firm_id = p_firm) >= p_firm_max
    from webhook_subscription
    where integrator_id is not distinct from p_integrator and (p_integrator is not null or firm_id = p_firm) and deleted_at is null
  ) then return false; end if;
  insert into webhook_subscription (
    id, firm_id, integrator_id, url, endpoint_id, events, active, secret_key_id, secret_sealed, seen_from, created_at
  ) values (
    p_id, p_firm, p_integrator, p_url, webhook_endpoint_of(coalesce(p_integrator, p_firm), p_origin), p_events, p_active,
    p_secret_key_id, p_secret_sealed, pg_current_snapshot(), p_now
  );
  perform append_audit(p_audit, 'webhook.created', p_firm, p_integrator, 'webhook', p_id::text,
    jsonb_build_object('origin', p_origin, 'events', p_events));
  return true;
end $$;

-- Ends what is still to be sent for a subscription that is told of nothing any more; it can be replayed.
create function end_webhook_deliveries(p_id uuid, p_cause text) returns void language sql volatile as $$
  update webhook_delivery
  set status = 'FAILED', due_at = null, lease_owner = null, settled_at = clock_timestamp(), cause = p_cause
  where subscription_id = p_id and due_at is not null
$$;

-- Changes a subscription; null leaves a member as it is. One that is switched on again is told of nothing that happened
-- while it was off.
create function change_webhook(
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
  if p_with_url then
    -- What waits goes to the new place, or waits to be pulled there.
    update webhook_delivery as d set endpoint_id = s.endpoint_id, due_at = case when s.endpoint_id is null then null
        when d.due_at is null then clock_timestamp() else d.due_at end,
      lease_owner = null, status = case when s.endpoint_id is null then 'PENDING' else d.status end
    from webhook_subscription as s
    where s.id = p_id and d.subscription_id = p_id and d.settled_at is null;
  end if;
  if p_active = false then perform end_webhook_deliveries(p_id, 'subscription_inactive'); end if;
  perform append_audit(p_audit, 'webhook.changed', p_firm, p_integrator, 'webhook', p_id::text,
    jsonb_build_object('origin', p_origin, 'events', p_events, 'active', p_active));
  return true;
end $$;

create function delete_webhook(p_id uuid, p_firm uuid, p_integrator uuid, p_now timestamptz, p_audit jsonb)
returns boolean language plpgsql as $$
begin
  update webhook_subscription set deleted_at = p_now, active = false
    where id = p_id and firm_id = p_firm and integrator_id is not distinct from p_integrator and deleted_at is null;
  if not found then return false; end if;
  update webhook_delivery set status = 'FAILED', due_at = null, lease_owner = null, settled_at = clock_timestamp(),
      cause = 'subscription_deleted'
    where subscription_id = p_id and settled_at is null;
  perform append_audit(p_audit, 'webhook.deleted', p_firm, p_integrator, 'webhook', p_id::text, '{}');
  return true;
end $$;

-- Gives a subscription a new secret; the old one signs beside it until p_old_until.
create function rotate_webhook_secret(
  p_id uuid, p_firm uuid, p_integrator uuid, p_secret_key_id text, p_secret_sealed bytea, p_old_until timestamptz, p_audit jsonb
) returns boolean language plpgsql as $$
begin
  update webhook_subscription set old_secret_key_id = secret_key_id, old_secret_sealed = secret_sealed,
      old_secret_until = p_old_until, secret_key_id = p_secret_key_id, secret_sealed = p_secret_sealed
    where id = p_id and firm_id = p_firm and integrator_id is not distinct from p_integrator and deleted_at is null;
  if not found then return false; end if;
  perform append_audit(p_audit, 'webhook.secret_rotated', p_firm, p_integrator, 'webhook', p_id::text, '{}');
  return true;
end $$;

-- Switches a subscription off whose receiver is gone, or has failed for days.
create function disable_webhook(p_id uuid, p_reason text, p_audit jsonb) returns boolean language plpgsql as $$
declare
  v_subscription webhook_subscription;
begin
  update webhook_subscription set active = false, disabled_reason = p_reason
    where id = p_id and active returning * into v_subscription;
  if not found then return false; end if;
  perform end_webhook_deliveries(p_id, 'subscription_disabled');
  perform append_audit(p_audit, 'webhook.disabled', v_subscription.firm_id, v_subscription.integrator_id, 'webhook', p_id::text,
    jsonb_build_object('reason', p_reason));
  return true;
end $$;
