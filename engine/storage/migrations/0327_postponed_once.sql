-- A dispatch of the Box that is put off again and again is told once: an item whose payload nobody can open would
-- otherwise have a row more every five minutes, which push all others out of what its timeline shows.
create or replace function end_box_dispatch(
  p_id uuid, p_document_id uuid, p_owner text, p_status text, p_kind text, p_error jsonb, p_wait_ms bigint
) returns boolean language sql as $$
  with ended as (
    update box_item as i
    set status = p_status, version = i.version + 1, lease_owner = null, locked_at = null, last_error = p_error,
      tries = case when p_wait_ms is null then 0 else i.tries + 1 end,
      due_at = clock_timestamp() + p_wait_ms * interval '1 millisecond', status_since = clock_timestamp(),
      updated_at = greatest(i.updated_at, clock_timestamp())
    where i.id = p_id and i.document_id = p_document_id and i.status = 'sending' and i.lease_owner = p_owner
      and not exists (select 1 from document as d where d.id = p_document_id)
    returning i.id, i.version, i.updated_at
  ), told as (
    insert into box_event (item_id, version, kind, status, actor_type, detail, occurred_at)
    select ended.id, ended.version, p_kind, p_status, 'system', p_error ->> 'message', ended.updated_at from ended
    where p_kind <> 'postponed' or p_kind is distinct from
      (select e.kind from box_event as e where e.item_id = ended.id order by e.version desc limit 1)
  )
  select exists (select 1 from ended)
$$;
