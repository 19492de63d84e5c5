-- Whoever acts on what a firm has holds the firm first, as its erasure does: each of these held a row that an erasure wants
-- and then waited for the firm, so that one of the two ended with a deadlock.

create or replace function rotate_api_key(
  p_id uuid, p_generation integer, p_new_id uuid, p_prefix text, p_secret_sha256 bytea, p_now timestamptz, p_audit jsonb
) returns text language plpgsql as $$
declare
  v_firm uuid := (select firm_id from api_key where id = p_id);
  v_key api_key;
begin
  if v_firm is not null and not lock_living_firm(v_firm) then return 'changed'; end if;
  select * into v_key from api_key where id = p_id for update;
  if not found or not v_key.active or v_key.generation <> p_generation then return 'changed'; end if;
  if v_key.firm_id is null then return 'not_a_firm_key'; end if;
  insert into api_key (id, key_type, firm_id, prefix, secret_sha256, scopes, ip_allowlist, active, name, created_at)
    values (p_new_id, v_key.key_type, v_key.firm_id, p_prefix, p_secret_sha256, v_key.scopes, v_key.ip_allowlist, true, v_key.name, p_now);
  update api_key set active = false, generation = generation + 1, deactivated_at = p_now, successor_id = p_new_id where id = p_id;
  delete from refresh_family where key_id = p_id;
  perform audit_key(p_audit, 'api_key.rotated', v_key, jsonb_build_object('successor', p_new_id));
  return 'rotated';
end $$;

create or replace function revoke_firm_binding(p_integrator uuid, p_firm uuid, p_now timestamptz, p_audit jsonb default null)
returns boolean language plpgsql as $$
declare
  v_generation integer;
  v_keys uuid[];
begin
  perform 1 from integrator where id = p_integrator for update;
  if not lock_living_firm(p_firm) then return false; end if;
  perform 1 from firm_binding where integrator_id = p_integrator and firm_id = p_firm and state <> 'revoked' for update;
  if not found then return false; end if;
  update integrator set binding_generation = binding_generation + 1 where id = p_integrator returning binding_generation into v_generation;
  update firm_binding set state = 'revoked', revoked_generation = v_generation, updated_at = p_now
    where integrator_id = p_integrator and firm_id = p_firm;
  with ended as (
    update api_key set active = false, generation = generation + 1, deactivated_at = p_now
      where integrator_id = p_integrator and scoped_firm_id = p_firm and active returning id
  )
  select coalesce(array_agg(id), '{}') into v_keys from ended;
  delete from refresh_family where key_id = any (v_keys);
  perform append_audit(p_audit, 'consent.revoked', p_firm, p_integrator, 'firm', p_firm::text, jsonb_build_object('keys', v_keys));
  return true;
end $$;

create or replace function activate_onboarding(
  p_id uuid, p_version integer, p_firm uuid, p_participant_key text, p_sandbox boolean, p_now timestamptz, p_firm_audit jsonb,
  p_audit jsonb
) returns text language plpgsql as $$
declare
  v_dic text := (select dic from onboarding_request where id = p_id);
  v_request onboarding_request;
  v_found uuid;
  v_firm firm;
  v_binding firm_binding;
  v_is_new boolean := false;
begin
  perform 1 from integrator i join onboarding_request r on r.integrator_id = i.id where r.id = p_id for update of i;
  -- Two requests for one new company make one firm.
  perform pg_advisory_xact_lock(hashtextextended('firm:' || v_dic, 0));
  select f.id into v_found from firm f where f.dic = v_dic
    or f.id = (select firm_id from participant where key = p_participant_key) order by f.created_at limit 1;
  -- One that is erased meanwhile takes its requests along; what is left of them is decided anew.
  if v_found is not null and not lock_living_firm(v_found) then return 'changed'; end if;
  select * into v_request from onboarding_request where id = p_id for update;
  if not found or v_request.version <> p_version or v_request.status <> 'activating' then return 'changed'; end if;
  select * into v_firm from firm where id = v_found;
  if found then
    select * into v_binding from firm_binding where integrator_id = v_request.integrator_id and firm_id = v_firm.id;
    if not v_firm.sends_only and (v_binding is null or not covers_sending(v_binding)) then return 'firm_elsewhere'; end if;
  else
    insert into firm (id, name, dic, peppol_status, sandbox, sends_only, created_at)
      values (p_firm, coalesce(v_request.legal_name, 'DIČ ' || v_request.dic), v_request.dic, 'not_registered', p_sandbox, true, p_now)
      returning * into v_firm;
    insert into participant (key, id, firm_id, registered_at) values (p_participant_key, p_participant_key, v_firm.id, p_now);
    v_is_new := true;
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
  if v_is_new then
    perform append_audit(p_firm_audit, 'firm.created', v_firm.id, v_request.integrator_id, 'firm', v_firm.id::text, jsonb_build_object('onboarding', p_id));
  end if;
  if v_firm.sends_only then
    perform append_audit(p_audit, 'consent.granted', v_firm.id, v_request.integrator_id, 'firm', v_firm.id::text,
      jsonb_build_object('scopes', array['documents:send', 'documents:read'], 'onboarding', p_id));
  end if;
  return 'activated';
