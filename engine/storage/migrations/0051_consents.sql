-- Consent: what an integrator asks of a company, what its owner or admin answers, and what follows.

-- Firms are found by company id and by tax id. Until now the tax id stood only in the participant's id.
update firm as f set dic = split_part(p.id, ':', 2)
  from participant as p where p.firm_id = f.id and f.dic is null and p.id ~ '^0245:[0-9]{10}$';
create index firm_ico on firm (ico) where ico is not null;
create index firm_dic on firm (dic) where dic is not null;

-- An invitation. The secret of its link is nowhere, only its digest. That an offer has expired, or that its key may not ask
-- for this any more, is told from its row and its key whenever it is read.
create table consent_offer (
  id                  uuid primary key,
  integrator_id       uuid not null references integrator (id),
  key_id              uuid not null references api_key (id),
  token_sha256        bytea not null unique check (octet_length(token_sha256) = 32),
  target_identifier   text not null check (target_identifier ~ '^([0-9]{8}|[0-9]{10})$'),
  customer_reference  text check (char_length(customer_reference) between 1 and 128),
  relationship_mode   text not null check (relationship_mode in ('technical_delegation', 'managed_service')),
  requested_interface text not null check (requested_interface in ('enterprise_api', 'sapi', 'connector', 'all')),
  interfaces          text[] not null check (interfaces <@ array['enterprise', 'sapi', 'connector']),
  requested_scopes    text[] not null check (cardinality(requested_scopes) >= 1),
  status              text not null check (status in ('issued', 'viewed', 'accepted', 'declined')),
  firm_id             uuid references firm (id),
  decided_by          text,
  decided_at          timestamptz,
  created_at          timestamptz not null,
  expires_at          timestamptz not null check (expires_at > created_at),
  check ((status in ('accepted', 'declined')) = (decided_at is not null)),
  check ((decided_at is null) = (firm_id is null))
);
create index consent_offer_target on consent_offer (integrator_id, target_identifier, created_at desc);
create index consent_offer_reference on consent_offer (integrator_id, customer_reference) where customer_reference is not null;
create index consent_offer_expiry on consent_offer (expires_at);

-- Whether the key that issued an offer may still ask for it: it is active and has what it asks for.
create function offer_key_holds(p_offer consent_offer) returns boolean language sql stable as $$
  select exists (
    select 1 from api_key where id = p_offer.key_id and active and scopes @> p_offer.requested_scopes and 'firms:manage' = any (scopes)
  )
$$;

-- The state of an offer as people and clients see it.
create function offer_status(p_offer consent_offer, p_now timestamptz) returns text language sql stable as $$
  select case
    when p_offer.status in ('accepted', 'declined') then p_offer.status
    when p_offer.expires_at <= p_now then 'expired'
    when not offer_key_holds(p_offer) then 'withdrawn'
    else p_offer.status
  end
$$;

create function firm_is_target(p_firm uuid, p_target text) returns boolean language sql stable as $$
  select exists (select 1 from firm where id = p_firm and (ico = p_target or dic = p_target))
$$;

-- Writes an offer. Answers 'created', 'caller_changed', 'scope_exceeds', or 'unavailable': in production the integrator may
-- not act for firms, in the sandbox the company is none that is assigned to it.
create function create_consent_offer(
  p_offer jsonb, p_token_sha256 bytea, p_key_generation integer, p_sandbox boolean, p_audit jsonb
) returns text language plpgsql as $$
declare
  v_offer consent_offer;
  v_scopes text[];
begin
  select * into v_offer from jsonb_populate_record(null::consent_offer, p_offer);
  -- The integrator before its key, as everywhere: two who lock them in two orders would wait for each other.
  perform 1 from integrator where id = v_offer.integrator_id for key share;
  select scopes into v_scopes from api_key
    where id = v_offer.key_id and integrator_id = v_offer.integrator_id and active and generation = p_key_generation for share;
  if not found then return 'caller_changed'; end if;
  if not v_scopes @> v_offer.requested_scopes or not 'firms:manage' = any (v_scopes) then return 'scope_exceeds'; end if;
  if p_sandbox then
    perform 1 from firm f join firm_binding b on b.firm_id = f.id
      where b.integrator_id = v_offer.integrator_id and f.sandbox
        and (f.ico = v_offer.target_identifier or f.dic = v_offer.target_identifier);
  else
    perform 1 from integrator where id = v_offer.integrator_id and production_authorized;
  end if;
  if not found then return 'unavailable'; end if;
  v_offer.token_sha256 := p_token_sha256;
  v_offer.status := 'issued';
  insert into consent_offer select v_offer.*;
  perform append_audit(p_audit, 'consent_offer.created', null, v_offer.integrator_id, 'consent_offer', v_offer.id::text,
    jsonb_build_object('scopes', v_offer.requested_scopes, 'interface', v_offer.requested_interface));
  return 'created';
