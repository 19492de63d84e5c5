-- Plans of the functions that every document passes are made once for a connection. Left to itself Postgres plans an array
-- of two elements anew each time, because it takes an unknown one for ten and thinks a plan for two the cheaper one; what
-- planning costs it counts for next to nothing. Measured with both access points in one engine: 2.1 of 4.9 ms of Postgres
-- for a delivered document were plans; 2.9 ms in all are left. None of these functions is told by a parameter how much of a table
-- it reads: their statements look rows up by keys, so that one plan serves all. A function that is replaced loses the
-- setting, which says nothing of the functions and triggers that it calls: they run under it.
alter function accept_documents set plan_cache_mode = force_generic_plan;
alter function receive_businesses set plan_cache_mode = force_generic_plan;
alter function end_attempts set plan_cache_mode = force_generic_plan;
alter function append_evidence set plan_cache_mode = force_generic_plan;
alter function due_lanes set plan_cache_mode = force_generic_plan;

-- The two functions of a claim are functions of plpgsql now: before PostgreSQL 18 one of SQL is planned at each call.

create or replace function take_attempt(
  p_id uuid, p_owner text, p_lease_ms integer
) returns table (
  id uuid, firm_id uuid, sender text, receiver text, document_type_id text, process_id text, status text, version
  integer, attempt integer, answers integer, faults integer, as4_message_id text, sbdh_instance_id uuid, facts jsonb,
  created_at timestamptz, payload_key_id text, payload_sealed bytea, payload_bytes integer
) language plpgsql volatile set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
  return query
  with taken as (
    update document as d
    set attempts = d.attempts + 1, version = d.version + 1, lease_owner = p_owner, attempted_at = clock_timestamp(),
      lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond'
    from document as before
    where d.id = p_id and before.id = d.id and document_is_open(d.status) and d.next_attempt_at <= clock_timestamp()
      and (d.lease_until is null or d.lease_until < clock_timestamp())
    returning d.*, before.lease_owner as owner_before, before.attempted_at as attempted_before
  ), cut as (
    insert into document_attempt (document_id, number, owner, started_at, finished_at, outcome, retryable)
    select taken.id, taken.attempts - 1, taken.owner_before, coalesce(taken.attempted_before, clock_timestamp()),
      clock_timestamp(), 'cut', true
    from taken where taken.owner_before is not null and taken.attempts > 1
    on conflict (document_id, number) do nothing
  )
  select taken.id, taken.firm_id, taken.sender, taken.receiver, taken.document_type_id, taken.process_id, taken.status,
    taken.version, taken.attempts, taken.answers, taken.faults, taken.as4_message_id, taken.sbdh_instance_id,
    taken.facts, case when taken.staged is null then taken.created_at else taken.staged_at end, payload.key_id, payload.sealed,
    payload.bytes
  from taken join payload on payload.document_id = taken.id;
end
$$;

create or replace function claim_documents(
  p_firm_id uuid[], p_receiver_key text[], p_count integer[], p_owner text, p_lease_ms integer, p_bytes_max bigint,
  p_one boolean
) returns table (
  id uuid, firm_id uuid, sender text, receiver text, document_type_id text, process_id text, status text, version
  integer, attempt integer, answers integer, faults integer, as4_message_id text, sbdh_instance_id uuid, facts jsonb,
  created_at timestamptz, payload_key_id text, payload_sealed bytea, payload_bytes integer
) language plpgsql volatile set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
  return query
  with candidate as (
    select c.id, lane.n as lane
    from unnest(p_firm_id, p_receiver_key, p_count) with ordinality as lane (firm_id, receiver_key, count, n)
    cross join lateral (
      select d.id from document as d
      where d.firm_id = lane.firm_id and d.receiver_key = lane.receiver_key and d.next_attempt_at <= now()
        and (d.lease_until is null or d.lease_until < now())
      order by d.next_attempt_at limit lane.count
      for update skip locked
    ) as c
  ), ranked as (
    select c.id, row_number() over (partition by c.lane) as rank, c.lane from candidate as c
  ), weighed as (
    select r.id, row_number() over w as n, sum(p.bytes) over w as octets
    from ranked as r join payload as p on p.document_id = r.id
    window w as (order by r.rank, r.lane rows between unbounded preceding and current row)
  )
  select a.* from (select w.id from weighed as w where w.octets <= p_bytes_max or (p_one and w.n = 1) order by w.id) as w
  cross join lateral take_attempt(w.id, p_owner, p_lease_ms) as a;
end
$$;
