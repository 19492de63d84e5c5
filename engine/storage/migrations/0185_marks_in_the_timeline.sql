-- The first mark of a state stands in the timeline of what was sent. It is no event of the feed: nobody else is told of it.
alter table document_event drop constraint document_event_kind_check;
alter table document_event add constraint document_event_kind_check check (kind in (
  'document.sent', 'document.delivered', 'document.delivery_failed', 'document.mls_received', 'document.rejected',
  'document.response_received', 'document.queued', 'document.cancelled', 'document.attempt_failed',
  'document.mls_ignored', 'document.response_ignored', 'document.marked'
)) not valid;

-- Marks a document of a firm, as p_participant_key sent or received it. `processed` acknowledges what was received and
-- what became of what was sent; the state of the transport is never touched. No row: there is no such document to see.
create function mark_document(
  p_id uuid, p_participant_key text, p_firm_id uuid, p_state text, p_note text, p_now timestamptz, p_event_id uuid
) returns table (marked_at timestamptz, note text, acknowledged_at timestamptz)
language plpgsql volatile as $$
#variable_conflict use_column
declare
  v_acknowledged timestamptz;
  v_marked document_mark;
  v_sent boolean;
begin
  update document as d
  set acknowledged_at = case when p_state = 'processed' then coalesce(d.acknowledged_at, p_now) else d.acknowledged_at end
  where d.id = p_id and d.sender_key = p_participant_key and d.firm_id = p_firm_id
  returning d.acknowledged_at into v_acknowledged;
  v_sent := found;
  if not v_sent then
    update received_document as r
    set status = case when p_state = 'processed' then 'ACKNOWLEDGED' else r.status end,
      acknowledged_at = case when p_state = 'processed' then coalesce(r.acknowledged_at, p_now) else r.acknowledged_at end,
      api_received_at = coalesce(r.api_received_at, p_now)
    where r.id = p_id and r.participant_key = p_participant_key and r.firm_id = p_firm_id and received_is_visible(r.status)
    returning r.acknowledged_at into v_acknowledged;
    if not found then return; end if;
  end if;
  insert into document_mark (document_id, state, firm_id, note, marked_at)
  values (p_id, p_state, p_firm_id, p_note, p_now)
  on conflict (document_id, state) do nothing
  returning * into v_marked;
  if not found then
    update document_mark as m set note = coalesce(p_note, m.note) where m.document_id = p_id and m.state = p_state
    returning * into v_marked;
  elsif v_sent then
    insert into document_event (id, document_id, firm_id, kind, actor, feed, meta, occurred_at)
    values (p_event_id, p_id, p_firm_id, 'document.marked', 'api', false, jsonb_build_object('mark', p_state), p_now);
  end if;
  return query select v_marked.marked_at, v_marked.note, v_acknowledged;
end
$$;

-- A process of the last release names no event.
create or replace function mark_document(
  p_id uuid, p_participant_key text, p_firm_id uuid, p_state text, p_note text, p_now timestamptz
) returns table (marked_at timestamptz, note text, acknowledged_at timestamptz)
language sql volatile as $$
  select m.marked_at, m.note, m.acknowledged_at
  from mark_document(p_id, p_participant_key, p_firm_id, p_state, p_note, p_now, gen_random_uuid()) as m
$$;
