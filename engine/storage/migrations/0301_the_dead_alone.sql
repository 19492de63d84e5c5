-- What the dead held is freed without a word of who frees it: the row of its own sign of life, held until all of that is freed, kept
-- its next signs waiting, and so let others take it for dead.
create function free_dead(p_owner text, p_dead_ms integer) returns integer
language plpgsql as $$
declare
  v_silent_since timestamptz := clock_timestamp() - p_dead_ms * interval '1 millisecond';
  v_dead text[];
  v_documents integer;
  v_messages integer;
  v_duties integer;
begin
  perform 1 from dispatcher as d where d.owner = p_owner and d.heard_since <= v_silent_since;
  if not found then return 0; end if;
  with gone as (
    delete from dispatcher as d where d.owner <> p_owner and d.seen_at < v_silent_since returning d.owner
  )
  select array_agg(gone.owner) into v_dead from gone;
  if v_dead is null then return 0; end if;
  update document as d set lease_until = '-infinity', version = d.version + 1
  where d.next_attempt_at is not null and d.lease_owner = any (v_dead) and d.lease_until > '-infinity';
  get diagnostics v_documents = row_count;
  update service_message as m set lease_owner = null, lease_until = null, version = m.version + 1
  where m.next_attempt_at is not null and m.lease_owner = any (v_dead);
  get diagnostics v_messages = row_count;
  update mls_duty as d set lease_owner = null, lease_until = null
  where d.next_at is not null and d.lease_until is not null and d.lease_owner = any (v_dead);
  get diagnostics v_duties = row_count;
  return v_documents + v_messages + v_duties;
end
$$;