end $$;

create or replace function create_white_label_leave(
  p_operation uuid, p_integrator uuid, p_participant uuid, p_now timestamptz, p_audit jsonb
) returns table (outcome text, id uuid) language plpgsql as $$
#variable_conflict use_column
declare
  v_firm uuid := (select w.firm_id from white_label_participant w where w.id = p_participant and w.integrator_id = p_integrator);
  v_participant white_label_participant;
  v_open white_label_operation;
  v_first white_label_operation;
begin
  if v_firm is null or not lock_living_firm(v_firm) then return query select 'unknown', null::uuid; return; end if;
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
end $$;

create or replace function bind_white_label(
  p_id uuid, p_version integer, p_firm uuid, p_participant uuid, p_sandbox boolean, p_scopes text[], p_document_types text[],
  p_processes text[], p_now timestamptz, p_audit jsonb
) returns text language plpgsql as $$
declare
  v_operation white_label_operation;
begin
  perform 1 from integrator i join white_label_operation o on o.integrator_id = i.id where o.id = p_id for update of i;
  perform lock_living_firm(o.firm_id) from white_label_operation o where o.id = p_id and o.firm_id is not null;
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
end $$;

-- As before, but receivers and what waits for them are held in the order in which whoever writes ends holds them. What is known of a
-- company that was made twice, by its tax id alone, stays with the one that is not forgotten.
create or replace function close_firm(p_firm uuid, p_now timestamptz, p_audit jsonb) returns text language plpgsql as $$
declare
  v_firm firm;
  v_participants text[];
  v_people uuid[];
  v_dic text;
begin
  select * into v_firm from firm where id = p_firm for update;
  if not found then return 'missing'; end if;
  if exists (select 1 from document where firm_id = p_firm and document_is_open(status)) or exists (
    select 1 from box_item where firm_id = p_firm and status in ('ready', 'scheduled', 'sending', 'retrying')
  ) then return 'under_way'; end if;
  select coalesce(array_agg(key), '{}') into v_participants from participant where firm_id = p_firm;
  if exists (select 1 from registration where participant_key = any (v_participants) and state <> 'unregistered') then return 'registered'; end if;

  update api_key set active = false, deactivated_at = coalesce(deactivated_at, p_now), generation = generation + 1, name = null,
    ip_allowlist = '{}' where firm_id = p_firm or scoped_firm_id = p_firm;
  delete from refresh_family where key_id in (select id from api_key where firm_id = p_firm or scoped_firm_id = p_firm);
  delete from consent_offer
    where firm_id = p_firm or (
      firm_id is null and target_identifier = any (array[v_firm.ico, v_firm.dic]) and not exists (
        select 1 from firm as o where o.id <> p_firm and o.erased_at is null and target_identifier in (o.ico, o.dic)
      )
    );
  v_dic := case when not exists (select 1 from firm as o where o.id <> p_firm and o.erased_at is null and o.dic = v_firm.dic) then v_firm.dic end;
  delete from firm_binding where firm_id = p_firm;
  with gone as (delete from membership where firm_id = p_firm returning person_id)
    select coalesce(array_agg(gone.person_id), '{}') into v_people from gone;
  perform forget_people(v_people);
  delete from firm_plan where firm_id = p_firm;
  delete from white_label_participant where firm_id = p_firm or participant_key = any (v_participants);
  delete from white_label_operation where firm_id = p_firm or participant_key = any (v_participants);
  delete from white_label_customer where dic = v_dic;
  delete from registration_operation where participant_key = any (v_participants);
  delete from registration where participant_key = any (v_participants);
  delete from participant_capability where participant_key = any (v_participants);
  delete from participant where key = any (v_participants);
  perform remove_onboarding(array(select id from onboarding_request where firm_id = p_firm or dic = v_dic));
  delete from pfs_confirmation where dic = v_dic;
  perform 1 from webhook_subscription where firm_id = p_firm order by id for no key update;
  update webhook_subscription set active = false, deleted_at = coalesce(deleted_at, p_now) where firm_id = p_firm;
  perform 1 from webhook_delivery where id in (
    select w.id from webhook_subscription as s cross join lateral (
      select d.id from webhook_delivery as d where d.subscription_id = s.id and d.settled_at is null limit 2000
    ) as w where s.firm_id = p_firm
  ) order by id for update;
  perform end_webhook_deliveries(s.id, 'subscription_deleted') from webhook_subscription as s where s.firm_id = p_firm;
  update firm set name = 'erased', ico = null, dic = null, ic_dph = null, address = null, peppol_status = 'not_registered',
    sends_only = true, erased_at = coalesce(erased_at, p_now) where id = p_firm;
  if v_firm.erased_at is null then
    perform append_audit(p_audit, 'firm.erased', p_firm, null, 'firm', p_firm::text, '{}');
  end if;
  return 'closed';
