-- Who may call: firms and their participants, integrators and their bindings, keys, tokens, failed attempts, rates.
-- Every change that a node may have cached is announced on the channel kurier_identity in the transaction that makes it.

create table firm (
  id            uuid primary key,
  name          text not null check (char_length(name) between 1 and 255),
  ico           text,
  dic           text,
  ic_dph        text,
  address       jsonb,
  peppol_status text not null check (peppol_status in ('not_registered', 'registered')),
  sandbox       boolean not null,
  created_at    timestamptz not null
);

-- key: the id in lower case, because the network compares participants without case. id: as it was registered.
create table participant (
  key           text primary key check (key = lower(key)),
  id            text not null check (lower(id) = key and char_length(id) between 6 and 135),
  firm_id       uuid not null references firm (id),
  registered_at timestamptz not null
);
create index participant_firm on participant (firm_id);

-- binding_generation counts withdrawn bindings; an access token carries the value of its birth.
create table integrator (
  id                    uuid primary key,
  name                  text not null check (char_length(name) between 1 and 255),
  production_authorized boolean not null,
  binding_generation    integer not null default 0,
  created_at            timestamptz not null
);

-- revoked_generation: tokens of the integrator with a smaller binding_generation never work for this firm again.
create table firm_binding (
  integrator_id      uuid not null references integrator (id),
  firm_id            uuid not null references firm (id),
  customer_ref       text check (char_length(customer_ref) between 1 and 128),
  state              text not null check (state in ('required', 'pending', 'active', 'revoked')),
  scopes             text[] not null,
  interfaces         text[] not null check (interfaces <@ array['enterprise', 'sapi', 'connector']),
  revoked_generation integer not null default 0,
  created_at         timestamptz not null,
  updated_at         timestamptz not null,
  primary key (integrator_id, firm_id),
  unique (integrator_id, customer_ref)
);
create index firm_binding_firm on firm_binding (firm_id);

-- The secret itself is nowhere: prefix is what people see, secret_sha256 is what is compared.
create table api_key (
  id             uuid primary key,
  key_type       text not null check (key_type in ('sk_live', 'sk_int')),
  firm_id        uuid references firm (id),
  integrator_id  uuid references integrator (id),
  scoped_firm_id uuid references firm (id),
  prefix         text not null unique check (char_length(prefix) between 12 and 40),
  secret_sha256  bytea not null unique check (octet_length(secret_sha256) = 32),
  scopes         text[] not null check (cardinality(scopes) >= 1),
  ip_allowlist   text[] not null check (cardinality(ip_allowlist) <= 50),
  active         boolean not null,
  generation     integer not null default 0,
  name           text check (char_length(name) <= 80),
  created_at     timestamptz not null,
  last_used_at   timestamptz,
  deactivated_at timestamptz,
  check ((key_type = 'sk_live') = (firm_id is not null)),
  check ((key_type = 'sk_int') = (integrator_id is not null)),
  check (scoped_firm_id is null or key_type = 'sk_int'),
  check (scoped_firm_id is null or not scopes @> array['keys:manage']),
  check (active = (deactivated_at is null))
);
create index api_key_firm on api_key (firm_id) where firm_id is not null;
create index api_key_integrator on api_key (integrator_id, scoped_firm_id) where integrator_id is not null;

-- One row a login. A refresh token names its family and carries a secret; only the newest secret of a family is good.
create table refresh_family (
  family_sha256  bytea primary key check (octet_length(family_sha256) = 32),
  current_sha256 bytea not null check (octet_length(current_sha256) = 32),
  key_id         uuid not null references api_key (id),
  generation     integer not null,
  scopes         text[] not null,
  created_at     timestamptz not null,
  expires_at     timestamptz not null
);
create index refresh_family_key on refresh_family (key_id, created_at);
create index refresh_family_expiry on refresh_family (expires_at);

create table revoked_token (
  jti        uuid primary key,
  expires_at timestamptz not null
);
create index revoked_token_expiry on revoked_token (expires_at);

