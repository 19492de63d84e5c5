-- What an integrator does about deliveries of the Connector's webhook: tests its receiver and sends an event again.

alter table webhook_delivery add column scenario text
  check (scenario in ('success', 'deduplication', 'retry_503', 'rate_limit_429', 'terminal_422', 'timeout', 'signature'));
create index webhook_delivery_test_run on webhook_delivery (test_run_id) where scenario is not null;

-- Requests about a webhook that name a key: the same request under it answers what was made by the first. A row is kept as
-- long as a delivery that succeeded.
create table connector_request (
  subscription_id uuid not null references webhook_subscription (id) on delete cascade,
  idempotency_key text not null check (char_length(idempotency_key) between 1 and 255),
  request_sha256 text not null,
  made uuid not null,
  created_at timestamptz not null,
  primary key (subscription_id, idempotency_key)
);
create index connector_request_age on connector_request (created_at);

-- Finds what a key made before, or keeps it for p_made. Answers 'conflict' for a key of another request, 'repeat' with what
-- was made, 'new' when the caller goes on.
create function keep_connector_request(p_subscription uuid, p_key text, p_sha256 text, p_made uuid)
returns table (outcome text, made uuid) language plpgsql volatile as $$
#variable_conflict use_column
begin
  insert into connector_request (subscription_id, idempotency_key, request_sha256, made, created_at)
  values (p_subscription, p_key, p_sha256, p_made, clock_timestamp())
  on conflict do nothing;
  if found then
    return query select 'new', p_made;
    return;
  end if;
  return query
  select case when r.request_sha256 = p_sha256 then 'repeat' else 'conflict' end, r.made
  from connector_request as r where r.subscription_id = p_subscription and r.idempotency_key = p_key;
end
$$;

-- Makes test deliveries, one for each scenario, of an event that never happened. p_made: their run. Answers 'inactive'
-- where there is no webhook that is switched on, else as keep_connector_request does.
create function test_connector(
  p_integrator uuid, p_firm uuid, p_customer_ref text, p_event text, p_data jsonb, p_id uuid[], p_event_id uuid[],
  p_document_id uuid[], p_scenario text[], p_made uuid, p_key text, p_sha256 text
) returns table (outcome text, made uuid) language plpgsql volatile as $$
#variable_conflict use_column
declare
  v_subscription webhook_subscription;
  v_kept record;
begin
  select * into v_subscription from webhook_subscription
    where integrator_id = p_integrator and firm_id is null and deleted_at is null for key share;
  if v_subscription.active is not true then
    return query select 'inactive', null::uuid;
    return;
  end if;
  if p_key is not null then
    select * into v_kept from keep_connector_request(v_subscription.id, p_key, p_sha256, p_made);
    if v_kept.outcome <> 'new' then
      return query select v_kept.outcome, v_kept.made;
      return;
    end if;
  end if;
  insert into webhook_delivery (
    id, subscription_id, endpoint_id, owner_id, firm_id, customer_ref, event_id, event, place, document_id, occurred_at,
    test_run_id, test_data, scenario, status, due_at, created_at
  )
  select t.id, v_subscription.id, v_subscription.endpoint_id, v_subscription.id, p_firm, p_customer_ref, t.event_id, p_event,
    nextval(pg_get_serial_sequence('document_event', 'position')) * 2, t.document_id, clock_timestamp(), p_made, p_data,
    t.scenario, 'PENDING', clock_timestamp(), clock_timestamp()
  from unnest(p_id, p_event_id, p_document_id, p_scenario) as t (id, event_id, document_id, scenario);
  return query select 'new', p_made;
end
$$;

-- Sends the event of a delivery again, as a new delivery with the same event id. Only when the last one of the event has
-- ended, and when one was taken only where p_confirmed says that it may come twice. Answers 'unknown', 'inactive',
-- 'pending', 'unconfirmed', or as keep_connector_request does.
create function replay_connector(
  p_delivery uuid, p_integrator uuid, p_confirmed boolean, p_made uuid, p_key text, p_sha256 text
) returns table (outcome text, made uuid, event_id uuid) language plpgsql volatile as $$
#variable_conflict use_column
declare
  v_subscription webhook_subscription;
  v_asked webhook_delivery;
  v_last webhook_delivery;
  v_kept record;
  v_refusal text;
begin
  select s.* into v_subscription from webhook_subscription as s
    where s.integrator_id = p_integrator and s.firm_id is null and s.deleted_at is null for key share;
  select d.* into v_asked from webhook_delivery as d where d.id = p_delivery and d.subscription_id = v_subscription.id;
  if not found then
    return query select 'unknown', null::uuid, null::uuid;
    return;
  end if;
  -- Two replays of one event take turns.
  perform 1 from webhook_delivery as d
    where d.subscription_id = v_subscription.id and d.event_id = v_asked.event_id order by d.id for update;
  select r.* into v_kept from connector_request as r
    where r.subscription_id = v_subscription.id and r.idempotency_key = p_key;
  if not found then
    select d.* into v_last from webhook_delivery as d
      where d.subscription_id = v_subscription.id and d.event_id = v_asked.event_id order by d.position desc limit 1;
    v_refusal := case
      when not v_subscription.active then 'inactive'
      when v_last.settled_at is null then 'pending'
      when not p_confirmed and exists (
        select 1 from webhook_delivery as d
        where d.subscription_id = v_subscription.id and d.event_id = v_asked.event_id and d.status = 'SUCCESS'
      ) then 'unconfirmed'
    end;
    if v_refusal is not null then
      return query select v_refusal, null::uuid, v_asked.event_id;
      return;
    end if;
  end if;
  select * into v_kept from keep_connector_request(v_subscription.id, p_key, p_sha256, p_made);
  if v_kept.outcome = 'new' then
    insert into webhook_delivery (
      id, subscription_id, endpoint_id, owner_id, firm_id, customer_ref, event_id, event, place, document_id, occurred_at,
      test_data, replay_of, status, due_at, created_at
    ) values (
      p_made, v_last.subscription_id, v_subscription.endpoint_id, v_last.owner_id, v_last.firm_id, v_last.customer_ref,
      v_last.event_id, v_last.event, v_last.place, v_last.document_id, v_last.occurred_at, v_last.test_data, v_last.id,
      'PENDING', clock_timestamp(), clock_timestamp()
    );
  end if;
  return query select v_kept.outcome, v_kept.made, v_asked.event_id;
end
$$;