end $$;

-- As before, but a part is of one kind, and held in the order in which whoever writes it holds it: a status before its document,
-- a duty before what was received, and many of a kind by their ids.
create or replace function erase_firm_rows(p_firm uuid, p_limit integer) returns integer language plpgsql as $$
declare
  v_ids uuid[];
  v_gone integer := 0;
  v_some integer;
begin
  if not exists (select 1 from firm where id = p_firm and erased_at is not null) then return 0; end if;
  v_ids := array(select x.id from exchange as x where x.firm_id = p_firm order by x.exchanged_at limit p_limit);
  if cardinality(v_ids) > 0 then
    perform 1 from inbound_status where id = any (v_ids) order by id for update;
    delete from inbound_status where id = any (v_ids);
    perform 1 from exchange where id = any (v_ids) order by id for update;
    update exchange set firm_id = null, end_user = encode(sha256(convert_to(end_user, 'UTF8')), 'hex')
      where id = any (v_ids) and firm_id = p_firm;
    return cardinality(v_ids);
  end if;

  v_ids := array(
    select d.id from document as d where d.firm_id = p_firm and not document_is_open(d.status) order by d.created_at limit p_limit
  );
  perform 1 from inbound_status where document_id = any (v_ids) order by id for update;
  v_ids := array(select d.id from document as d where d.id = any (v_ids) and not document_is_open(d.status) order by d.id for update);
  delete from inbound_status where document_id = any (v_ids);
  perform meter_erased(v_ids);
  v_gone := remove_documents(v_ids);
  if v_gone > 0 then return v_gone; end if;

  v_ids := array(select r.id from received_document as r where r.firm_id = p_firm order by r.id limit p_limit);
  perform 1 from mls_duty where id = any (v_ids) order by id for update;
  perform 1 from received_document where id = any (v_ids) order by id for update;
  perform meter_erased(v_ids);
  v_gone := remove_received(v_ids);
  if v_gone > 0 then return v_gone; end if;

  v_ids := array(
    select m.id from service_message as m where m.firm_id = p_firm and not document_is_open(m.status) order by m.id limit p_limit for update
  );
  v_gone := remove_service_messages(v_ids);
  delete from box_item where id in (select i.id from box_item as i where i.firm_id = p_firm order by i.id limit p_limit for update);
  get diagnostics v_some = row_count;
  v_gone := v_gone + v_some;
  delete from document_event where id in (select e.id from document_event as e where e.firm_id = p_firm limit p_limit)
    and not exists (select 1 from document as d where d.id = document_event.document_id);
  get diagnostics v_some = row_count;
  v_gone := v_gone + v_some;
  if v_gone > 0 then return v_gone; end if;

  v_ids := array(
    select w.id from webhook_subscription as s join webhook_delivery as w on w.subscription_id = s.id where s.firm_id = p_firm limit p_limit
  );
  perform 1 from webhook_delivery where id = any (v_ids) order by id for update;
  delete from webhook_delivery where id = any (v_ids);
  get diagnostics v_gone = row_count;
  if v_gone > 0 then return v_gone; end if;

  -- What no index finds by its firm is looked for once, when nothing else is left.
  delete from mls_duty where id in (select d.id from mls_duty as d where d.firm_id = p_firm order by d.id for update);
  get diagnostics v_gone = row_count;
  delete from webhook_delivery where id in (
    select d.id from webhook_delivery as d where d.firm_id = p_firm and d.customer_ref is not null order by d.id for update
  );
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

-- As before, but payloads are held by the ids of their documents, as by whoever moves them to the payload store.
create or replace function remove_documents(p_ids uuid[]) returns integer language plpgsql as $$
declare
  v_gone integer;
begin
  perform 1 from payload where document_id = any (p_ids) order by document_id for update;
  delete from payload where document_id = any (p_ids);
  delete from payload_moved where document_id = any (p_ids);
  delete from document_attempt where document_id = any (p_ids);
  delete from document_history where document_id = any (p_ids);
  delete from document_mark where document_id = any (p_ids);
  delete from document_event where document_id = any (p_ids);
  delete from document where id = any (p_ids);
  get diagnostics v_gone = row_count;
  return v_gone;
end $$;

create or replace function remove_received(p_ids uuid[]) returns integer language plpgsql as $$
declare
  v_gone integer;
begin
  perform 1 from payload where document_id = any (p_ids) order by document_id for update;
  delete from payload where document_id = any (p_ids);
  delete from payload_moved where document_id = any (p_ids);
  delete from document_mark where document_id = any (p_ids);
  delete from document_event where document_id = any (p_ids);
  delete from mls_duty where id = any (p_ids);
  delete from received_document where id = any (p_ids);
  get diagnostics v_gone = row_count;
  return v_gone;
end $$;
