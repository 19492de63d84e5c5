-- The Connector's webhook: one subscription for an integrator's whole account, with words and a secret of its own. It is a
-- subscription without a firm, so that it is claimed, sent, tried again, switched off and removed as every other. Its
-- deliveries and its endpoint are owned by the subscription itself: no list of the Enterprise interface finds them.
alter table webhook_subscription alter column firm_id drop not null;
alter table webhook_subscription add column updated_at timestamptz;
alter table webhook_subscription add constraint webhook_subscription_connector_check
  check (firm_id is not null or (integrator_id is not null and url is not null and updated_at is not null));
alter table webhook_subscription drop constraint webhook_subscription_events_check1;
alter table webhook_subscription add constraint webhook_subscription_events_check1 check (firm_id is null or events <@ array[
  'document.sent', 'document.delivered', 'document.delivery_failed', 'document.mls_received', 'document.rejected',
  'document.response_received', 'document.created', 'document.validated', 'document.received'
]);
alter table webhook_subscription add constraint webhook_subscription_connector_events_check
  check (firm_id is not null or events <@ array[
    'document.queued', 'document.delivered', 'document.received', 'document.processed', 'document.needs_attention',
    'document.cancelled', 'document.failed'
  ]);
create unique index webhook_subscription_connector on webhook_subscription (integrator_id)
  where firm_id is null and deleted_at is null;

-- What the integrator called the firm when the event was told; only deliveries of the Connector have it.
alter table webhook_delivery add column customer_ref text;
create index webhook_delivery_customer on webhook_delivery (subscription_id, customer_ref, position)
  where customer_ref is not null;

-- Each try at a delivery of the Connector: written before it leaves, completed with the end of the delivery's turn. A try
-- that was cut off with its process is made again under its number. It goes with its delivery.
create table webhook_attempt (
  id uuid primary key,
  delivery_id uuid not null references webhook_delivery (id) on delete cascade,
  number integer not null check (number >= 1),
  outcome text not null
    check (outcome in ('STARTED', 'SUCCESS', 'RETRY_SCHEDULED', 'TERMINAL_FAILURE', 'AUTHORIZATION_CANCELLED')),
  started_at timestamptz not null,
  completed_at timestamptz,
  endpoint text not null,
  request_timestamp bigint,
  request_body_sha256 text,
  response_status integer,
  response_content_type text,
  response_body text,
  response_body_sha256 text,
  response_body_truncated boolean,
  retryable boolean,
  retry_after_ms bigint,
  next_retry_at timestamptz,
  cause text,
  unique (delivery_id, number),
  check ((outcome = 'STARTED') = (completed_at is null))
);

insert into feed_consumer (name, transaction_id, position)
values ('connector', pg_snapshot_xmin(pg_current_snapshot()), 0);

-- Whether an integrator may still be told of a firm in the Connector's words: the consent names the interface and lets it
-- read of events, and outside the sandbox the operator has let it act for firms.
create function connector_is_told(p_integrator uuid, p_firm uuid) returns boolean language sql stable as $$
  select exists (
    select 1 from firm_binding as b
    join integrator as i on i.id = b.integrator_id
    join firm as f on f.id = b.firm_id
    where b.integrator_id = p_integrator and b.firm_id = p_firm and b.state = 'active' and 'connector' = any (b.interfaces)
      and 'webhooks:read' = any (b.scopes) and (i.production_authorized or f.sandbox)
  )
$$;

-- What the Connector calls an event of the feed; null for what it does not tell. A document that the rules refused after
-- its acceptance needs attention, every other end without delivery is a failure.
create function connector_event(p_kind text, p_document uuid) returns text language sql stable as $$
  select case p_kind
    when 'document.created' then 'document.queued'
    when 'document.delivered' then p_kind
    when 'document.received' then p_kind
    when 'document.cancelled' then p_kind
    when 'document.delivery_failed' then 'document.failed'
    when 'document.rejected' then case
      when exists (select 1 from document as d where d.id = p_document and d.status = 'validation_failed')
      then 'document.needs_attention' else 'document.failed'
    end
  end
$$;

-- Makes deliveries of the next events of the feed for the Connector's subscriptions, as fan_out_webhooks does for the
-- others and with the same order of locks: subscriptions, then deliveries by their ids. Two transactions can write of one
-- document in another order than that in which they began: where a page ends between them, what comes first is taken from
-- the next page, and is passed over there. While no subscription is active nothing is read and the place stands still:
-- whoever switches the first one on sets it to now.
create function fan_out_connector(p_limit integer) returns table (read bigint, queued bigint)
language plpgsql volatile as $$
#variable_conflict use_column
declare
  v_from feed_consumer;
  v_to record;
  v_queued bigint;
