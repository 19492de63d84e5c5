-- White Label: participants that an integrator registers, takes over and lets go, without accounts of their firms.

-- An operation is written before the registry hears of it. asked_at: the registry was asked; an operation that is left
-- behind with it by a process that died is never asked again, it is reviewed. The secret (a verification token, or a
-- migration code that was given to us) is sealed and goes with the answer; the code of a migration out stays, sealed,
-- for a repeat. body_sealed: the digest of the body, sealed because a token in it could be guessed.
create table white_label_operation (
  id uuid primary key,
  integrator_id uuid not null references integrator (id),
  operation_type text not null check (operation_type in ('registration', 'migration_in', 'migration_out')),
  status text not null check (status in ('processing', 'smp_succeeded', 'succeeded', 'rejected', 'manual_review', 'released')),
  version integer not null check (version >= 1),
  idempotency_key text check (char_length(idempotency_key) between 1 and 255),
  customer_ref text not null check (char_length(customer_ref) between 1 and 128),
  dic text not null check (dic ~ '^[0-9]{10}$'),
  participant_key text not null check (participant_key = lower(participant_key)),
  company_email text not null check (char_length(company_email) between 3 and 254),
  legal_name text check (char_length(legal_name) between 1 and 255),
  secret_key_id text,
  secret_sealed bytea,
  body_key_id text,
  body_sealed bytea,
  firm_id uuid references firm (id),
  participant_id uuid,
  error_code text,
  due_at timestamptz,
  claimed_until timestamptz,
  asked_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  completed_at timestamptz,
  check ((status in ('processing', 'smp_succeeded')) = (due_at is not null)),
  check ((status in ('succeeded', 'rejected', 'released')) = (completed_at is not null)),
  check ((secret_key_id is null) = (secret_sealed is null)),
  check ((body_key_id is null) = (body_sealed is null))
);
create unique index white_label_operation_key on white_label_operation (integrator_id, idempotency_key) where idempotency_key is not null;
-- One question to the registry about one participant at a time, whoever asks; a review blocks every other.
create unique index white_label_operation_open on white_label_operation (participant_key)
  where status in ('processing', 'smp_succeeded', 'manual_review');
create unique index white_label_operation_ref on white_label_operation (integrator_id, customer_ref)
  where status in ('processing', 'smp_succeeded', 'manual_review') and operation_type <> 'migration_out';
create index white_label_operation_due on white_label_operation (due_at) where due_at is not null;
create index white_label_operation_review on white_label_operation (updated_at desc) where status = 'manual_review';

create table white_label_participant (
  id uuid primary key,
  integrator_id uuid not null references integrator (id),
  operation_id uuid not null references white_label_operation (id),
  customer_ref text not null,
  firm_id uuid not null references firm (id),
  participant_key text not null unique references participant (key),
  status text not null check (status in ('active', 'leaving')),
  authorization_source text not null check (authorization_source in ('fs_verification_token', 'smp_migration_code')),
  managed_since timestamptz not null
);
create index white_label_participant_list on white_label_participant (integrator_id, id);

create table white_label_customer (
  id uuid primary key,
  integrator_id uuid not null references integrator (id),
  idempotency_key text not null check (char_length(idempotency_key) between 1 and 255),
  body_sha256 bytea not null check (octet_length(body_sha256) = 32),
  customer_ref text not null check (char_length(customer_ref) between 1 and 128),
  relationship text not null check (relationship = 'represented'),
  customer_authorization text not null check (char_length(customer_authorization) between 1 and 4000),
  dic text not null check (dic ~ '^[0-9]{10}$'),
  company_email text not null check (char_length(company_email) between 3 and 254),
  legal_name text check (char_length(legal_name) between 1 and 255),
  created_at timestamptz not null,
  unique (integrator_id, idempotency_key),
  unique (integrator_id, customer_ref),
  unique (integrator_id, dic)
);
create index white_label_customer_list on white_label_customer (integrator_id, id);

-- Writes an operation, or says why there is none: 'created'; 'repeat' of the same key, whose body the caller compares;
-- 'identity_taken' where the participant is one of ours already; 'under_way' where another operation on it is open;
-- 'ref_conflict'; 'not_authorized'. Whoever asks about one participant takes turns.
create function create_white_label_operation(p_operation jsonb, p_secret bytea, p_body bytea, p_production boolean, p_audit jsonb)
returns table (outcome text, id uuid) language plpgsql as $$
#variable_conflict use_column
declare
  v_new white_label_operation;
  v_other white_label_operation;
  v_authorized boolean;
