-- Onboarding of firms that only send: an integrator's request, what vouches for it, and the firm that comes of it.

-- A firm that only sends has no mailbox here: nothing is received for it and nothing is shown.
alter table firm add column sends_only boolean not null default false;

-- Whether the operator has signed a billing account with the integrator, from which a managed service is paid.
alter table integrator add column managed_billing boolean not null default false;

-- body_sha256: of what was asked, to tell a repeat from another request under the same key. vouched_at: when the tax authority
-- or an operator vouched for the firm; activation is due from then on.
create table onboarding_request (
  id                uuid primary key,
  integrator_id     uuid not null references integrator (id),
  idempotency_key   text not null check (char_length(idempotency_key) between 8 and 128),
  body_sha256       bytea not null check (octet_length(body_sha256) = 32),
  service_mode      text not null check (service_mode = 'send_only'),
  customer_ref      text not null check (char_length(customer_ref) between 1 and 128),
  dic               text not null check (dic ~ '^[0-9]{10}$'),
  contact_email     text not null check (char_length(contact_email) <= 255),
  relationship_mode text not null check (relationship_mode in ('technical_delegation', 'managed_service')),
  status            text not null check (status in ('awaiting_pfs', 'action_required', 'activating', 'active', 'blocked', 'revoked')),
  firm_id           uuid references firm (id),
  next_action       text check (char_length(next_action) <= 500),
  legal_name        text check (char_length(legal_name) between 1 and 255),
  vouched_at        timestamptz,
  version           integer not null default 1,
  created_at        timestamptz not null,
  updated_at        timestamptz not null,
  unique (integrator_id, idempotency_key),
  check (status <> 'active' or firm_id is not null)
);
-- One open request for a company and one for a name; what was blocked or revoked may be asked for again.
create unique index onboarding_open_ref on onboarding_request (integrator_id, customer_ref) where status not in ('blocked', 'revoked');
create unique index onboarding_open_dic on onboarding_request (integrator_id, dic) where status not in ('blocked', 'revoked');
create index onboarding_dic on onboarding_request (dic) where status in ('awaiting_pfs', 'activating');
create index onboarding_due on onboarding_request (vouched_at) where status = 'activating' and vouched_at is not null;
create index onboarding_binding on onboarding_request (integrator_id, firm_id) where firm_id is not null;
create index onboarding_newest on onboarding_request (created_at desc);

create table onboarding_history (
  request_id  uuid not null references onboarding_request (id),
  version     integer not null,
  status      text not null,
  trigger     text not null,
  detail      text check (char_length(detail) <= 500),
  occurred_at timestamptz not null,
  primary key (request_id, version)
);

-- Confirmations of the tax authority, each once: its token is kept as a digest, so that a replay changes nothing. request_id:
-- the request that it vouched for; null while it fits none, or more than one.
create table pfs_confirmation (
  token_sha256 bytea primary key check (octet_length(token_sha256) = 32),
  dic          text not null check (dic ~ '^[0-9]{10}$'),
  legal_name   text check (char_length(legal_name) between 1 and 255),
  received_at  timestamptz not null,
  request_id   uuid references onboarding_request (id)
);
create index pfs_confirmation_dic on pfs_confirmation (dic, received_at);

-- Whether an integrator is bound to a firm in a way that covers sending and reading what became of it.
create function covers_sending(p_binding firm_binding) returns boolean language sql immutable as $$
  select p_binding.state = 'active' and p_binding.scopes @> array['documents:send', 'documents:read']
$$;

-- Writes a request. Answers what became of it: 'created', 'replay' with the id of the first, 'key_conflict', 'ref_conflict',
-- 'not_authorized' or 'no_billing'. It is active at once where the firm is bound to the integrator in the same way already.
create function create_onboarding_request(p_request jsonb, p_body_sha256 bytea, p_production boolean, p_next_action text)
returns table (outcome text, id uuid) language plpgsql as $$
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
  if p_production and not v_integrator.production_authorized then return query select 'not_authorized', null::uuid; return; end if;
  if v_request.relationship_mode = 'managed_service' and not v_integrator.managed_billing then
    return query select 'no_billing', null::uuid; return;
  end if;
  perform 1 from onboarding_request r where r.integrator_id = v_request.integrator_id and r.status not in ('blocked', 'revoked')
    and (r.customer_ref = v_request.customer_ref or r.dic = v_request.dic);
  if found then return query select 'ref_conflict', null::uuid; return; end if;
  perform 1 from firm_binding b join firm f on f.id = b.firm_id
    where b.integrator_id = v_request.integrator_id and (b.customer_ref = v_request.customer_ref) <> (f.dic = v_request.dic)
      and b.state <> 'revoked' and b.customer_ref is not null;
  if found then return query select 'ref_conflict', null::uuid; return; end if;
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
end $$;