begin
  if not exists (select 1 from webhook_subscription where firm_id is null and deleted_at is null and active) then return; end if;
  select * into v_from from feed_consumer where name = 'connector' for update skip locked;
  if not found then return; end if;
  select f.transaction_id, f.feed_position, count(*) over () as events into v_to
    from read_feed(v_from.transaction_id, v_from.position, p_limit) as f
    order by f.transaction_id desc, f.feed_position desc limit 1;
  if not found then return; end if;

  perform 1 from webhook_subscription as s
    where s.firm_id is null and s.deleted_at is null and s.active order by s.id for key share;
  perform 1 from webhook_delivery as h
    where h.due_at is not null and h.customer_ref is not null
      and h.document_id in (select f.document_id from read_feed(v_from.transaction_id, v_from.position, p_limit) as f)
    order by h.id for update;

  with page as (
    select f.id, f.kind, f.document_id, f.firm_id, f.occurred_at, f.transaction_id, f.feed_position, f.part
    from read_feed(v_from.transaction_id, v_from.position, p_limit) as f
    where (f.transaction_id, f.feed_position) <= (v_to.transaction_id, v_to.feed_position)
  ), ahead as (
    select e.id, e.kind, e.document_id, e.firm_id, e.occurred_at, e.transaction_id, e.position as feed_position, 0::smallint as part
    from (select document_id, max(feed_position) as last from page group by document_id) as p
    join document_event as e on e.document_id = p.document_id and e.position < p.last
    where v_to.events >= p_limit and e.feed
      and (e.transaction_id, e.position) > (v_to.transaction_id, v_to.feed_position)
      and e.transaction_id < pg_snapshot_xmin(pg_current_snapshot())
  ), told as (
    select f.id, connector_event(f.kind, f.document_id) as event, f.document_id, f.firm_id, f.occurred_at,
      f.feed_position * 2 + f.part as place, s.id as subscription_id, s.endpoint_id, s.events, b.customer_ref
    from (
      select id, kind, document_id, firm_id, occurred_at, transaction_id, feed_position, part from page
      union all
      select id, kind, document_id, firm_id, occurred_at, transaction_id, feed_position, part from ahead
    ) as f
    join firm_binding as b on b.firm_id = f.firm_id and b.customer_ref is not null
    join webhook_subscription as s on s.integrator_id = b.integrator_id and s.firm_id is null and s.deleted_at is null
      and s.active and not pg_visible_in_snapshot(f.transaction_id, s.seen_from)
      and connector_is_told(s.integrator_id, f.firm_id)
  ), added as (
    insert into webhook_delivery (
      id, subscription_id, endpoint_id, owner_id, firm_id, customer_ref, event_id, event, place, document_id, occurred_at,
      status, due_at, created_at
    )
    select new_row_id(), t.subscription_id, t.endpoint_id, t.subscription_id, t.firm_id, t.customer_ref, t.id, t.event,
      t.place, t.document_id, t.occurred_at, 'PENDING',
      case
        when row_number() over (partition by t.subscription_id, t.document_id order by t.place) > 1 then 'infinity'
        when exists (
          select 1 from webhook_delivery as h
          where h.document_id = t.document_id and h.subscription_id = t.subscription_id and h.due_at is not null
            and h.replay_of is null
        ) then 'infinity'
        else now()
      end,
      clock_timestamp()
    from told as t
    where t.event = any (t.events)
    order by t.place
    on conflict do nothing
    returning 1
  )
  select count(*) into v_queued from added;

  update feed_consumer set transaction_id = v_to.transaction_id, position = v_to.feed_position where name = 'connector';
  return query select v_to.events, v_queued;
end
$$;

-- Makes the webhook of an integrator's account, or puts other words in the place of the old ones; the secret of one that
-- is there stays. Answers whether it was made. One that is switched on is told of what happens from now on.
create function put_connector_webhook(
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
    update webhook_delivery as d set endpoint_id = s.endpoint_id, lease_owner = null,
      due_at = case when d.lease_owner is null then d.due_at else clock_timestamp() end
    from webhook_subscription as s
    where s.id = v_before.id and d.subscription_id = s.id and d.settled_at is null;
  end if;
  if not p_active then perform end_webhook_deliveries(v_before.id, 'subscription_inactive'); end if;
  perform append_audit(p_audit, 'webhook.changed', null, p_integrator, 'webhook', v_before.id::text,
    jsonb_build_object('origin', p_origin, 'events', p_events, 'active', p_active, 'interface', 'connector'));
  return false;
end $$;

-- Ends the webhook of an account. Nothing is sent or shown of it any more.
create function delete_connector_webhook(p_integrator uuid, p_now timestamptz, p_audit jsonb)
returns boolean language plpgsql as $$
declare
  v_id uuid;
begin
  select id into v_id from webhook_subscription
    where integrator_id = p_integrator and firm_id is null and deleted_at is null for update;
  if not found then return false; end if;
  update webhook_subscription set deleted_at = p_now, active = false where id = v_id;
  perform end_webhook_deliveries(v_id, 'subscription_deleted');
  perform append_audit(p_audit, 'webhook.deleted', null, p_integrator, 'webhook', v_id::text,
    jsonb_build_object('interface', 'connector'));
  return true;
end $$;

-- Gives the webhook of an account a new secret; the old one signs beside it until p_old_until.
create function rotate_connector_secret(
  p_id uuid, p_integrator uuid, p_secret_key_id text, p_secret_sealed bytea, p_old_until timestamptz, p_now timestamptz,
  p_audit jsonb
) returns boolean language plpgsql as $$
begin
  update webhook_subscription set old_secret_key_id = secret_key_id, old_secret_sealed = secret_sealed,
      old_secret_until = p_old_until, secret_key_id = p_secret_key_id, secret_sealed = p_secret_sealed, updated_at = p_now
    where id = p_id and integrator_id = p_integrator and firm_id is null and deleted_at is null;
  if not found then return false; end if;
  perform append_audit(p_audit, 'webhook.secret_rotated', null, p_integrator, 'webhook', p_id::text,
    jsonb_build_object('interface', 'connector'));
  return true;
end $$;
