-- What waited for the receivers of a firm ends with its erasure: until its rows were gone they were still told of them.
create or replace function close_firm(p_firm uuid, p_now timestamptz, p_audit jsonb) returns text language plpgsql as $$
declare
  v_firm firm;
  v_participants text[];
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
  delete from consent_offer where firm_id = p_firm;
  delete from firm_binding where firm_id = p_firm;
  delete from membership where firm_id = p_firm;
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
