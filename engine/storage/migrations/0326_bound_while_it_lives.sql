-- A binding that is written while its firm is erased waits for that, and is refused as one of a firm that is not there.
create or replace function put_firm_binding(
  p_integrator uuid, p_firm uuid, p_customer_ref text, p_state text, p_scopes text[], p_interfaces text[], p_now timestamptz, p_audit jsonb
) returns void language plpgsql as $$
begin
  if not lock_living_firm(p_firm) then
    raise exception 'a binding needs a firm' using errcode = 'foreign_key_violation';
  end if;
  insert into firm_binding (integrator_id, firm_id, customer_ref, state, scopes, interfaces, created_at, updated_at)
    values (p_integrator, p_firm, p_customer_ref, p_state, p_scopes, p_interfaces, p_now, p_now)
    on conflict (integrator_id, firm_id) do update set customer_ref = excluded.customer_ref, state = excluded.state,
      scopes = excluded.scopes, interfaces = excluded.interfaces, updated_at = excluded.updated_at;
  perform append_audit(p_audit, 'consent.granted', p_firm, p_integrator, 'firm', p_firm::text,
    jsonb_build_object('scopes', p_scopes, 'interfaces', p_interfaces, 'state', p_state));
end $$;
