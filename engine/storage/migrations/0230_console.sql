-- Operators at the console: who is signed in, and what a node says of itself.

-- token_hmac: the cookie's token under the operators' token, so that another operators' token ends every session. id: names
-- the session in the record of changes.
create table console_session (
  token_hmac bytea primary key check (octet_length(token_hmac) = 32),
  id         uuid not null unique,
  created_at timestamptz not null,
  seen_at    timestamptz not null,
  expires_at timestamptz not null
);
create index console_session_expiry on console_session (expires_at);

-- Opens a session; of more than p_max the oldest end.
create function open_console_session(p_token bytea, p_id uuid, p_now timestamptz, p_expires timestamptz, p_max integer)
returns void language plpgsql as $$
begin
  -- Two that sign in at once take turns, so that the bound holds.
  perform pg_advisory_xact_lock(hashtextextended('console sessions', 0));
  insert into console_session (token_hmac, id, created_at, seen_at, expires_at) values (p_token, p_id, p_now, p_now, p_expires);
  delete from console_session where token_hmac in (
    select token_hmac from console_session order by created_at desc, token_hmac offset p_max);
end $$;

-- Version, role and rates of a process; null of a release that says nothing of itself.
alter table node add column facts jsonb;

-- Endpoints that fail are few: those that work are not looked at to find them.
create index webhook_endpoint_failing on webhook_endpoint (failures desc) where failures > 0;

-- Requests that wait for somebody.
create index onboarding_waiting on onboarding_request (created_at) where status in ('awaiting_pfs', 'action_required');

-- What operators did at the console; of no tenant, so that no tenant's index has it.
create index audit_entry_operator on audit_entry (position desc) where firm_id is null and integrator_id is null;
