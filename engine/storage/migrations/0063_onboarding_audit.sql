-- Activation of an onboarding writes what it made into the record of changes.

drop function activate_onboarding(uuid, integer, uuid, text, boolean, timestamptz);

-- Makes the firm of a request, its participant and the integrator's binding, and the request active. Answers 'activated',
-- 'changed' when the request is not what the caller read, 'firm_elsewhere' where the company has a mailbox here and has not
-- agreed to this integrator, or 'ref_taken' where the integrator calls another firm so. p_firm_audit: of the new firm;
-- p_audit: of the consent.
create function activate_onboarding(
  p_id uuid, p_version integer, p_firm uuid, p_participant_key text, p_sandbox boolean, p_now timestamptz, p_firm_audit jsonb,
  p_audit jsonb
) returns text language plpgsql as $$
declare
  v_request onboarding_request;
  v_firm firm;
  v_binding firm_binding;
  v_is_new boolean := false;
begin
  perform 1 from integrator i join onboarding_request r on r.integrator_id = i.id where r.id = p_id for update of i;
  select * into v_request from onboarding_request where id = p_id for update;
  if not found or v_request.version <> p_version or v_request.status <> 'activating' then return 'changed'; end if;
  -- Two requests for one new company make one firm.
  perform pg_advisory_xact_lock(hashtextextended('firm:' || v_request.dic, 0));
  select f.* into v_firm from firm f where f.dic = v_request.dic
    or f.id = (select firm_id from participant where key = p_participant_key) order by f.created_at limit 1;
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
