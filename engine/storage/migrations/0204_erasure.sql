-- A firm that is to be forgotten: it is closed first, then what it sent and received goes a part at a time. Its row stays without anything
-- that tells who it was, for evidence and what was billed name it.
alter table firm add column erased_at timestamptz;

-- Ends everything that acts for a firm and everything that says who it is. Answers `closed`, or why not: `missing`; `under_way` when
-- documents of it still are; `registered` when others still find it in the network.
create function close_firm(p_firm uuid, p_now timestamptz, p_audit jsonb) returns text language plpgsql as $$
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
  update firm set name = 'erased', ico = null, dic = null, ic_dph = null, address = null, peppol_status = 'not_registered',
    sends_only = true, erased_at = coalesce(erased_at, p_now) where id = p_firm;
  if v_firm.erased_at is null then
    perform append_audit(p_audit, 'firm.erased', p_firm, null, 'firm', p_firm::text, '{}');
  end if;
  return 'closed';
end $$;

-- Removes a part of what a closed firm sent and received. Answers how many rows; what is under way stays. Exchanges stay for the reports of
-- the network, with a digest in the place of the participant.
create function erase_firm_rows(p_firm uuid, p_limit integer) returns integer language plpgsql as $$
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
  update exchange set firm_id = null, end_user = encode(sha256(convert_to(end_user, 'UTF8')), 'hex') where id in (
    select x.id from exchange as x where x.firm_id = p_firm order by x.exchanged_at limit p_limit for update
  );
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
  return v_gone + v_some;
end $$;
