-- OAuth 2.0: programs that ask integrators for keys, and the codes that stand for an administrator's agreement.

create table oauth_client (
  id            uuid primary key,
  name          text not null check (char_length(name) between 1 and 80),
  secret_sha256 bytea not null check (octet_length(secret_sha256) = 32),
  redirect_uris text[] not null check (cardinality(redirect_uris) between 1 and 10),
  created_at    timestamptz not null
);

-- key_id: the key that the code was exchanged for. replayed_at: when the code came again; its key then ends.
create table oauth_code (
  code_sha256   bytea primary key check (octet_length(code_sha256) = 32),
  client_id     uuid not null references oauth_client (id),
  person_id     uuid not null references person (id),
  integrator_id uuid not null references integrator (id),
  redirect_uri  text not null,
  challenge     text not null check (challenge ~ '^[A-Za-z0-9_-]{43}$'),
  scopes        text[] not null check (cardinality(scopes) >= 1),
  created_at    timestamptz not null,
  expires_at    timestamptz not null,
  used_at       timestamptz,
  replayed_at   timestamptz,
  key_id        uuid references api_key (id)
);
create index oauth_code_age on oauth_code (created_at);

-- Uses a code up for the program that it was given to. Answers one row: the code's content when this was its first use and
-- the administrator still is one; otherwise outcome 'replayed', with the key that the first use gave, or 'invalid'.
create function redeem_oauth_code(p_code bytea, p_client uuid, p_now timestamptz) returns table (
  outcome text, person_id uuid, integrator_id uuid, redirect_uri text, challenge text, scopes text[], key_id uuid
) language plpgsql as $$
begin
  return query
    update oauth_code c set used_at = p_now
      where c.code_sha256 = p_code and c.client_id = p_client and c.used_at is null and c.expires_at > p_now
      returning case when exists (
          select 1 from membership m where m.person_id = c.person_id and m.integrator_id = c.integrator_id
        ) then 'redeemed' else 'invalid' end,
        c.person_id, c.integrator_id, c.redirect_uri, c.challenge, c.scopes, c.key_id;
  if found then return; end if;
  return query
    update oauth_code c set replayed_at = coalesce(c.replayed_at, p_now)
      where c.code_sha256 = p_code and c.client_id = p_client and c.used_at is not null
      returning 'replayed', c.person_id, c.integrator_id, c.redirect_uri, c.challenge, c.scopes, c.key_id;
  if found then return; end if;
  return query select 'invalid', null::uuid, null::uuid, null::text, null::text, null::text[], null::uuid;
end $$;