-- Moves a request that still is at the version that was read. p_confirmation: the tax authority's word that moved it, which
-- then vouches for no other.
create function move_onboarding(
  p_id uuid, p_version integer, p_status text, p_trigger text, p_detail text, p_next_action text, p_vouched boolean,
  p_legal_name text, p_confirmation bytea, p_now timestamptz
) returns boolean language sql volatile as $$
  with moved as (
    update onboarding_request set status = p_status, next_action = p_next_action, version = version + 1,
      vouched_at = case when p_vouched then coalesce(vouched_at, p_now) else vouched_at end,
      legal_name = coalesce(p_legal_name, legal_name), updated_at = greatest(updated_at, p_now)
    where id = p_id and version = p_version
    returning id, version, updated_at
  ), history as (
    insert into onboarding_history (request_id, version, status, trigger, detail, occurred_at)
    select id, version, p_status, p_trigger, p_detail, updated_at from moved
  ), used as (
    update pfs_confirmation set request_id = p_id where token_sha256 = p_confirmation and exists (select 1 from moved)
  )
  select exists (select 1 from moved)
$$;

-- Notes a confirmation, once, and answers the request that it vouches for: the one that waits for this company's. Where
-- several integrators wait, an operator must say which of them the company meant.
create function note_pfs_confirmation(p_token bytea, p_dic text, p_legal_name text, p_now timestamptz)
returns table (request_id uuid) language plpgsql as $$
begin
  insert into pfs_confirmation (token_sha256, dic, legal_name, received_at) values (p_token, p_dic, p_legal_name, p_now)
    on conflict (token_sha256) do nothing;
  perform 1 from pfs_confirmation c where c.token_sha256 = p_token and c.dic = p_dic and c.request_id is null;
  if not found then return; end if;
  return query
    select min(r.id::text)::uuid from onboarding_request r
    where r.dic = p_dic and r.vouched_at is null and r.status in ('awaiting_pfs', 'activating') having count(*) = 1;
end $$;

-- Makes the firm of a request, its participant and the integrator's binding, and the request active. Answers 'activated',
-- 'changed' when the request is not what the caller read, 'firm_elsewhere' where the company has a mailbox here and has not
-- agreed to this integrator, or 'ref_taken' where the integrator calls another firm so.
create function activate_onboarding(
  p_id uuid, p_version integer, p_firm uuid, p_participant_key text, p_sandbox boolean, p_now timestamptz
) returns text language plpgsql as $$
declare
  v_request onboarding_request;
  v_firm firm;
  v_binding firm_binding;
begin
  perform 1 from integrator i join onboarding_request r on r.integrator_id = i.id where r.id = p_id for update of i;
  select * into v_request from onboarding_request where id = p_id for update;
  if not found or v_request.version <> p_version or v_request.status <> 'activating' then return 'changed'; end if;
  -- Two requests for one new company make one firm.
  perform pg_advisory_xact_lock(hashtextextended('firm:' || v_request.dic, 0));
  select f.* into v_firm from firm f where f.dic = v_request.dic
    or f.id = (select firm_id from participant where key = p_participant_key) order by f.created_at limit 1;
  if found then
    select * into v_binding from firm_binding where integrator_id = v_request.integrator_id and firm_id = v_firm.id;
    if not v_firm.sends_only and (v_binding is null or not covers_sending(v_binding)) then return 'firm_elsewhere'; end if;
  else
    insert into firm (id, name, dic, peppol_status, sandbox, sends_only, created_at)
      values (p_firm, coalesce(v_request.legal_name, 'DIČ ' || v_request.dic), v_request.dic, 'not_registered', p_sandbox, true, p_now)
      returning * into v_firm;
    insert into participant (key, id, firm_id, registered_at) values (p_participant_key, p_participant_key, v_firm.id, p_now);
  end if;
  perform 1 from firm_binding where integrator_id = v_request.integrator_id and customer_ref = v_request.customer_ref and firm_id <> v_firm.id;
  if found then return 'ref_taken'; end if;
  if v_firm.sends_only then
    insert into firm_binding as b (integrator_id, firm_id, customer_ref, state, scopes, interfaces, created_at, updated_at)
      values (v_request.integrator_id, v_firm.id, v_request.customer_ref, 'active', array['documents:send', 'documents:read'],
        array['enterprise', 'sapi', 'connector'], p_now, p_now)
      on conflict (integrator_id, firm_id) do update set state = 'active', scopes = excluded.scopes,
        interfaces = excluded.interfaces, customer_ref = excluded.customer_ref, updated_at = excluded.updated_at;
  end if;
  update onboarding_request set status = 'active', firm_id = v_firm.id, next_action = null, version = version + 1,
    updated_at = greatest(updated_at, p_now) where id = p_id;
  insert into onboarding_history (request_id, version, status, trigger, occurred_at) values (p_id, p_version + 1, 'active', 'activated', p_now);
  return 'activated';
end $$;

-- A request ends with the consent that it made.
create function end_onboarding_of_binding() returns trigger language plpgsql as $$
begin
  with ended as (
    update onboarding_request set status = 'revoked', next_action = null, version = version + 1, updated_at = greatest(updated_at, new.updated_at)
      where integrator_id = new.integrator_id and firm_id = new.firm_id and status <> 'revoked'
      returning id, version
  )
  insert into onboarding_history (request_id, version, status, trigger, occurred_at)
    select id, version, 'revoked', 'revoked', new.updated_at from ended;
  return null;
end $$;
create trigger firm_binding_ended after update of state on firm_binding
  for each row when (new.state = 'revoked' and old.state <> 'revoked') execute function end_onboarding_of_binding();
