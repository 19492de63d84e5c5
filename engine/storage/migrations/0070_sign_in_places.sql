-- Where a person has signed in before. Codes that are asked for there are counted apart from those that strangers ask for, so
-- that a stranger's flood does not keep a person waiting who comes from a place of theirs.

-- A digest of the network address and the person's address; it is known only after a right code has come from there.
create table sign_in_place (
  address_sha256 bytea not null check (octet_length(address_sha256) = 32),
  place_sha256   bytea not null check (octet_length(place_sha256) = 32),
  seen_at        timestamptz not null,
  primary key (address_sha256, place_sha256)
);
create index sign_in_place_age on sign_in_place (seen_at);

-- The known place from which a code was asked for; null for every other.
alter table sign_in add column place_sha256 bytea check (octet_length(place_sha256) = 32);

drop function start_sign_in(bytea, text, bytea, bytea, timestamptz, timestamptz, interval, integer);
drop function finish_sign_in(bytea, bytea, timestamptz, integer, bytea, timestamptz, integer);

-- Notes that a code was asked for. Answers the address to send it to, or null where nobody has the address or too many
-- codes were sent to it, for each known place and for all others together; either way one row is written.
create function start_sign_in(
  p_visit bytea, p_email text, p_address bytea, p_place bytea, p_code bytea, p_now timestamptz, p_expires timestamptz,
  p_window interval, p_codes_max integer, p_known interval
) returns text language plpgsql as $$
declare
  v_person uuid;
  v_place bytea;
  v_sent integer;
begin
  -- Two that ask at once for one address take turns, so that the bound on codes holds.
  perform pg_advisory_xact_lock(hashtextextended(encode(p_address, 'hex'), 0));
  select id into v_person from person where email = p_email;
  select place_sha256 into v_place from sign_in_place
    where address_sha256 = p_address and place_sha256 = p_place and seen_at > p_now - p_known;
  select count(*) into v_sent from sign_in
    where address_sha256 = p_address and created_at > p_now - p_window and place_sha256 is not distinct from v_place;
  if v_sent >= p_codes_max then v_person := null; end if;
  insert into sign_in (visit_sha256, address_sha256, place_sha256, person_id, code_hmac, created_at, expires_at)
    values (p_visit, p_address, v_place, v_person, p_code, p_now, p_expires);
  return case when v_person is null then null else p_email end;
end $$;

-- Compares a code. The right one opens a session, ends the code and makes the place known; each wrong one costs a try.
create function finish_sign_in(
  p_visit bytea, p_place bytea, p_code bytea, p_now timestamptz, p_tries_max integer, p_session bytea,
  p_expires timestamptz, p_sessions_max integer, p_places_max integer
) returns text language plpgsql as $$
declare
  v_person uuid;
  v_address bytea;
  v_right boolean;
  v_tries integer;
begin
  update sign_in set tries = tries + 1
    where visit_sha256 = p_visit and tries < p_tries_max and expires_at > p_now
    returning person_id, address_sha256, person_id is not null and code_hmac = p_code, tries
    into v_person, v_address, v_right, v_tries;
  if not found then return 'used_up'; end if;
  if not v_right then return case when v_tries >= p_tries_max then 'used_up' else 'wrong' end; end if;
  update sign_in set expires_at = p_now where visit_sha256 = p_visit;
  insert into person_session (token_sha256, person_id, created_at, seen_at, expires_at)
    values (p_session, v_person, p_now, p_now, p_expires);
  delete from person_session where token_sha256 in (
    select token_sha256 from person_session where person_id = v_person
    order by created_at desc, token_sha256 offset p_sessions_max);
  insert into sign_in_place (address_sha256, place_sha256, seen_at) values (v_address, p_place, p_now)
    on conflict (address_sha256, place_sha256) do update set seen_at = excluded.seen_at;
  delete from sign_in_place where address_sha256 = v_address and place_sha256 in (
    select place_sha256 from sign_in_place where address_sha256 = v_address
    order by seen_at desc, place_sha256 offset p_places_max);
  return 'signed_in';
end $$;