-- seq makes two nodes that rotate at once produce one key. private_sealed opens with the master key master_key_id.
create table signing_key (
  kid            text primary key,
  seq            integer not null unique,
  alg            text not null check (alg = 'EdDSA'),
  public_jwk     jsonb not null,
  private_sealed bytea not null,
  master_key_id  text not null,
  published_at   timestamptz not null,
  signs_from     timestamptz not null,
  signs_until    timestamptz not null check (signs_until > signs_from),
  retired_at     timestamptz
);

-- Failed credentials by slot, a hash of the client: whatever names attackers invent, the table has at most 2^18 rows.
create table failed_credential (
  slot      integer primary key check (slot between 0 and 262143),
  failed_at timestamptz[] not null check (cardinality(failed_at) <= 5)
) with (fillfactor = 70);

-- Nodes that are alive, in database time. Rates and revocation acknowledgements ask how many there are.
create unlogged table node (
  id      uuid primary key,
  seen_at timestamptz not null
);

-- Admissions of one rate key over all nodes, counted in buckets of the window; rebuilt from nothing after a crash.
create unlogged table rate_window (
  key        text primary key check (char_length(key) <= 200),
  buckets    bigint[] not null,
  admitted   integer[] not null,
  touched_at timestamptz not null,
  check (cardinality(buckets) = cardinality(admitted))
) with (fillfactor = 50);
create index rate_window_touched on rate_window (touched_at);

-- Announcements.

create function announce_api_key() returns trigger language plpgsql as $$
begin
  perform pg_notify('kurier_identity', 'key:' || new.id);
  return null;
end $$;
create trigger api_key_changed after insert or update of scopes, ip_allowlist, active, generation, scoped_firm_id, secret_sha256 on api_key
  for each row execute function announce_api_key();

create function announce_firm_binding() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    perform pg_notify('kurier_identity', 'binding:' || old.integrator_id || ':' || old.firm_id);
  else
    perform pg_notify('kurier_identity', 'binding:' || new.integrator_id || ':' || new.firm_id);
  end if;
  return null;
end $$;
create trigger firm_binding_changed after insert or update or delete on firm_binding
  for each row execute function announce_firm_binding();

create function announce_integrator() returns trigger language plpgsql as $$
begin
  perform pg_notify('kurier_identity', 'integrator:' || new.id);
  return null;
end $$;
create trigger integrator_changed after update on integrator
  for each row execute function announce_integrator();

create function announce_participant() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    perform pg_notify('kurier_identity', 'participant:' || old.key);
  else
    perform pg_notify('kurier_identity', 'participant:' || new.key);
  end if;
  return null;
end $$;
create trigger participant_changed after insert or update or delete on participant
  for each row execute function announce_participant();

create function announce_revoked_token() returns trigger language plpgsql as $$
begin
  perform pg_notify('kurier_identity', 'token:' || new.jti);
  return null;
end $$;
create trigger revoked_token_added after insert on revoked_token
  for each row execute function announce_revoked_token();

create function announce_signing_key() returns trigger language plpgsql as $$
begin
  perform pg_notify('kurier_identity', 'signing_key:' || new.kid);
  return null;
end $$;
create trigger signing_key_changed after insert or update on signing_key
  for each row execute function announce_signing_key();

-- Writes that decide. Each is one call and one transaction; parent rows are locked where a count decides.

-- Creates a key. Answers 'created', 'limit_reached', 'owner_unknown' or 'not_bound'. The integrator's row is locked while
-- its keys are counted, so that concurrent creations cannot pass the limit together.
create function create_api_key(
  p_id uuid, p_key_type text, p_firm uuid, p_integrator uuid, p_scoped_firm uuid, p_prefix text, p_secret_sha256 bytea, p_scopes text[],
  p_ip_allowlist text[], p_name text, p_now timestamptz, p_unrestricted_max integer, p_scoped_max integer
) returns text language plpgsql as $$
declare
  v_active integer;
