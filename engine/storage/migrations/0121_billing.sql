-- What is paid for: documents that were delivered, and received documents that an API showed; and by which plan.

-- When an API first showed a received document is a fact of its own; with it the row joins the meter's feed,
-- in the order in which transactions commit.
alter table received_document add column if not exists api_received_at timestamptz;
alter table received_document add column api_transaction_id xid8;
create index received_document_api on received_document (api_transaction_id, position) where api_transaction_id is not null;
create function received_by_api() returns trigger
language plpgsql as $$
begin
  new.api_transaction_id := pg_current_xact_id();
  return new;
end
$$;
create trigger received_by_api before update of api_received_at on received_document
  for each row when (old.api_received_at is null and new.api_received_at is not null) execute function received_by_api();

-- One row for each document that counts: the proof of a bill, and why an event that is read twice counts once. A row
-- goes when its month is older than the bill can be disputed.
create table metered_event (
  event_id uuid primary key,
  firm_id uuid not null references firm (id),
  direction text not null check (direction in ('outbound', 'inbound')),
  month date not null check (extract(day from month) = 1)
);
create index metered_event_month on metered_event (month, firm_id);

-- The sums of the above by firm and month of Europe/Bratislava: twelve small rows a year, which stay with their firm.
create table usage_month (
  firm_id uuid not null references firm (id),
  month date not null check (extract(day from month) = 1),
  outbound integer not null check (outbound >= 0),
  inbound integer not null check (inbound >= 0),
  primary key (firm_id, month)
);

-- Who has no row has the plan Standard.
create table firm_plan (
  firm_id uuid primary key references firm (id),
  code text not null check (code in ('standard', 'start', 'business')),
  expires_at timestamptz,
  updated_at timestamptz not null
);

insert into feed_consumer (name, transaction_id, position) values ('meter', '0', 0), ('meter receipts', '0', 0);

create function billing_month(p_at timestamptz) returns date language sql stable parallel safe as $$
  select date_trunc('month', p_at at time zone 'Europe/Bratislava')::date
$$;

-- Counts what the feed tells from where the meter stands, and moves it on, all or nothing. Answers how many rows were
-- read; none also while another node is at it.
create function meter_events(p_limit integer, p_kept_since date) returns integer
language plpgsql as $$
declare
  v_sent feed_consumer;
  v_received feed_consumer;
  v_read integer;
begin
  select * into v_sent from feed_consumer where name = 'meter' for update skip locked;
  if not found then return 0; end if;
  select * into v_received from feed_consumer where name = 'meter receipts' for update;

  with told as materialized (
    select f.transaction_id, f.feed_position, f.id, f.kind, f.firm_id, f.occurred_at
    from read_feed(v_sent.transaction_id, v_sent.position, p_limit) as f
  ), shown as materialized (
    select r.api_transaction_id, r.position, r.id, r.firm_id, r.api_received_at
    from received_document as r
    where r.api_transaction_id is not null
      and (r.api_transaction_id, r.position) > (v_received.transaction_id, v_received.position)
      and r.api_transaction_id < pg_snapshot_xmin(pg_current_snapshot())
    order by r.api_transaction_id, r.position limit p_limit
  ), due as (
    select id, firm_id, 'outbound' as direction, billing_month(occurred_at) as month from told
    where kind = 'document.delivered'
    union all
    select id, firm_id, 'inbound', billing_month(api_received_at) from shown
  ), counted as (
    insert into metered_event (event_id, firm_id, direction, month)
    select id, firm_id, direction, month from due where month >= p_kept_since
    on conflict (event_id) do nothing
    returning firm_id, direction, month
  ), summed as (
    insert into usage_month as u (firm_id, month, outbound, inbound)
    select firm_id, month, count(*) filter (where direction = 'outbound'), count(*) filter (where direction = 'inbound')
    from counted group by firm_id, month order by firm_id, month
    on conflict (firm_id, month) do update
      set outbound = u.outbound + excluded.outbound, inbound = u.inbound + excluded.inbound
  ), moved as (
    update feed_consumer as c set transaction_id = last.transaction_id, position = last.position
    from (
      (select 'meter' as name, transaction_id, feed_position as position from told order by 2 desc, 3 desc limit 1)
      union all
      (select 'meter receipts', api_transaction_id, position from shown order by 2 desc, 3 desc limit 1)
    ) as last
    where c.name = last.name
  )
  select (select count(*) from told) + (select count(*) from shown) into v_read;
  return v_read;
end
$$;

-- Counts a firm's months anew from the events themselves, as far as the meter has come, while nothing is metered.
create function recount_usage(p_firm uuid, p_kept_since date) returns void
language plpgsql as $$
declare
  v_sent feed_consumer;
  v_received feed_consumer;
begin
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

-- Whether an integrator pays for a firm: as the newest agreement between the two has it.
create function firm_is_managed(p_integrator uuid, p_firm uuid) returns boolean language sql stable as $$
  select coalesce((
    select a.mode = 'managed_service' from (
      select relationship_mode as mode, decided_at as at from consent_offer
      where integrator_id = p_integrator and firm_id = p_firm and status = 'accepted'
      union all
      select relationship_mode, updated_at from onboarding_request
      where integrator_id = p_integrator and firm_id = p_firm and status = 'active'
    ) as a order by a.at desc limit 1
  ), false)
$$;

-- Gives a firm a plan. Answers whether there is such a firm.
create function put_firm_plan(p_firm uuid, p_code text, p_expires_at timestamptz, p_now timestamptz, p_audit jsonb)
returns boolean language plpgsql as $$
begin
  perform 1 from firm where id = p_firm for share;
  if not found then return false; end if;
  insert into firm_plan (firm_id, code, expires_at, updated_at) values (p_firm, p_code, p_expires_at, p_now)
    on conflict (firm_id) do update set code = excluded.code, expires_at = excluded.expires_at, updated_at = excluded.updated_at;
  perform append_audit(p_audit, 'plan.changed', p_firm, null, 'firm', p_firm::text,
    jsonb_build_object('plan', p_code, 'expiresAt', p_expires_at));
  return true;
end
$$;
