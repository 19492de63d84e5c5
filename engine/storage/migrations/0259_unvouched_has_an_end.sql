-- An operation that waits for an operator's word about its token waits a bounded time. Releases those that were written
-- before p_before: their tokens go, their identities are free, and their integrators find it in the audit. Those of one
-- integrator come one after another, for each entry of the audit takes its turn among those of its tenant.
create function release_unvouched_white_label(p_before timestamptz, p_now timestamptz, p_limit integer) returns integer
language plpgsql as $$
declare
  v_operation record;
  v_released integer := 0;
begin
  for v_operation in
    select o.id, o.integrator_id from white_label_operation as o
    where o.status = 'manual_review' and o.error_code = 'VERIFICATION_REQUIRED' and o.created_at < p_before
    order by o.integrator_id, o.id limit p_limit for update skip locked
  loop
    update white_label_operation set status = 'released', error_code = 'VERIFICATION_EXPIRED', due_at = null,
      claimed_until = null, secret_key_id = null, secret_sealed = null, completed_at = p_now, version = version + 1,
      updated_at = p_now
    where id = v_operation.id;
    perform append_audit(jsonb_build_object('id', new_row_id(), 'at', p_now, 'actorType', 'system'), 'white_label.ended',
      null, v_operation.integrator_id, 'white_label_operation', v_operation.id::text,
      jsonb_build_object('status', 'released', 'errorCode', 'VERIFICATION_EXPIRED'));
    v_released := v_released + 1;
  end loop;
  return v_released;
end
$$;