begin
  if p_integrator is not null then
    perform 1 from integrator where id = p_integrator for update;
    if not found then return 'owner_unknown'; end if;
    if p_scoped_firm is not null then
      perform 1 from firm_binding where integrator_id = p_integrator and firm_id = p_scoped_firm and state = 'active';
      if not found then return 'not_bound'; end if;
    end if;
    select count(*) into v_active from api_key
      where integrator_id = p_integrator and active and scoped_firm_id is not distinct from p_scoped_firm;
    if v_active >= (case when p_scoped_firm is null then p_unrestricted_max else p_scoped_max end) then return 'limit_reached'; end if;
  else
    perform 1 from firm where id = p_firm;
    if not found then return 'owner_unknown'; end if;
  end if;
  insert into api_key (id, key_type, firm_id, integrator_id, scoped_firm_id, prefix, secret_sha256, scopes, ip_allowlist, active, name, created_at)
    values (p_id, p_key_type, p_firm, p_integrator, p_scoped_firm, p_prefix, p_secret_sha256, p_scopes, p_ip_allowlist, true, p_name, p_now);
  return 'created';
end $$;

-- Deactivates a key and ends its tokens. Answers 'deactivated', 'already_inactive', 'unknown' or 'last_main_key'.
create function deactivate_api_key(p_id uuid, p_integrator uuid, p_now timestamptz) returns text language plpgsql as $$
declare
  v_key api_key;
begin
  if p_integrator is not null then
    perform 1 from integrator where id = p_integrator for update;
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
  return 'deactivated';
end $$;

-- Withdraws a firm's consent: the binding ends, keys made for that firm end, and tokens born before never work for it again.
-- Answers whether there was a binding to withdraw.
create function revoke_firm_binding(p_integrator uuid, p_firm uuid, p_now timestamptz) returns boolean language plpgsql as $$
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
  return true;
end $$;

-- Starts a refresh family for a key that is still what the caller believes it is; false when it has changed meanwhile.
-- The key's row is locked, so that its families are counted by one at a time; the oldest beyond p_families_max end.
create function open_refresh_family(
  p_family bytea, p_current bytea, p_key uuid, p_generation integer, p_scopes text[], p_now timestamptz, p_expires timestamptz,
  p_families_max integer
) returns boolean language plpgsql as $$
begin
  update api_key set last_used_at = greatest(last_used_at, p_now) where id = p_key and active and generation = p_generation;
  if not found then return false; end if;
  insert into refresh_family (family_sha256, current_sha256, key_id, generation, scopes, created_at, expires_at)
    values (p_family, p_current, p_key, p_generation, p_scopes, p_now, p_expires);
  delete from refresh_family where family_sha256 in (
    select family_sha256 from refresh_family where key_id = p_key order by created_at desc, family_sha256 offset p_families_max);
  return true;
end $$;

-- Consumes a refresh token and puts its successor in one move. Any number of concurrent callers with one token have one
-- success; whoever presents a token that is not the newest of its family ends the family.
create function rotate_refresh_family(p_family bytea, p_old bytea, p_new bytea, p_generation integer, p_now timestamptz, p_expires timestamptz)
returns boolean language plpgsql as $$
begin
  update refresh_family f set current_sha256 = p_new, expires_at = p_expires
    where f.family_sha256 = p_family and f.current_sha256 = p_old and f.expires_at > p_now and f.generation = p_generation
      and exists (select 1 from api_key k where k.id = f.key_id and k.active and k.generation = p_generation);
  if found then return true; end if;
  delete from refresh_family where family_sha256 = p_family;
  return false;
end $$;

-- Records one failed attempt in a slot, unless the slot already holds the most that the window allows. Answers null when it
-- was recorded, otherwise the instant at which the oldest counted failure leaves the window.
create function record_failed_credential(
  p_slot integer, p_now timestamptz, p_window interval, p_kept interval, p_failures_max integer
) returns timestamptz language plpgsql as $$
declare
  v_failed timestamptz[];
  v_counted timestamptz[];
