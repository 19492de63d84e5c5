-- An end for rows that had none. What is found by its age is found by its id: ids begin with the millisecond of their making, so that the
-- primary key is the index, and what is written every day has no other one to carry.
create function id_floor(p_at timestamptz) returns uuid language sql immutable parallel safe as $$
  select (lpad(to_hex((extract(epoch from p_at) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid
$$;

-- Removes documents that were sent, with all that is told of them. Answers how many.
create function remove_documents(p_ids uuid[]) returns integer language plpgsql as $$
declare
  v_gone integer;
begin
  delete from payload where document_id = any (p_ids);
  delete from document_attempt where document_id = any (p_ids);
  delete from document_history where document_id = any (p_ids);
  delete from document_mark where document_id = any (p_ids);
  delete from document_event where document_id = any (p_ids);
  delete from document where id = any (p_ids);
  get diagnostics v_gone = row_count;
  return v_gone;
end $$;

-- Removes documents that were received, with all that is told of them. Answers how many.
create function remove_received(p_ids uuid[]) returns integer language plpgsql as $$
declare
  v_gone integer;
begin
  delete from payload where document_id = any (p_ids);
  delete from document_mark where document_id = any (p_ids);
  delete from document_event where document_id = any (p_ids);
  delete from mls_duty where id = any (p_ids);
  delete from received_document where id = any (p_ids);
  get diagnostics v_gone = row_count;
  return v_gone;
end $$;

-- Removes messages of the access point itself, with their attempts and the months that they reported. Answers how many.
create function remove_service_messages(p_ids uuid[]) returns integer language plpgsql as $$
declare
  v_gone integer;
begin
  delete from service_attempt where message_id = any (p_ids);
  delete from report_submission where message_id = any (p_ids);
  delete from service_message where id = any (p_ids);
  get diagnostics v_gone = row_count;
  return v_gone;
end $$;

-- Removes requests of onboarding, with what moved them and the confirmations that they used. Answers how many.
create function remove_onboarding(p_ids uuid[]) returns integer language plpgsql as $$
declare
  v_gone integer;
begin
  delete from onboarding_history where request_id = any (p_ids);
  delete from pfs_confirmation where request_id = any (p_ids);
  delete from onboarding_request where id = any (p_ids);
  get diagnostics v_gone = row_count;
  return v_gone;
end $$;

create index api_key_ended on api_key (deactivated_at) where deactivated_at is not null;
create index api_key_successor on api_key (successor_id) where successor_id is not null;
create index onboarding_ended on onboarding_request (updated_at) where status in ('blocked', 'revoked');
create index pfs_confirmation_waiting on pfs_confirmation (received_at) where request_id is null;
create index usage_month_age on usage_month (month);
-- A firm's keys and a person's places are looked for before either goes.
create index consent_offer_key on consent_offer (key_id);
create index oauth_code_key on oauth_code (key_id) where key_id is not null;
create index membership_of_person on membership (person_id);
create index oauth_code_person on oauth_code (person_id);
create index white_label_participant_operation on white_label_participant (operation_id);
