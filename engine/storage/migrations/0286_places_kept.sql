-- Takes an attempt back that was not made because no place was free: its document rests, and keeps its place among those that are
-- due for longer than others. put_off_attempt sends it behind all that is due meanwhile, which is right where its receiver is down.
create function rest_attempt(p_id uuid, p_version integer, p_number integer, p_wait_ms bigint)
returns table (version integer)
language sql volatile as $$
  update document as d
  set attempts = d.attempts - 1, version = d.version + 1, lease_owner = null,
    lease_until = clock_timestamp() + p_wait_ms * interval '1 millisecond'
  where d.id = p_id and d.version = p_version and d.attempts = p_number
  returning d.version
$$;
