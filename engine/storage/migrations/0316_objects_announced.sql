-- An object of the payload store is announced before it is stored: one whose process ended before a row named it is found and goes.
create table payload_announced (
  object text primary key,
  announced_at timestamptz not null
);

-- Payloads are moved to an object only while it is announced. One that was given up meanwhile is removed, and takes none; whoever
-- stored it late leaves it over.
create function move_announced_payloads(
  p_object text, p_ids uuid[], p_key_ids text[], p_offsets integer[], p_lengths integer[]
) returns integer language plpgsql as $$
begin
  delete from payload_announced where object = p_object;
  if not found then
    insert into payload_leftover (object) values (p_object) on conflict (object) do nothing;
    return 0;
  end if;
  return move_payloads_of(p_object, p_ids, p_key_ids, p_offsets, p_lengths);
end $$;
