-- Which participants the network finds at our SMP: what the SML was asked, what it answered, and what nobody knows.

-- manual_review: it was asked and nobody knows whether it did it; a person or DNS has to say. operation_id: what is being
-- asked just now; one that is left behind by a process that died is asked about, never repeated. The migration key is
-- sealed, and stored before the SML hears of it.
create table registration (
  participant_key text primary key check (participant_key = lower(participant_key)),
  participant text not null,
  smp_id text not null,
  state text not null check (state in ('registered', 'unregistered', 'manual_review')),
  last_operation text not null check (last_operation in ('register', 'unregister', 'prepare_migration', 'migrate')),
  -- Of the last operation: what came of it, and the SML's code.
  outcome text,
  code text,
  operation_id uuid,
  claimed_until timestamptz,
  migration_key_id text,
  migration_key_sealed bytea,
  migration_prepared_at timestamptz,
  created_at timestamptz not null,
  changed_at timestamptz not null,
  check ((operation_id is null) = (claimed_until is null)),
  check ((migration_key_id is null) = (migration_key_sealed is null)),
  check (migration_prepared_at is null or migration_key_sealed is not null)
);
create index registration_state on registration (state, participant_key);

-- Everything that was asked and decided, in order.
create table registration_operation (
  id uuid primary key,
  position bigint not null generated always as identity,
  participant_key text not null references registration (participant_key),
  operation text not null check (operation in ('register', 'unregister', 'prepare_migration', 'migrate', 'check', 'settle')),
  started_at timestamptz not null,
  ended_at timestamptz,
  outcome text,
  code text,
  state text,
  check ((ended_at is null) = (outcome is null))
);
create index registration_operation_participant on registration_operation (participant_key, position);

-- Claims a participant for one operation, or says why not. begun: ask the SML now; a migration key is the one to use.
-- settled: it is done already. busy: another process is asking. in_review: nobody knows what the last one did.
-- not_registered: there is nothing to migrate.
create function begin_registration(
  p_key text, p_participant text, p_smp_id text, p_operation text, p_id uuid, p_now timestamptz, p_lease_ms integer,
  p_migration_key_id text, p_migration_key_sealed bytea
) returns table (verdict text, migration_key_id text, migration_key_sealed bytea)
language plpgsql volatile as $$
declare
  r registration;
  fresh boolean;
  repeats boolean;
begin
  insert into registration (participant_key, participant, smp_id, state, last_operation, created_at, changed_at)
  values (p_key, p_participant, p_smp_id, 'unregistered', p_operation, p_now, p_now)
  on conflict (participant_key) do nothing;
  fresh := found;
  select * into r from registration as g where g.participant_key = p_key for update;
  if r.operation_id is not null and r.claimed_until > clock_timestamp() then
    return query select 'busy', null::text, null::bytea;
    return;
  end if;
  if r.operation_id is not null then
    update registration_operation as o set ended_at = p_now, outcome = 'interrupted', state = 'manual_review' where o.id = r.operation_id;
    update registration as g
    set state = 'manual_review', outcome = 'interrupted', code = null, operation_id = null, claimed_until = null, changed_at = p_now
    where g.participant_key = p_key returning g.* into r;
  end if;
  -- The same key asked for again gives the same migration, whatever the first time did.
  repeats := p_operation = 'prepare_migration' and r.last_operation = 'prepare_migration' and r.migration_key_sealed is not null;
  if r.state = 'manual_review' and not repeats then
    return query select 'in_review', null::text, null::bytea;
    return;
  end if;
  if p_operation = 'prepare_migration' and r.state = 'unregistered' then
    return query select 'not_registered', null::text, null::bytea;
    return;
  end if;
  if (p_operation in ('register', 'migrate') and r.state = 'registered')
    or (p_operation = 'unregister' and r.state = 'unregistered' and not fresh)
    or (p_operation = 'prepare_migration' and r.migration_prepared_at is not null) then
    return query select 'settled', r.migration_key_id, r.migration_key_sealed;
    return;
  end if;
  insert into registration_operation (id, participant_key, operation, started_at) values (p_id, p_key, p_operation, p_now);
  update registration as g
  set last_operation = p_operation, smp_id = p_smp_id, operation_id = p_id, claimed_until = clock_timestamp() + p_lease_ms * interval '1 millisecond',
    migration_key_id = case when repeats or p_operation <> 'prepare_migration' then g.migration_key_id else p_migration_key_id end,
    migration_key_sealed = case when repeats or p_operation <> 'prepare_migration' then g.migration_key_sealed else p_migration_key_sealed end,
    changed_at = p_now
  where g.participant_key = p_key returning g.* into r;
  return query select 'begun', r.migration_key_id, r.migration_key_sealed;
end
$$;

-- Writes what came of an operation. p_state null leaves the state that was before. No row: it was taken for interrupted meanwhile.
create function end_registration(p_key text, p_id uuid, p_state text, p_outcome text, p_code text, p_now timestamptz) returns table (state text)
language plpgsql volatile as $$
declare
  ended registration;
begin
  update registration as g
  set state = coalesce(p_state, g.state), outcome = p_outcome, code = p_code, operation_id = null, claimed_until = null, changed_at = p_now,
    migration_prepared_at = case when coalesce(p_state, g.state) = 'unregistered' then null when g.last_operation = 'prepare_migration' and p_outcome = 'done' then p_now else g.migration_prepared_at end,
    migration_key_id = case when coalesce(p_state, g.state) = 'unregistered' or (g.last_operation = 'prepare_migration' and p_outcome = 'refused') then null else g.migration_key_id end,
    migration_key_sealed = case when coalesce(p_state, g.state) = 'unregistered' or (g.last_operation = 'prepare_migration' and p_outcome = 'refused') then null else g.migration_key_sealed end
  where g.participant_key = p_key and g.operation_id = p_id
  returning g.* into ended;
  if not found then return; end if;
  update registration_operation as o set ended_at = p_now, outcome = p_outcome, code = p_code, state = ended.state where o.id = p_id;
  return query select ended.state;
end
$$;

-- Writes what DNS (check) or a person (settle) says of a participant, unless something is being asked just now. No row: it is, or
-- the state is another than was looked at.
create function settle_registration(p_key text, p_id uuid, p_operation text, p_from text, p_state text, p_outcome text, p_now timestamptz) returns table (state text)
language plpgsql volatile as $$
begin
  update registration as g
  set state = p_state, outcome = p_outcome, code = null, operation_id = null, claimed_until = null, changed_at = p_now,
    migration_prepared_at = case when p_state = 'unregistered' then null else g.migration_prepared_at end,
    migration_key_id = case when p_state = 'unregistered' then null else g.migration_key_id end,
    migration_key_sealed = case when p_state = 'unregistered' then null else g.migration_key_sealed end
  where g.participant_key = p_key and g.state = p_from and (g.operation_id is null or g.claimed_until <= clock_timestamp());
  if not found then return; end if;
  update registration_operation as o set ended_at = p_now, outcome = 'interrupted', state = p_state where o.participant_key = p_key and o.ended_at is null;
  insert into registration_operation (id, participant_key, operation, started_at, ended_at, outcome, state)
  values (p_id, p_key, p_operation, p_now, p_now, p_outcome, p_state);
  return query select p_state;
end
$$;
