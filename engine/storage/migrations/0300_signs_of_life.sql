-- A sign of life is one row, written by a statement of its own: one that also frees what the dead held may wait for their rows,
-- and where it is given up the sign is lost with it.
create function hear_dispatcher(p_owner text, p_dead_ms integer) returns boolean
language plpgsql as $$
declare
  v_silent_since timestamptz := clock_timestamp() - p_dead_ms * interval '1 millisecond';
  v_heard_since timestamptz;
begin
  insert into dispatcher as d (owner, seen_at) values (p_owner, clock_timestamp())
  on conflict (owner) do update set seen_at = excluded.seen_at,
    heard_since = case when d.seen_at < v_silent_since then excluded.seen_at else d.heard_since end
  returning d.heard_since into v_heard_since;
  return v_heard_since <= v_silent_since
    and exists (select 1 from dispatcher as d where d.owner <> p_owner and d.seen_at < v_silent_since);
end
$$;