end $$;

-- Answers an offer in the name of a firm, whose owner or admin the person is. Answers what became of it: 'accepted',
-- 'declined', 'expired', 'withdrawn', 'unavailable' where the integrator may not act for firms, 'unknown' when there is no
-- such offer for this firm, or 'already' when it was answered so before. The integrator's row is locked first, as for its
-- keys: an offer is either accepted before its key ends, or not at all.
create function decide_consent_offer(
  p_offer uuid, p_firm uuid, p_accept boolean, p_sandbox boolean, p_person text, p_now timestamptz, p_audit jsonb
) returns text language plpgsql as $$
declare
  v_offer consent_offer;
  v_authorized boolean;
  v_status text;
  v_wish text := case when p_accept then 'accepted' else 'declined' end;
begin
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

-- Takes a firm into an integrator's work, where the firm has agreed and only the activation was open. Answers 'assigned',
-- 'not_registered', 'already_linked' or 'consent_required', and the firm where there is one.
create function assign_firm(p_integrator uuid, p_ico text, p_now timestamptz, p_audit jsonb)
returns table (outcome text, firm_id uuid) language plpgsql as $$
declare
  v_firm uuid;
  v_state text;
begin
  perform 1 from integrator where id = p_integrator for update;
  select f.id into v_firm from firm f left join firm_binding b on b.firm_id = f.id and b.integrator_id = p_integrator
    where f.ico = p_ico order by b.firm_id is null, f.created_at, f.id limit 1;
  if not found then return query select 'not_registered', null::uuid; return; end if;
  select b.state into v_state from firm_binding b where b.integrator_id = p_integrator and b.firm_id = v_firm for update;
  if v_state = 'active' then return query select 'already_linked', v_firm; return; end if;
  if v_state is distinct from 'pending' or not exists (
    select 1 from consent_offer o where o.integrator_id = p_integrator and o.firm_id = v_firm and o.status = 'accepted'
  ) then
    return query select 'consent_required', v_firm; return;
  end if;
  update firm_binding b set state = 'active', updated_at = p_now where b.integrator_id = p_integrator and b.firm_id = v_firm;
  perform append_audit(p_audit, 'firm.assigned', v_firm, p_integrator, 'firm', v_firm::text, '{}');
  return query select 'assigned', v_firm;
end $$;

-- Gives a participant to a firm and marks the firm as registered. Answers 'added', 'known' or 'taken'.
create function add_firm_participant(p_firm uuid, p_key text, p_id text, p_now timestamptz, p_integrator uuid, p_audit jsonb)
returns text language plpgsql as $$
declare
  v_owner uuid;
begin
  insert into participant (key, id, firm_id, registered_at) values (p_key, p_id, p_firm, p_now) on conflict (key) do nothing;
  if not found then
    select firm_id into v_owner from participant where key = p_key;
    return case when v_owner = p_firm then 'known' else 'taken' end;
  end if;
  update firm set peppol_status = 'registered' where id = p_firm and peppol_status <> 'registered';
  perform append_audit(p_audit, 'firm.identifier_added', p_firm, p_integrator, 'participant', p_id, '{}');
  return 'added';
end $$;

-- Binds a firm as an operator says. What a withdrawal has ended stays ended.
create function put_firm_binding(
  p_integrator uuid, p_firm uuid, p_customer_ref text, p_state text, p_scopes text[], p_interfaces text[], p_now timestamptz, p_audit jsonb
) returns void language plpgsql as $$
begin
  insert into firm_binding (integrator_id, firm_id, customer_ref, state, scopes, interfaces, created_at, updated_at)
    values (p_integrator, p_firm, p_customer_ref, p_state, p_scopes, p_interfaces, p_now, p_now)
    on conflict (integrator_id, firm_id) do update set customer_ref = excluded.customer_ref, state = excluded.state,
      scopes = excluded.scopes, interfaces = excluded.interfaces, updated_at = excluded.updated_at;
  perform append_audit(p_audit, 'consent.granted', p_firm, p_integrator, 'firm', p_firm::text,
    jsonb_build_object('scopes', p_scopes, 'interfaces', p_interfaces, 'state', p_state));
end $$;
