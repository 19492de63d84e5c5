-- What stays of a firm that is forgotten is led back to nobody by a list of companies.

-- The reports of the network count end users, and an erasure left a digest of each participant in its place. Participants are
-- few, and their ids are public: whoever digested them all had the one whose exchanges these were. What there is of it gets a
-- random value into the digest that nobody has ever seen. It comes first, for the next statement holds up whoever sends.
do $$
declare
  v_salt uuid := gen_random_uuid();
begin
  update exchange set end_user = encode(sha256(convert_to(v_salt || end_user, 'UTF8')), 'hex')
    where firm_id is null and end_user ~ '^[0-9a-f]{64}$';
end $$;

-- That value is kept while an erasure lasts, so that one that was broken off goes on with it, and is then gone.
alter table firm add column end_user_salt uuid;

-- As before, but what is known of an address is forgotten with its person: from where it has signed in, and that it asked for codes.
create or replace function forget_people(p_people uuid[]) returns void language plpgsql as $$
declare
  v_people uuid[] := array(
    select p.id from unnest(p_people) as p (id) where not exists (select 1 from membership as m where m.person_id = p.id)
  );
  v_addresses bytea[];
begin
  delete from sign_in where person_id = any (v_people);
  delete from person_session where person_id = any (v_people);
  delete from oauth_code where person_id = any (v_people);
  perform 1 from person where id = any (v_people) order by id for update;
  with gone as (
    delete from person as p
      where p.id = any (v_people) and not exists (select 1 from membership as m where m.person_id = p.id)
        and not exists (select 1 from sign_in as s where s.person_id = p.id)
        and not exists (select 1 from person_session as s where s.person_id = p.id)
        and not exists (select 1 from oauth_code as c where c.person_id = p.id)
      returning p.email
  )
  select coalesce(array_agg(sha256(convert_to('address:' || gone.email, 'UTF8'))), '{}') into v_addresses from gone;
  delete from sign_in where address_sha256 = any (v_addresses);
  delete from sign_in_place where address_sha256 = any (v_addresses);
end $$;

-- As before, but requests of White Label for the company that came to nothing go, too, and those that wait for somebody who vouches
-- for them: what the registry was asked for ends by itself.
create or replace function close_firm(p_firm uuid, p_now timestamptz, p_audit jsonb) returns text language plpgsql as $$
declare
  v_firm firm;
  v_participants text[];
  v_people uuid[];
  v_dic text;
begin
  -- Two firms of one company that close at once would each leave to the other what is known by their tax id alone. A lock
  -- of closings only: whoever activates a request holds an integrator, for whom those wait who hold the firm.
  perform pg_advisory_xact_lock(hashtextextended('forgotten company:' || dic, 0)) from firm where id = p_firm and dic is not null;
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
  delete from white_label_operation
    where firm_id = p_firm or participant_key = any (v_participants) or (
      dic = v_dic and firm_id is null
        and (completed_at is not null or (status = 'manual_review' and error_code = 'VERIFICATION_REQUIRED'))
    );
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

-- As before, but an end user's digest is led back to nobody.
create or replace function erase_firm_rows(p_firm uuid, p_limit integer) returns integer language plpgsql as $$
declare
  v_ids uuid[];
  v_gone integer := 0;
  v_some integer;
  v_salt uuid;
begin
  if not exists (select 1 from firm where id = p_firm and erased_at is not null) then return 0; end if;
  v_ids := array(select x.id from exchange as x where x.firm_id = p_firm order by x.exchanged_at limit p_limit);
  if cardinality(v_ids) > 0 then
    update firm set end_user_salt = coalesce(end_user_salt, gen_random_uuid()) where id = p_firm returning end_user_salt into v_salt;
    perform 1 from inbound_status where id = any (v_ids) order by id for update;
    delete from inbound_status where id = any (v_ids);
    perform 1 from exchange where id = any (v_ids) order by id for update;
    update exchange set firm_id = null, end_user = encode(sha256(convert_to(v_salt || end_user, 'UTF8')), 'hex')
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
  if v_gone + v_some = 0 then update firm set end_user_salt = null where id = p_firm and end_user_salt is not null; end if;
  return v_gone + v_some;
end $$;
