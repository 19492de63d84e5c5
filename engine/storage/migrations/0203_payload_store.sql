-- Payloads that have left the database for the payload store: where they are.
create table payload_moved (
  document_id uuid primary key,
  key_id text not null,
  bytes integer not null,
  object text not null,
  byte_offset integer not null check (byte_offset >= 0),
  byte_length integer not null check (byte_length > 0)
);
create index payload_moved_object on payload_moved (object);

-- Objects from which a payload was removed; they go when the last one was.
create table payload_leftover (object text primary key);

-- Every payload, wherever it is.
create view stored_payload as
  select document_id, key_id, bytes, sealed, null::text as object, null::integer as byte_offset, null::integer as byte_length from payload
  union all
  select document_id, key_id, bytes, null::bytea, object, byte_offset, byte_length from payload_moved;

create function leave_payload_object() returns trigger language plpgsql as $$
begin
  insert into payload_leftover (object) select distinct object from gone on conflict do nothing;
  return null;
end $$;
create trigger payload_moved_gone after delete on payload_moved referencing old table as gone
  for each statement execute function leave_payload_object();

-- Puts the places of payloads in an object in the place of their octets. Answers how many there were to move.
create function move_payloads(p_object text, p_ids uuid[], p_offsets integer[], p_lengths integer[]) returns integer language sql volatile as $$
  with gone as (
    delete from payload as p using unnest(p_ids, p_offsets, p_lengths) as m (id, byte_offset, byte_length)
    where p.document_id = m.id and octet_length(p.sealed) = m.byte_length
    returning p.document_id, p.key_id, p.bytes, m.byte_offset, m.byte_length
  ), moved as (
    insert into payload_moved (document_id, key_id, bytes, object, byte_offset, byte_length)
    select document_id, key_id, bytes, p_object, byte_offset, byte_length from gone
    returning 1
  )
  select count(*)::integer from moved
$$;

-- As before, with what was moved.
create or replace function remove_documents(p_ids uuid[]) returns integer language plpgsql as $$
declare
  v_gone integer;
begin
  delete from payload where document_id = any (p_ids);
  delete from payload_moved where document_id = any (p_ids);
  delete from document_attempt where document_id = any (p_ids);
  delete from document_history where document_id = any (p_ids);
  delete from document_mark where document_id = any (p_ids);
  delete from document_event where document_id = any (p_ids);
  delete from document where id = any (p_ids);
  get diagnostics v_gone = row_count;
  return v_gone;
end $$;

create or replace function remove_received(p_ids uuid[]) returns integer language plpgsql as $$
declare
  v_gone integer;
begin
  delete from payload where document_id = any (p_ids);
  delete from payload_moved where document_id = any (p_ids);
  delete from document_mark where document_id = any (p_ids);
  delete from document_event where document_id = any (p_ids);
  delete from mls_duty where id = any (p_ids);
  delete from received_document where id = any (p_ids);
  get diagnostics v_gone = row_count;
  return v_gone;
end $$;
