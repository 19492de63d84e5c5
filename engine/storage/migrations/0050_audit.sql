-- Who changed what of keys, tokens, consents and firms. An entry is written by the statement that makes the change.

create table audit_entry (
  id            uuid primary key,
  position      bigint generated always as identity unique,
  occurred_at   timestamptz not null,
  actor_type    text not null check (actor_type in ('api_key', 'user', 'operator', 'system')),
  actor_id      text,
  -- Whom the change concerns, and who may therefore read the entry.
  firm_id       uuid,
  integrator_id uuid,
  event         text not null check (event ~ '^[a-z_]+\.[a-z_]+$'),
  target_type   text not null,
  target_id     text not null,
  ip            text check (char_length(ip) <= 64),
  user_agent    text check (char_length(user_agent) <= 255),
  metadata      jsonb not null
);
create index audit_entry_firm on audit_entry (firm_id, position desc) where firm_id is not null;
create index audit_entry_integrator on audit_entry (integrator_id, position desc) where integrator_id is not null;
create index audit_entry_age on audit_entry (occurred_at);

-- Entries are never changed, and go only when they are two years old.
create function keep_audit_entry() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and old.occurred_at < now() - interval '730 days' then return old; end if;
  raise exception 'entries of audit_entry are append-only';
end $$;
create trigger audit_entry_kept before update or delete on audit_entry for each row execute function keep_audit_entry();
create trigger audit_entry_not_emptied before truncate on audit_entry for each statement execute function keep_audit_entry();

-- Writes one entry. p_audit: {id, at, actorType, actorId, ip, userAgent}; null writes nothing. Whoever writes for a tenant
-- waits for the one before, until that one has committed: positions of a tenant's entries are in the order of commits, so
-- that a reader who goes by them never passes an entry that commits late. Callers do this last, after all other locks.
create function append_audit(
  p_audit jsonb, p_event text, p_firm uuid, p_integrator uuid, p_target_type text, p_target_id text, p_metadata jsonb
) returns void language plpgsql as $$
declare
  v_tenant bigint;
begin
  if p_audit is null then return; end if;
  for v_tenant in
    select distinct hashtextextended('audit:' || t, 0) from unnest(array[p_firm, p_integrator]) as t where t is not null order by 1
  loop
    perform pg_advisory_xact_lock(v_tenant);
  end loop;
  insert into audit_entry (
    id, occurred_at, actor_type, actor_id, firm_id, integrator_id, event, target_type, target_id, ip, user_agent, metadata
  ) values (
    (p_audit ->> 'id')::uuid, (p_audit ->> 'at')::timestamptz, p_audit ->> 'actorType', p_audit ->> 'actorId', p_firm,
    p_integrator, p_event, p_target_type, p_target_id, p_audit ->> 'ip', p_audit ->> 'userAgent', jsonb_strip_nulls(p_metadata)
  );
end $$;

-- One entry about a key. Whoever shows a token without saying more acts as the token's key.
create function audit_key(p_audit jsonb, p_event text, p_key api_key, p_metadata jsonb) returns void language sql as $$
  select append_audit(
    case when p_audit ->> 'actorType' = 'api_key' then jsonb_build_object('actorId', p_key.id) || jsonb_strip_nulls(p_audit) else p_audit end,
    p_event, coalesce(p_key.firm_id, p_key.scoped_firm_id), p_key.integrator_id, 'api_key',
    p_key.id::text, jsonb_build_object('prefix', p_key.prefix) || p_metadata)
$$;

-- Creates a key. Answers 'created', 'limit_reached', 'owner_unknown', 'not_bound', 'caller_changed' or 'scope_exceeds'. The
-- integrator's row is locked while its keys are counted, so that concurrent creations cannot pass the limit together.
-- p_caller and p_caller_generation: the key that asks, which must still be what the caller believes it is, and which
-- gives no scope that it has not, nor one that the firm's consent does not hold; null for an operator.
drop function create_api_key(
  uuid, text, uuid, uuid, uuid, text, bytea, text[], text[], text, timestamptz, integer, integer
);
create function create_api_key(
  p_id uuid, p_key_type text, p_firm uuid, p_integrator uuid, p_scoped_firm uuid, p_prefix text, p_secret_sha256 bytea,
  p_scopes text[], p_ip_allowlist text[], p_name text, p_now timestamptz, p_unrestricted_max integer, p_scoped_max integer,
  p_audit jsonb default null, p_caller uuid default null, p_caller_generation integer default null
) returns text language plpgsql as $$
declare
  v_active integer;
  v_granted text[];
  v_key api_key;
