-- A firm that was forgotten leaves nobody's address and no address of its receivers, and is given nothing again: until now its people,
-- its deleted webhooks, what an integrator was told of it and the duties of answers that it received stayed, and a new key or
-- person could be made for it.

-- Removes whoever has no office. Somebody who signs in at that moment stays until the sweep: the lock keeps those out who
-- come later, and whoever was before is seen by the statement behind it.
create function forget_people(p_people uuid[]) returns void language plpgsql as $$
declare
  v_people uuid[] := array(
    select p.id from unnest(p_people) as p (id) where not exists (select 1 from membership as m where m.person_id = p.id)
  );
begin
  delete from sign_in where person_id = any (v_people);
  delete from person_session where person_id = any (v_people);
  delete from oauth_code where person_id = any (v_people);
  perform 1 from person where id = any (v_people) order by id for update;
  delete from person as p
    where p.id = any (v_people) and not exists (select 1 from membership as m where m.person_id = p.id)
      and not exists (select 1 from sign_in as s where s.person_id = p.id)
      and not exists (select 1 from person_session as s where s.person_id = p.id)
      and not exists (select 1 from oauth_code as c where c.person_id = p.id);
end $$;

-- As before, but its people go, and offers that wait for it.
create or replace function close_firm(p_firm uuid, p_now timestamptz, p_audit jsonb) returns text language plpgsql as $$
declare
  v_firm firm;
  v_participants text[];
  v_people uuid[];
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
    where firm_id = p_firm or (firm_id is null and target_identifier = any (array[v_firm.ico, v_firm.dic]));
  delete from firm_binding where firm_id = p_firm;
  with gone as (delete from membership where firm_id = p_firm returning person_id)
    select coalesce(array_agg(gone.person_id), '{}') into v_people from gone;
  perform forget_people(v_people);
  delete from firm_plan where firm_id = p_firm;
  delete from white_label_participant where firm_id = p_firm or participant_key = any (v_participants);
  delete from white_label_operation where firm_id = p_firm or participant_key = any (v_participants);
  delete from white_label_customer where dic = v_firm.dic;
  delete from registration_operation where participant_key = any (v_participants);
  delete from registration where participant_key = any (v_participants);
  delete from participant_capability where participant_key = any (v_participants);
  delete from participant where key = any (v_participants);
  perform remove_onboarding(array(select id from onboarding_request where firm_id = p_firm or dic = v_firm.dic));
  delete from pfs_confirmation where dic = v_firm.dic;
  update webhook_subscription set active = false, deleted_at = coalesce(deleted_at, p_now) where firm_id = p_firm;
  perform end_webhook_deliveries(s.id, 'subscription_deleted') from webhook_subscription as s where s.firm_id = p_firm;
  update firm set name = 'erased', ico = null, dic = null, ic_dph = null, address = null, peppol_status = 'not_registered',
    sends_only = true, erased_at = coalesce(erased_at, p_now) where id = p_firm;
  if v_firm.erased_at is null then
    perform append_audit(p_audit, 'firm.erased', p_firm, null, 'firm', p_firm::text, '{}');
  end if;
  return 'closed';
end $$;

-- As before, but what it was answered goes also where no document was found for it, the duties of all of that, its
-- receivers, and what integrators were told of it.
create or replace function erase_firm_rows(p_firm uuid, p_limit integer) returns integer language plpgsql as $$
declare
  v_ids uuid[];
  v_gone integer := 0;
  v_some integer;
begin
  if not exists (select 1 from firm where id = p_firm and erased_at is not null) then return 0; end if;
  v_ids := array(
    select d.id from document as d where d.firm_id = p_firm and not document_is_open(d.status) order by d.created_at limit p_limit for update
  );
  delete from inbound_status where document_id = any (v_ids);
  v_gone := v_gone + remove_documents(v_ids);
  v_ids := array(select r.id from received_document as r where r.firm_id = p_firm order by r.id limit p_limit for update);
  v_gone := v_gone + remove_received(v_ids);
  v_ids := array(
    select m.id from service_message as m where m.firm_id = p_firm and not document_is_open(m.status) order by m.id limit p_limit for update
  );
  v_gone := v_gone + remove_service_messages(v_ids);
  delete from box_item where id in (select i.id from box_item as i where i.firm_id = p_firm order by i.id limit p_limit for update);
  get diagnostics v_some = row_count;
  v_gone := v_gone + v_some;
  v_ids := array(
    select x.id from exchange as x where x.firm_id = p_firm order by x.exchanged_at limit p_limit for update
  );
  delete from inbound_status where id = any (v_ids);
  update exchange set firm_id = null, end_user = encode(sha256(convert_to(end_user, 'UTF8')), 'hex')
    where id = any (v_ids);
  get diagnostics v_some = row_count;
  v_gone := v_gone + v_some;
  delete from document_event where id in (select e.id from document_event as e where e.firm_id = p_firm limit p_limit)
    and not exists (select 1 from document as d where d.id = document_event.document_id);
  get diagnostics v_some = row_count;
  v_gone := v_gone + v_some;
  delete from webhook_delivery where id in (
    select w.id from webhook_subscription as s join webhook_delivery as w on w.subscription_id = s.id where s.firm_id = p_firm limit p_limit
  );
  get diagnostics v_some = row_count;
  v_gone := v_gone + v_some;
  if v_gone > 0 then return v_gone; end if;

  -- What no index finds by its firm is looked for once, when nothing else is left.
  delete from mls_duty where firm_id = p_firm;
  get diagnostics v_some = row_count;
  v_gone := v_gone + v_some;
  delete from webhook_delivery where firm_id = p_firm and customer_ref is not null;
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