begin
  insert into failed_credential (slot, failed_at) values (p_slot, '{}') on conflict (slot) do nothing;
  select failed_at into v_failed from failed_credential where slot = p_slot for update;
  -- An instant ahead of this node's clock counts: clocks of nodes differ. One a whole window ahead is from a clock that was wrong.
  select coalesce(array_agg(t order by t), '{}') into v_failed from unnest(v_failed) t where t > p_now - p_kept and t < p_now + p_window;
  select coalesce(array_agg(t order by t), '{}') into v_counted from unnest(v_failed) t where t > p_now - p_window;
  if cardinality(v_counted) >= p_failures_max then
    return v_counted[cardinality(v_counted) - p_failures_max + 1] + p_window;
  end if;
  v_failed := v_failed || p_now;
  update failed_credential set failed_at = v_failed[greatest(1, cardinality(v_failed) - p_failures_max + 1):] where slot = p_slot;
  return null;
end $$;

-- Gives p_unused of the latest admissions of a key back, then admits up to p_want, in a window that all nodes share.
-- Database time decides, read when the row is locked: a caller that waited must not look at the window from before its wait.
-- p_now is for tests. A bucket counts until its last instant has left the window, so the window is never exceeded. Buckets
-- ahead of the clock, after it was set back, count too, unless they are a whole window ahead.
create function lease_rate(
  p_key text, p_want integer, p_unused integer, p_limit integer, p_window_ms integer, p_bucket_ms integer, p_now timestamptz default null
) returns table (granted integer, used integer, resets_in_ms integer) language plpgsql as $$
declare
  v_now timestamptz;
  v_now_ms bigint;
  v_bucket bigint;
  v_buckets bigint[];
  v_admitted integer[];
  v_used integer;
  v_granted integer;
begin
  insert into rate_window (key, buckets, admitted, touched_at) values (p_key, '{}', '{}', clock_timestamp()) on conflict (key) do nothing;
  select w.buckets, w.admitted into v_buckets, v_admitted from rate_window w where w.key = p_key for update;
  v_now := coalesce(p_now, clock_timestamp());
  v_now_ms := floor(extract(epoch from v_now) * 1000);
  v_bucket := v_now_ms / p_bucket_ms;
  -- What is given back is taken from the newest buckets.
  select coalesce(array_agg(r.b order by r.b), '{}'), coalesce(array_agg(r.n order by r.b), '{}'), coalesce(sum(r.n), 0)
    into v_buckets, v_admitted, v_used
    from (
      select u.b, (u.n - greatest(0, least(u.n, p_unused - coalesce(sum(u.n) over (order by u.b desc rows between unbounded preceding and 1 preceding), 0))))::integer as n
      from unnest(v_buckets, v_admitted) as u (b, n)
      where u.b >= (v_now_ms - p_window_ms) / p_bucket_ms and u.b <= (v_now_ms + p_window_ms) / p_bucket_ms
    ) r where r.n > 0;
  v_granted := greatest(0, least(p_want, p_limit - v_used));
  if v_granted > 0 then
    if cardinality(v_buckets) > 0 and v_buckets[cardinality(v_buckets)] >= v_bucket then
      v_admitted[cardinality(v_admitted)] := v_admitted[cardinality(v_admitted)] + v_granted;
    else
      v_buckets := v_buckets || v_bucket;
      v_admitted := v_admitted || v_granted;
    end if;
  end if;
  update rate_window w set buckets = v_buckets, admitted = v_admitted, touched_at = v_now where w.key = p_key;
  return query select v_granted, v_used + v_granted,
    case when cardinality(v_buckets) = 0 then 0 else ((v_buckets[1] + 1) * p_bucket_ms + p_window_ms - v_now_ms)::integer end;
end $$;
