-- As before, but what is due is no part of an index condition: where statistics are of an hour in which nothing was due, the
-- index of what is due looks shorter than the primary key, and each document that was taken read all that were due.

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
    where d.id = p_id and before.id = d.id and document_is_open(d.status)
      and case when d.next_attempt_at <= clock_timestamp() then true end
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

create or replace function hasten_document(p_id uuid) returns table (version integer)
language sql volatile as $$
  update document as d set next_attempt_at = clock_timestamp(), version = d.version + 1
  where d.id = p_id and case when d.next_attempt_at > clock_timestamp() then true end
    and (d.lease_until is null or d.lease_until < clock_timestamp())
  returning d.version
$$;