-- As before, but a person that is forgotten meanwhile is nobody.
create or replace function start_sign_in(
  p_visit bytea, p_email text, p_address bytea, p_place bytea, p_code bytea, p_now timestamptz, p_expires timestamptz,
  p_window interval, p_codes_max integer, p_known interval
) returns text language plpgsql as $$
declare
  v_person uuid;
  v_place bytea;
  v_sent integer;
begin
  -- Two that ask at once for one address take turns, so that the bound on codes holds.
  perform pg_advisory_xact_lock(hashtextextended(encode(p_address, 'hex'), 0));
  select id into v_person from person where email = p_email for key share;
  select place_sha256 into v_place from sign_in_place
    where address_sha256 = p_address and place_sha256 = p_place and seen_at > p_now - p_known;
  select count(*) into v_sent from sign_in
    where address_sha256 = p_address and created_at > p_now - p_window and place_sha256 is not distinct from v_place;
  if v_sent >= p_codes_max then v_person := null; end if;
  insert into sign_in (visit_sha256, address_sha256, place_sha256, person_id, code_hmac, created_at, expires_at)
    values (p_visit, p_address, v_place, v_person, p_code, p_now, p_expires);
  return case when v_person is null then null else p_email end;
end $$;

-- As before, but an erased firm is given no key, no person, no receiver, no participant, no plan and no consent.
create or replace function create_api_key(
  p_id uuid, p_key_type text, p_firm uuid, p_integrator uuid, p_scoped_firm uuid, p_prefix text, p_secret_sha256 bytea,
  p_scopes text[], p_ip_allowlist text[], p_name text, p_now timestamptz, p_unrestricted_max integer, p_scoped_max integer,
  p_audit jsonb default null, p_caller uuid default null, p_caller_generation integer default null
) returns text language plpgsql as $$
declare
  v_active integer;
  v_granted text[];
  v_key api_key;
begin
  if p_integrator is not null then
    perform 1 from integrator where id = p_integrator for update;
    if not found then return 'owner_unknown'; end if;
    if p_caller is not null then
      select scopes into v_granted from api_key
        where id = p_caller and integrator_id = p_integrator and active and generation = p_caller_generation for share;
      if not found then return 'caller_changed'; end if;
      if not p_scopes <@ v_granted then return 'scope_exceeds'; end if;
    end if;
    if p_scoped_firm is not null then
      if not lock_living_firm(p_scoped_firm) then return 'not_bound'; end if;
      select scopes into v_granted from firm_binding
        where integrator_id = p_integrator and firm_id = p_scoped_firm and state = 'active';
      if not found then return 'not_bound'; end if;
      if p_caller is not null and not p_scopes <@ v_granted then return 'scope_exceeds'; end if;
    end if;
    select count(*) into v_active from api_key
      where integrator_id = p_integrator and active and scoped_firm_id is not distinct from p_scoped_firm;
    if v_active >= (case when p_scoped_firm is null then p_unrestricted_max else p_scoped_max end) then return 'limit_reached'; end if;
  else
    if not lock_living_firm(p_firm) then return 'owner_unknown'; end if;
  end if;
  insert into api_key (id, key_type, firm_id, integrator_id, scoped_firm_id, prefix, secret_sha256, scopes, ip_allowlist, active, name, created_at)
    values (p_id, p_key_type, p_firm, p_integrator, p_scoped_firm, p_prefix, p_secret_sha256, p_scopes, p_ip_allowlist, true, p_name, p_now)
    returning * into v_key;
  perform audit_key(p_audit, 'api_key.created', v_key, jsonb_build_object('scopes', p_scopes, 'name', p_name));
  return 'created';
end $$;

create or replace function put_member(
  p_person uuid, p_email text, p_firm uuid, p_integrator uuid, p_role text, p_now timestamptz
) returns text language plpgsql as $$
declare
  v_person uuid;