begin
  if p_integrator is not null then
    perform 1 from integrator where id = p_integrator for update;
    if not found then return 'owner_unknown'; end if;
    if p_caller is not null then
      select scopes into v_granted from api_key
        where id = p_caller and integrator_id = p_integrator and active and generation = p_caller_generation for share;
      if not found then return 'caller_changed'; end if;
      if not p_scopes <@ v_granted then return 'scope_exceeds'; end if;
    end if;
    if p_scoped_firm is not null then
      select scopes into v_granted from firm_binding
        where integrator_id = p_integrator and firm_id = p_scoped_firm and state = 'active';
      if not found then return 'not_bound'; end if;
      if p_caller is not null and not p_scopes <@ v_granted then return 'scope_exceeds'; end if;
    end if;
    select count(*) into v_active from api_key
      where integrator_id = p_integrator and active and scoped_firm_id is not distinct from p_scoped_firm;
    if v_active >= (case when p_scoped_firm is null then p_unrestricted_max else p_scoped_max end) then return 'limit_reached'; end if;
  else
    perform 1 from firm where id = p_firm;
    if not found then return 'owner_unknown'; end if;
  end if;
  insert into api_key (id, key_type, firm_id, integrator_id, scoped_firm_id, prefix, secret_sha256, scopes, ip_allowlist, active, name, created_at)
    values (p_id, p_key_type, p_firm, p_integrator, p_scoped_firm, p_prefix, p_secret_sha256, p_scopes, p_ip_allowlist, true, p_name, p_now)
    returning * into v_key;
  perform audit_key(p_audit, 'api_key.created', v_key, jsonb_build_object('scopes', p_scopes, 'name', p_name));
  return 'created';
end $$;

-- Deactivates a key and ends its tokens. Answers 'deactivated', 'already_inactive', 'unknown', 'last_main_key' or
-- 'caller_changed': the key that asks was ended meanwhile.
drop function deactivate_api_key(uuid, uuid, timestamptz);
create function deactivate_api_key(
  p_id uuid, p_integrator uuid, p_now timestamptz, p_audit jsonb default null, p_caller uuid default null
) returns text language plpgsql as $$
declare
  v_key api_key;
begin
  if p_integrator is not null then
    perform 1 from integrator where id = p_integrator for update;
  end if;
  if p_caller is not null then
    perform 1 from api_key where id = p_caller and active;
    if not found then return 'caller_changed'; end if;
  end if;
  select * into v_key from api_key where id = p_id and (p_integrator is null or integrator_id = p_integrator) for update;
  if not found then return 'unknown'; end if;
  if not v_key.active then return 'already_inactive'; end if;
  if p_integrator is not null and v_key.scoped_firm_id is null and not exists (
    select 1 from api_key where integrator_id = p_integrator and active and scoped_firm_id is null and id <> p_id
  ) then
    return 'last_main_key';
  end if;
  update api_key set active = false, generation = generation + 1, deactivated_at = p_now where id = p_id;
  delete from refresh_family where key_id = p_id;
  perform audit_key(p_audit, 'api_key.revoked', v_key, '{}');
  return 'deactivated';
end $$;

-- Ends a firm's key and makes its successor, which has the same scopes, allowlist and name. Answers 'rotated', 'changed'
-- when the key is not what the caller believes it is any more, or 'not_a_firm_key'.
create function rotate_api_key(
  p_id uuid, p_generation integer, p_new_id uuid, p_prefix text, p_secret_sha256 bytea, p_now timestamptz, p_audit jsonb
) returns text language plpgsql as $$
declare
  v_key api_key;
begin
  select * into v_key from api_key where id = p_id for update;
  if not found or not v_key.active or v_key.generation <> p_generation then return 'changed'; end if;
  if v_key.firm_id is null then return 'not_a_firm_key'; end if;
  update api_key set active = false, generation = generation + 1, deactivated_at = p_now where id = p_id;
  delete from refresh_family where key_id = p_id;
  insert into api_key (id, key_type, firm_id, prefix, secret_sha256, scopes, ip_allowlist, active, name, created_at)
    values (p_new_id, v_key.key_type, v_key.firm_id, p_prefix, p_secret_sha256, v_key.scopes, v_key.ip_allowlist, true, v_key.name, p_now);
  perform audit_key(p_audit, 'api_key.rotated', v_key, jsonb_build_object('successor', p_new_id));
  return 'rotated';
end $$;

-- Withdraws a firm's consent: the binding ends, keys made for that firm end, and tokens born before never work for it again.
-- Answers whether there was a binding to withdraw.
drop function revoke_firm_binding(uuid, uuid, timestamptz);
create function revoke_firm_binding(p_integrator uuid, p_firm uuid, p_now timestamptz, p_audit jsonb default null)
returns boolean language plpgsql as $$
declare
  v_generation integer;
  v_keys uuid[];
