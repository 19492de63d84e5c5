-- As before, but firms of one company close one after the other.

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
