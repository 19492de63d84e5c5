-- People: who signs in for a firm or an integrator, with which one-time code, and until when.

-- email: in lower case, as codes are sent to it.
create table person (
  id         uuid primary key,
  email      text not null unique check (email = lower(email) and char_length(email) between 3 and 254),
  created_at timestamptz not null
);

-- A person's office: owner or admin of a firm, or admin of an integrator.
create table membership (
  person_id     uuid not null references person (id),
  firm_id       uuid references firm (id),
  integrator_id uuid references integrator (id),
  role          text not null check (role in ('owner', 'admin')),
  created_at    timestamptz not null,
  check ((firm_id is null) <> (integrator_id is null)),
  check (integrator_id is null or role = 'admin')
);
create unique index membership_firm on membership (person_id, firm_id) where firm_id is not null;
create unique index membership_integrator on membership (person_id, integrator_id) where integrator_id is not null;
create index membership_of_firm on membership (firm_id) where firm_id is not null;
create index membership_of_integrator on membership (integrator_id) where integrator_id is not null;

-- One row for each time that somebody asked for a code, whether the address is known or not; a code is good in the browser
-- that asked for it. person_id is null where no code was sent: such a row never lets anybody in, and costs as much.
create table sign_in (
  visit_sha256   bytea primary key check (octet_length(visit_sha256) = 32),
  address_sha256 bytea not null check (octet_length(address_sha256) = 32),
  person_id      uuid references person (id),
  code_hmac      bytea not null check (octet_length(code_hmac) = 32),
  tries          integer not null default 0,
  created_at     timestamptz not null,
  expires_at     timestamptz not null
);
create index sign_in_address on sign_in (address_sha256, created_at);
create index sign_in_age on sign_in (created_at);
create index sign_in_person on sign_in (person_id) where person_id is not null;

create table person_session (
  token_sha256 bytea primary key check (octet_length(token_sha256) = 32),
  person_id    uuid not null references person (id),
  created_at   timestamptz not null,
  seen_at      timestamptz not null,
  expires_at   timestamptz not null
);
create index person_session_person on person_session (person_id, created_at);
create index person_session_expiry on person_session (expires_at);

-- Notes that a code was asked for. Answers the address to send it to, or null where nobody has the address or too many
-- codes were sent to it; either way one row is written.
create function start_sign_in(
  p_visit bytea, p_email text, p_address bytea, p_code bytea, p_now timestamptz, p_expires timestamptz, p_window interval,
  p_codes_max integer
) returns text language plpgsql as $$
declare
  v_person uuid;
  v_sent integer;
begin
  -- Two that ask at once for one address take turns, so that the bound on codes holds.
  perform pg_advisory_xact_lock(hashtextextended(encode(p_address, 'hex'), 0));
  select id into v_person from person where email = p_email;
  select count(*) into v_sent from sign_in where address_sha256 = p_address and created_at > p_now - p_window;
  if v_sent >= p_codes_max then v_person := null; end if;
  insert into sign_in (visit_sha256, address_sha256, person_id, code_hmac, created_at, expires_at)
    values (p_visit, p_address, v_person, p_code, p_now, p_expires);
  return case when v_person is null then null else p_email end;
end $$;

-- Compares a code. The right one opens a session and ends the code; each wrong one costs a try.
create function finish_sign_in(
  p_visit bytea, p_code bytea, p_now timestamptz, p_tries_max integer, p_session bytea, p_expires timestamptz,
  p_sessions_max integer
) returns text language plpgsql as $$
declare
  v_person uuid;
  v_right boolean;
  v_tries integer;
begin
  update sign_in set tries = tries + 1
    where visit_sha256 = p_visit and tries < p_tries_max and expires_at > p_now
    returning person_id, person_id is not null and code_hmac = p_code, tries into v_person, v_right, v_tries;
  if not found then return 'used_up'; end if;
  if not v_right then return case when v_tries >= p_tries_max then 'used_up' else 'wrong' end; end if;
  update sign_in set expires_at = p_now where visit_sha256 = p_visit;
  insert into person_session (token_sha256, person_id, created_at, seen_at, expires_at)
    values (p_session, v_person, p_now, p_now, p_expires);
  delete from person_session where token_sha256 in (
    select token_sha256 from person_session where person_id = v_person
    order by created_at desc, token_sha256 offset p_sessions_max);
  return 'signed_in';
end $$;

-- Gives a person an office, and makes the person where the address is new. Safe to repeat; a later role takes the place of an
-- earlier one.
create function put_member(
  p_person uuid, p_email text, p_firm uuid, p_integrator uuid, p_role text, p_now timestamptz
) returns text language plpgsql as $$
declare
  v_person uuid;
begin
  if p_firm is not null and not exists (select 1 from firm where id = p_firm) then return 'owner_unknown'; end if;
  if p_integrator is not null and not exists (select 1 from integrator where id = p_integrator) then
    return 'owner_unknown';
  end if;
  insert into person (id, email, created_at) values (p_person, p_email, p_now)
    on conflict (email) do update set email = excluded.email returning id into v_person;
  if p_firm is not null then
    insert into membership (person_id, firm_id, role, created_at) values (v_person, p_firm, p_role, p_now)
      on conflict (person_id, firm_id) where firm_id is not null do update set role = excluded.role;
  else
    insert into membership (person_id, integrator_id, role, created_at) values (v_person, p_integrator, p_role, p_now)
      on conflict (person_id, integrator_id) where integrator_id is not null do nothing;
  end if;
  return 'put';
end $$;