begin
  select * into v_new from jsonb_populate_record(null::white_label_operation, p_operation);
  select i.production_authorized into v_authorized from integrator i where i.id = v_new.integrator_id for update;
  select o.* into v_other from white_label_operation o
    where o.integrator_id = v_new.integrator_id and o.idempotency_key = v_new.idempotency_key;
  if found then return query select 'repeat', v_other.id; return; end if;
  if p_production and not v_authorized then return query select 'not_authorized', null::uuid; return; end if;
  perform pg_advisory_xact_lock(hashtextextended('white label:' || v_new.participant_key, 0));
  perform 1 from participant p where p.key = v_new.participant_key;
  if found then return query select 'identity_taken', null::uuid; return; end if;
  select o.* into v_other from white_label_operation o
    where o.participant_key = v_new.participant_key and o.status in ('processing', 'smp_succeeded', 'manual_review');
  if found then return query select 'under_way', null::uuid; return; end if;
  perform 1 from firm_binding b where b.integrator_id = v_new.integrator_id and b.customer_ref = v_new.customer_ref;
  if not found then
    perform 1 from white_label_operation o where o.integrator_id = v_new.integrator_id
      and o.customer_ref = v_new.customer_ref and o.status in ('processing', 'smp_succeeded', 'manual_review');
  end if;
  if found then return query select 'ref_conflict', null::uuid; return; end if;
  v_new.secret_sealed := p_secret;
  v_new.body_sealed := p_body;
  insert into white_label_operation select v_new.*;
  perform append_audit(p_audit, 'white_label.requested', null, v_new.integrator_id, 'white_label_operation', v_new.id::text,
    jsonb_build_object('operationType', v_new.operation_type, 'dic', v_new.dic));
  return query select 'created', v_new.id;
end
$$;

-- Writes that a participant is to leave, once while it does: 'created', 'repeat' with the operation that there is,
-- 'under_review' where nobody knows what an earlier one did, 'unknown' for a participant that is not the integrator's.
create function create_white_label_leave(p_operation uuid, p_integrator uuid, p_participant uuid, p_now timestamptz, p_audit jsonb)
returns table (outcome text, id uuid) language plpgsql as $$
#variable_conflict use_column
declare
  v_participant white_label_participant;
  v_open white_label_operation;
  v_first white_label_operation;
begin
  select * into v_participant from white_label_participant w
    where w.id = p_participant and w.integrator_id = p_integrator for update;
  if not found then return query select 'unknown', null::uuid; return; end if;
  select * into v_open from white_label_operation o
    where o.participant_id = p_participant and o.operation_type = 'migration_out'
      and o.status in ('processing', 'smp_succeeded', 'manual_review', 'succeeded')
    order by o.created_at desc limit 1;
  if found then
    return query select case v_open.status when 'manual_review' then 'under_review' else 'repeat' end, v_open.id;
    return;
  end if;
  select * into v_first from white_label_operation o where o.id = v_participant.operation_id;
  insert into white_label_operation (
    id, integrator_id, operation_type, status, version, customer_ref, dic, participant_key, company_email, legal_name,
    firm_id, participant_id, due_at, created_at, updated_at
  ) values (
    p_operation, p_integrator, 'migration_out', 'processing', 1, v_participant.customer_ref, v_first.dic,
    v_participant.participant_key, v_first.company_email, v_first.legal_name, v_participant.firm_id, p_participant,
    p_now, p_now, p_now
  );
  perform append_audit(p_audit, 'white_label.requested', v_participant.firm_id, p_integrator, 'white_label_operation',
    p_operation::text, jsonb_build_object('operationType', 'migration_out', 'dic', v_first.dic));
  return query select 'created', p_operation;
end
$$;

-- Takes due operations for one process. What another left behind after it had asked the registry is reviewed instead.
create function claim_white_label(p_limit integer, p_lease_ms integer, p_now timestamptz) returns setof white_label_operation
language plpgsql as $$
begin
  update white_label_operation set status = 'manual_review', error_code = 'INTERRUPTED', due_at = null, claimed_until = null,
    version = version + 1, updated_at = p_now
  where id in (
    select id from white_label_operation
    where status = 'processing' and asked_at is not null and claimed_until < clock_timestamp() for update skip locked
  );
  return query
    update white_label_operation as o
    set claimed_until = clock_timestamp() + p_lease_ms * interval '1 millisecond',
      asked_at = case when o.status = 'processing' then coalesce(o.asked_at, p_now) else o.asked_at end,
      version = o.version + 1
    where o.id in (
      select d.id from white_label_operation as d
      where d.due_at is not null and d.due_at <= p_now and (d.claimed_until is null or d.claimed_until < clock_timestamp())
        and (d.status = 'smp_succeeded' or d.asked_at is null)
      order by d.due_at limit p_limit for update skip locked
    )
    returning o.*;
end
$$;

-- Writes what came of asking the registry. p_due_at: when to ask again, where it was certainly not done. The secret goes
-- with every end but that of a migration out, whose code is the answer.
create function move_white_label(
  p_id uuid, p_version integer, p_status text, p_error_code text, p_due_at timestamptz, p_secret_key_id text,
  p_secret bytea, p_now timestamptz
) returns boolean language sql volatile as $$
  with moved as (
    update white_label_operation set status = p_status, error_code = p_error_code, due_at = p_due_at, claimed_until = null,
      asked_at = case when p_status = 'processing' then null else asked_at end,
      secret_key_id = case when p_status = 'processing' then secret_key_id else p_secret_key_id end,
      secret_sealed = case when p_status = 'processing' then secret_sealed else p_secret end,
      completed_at = case when p_status in ('succeeded', 'rejected', 'released') then p_now end,
      version = version + 1, updated_at = p_now
    where id = p_id and version = p_version returning id
  )
  select exists (select 1 from moved)
