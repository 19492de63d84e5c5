-- Whether a verification token or a migration code is genuine cannot always be asked of the registry. Such an operation is
-- written under review, and an operator who has checked the token vouches for it; then it is carried out.
alter table white_label_operation add column vouched_at timestamptz;

-- Writes that an operator has vouched for an operation under review, and makes it due at once. Answers false when it is not
-- what the operator read.
create function vouch_white_label(p_id uuid, p_version integer, p_now timestamptz, p_audit jsonb) returns boolean
language plpgsql as $$
declare
  v_integrator uuid;
begin
  update white_label_operation set status = 'processing', error_code = null, due_at = p_now, claimed_until = null,
    asked_at = null, vouched_at = p_now, version = version + 1, updated_at = p_now
  where id = p_id and version = p_version and status = 'manual_review'
  returning integrator_id into v_integrator;
  if not found then return false; end if;
  perform append_audit(p_audit, 'white_label.vouched', null, v_integrator, 'white_label_operation', p_id::text, '{}');
  return true;
end
$$;
