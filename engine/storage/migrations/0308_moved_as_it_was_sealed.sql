-- A payload leaves the database only as it was read: one that was sealed again meanwhile has the same length, and was named with its
-- new key beside octets of the old one, which nobody opens. An object of which nothing was taken is left over.
create function move_payloads_of(
  p_object text, p_ids uuid[], p_key_ids text[], p_offsets integer[], p_lengths integer[]
) returns integer language plpgsql as $$
declare
  v_moved integer;
begin
  with gone as (
    delete from payload as p using unnest(p_ids, p_key_ids, p_offsets, p_lengths) as m (id, key_id, byte_offset, byte_length)
    where p.document_id = m.id and p.key_id = m.key_id and octet_length(p.sealed) = m.byte_length
    returning p.document_id, p.key_id, p.bytes, m.byte_offset, m.byte_length
  ), moved as (
    insert into payload_moved (document_id, key_id, bytes, object, byte_offset, byte_length)
    select gone.document_id, gone.key_id, gone.bytes, p_object, gone.byte_offset, gone.byte_length from gone
    returning 1
  )
  select count(*) into v_moved from moved;
  if v_moved = 0 then
    insert into payload_leftover (object) values (p_object) on conflict (object) do nothing;
  end if;
  return v_moved;
end $$;