begin
  if p_firm is not null and not lock_living_firm(p_firm) then return 'owner_unknown'; end if;
  if p_integrator is not null and not exists (select 1 from integrator where id = p_integrator) then
    return 'owner_unknown';
  end if;
  insert into person (id, email, created_at) values (p_person, p_email, p_now)
    on conflict (email) do update set email = excluded.email returning id into v_person;
  if p_firm is not null then
    insert into membership (person_id, firm_id, role, created_at) values (v_person, p_firm, p_role, p_now)
      on conflict (person_id, firm_id) where firm_id is not null do update set role = excluded.role;
  else
    insert into membership (person_id, integrator_id, role, created_at) values (v_person, p_integrator, p_role, p_now)
      on conflict (person_id, integrator_id) where integrator_id is not null do nothing;
  end if;
  return 'put';
end $$;

create or replace function create_webhook(
  p_id uuid, p_firm uuid, p_integrator uuid, p_url text, p_origin text, p_events text[], p_active boolean,
  p_secret_key_id text, p_secret_sealed bytea, p_now timestamptz, p_firm_max integer, p_owner_max integer, p_audit jsonb
) returns boolean language plpgsql as $$
begin
  if p_firm is not null and not lock_living_firm(p_firm) then return false; end if;
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

create or replace function add_firm_participant(p_firm uuid, p_key text, p_id text, p_now timestamptz, p_integrator uuid, p_audit jsonb)
returns text language plpgsql as $$
declare
  v_owner uuid;
begin
  if not lock_living_firm(p_firm) then return 'taken'; end if;
  insert into participant (key, id, firm_id, registered_at) values (p_key, p_id, p_firm, p_now) on conflict (key) do nothing;
  if not found then
    select firm_id into v_owner from participant where key = p_key;
    return case when v_owner = p_firm then 'known' else 'taken' end;
  end if;
  update firm set peppol_status = 'registered' where id = p_firm and peppol_status <> 'registered';
  perform append_audit(p_audit, 'firm.identifier_added', p_firm, p_integrator, 'participant', p_id, '{}');
  return 'added';
end $$;

create or replace function put_firm_plan(p_firm uuid, p_code text, p_expires_at timestamptz, p_now timestamptz, p_audit jsonb)
returns boolean language plpgsql as $$
begin
  if not lock_living_firm(p_firm) then return false; end if;
  insert into firm_plan (firm_id, code, expires_at, updated_at) values (p_firm, p_code, p_expires_at, p_now)
    on conflict (firm_id) do update set code = excluded.code, expires_at = excluded.expires_at, updated_at = excluded.updated_at;
  perform append_audit(p_audit, 'plan.changed', p_firm, null, 'firm', p_firm::text,
    jsonb_build_object('plan', p_code, 'expiresAt', p_expires_at));
  return true;
end
$$;

create or replace function decide_consent_offer(
  p_offer uuid, p_firm uuid, p_accept boolean, p_sandbox boolean, p_person text, p_now timestamptz, p_audit jsonb
) returns text language plpgsql as $$
declare
  v_offer consent_offer;
  v_authorized boolean;
  v_status text;
  v_wish text := case when p_accept then 'accepted' else 'declined' end;
begin
  if not lock_living_firm(p_firm) then return 'unknown'; end if;
  select * into v_offer from consent_offer where id = p_offer;
  if not found then return 'unknown'; end if;
  select production_authorized into v_authorized from integrator where id = v_offer.integrator_id for update;
  select * into v_offer from consent_offer where id = p_offer for update;
  if not firm_is_target(p_firm, v_offer.target_identifier) or v_offer.firm_id <> p_firm then return 'unknown'; end if;
  if v_offer.status = v_wish then return 'already'; end if;
  perform 1 from api_key where id = v_offer.key_id for share;
  v_status := offer_status(v_offer, p_now);
  if v_status not in ('issued', 'viewed') then return v_status; end if;
  if p_accept and not p_sandbox and not v_authorized then return 'unavailable'; end if;
  update consent_offer set status = v_wish, firm_id = p_firm, decided_by = p_person, decided_at = p_now where id = p_offer;
  if p_accept then
    insert into firm_binding as b (integrator_id, firm_id, customer_ref, state, scopes, interfaces, created_at, updated_at)
      values (v_offer.integrator_id, p_firm, (
        select v_offer.customer_reference where not exists (
          select 1 from firm_binding t where t.integrator_id = v_offer.integrator_id and t.customer_ref = v_offer.customer_reference and t.firm_id <> p_firm
        )), 'active', v_offer.requested_scopes, v_offer.interfaces, p_now, p_now)
      on conflict (integrator_id, firm_id) do update set state = 'active', scopes = excluded.scopes, interfaces = excluded.interfaces,
        customer_ref = coalesce(b.customer_ref, excluded.customer_ref), updated_at = excluded.updated_at;
  end if;
  perform append_audit(p_audit, 'consent.' || v_wish, p_firm, v_offer.integrator_id, 'consent_offer', p_offer::text,
    jsonb_build_object('scopes', v_offer.requested_scopes, 'interface', v_offer.requested_interface));
  return v_wish;
end $$;