begin
  perform 1 from integrator where id = p_integrator for update;
  perform 1 from firm_binding where integrator_id = p_integrator and firm_id = p_firm and state <> 'revoked' for update;
  if not found then return false; end if;
  update integrator set binding_generation = binding_generation + 1 where id = p_integrator returning binding_generation into v_generation;
  update firm_binding set state = 'revoked', revoked_generation = v_generation, updated_at = p_now
    where integrator_id = p_integrator and firm_id = p_firm;
  with ended as (
    update api_key set active = false, generation = generation + 1, deactivated_at = p_now
      where integrator_id = p_integrator and scoped_firm_id = p_firm and active returning id
  )
  select coalesce(array_agg(id), '{}') into v_keys from ended;
  delete from refresh_family where key_id = any (v_keys);
  perform append_audit(p_audit, 'consent.revoked', p_firm, p_integrator, 'firm', p_firm::text, jsonb_build_object('keys', v_keys));
  return true;
end $$;

-- Starts a refresh family for a key that is still what the caller believes it is; false when it has changed meanwhile.
-- The key's row is locked, so that its families are counted by one at a time; the oldest beyond p_families_max end.
drop function open_refresh_family(bytea, bytea, uuid, integer, text[], timestamptz, timestamptz, integer);
create function open_refresh_family(
  p_family bytea, p_current bytea, p_key uuid, p_generation integer, p_scopes text[], p_now timestamptz, p_expires timestamptz,
  p_families_max integer, p_audit jsonb default null
) returns boolean language plpgsql as $$
declare
  v_key api_key;
begin
  update api_key set last_used_at = greatest(last_used_at, p_now) where id = p_key and active and generation = p_generation
    returning * into v_key;
  if not found then return false; end if;
  insert into refresh_family (family_sha256, current_sha256, key_id, generation, scopes, created_at, expires_at)
    values (p_family, p_current, p_key, p_generation, p_scopes, p_now, p_expires);
  delete from refresh_family where family_sha256 in (
    select family_sha256 from refresh_family where key_id = p_key order by created_at desc, family_sha256 offset p_families_max);
  perform audit_key(p_audit, 'jwt.issued', v_key, jsonb_build_object('scopes', p_scopes));
  return true;
end $$;

-- Consumes a refresh token and puts its successor in one move. Any number of concurrent callers with one token have one
-- success; whoever presents a token that is not the newest of its family ends the family.
drop function rotate_refresh_family(bytea, bytea, bytea, integer, timestamptz, timestamptz);
create function rotate_refresh_family(
  p_family bytea, p_old bytea, p_new bytea, p_generation integer, p_now timestamptz, p_expires timestamptz,
  p_audit jsonb default null
) returns boolean language plpgsql as $$
declare
  v_key_id uuid;
  v_rotated boolean;
  v_key api_key;
begin
  update refresh_family f set current_sha256 = p_new, expires_at = p_expires
    where f.family_sha256 = p_family and f.current_sha256 = p_old and f.expires_at > p_now and f.generation = p_generation
      and exists (select 1 from api_key k where k.id = f.key_id and k.active and k.generation = p_generation)
    returning f.key_id into v_key_id;
  v_rotated := found;
  if not v_rotated then
    delete from refresh_family where family_sha256 = p_family returning key_id into v_key_id;
    if not found then return false; end if;
  end if;
  select * into v_key from api_key where id = v_key_id;
  perform audit_key(p_audit, case when v_rotated then 'jwt.renewed' else 'refresh.reused' end, v_key, '{}');
  return v_rotated;
end $$;

-- Ends a login before its time. Answers whether there was one.
create function end_refresh_family(p_family bytea, p_audit jsonb) returns boolean language plpgsql as $$
declare
  v_key_id uuid;
  v_key api_key;
begin
  delete from refresh_family where family_sha256 = p_family returning key_id into v_key_id;
  if not found then return false; end if;
  select * into v_key from api_key where id = v_key_id;
  perform audit_key(p_audit, 'refresh.revoked', v_key, '{}');
  return true;
end $$;

-- Blocks an access token for the rest of its life. Safe to repeat.
create function revoke_access_token(p_jti uuid, p_key uuid, p_expires timestamptz, p_audit jsonb) returns void language plpgsql as $$
declare
  v_key api_key;
begin
  insert into revoked_token (jti, expires_at) values (p_jti, p_expires) on conflict (jti) do nothing;
  if not found then return; end if;
  select * into v_key from api_key where id = p_key;
  if found then perform audit_key(p_audit, 'jwt.revoked', v_key, jsonb_build_object('jti', p_jti)); end if;
end $$;

-- Puts a key's allowlist. Answers whether there is such an active key.
create function replace_ip_allowlist(p_key uuid, p_entries text[], p_audit jsonb) returns boolean language plpgsql as $$
declare
  v_key api_key;
begin
  update api_key set ip_allowlist = p_entries where id = p_key and active returning * into v_key;
  if not found then return false; end if;
  perform audit_key(p_audit, 'api_key.allowlist_changed', v_key, jsonb_build_object('entries', p_entries));
  return true;
end $$;