$$;

-- Ends an operation that the registry has done: makes the firm, its participant and the integrator's binding, or marks
-- that the participant leaves. Answers 'bound'; 'changed' when the operation is not what the caller read;
-- 'identity_taken' or 'ref_conflict' where somebody else was given the identity or the name meanwhile.
create function bind_white_label(
  p_id uuid, p_version integer, p_firm uuid, p_participant uuid, p_sandbox boolean, p_scopes text[],
  p_document_types text[], p_processes text[], p_now timestamptz, p_audit jsonb
) returns text language plpgsql as $$
declare
  v_operation white_label_operation;
begin
  perform 1 from integrator i join white_label_operation o on o.integrator_id = i.id where o.id = p_id for update of i;
  select * into v_operation from white_label_operation where id = p_id for update;
  if not found or v_operation.version <> p_version or v_operation.status <> 'smp_succeeded' then return 'changed'; end if;
  if v_operation.operation_type = 'migration_out' then
    update white_label_participant set status = 'leaving' where id = v_operation.participant_id;
    update white_label_operation set status = 'succeeded', due_at = null, claimed_until = null, completed_at = p_now,
      version = version + 1, updated_at = p_now where id = p_id;
    perform append_audit(p_audit, 'white_label.ended', v_operation.firm_id, v_operation.integrator_id,
      'white_label_operation', p_id::text, '{}');
    return 'bound';
  end if;
  perform pg_advisory_xact_lock(hashtextextended('white label:' || v_operation.participant_key, 0));
  perform 1 from participant where key = v_operation.participant_key;
  if found then return 'identity_taken'; end if;
  perform 1 from firm_binding where integrator_id = v_operation.integrator_id and customer_ref = v_operation.customer_ref;
  if found then return 'ref_conflict'; end if;
  insert into firm (id, name, dic, peppol_status, sandbox, created_at)
    values (p_firm, coalesce(v_operation.legal_name, 'DIČ ' || v_operation.dic), v_operation.dic, 'registered', p_sandbox, p_now);
  insert into participant (key, id, firm_id, registered_at)
    values (v_operation.participant_key, v_operation.participant_key, p_firm, p_now);
  insert into participant_capability (participant_key, document_type_id, process_id)
    select v_operation.participant_key, c.type, c.process from unnest(p_document_types, p_processes) as c (type, process);
  insert into firm_binding (integrator_id, firm_id, customer_ref, state, scopes, interfaces, created_at, updated_at)
    values (v_operation.integrator_id, p_firm, v_operation.customer_ref, 'active', p_scopes,
      array['enterprise', 'sapi', 'connector'], p_now, p_now);
  insert into white_label_participant (id, integrator_id, operation_id, customer_ref, firm_id, participant_key, status,
      authorization_source, managed_since)
    values (p_participant, v_operation.integrator_id, p_id, v_operation.customer_ref, p_firm, v_operation.participant_key,
      'active', case v_operation.operation_type when 'registration' then 'fs_verification_token' else 'smp_migration_code' end,
      p_now);
  update white_label_operation set status = 'succeeded', firm_id = p_firm, participant_id = p_participant, due_at = null,
    claimed_until = null, completed_at = p_now, version = version + 1, updated_at = p_now where id = p_id;
  perform append_audit(p_audit, 'white_label.ended', p_firm, v_operation.integrator_id, 'white_label_operation', p_id::text, '{}');
  return 'bound';
end
$$;

-- Writes a customer: 'created'; 'repeat' or 'key_conflict' of the same key; 'ref_conflict' where the name or the company
-- is another customer's.
create function create_white_label_customer(p_customer jsonb, p_body_sha256 bytea)
returns table (outcome text, id uuid) language plpgsql as $$
#variable_conflict use_column
declare
  v_new white_label_customer;
  v_other white_label_customer;
begin
  select * into v_new from jsonb_populate_record(null::white_label_customer, p_customer);
  perform 1 from integrator i where i.id = v_new.integrator_id for update;
  select c.* into v_other from white_label_customer c
    where c.integrator_id = v_new.integrator_id and c.idempotency_key = v_new.idempotency_key;
  if found then
    return query select case when v_other.body_sha256 = p_body_sha256 then 'repeat' else 'key_conflict' end, v_other.id;
    return;
  end if;
  perform 1 from white_label_customer c where c.integrator_id = v_new.integrator_id
    and (c.customer_ref = v_new.customer_ref or c.dic = v_new.dic);
  if found then return query select 'ref_conflict', null::uuid; return; end if;
  v_new.body_sha256 := p_body_sha256;
  insert into white_label_customer select v_new.*;
  return query select 'created', v_new.id;
end
$$;
